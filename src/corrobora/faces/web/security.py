"""Who may ask what of the server: hosts, origins, tokens, forms, sizes, and the headers of every answer.

Knows the exact values of Host and Origin that are answered, and that nothing but a loopback address may be served
without a token. Of the routes it knows only those that must be open: the login, the health checks and static files.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import json
import os
import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from corrobora.domain.errors import UserError

COOKIE = "corrobora"
FORM_FIELD = "csrf"
MAX_BODY_BYTES = 2_000_000
MAX_UPLOAD_BYTES = 32_000_000
_UPLOADS = ("/api/v1/libraries/", "/libraries/")
_OPEN = ("/login", "/healthz", "/readyz", "/static/")  # answered without a token
_SAFE = ("GET", "HEAD", "OPTIONS")
_SECRET_BYTES = 32
HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


def is_loopback(host: str) -> bool:
    """True if an address to bind can only be reached from this machine."""
    if host.rstrip(".").lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def check_bind(host: str, *, token: str) -> None:
    """Refuse to serve other machines without a token. Raises `UserError` `serve_open`."""
    if not is_loopback(host) and not token:
        raise UserError(
            "serve_open",
            f"{host} can be reached from other machines, and no token is set.",
            next_step="Set CORROBORA_SERVER_TOKEN or --token-file, or leave out --host.",
        )


def default_hosts(host: str, port: int) -> tuple[str, ...]:
    """Return the values of the header Host that a server at an address answers."""
    names = ("127.0.0.1", "localhost", "[::1]") if is_loopback(host) else ()
    own = f"[{host}]" if ":" in host and not host.startswith("[") else host
    return tuple(dict.fromkeys(f"{name}:{port}" for name in (own, *names)))


def read_server_secret(home: Path) -> bytes:
    """Return the key that signs cookies and forms; it is made once and kept in the data folder, for its owner alone."""
    path = home / "server-secret"
    home.mkdir(parents=True, exist_ok=True)
    made = secrets.token_hex(_SECRET_BYTES)
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        made = path.read_text(encoding="ascii").strip()
    else:
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(made)
    return made.encode()


@dataclass(frozen=True, slots=True)
class Access:
    """What the server was told to allow."""

    token: str
    hosts: tuple[str, ...]
    secret: bytes

    def check_token(self, given: str) -> bool:
        """True for the token of this server; True for anything if it has none."""
        return not self.token or hmac.compare_digest(given.encode(), self.token.encode())

    def make_cookie(self) -> str:
        """Return the value of the cookie of a browser that has shown the token."""
        return self._sign(f"cookie {self.token}")

    def make_form_token(self, scope: Scope) -> str:
        """Return what the forms of a page must send back, so that no other site can send them."""
        return self._sign(f"form {read_cookie(scope)}")

    def check_form_token(self, scope: Scope, given: str) -> None:
        """Refuse a form that is not from a page of this server. Raises `UserError` `form_stale`."""
        if not hmac.compare_digest(given.encode(), self.make_form_token(scope).encode()):
            raise UserError("form_stale", "This form is not valid any more.", next_step="Open the page anew.")

    def admits(self, scope: Scope) -> bool:
        """True if a request shows the token, as a bearer or by the cookie of the page."""
        if not self.token:
            return True
        kind, _, given = Headers(scope=scope).get("authorization", "").partition(" ")
        if kind.lower() == "bearer":
            return self.check_token(given.strip())
        return hmac.compare_digest(read_cookie(scope).encode(), self.make_cookie().encode())

    def _sign(self, text: str) -> str:
        return hmac.new(self.secret, text.encode(), hashlib.sha256).hexdigest()


def read_cookie(scope: Scope) -> str:
    """Return the cookie of the page that a request brings, "" without one."""
    try:
        found = SimpleCookie(Headers(scope=scope).get("cookie", "")).get(COOKIE)
    except CookieError:
        return ""
    return found.value if found else ""


class SecurityMiddleware:
    """Lets a request pass if its host, origin, token and size are allowed, and sets the headers of every answer."""

    def __init__(self, app: ASGIApp, *, access: Access) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_safely(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                if not str(scope["path"]).startswith("/static/"):
                    headers.setdefault("Cache-Control", "no-store")
            await send(message)

        refusal = self._find_refusal(scope)
        if refusal is not None:
            await _send_problem(scope, send_safely, refusal)
            return
        limit = MAX_UPLOAD_BYTES if str(scope["path"]).startswith(_UPLOADS) else MAX_BODY_BYTES
        if int(_read_number(Headers(scope=scope).get("content-length", "0"))) > limit:
            await _send_problem(scope, send_safely, _too_large(limit))
            return
        await self._app(scope, _limit_body(receive, limit), send_safely)

    def _find_refusal(self, scope: Scope) -> _Refusal | None:
        headers, path = Headers(scope=scope), str(scope["path"])
        host = headers.get("host", "").lower()
        if host not in self._access.hosts:
            step = "Open the address that the server printed, or allow the name with --allow-host."
            return _Refusal(421, "host_refused", f"This server does not answer for {host[:80]!r}.", step)
        if scope["method"] not in _SAFE and not self._is_own_origin(headers):
            text = "A page of another site may not change anything here."
            return _Refusal(403, "origin_refused", text, "Open the page of this server itself.")
        if not path.startswith(_OPEN) and not self._access.admits(scope):
            step = "Send it as Authorization: Bearer TOKEN, or log in at /login."
            return _Refusal(401, "token_missing", "This server needs its token.", step)
        return None

    def _is_own_origin(self, headers: Headers) -> bool:
        origin = headers.get("origin")
        if origin is None:
            return headers.get("sec-fetch-site", "none") in ("none", "same-origin")
        scheme, _, host = origin.partition("://")
        return scheme in ("http", "https") and host.lower() in self._access.hosts


@dataclass(frozen=True, slots=True)
class _Refusal:
    status: int
    code: str
    detail: str
    next_step: str


def _too_large(limit: int) -> _Refusal:
    return _Refusal(413, "body_too_large", f"The body has more than {limit:,} bytes.", "Send less at once.")


def _read_number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() else 0


def _limit_body(receive: Receive, limit: int) -> Callable[[], Awaitable[Message]]:
    left = limit

    async def receive_limited() -> Message:
        nonlocal left
        message = await receive()
        left -= len(message.get("body", b""))
        if left < 0:
            raise HTTPException(413, _too_large(limit).detail)
        return message

    return receive_limited


async def _send_problem(scope: Scope, send: Send, refusal: _Refusal) -> None:
    """Refuse: a browser that opens a page is led to the login, everything else gets a problem document."""
    wants_page = "text/html" in Headers(scope=scope).get("accept", "") and scope["method"] == "GET"
    if refusal.status == 401 and wants_page and not str(scope["path"]).startswith(("/api/", "/v1/")):  # noqa: PLR2004 - HTTP
        await send({"type": "http.response.start", "status": 303, "headers": [(b"location", b"/login")]})
        await send({"type": "http.response.body", "body": b""})
        return
    body: dict[str, Any] = {
        "type": f"urn:corrobora:error:{refusal.code}",
        "title": refusal.detail,
        "status": refusal.status,
        "detail": f"{refusal.detail} {refusal.next_step}",
        "code": refusal.code,
        "next_step": refusal.next_step,
    }
    headers = [(b"content-type", b"application/problem+json")]
    if refusal.status == 401:  # noqa: PLR2004 - HTTP
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": json.dumps(body).encode()})
