"""Libraries: which there are, their documents, a search in one, and how they are added, renamed and removed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, Response

from corrobora.app import Workspace
from corrobora.app.ingest import READABLE
from corrobora.app.libraries import find_library, ingest_files, show_nothing, upload_folder
from corrobora.app.libraries import remove_library as remove_stored
from corrobora.app.libraries import rename_library as rename_stored
from corrobora.domain.errors import CorroboraError
from corrobora.domain.evidence import Hit
from corrobora.faces.web import libraries
from corrobora.faces.web.context import (
    Opened,
    SentForm,
    go_to,
    render_page,
)

router = APIRouter()
_MAX_LISTED = 300


@router.get("/libraries")
async def show_libraries(request: Request, workspace: Opened) -> HTMLResponse:
    """Show all libraries, and how one is added."""
    return await _render_list(request, workspace)


async def _render_list(
    request: Request,
    workspace: Workspace,
    error: CorroboraError | None = None,
    refused: Mapping[str, str] | None = None,
    named: str = "",
) -> HTMLResponse:
    return render_page(
        request,
        "libraries.html",
        status=422 if error or refused else 200,
        named=named,
        error=error,
        refused=refused,
        spaces=await libraries.list_libraries(workspace),
        readable=READABLE,
    )


@router.get("/libraries/{name}")
async def show_library(
    request: Request, name: str, workspace: Opened, search: Annotated[str, Query(max_length=2_000)] = ""
) -> HTMLResponse:
    """Show the documents of a library, and the passages that a search finds."""
    return await _render_library(request, workspace, name, search=search)


async def _render_library(  # noqa: PLR0913 - what the page may show
    request: Request,
    workspace: Workspace,
    name: str,
    *,
    search: str = "",
    error: CorroboraError | None = None,
    refused: Mapping[str, str] | None = None,
    done: str = "",
) -> HTMLResponse:
    space = await find_library(workspace, name)
    documents = await libraries.list_documents(workspace, name)
    hits: list[Hit] = []
    if search.strip() and error is None:
        try:
            hits = list(await libraries.search_library(workspace, name, search, limit=12))
        except CorroboraError as problem:
            error = problem
    return render_page(
        request,
        "library.html",
        status=200 if error is None else 422,
        space=space,
        roots=space.roots,
        uploaded=space.roots == (upload_folder(workspace, name),),
        documents=documents[:_MAX_LISTED],
        hidden=max(0, len(documents) - _MAX_LISTED),
        search=search,
        hits=hits,
        places=await libraries.list_places(workspace, name, hits),
        error=error,
        refused=refused,
        done=done,
    )


@router.post("/libraries/add")
async def add_files(request: Request, workspace: Opened, form: SentForm) -> Response:
    """Add uploaded files to a library, which is made if there is none of this name; say which cannot be read."""
    name = form.text("name")
    given = {str(file.filename): await file.read() for file in form.files("files")}
    if not given:
        return go_to("/libraries")
    try:
        added = await libraries.add_documents(workspace, name, given)
    except CorroboraError as error:
        return await _render_list(request, workspace, error, named=name)
    if not added.refused:
        return go_to(f"/libraries/{name}")
    if len(added.refused) == len(given):
        return await _render_list(request, workspace, refused=added.refused, named=name)
    return await _render_library(request, workspace, name, refused=added.refused)


@router.post("/libraries/{name}/refresh")
async def refresh_library(request: Request, name: str, workspace: Opened, form: SentForm) -> Response:  # noqa: ARG001 - the form has the token
    """Read the folders of a library anew: new and changed files, and those that an earlier version read."""
    space = await find_library(workspace, name)
    try:
        result = await ingest_files(
            workspace.database, name, space.roots, show_nothing, embedder=workspace.embedder, again=True
        )
    except CorroboraError as error:
        return await _render_library(request, workspace, name, error=error)
    return await _render_library(request, workspace, name, done=f"{result}.")


@router.post("/libraries/{name}/rename")
async def rename_library(request: Request, name: str, workspace: Opened, form: SentForm) -> Response:
    """Give a library another name."""
    new = form.text("new").strip()
    try:
        await rename_stored(workspace, name, new)
    except CorroboraError as error:
        return await _render_library(request, workspace, name, error=error)
    return go_to(f"/libraries/{new}")


@router.post("/libraries/{name}/documents/remove")
async def remove_document(request: Request, name: str, workspace: Opened, form: SentForm) -> Response:
    """Remove an uploaded document from its library."""
    try:
        await libraries.remove_document(workspace, name, form.text("document"))
    except CorroboraError as error:
        return await _render_library(request, workspace, name, error=error)
    return go_to(f"/libraries/{name}")


@router.post("/libraries/{name}/remove")
async def remove_library(name: str, workspace: Opened, form: SentForm) -> Response:  # noqa: ARG001 - the form has the token
    """Remove a library with what was uploaded into it; files of a folder stay where they are."""
    await remove_stored(workspace, name)
    return go_to("/libraries")
