"""Executor: a failed leaf is a recorded sentinel, iterations change questions and never depth."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from tests.profiles.research import QUESTION, Mixed, make_run

from corrobora.domain.errors import JournalError, NeedsHuman, RoleError
from corrobora.domain.plan import Brief, Criteria, Gate, Node, Plan, SubQuestion, walk_nodes
from corrobora.domain.report import Findings, Outcome, Report
from corrobora.domain.run import EventType
from corrobora.domain.thread import StopReason
from corrobora.engine.investigate import investigate, make_sentinel, refine_input, refine_node, run_isolated
from corrobora.engine.session import Session
from corrobora.roles.refine import Refinement

ASKED = SubQuestion("sq-1", "How often must the harbour cranes of Brenhaven be inspected?")
LEAF = Node("root/1", "Inspection", ASKED.text, sub_questions=(ASKED,))
DUG = SubQuestion("sq-2", "When was the harbour of Brenhaven dug?")
OTHER = Node("root/2", "History", DUG.text, sub_questions=(DUG,))
TREE = Node("root", "Cranes", QUESTION, (LEAF, OTHER))


@pytest.mark.parametrize("error", [RoleError("refusal", "no answer"), ValueError("a bug")])
async def test_angles_a_failed_leaf_is_a_sentinel_that_keeps_its_questions(error: Exception) -> None:
    async def failing(_node: Node, _run: Session) -> Findings:
        raise error

    made = await make_run("tree")
    found = await run_isolated(failing, LEAF, made.session)
    assert found.failed in ("no answer", "ValueError: a bug")
    assert (found.stop, found.sub_questions) == (StopReason.ERROR, (ASKED,))
    assert [event.path for event in made.journal.events if event.type is EventType.LEAF_FAILED] == ["root/1"]


@pytest.mark.parametrize("error", [JournalError("disk", "full"), NeedsHuman("paused", "asked")])
async def test_what_concerns_the_whole_run_is_no_failure_of_a_leaf(error: Exception) -> None:
    async def failing(_node: Node, _run: Session) -> Findings:
        raise error

    with pytest.raises(type(error)):
        await run_isolated(failing, LEAF, (await make_run("tree")).session)


async def test_angles_siblings_of_a_failed_leaf_go_on() -> None:
    def scope(given: Any) -> RoleError | None:
        return RoleError("refusal", "no") if given.path.startswith("root/1/") else None

    made = await make_run("tree", analysts=(Mixed({"scope": scope}),))
    made.session.brief, made.session.questions = Brief(QUESTION), (ASKED, DUG)
    found = await investigate(TREE, made.session)
    assert [bool(child.failed) for child in found.children] == [True, False]
    assert found.failed == ""
    assert any("1874" in fact.quote for fact in found.facts)


async def test_tree_a_gate_that_stays_unmet_is_tried_as_often_as_it_says() -> None:
    analyst = Mixed({"refine": Refinement((("root/1", ("crane inspection record",)),), why="one source is missing")})
    made = await make_run("tree", analysts=(analyst,))
    made.session.brief = Brief(QUESTION)
    gate = Gate("gather", Criteria(corroboration=9), max_iterations=2)
    found = await investigate(Node("root", "Cranes", QUESTION, (LEAF,), gates=(gate,)), made.session)
    assert len(analyst.given("refine")) == 1
    assert len(found.delta) == 1
    assert "Why: one source is missing" in found.delta[0]


def test_tree_an_iteration_has_new_paths_and_questions_and_the_same_shape() -> None:
    change = Refinement((("root/1", ("new words",)),), (("root/1", ("new.md",)),))
    second = refine_node(TREE, change, 2)
    assert [each.path for each in walk_nodes(second)] == ["root", "root/1~2", "root/2~2"]
    assert (second.children[0].queries, second.children[0].sources) == (("new words",), ("new.md",))
    third = refine_node(second, Refinement(()), 3)
    assert [each.path for each in walk_nodes(third)] == ["root", "root/1~3", "root/2~3"]


def test_a_shortfall_names_what_is_missing_and_a_sentinel_its_reason() -> None:
    given = refine_input(TREE, 1, ("sq-1 has 0 of 1 sources",), Findings("root", "t"))
    assert (given.unmet, given.asked, given.iteration) == (("sq-1 has 0 of 1 sources",), (), 1)
    assert make_sentinel(LEAF, "why").failed == "why"


class Asked(Mixed):
    """At the first call of a role somebody asks to finish, as the first Ctrl-C does."""

    def __init__(self, role: str) -> None:
        super().__init__({"plan": Plan(TREE), role: self.finish})
        self.session: Session | None = None

    def finish(self, _given: Any) -> None:
        assert self.session is not None
        self.session.budget.finish_research()

    @property
    def paid(self) -> list[tuple[str, str]]:
        return [(role, given.path) for role, given in self.played]


async def finished_at(role: str) -> tuple[Asked, Report | None]:
    """Ask to finish while a role is played; the report is None if the run can go on, as nothing was found."""
    analyst = Asked(role)
    made = await make_run("timed", analysts=(analyst,), wire=False)
    analyst.session = made.session
    with suppress(NeedsHuman):
        return analyst, await made.research()
    return analyst, None


@pytest.mark.parametrize("role", ["scope", "extract", "reflect"])
async def test_r07_who_asks_to_finish_gets_the_end_of_the_running_round_and_no_other_one(role: str) -> None:
    """The cut round is thought about once; the part that was not begun costs no call at all."""
    analyst, report = await finished_at(role)
    research = [(name, path) for name, path in analyst.paid if path.startswith("root/")]
    assert [path for name, path in research if name == "reflect"] == ["root/1/round/1"]
    assert {path.split("/")[1] for _, path in research} == {"1"}
    assert (report is None) == (role != "reflect"), "nothing else was read"
    if report is not None:
        assert report.outcome is Outcome.PARTIAL
        assert [child.stop for child in report.findings.children] == [StopReason.CANCELLED] * 2
        assert "ended before" in report.reason


async def test_r07_a_run_that_was_left_before_its_plan_was_made_researches_nothing() -> None:
    analyst, report = await finished_at("clarify")
    assert {name for name, _ in analyst.paid} <= {"clarify", "plan", "synthesize", "critique", "revise", "judge"}
    assert report is None
