"""Planning: what planners are given, and how several plans become one tree."""

from __future__ import annotations

import pytest

from corrobora.config.profiles import load_profile
from corrobora.domain.errors import UserError
from corrobora.domain.plan import Brief, Node, Plan, executor_depth, walk_nodes
from corrobora.engine.planning import (
    MAX_DYNAMIC_LEAVES,
    MAX_THREAD_QUESTIONS,
    assign_paths,
    check_suggested_plan,
    clarify_input,
    merge_plans,
    plan_input,
    with_pinned_sources,
)
from corrobora.roles.clarify import Scoping

BRIEF = Brief("How do tide mills work, and who owned them?")


def node(name: str, *children: Node) -> Node:
    return Node(f"model/{name}", name, f"Find out about {name}", children)


def test_tree_paths_come_from_the_tree_whatever_a_model_wrote() -> None:
    tree = assign_paths(node("a", node("b"), node("c", node("d"))), "root")
    assert [each.path for each in walk_nodes(tree)] == ["root", "root/1", "root/2", "root/2/1"]


def test_tree_of_several_plans_the_root_only_gathers_and_is_no_executor_level() -> None:
    plans = (Plan(node("a", node("b")), rationale="one", notes=("n1",)), Plan(node("c"), rationale="two"))
    whole = merge_plans(plans, BRIEF)
    assert whole.gathers_plans
    assert whole.root.title == BRIEF.question
    assert [each.path for each in walk_nodes(whole.root)] == ["root", "root/1", "root/1/1", "root/2"]
    assert (whole.rationale, whole.notes, executor_depth(whole)) == ("one two", ("n1",), 1)
    assert not merge_plans(plans[:1], BRIEF).gathers_plans


def test_tree_each_of_several_planners_has_a_path_of_its_own() -> None:
    profile = load_profile("tree")
    scoping = Scoping(feasible=True, queries=(BRIEF,))
    assert plan_input(BRIEF, 1, scoping, profile, of=1).path == "root"
    assert plan_input(BRIEF, 2, scoping, profile, of=2).path == "root/2"
    assert plan_input(BRIEF, 1, scoping, profile, of=1).max_depth == profile.max_depth


def test_angles_dynamic_angles_lift_the_cap_of_leaves() -> None:
    scoping = Scoping(feasible=True, queries=(BRIEF,))
    fixed = load_profile("angles", (("dynamic_angles", "false"),))
    free = load_profile("angles", (("dynamic_angles", "true"),))
    assert plan_input(BRIEF, 1, scoping, fixed, of=1).max_leaves == fixed.max_leaves
    assert plan_input(BRIEF, 1, scoping, free, of=1).max_leaves >= MAX_DYNAMIC_LEAVES
    assert len(plan_input(BRIEF, 1, scoping, fixed, of=1).angles) > 0
    assert plan_input(BRIEF, 1, scoping, load_profile("tree"), of=1).angles == ()


def test_a_thread_is_asked_for_no_more_parts_than_it_can_follow() -> None:
    assert clarify_input(BRIEF, load_profile("timed")).max_sub_questions == MAX_THREAD_QUESTIONS
    tree = load_profile("tree")
    assert clarify_input(BRIEF, tree).max_sub_questions == tree.max_leaves
    few = load_profile("angles", (("max_leaves", "2"),))
    assert clarify_input(BRIEF, few).max_sub_questions == MAX_THREAD_QUESTIONS, "an angle may have several"


def test_tree_a_suggested_plan_that_is_none_is_refused_before_anything_is_paid() -> None:
    with pytest.raises(UserError) as refused:
        check_suggested_plan("{not json", load_profile("tree"))
    assert refused.value.code == "plan_shape"


def test_named_sources_reach_every_leaf_before_those_of_the_plan() -> None:
    own = Node("model/b", "b", "Find out about b", sources=("https://b.example/",))
    tree = with_pinned_sources(node("a", own, node("c", node("d"))), ("https://a.example/*", "https://b.example/"))
    leaves = [each for each in walk_nodes(tree) if each.is_leaf]
    assert [each.sources for each in leaves] == [("https://a.example/*", "https://b.example/")] * 2
    assert tree.sources == ()
