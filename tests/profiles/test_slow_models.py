"""Every profile with a model that is slow or hangs, in virtual time: the deadline holds, and the report is there."""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from typing import Any

import pytest
from tests.fakes import LoopTime, MemoryLibrary, run_virtually
from tests.profiles.research import Mixed, make_run
from tests.profiles.scripted import Growing, make_web_run

from corrobora.analysts.extractive import ExtractiveAnalyst
from corrobora.config.profiles import load_profile
from corrobora.domain.errors import NeedsHuman
from corrobora.domain.report import Outcome, Report
from corrobora.engine.session.journal import decode_meta, hash_parts

MINUTES = 5.0


class Slow(Mixed):
    """Takes `seconds` longer for a share of its calls, the same ones every time."""

    seconds = 0.0
    share = 1.0

    async def play(self, role: Any, given: Any) -> Any:
        chance = int(hash_parts(role.prompt, given.path, str(len(self.played)))[:6], 16) / 0xFFFFFF
        if chance < self.share:
            await (asyncio.Event().wait() if math.isinf(self.seconds) else asyncio.sleep(self.seconds))
        return await super().play(role, given)


@pytest.mark.parametrize("seconds", [120.0, math.inf])
@pytest.mark.parametrize("share", [0.1, 0.5, 1.0])
@pytest.mark.parametrize("profile", ["timed", "rounds", "angles", "tree", "full"])
def test_slow_calls_do_not_move_the_deadline(profile: str, share: float, seconds: float):
    async def run() -> tuple[Report, float, dict[str, str]]:
        model = Slow(name="slow model")
        model.seconds, model.share = seconds, share
        chosen = load_profile(profile, (("minutes", str(MINUTES)),))
        made = await make_run(chosen, analysts=(model, ExtractiveAnalyst()), clock=LoopTime())
        return await made.research(), made.session.budget.elapsed, made.files

    report, elapsed, files = run_virtually(run())
    assert elapsed <= 60 * MINUTES
    assert report.outcome in (Outcome.COMPLETE, Outcome.PARTIAL, Outcome.LIMIT_REACHED)
    assert report.citations
    assert report.markdown in files["report.md"]


class Deliberate(Mixed):
    """Takes 20 to 45 seconds for each call, and 100 for a report; `lanes` calls are served at once, others wait.

    With `goes_on` it serves also those that were given up.
    """

    least, most = 20.0, 45.0
    lanes = 99
    goes_on = False

    async def play(self, role: Any, given: Any) -> Any:
        share = int(hash_parts(role.prompt, given.path)[:6], 16) / 0xFFFFFF
        self.slots = getattr(self, "slots", None) or asyncio.Semaphore(self.lanes)
        seconds = 100.0 if role.prompt == "synthesize" else self.least + share * (self.most - self.least)
        serving = asyncio.create_task(self.serve(seconds))
        self.serving = [*getattr(self, "serving", []), serving]
        await (asyncio.shield(serving) if self.goes_on else serving)
        return await super().play(role, given)

    async def serve(self, seconds: float) -> None:
        async with self.slots:
            await asyncio.sleep(seconds)


@pytest.mark.parametrize("profile", ["timed", "rounds", "angles", "tree", "full", "triplet"])
def test_five_minutes_are_enough_for_a_report_by_a_slow_model(profile: str):
    async def run() -> tuple[Report, float]:
        chosen = load_profile(profile, (("minutes", str(MINUTES)),))
        model = Deliberate(name="slow model")
        made = await make_run(chosen, analysts=(model, ExtractiveAnalyst()), clock=LoopTime(), authorize="auto")
        return await made.research(), made.session.budget.elapsed

    report, elapsed = run_virtually(run())
    assert elapsed <= 60 * MINUTES
    assert report.citations
    assert not report.methodology.writer
    if profile in ("timed", "tree", "full"):
        assert any(note.startswith("a model call took up to ") for note in report.methodology.notes)
    assert "The text was written without the model" not in report.markdown


@pytest.mark.parametrize("profile", ["timed", "angles"])
def test_a_report_that_the_model_had_no_time_to_write_says_so_in_its_status(profile: str):
    async def run() -> Report:
        model = Deliberate(name="slow model")
        chosen = load_profile(profile, (("minutes", "2"),))
        made = await make_run(chosen, analysts=(model, ExtractiveAnalyst()), clock=LoopTime(), authorize="auto")
        return await made.research()

    report = run_virtually(run())
    assert report.citations
    status = report.markdown.partition("*Status:")[2].partition("\n")[0]
    assert "The text was written without the model: " in status


