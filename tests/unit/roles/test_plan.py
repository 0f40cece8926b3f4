"""Planning: flat lists of tasks become trees, or are told what is wrong."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corrobora.domain.plan import Brief, Subject, SubQuestion, collect_leaves, executor_depth, walk_nodes
from corrobora.policies.intake import Angle
from corrobora.roles.forms import UnusableAnswer
from corrobora.roles.plan import Planning, WirePhase, WirePlan, WireSpec, WireTask, convert_plan

BRIEF = Brief("Q?", (SubQuestion("sq-1", "First?"), SubQuestion("sq-2", "Second?")), (Subject("Pump", ("P-1",)),))
TREE = Planning("root", BRIEF, "tree", max_leaves=4)
ANGLES = replace(TREE, split="angles", angles=(Angle("a", "A", ""), Angle("b", "B", "")))


def task(key: str, parent: str = "", **more) -> WireTask:
    return WireTask(
        **{
            "key": key,
            "title": key,
            "objective": f"find {key}",
            "queries": [key],
            "sub_questions": [],
            "parent": parent,
            **more,
        }
    )


def plan(*tasks: WireTask) -> WirePlan:
    return WirePlan("moderate", list(tasks))


def test_paths_come_from_positions_and_sub_questions_are_shared_out_once():
    made = convert_plan(
        TREE,
        plan(
            task("topic", phases=[WirePhase(corroboration=2, themes=["t"])]),
            task(
                "x", "topic", sub_questions=["sq-1", "A new one?"], subjects=["p-1"], specs=[WireSpec(["s?"], "table")]
            ),
            task("y", sub_questions=["first?", "SQ-2"]),
        ),
    )
    assert [node.path for node in walk_nodes(made.root)] == ["root", "root/1", "root/1/1", "root/2"]
    x, y = collect_leaves(made.root)
    assert [(q.id, q.text) for q in x.sub_questions] == [("sq-1", "First?"), ("sq-3", "A new one?")]
    assert [q.id for q in y.sub_questions] == ["sq-2"]
    assert [subject.name for subject in x.subjects] == ["Pump"]
    assert x.specs[0].text == "question: s?\nexpected format: table\npriority: 1"
    topic = made.root.children[0]
    assert (topic.gates[0].criteria.corroboration, topic.gates[0].criteria.themes) == (2, ("t",))
    assert executor_depth(made) == 2


def test_a_single_task_is_the_root_and_no_given_question_is_lost():
    made = convert_plan(replace(TREE, split="leaf"), plan(task("all")))
    assert made.root.is_leaf
    assert made.root.path == "root"
    assert [q.id for q in made.root.sub_questions] == ["sq-1", "sq-2"]


@pytest.mark.parametrize(
    ("given", "tasks", "told"),
    [
        (TREE, [], "no task"),
        (TREE, [task("a"), task("A")], "'a'"),
        (TREE, [task("a", "nosuch")], "'nosuch'"),
        (TREE, [task("a", "b"), task("b", "a")], "own ancestor"),
        (TREE, [task("a"), task("b", "a"), task("c", "b"), task("d", "c")], "4 levels"),
        (TREE, [task(str(n)) for n in range(5)], "5 tasks; at most 4"),
        (replace(TREE, split="given"), [task("a"), task("b")], "at most 1"),
        (ANGLES, [task("x", angle="c")], "a, b"),
        (ANGLES, [task("x")], "a, b"),
        (TREE, [task(str(n)) for n in range(10_000)], "10000 tasks"),
    ],
)
def test_a_plan_that_breaks_a_rule_is_told_which(given: Planning, tasks: list[WireTask], told: str):
    with pytest.raises(UnusableAnswer, match=told):
        convert_plan(given, plan(*tasks))


def test_new_angles_are_accepted_where_they_are_allowed():
    made = convert_plan(replace(ANGLES, dynamic_angles=True), plan(task("x", angle="mine"), task("y", angle="a")))
    assert [leaf.angle for leaf in collect_leaves(made.root)] == ["mine", "a"]


@given(
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 7)), min_size=1, max_size=7, unique_by=lambda pair: pair[0])
)
def test_any_list_of_tasks_gives_a_tree_of_all_of_them_or_is_refused(pairs):
    tasks = [task(str(key), str(parent) if parent < 7 else "", sub_questions=["sq-2"]) for key, parent in pairs]
    try:
        made = convert_plan(replace(TREE, max_leaves=64), plan(*tasks))
    except UnusableAnswer:
        return
    titles = sorted(node.title for node in walk_nodes(made.root) if node.title != "Q?")
    assert titles == sorted(each.title for each in tasks)
    paths = [node.path for node in walk_nodes(made.root)]
    assert len(set(paths)) == len(paths)
    assert executor_depth(made) <= 3
    held = [q.id for node in walk_nodes(made.root) for q in node.sub_questions]
    assert sorted(held) == ["sq-1", "sq-2"]


def test_s2_tasks_of_a_question_become_one_thread_with_all_sub_questions() -> None:
    made = convert_plan(replace(TREE, split="questions"), plan(task("a"), task("b"), task("c")))
    assert made.root.is_leaf
    assert made.root.path == TREE.path
    assert len({q.id for q in made.root.sub_questions}) == len(made.root.sub_questions)
    assert set(made.root.queries) >= set(plan(task("a")).tasks[0].queries)
