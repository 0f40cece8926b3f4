"""Sealing: the moment from which a report is the outcome of its run, whatever overtakes the work before or after it.

A report is sealed when its files and the journal's entry of it are committed, both at once, and the first one counts: a
time limit, a crash or a cancellation comes before this moment or after it. Knows what is journaled of a report, and
what follows from it on every attempt. Does not know how a report is made.
"""

from __future__ import annotations

from collections.abc import Mapping

from pydantic_core import to_json

from corrobora.domain.errors import JournalError
from corrobora.domain.report import Report
from corrobora.domain.run import SEALED, EventType
from corrobora.engine.knowledge import remember_findings
from corrobora.engine.session import Session
from corrobora.engine.session.journal import CallMeta, decode, encode, hash_parts
from corrobora.ports import Entry
from corrobora.reporting.seal import read_digest
from corrobora.reporting.thread_json import get_synthesis_badge

_REPORT = "report.json"


async def seal_report(report: Report, files: Mapping[str, str], words: int, run: Session) -> Report:
    """Store a report with its files as the outcome of the run; return the one that counts: the first that was sealed.

    `words` are those of its body, without sources and methodology (ROUNDS-24).
    """
    out = to_json({**_describe_end(report, files, words), "digest": hash_parts(files[_REPORT])}).decode()
    await run.journal.flush()  # what came before it is not lost if the run goes on from here
    meta = encode(CallMeta, CallMeta(elapsed=round(run.budget.elapsed, 3)))
    first = await run.outside.seal(files, Entry(SEALED, out, meta))
    report = report if first.out == out else await _read_report(run)
    await _follow_up(report, first, run)
    return report


async def find_sealed_report(run: Session) -> Report | None:
    """Return the report that was sealed already, all that follows from it done; None if the run has no outcome yet."""
    entry = run.journal.get(SEALED)
    if entry is None:
        return None
    report = await _read_report(run)
    await _follow_up(report, entry, run)
    return report


async def _read_report(run: Session) -> Report:
    text = await run.outside.read(_REPORT)
    if text is None:
        raise JournalError(
            "artifact_damaged",
            f"The report of run {run.run} was sealed, and its file {_REPORT} is gone.",
            next_step=f"Write it again with: corrobora resume {run.run} --from-stage deliver",
        )
    return decode(Report, text, key=_REPORT)


async def _follow_up(report: Report, sealed: Entry, run: Session) -> None:
    """Store the facts of a report and tell its end; a new version of an earlier report brings no facts."""
    end = decode(dict[str, object], sealed.out, key=SEALED)
    del end["digest"]
    if run.request.edits:
        run.emit(EventType.COMPLETE, "root", end)
        return
    await remember_findings(report.findings, run)
    if report.citations:
        checked = {"removed": report.methodology.removed_sentences, "supported": end["supported"]}
        run.emit(EventType.VERIFY, "root", checked)
    run.emit(EventType.COMPLETE, "root", end, number=get_synthesis_badge(report.findings))


def _describe_end(report: Report, files: Mapping[str, str], words: int) -> dict[str, object]:
    """Describe the outcome for the final event of the run: sizes, and the seals of the files."""
    return {
        "outcome": report.outcome,
        "reason": report.reason,
        "words": words,
        "sources": report.methodology.sources_cited,
        "citations": len(report.citations),
        "seconds": round(report.methodology.seconds, 1),
        "supported": round(report.supported_share, 3),
        "seal": {name: digest for name, text in files.items() if (digest := read_digest(name, text))},
    }
