"""Settings, never with a secret; the checks of the installation; and login and logout on a server with tokens.

Knows the form in which a browser shows its token once, and the cookie that it gets. Which tokens there are, and what a
cookie holds, `security` knows.
"""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response

from corrobora.faces.cli.config import describe_settings
from corrobora.faces.cli.installation import check_installation
from corrobora.faces.web.context import Allowed, Opened, SentForm, go_to, render_page
from corrobora.faces.web.security import COOKIE

router = APIRouter()
_COOKIE_SECONDS = 30 * 24 * 3600


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


@router.get("/login")
async def show_login(request: Request) -> Response:
    """Show the form that takes a token."""
    return render_page(request, "login.html", refused=False)


@router.post("/login")
async def log_in(request: Request, access: Allowed, form: SentForm) -> Response:
    """Give the browser of somebody who knows a token its cookie."""
    token = access.find_token(form.text("token"))
    if token is None:
        return render_page(request, "login.html", status=403, refused=True)
    answer = go_to("/")
    if access.tokens:
        secure = request.url.scheme == "https"
        value = access.make_cookie(token)
        answer.set_cookie(COOKIE, value, _COOKIE_SECONDS, httponly=True, samesite="strict", secure=secure)
    return answer


@router.post("/logout")
async def log_out(form: SentForm) -> Response:  # noqa: ARG001 - the form has the token
    """Take the cookie back."""
    answer = go_to("/login")
    answer.delete_cookie(COOKIE, httponly=True, samesite="strict")
    return answer
