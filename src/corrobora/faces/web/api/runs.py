"""Runs over HTTP: created, listed, watched over and removed; plans read, replaced and authorized.

Events come as server-sent events or lines of JSON; a client that comes back with the last number it saw misses nothing
and sees nothing twice. Knows the headers Idempotency-Key and Prefer. Does not know how a run is worked on.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Header, Query, Request, Response
from fastapi.responses import StreamingResponse

from corrobora.app import Workspace, runs
from corrobora.app.followups import Version, read_changes, read_outline
from corrobora.app.followups import list_versions as list_report_versions
from corrobora.domain.run import RunId, RunRow, RunStatus
from corrobora.faces.cli.display import json_line
from corrobora.faces.web import service, stored_runs
from corrobora.faces.web.api.models import (
    Acceptance,
    Authorization,
    ComparisonInfo,
    EditBody,
    FollowUpQuestion,
    Hint,
    OutlineInfo,
    PlanBody,
    RunInfo,
    RunName,
    RunPage,
    WebhookInfo,
    WholeRunName,
    describe_run,
)
from corrobora.faces.web.context import Allowed, Opened
from corrobora.faces.web.new_run import NewRun
from corrobora.reporting.run_comparison import dump_comparison

router = APIRouter(prefix="/api/v1/runs", tags=["runs"])
_WAIT = re.compile(r"\bwait=(\d{1,4})\b")
_MAX_WAIT_SECONDS = 30
MAX_PAGE = 500


async def find_named_run(
    workspace: Opened,
    access: Allowed,
    request: Request,
    idempotency_key: Annotated[
        str | None,
        Header(min_length=1, max_length=200, description="The same key with the same body gives the same run again."),
    ] = None,
) -> RunId | None:
    """Return the id that the run of a caller's key has or will have, None without a key."""
    if idempotency_key is None:
        return None
    caller = access.identify(request.scope)
    named = f"{caller.name if caller else ''}\0{idempotency_key}"  # the key itself is not stored
    return await workspace.runs.claim_key(hashlib.sha256(named.encode()).hexdigest())


NamedRun = Annotated[RunId | None, Depends(find_named_run)]


@dataclass(frozen=True, slots=True)
class DeferredAnswer:
    """Answers a call that let a run begin or go on: at once, or when the run has ended or waits for a person."""

    workspace: Workspace
    response: Response
    prefer: str

    async def tell(self, row: RunRow) -> RunInfo:
        """Return the run, with its address in a header."""
        if (wait := _WAIT.search(self.prefer)) is not None:
            row = await service.wait_for_run(self.workspace, row.id, seconds=min(int(wait[1]), _MAX_WAIT_SECONDS))
            self.response.headers["Preference-Applied"] = wait[0]
        self.response.headers["Location"] = f"/api/v1/runs/{row.id}"
        return describe_run(row)


def make_answer(
    workspace: Opened,
    response: Response,
    prefer: Annotated[
        str | None, Header(max_length=200, description="`wait=SECONDS`, at most 30: wait until the run ends or waits.")
    ] = None,
) -> DeferredAnswer:
    """Return what answers this call."""
    return DeferredAnswer(workspace, response, prefer or "")


RunAnswer = Annotated[DeferredAnswer, Depends(make_answer)]


@router.post("", status_code=202)
async def create_run(wanted: NewRun, workspace: Opened, answer: RunAnswer, named: NamedRun) -> RunInfo:
    """Start a run and return at once; follow it by its events."""
    return await answer.tell(await service.start_run(workspace, wanted, run=named))


@router.get("")
async def list_runs(
    workspace: Opened,
    limit: Annotated[int, Query(ge=1, le=MAX_PAGE)] = 50,
    cursor: Annotated[str, Query(max_length=400, description="`next_cursor` of the page before.")] = "",
    q: Annotated[str, Query(max_length=400, description="Words that the question must contain.")] = "",
    status: Annotated[list[RunStatus] | None, Query(max_length=8, description="Only runs with these statuses.")] = None,
) -> RunPage:
    """List runs, newest first."""
    found, following = await service.list_page(workspace, cursor, limit=limit, search=q, statuses=status or ())
    scores = await workspace.runs.read_scores([row.id for row in found])
    return RunPage(runs=[describe_run(row, scores.get(row.id)) for row in found], next_cursor=following or None)


