"""HTTP API v1: what `service` can do, with typed bodies, under /api/v1; and the health checks.

Knows paths, bodies and the forms of events. Errors are problem documents.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, ConfigDict, Field

from corrobora.domain.run import RunRow
from corrobora.faces.cli.display import json_line
from corrobora.faces.web import service
from corrobora.faces.web.context import Opened
from corrobora.faces.web.new_run import NewRun

router = APIRouter()


class RunInfo(BaseModel):
    """Where a run stands."""

    model_config = ConfigDict(extra="forbid")

    id: str
    status: str = Field(description="queued, running, awaiting_authorization, paused, interrupted, done, ...")
    outcome: str
    reason: str
    question: str
    profile: str
    created_at: str
    updated_at: str
    elapsed_seconds: float
    attempts: int


def describe_run(row: RunRow) -> RunInfo:
    """Return a run as its clients see it."""
    return RunInfo(
        id=row.id,
        status=row.status,
        outcome=row.outcome,
        reason=row.reason,
        question=row.request.question,
        profile=row.request.profile,
        created_at=row.created_at,
        updated_at=row.updated_at,
        elapsed_seconds=row.elapsed_seconds,
        attempts=row.epoch,
    )


@router.get("/healthz", tags=["health"])
async def check_health() -> dict[str, str]:
    """Say that the process answers."""
    return {"status": "ok"}


@router.post("/api/v1/runs", status_code=202, tags=["runs"])
async def create_run(wanted: NewRun, workspace: Opened) -> RunInfo:
    """Start a run and return at once."""
    return describe_run(await service.start_run(workspace, wanted))


@router.get("/api/v1/runs", tags=["runs"])
async def list_runs(
    workspace: Opened,
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
    offset: Annotated[int, Query(ge=0, le=10**9)] = 0,
) -> list[RunInfo]:
    """List runs, newest first."""
    return [describe_run(row) for row in await service.list_runs(workspace, limit=limit, offset=offset)]


@router.get("/api/v1/runs/{run}", tags=["runs"])
async def get_run(run: str, workspace: Opened) -> RunInfo:
    """Say where a run stands."""
    return describe_run(await service.read_run(workspace, run))


@router.get("/api/v1/runs/{run}/events", tags=["runs"])
async def follow_events(
    run: str,
    workspace: Opened,
    after: Annotated[int, Query(ge=0)] = 0,
    last_event_id: Annotated[str, Header()] = "",
) -> StreamingResponse:
    """Follow the events of a run as server-sent events, past ones first, from a cursor on."""
    row = await service.read_run(workspace, run)
    start = max(after, int(last_event_id) if last_event_id.isdecimal() else 0)

    async def write_events() -> AsyncGenerator[str]:
        async with aclosing(service.follow_run(workspace, row.id, start)) as events:
            async for event in events:
                yield f"id: {event.seq}\nevent: {event.type}\ndata: {json_line(event, row.id)}\n\n"

    return StreamingResponse(write_events(), media_type="text/event-stream")


@router.get("/api/v1/runs/{run}/report", tags=["evidence"])
async def get_report(run: str, workspace: Opened) -> dict[str, Any]:
    """Return the report with its citations, checks and findings."""
    return dict(await service.read_report(workspace, run))
