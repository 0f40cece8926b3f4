"""Libraries: listed, searched, filled by dropped or chosen files, read anew and removed."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, Response

from corrobora.app import Workspace
from corrobora.app.libraries import ingest_files, show_nothing
from corrobora.domain.errors import CorroboraError
from corrobora.domain.evidence import Hit
from corrobora.faces.cli.library import check_library_name, find_library, list_documents
from corrobora.faces.web import libraries
from corrobora.faces.web.context import Opened, SentForm, go_to, render_page

router = APIRouter()
_MAX_LISTED = 300


@router.get("/libraries")
async def show_libraries(request: Request, workspace: Opened) -> HTMLResponse:
    """Show all libraries, and how one is added."""
    return await _render_list(request, workspace)


async def _render_list(request: Request, workspace: Workspace, error: CorroboraError | None = None) -> HTMLResponse:
    spaces = await libraries.list_libraries(workspace)
    return render_page(request, "libraries.html", status=200 if error is None else 422, error=error, spaces=spaces)


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
    done: str = "",
) -> HTMLResponse:
    space = await find_library(workspace, name)
    documents = await list_documents(workspace, name)
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
        documents=documents[:_MAX_LISTED],
        hidden=max(0, len(documents) - _MAX_LISTED),
        search=search,
        hits=hits,
        error=error,
        done=done,
    )


@router.post("/libraries/add")
async def add_files(request: Request, workspace: Opened, form: SentForm) -> Response:
    """Add uploaded files to a library, which is made if there is none of this name."""
    name = form.text("name")
    try:
        check_library_name(name)
        for file in form.files("files"):
            await libraries.add_document(workspace, name, str(file.filename), await file.read())
    except CorroboraError as error:
        return await _render_list(request, workspace, error)
    return go_to(f"/libraries/{name}" if form.files("files") else "/libraries")


@router.post("/libraries/{name}/refresh")
async def refresh_library(request: Request, name: str, workspace: Opened, form: SentForm) -> Response:  # noqa: ARG001 - the form has the token
    """Read the folders of a library anew: new and changed files are read, removed ones retired."""
    space = await find_library(workspace, name)
    try:
        result = await ingest_files(workspace.database, name, space.roots, show_nothing, embedder=workspace.embedder)
    except CorroboraError as error:
        return await _render_library(request, workspace, name, error=error)
    done = (
        f"{len(result.stored)} read, {len(result.unchanged)} unchanged, {len(result.removed)} removed, "
        f"{len(result.skipped)} skipped."
    )
    return await _render_library(request, workspace, name, done=done)


@router.post("/libraries/{name}/rename")
async def rename_library(request: Request, name: str, workspace: Opened, form: SentForm) -> Response:
    """Give a library another name."""
    new = form.text("new").strip()
    try:
        await libraries.rename_library(workspace, name, new)
    except CorroboraError as error:
        return await _render_library(request, workspace, name, error=error)
    return go_to(f"/libraries/{new}")


@router.post("/libraries/{name}/remove")
async def remove_library(name: str, workspace: Opened, form: SentForm) -> Response:  # noqa: ARG001 - the form has the token
    """Remove a library; files of a folder stay where they are."""
    await libraries.remove_library(workspace, name)
    return go_to("/libraries")