@router.get("/{run}")
async def get_run(run: RunName, workspace: Opened) -> RunInfo:
    """Return the status of a run."""
    row = await service.read_run(workspace, run)
    return describe_run(row, (await workspace.runs.read_scores([row.id])).get(row.id))


@router.delete("/{run}", status_code=204)
async def remove_run(run: WholeRunName, workspace: Opened) -> None:
    """Remove a run with its journal, events and files; libraries keep their documents."""
    await service.remove(workspace, run)


@router.post("/{run}/ask", status_code=202)
async def ask_run(
    run: RunName, body: FollowUpQuestion, workspace: Opened, answer: RunAnswer, named: NamedRun
) -> RunInfo:
    """Ask a follow-up question on the evidence of a run; its answer is a run of its own."""
    row = await stored_runs.ask_run(workspace, run, body.question, search=body.search, named=named)
    return await answer.tell(row)


@router.post("/{run}/update", status_code=202)
async def update_run(run: RunName, workspace: Opened, answer: RunAnswer, named: NamedRun) -> RunInfo:
    """Research the question of a run again, as a run of its own; `compare` then tells what changed."""
    return await answer.tell(await stored_runs.update_run(workspace, run, named=named))


@router.get("/{run}/compare")
async def compare_run(
    run: RunName,
    workspace: Opened,
    before: Annotated[
        str, Query(pattern="^[a-z0-9_-]{0,64}$", description="The earlier run; by default the one that it follows.")
    ] = "",
) -> ComparisonInfo:
    """Compare the report of a run with that of an earlier one: what is new, changed, gone or the same."""
    return ComparisonInfo.model_validate(dump_comparison(await stored_runs.compare_run(workspace, run, before)))


@router.get("/{run}/outline")
async def get_outline(run: RunName, workspace: Opened) -> OutlineInfo:
    """List the sections and sentences of the report, with the ids by which edits name them."""
    return OutlineInfo.model_validate((await read_outline(workspace, run)).dump_outline())


@router.post("/{run}/edit", status_code=202)
async def edit_run(run: RunName, body: EditBody, workspace: Opened, answer: RunAnswer, named: NamedRun) -> RunInfo:
    """Edit the report of a run, as a run of its own: it waits with its changes unless they are accepted already."""
    wanted = stored_runs.request_edit(body.edits, body.feedback)
    row = await stored_runs.edit_run(
        workspace, run, wanted, accept=body.accept.strip(), version=body.version, named=named
    )
    return await answer.tell(row)


@router.get("/{run}/changes")
async def get_changes(run: RunName, workspace: Opened) -> dict[str, Any]:
    """Return the changes that an edit proposes, each with its number and what it loses; empty if there are none."""
    return await read_changes(workspace, (await service.read_run(workspace, run)).id)


@router.post("/{run}/accept", status_code=202)
async def accept_changes(run: RunName, body: Acceptance, workspace: Opened, answer: RunAnswer) -> RunInfo:
    """Make the version with those changes of a waiting edit that its reader accepts."""
    return await answer.tell(await stored_runs.accept_edit(workspace, run, body.accept))


@router.get("/{run}/versions")
async def list_versions(run: RunName, workspace: Opened) -> list[Version]:
    """List the versions of the report that a run belongs to, the researched one first."""
    return list(await list_report_versions(workspace, run))


@router.get("/{run}/plan")
async def get_plan(run: RunName, workspace: Opened) -> dict[str, Any]:
    """Return the plan as it was proposed last: a tree of queries with their limits."""
    return dict(await service.read_plan(workspace, run))


@router.put("/{run}/plan", status_code=202)
async def replace_plan(run: RunName, body: PlanBody, workspace: Opened, answer: RunAnswer) -> RunInfo:
    """Put another plan in place of the one that waits; it is checked, proposed again and waits again."""
    return await answer.tell(await service.replace_plan(workspace, run, body.plan))


@router.post("/{run}/authorize", status_code=202)
async def authorize_run(run: RunName, body: Authorization, workspace: Opened, answer: RunAnswer) -> RunInfo:
    """Authorize the waiting plan in the words of a person."""
    return await answer.tell(await service.authorize(workspace, run, body.words))


