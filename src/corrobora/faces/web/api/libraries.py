"""Libraries, checks of reports and profiles over HTTP.

Knows bodies and limits: an uploaded document is the raw body of one request, of a limited size and a known type.
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request

from corrobora.faces.cli.library import list_documents as list_library_documents
from corrobora.faces.web import libraries
from corrobora.faces.web.api.models import (
    CheckResult,
    HitInfo,
    LibraryInfo,
    LibraryName,
    ProfileInfo,
    ReportText,
    UploadInfo,
)
from corrobora.faces.web.context import Opened

router = APIRouter(prefix="/api/v1")
_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}
DocumentName = Annotated[str, Path(pattern=r"^[A-Za-z0-9][A-Za-z0-9 ._()-]{0,190}$", description="File name.")]


@router.get("/libraries", tags=["libraries"])
async def list_libraries(workspace: Opened) -> list[LibraryInfo]:
    """List the stored libraries."""
    return [
        LibraryInfo(name=each.name, documents=each.sources, passages=each.passages, characters=each.characters)
        for each in await libraries.list_libraries(workspace)
    ]


@router.get("/libraries/{name}/documents", tags=["libraries"])
async def list_documents(name: LibraryName, workspace: Opened) -> list[str]:
    """List the documents of a library."""
    return await list_library_documents(workspace, name)


@router.get("/libraries/{name}/search", tags=["libraries"])
async def search_library(
    name: LibraryName,
    workspace: Opened,
    q: Annotated[str, Query(min_length=1, max_length=2_000, description="What is looked for.")],
    limit: Annotated[int, Query(ge=1, le=100)] = 10,
) -> list[HitInfo]:
    """Search a library and return its best passages."""
    found = await libraries.search_library(workspace, name, q, limit=limit)
    return [HitInfo.model_validate(hit, from_attributes=True) for hit in found]


@router.put("/libraries/{name}/documents/{document}", status_code=201, tags=["libraries"], openapi_extra=_BODY)
async def add_document(name: LibraryName, document: DocumentName, workspace: Opened, request: Request) -> UploadInfo:
    """Add a document to a library, or replace the one of this name; the body is the file.

    Its name says what it is: Markdown, HTML, text, PDF, DOCX and others. A library that was read from a folder of the
    server takes none.
    """
    stored = await libraries.add_document(workspace, name, document, await request.body())
    return UploadInfo(library=name, document=document, stored=stored)


@router.delete("/libraries/{name}", status_code=204, tags=["libraries"])
async def remove_library(name: LibraryName, workspace: Opened) -> None:
    """Remove a library; reports of earlier runs keep their quotes."""
    await libraries.remove_library(workspace, name)


@router.post("/verify", tags=["verify"])
async def verify_report(body: ReportText, workspace: Opened) -> CheckResult:
    """Check a report: its seal against the stored run, then every statement against the stored sources."""
    return CheckResult.model_validate(await libraries.verify_report(workspace, body.text))


@router.get("/profiles", tags=["profiles"])
async def list_profiles(workspace: Opened) -> list[ProfileInfo]:
    """List the profiles that a run may name."""
    return [
        ProfileInfo(name=name, about=profile.summary, phrase=profile.phrase, minutes=profile.minutes)
        for name, profile in libraries.list_profiles(workspace).items()
    ]
