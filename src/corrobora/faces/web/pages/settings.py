"""Settings, never with a secret; checks of the installation; libraries; login and logout on a server with tokens.

Knows the form in which a browser shows its token once, the cookie that it gets, and what a refusal looks like: nothing
that was typed is lost. Which tokens there are, and what a cookie holds, `security` knows. Whoever logs in comes to the
page that was asked for; a form that was sent after the session had ended is shown with all its fields, to be sent by
one press.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, Response
from starlette.types import ASGIApp, Receive, Scope

from corrobora.app import Workspace
from corrobora.app.ingest import READABLE
from corrobora.app.libraries import find_library, ingest_files, show_nothing, upload_folder
from corrobora.app.libraries import remove_library as remove_stored
from corrobora.app.libraries import rename_library as rename_stored
from corrobora.domain.errors import CorroboraError
from corrobora.domain.evidence import Hit
from corrobora.faces.cli.config import describe_settings
from corrobora.faces.cli.installation import check_installation
from corrobora.faces.refusals import Problem
from corrobora.faces.web import libraries
from corrobora.faces.web.context import (
    Allowed,
    Form,
    Opened,
    SentForm,
    go_to,
    keep_fields,
    keep_here,
    render_page,
    render_problem,
)
from corrobora.faces.web.security import LOGIN_SECONDS

router = APIRouter()


@router.get("/settings")
async def show_settings(request: Request, workspace: Opened) -> HTMLResponse:
    """Show each setting of this server: its value and where it comes from. A key is only `set` or `not set`."""
    return render_page(request, "settings.html", groups=group_settings(describe_settings(workspace.settings)))


def group_settings(rows: Sequence[tuple[str, str, str]]) -> list[tuple[str, list[tuple[str, str, str]]]]:
    """Return settings by the first part of their names, those without one first."""
    groups: dict[str, list[tuple[str, str, str]]] = {"general": []}
    for row in rows:
        head, dot, _ = row[0].partition(".")
        groups.setdefault(head if dot else "general", []).append(row)
    return list(groups.items())


@router.get("/doctor")
async def show_doctor(request: Request, workspace: Opened) -> HTMLResponse:
    """Show what `corrobora doctor` finds."""
    return render_page(request, "doctor.html", checks=await check_installation(workspace.settings, workspace))


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
) -> HTMLResponse:
    return render_page(
        request,
        "libraries.html",
        status=422 if error or refused else 200,
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
        return await _render_list(request, workspace, error)
    if not added.refused:
        return go_to(f"/libraries/{name}")
    if len(added.refused) == len(given):
        return await _render_list(request, workspace, refused=added.refused)
    return await _render_library(request, workspace, name, refused=added.refused)


@router.post("/libraries/{name}/refresh")
async def refresh_library(request: Request, name: str, workspace: Opened, form: SentForm) -> Response:  # noqa: ARG001 - the form has the token
    """Read the folders of a library anew: new and changed files are read, removed ones retired."""
    space = await find_library(workspace, name)
    try:
        result = await ingest_files(workspace.database, name, space.roots, show_nothing, embedder=workspace.embedder)
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


_KEPT = "kept:"  # before the name of a field of the form that waits for the login
_MAX_FIELDS = 5_000
_FORM = "application/x-www-form-urlencoded"


@router.get("/login")
async def show_login(request: Request, back: str = "/") -> Response:
    """Show the form that takes a token."""
    return render_page(request, "login.html", page_path=keep_here(back), sent=None)


@router.post("/login")
async def log_in(request: Request, access: Allowed) -> Response:
    """Give the browser of somebody who knows a token its cookie.

    The form needs no token of its own: whoever has one open in two windows may use both, and pages of other sites are
    refused by their origin.
    """
    async with request.form(max_fields=_MAX_FIELDS) as data:
        form = Form(data)
        sent = [(name.removeprefix(_KEPT), text) for name, text in keep_fields(data) if name.startswith(_KEPT)]
    back, token = keep_here(form.text("back", "/")), access.find_token(form.text("token"))
    cookie = access.read_cookie(request.scope)
    if token is not None and access.find_login(cookie) != token:  # else another window has logged in: its forms hold
        cookie = access.make_cookie(token)
    if token is None:
        answer = render_page(request, "login.html", status=403, refused=True, page_path=back, sent=sent or None)
    elif not sent:
        answer = go_to(back)
    else:
        answer = _show_again(request, back, sent, csrf=access.make_form_token(cookie))
    if token is not None and access.tokens:
        secure = request.url.scheme == "https"
        answer.set_cookie(access.cookie_name, cookie, LOGIN_SECONDS, httponly=True, samesite="strict", secure=secure)
    return answer


@router.post("/logout")
async def log_out(request: Request, access: Allowed) -> Response:
    """Take the cookie back, also one that is not valid any more; what other windows follow by it ends."""
    access.end_login(access.read_cookie(request.scope))
    answer = go_to("/login")
    answer.delete_cookie(access.cookie_name, httponly=True, samesite="strict")
    return answer


async def refuse_browser(scope: Scope, receive: Receive, problem: Problem) -> ASGIApp:
    """Return what a person sees in place of a page that is refused before any route is asked."""
    request = Request(scope, receive)
    back = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    if problem.code != "token_missing":
        return render_problem_page(request, problem)
    if request.method in ("GET", "HEAD"):
        return go_to("/login" if back == "/" else f"/login?{urlencode({'back': back})}")
    sent: list[tuple[str, str]] = []
    if request.headers.get("content-type", "").startswith(_FORM):  # files of a stranger are not read
        async with request.form(max_fields=_MAX_FIELDS) as data:
            sent = keep_fields(data)
    return render_page(request, "login.html", status=401, page_path=back if sent else "/libraries", sent=sent)


def render_problem_page(request: Request, problem: Problem) -> Response:
    """Return a problem as a page for a browser, and as a document for a program."""
    if "text/html" not in request.headers.get("accept", ""):
        return render_problem(request, problem)
    if problem.code == "form_stale" and getattr(request.state, "sent", None):
        return _show_again(request, request.url.path, request.state.sent, status=problem.status)
    return render_page(request, "problem.html", status=problem.status, problem=problem)


def _show_again(
    request: Request, path: str, sent: list[tuple[str, str]], status: int = 200, **values: Any
) -> HTMLResponse:
    return render_page(request, "again.html", status=status, page_path=path, sent=sent, **values)
