"""Verification of a report file: where its sources and the delivered report are looked up.

Knows the stored snapshots, sources and reports, folders of local files, and the safe fetcher. Does not know how a
sentence is checked.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import unicodedata
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from operator import itemgetter
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, ParamSpec, TypeVar, cast

from corrobora.app.runs import load_report
from corrobora.config import resolve_language
from corrobora.domain.errors import ReadError, UserError
from corrobora.domain.evidence import Hit, Source, SourceId
from corrobora.ports import IngestItem, ParsedDocument
from corrobora.reporting.html_reader import compare_markup, find_hiding, html_to_markdown, is_html
from corrobora.reporting.recheck import RecheckResult, credit_rulings, recheck_report
from corrobora.reporting.references import CitationStatus, Lookups, SourcePage, StoredSource
from corrobora.reporting.report_format import read_frame
from corrobora.reporting.report_parser import Reference
from corrobora.reporting.seal import (
    SealStatus,
    TextChange,
    canonical_json,
    check_seal,
    compute_digest,
    find_changes,
    find_seal,
)
from corrobora.text.passages import iterate_sections

if TYPE_CHECKING:
    from corrobora.app import Workspace
    from corrobora.text.phrases import Frame

P = ParamSpec("P")
T = TypeVar("T")
_MARKUP_SHOWN = 200  # characters of an element in a message
_RULING = "confirm"  # the role of a model that rules on sentences that code leaves open, as the journal names it
_FETCH_SPACE = "verify"  # where pages that were fetched for a check are stored
_FIND_RUNS = """
SELECT run FROM run_artifact WHERE name = 'report.md' AND position(%s::bytea IN bytes) > 0 ORDER BY at DESC LIMIT 8
"""
_SOURCES = """
SELECT s.id, s.title, s.url, s.version, s.published, s.authors, p.heading, p.id FROM source s
LEFT JOIN passage p ON p.source = s.id AND EXISTS (
  SELECT 1 FROM unnest(%s::int[], %s::int[]) AS quote (begins, stops)
  WHERE quote.begins < p.ends AND quote.stops > p.starts
)
WHERE s.snapshot = %s ORDER BY s.id = %s DESC, p.id = %s DESC, s.id DESC LIMIT 100
"""

_PAGE = """
SELECT s.title, s.version, s.published, n.body, (
  SELECT array_agg(ARRAY[p.starts::text, p.heading] ORDER BY p.place) FROM passage p WHERE p.source = s.id
) FROM source s JOIN snapshot n ON n.sha = s.snapshot WHERE s.url = ANY(%s) ORDER BY s.id DESC LIMIT 1
"""

# What a file is compared with: a page may be what another tool made of our Markdown, and Markdown of our page.
_FORMS = {"md": ("md", "html"), "html": ("html", "md"), "json": ("json",)}


@dataclass(frozen=True, slots=True)
class ReportFile:
    """A report as read from a file: the Markdown to check, the text that its seal covers, and its format."""

    markdown: str
    sealed: str
    form: str  # md, html, json
    page: str = ""  # the HTML of a page


_ITEM_SIGN = re.compile(r"(?m)^([> \t]*)[•◦▪‣∙·](?=\s)")
_AUTOLINK = re.compile(r"(?<!\\)<(https?://[^\s<>]{1,2083})>")
_TABLE = re.compile(r"(?s)<table>.*?</table>")
VERIFIABLE = "What can be verified is the Markdown, HTML, JSON or bundle of a report; each lists its references."
_OTHER_FILES = (  # what also comes from a run, by how it begins
    (re.compile(r"\ufeff?\s*@\w+\s*\{\s*[^\s,{}]+,\s"), "a list of references in BibTeX"),
    (re.compile(r"\ufeff?\s*TY {2}- "), "a list of references in RIS"),
    (re.compile(r'\ufeff?\s*\[\s*\{\s*"'), "a list in JSON, such as references in CSL-JSON"),
)
_JSON_START = re.compile(r"""[\ufeff\s]*\{\s*["}]""")


def read_report_text(text: str) -> ReportFile:
    """Recognize Markdown, our HTML or our JSON by its first characters.

    Raises `UserError`: `report_json` for JSON that is broken, `report_format` for what is no report.
    """
    if is_html(text):
        markdown = html_to_markdown(text)
        return ReportFile(markdown, markdown, "html", text)
    if kind := next((kind for form, kind in _OTHER_FILES if form.match(text)), ""):
        raise UserError("report_format", f"This is {kind}, not a report.", next_step=VERIFIABLE)
    if text.lstrip("\ufeff \r\n\t").startswith("{"):
        try:
            fields = cast("object", json.loads(text.removeprefix("\ufeff"), object_pairs_hook=_join_pairs))
        except ValueError as error:
            if _JSON_START.match(text) is None:
                return _read_markdown(text)
            why = f"The text begins like JSON but is not valid JSON: {error}."
            raise UserError("report_json", why, next_step="Export the report again: corrobora export RUN") from error
        known = cast("dict[str, object]", fields) if isinstance(fields, dict) else {}
        if isinstance(known.get("markdown"), str):
            seal = find_seal(str(known.get("seal", "")))
            if seal and known.get("run_id") == seal.run:  # added where a run prints its report
                del known["run_id"]
                known = {k: v for k, v in known.items() if k != "estimate" or not _is_estimate(v)}
            return ReportFile(str(known["markdown"]), f"{canonical_json(known)}\n\n{known.get('seal', '')}", "json")
        why = "This JSON has no field `markdown`, so it is not a report."
        raise UserError("report_format", why, next_step=VERIFIABLE)
    return _read_markdown(text)


def _read_markdown(text: str) -> ReportFile:
    """Read Markdown, also a mail's quotation of it; in the spelling of another tool only if its seal fits so.

    A tool may write "•" for "-", `<https://a.example>` for the address, tables as HTML, and "é" as two characters.
    """
    lines = re.split(r"\r\n?|\n", text)
    if all(line.startswith(">") for line in lines if line):
        text = "\n".join(line.removeprefix(">").removeprefix(" ") for line in lines)
    changed = _ITEM_SIGN.sub(r"\1-", _AUTOLINK.sub(r"\1", unicodedata.normalize("NFC", text)))
    changed = _TABLE.sub(lambda table: html_to_markdown(table.group()), changed)
    seal = find_seal(text) if changed != text else None
    if seal is not None and seal.digest == compute_digest(changed) != compute_digest(text):
        text = changed
    return ReportFile(text, text, "md")


def _join_pairs(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Return an object. A name that is written twice gets a field of its own: readers take one or the other."""
    found: dict[str, object] = {}
    for name, value in pairs:
        found[f"{name}, written twice" if name in found else name] = value
    return found


def _is_estimate(value: object) -> bool:
    """True for what is printed beside a report of what a run may cost: it has words in no value."""
    parts = cast("dict[str, object]", value).values() if isinstance(value, dict) else ()
    return bool(parts) and not any(isinstance(each, str | dict | list) for each in parts)


async def verify_report(
    workspace: Workspace, text: str, *, folder: Path | None = None, fetch: bool = False
) -> RecheckResult:
    """Check a report: first its seal against the stored run, then every sentence against its sources.

    `folder` holds files that the report's sources are looked up in by name, title and address; with `fetch` the cited
    addresses are requested.

    Raises:
        UserError: the folder cannot be read, or fetching is asked for offline.
    """
    given = await asyncio.to_thread(read_report_text, text)
    look: list[Callable[[Reference], Awaitable[SourcePage | None]]] = [partial(_read_stored_page, workspace)]
    if folder is not None:
        look.insert(0, await _folder_pages(folder))
    if fetch:
        look.append(_web_pages(workspace))

    async def find_page(reference: Reference) -> SourcePage | None:
        for each in look:
            page = await each(reference)
            if page is not None:
                return page
        return None

    home = asyncio.get_running_loop()
    lookups = Lookups(
        _call_from_thread(partial(_read_snapshot, workspace), home),
        _call_from_thread(find_page, home),
        _call_from_thread(partial(_read_sources, workspace), home),
    )
    frames = await _list_frames(workspace, given)
    result = await asyncio.to_thread(asyncio.run, recheck_report(given.markdown, lookups, frames))
    if not (result.ours or find_seal(given.sealed)):
        return result
    run, status, changes = await _compare_delivered(workspace, given, result.references)
    problems = result.problems if run else {**result.misplaced, **result.problems}  # a stored run proves its passages
    found = replace(result, seal=status, run=run, changes=changes, problems=problems)
    report = await load_report(workspace, run) if status is SealStatus.DELIVERED else None
    if report is None:
        return found
    found = _trust_labels(found)
    return credit_rulings(found, report.checks, await _name_judges(workspace, run))


def _trust_labels(result: RecheckResult) -> RecheckResult:
    """Let a delivered report name its sources as they were named then: a file may have another title or date by now."""
    renamed = {
        number
        for each in result.statements
        for number, status in zip(each.cited, each.found, strict=True)
        if status is CitationStatus.MISLABELLED
    }
    valid = {CitationStatus.MISLABELLED: CitationStatus.VERIFIED}
    return replace(
        result,
        statements=tuple(replace(s, found=tuple(valid.get(each, each) for each in s.found)) for s in result.statements),
        problems={number: why for number, why in result.problems.items() if str(number) not in renamed},
        conflicts=tuple(each for each in result.conflicts if not renamed.intersection(each.cited)),
    )


async def _name_judges(workspace: Workspace, run: str) -> str:
    """Return the models that ruled in a run on what code left open."""
    query = "SELECT meta FROM journal WHERE run = %s AND position(%s in meta) > 0 ORDER BY key"
    rows = await workspace.database.fetch_all(query, [run, f'"{_RULING}"'], where="finding who ruled in a run")
    metas = (cast("dict[str, str]", json.loads(str(meta))) for (meta,) in rows)
    named = [meta["model"] or meta["analyst"] for meta in metas if meta["role"] == _RULING]
    return ", ".join(dict.fromkeys(named)) or "a model"


def _call_from_thread(ask: Callable[P, Awaitable[T]], home: asyncio.AbstractEventLoop) -> Callable[P, Awaitable[T]]:
    """Let a check, which computes for seconds in a thread of its own, ask what belongs to the loop of this process."""

    async def ask_home(*args: P.args, **kwargs: P.kwargs) -> T:
        async def answer() -> T:
            return await ask(*args, **kwargs)

        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(answer(), home))

    return ask_home


async def _list_frames(workspace: Workspace, given: ReportFile) -> list[Frame]:
    """Return the translations of users that a report may be written in: of its run, and of the settings."""
    own = resolve_language(workspace.settings)[1]
    frames = [own] if own is not None else []
    seal = find_seal(given.sealed)
    if seal is not None:
        with contextlib.suppress(UserError):  # the run is not stored here
            frames.insert(0, read_frame((await workspace.runs.get(seal.run)).request))
    return frames


async def _compare_delivered(
    workspace: Workspace, given: ReportFile, references: Sequence[Reference]
) -> tuple[str, SealStatus, tuple[TextChange, ...]]:
    """Compare a file with the report of the run that it names; if it names none, with one of the same sources."""
    seal = find_seal(given.sealed)
    names = [seal.run] if seal else []
    if references and not seal:
        mark = f"sha256:{references[0].snapshot}".encode()
        rows = await workspace.database.fetch_all(_FIND_RUNS, [mark], where="finding the run of a report")
        names = [str(run) for (run,) in rows]
    nearest: tuple[str, SealStatus, tuple[TextChange, ...]] | None = None
    for run, form in ((run, form) for run in names for form in _FORMS[given.form]):
        stored = await workspace.runs.read_text(run, f"report.{form}")
        if stored is None:
            continue
        theirs = await asyncio.to_thread(read_report_text, stored)
        status, changes = await asyncio.to_thread(check_seal, given.sealed, theirs.sealed)
        if given.form == "json" and status is SealStatus.CHANGED:
            changes = (*find_changes(given.markdown, theirs.markdown), *_compare_fields(given.sealed, theirs.sealed))
        if given.form == "html" and status is SealStatus.DELIVERED:
            changes = await asyncio.to_thread(_compare_pages, given, theirs)
            status = SealStatus.CHANGED if changes else status
        if nearest is None or len(changes) < len(nearest[2]):
            nearest = (run, status, changes)
        if status is SealStatus.DELIVERED:
            break
    if nearest is not None:
        return nearest
    hiding = _list_hiding(given.page) if seal else []
    return ("", SealStatus.BROKEN, tuple(hiding)) if hiding else ("", *check_seal(given.sealed, None))


def _compare_pages(given: ReportFile, theirs: ReportFile) -> tuple[TextChange, ...]:
    """Return what a page with the delivered text shows differently from the stored page, or may show if it is not ours.

    A browser takes what a style sheet, a hidden element or a script says before what the text says.
    """
    if not theirs.page:
        return tuple(_list_hiding(given.page))
    found = compare_markup(given.page, theirs.page)
    return tuple(TextChange(part.line if added else 1, part.text[:_MARKUP_SHOWN], added) for part, added in found)


def _list_hiding(page: str) -> list[TextChange]:
    return [TextChange(part.line, part.text[:_MARKUP_SHOWN], added=True) for part in find_hiding(page)]


def _compare_fields(given: str, stored: str) -> list[TextChange]:
    """Name the fields of a JSON report that were changed, beside its Markdown."""
    ours, theirs = (json.loads(each.rpartition("\n\n")[0]) for each in (given, stored))
    names = sorted(set(ours) | set(theirs) - {"markdown"})
    return [TextChange(1, f"the field {name}", added=True) for name in names if ours.get(name) != theirs.get(name)]


async def _read_snapshot(workspace: Workspace, sha: str) -> str | None:
    query = "SELECT body FROM snapshot WHERE sha = %s"
    row = await workspace.database.fetch_one(query, [sha], where="reading a snapshot")
    return None if row is None else str(row[0])


async def _read_sources(
    workspace: Workspace, reference: Reference, places: Sequence[tuple[int, int]]
) -> Sequence[StoredSource]:
    source, passage = (int(name[1:]) if name[1:].isdigit() else 0 for name in (reference.source, reference.passage))
    if max(source, passage) >= 1 << 31:
        return ()
    starts, ends, sha = [start for start, _ in places], [end for _, end in places], reference.snapshot
    rows = await workspace.database.fetch_all(
        _SOURCES, [starts, ends, sha, source, passage], where="reading the record of a source"
    )
    return [
        StoredSource(
            Source(SourceId(f"S{number}"), title, url, sha, version=version, published=published, authors=tuple(names)),
            heading,
            f"C{held}" if held is not None else "",
        )
        for number, title, url, version, published, names, heading, held in rows
    ]


async def _read_stored_page(workspace: Workspace, reference: Reference) -> SourcePage | None:
    names = [reference.url, reference.url.rstrip("/"), f"{reference.url}/"] if reference.url else []
    if (row := await workspace.database.fetch_one(_PAGE, [names], where="reading a source")) is None:
        return None
    title, version, published, body, parts = row
    placed: list[tuple[str, str]] = parts or []
    first = (next(same) for _, same in groupby(placed, key=itemgetter(1)))
    return SourcePage(str(body), title, version, published, tuple((int(at), path) for at, path in first))


async def _folder_pages(folder: Path) -> Callable[[Reference], Awaitable[SourcePage | None]]:
    """Read a folder's files as a library would, without storing them; look references up in them."""
    from corrobora.adapters.readers.parser import ParserProcess  # noqa: PLC0415 - only this option needs it
    from corrobora.app.ingest import read_folder  # noqa: PLC0415 - as above

    async with ParserProcess() as parser:

        async def parse(data: bytes, name: str) -> ParsedDocument:
            return await parser.parse_document(data, name=name)

        by_name = _index_items(await read_folder(folder, parse))

    async def find_file(reference: Reference) -> SourcePage | None:
        return next((by_name[name] for name in _names_of(reference) if name in by_name), None)

    return find_file


def _index_items(items: Sequence[IngestItem]) -> Mapping[str, SourcePage]:
    """Index texts by path, file name, name without its ending, title and address; the first of a name counts."""
    found: dict[str, SourcePage] = {}
    for item in items:
        source, sections = item.source, tuple((at, path) for at, _, path in iterate_sections(item.text, item.headings))
        page = SourcePage(item.text, source.title, source.version, source.published, sections)
        path = PurePosixPath(item.path or source.url)
        for name in filter(None, (source.url, str(path), path.name, path.stem, source.title)):
            found.setdefault(_fold_name(name), page)
    return found


def _names_of(reference: Reference) -> list[str]:
    path = PurePosixPath(reference.url.partition("?")[0].partition("#")[0])
    return [_fold_name(name) for name in (reference.url, reference.title, path.name, path.stem) if name]


def _fold_name(name: str) -> str:
    return "".join(
        letter for letter in name.removeprefix("https://").removeprefix("http://").casefold() if letter.isalnum()
    )


def _web_pages(workspace: Workspace) -> Callable[[Reference], Awaitable[SourcePage | None]]:
    """Fetch cited addresses by the reader of runs, which refuses private addresses and asks robots.txt."""
    if workspace.settings.offline:
        raise UserError(
            "config_contradiction", "--fetch needs the web, and the settings say offline.", next_step="Leave out one."
        )
    from corrobora.app.libraries import open_library  # noqa: PLC0415 - only this option needs it

    reader = workspace.wiring.open_page_reader(open_library(workspace, (_FETCH_SPACE,)), _FETCH_SPACE)

    async def fetch_page(reference: Reference) -> SourcePage | None:
        if not reference.url:
            return None
        try:
            read = await reader.read(Hit(reference.url, reference.title))
        except ReadError:
            return None
        return await _read_stored_page(workspace, replace(reference, url=read.source.url))

    return fetch_page
