"""HTTP API v1 under /api/v1: runs and their evidence, libraries, the check of a report, profiles, health and metrics.

Knows which routers make it up, and what is counted for a monitor, which reads `/healthz` and `/readyz` without a token.
Errors are problem documents; see `context`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from enum import Enum
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import PlainTextResponse

from corrobora import __version__
from corrobora.app.libraries import remove_library as remove_stored
from corrobora.domain.errors import JournalError
from corrobora.domain.run import RunStatus
from corrobora.faces.web import libraries, service
from corrobora.faces.web.api import evidence, runs
from corrobora.faces.web.api.models import (
    CheckResult,
    Health,
    HitInfo,
    LibraryInfo,
    LibraryName,
    ProfileInfo,
    ReportText,
    UploadInfo,
)
from corrobora.faces.web.context import Opened


async def refuse_unread(request: Request) -> None:
    """Refuse what nothing reads, or only the last of: parameters, bodies and fields. A misspelt filter lists all."""
    operation = request.app.openapi()["paths"][request.scope["route"].path_format][request.method.lower()]
    known = {each["name"]: json.dumps(each) for each in operation.get("parameters", ()) if each["in"] == "query"}
    names = [name for name, _ in request.query_params.multi_items()]
    refused = [("extra_forbidden", "query", each) for each in names if each not in known]
    refused += [("twice", "query", each) for each in find_repeated(names) if '"array"' not in known.get(each, "")]
    taken = operation.get("requestBody", {}).get("content", {})
    if not taken and await request.body() not in (b"", b"{}", b"null"):
        refused.append(("unread", "body", ""))
    if "application/json" in taken:
        with suppress(ValueError, RecursionError):  # of a body that is no JSON the handler says so
            json.loads(await request.body(), object_pairs_hook=partial(_note_repeated, refused))
    if refused:
        faults = [
            {"type": kind, "loc": tuple(filter(None, place)), "msg": _UNREAD.get(kind, ""), "input": place}
            for kind, *place in refused
        ]
        raise RequestValidationError(faults)


_UNREAD = {"twice": "it is given twice", "unread": "this call takes none"}


def find_repeated(names: Sequence[str]) -> list[str]:
    """Return the names that stand in a list more than once."""
    return [name for name, times in Counter(names).items() if times > 1]


def _note_repeated(refused: list[tuple[str, str, str]], pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    refused += [("twice", "body", name) for name in find_repeated([name for name, _ in pairs])]
    return dict(pairs)


router = APIRouter(dependencies=[Depends(refuse_unread)])
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


for _part in (runs, evidence):
    router.include_router(_part.router)

_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}
DocumentName = Annotated[
    str, Path(pattern=r"^[^./\\\x00-\x1f\x7f][^/\\\x00-\x1f\x7f]{0,190}$", description="File name in any script.")
]


@router.get("/api/v1/libraries", tags=["libraries"])
async def list_libraries(workspace: Opened) -> list[LibraryInfo]:
    """List the stored libraries."""
    return [
        LibraryInfo(name=each.name, documents=each.sources, passages=each.passages, characters=each.characters)
        for each in await libraries.list_libraries(workspace)
    ]


@router.get("/api/v1/libraries/{name}/documents", tags=["libraries"])
async def list_documents(name: LibraryName, workspace: Opened) -> list[str]:
    """List the documents of a library by their names below its folder."""
    return list(await libraries.list_documents(workspace, name))


@router.get("/api/v1/libraries/{name}/search", tags=["libraries"])
async def search_library(
    name: LibraryName,
    workspace: Opened,
    q: Annotated[str, Query(min_length=1, max_length=2_000, description="What is looked for.")],
    limit: Annotated[int, Query(ge=1, le=100)] = 10,
) -> list[HitInfo]:
    """Search a library and return its best passages."""
    found = await libraries.search_library(workspace, name, q, limit=limit)
    return [HitInfo.model_validate(hit, from_attributes=True) for hit in found]


@router.put("/api/v1/libraries/{name}/documents/{document}", status_code=201, tags=["libraries"], openapi_extra=_BODY)
async def add_document(name: LibraryName, document: DocumentName, workspace: Opened, request: Request) -> UploadInfo:
    """Add a document to a library, or replace the one of this name; the body is the file.

    Its name says what it is: Markdown, HTML, text, PDF, DOCX and others. A library that was read from a folder of the
    server takes none.
    """
    stored = await libraries.add_document(workspace, name, document, await request.body())
    return UploadInfo(library=name, document=document, stored=stored)


@router.delete("/api/v1/libraries/{name}/documents/{document}", status_code=204, tags=["libraries"])
async def remove_document(name: LibraryName, document: DocumentName, workspace: Opened) -> None:
    """Remove an uploaded document from its library; reports of earlier runs keep their quotes."""
    await libraries.remove_document(workspace, name, document)


@router.delete("/api/v1/libraries/{name}", status_code=204, tags=["libraries"])
async def remove_library(name: LibraryName, workspace: Opened) -> None:
    """Remove a library with the documents that were uploaded; reports of earlier runs keep their quotes."""
    await remove_stored(workspace, name)


@router.post("/api/v1/verify", tags=["verify"])
async def verify_report(body: ReportText, workspace: Opened) -> CheckResult:
    """Check a report: its seal against the stored run, then every statement against the stored sources."""
    return CheckResult.model_validate(await libraries.verify_report(workspace, body.text))


@router.get("/api/v1/profiles", tags=["profiles"])
async def list_profiles(workspace: Opened) -> list[ProfileInfo]:
    """List the profiles that a run may name."""
    return [
        ProfileInfo(name=name, about=profile.summary, phrase=profile.phrase, minutes=profile.minutes)
        for name, profile in libraries.list_profiles(workspace).items()
    ]
