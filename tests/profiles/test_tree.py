"""Profile `tree`: planners, executors, phases, depth, synthesis."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from tests.fakes import FakeClock
from tests.profiles.meeting import Meeting
from tests.profiles.research import DOCUMENTS, QUESTION, Mixed, make_run

from corrobora.analysts.extractive import ExtractiveAnalyst
from corrobora.config.profiles import load_profile
from corrobora.domain.errors import Infeasible, LimitReached, UserError
from corrobora.domain.plan import Brief, Criteria, Gate, Node, Plan, SubQuestion, TaskSpec
from corrobora.domain.report import Outcome
from corrobora.domain.run import EventType, Request, RequestOption
from corrobora.domain.thread import Gap, Proposal
from corrobora.engine.investigate import investigate
from corrobora.engine.planning import check_suggested_plan, refine_node
from corrobora.engine.research import begin_run
from corrobora.roles.refine import Refinement

SQ = SubQuestion("sq-1", "How often must the harbour cranes of Brenhaven be inspected?")


SQ2 = SubQuestion("sq-2", "What load may a crane of class B lift?")


BROAD = "Tell me everything about cranes"


def leaf(path: str, asked: SubQuestion = SQ, **more: Any) -> Node:
    return Node(path, asked.text, asked.text, sub_questions=(asked,), queries=(asked.text,), **more)


def inner(path: str, *children: Node, **more: Any) -> Node:
    asked = tuple({q.id: q for child in children for q in child.sub_questions}.values())
    return Node(path, f"topic {path}", f"gather {path}", children, sub_questions=asked, **more)


async def test_tree_an_infeasible_question_is_refused_before_a_planner_is_called():
    analyst = Mixed()
    run = await make_run("tree", question=BROAD, analysts=(analyst,))
    with pytest.raises(Infeasible) as refused:
        await run.research()
    assert refused.value.code == "question_infeasible"
    assert [name for name, _ in analyst.played] == ["clarify"]


async def test_tree_a_plan_that_the_human_does_not_authorize_is_not_run():
    class Refusing:
        async def authorize(self, plan: Plan) -> bool:
            return False

    run = await make_run("tree", human=Refusing())
    with pytest.raises(LimitReached):
        await run.research()
    assert not run.library.asked


async def test_tree_one_query_planner_executor_report():
    analyst = Mixed()
    run = await make_run("tree", analysts=(analyst,))
    report = await run.research()
    assert len(analyst.given("plan")) == 1
    assert "12 months" in report.markdown
    assert "35 tonnes" in report.markdown


async def test_tree_n_queries_n_planners_n_executors_in_parallel_one_synthesizer():
    """Planners and executors of different queries are at work at the same time; one synthesizer writes over all."""
    together = {"plan": Meeting(2), "scope": Meeting(2)}
    roots: set[str] = set()

    class Busy(Mixed):
        async def play(self, role: Any, given: Any) -> Any:
            if role.prompt in together:
                await together[role.prompt].join()
                roots.add(given.path)
            return await super().play(role, given)

    analyst = Busy()
    two = "When was the harbour of Brenhaven dug? How much herring sells the fish market at 5?"
    run = await make_run("tree", question=two, analysts=(analyst,))
    report = await run.research()
    assert len(analyst.given("plan")) == 2
    assert together["plan"].most == 2
    assert together["scope"].most == 2
    assert {"root/1", "root/2"} <= roots
    finals = [given for given in analyst.given("synthesize") if given.path == "root"]
    assert len(finals) == 1
    assert len(finals[0].parts) == 2
    assert "1874" in report.markdown


async def test_tree_more_than_two_tasks_get_a_final_synthesizer_and_one_task_speaks_for_itself():
    tree = inner("root", inner("root/1", leaf("root/1/1"), leaf("root/1/2", SQ2)), inner("root/2", leaf("root/2/1")))
    analyst = Mixed({"plan": Plan(tree)})
    await (await make_run("tree", analysts=(analyst,))).research()
    paths = [given.path for given in analyst.given("synthesize") if given.purpose == "gathering"]
    assert paths == ["root/1"]
    assert [given.path for given in analyst.given("synthesize") if given.purpose == "report"] == ["root"]


async def test_tree_a_suggested_plan_reaches_the_planner_and_may_be_taken():
    suggested = json.dumps({"title": "Mine", "children": [{"title": SQ.text}, {"title": SQ2.text}]})
    analyst = Mixed()
    run = await make_run("tree", analysts=(analyst,), request=Request(QUESTION, "tree", plan_file=suggested))
    await run.research()
    assert analyst.given("clarify")[0].brief.suggested_plan == suggested
    assert analyst.given("plan")[0].suggested_plan == suggested
    taken = json.loads(run.files["plan.json"])["root"]
    assert [child["title"] for child in taken["children"]] == [SQ.text, SQ2.text]


async def test_tree_a_plan_that_a_person_edited_is_what_runs_and_no_planner_sees_it():
    edited = {
        "title": "The whole",
        "objective": "Find out both.",
        "children": [
            {
                "title": "First",
                "objective": "Find the first.",
                "sub_questions": [SQ.text],
                "queries": ["one two three"],
            },
            {"title": "Second", "objective": "Find the second.", "sub_questions": [{"text": SQ2.text}]},
        ],
    }
    other = Plan(inner("root", leaf("root/1"), leaf("root/2", SQ2)))
    analyst = Mixed({"plan": other})
    request = Request(QUESTION, "tree", metadata=((RequestOption.EDITED_PLAN.value, json.dumps(edited)),))
    run = await make_run("tree", analysts=(analyst, ExtractiveAnalyst()), request=request)
    await run.research()
    assert analyst.given("plan") == []
    root = json.loads(run.files["plan.json"])["root"]
    shown = [
        (part["title"], part["objective"], [q["text"] for q in part["sub_questions"]]) for part in root["children"]
    ]
    assert shown == [("First", "Find the first.", [SQ.text]), ("Second", "Find the second.", [SQ2.text])]
    assert root["children"][0]["queries"] == ["one two three"]
    objectives = {given.objective for given in analyst.given("scope")}
    assert objectives == {"Find the first.", "Find the second."}


@pytest.mark.parametrize(
    ("suggested", "code"),
    [
        ({"title": "a", "children": [{"title": "b", "children": [{"title": "c", "children": [
            {"title": "d", "children": [{"title": "e"}]}]}]}]}, "infeasible_depth"),
        ({"title": "a", "specks": []}, "plan_shape"),
        ({"objective": ""}, "plan_shape"),
        ({"title": "a", "gates": [{"name": "g", "minimum_confidence": 7}], "children": [{"title": "b"}]}, "bad_number"),
    ],
)  # fmt: skip
def test_tree_a_suggested_plan_is_refused_before_anything_is_paid(suggested: dict[str, Any], code: str):
    with pytest.raises(UserError) as refused:
        check_suggested_plan(json.dumps(suggested), load_profile("tree"))
    assert refused.value.code == code


async def test_tree_task_specs_are_forwarded_byte_for_byte():
    odd = "  question:\tHow often?\r\n— «accept»: ≥ 2 sources \u00a0; budget 3 passages\n\n"
    spec = TaskSpec((SQ.text,), "table", "two quotes", 2, "3 passages", verbatim=odd)
    tree = inner("root", leaf("root/1", specs=(spec,)), leaf("root/2", SQ2))
    analyst = Mixed({"plan": Plan(tree)})
    await (await make_run("tree", analysts=(analyst,), wire=False)).research()
    specs = {given.spec for given in analyst.given("extract")}
    assert specs == {f"For {SQ.id}:\n{odd}"}, "a passage is read once for all leaves, with what each prescribes"
    alone = Mixed({"plan": Plan(replace(leaf("root", specs=(spec,)), path="root"))})
    await (await make_run("tree", analysts=(alone,), wire=False)).research()
    assert {given.spec for given in alone.given("extract")} == {odd}
    assert all(given.rubric == "" for given in analyst.given("extract") if given.spec)


async def test_tree_a_spec_of_a_suggested_plan_is_forwarded_byte_for_byte():
    odd = "Quote  the\tinterval — verbatim; ≥ 1 source"
    suggested = json.dumps({"title": "Mine", "children": [{"title": SQ.text, "specs": [odd]}, {"title": SQ2.text}]})
    analyst = Mixed()
    run = await make_run(
        "tree", analysts=(analyst,), request=Request(QUESTION, "tree", plan_file=suggested), wire=False
    )
    await run.research()
    assert all(given.spec.endswith(f":\n{odd}") for given in analyst.given("extract"))


async def test_tree_without_a_spec_the_executor_composes_questions_and_a_rubric():
    tree = inner("root", leaf("root/1", out_of_scope="fish"))
    analyst = Mixed({"plan": Plan(tree)})
    await (await make_run("tree", analysts=(analyst,))).research()
    rubrics = [given.rubric for given in analyst.given("extract")]
    assert all("Scope:" in text and "Look for:" in text and "Target confidence" in text for text in rubrics)
    assert all("Leave out: fish" in text for text in rubrics)


async def test_a_passage_is_read_once_for_all_leaves_so_no_leaf_narrows_its_rubric():
    tree = inner("root", leaf("root/1", out_of_scope="fish"), leaf("root/2", SQ2))
    analyst = Mixed({"plan": Plan(tree)})
    await (await make_run("tree", analysts=(analyst,))).research()
    served = analyst.given("extract")
    assert all({SQ.id, SQ2.id} <= {each.id for each in given.sub_questions} for given in served)
    assert all("Look for: all sub-questions" in given.rubric for given in served)
    assert not any("Leave out" in given.rubric for given in served)


async def test_tree_depth_beyond_three_executors_is_refused_in_the_plan():
    deep = inner("root", inner("root/1", inner("root/1/1", inner("root/1/1/1", leaf("root/1/1/1/1")))))
    run = await make_run("tree", analysts=(Mixed({"plan": Plan(deep)}),), wire=False)
    with pytest.raises(Infeasible) as refused:
        await run.research()
    assert refused.value.code == "infeasible_depth"
    assert not run.library.asked


async def test_tree_depth_of_three_executors_runs():
    deep = inner("root", inner("root/1", inner("root/1/1", leaf("root/1/1/1"), leaf("root/1/1/2", SQ2))))
    report = await (await make_run("tree", analysts=(Mixed({"plan": Plan(deep)}),))).research()
    assert report.outcome is Outcome.COMPLETE


async def test_tree_depth_is_refused_at_run_time_whatever_the_plan_says():
    """A tree that never passed the check: the fourth executor is not spawned, its siblings work on."""
    too_deep = inner("root/1/1/1", leaf("root/1/1/1/1", SQ2))
    tree = inner("root", inner("root/1", inner("root/1/1", too_deep, leaf("root/1/1/2"))))
    run = await make_run("tree")
    begin_run(Brief(QUESTION), run.session)
    found = await investigate(tree, run.session)
    inside = found.children[0].children[0].children
    assert "level 3" in inside[0].failed
    assert not inside[0].children
    assert inside[1].facts
    assert not [key for key in run.journal.entries if key.startswith("root/1/1/1/1")]
    assert any(e.type is EventType.LEAF_FAILED and e.path == "root/1/1/1" for e in run.journal.events)


async def test_tree_a_refinement_cannot_deepen_the_tree():
    node = inner("root", leaf("root/1"), leaf("root/2", SQ2))
    change = Refinement((("root/1", ("a new query",)), ("root/1/9", ("a leaf that is not there",))), why="more")
    after = refine_node(node, change, 2)
    assert [child.path for child in after.children] == ["root/1~2", "root/2~2"]
    assert all(child.is_leaf for child in after.children)
    assert after.children[0].queries == ("a new query",)


async def test_tree_phases_have_criteria_budgets_and_iterations_and_keep_delta_logs():
    gate = Gate("corroborate", Criteria(corroboration=9), max_iterations=3)
    tree = inner("root", leaf("root/1"), leaf("root/2", SQ2), gates=(gate,))
    analyst = Mixed({"plan": Plan(tree)})
    run = await make_run("tree", analysts=(analyst,))
    report = await run.research()
    assert len(analyst.given("refine")) == 2, "the first gathering is the first iteration"
    assert all("independent sources" in " ".join(given.unmet) for given in analyst.given("refine"))
    assert len(report.findings.delta) == 2
    assert report.findings.delta[0].startswith("corroborate, iteration 2: ")
    assert "Why: " in report.findings.delta[0]
    assert [e.data["gate"] for e in run.journal.events if e.type is EventType.DECISION and "gate" in e.data]


async def test_tree_a_passed_gate_asks_for_nothing_more_and_several_phases_follow_each_other():
    easy, hard = Gate("easy", Criteria(corroboration=1)), Gate("hard", Criteria(corroboration=9), max_iterations=1)
    tree = inner("root", leaf("root/1"), leaf("root/2", SQ2), gates=(easy, hard))
    analyst = Mixed({"plan": Plan(tree)})
    report = await (await make_run("tree", analysts=(analyst,))).research()
    assert len(analyst.given("refine")) == 1
    assert report.findings.delta[0].startswith("hard, ")


async def test_tree_the_budget_of_a_phase_ends_its_iterations():
    gate = Gate("slow", Criteria(corroboration=9), budget_seconds=0.0, max_iterations=5)
    tree = inner("root", leaf("root/1"), leaf("root/2", SQ2), gates=(gate,))
    analyst = Mixed({"plan": Plan(tree)})
    await (await make_run("tree", analysts=(analyst,))).research()
    assert not analyst.given("refine")


async def test_tree_a_later_phase_has_its_budget_from_where_it_begins():
    """The first phase takes a minute; the second one has thirty seconds of its own and none of them is used."""
    clock = FakeClock()

    class Slow(Mixed):
        async def play(self, role: Any, given: Any) -> Any:
            if role.prompt == "refine" and len(self.given("refine")) < 1:
                await clock.sleep(60.0)
            return await super().play(role, given)

    never = Criteria(corroboration=9)
    gates = (Gate("first", never, max_iterations=2), Gate("second", never, budget_seconds=30.0, max_iterations=1))
    tree = inner("root", leaf("root/1"), leaf("root/2", SQ2), gates=gates)
    analyst = Slow({"plan": Plan(tree)})
    await (await make_run("tree", analysts=(analyst,), clock=clock)).research()
    assert [given.iteration for given in analyst.given("refine")] == [1, 2]


async def test_tree_16_the_seconds_of_a_spec_end_the_rounds_of_its_leaf():
    clock = FakeClock()

    class Slow(Mixed):
        async def play(self, role: Any, given: Any) -> Any:
            if role.prompt == "scope":
                await clock.sleep(60.0)
            return await super().play(role, given)

    hurried = TaskSpec((SQ.text,), budget="1.5 minutes")
    tree = inner("root", leaf("root/1", specs=(hurried,)), leaf("root/2", SQ2, specs=(TaskSpec((SQ2.text,)),)))
    analyst = Slow(
        {"plan": Plan(tree), "reflect": Proposal("", (Gap("more", "sq-1"), Gap("more", "sq-2")), judged=True)}
    )
    report = await (await make_run("tree", analysts=(analyst,), clock=clock, leaves_in_turn=True)).research()
    assert [len(part.rounds) for part in report.findings.children] == [2, 3]
    assert [part.stop for part in report.findings.children] == ["limit", "iteration_cap"]


async def test_tree_what_an_iteration_did_is_counted_although_it_is_left_out():
    gate = Gate("more", Criteria(corroboration=9), max_iterations=2)
    tree = inner("root", leaf("root/1"), leaf("root/2", SQ2), gates=(gate,))
    analysts = (Mixed({"plan": Plan(tree)}),)
    few = {name: DOCUMENTS[name] for name in ("rules-2011.md", "rules-2019.md")}  # the first pass reads all there is
    report = await (await make_run("tree", analysts=analysts, documents=few)).research()
    assert len(report.findings.children) == 2
    assert [part.path for part in report.findings.left_out] == ["root/1~2", "root/2~2"]
    rounds = sum(len(part.rounds) for part in (*report.findings.children, *report.findings.left_out))
    assert report.methodology.rounds == rounds > sum(len(part.rounds) for part in report.findings.children)


async def test_tree_iterations_only_improve_what_was_found():
    """A second iteration that fails altogether leaves the findings of the first."""
    gate = Gate("more", Criteria(corroboration=9), max_iterations=2)
    tree = inner("root", leaf("root/1"), leaf("root/2", SQ2), gates=(gate,))
    broken = Mixed({"plan": Plan(tree), "scope": lambda given: RuntimeError("x") if "~2" in given.path else None})
    report = await (await make_run("tree", analysts=(broken,))).research()
    assert "12 months" in report.markdown
    assert report.findings.facts


async def test_tree_an_error_of_the_engine_in_an_iteration_keeps_all_findings_and_is_noted():
    gate = Gate("more", Criteria(corroboration=9), max_iterations=3)
    tree = inner("root", leaf("root/1"), leaf("root/2", SQ2), gates=(gate,))
    whole = await (await make_run("tree", analysts=(Mixed({"plan": Plan(inner("root", *tree.children))}),))).research()
    broken = Mixed({"plan": Plan(tree), "refine": RuntimeError("x")})
    report = await (await make_run("tree", analysts=(broken,))).research()
    assert {fact.id for fact in report.findings.facts} == {fact.id for fact in whole.findings.facts}
    assert "12 months" in report.markdown
    assert any("more, iteration 2" in note and "RuntimeError" in note for note in report.methodology.notes)


async def test_tree_criteria_are_corroboration_themes_contradictions_and_confidence():
    criteria = Criteria(2, ("underwater basket",), contradictions_resolved=True, minimum_confidence=1.0)
    gate = Gate("all", criteria, max_iterations=2)
    tree = inner("root", leaf("root/1"), leaf("root/2", SQ2), gates=(gate,))
    analyst = Mixed({"plan": Plan(tree)})
    undated = {**DOCUMENTS, "rules-2011.md": DOCUMENTS["rules-2011.md"].replace(", 2011", " of the guild")}
    await (await make_run("tree", analysts=(analyst,), documents=undated)).research()
    unmet = " | ".join(analyst.given("refine")[0].unmet)
    assert "theme not covered: underwater basket" in unmet
    assert "contradiction is open" in unmet
    assert "confidence" in unmet or "independent sources" in unmet


def discovery(path: str, **more: Any) -> Node:
    return replace(leaf(path, **more), title="Discovery", objective="Curate sources on cranes", discovery=True)


async def test_tree_the_report_shows_outliers_and_differences():
    report = await (await make_run("tree")).research()
    assert "24 months" in report.markdown
    assert "12 months" in report.markdown
    assert "40 tonnes" in report.markdown
    assert "What differs" in report.markdown


async def test_tree_the_keyless_analyst_plays_all_six_roles():
    tree = inner("root", discovery("root/1"), leaf("root/2"), leaf("root/3", SQ2))
    names = {"clarify", "scout", "extract", "reflect", "synthesize"}
    analyst = Mixed({"plan": Plan(tree)})
    await (await make_run("tree", analysts=(analyst, ExtractiveAnalyst()))).research()
    assert names <= {name for name, _ in analyst.played}
