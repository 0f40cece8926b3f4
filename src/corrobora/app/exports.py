"""Exports of a stored run: its plots, its sources as a reader sees them, and the bundle that can be checked elsewhere.

Knows which stored values an export needs, and reads them. Does not know how a format is written (`reporting` does) or
where it goes.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING

from corrobora.app.runs import load_report
from corrobora.domain.errors import NoEvidence, UserError
from corrobora.domain.evidence import Document, Passage, PassageId, SourceId, locate_quote
from corrobora.domain.report import Citation, CitedPassage, Report
from corrobora.domain.run import EventType, missing_report_error
from corrobora.reporting.bibliography import CitedWork, write_bibtex, write_csl, write_ris
from corrobora.reporting.bundle import build_crate, write_bundle
from corrobora.reporting.bundle_check import list_claims, recheck_members
from corrobora.reporting.evidence import cite_span
from corrobora.reporting.plots import PlotKind, draw_plot
from corrobora.reporting.report_document import TextBlock, read_document, write_docx, write_pdf
from corrobora.reporting.report_format import REPORT_FILES
from corrobora.storage.index import PostgresLibrary
from corrobora.storage.journal.events import list_events
from corrobora.text.phrases import ENGLISH, find_frame, format_count

if TYPE_CHECKING:
    from corrobora.app import Workspace


_DECISIONS = frozenset(EventType) - {
    EventType.STAGE,
    EventType.THOUGHT,
    EventType.SEARCH,
    EventType.READ,
    EventType.FACT,
    EventType.ROUND_STARTED,
}
_TEXTS = "SELECT sha, body FROM snapshot WHERE sha = ANY(%s)"
_SOURCES = "SELECT id, publisher, added FROM source WHERE id = ANY(%s)"
_PASSAGES = "SELECT id, starts, ends, heading FROM passage WHERE id = ANY(%s)"
_JOURNAL = "SELECT key, meta, out FROM journal WHERE run = %s"


async def plot_run(workspace: Workspace, run: str, kinds: Sequence[PlotKind]) -> dict[PlotKind, str]:
    """Return the plots of these kinds that have something to show, each as an SVG file of its own.

    Their words are in the language of the report.
    """
    events, report = await list_events(workspace.database, run), await load_report(workspace, run)
    frame = ENGLISH if report is None else find_frame(report.language, report.translation)
    drawn = {kind: draw_plot(kind, events, report, frame=frame, standalone=True) for kind in kinds}
    return {kind: picture for kind, picture in drawn.items() if picture}


async def export_run(workspace: Workspace, run: str, formats: Collection[str]) -> dict[str, bytes]:
    """Return the report of a run in these formats; one that was not stored with it is left out.

    Raises:
        NoEvidence: the run has no report.
    """
    contents: dict[str, bytes] = {}
    for form in formats:
        if form in REPORT_FILES:
            stored = await workspace.runs.read_artifact(run, REPORT_FILES[form])
            contents |= {} if stored is None else {form: stored.content}
        else:
            contents[form] = await _WRITERS[form](workspace, run)
    if not contents:
        raise missing_report_error(await workspace.runs.get(run))
    return contents


async def bundle_run(workspace: Workspace, run: str) -> bytes:
    """Return the bundle of a run that has a report; the same run gives the same bytes.

    Raises:
        NoEvidence: the run has no report, or the text of a cited source is no longer stored.
    """
    report = await _load_cited_report(workspace, run)
    members = await _read_texts(workspace, report.citations)
    missing = len({each.snapshot for each in report.citations}) - len(members)
    if missing:
        raise NoEvidence(
            "snapshot_missing",
            f"The stored text of {format_count(missing, 'source')} of run {run} was removed.",
            next_step="A bundle needs them all; export another format, or research again.",
        )
    for name in ("report.md", "report.html", "report.json", "plan.json"):
        stored = await workspace.runs.read_artifact(run, name)
        members[name] = b"null\n" if stored is None else stored.content
    events = await list_events(workspace.database, run)
    decided = [each for each in events if each.type in _DECISIONS]
    members["decisions.json"] = _dump_json([each.as_json() for each in decided])
    members["sources.json"] = _dump_json(await _list_sources(workspace, report.citations, members))
    members["journal.json"] = _dump_json({**await _digest_journal(workspace, run), "events": len(events)})
    members["claims.json"] = _dump_json(list_claims(await recheck_members(members)))
    created = datetime.fromisoformat((await workspace.runs.get(run)).created_at)
    crate = build_crate(report, run, members, created.astimezone(UTC).date().isoformat())
    members["ro-crate-metadata.json"] = _dump_json(crate)
    return write_bundle(run, members)


async def _load_cited_report(workspace: Workspace, run: str, *, also_empty: bool = False) -> Report:
    """Return the report of a run; one that says that nothing was found, without sources, if it may be `also_empty`."""
    report = await load_report(workspace, run)
    if report is None or not (report.citations or (also_empty and report.markdown)):
        row = await workspace.runs.get(run)
        raise (
            missing_report_error(row)
            if report is None
            else NoEvidence("report_missing", f"The report of run {run} cites nothing.", next_step=row.next_step)
        )
    return report


async def _read_texts(workspace: Workspace, citations: Sequence[Citation]) -> dict[str, bytes]:
    """Return the stored texts of the cited sources, by the name that they have in a bundle."""
    wanted = sorted({each.snapshot for each in citations})
    rows = await workspace.database.fetch_all(_TEXTS, [wanted], where="reading the texts of cited sources")
    return {f"snapshots/{sha}.txt": str(body).encode() for sha, body in rows}


async def _list_sources(
    workspace: Workspace, citations: Sequence[Citation], members: Mapping[str, bytes]
) -> list[dict[str, object]]:
    database, where = workspace.database, "reading the cited sources"
    ids = [int(each.source[1:]) for each in citations]
    known = {f"S{row[0]}": row[1:] for row in await database.fetch_all(_SOURCES, [ids], where=where)}
    passages = [int(each.passage[1:]) for each in citations]
    places = {f"C{row[0]}": row[1:] for row in await database.fetch_all(_PASSAGES, [passages], where=where)}
    found: dict[str, dict[str, object]] = {}
    parts: dict[str, list[dict[str, object]]] = {}
    for each in citations:
        publisher, added = known.get(each.source, ("", None))
        parts.setdefault(each.source, [])
        found.setdefault(
            each.source,
            {
                "source": each.source,
                "title": each.title,
                "url": each.url,
                "snapshot": each.snapshot,
                "version": each.version,
                "published": each.published,
                "publisher": publisher,
                "authors": list(each.authors),
                "stored_at": added.astimezone(UTC).isoformat(timespec="seconds") if added else "",
                "passages": parts[each.source],
            },
        )
        start, end, heading = places.get(each.passage) or _find_place(each, members)
        parts[each.source].append({"passage": each.passage, "start": start, "end": end, "heading": heading})
    return list(found.values())


def _find_place(cited: Citation, members: Mapping[str, bytes]) -> tuple[int, int, str]:
    """Return where the first quote is, for a passage that a later reading of its source replaced."""
    stored = members.get(f"snapshots/{cited.snapshot}.txt", b"").decode()
    place = locate_quote(cited.quotes[0], stored) if cited.quotes else None
    start, end = place or (0, 1)
    return start, end, cited.heading


async def _digest_journal(workspace: Workspace, run: str) -> dict[str, object]:
    rows = await workspace.database.fetch_all(_JOURNAL, [run], where="reading the journal of a run")
    whole = sha256()
    for key, meta, out in sorted(rows, key=lambda row: str(row[0]).encode()):
        digests = (sha256(str(part).encode("utf-8", "surrogatepass")).hexdigest() for part in (meta, out))
        whole.update("\0".join((str(key), *digests)).encode() + b"\n")
    return {"entries": len(rows), "sha256": whole.hexdigest()}


def _dump_json(value: object) -> bytes:
    return (json.dumps(value, ensure_ascii=False, indent=1) + "\n").encode("utf-8", "backslashreplace")


async def _export_document(
    write: Callable[[str, Sequence[TextBlock], str], bytes], workspace: Workspace, run: str
) -> bytes:
    report = await _load_cited_report(workspace, run, also_empty=True)
    numbers = [each.number for each in report.citations]
    return await asyncio.to_thread(
        lambda: write(report.title, read_document(report.markdown, numbers), report.language)
    )


async def _export_references(write: Callable[[Sequence[CitedWork]], str], workspace: Workspace, run: str) -> bytes:
    report = await _load_cited_report(workspace, run)
    rows = await _list_sources(workspace, report.citations, await _read_texts(workspace, report.citations))
    return write([CitedWork.from_record(row) for row in rows]).encode("utf-8", "replace")


_WRITERS: Mapping[str, Callable[[Workspace, str], Awaitable[bytes]]] = {
    "docx": partial(_export_document, write_docx),
    "pdf": partial(_export_document, write_pdf),
    "csl": partial(_export_references, write_csl),
    "bib": partial(_export_references, write_bibtex),
    "ris": partial(_export_references, write_ris),
    "bundle": bundle_run,
}


_SPACE = "SELECT x.name FROM source s JOIN space x ON x.id = s.space WHERE s.id = %s"
_QUOTES = "SELECT id, passage, starts, ends, quote FROM fact WHERE source = %s ORDER BY starts"
_QUOTED = "SELECT passage, min(starts), max(heading) FROM fact WHERE source = %s GROUP BY passage ORDER BY 2"
_REFERENCE = re.compile(r"\[?S(\d{1,9})(?::C(\d{1,9}))?\]?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class PassageReference:
    """What a person names: a source, and a passage of it or "" for its begin."""

    source: str
    passage: str = ""


@dataclass(frozen=True, slots=True)
class StoredQuote:
    """A quote that was taken from a source: characters `start` to `end` of its stored text."""

    fact: str
    start: int
    end: int


def parse_reference(text: str) -> PassageReference:
    """Read "S186:C4575" or "S186". Raises `UserError` `source_reference` for anything else."""
    found = _REFERENCE.fullmatch(text.strip())
    if found is None:
        raise UserError(
            "source_reference",
            f"{text[:80]!r} names no source.",
            next_step="Sources are named as in reports: S186:C4575, or S186.",
        )
    return PassageReference(f"S{int(found[1])}", f"C{int(found[2])}" if found[2] else "")


async def read_source(workspace: Workspace, source: str) -> Document:
    """Return a stored source with its text and its passages. Raises `UserError` `source_unknown`."""
    number = int(source[1:]) if source[1:].isdigit() else 0
    row = None
    if 0 < number < 1 << 31:
        row = await workspace.database.fetch_one(_SPACE, [number], where="reading a source")
    if row is None:
        raise UserError(
            "source_unknown",
            f"No source {source[:20]} is stored here.",
            next_step="List the sources of a library with: corrobora library show NAME",
        )
    return await load_document(workspace, PostgresLibrary(workspace.database, row), SourceId(source))


async def load_document(workspace: Workspace, library: PostgresLibrary, source: SourceId) -> Document:
    """Return a stored source with its text and its passages. Raises `ReadError` if the library has it not.

    Of a document that was read again since, the passages are gone from the index: its text is divided where its quotes
    were taken, under the names that reports give these places.
    """
    held, text = await library.document(source)
    passages = await library.source_passages(source)
    if not passages and text:
        rows = await workspace.database.fetch_all(_QUOTED, [int(source[1:])], where="reading quotes")
        begins = [max(0, text.rfind("\n", 0, start)) for _, start, _ in rows]
        ends = [*begins[1:], len(text)]
        begins[:1] = [0]
        passages = [
            Passage(PassageId(name), source, text[start:end], start, end, heading)
            for (name, _, heading), start, end in zip(rows, begins, ends, strict=True)
        ]
    return Document(held, text, tuple(passages))


async def list_quotes(workspace: Workspace, stored: Document) -> list[StoredQuote]:
    """Return the quotes that any run took from a source and that it still contains, by their place."""
    number = int(stored.source.id[1:])
    rows = await workspace.database.fetch_all(_QUOTES, [number], where="reading quotes")
    return [StoredQuote(fact, start, end) for fact, _, start, end, quote in rows if stored.text[start:end] == quote]


def select_passages(stored: Document, reference: PassageReference) -> Sequence[CitedPassage]:
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
    chosen = stored.passages[max(0, at - 1) : at + 2]
    return [cite_span(stored, each.id, each.heading, each.start, each.end) for each in chosen]
