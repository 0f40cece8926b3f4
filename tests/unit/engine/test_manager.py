"""Manager: the stages in their order, a refusal before anything is planned, a given thread without a planner."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from tests.profiles.research import QUESTION, Mixed, make_run

from corrobora.domain.errors import Infeasible, NeedsHuman
from corrobora.domain.evidence import Hit, Query
from corrobora.domain.plan import Brief
from corrobora.domain.report import Outcome
from corrobora.domain.run import EventType, Request, Stage
from corrobora.engine.research import require_feasible
from corrobora.roles.clarify import Scoping

BROAD = Scoping(feasible=False, queries=(), reasons=("It spans all of history.",), narrower=("Cranes in 2019?",))


async def test_a_question_becomes_a_cited_report_stage_by_stage() -> None:
    made = await make_run("timed")
    report = await made.research()
    stages = [event.data["stage"] for event in made.journal.events if event.type is EventType.STAGE]
    assert stages == list(Stage)
    assert report.outcome in (Outcome.COMPLETE, Outcome.PARTIAL)
    assert "every 12 months" in report.markdown
    assert report.citations
    assert report.supported_share > 0


async def test_tree_an_infeasible_question_is_refused_before_it_is_planned() -> None:
    analyst = Mixed({"clarify": BROAD})
    with pytest.raises(Infeasible) as refused:
        await (await make_run("tree", analysts=(analyst,))).research()
    assert refused.value.code == "question_infeasible"
    assert "Cranes in 2019?" in refused.value.next_step
    assert [prompt for prompt, _ in analyst.played] == ["clarify"]


def test_tree_a_feasible_scoping_without_a_query_is_refused_too() -> None:
    good = Scoping(feasible=True, queries=(Brief(QUESTION),))
    assert require_feasible(good) is good
    with pytest.raises(Infeasible):
        require_feasible(Scoping(feasible=True, queries=()))


async def test_tree_two_queries_have_two_planners_and_one_report() -> None:
    two = (Brief("How often must harbour cranes be inspected?"), Brief("When was the harbour of Brenhaven dug?"))
    analyst = Mixed({"clarify": Scoping(feasible=True, queries=two)})
    report = await (await make_run("tree", analysts=(analyst,))).research()
    assert sorted(given.path for given in analyst.given("plan")) == ["root/1", "root/2"]
    assert {child.path for child in report.findings.children} == {"root/1", "root/2"}


async def test_triplet_a_given_thread_needs_no_manager_and_no_planner() -> None:
    text = (
        'round_budget = 2\n[thread]\nname = "Cranes"\nsubjects = ["Brenhaven"]\n'
        'sub_questions = ["How often must the harbour cranes of Brenhaven be inspected?"]\n'
        f'[brief]\nquestion = "{QUESTION}"\n'
    )
    analyst = Mixed({})
    made = await make_run("triplet", analysts=(analyst,), request=Request(QUESTION, "triplet", thread_file=text))
    report = await made.research()
    played = {prompt for prompt, _ in analyst.played}
    assert played.isdisjoint({"clarify", "plan"})
    assert report.findings.title == "Cranes"


@pytest.mark.parametrize("profile", ["timed", "tree", "angles"])
async def test_c19_an_interrupt_before_anything_was_found_ends_without_a_writer(profile: str) -> None:
    class Interrupted:
        """A search amid which the person asks to finish."""

        name = "library"

        async def search(self, query: Query, /, *, limit: int) -> Sequence[Hit]:
            del query, limit
            made.session.budget.finish_research()
            return ()

    analyst = Mixed()
    made = await make_run(
        profile, analysts=(analyst,), search=Interrupted(), request=Request(QUESTION, authorized="policy")
    )
    with pytest.raises(NeedsHuman, match="before anything was found"):
        await made.research()
    assert not {role for role, _ in analyst.played} & {"synthesize", "summarize", "critique", "revise", "judge"}
    stages = [event.data["stage"] for event in made.journal.events if event.type is EventType.STAGE]
    assert stages[-1] == Stage.INVESTIGATE
