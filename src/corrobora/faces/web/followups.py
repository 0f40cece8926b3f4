"""What follows a run, for every face of the server: questions on its evidence, repetitions, and edits of its report.

Each is a run of its own that is queued at once. A face may name its id, so that a repeated request finds the same run.
Knows no HTTP, and not how a run follows another one: `app.followups` does.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from corrobora.app import Workspace
from corrobora.app.followups import accept_changes, compare_runs, find_version, submit_edit, submit_follow_up
from corrobora.domain.errors import UserError
from corrobora.domain.run import RunId, RunRow
from corrobora.faces.request import parse_question
from corrobora.faces.web import service
from corrobora.reporting.run_comparison import RunComparison
from corrobora.roles.edit import Edit, EditAction, EditRequest
from corrobora.storage.journal.runs import NEWEST


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
