"""HTTP API v1 under /api/v1, its health checks and its metrics: what `service` can do, with typed bodies.

Knows which routers make it up, and what is counted for a monitor, which reads `/healthz` and `/readyz` without a token.
Errors are problem documents; see `errors`.
"""

from __future__ import annotations

from enum import Enum

from fastapi import APIRouter, Request, Response
from fastapi.responses import PlainTextResponse

from corrobora import __version__
from corrobora.domain.errors import JournalError
from corrobora.domain.run import RunStatus
from corrobora.faces.web import service
from corrobora.faces.web.api import evidence, libraries, runs
from corrobora.faces.web.api.models import Health
from corrobora.faces.web.context import Opened

router = APIRouter()
_HEALTH: list[str | Enum] = ["health"]


@router.get("/healthz", tags=_HEALTH)
async def check_health() -> Health:
    """Say that the process answers."""
    return Health(status="ok")


@router.get("/readyz", tags=_HEALTH, responses={503: {"model": Health, "description": "It cannot work now."}})
async def check_readiness(workspace: Opened, response: Response) -> Health:
    """Say whether the database answers, so that runs can be started."""
    try:
        await service.count_runs(workspace)
    except JournalError as error:
        response.status_code = 503
        return Health(status="unready", problem=error.message)
    return Health(status="ok")


@router.get("/metrics", tags=_HEALTH, response_class=PlainTextResponse)
async def read_metrics(workspace: Opened, request: Request) -> PlainTextResponse:
    """Return counts of runs, requests and listeners, for Prometheus."""
    counts = await service.count_runs(workspace)
    lines = [
        "# HELP corrobora_info The version of the server.",
        "# TYPE corrobora_info gauge",
        f'corrobora_info{{version="{__version__}"}} 1',
        "# HELP corrobora_runs Stored runs by status.",
        "# TYPE corrobora_runs gauge",
        *(f'corrobora_runs{{status="{status}"}} {counts.get(status, 0)}' for status in RunStatus),
        "# HELP corrobora_runs_here Runs that this process works on now.",
        "# TYPE corrobora_runs_here gauge",
        f"corrobora_runs_here {len(workspace.sessions)}",
        "# HELP corrobora_http_requests_total Answered requests by status.",
        "# TYPE corrobora_http_requests_total counter",
    ]
    traffic = request.app.state.traffic
    lines += [f'corrobora_http_requests_total{{status="{code}"}} {n}' for code, n in sorted(traffic.answered.items())]
    lines += [
        "# HELP corrobora_http_open Requests that are being answered, listeners included.",
        "# TYPE corrobora_http_open gauge",
        f"corrobora_http_open {traffic.open}",
    ]
    return PlainTextResponse("\n".join(lines) + "\n", media_type="text/plain; version=0.0.4")


for _part in (runs, evidence, libraries):
    router.include_router(_part.router)
