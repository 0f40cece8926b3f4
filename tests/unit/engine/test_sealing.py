"""Sealing: once a report is sealed it is the outcome, though the time of the run is over then."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace

from bench.agreement import Ended, find_disagreements
from tests.fakes import run_virtually
from tests.profiles.scripted import WebRun, make_web_run

from corrobora.app.attempts import research_in_time
from corrobora.domain.report import Report
from corrobora.domain.run import SEALED
from corrobora.domain.thread import StopReason
from corrobora.ports import Entry

PAGES = {
    "https://mill.example/gates": "# Gates\n\nThe sluice gates of Orrin mill must be greased every 14 days with oil.",
    "https://mill.example/pond": "# Pond\n\nThe mill pond of Orrin may stand at most 210 centimetres above the sill.",
}
QUESTION = "How often must the sluice gates of Orrin mill be greased, and how deep is the harbour of Brenhaven?"
Step = Callable[[], Awaitable[None]]


@dataclass
class Ending:
    """The files of a run in memory, with something that happens at one step of its end."""

    run: WebRun
    step: str
    happen: Step
    happened: list[str] = field(default_factory=list[str])

    async def seal(self, texts: Mapping[str, str], entry: Entry) -> Entry:
        await self.at("seal")
        first = await self._seal(texts, entry)
        await self.at("sealed")
        return first

    async def at(self, step: str) -> None:
        if step == self.step and not self.happened:
            self.happened.append(step)
            await self.happen()

    def arm(self) -> None:
        outside = self.run.session.outside
        self._seal = outside.seal
        self.run.session.outside = replace(outside, seal=self.seal)


async def stall() -> None:
    """Stand still until the time of the run is over."""
    await asyncio.sleep(1_000_000.0)


async def end_in_time(step: str) -> tuple[WebRun, Report, list[str]]:
    """Make a run whose time is over at a step."""
    made = make_web_run("full", PAGES, question=QUESTION, overrides={"minutes": "5"}, authorize="auto")
    ending = Ending(made, step, stall)
    ending.arm()
    return made, await research_in_time(made.session), ending.happened


def list_told_apart(run: WebRun, report: Report) -> list[tuple[str, str]]:
    """What the files of a run say differently about the same thing; the exit code is not theirs."""
    assert json.loads(run.files["report.json"])["markdown"] == report.markdown, "the report that is stored is returned"
    return [each for each in find_disagreements(Ended(run.files, report.outcome, "done", 0, 0)) if each[0] != "exit"]


def test_a_report_is_the_outcome_once_it_is_sealed_though_the_time_is_over_then() -> None:
    whole, report, _ = run_virtually(end_in_time("never"))
    late, same, happened = run_virtually(end_in_time("sealed"))
    assert happened == ["sealed"]
    assert same.findings.stop is not StopReason.TIME_RESERVE
    assert (late.files, same) == (whole.files, report)
    assert late.journal.entries.keys() == whole.journal.entries.keys(), "no other report is begun"
    assert [each.key for each in late.journal.events] == [each.key for each in whole.journal.events]
    assert list_told_apart(late, same) == []


def test_a_report_that_was_not_sealed_in_time_leaves_nothing_beside_the_one_that_was() -> None:
    cut, report, happened = run_virtually(end_in_time("seal"))
    assert happened == ["seal"]
    assert report.findings.stop is StopReason.TIME_RESERVE
    assert list_told_apart(cut, report) == []
    assert json.loads(cut.files["verification.json"])["failed"] == "the run was cut at its deadline"


def test_a_report_is_not_the_outcome_where_another_one_was_sealed_meanwhile() -> None:
    """As where the database took the first one and its answer was lost."""
    first, report, _ = run_virtually(end_in_time("seal"))

    async def end_second() -> tuple[WebRun, Report]:
        made = make_web_run("full", PAGES, question=QUESTION, overrides={"minutes": "5"}, authorize="auto")

        async def seal_first() -> None:
            await made.session.outside.seal(first.files, first.journal.entries[SEALED])

        Ending(made, "seal", seal_first).arm()
        return made, await research_in_time(made.session)

    second, same = run_virtually(end_second())
    assert (second.files["report.md"], same) == (first.files["report.md"], report)
    assert list_told_apart(second, same) == []
