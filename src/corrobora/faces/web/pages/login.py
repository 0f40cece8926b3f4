"""Login and logout on a server with tokens, and pages of problems.

Knows the form in which a browser shows its token once, the cookie that it gets, and what a refusal looks like: nothing
that was typed is lost. Which tokens there are, and what a cookie holds, `security` knows. Whoever logs in comes to the
page that was asked for; a form that was sent after the session had ended is shown with all its fields, to be sent by
one press.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response
from starlette.types import ASGIApp, Receive, Scope

from corrobora.faces.refusals import Problem
from corrobora.faces.web.context import (
    Allowed,
    Form,
    go_to,
    keep_fields,
    keep_here,
    render_page,
    render_problem,
)
from corrobora.faces.web.security import LOGIN_SECONDS

router = APIRouter()
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