@router.post("/{run}/steer", status_code=202)
async def steer_run(run: RunName, body: Hint, workspace: Opened, answer: RunAnswer) -> RunInfo:
    """Give a run that pauses between two rounds a hint, and let it go on."""
    return await answer.tell(await service.steer(workspace, run, body.hint))


@router.get("/{run}/webhooks")
async def list_webhooks(run: RunName, workspace: Opened) -> list[WebhookInfo]:
    """List the deliveries of the end of a run to its webhook, with every attempt; empty before its end."""
    return [WebhookInfo.model_validate(each) for each in await service.list_webhooks(workspace, run)]


async def _ask_attempt(workspace: Opened, run: str, topic: str) -> RunInfo:
    row = await service.read_run(workspace, run)
    await runs.ask_attempt(workspace, row.id, topic)
    return describe_run(await service.read_run(workspace, row.id))


@router.post("/{run}/pause", status_code=202)
async def pause_run(run: RunName, workspace: Opened) -> RunInfo:
    """Let a run pause after the round that it works on; one that writes its report already goes on."""
    return await _ask_attempt(workspace, run, runs.PAUSE_TOPIC)


@router.post("/{run}/resume", status_code=202)
async def resume_run(run: RunName, workspace: Opened, answer: RunAnswer) -> RunInfo:
    """Go on after a pause, an interruption or a failure; nothing that was answered is asked again."""
    return await answer.tell(await service.resume(workspace, run))


@router.post("/{run}/finish", status_code=202)
async def finish_run(run: RunName, workspace: Opened) -> RunInfo:
    """End the research now and write the report from what was gathered; a run that has found nothing yet pauses."""
    return await _ask_attempt(workspace, run, runs.FINISH_TOPIC)


@router.post("/{run}/cancel", status_code=202)
async def cancel_run(run: WholeRunName, workspace: Opened) -> RunInfo:
    """End a run without a report."""
    return describe_run(await service.cancel(workspace, run))


HEARTBEAT_SECONDS = 15.0
SSE, NDJSON = "text/event-stream", "application/x-ndjson"


@router.get(
    "/{run}/events",
    response_class=StreamingResponse,
    responses={
        200: {
            "description": "The events, until the run has ended.",
            "content": {SSE: {"schema": {"type": "string"}}, NDJSON: {"schema": {"type": "string"}}},
        }
    },
)
async def follow_events(  # noqa: PLR0913, PLR0917 - one parameter for each part of a request
    run: RunName,
    workspace: Opened,
    request: Request,
    after: Annotated[int, Query(ge=0, le=2**62, description="Only events with a larger number.")] = 0,
    format: Annotated[  # noqa: A002 - the name of the parameter in the address
        Literal["sse", "ndjson"] | None, Query(description="By default what the header Accept asks for.")
    ] = None,
    live: Annotated[bool, Query(description="Wait for new events until the run has ended.")] = True,  # noqa: FBT002 - as above
    last_event_id: Annotated[str, Header(max_length=40, description="As a browser sends it; the larger counts.")] = "",
) -> StreamingResponse:
    """Follow the events of a run: past ones first, then live ones, through its pauses to its end."""
    row = await service.read_run(workspace, run)
    start = max(after, _read_cursor(last_event_id))
    as_lines = format == "ndjson" or (format is None and NDJSON in request.headers.get("accept", ""))
    events = runs.follow_events(workspace, row.id, start, live=live)

    async def write_events() -> AsyncGenerator[str]:
        async with aclosing(service.follow_with_silence(events, HEARTBEAT_SECONDS)) as following:
            async for event in following:
                if event is None:
                    yield "\n" if as_lines else ": still here\n\n"
                    continue
                line = json_line(event, row.id)
                yield f"{line}\n" if as_lines else f"id: {event.seq}\nevent: {event.type}\ndata: {line}\n\n"

    return StreamingResponse(
        write_events(),
        media_type=NDJSON if as_lines else SSE,
        headers={"X-Accel-Buffering": "no"},
    )


def _read_cursor(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else 0  # noqa: PLR2004 - digits of int8
