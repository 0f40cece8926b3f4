"""What follows a run, for every face of the server: questions on its evidence, repetitions, and edits of its report.

Each is a run of its own that is queued at once. A face may name its id, so that a repeated request finds the same run.
Knows no HTTP, and not how a run follows another one: `app.followups` does.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from corrobora.app import Workspace
from corrobora.app.followups import accept_changes, find_version, submit_edit, submit_follow_up
from corrobora.domain.errors import UserError
from corrobora.domain.run import RunId, RunRow
from corrobora.faces.request import parse_question
from corrobora.faces.web import service
from corrobora.roles.edit import EditRequest
from corrobora.storage.journal.runs import NEWEST


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
