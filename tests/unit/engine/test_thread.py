"""Pursue: the order of a round, what is kept of a cut one, and that code decides when a thread ends."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.fakes import FakeClock
from tests.profiles.research import QUESTION, LibraryRun, Mixed, make_run

from corrobora.domain.evidence import Hit, Query, Reading, ReadOutcome
from corrobora.domain.plan import Brief, Node, SubQuestion
from corrobora.domain.run import EventType
from corrobora.domain.thread import Gap, Intent, Proposal, StopReason, ThreadState
from corrobora.engine.pursue import absorb_round, pursue
from corrobora.engine.research import begin_run
from corrobora.engine.session.journal import RoundBuffer, SearchResults

SQ = SubQuestion("sq-1", "How often must the harbour cranes of Brenhaven be inspected?")
MORE = Proposal("more", (Gap("more", "sq-1"),))


async def made(lines: dict[str, Any] | None = None, **fields: Any) -> tuple[LibraryRun, Mixed, ThreadState]:
    analyst = Mixed(lines or {})
    run = await make_run("timed", analysts=(analyst,), wire=False, **fields)
    begin_run(Brief(QUESTION), run.session)
    node = Node("root/1", "Inspection", "Find the interval", sub_questions=(SQ,))
    return run, analyst, ThreadState.open_thread(node, run.session.brief, run.session.profile.course)


async def test_a_round_is_scoped_searched_read_and_reflected_in_this_order() -> None:
    run, analyst, thread = await made()
    found = await pursue(thread, run.session)
    roles = [name for name, _ in analyst.played]
    assert roles[0] == "scope"
    assert roles.index("extract") < roles.index("reflect") < roles.index("summarize")
    assert roles[-1] == "summarize"
    assert found.facts
    assert found.summary


async def test_the_model_proposes_gaps_and_a_rule_ends_the_thread() -> None:
    run, analyst, thread = await made({"reflect": replace(MORE, done=True)}, max_rounds=2)
    found = await pursue(thread, run.session)
    assert (len(found.rounds), found.stop) == (2, StopReason.ITERATION_CAP)
    assert [done.decision.rule for done in found.rounds if done.decision] == ["", "max_rounds"]
    run, analyst, thread = await made({"reflect": Proposal("", ())})
    assert (await pursue(thread, run.session)).stop is StopReason.GAPS_EMPTY
    assert len(analyst.given("reflect")) == 1


async def test_every_round_tells_its_beginning_and_its_end_once() -> None:
    run, _, thread = await made({"reflect": MORE}, max_rounds=3)
    await pursue(thread, run.session)
    for kind in (EventType.ROUND_STARTED, EventType.ROUND_FINISHED, EventType.DECISION):
        told = [event.round for event in run.journal.events if event.type is kind]
        assert told == [1, 2, 3], kind


async def test_a_thread_that_is_pursued_again_over_its_journal_asks_nothing() -> None:
    run, _, thread = await made({"reflect": MORE}, max_rounds=2)
    first = await pursue(thread, run.session)
    again, silent, begun = await made(max_rounds=2, journal=run.journal.next_attempt(), library=run.library)
    assert await pursue(begun, again.session) == first
    assert silent.played == []


async def test_a_person_who_asked_to_finish_ends_the_thread_before_its_next_round() -> None:
    run, analyst, thread = await made({"reflect": MORE})
    run.session.budget.finish_research()
    found = await pursue(thread, run.session)
    assert (found.rounds, found.stop, found.summary) == ((), StopReason.CANCELLED, "")
    assert analyst.played == []


def read(url: str, passage: str | None = None) -> Reading:
    return Reading(Hit(url, url, passage=passage), ReadOutcome.READ)  # type: ignore[arg-type]


@pytest.mark.parametrize("arrived", [("b", "a", "c"), ("c", "b", "a"), ("a", "b", "c")])
async def test_readings_stand_in_the_order_of_the_hits_however_they_arrive(arrived: tuple[str, ...]) -> None:
    _, _, thread = await made()
    hits = tuple(Hit(url, url) for url in ("a", "b", "c"))
    gathered = RoundBuffer()
    gathered.intent = Intent("x", (Query("x"),), ("sq-1",))
    gathered.searched = SearchResults(hits)
    gathered.readings = [read(url) for url in arrived]
    (done,) = absorb_round(thread, gathered).rounds
    assert [reading.hit.url for reading in done.readings] == ["a", "b", "c"]
    assert done.attempts[0].target == "sq-1"


async def test_after_a_round_that_left_only_the_reserve_there_is_no_other() -> None:
    clock = FakeClock()

    class Slow(Mixed):
        async def play(self, role: Any, given: Any) -> Any:
            if role.prompt == "reflect":
                await clock.sleep(run.session.budget.allowance.seconds or 0.0)
            return await super().play(role, given)

    run = await make_run("timed", analysts=(Slow({"reflect": MORE}),), clock=clock, wire=False)
    begin_run(Brief(QUESTION), run.session)
    node = Node("root/1", "Inspection", "Find the interval", sub_questions=(SQ,))
    thread = ThreadState.open_thread(node, run.session.brief, run.session.profile.course)
    found = await pursue(thread, run.session)
    assert (found.stop, len(found.rounds)) == (StopReason.TIME_RESERVE, 1)
    assert found.facts, "what was read stays"