def research_web(profile: str, model: Deliberate, minutes: float) -> tuple[Report, Counter[str], Counter[str]]:
    """Research a web that never ends; the report, and the calls by role that a model answered, and that it did not."""
    engine = Growing({}, per_search=8)
    question = "How tall is the lighthouse of Oldby, and who saw it?"
    given: Any = {"question": question, "engines": [engine], "analysts": [model, ExtractiveAnalyst()], "wire": False}
    given |= {"in_turn": model.lanes == 1}
    made = make_web_run(profile, engine.pages, overrides={"minutes": f"{minutes:g}"}, authorize="auto", **given)
    report = run_virtually(made.research())
    answered, fallen = Counter[str](), Counter[str]()
    for meta in (decode_meta(made.journal.entries[key]) for key in made.journal.keys()):  # noqa: SIM118 - no dict
        (fallen if meta.fallback else answered)[meta.role] += 1
    assert made.session.budget.elapsed <= 60 * minutes
    return report, answered, fallen


@pytest.mark.parametrize("seconds", [20.0, 30.0, 45.0])
@pytest.mark.parametrize("profile", ["timed", "rounds", "angles", "tree"])
def test_whatever_a_slow_model_has_time_for_the_readings_and_the_report_are_its_own(profile: str, seconds: float):
    model = Deliberate(name="slow model")
    model.least = model.most = seconds
    report, answered, fallen = research_web(profile, model, MINUTES)
    assert answered["extract"] >= 8
    assert not fallen["extract"], "fewer rounds are made, not worse ones"
    assert not report.methodology.writer
    assert not fallen.keys() - {"scope", "reflect", "synthesize", "critique", "summarize", "confirm"}


@pytest.mark.parametrize("profile", ["timed", "angles", "tree"])
def test_a_model_that_serves_one_call_after_the_other_is_not_taken_for_one_that_hangs(profile: str):
    model = Deliberate(name="slow model")
    model.least, model.most, model.lanes = 20.0, 20.0, 1
    report, answered, fallen = research_web(profile, model, 10.0)
    assert answered["extract"] >= 12
    assert answered["extract"] > 2 * fallen["extract"]
    assert not report.methodology.writer


@pytest.mark.parametrize("least", [20.0, 45.0])
@pytest.mark.parametrize("profile", ["timed", "rounds", "angles", "tree"])
def test_a_local_server_that_goes_on_with_calls_given_up_has_time_for_the_report(profile: str, least: float):
    model = Deliberate(name="slow model")
    model.least, model.lanes, model.goes_on = least, 1, True
    report, answered, _ = research_web(profile, model, MINUTES)
    assert answered["extract"]
    assert not report.methodology.writer


def test_where_nothing_was_found_no_writer_is_said_to_have_been_too_slow():
    model = Mixed(name="a model")
    made = make_web_run("timed", {}, question="How tall is the lighthouse?", analysts=[model, ExtractiveAnalyst()])
    report = run_virtually(made.research())
    assert report.outcome is Outcome.NO_EVIDENCE
    assert not model.given("synthesize")
    assert report.methodology.writer == ""


@pytest.mark.parametrize("twice", [False, True])
def test_a_first_round_that_a_person_ended_goes_on_when_the_run_is_resumed(twice: bool):
    engine = Growing({}, per_search=8)
    given: Any = {"question": "How tall is the lighthouse of Oldby?", "engines": [engine], "wire": False}
    given |= {"library": MemoryLibrary()}

    async def leave() -> Any:
        model = Deliberate(name="slow model")
        made = make_web_run("timed", engine.pages, analysts=[model, ExtractiveAnalyst()], **given)
        work = asyncio.create_task(made.research())
        while not any(role == "plan" for role, _ in model.played):  # noqa: ASYNC110 - time is virtual
            await asyncio.sleep(1.0)
        await asyncio.sleep(5.0)  # its readings are on their way
        made.session.budget.finish_research()  # the first Ctrl-C
        if twice:
            await asyncio.sleep(1.0)
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)
        else:
            with pytest.raises(NeedsHuman, match="before anything was found"):
                await work
        return made.journal.next_attempt()

    journal = run_virtually(leave())
    model = Mixed(name="slow model")
    again = make_web_run("timed", engine.pages, analysts=[model, ExtractiveAnalyst()], journal=journal, **given)
    report = run_virtually(again.research())
    assert report.citations
    assert not twice or "time_reserve" not in dict(report.methodology.stops).values()
