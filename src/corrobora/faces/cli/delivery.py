"""Delivery: a run conducted to its end, its report printed or written, its exit code returned.

Knows stdout, `-o`, `--artifacts` and the closing lines on stderr. Does not know the method or the terminal's drawing.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corrobora.config import Settings
from corrobora.domain.errors import NoEvidence, UserError
from corrobora.domain.events import Event
from corrobora.domain.run import Request, RunId, RunRow, RunStatus, Stage
from corrobora.faces.cli.conduct import Conduct
from corrobora.faces.cli.display import Display, choose
from corrobora.faces.cli.ended import ended, has_body, part
from corrobora.faces.cli.failure import Exit, say
from corrobora.faces.cli.options import print_text
from corrobora.faces.cli.plans import ask_for_words, plan_lines
from corrobora.faces.cli.sources import resolve_libraries
from corrobora.faces.cli.target import Target
from corrobora.faces.cli.terminal import is_terminal, one_line, tell
from corrobora.faces.cli.workspace import with_workspace

if TYPE_CHECKING:
    from corrobora.assembly import Workspace


@dataclass(frozen=True, slots=True)
class Wanted:
    """How a run is shown and delivered."""

    display: str = "auto"
    as_json: bool = False
    may_ask: bool = True
    target: Target | None = None
    artifacts: Path | None = None
    min_score: float | None = None
    strict: bool = False
    plan_only: bool = False
    until: Stage | None = None  # pause after this stage


def research_here(settings: Settings, request: Request, wanted: Wanted) -> int:
    """Store a new run, work on it here, deliver it, return the exit code."""
    if request.models:
        from corrobora.assembly.models import Models  # noqa: PLC0415 - the HTTP stack, only where a model is named

        Models(settings).analyst(dict(request.models))  # an unknown provider or a missing key is said before all else

    async def work(workspace: Workspace) -> int:
        workspace.profile(request)  # a wrong profile is said before any document is read
        spaces = await resolve_libraries(workspace, request.libraries, show=wanted.display not in ("none", "jsonl"))
        made = await workspace.submit(replace(request, libraries=spaces), deferred=False)
        await workspace.until(made, wanted.until)
        return await _conducted(workspace, made, wanted)

    return with_workspace(settings, work)


def resume_here(settings: Settings, run: str, stage: Stage | None, wanted: Wanted) -> int:
    """Go on with a stored run, or print its report again if it has ended (R11); with a stage, redo it from there."""

    async def work(workspace: Workspace) -> int:
        row = await workspace.runs.get(run)
        if stage is not None:
            await workspace.rewind(run, stage)
        elif row.status in (RunStatus.CANCELLED, RunStatus.FAILED):  # what failed may do so no more: a disk, a provider
            await workspace.reopen(run)
        elif row.status.final:
            say(f"The run {run} has ended ({row.outcome or row.status}); nothing was asked again.")
            return await _delivered(workspace, row, _display(wanted), wanted)
        await workspace.until(run, wanted.until)
        return await _conducted(workspace, RunId(run), wanted)

    return with_workspace(settings, work)


def _display(wanted: Wanted) -> Display:
    return choose(wanted.display, as_json=wanted.as_json)


async def _conducted(workspace: Workspace, run: RunId, wanted: Wanted) -> int:
    display = _display(wanted)
    code: int = Exit.BUG
    row = await workspace.runs.get(run)
    if not await workspace.queue.submit(run, own=True):
        raise UserError(
            "run_busy",
            f"The run {run} is {row.status} and another process has it.",
            next_step=f"Wait for it, or stop it: corrobora cancel {run}",
        )
    display.launch(run, str(workspace.folder(run).base))
    try:
        phrase = workspace.profile(row.request).phrase or "yes"
        asks = wanted.may_ask and not wanted.plan_only and is_terminal(sys.stdin) and is_terminal(sys.stderr)

        def ask(event: Event | None) -> str:
            display.pause()
            return ask_for_words(event, phrase)

        conduct = Conduct(workspace, run, display, ask if asks else None)
        await conduct.through()
        row = await workspace.runs.get(run)
        if wanted.plan_only and row.status is RunStatus.AWAITING:
            code = await _plan_printed(workspace, row, conduct.plan, wanted)
            return code
        code = await _delivered(workspace, row, display, wanted, interrupted=conduct.code())
        return code
    finally:
        display.close(code)


async def _plan_printed(workspace: Workspace, row: RunRow, event: Event | None, wanted: Wanted) -> int:
    """`--plan-only`: the plan is the result; JSON for programs and files, indented lines for people."""
    stored = await workspace.runs.artifact(row.id, "plan.json")
    text = stored.content.decode("utf-8") if stored else "{}"
    if wanted.target is not None:
        wanted.target.write(dict.fromkeys(("md", "html", "json"), text))
    elif wanted.as_json or not is_terminal(sys.stdout):
        print_text(text)
    else:
        print_text("\n".join(plan_lines(event.data if event else {})))
    say(f"The plan waits. Run it: corrobora authorize {row.id}")
    return Exit.DONE


async def _delivered(
    workspace: Workspace, row: RunRow, display: Display, wanted: Wanted, *, interrupted: int | None = None
) -> int:
    """Print or write what there is, say where it lies, and return the exit code."""
    try:
        report: Mapping[str, Any] = await workspace.report(row.id)
    except NoEvidence:
        report = {}
    if wanted.artifacts is not None:
        await _copy_files(workspace, row.id, wanted.artifacts)
    profile = workspace.profile(row.request)
    threshold = profile.review.min_score if profile.review.judge else None
    threshold = threshold if wanted.min_score is None else wanted.min_score  # also of a run that goes on
    end = ended(row, report, min_score=threshold, strict=wanted.strict or row.request.strict)
    display.pause()
    if row.status.final or report or wanted.as_json:
        await _report_out(workspace, row.id, report, wanted)
    if wanted.display != "none":
        _closing_lines(workspace, row, report)
    if end.why:
        say(end.why)
    if interrupted is not None:
        say(
            f"Interrupted. Continue: corrobora resume {row.id}"
            if not row.status.final
            else "Interrupted: a partial report was written."
        )
        return interrupted
    return end.code


async def _report_out(workspace: Workspace, run: str, report: Mapping[str, Any], wanted: Wanted) -> None:
    texts = await _texts(workspace, run, tuple(wanted.target.files.values()) if wanted.target else ("md",))
    if wanted.target is not None and has_body(report):
        for path in wanted.target.write(texts):
            tell(f"written  {path}")
    if wanted.as_json:
        document = {"run_id": run, **report} if report else {"run_id": run, "outcome": None}
        print_text(json.dumps(document, indent=2))
    elif wanted.target is None and wanted.display != "jsonl" and has_body(report):
        print_text(texts.get("md", str(report["markdown"])))


async def _texts(workspace: Workspace, run: str, formats: tuple[str, ...]) -> dict[str, str]:
    """Return the stored texts of the report, by format."""
    found: dict[str, str] = {}
    for form in formats:
        stored = await workspace.runs.artifact(run, f"report.{form}")
        if stored is not None:
            found[form] = stored.content.decode("utf-8", "replace")
    return found


async def _copy_files(workspace: Workspace, run: str, folder: Path) -> None:
    """Copy all files of the run, in S1's layout, below a folder."""
    for name in await workspace.runs.artifacts(run):
        stored = await workspace.runs.artifact(run, name)
        if stored is None:
            continue
        path = folder / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(stored.content)
        except OSError as error:
            raise UserError(
                "output_unwritable",
                f"The file {str(path)!r} cannot be written: {error.strerror}.",
                next_step="Make room.",
            ) from None


def _closing_lines(workspace: Workspace, row: RunRow, report: Mapping[str, Any]) -> None:
    """Say how it ended and where the report, its sources and its journal lie."""
    base = workspace.folder(row.id).base
    method = part(report, "methodology")
    if report:
        counts = [
            f"{method.get('sources_read', 0)} sources read, {method.get('sources_cited', 0)} cited",
            f"{method.get('facts', 0)} facts",
            f"{method.get('rounds', 0)} rounds",
            f"stop: {report.get('stop') or '-'}",
            f"{row.elapsed_seconds:.1f} s",
        ]
        tell(one_line(f"■ {report.get('outcome')} · {' · '.join(counts)}"))
        tell(f"report   {base / 'report.md'}")
    if row.request.libraries:
        names = one_line(", ".join(row.request.libraries), 400)
        tell(f"sources  libraries {names}: corrobora library list")
    tell(f"journal  {workspace.place}: corrobora runs show {row.id}")
