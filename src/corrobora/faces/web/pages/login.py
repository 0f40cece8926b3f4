"""Login and logout on a server with tokens: a browser shows its token once and then has a cookie.

Knows the form and the cookie. Which tokens there are, and what a cookie holds, `security` knows.
"""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import Response

from corrobora.faces.web.context import Allowed, SentForm, go_to, render_page
from corrobora.faces.web.security import COOKIE

router = APIRouter()
_COOKIE_SECONDS = 30 * 24 * 3600


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
