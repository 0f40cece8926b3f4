"""Every profile with a model that is slow or hangs, in virtual time: the deadline holds, and the report is there."""

from __future__ import annotations

import asyncio
import math
from typing import Any

import pytest
from tests.profiles.research import Mixed, make_run

from corrobora.analysts.extractive import ExtractiveAnalyst
from corrobora.config.profiles import load_profile
from corrobora.domain.report import Outcome, Report
from corrobora.engine.session.journal import hash_parts
from corrobora.testing import LoopTime
from corrobora.testing.fakes import run_virtually

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
    """Takes 20 to 45 seconds for each call, and 100 for a report."""

    async def play(self, role: Any, given: Any) -> Any:
        share = int(hash_parts(role.prompt, given.path)[:6], 16) / 0xFFFFFF
        await asyncio.sleep(100.0 if role.prompt == "synthesize" else 20.0 + 25.0 * share)
        return await super().play(role, given)


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
    assert any("with 1 round each were planned" in note for note in report.methodology.notes)
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
