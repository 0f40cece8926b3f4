"""Stored sources as a reader sees them: their text and passages, and the quotes that reports and runs took from them.

Knows the tables of sources, passages and facts, in whatever library they are. Does not know how a text is shown.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from corrobora.domain.errors import UserError
from corrobora.domain.evidence import Passage, PassageId, Source, SourceId
from corrobora.domain.report import CitedPassage, Report
from corrobora.reporting.evidence import StoredText, build_evidence

if TYPE_CHECKING:
    from corrobora.app import Workspace

_SOURCE = """
SELECT s.id, s.title, s.url, s.snapshot, s.origin, s.version, s.published, s.publisher, s.kind, s.official, s.authors,
    n.body
FROM source s JOIN snapshot n ON n.sha = s.snapshot WHERE s.id = %s
"""
_PASSAGES = "SELECT id, source, starts, ends, heading FROM passage WHERE source = %s ORDER BY place"
_QUOTES = "SELECT id, passage, starts, ends, quote FROM fact WHERE source = %s ORDER BY starts"
_REFERENCE = re.compile(r"\[?S(\d{1,9})(?::C(\d{1,9}))?\]?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Reference:
    """What a person names: a source, and a passage of it or "" for its begin."""

    source: str
    passage: str = ""


@dataclass(frozen=True, slots=True)
class StoredQuote:
    """A quote that was taken from a source: characters `start` to `end` of its stored text."""

    fact: str
    start: int
    end: int


def parse_reference(text: str) -> Reference:
    """Read "S186:C4575" or "S186". Raises `UserError` `source_reference` for anything else."""
    found = _REFERENCE.fullmatch(text.strip())
    if found is None:
        raise UserError(
            "source_reference",
            f"{text[:80]!r} names no source.",
            next_step="Sources are named as in reports: S186:C4575, or S186.",
        )
    return Reference(f"S{int(found[1])}", f"C{int(found[2])}" if found[2] else "")


async def read_source(workspace: Workspace, source: str) -> StoredText:
    """Return a stored source with its text and its passages. Raises `UserError` `source_unknown`."""
    number = int(source[1:]) if source[1:].isdigit() else 0
    row = None
    if 0 < number < 1 << 31:
        row = await workspace.database.fetch_one(_SOURCE, [number], where="reading a source")
    if row is None:
        raise UserError(
            "source_unknown",
            f"No source {source[:20]} is stored here.",
            next_step="List the sources of a library with: corrobora library show NAME",
        )
    text = str(row[11])
    rows = await workspace.database.fetch_all(_PASSAGES, [number], where="reading passages")
    passages = [
        Passage(PassageId(f"C{id_}"), SourceId(f"S{of}"), text[start:end], start, end, heading)
        for id_, of, start, end, heading in rows
    ]
    return StoredText(Source(SourceId(f"S{row[0]}"), *row[1:10], authors=tuple(row[10])), text, passages)


async def list_quotes(workspace: Workspace, stored: StoredText) -> list[StoredQuote]:
    """Return the quotes that any run took from a source and that stand there, by their place."""
    number = int(stored.source.id[1:])
    rows = await workspace.database.fetch_all(_QUOTES, [number], where="reading quotes")
    return [StoredQuote(fact, start, end) for fact, _, start, end, quote in rows if stored.text[start:end] == quote]


async def complete_evidence(workspace: Workspace, report: Report) -> Report:
    """Return a report with evidence, also one of an earlier version that was stored without it.

    What is no longer stored leaves its numbers without a quote.
    """
    if report.evidence or not report.markdown:
        return report
    stored: dict[str, StoredText] = {}
    for source in dict.fromkeys(each.source for each in report.citations):
        try:
            stored[source] = await read_source(workspace, source)
        except UserError:
            continue
    evidence, passages = build_evidence(report, stored)
    return replace(report, evidence=evidence, passages=passages)


def select_passages(stored: StoredText, reference: Reference, *, around: int = 1) -> Sequence[CitedPassage]:
    """Return the named passage between its neighbours, or the first ones of a source.

    Raises `UserError` `passage_unknown` for a passage that the source has not.
    """
    at = next((n for n, each in enumerate(stored.passages) if each.id == reference.passage), None)
    if reference.passage and at is None:
        raise UserError(
            "passage_unknown",
            f"The source {reference.source} has no passage {reference.passage}.",
            next_step=f"Its first passages: corrobora source {reference.source}",
        )
    at = at or 0
    chosen = stored.passages[max(0, at - around) : at + around + 1]
    return [stored.cite(each.id, each.heading, each.start, each.end) for each in chosen]
