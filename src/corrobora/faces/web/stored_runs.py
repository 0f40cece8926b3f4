"""Stored runs, for every face of the server: their reports and evidence, and what follows them.

Pages, HTTP API and MCP call these functions. The evidence is reports and their exports, sources, facts, contradictions,
gaps and spend. A question on it, a repetition, or an edit of the report is a run of its own that is queued at once; a
face may name its id, so that a repeated request finds the same run. Knows where each is stored. Knows no HTTP.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from corrobora.app import Workspace
from corrobora.app.exports import export_run, load_document
from corrobora.app.followups import (
    accept_changes,
    compare_runs,
    find_version,
    require_report,
    submit_edit,
    submit_follow_up,
)
from corrobora.app.libraries import open_run_library
from corrobora.app.runs import load_report
from corrobora.domain.errors import ReadError, UserError
from corrobora.domain.evidence import Contradiction, Fact, Passage, Source, SourceId
from corrobora.domain.limits import Usage
from corrobora.domain.report import Findings, Report
from corrobora.domain.run import RunId, RunRow
from corrobora.domain.thread import Gap
from corrobora.engine.session.journal import CallMeta, decode
from corrobora.faces.cli.exports import EXPORT_FILES
from corrobora.faces.request import parse_question
from corrobora.faces.web import service
from corrobora.faces.web.service import read_run
from corrobora.reporting.run_comparison import RunComparison
from corrobora.roles.edit import Edit, EditAction, EditRequest
from corrobora.storage.journal.artifacts import Artifact
from corrobora.storage.journal.runs import NEWEST

MEDIA_TYPES = {  # by the suffix of an export
    "md": "text/markdown",
    "html": "text/html",
    "json": "application/json",
    "zip": "application/zip",
    "pdf": "application/pdf",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "bib": "application/x-bibtex",
    "ris": "application/x-research-info-systems",
}


async def read_report(workspace: Workspace, run: str) -> Report:
    """Return the report of a run as a value. Raises `NoEvidence` `report_missing` if it has none."""
    return await require_report(workspace, (await read_run(workspace, run)).id)


async def export_report(workspace: Workspace, run: str, form: str) -> Artifact:
    """Return the report of a run in a format, as `corrobora export` writes it.

    Raises:
        UserError: `export_format` for an unknown format.
        NoEvidence: `report_missing`, or what the format needs is not stored any more.
    """
    name = EXPORT_FILES.get(form)
    if name is None:
        raise UserError(
            "export_format", f"{form[:20]!r} is not a format.", next_step=f"Formats: {', '.join(EXPORT_FILES)}."
        )
    row = await read_run(workspace, run)
    content = (await export_run(workspace, row.id, (form,)))[form]
    return Artifact(name, MEDIA_TYPES.get(name.rpartition(".")[2], "application/octet-stream"), content)


def _walk(found: Findings) -> Iterator[Findings]:
    """Yield findings and all below them that were used for the report."""
    yield found
    for child in found.children:
        yield from _walk(child)


def collect_facts(report: Report) -> Mapping[str, Fact]:
    """Return the facts of a report by their ids, each once."""
    return {fact.id: fact for found in _walk(report.findings) for fact in found.citable}


def collect_contradictions(report: Report) -> Sequence[Contradiction]:
    """Return the contradictions of a report, each once."""
    return list({each.key: each for found in _walk(report.findings) for each in found.contradictions}.values())


def collect_gaps(report: Report) -> Sequence[Gap]:
    """Return the gaps of a report, each once."""
    return list({(gap.text, gap.target): gap for found in _walk(report.findings) for gap in found.gaps}.values())


@dataclass(frozen=True, slots=True)
class RunSource:
    """A source with its stored text and what a report took from it."""

    source: Source
    text: str
    passages: Sequence[Passage]
    cited_as: Sequence[int]  # numbers of the references
    facts: Sequence[Fact]  # their `start` and `end` index `text`

    @property
    def characters(self) -> int:
        return len(self.text)


async def list_sources(workspace: Workspace, run: str) -> Sequence[RunSource]:
    """Return the sources that the facts of a report were taken from, cited ones first."""
    report = await read_report(workspace, run)
    names = dict.fromkeys([cited.source for cited in report.citations])
    names |= dict.fromkeys(fact.source for fact in collect_facts(report).values())
    row = await read_run(workspace, run)
    return [each for name in names if (each := await _load_source(workspace, row, report, name)) is not None]


async def read_source(workspace: Workspace, run: str, source: str) -> RunSource:
    """Return a source of a run by its id, such as S186; one that was read and not used has no facts.

    Raises `UserError` `source_unknown`.
    """
    row = await read_run(workspace, run)
    found = await _load_source(workspace, row, await load_report(workspace, row.id), source)
    if found is None:
        raise UserError("source_unknown", f"Run {row.id} has no source {source[:20]}.", next_step="List its sources.")
    return found


async def _load_source(workspace: Workspace, row: RunRow, report: Report | None, name: str) -> RunSource | None:
    library = open_run_library(workspace, row)
    try:
        stored = await load_document(workspace, library, SourceId(name))
    except ReadError:
        return None
    facts = [fact for fact in collect_facts(report).values() if fact.source == name] if report else []
    cited = [each.number for each in report.citations if each.source == name] if report else []
    return RunSource(stored.source, stored.text, stored.passages, cited, sorted(facts, key=lambda fact: fact.start))


@dataclass(frozen=True, slots=True)
class Spend:
    """What a part of a run cost."""

    role: str
    model: str
    provider: str
    calls: int = 0
    searches: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    dollars: float = 0.0


async def sum_spend(workspace: Workspace, run: str) -> Sequence[Spend]:
    """Return what a run has cost so far, by role, model and provider; the most expensive first."""
    row = await read_run(workspace, run)
    rows = await workspace.database.fetch_all(
        "SELECT key, meta FROM journal WHERE run = %s", [row.id], where="reading the journal of a run"
    )
    sums: dict[tuple[str, str, str], Spend] = {}
    for key, text in rows:
        meta = decode(CallMeta, text, key=key)
        if meta.usage is None and not meta.searches:
            continue
        names = (meta.role, meta.model, meta.provider)
        part, usage = sums.get(names, Spend(*names)), meta.usage or Usage()
        sums[names] = replace(
            part,
            calls=part.calls + usage.calls,
            searches=part.searches + meta.searches,
            input_tokens=part.input_tokens + usage.input_tokens,
            output_tokens=part.output_tokens + usage.output_tokens,
            dollars=part.dollars + usage.dollars,
        )
    return sorted(sums.values(), key=lambda part: (-part.dollars, -part.calls, part.role))


class EditInfo(BaseModel):
    """One edit; the ids are those of the outline."""

    model_config = ConfigDict(strict=True, extra="forbid")

    action: Literal["add", "drop", "reword", "move", "shorten", "research"]
    target: str = Field(max_length=20, description="A sentence such as 2.3, or a section such as 2; 0 is the opening.")
    text: str = Field(default="", max_length=4_000, description="New words, or the question of `research`.")
    after: str = Field(default="", max_length=20, description="Where `move` puts the target: after this one.")


def request_edit(edits: Sequence[EditInfo], feedback: str) -> EditRequest:
    """Return what a reader wants of a report as the application takes it."""
    named = tuple(Edit(EditAction(each.action), each.target, each.text, each.after) for each in edits)
    return EditRequest(named, feedback.strip())


async def ask_run(
    workspace: Workspace, run: str, question: str, *, search: bool = True, named: RunId | None = None
) -> RunRow:
    """Store a follow-up question on the evidence of a run as a run of its own, and queue it.

    Its facts and passages are read first; if they do not answer, its libraries and providers are searched, unless
    `search` is False.

    Raises:
        UserError: there is no such run, or the question cannot be used.
        NoEvidence: `report_missing`: the run has no report.
    """
    asked = parse_question(question)
    origin = await _find_origin(workspace, run, named)
    return await _queue(workspace, await submit_follow_up(workspace, origin, asked.text, search=search, run_id=named))


async def update_run(workspace: Workspace, run: str, *, named: RunId | None = None) -> RunRow:
    """Research the question of a run again, and tell what changed. Raises as `ask_run` does."""
    origin = await _find_origin(workspace, run, named)
    return await _queue(workspace, await submit_follow_up(workspace, origin, run_id=named))


async def compare_run(workspace: Workspace, run: str, before: str = "") -> RunComparison:
    """Compare a run with an earlier one, by default the one that it follows. Raises as `compare_runs` does."""
    row = await service.read_run(workspace, run)
    earlier = before or row.request.previous
    if not earlier:
        raise UserError("compare_one", f"Run {row.id} follows no other run.", next_step="Name the earlier in `before`.")
    return await compare_runs(workspace, earlier, row.id)


async def edit_run(  # noqa: PLR0913 - as `submit_edit`
    workspace: Workspace,
    run: str,
    wanted: EditRequest,
    *,
    accept: str = "",
    version: int | None = None,
    named: RunId | None = None,
) -> RunRow:
    """Store an edit of the report of a run, and queue it; with a `version`, that one becomes the newest as it was.

    Raises:
        UserError: there is no such run or version, nothing is asked for, or no named edit can be made.
        NoEvidence: `report_missing`: the run has no report.
    """
    origin = await _find_origin(workspace, run, named)
    if version is not None:
        if wanted.edits or wanted.feedback:
            raise UserError("edit_option", "An earlier version is restored as it was, without edits.")
        origin, wanted = await find_version(workspace, origin, version), replace(wanted, restore=True)
    return await _queue(workspace, await submit_edit(workspace, origin, wanted, accept=accept, run_id=named))


async def accept_edit(workspace: Workspace, run: str, accept: str) -> RunRow:
    """Make the version with those changes of a waiting edit that its reader accepts. Raises as `accept_changes`."""
    row = await service.read_run(workspace, run)
    await accept_changes(workspace, row.id, accept)
    return await _queue(workspace, row.id)


async def _find_origin(workspace: Workspace, run: str, named: RunId | None) -> str:
    """Return the run that is followed: where a repeated request says `last`, the one that it meant at first."""
    if run == NEWEST and named is not None:
        with suppress(UserError):
            return (await workspace.runs.get(named)).request.previous or run
    return run


async def _queue(workspace: Workspace, run: RunId) -> RunRow:
    await workspace.queue.submit(run)  # nothing happens to one that has ended or is worked on
    return await service.read_run(workspace, run)
