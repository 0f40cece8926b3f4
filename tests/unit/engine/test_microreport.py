"""Micro-reports: one round, one report; the round is told with what happened in it, and checked first."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.profiles.research import LibraryRun, make_run
from tests.unit.policies.threads import decided, fact, one_round, thread

from corrobora.domain.errors import RoleError
from corrobora.domain.evidence import Contradiction, Grade
from corrobora.domain.plan import Subject, SubQuestion, SubQuestionStatus
from corrobora.domain.run import EventType
from corrobora.domain.thread import Course, Escape, Phase, ThreadState
from corrobora.engine.pursue import report_round

ONE = fact("It holds 40 boats.", answers=("sq-1",), grade=Grade.PLAUSIBLE)
TWO = fact("It holds 35 boats.", source="S2")
ROUND = one_round(1, "a.md", facts=(ONE, TWO), targets=("sq-1",), new=2, decision=decided("a map"))


def state(**fields: Any) -> ThreadState:
    made = thread(
        ROUND,
        sub_questions=(SubQuestion("sq-1", "How many?", SubQuestionStatus.ANSWERED, Grade.PLAUSIBLE, ONE.claim),),
        subjects=(Subject("Bergen"),),  # without a round: the thread has not converged
        facts=(ONE, TWO),
    )
    return replace(made, course=Course((Phase("SURVEY"),)), **fields)


def told(made: LibraryRun, kind: EventType) -> list[Any]:
    return [event.data for event in made.journal.events if event.type is kind]


async def test_triplet_each_round_has_a_file_and_an_event_that_names_it() -> None:
    made = await make_run("triplet", artifacts=("micro_reports",))
    await report_round(state(), made.session)
    [data] = told(made, EventType.ROUND_FINISHED)
    assert list(made.files) == [data["micro_report"]]
    assert (data["new_facts"], data["gaps"]) == (2, ["a map"])
    assert told(made, EventType.COMPLETE) == [{"text": "Round 1 is complete.", "new_facts": 2, "sources": 1}]


async def test_rounds_a_profile_that_asks_for_rounds_has_all_of_them_in_one_file() -> None:
    made = await make_run("rounds", artifacts=("rounds",))
    await report_round(state(), made.session)
    assert list(made.files) == ["rounds.json", "research_state.json"]
    silent = await make_run("rounds", artifacts=())
    await report_round(state(), silent.session)
    assert silent.files == {}


async def test_conflicts_escapes_and_exhausted_questions_are_told() -> None:
    given_up = SubQuestion("sq-2", "Who?", SubQuestionStatus.EXHAUSTED, attempts=3)
    conflict = Contradiction("boats", ONE.id, TWO.id, difference="40 -> 35")
    made = await make_run("timed", artifacts=())
    answered = state().sub_questions
    await report_round(
        state(sub_questions=(*answered, given_up), contradictions=(conflict,), escape=Escape.LATERAL), made.session
    )
    assert told(made, EventType.EXHAUSTED) == [{"question": "Who?", "tag": "#RETRY_EXHAUSTED", "attempts": 3}]
    assert told(made, EventType.CONTRADICTION)[0]["difference"] == "40 -> 35"
    assert told(made, EventType.ESCAPE) == [{"escape": Escape.LATERAL}]
    assert len(told(made, EventType.DECISION)) == 1


async def test_a_round_that_breaks_an_invariant_is_not_told_as_finished() -> None:
    made = await make_run("timed", artifacts=())
    stray = fact("The moon is made of old rope.", source="S9")
    with pytest.raises(RoleError) as failed:
        await report_round(state(facts=(ONE, TWO, stray)), made.session)
    assert failed.value.code == "self_check"
    assert told(made, EventType.ROUND_FINISHED) == []


async def test_a_round_without_a_decision_is_not_told() -> None:
    made = await make_run("timed")
    await report_round(thread(replace(ROUND, decision=None)), made.session)
    assert made.journal.events == []
