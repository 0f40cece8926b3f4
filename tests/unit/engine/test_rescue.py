"""Rescue: a run whose time is over has a report from its journal, and nothing in it that was not gathered."""

from __future__ import annotations

from dataclasses import replace

from tests.fakes import MemoryJournal
from tests.profiles.research import QUESTION, LibraryRun, Mixed, make_run

from corrobora.analysts.extractive import ExtractiveAnalyst
from corrobora.domain.errors import ProviderError
from corrobora.domain.plan import Brief, SubQuestion
from corrobora.domain.report import Outcome
from corrobora.domain.thread import StopReason
from corrobora.engine.research import rescue_report
from corrobora.engine.session.journal import decode, encode
from corrobora.ports import Entry
from corrobora.roles.extract import Extraction


async def journaled() -> LibraryRun:
    """Run once to its end and keep only what was extracted, as a run does that was cut before writing."""
    done = await make_run("timed")
    await done.research()
    journal = MemoryJournal()
    for key in done.journal.keys("extract/"):
        journal.entries[key] = done.journal.entries[key]
    unable = Mixed({"synthesize": ProviderError("provider_failed", "the provider is slow")}, "slow")
    made = await make_run(
        "timed", wire=False, journal=journal, library=done.library, analysts=(unable, ExtractiveAnalyst())
    )
    made.session.brief, made.session.questions = Brief(QUESTION), done.session.questions
    return made


async def test_the_report_is_written_from_what_was_journaled_without_the_first_analyst() -> None:
    made = await journaled()
    report = await rescue_report(made.session, StopReason.TIME_RESERVE)
    assert "every 12 months" in report.markdown
    assert report.citations
    assert report.findings.stop is StopReason.TIME_RESERVE
    assert any("cut at its deadline" in note for note in report.findings.notes)
    assert all(prompt != "synthesize" for prompt, _ in made.session.outside.analysts[0].played)  # pyright: ignore[reportAttributeAccessIssue]


async def test_a_question_without_a_fact_is_a_gap() -> None:
    made = await journaled()
    made.session.questions = (*made.session.questions, SubQuestion("sq-99", "Who painted the cranes?"))
    report = await rescue_report(made.session, StopReason.TIME_RESERVE)
    assert any("Who painted the cranes?" in gap.text for gap in report.findings.gaps)
    assert report.outcome is not Outcome.COMPLETE


async def test_a_quote_that_does_not_stand_in_its_snapshot_is_dropped() -> None:
    made = await journaled()
    for key, entry in list(made.journal.entries.items()):
        told = decode(Extraction, entry.out, key=key)
        false = tuple(replace(each, quote="Cranes must be inspected every 3 days.") for each in told.quotes)
        made.journal.entries[key] = Entry(key, encode(Extraction, replace(told, quotes=false)), entry.meta)
    report = await rescue_report(made.session, StopReason.TIME_RESERVE)
    assert report.findings.facts == ()
    assert "3 days" not in report.markdown


async def test_an_empty_journal_gives_an_honest_report() -> None:
    made = await make_run("timed")
    made.session.brief = Brief(QUESTION)
    report = await rescue_report(made.session, StopReason.TIME_RESERVE)
    assert report.citations == ()
    assert report.outcome is not Outcome.COMPLETE
