"""Login and logout of the page, on a server with tokens: a browser shows a token once and then has a cookie.

Knows the form and the cookie. Which tokens there are and what they allow, `security` knows.
"""

from __future__ import annotations

from urllib.parse import parse_qsl

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from corrobora.faces.web.context import get_access, render_page
from corrobora.faces.web.security import COOKIE, FORM_FIELD

router = APIRouter(include_in_schema=False)
_COOKIE_SECONDS = 30 * 24 * 3600
_MAX_FIELDS = 200


async def read_form(request: Request) -> dict[str, str]:
    """Return the fields of a form that a page of this server sent. Raises `UserError` `form_stale` for any other."""
    text = (await request.body()).decode("utf-8", "replace")
    fields = dict(parse_qsl(text, keep_blank_values=True, max_num_fields=_MAX_FIELDS))
    get_access(request).check_form_token(request.scope, fields.pop(FORM_FIELD, ""))
    return fields


@router.get("/login")
async def show_login(request: Request) -> Response:
    """Show the form that takes a token."""
    return render_page(request, "login.html", refused=False)


@router.post("/login")
async def log_in(request: Request) -> Response:
    """Give the browser of somebody who knows a token its cookie."""
    access = get_access(request)
    token = access.find_token((await read_form(request)).get("token", "").strip())
    if token is None:
        return render_page(request, "login.html", status=403, refused=True)
    answer = RedirectResponse("/", 303)
    if access.tokens:
        secure = request.url.scheme == "https"
        value = access.make_cookie(token)
        answer.set_cookie(COOKIE, value, _COOKIE_SECONDS, httponly=True, samesite="strict", secure=secure)
    return answer


@router.post("/logout")
async def log_out(request: Request) -> Response:
    """Take the cookie back."""
    await read_form(request)
    answer = RedirectResponse("/login", 303)
    answer.delete_cookie(COOKIE, httponly=True, samesite="strict")
    return answer
