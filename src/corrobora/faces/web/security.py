"""Who may ask what of the server: hosts, origins, tokens, forms, sizes, and the headers of every answer.

Knows the exact values of Host and Origin that are answered, and that nothing but a loopback address may be served
without a token. Of the routes it knows only those that must be open: the login, the health checks and static files.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import ipaddress
import re
import secrets
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from weakref import WeakValueDictionary

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Send
from starlette.types import Scope as ConnectionScope

from corrobora.domain.errors import UserError
from corrobora.faces.refusals import PROBLEM_TYPE, Problem, make_problem
from corrobora.files import make_private_folder, write_whole

FORM_FIELD = "csrf"
MAX_BODY_BYTES = 2_000_000
MAX_UPLOAD_BYTES = 32_000_000
_UPLOADS = ("/api/v1/libraries/", "/libraries/")
# Answered without a token; the first three change nothing but the browser of whoever asks.
_OPEN = ("/login", "/logout", "/appearance", "/healthz", "/readyz", "/static/")
_SAFE = ("GET", "HEAD", "OPTIONS")
_TOLD_AS_PAGE = ("token_missing", "scope_missing", "body_too_large")  # not what another site or name asked for
_SECRET_BYTES = 32
MIN_TOKEN_CHARS = 16
LOGIN_SECONDS = 30 * 24 * 3600
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


def check_bind(host: str, tokens: Sequence[Token]) -> None:
    """Refuse to serve other machines without a token. Raises `UserError` `serve_open`."""
    if not is_loopback(host) and not tokens:
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
    """Return the key that signs cookies and forms; it is kept in the data folder, for its owner alone.

    A file without a whole key, as a full disk leaves one, is written anew: a short key could be guessed.
    """
    path = home / "server-secret"
    if not path.exists() or len(path.read_bytes().strip()) < 2 * _SECRET_BYTES:
        write_whole(path, secrets.token_hex(_SECRET_BYTES).encode())
    return path.read_bytes().strip()


class Scope(StrEnum):
    """What a token lets its holder do; each includes the ones before it."""

    READ = "read"  # runs, reports, evidence, libraries
    RUN = "run"  # also start and steer runs, and check reports
    ADMIN = "admin"  # also add documents, remove runs and libraries


_ADMIN_PATH = re.compile(r"^(?:/api/v1)?/libraries/|/(?:delete|remove)$")


def is_open(path: str) -> bool:
    """True for what is answered without a token."""
    return path.startswith(_OPEN)


def required_scope(method: str, path: str) -> Scope:
    """Return the scope that a request needs."""
    if method in _SAFE:
        return Scope.READ
    if path == "/mcp":  # its DELETE ends a session
        return Scope.RUN
    return Scope.ADMIN if method == "DELETE" or _ADMIN_PATH.search(path) else Scope.RUN


@dataclass(frozen=True, slots=True)
class Token:
    """One token of the server."""

    text: str = field(repr=False)
    scope: Scope = Scope.ADMIN
    name: str = "token"

    def allows(self, wanted: Scope) -> bool:
        """True if the holder may do what needs `wanted`."""
        order = list(Scope)
        return order.index(self.scope) >= order.index(wanted)


ANYBODY = Token("", Scope.ADMIN, "")  # on a server without tokens, which only this machine can reach


def parse_tokens(text: str) -> tuple[Token, ...]:
    """Read a token file: one token with all rights, or lines of scope, token and, if wanted, a name.

    Raises `UserError` `serve_token` for an unknown scope, a token of fewer than 16 characters, or two that are equal.
    """
    lines = [line.split() for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    found: list[Token] = []
    for number, parts in enumerate(lines, 1):
        scope, secret, name = (*(["admin"] if len(parts) == 1 else []), *parts, f"token-{number}")[:3]
        if scope not in tuple(Scope) or len(parts) > 3:  # noqa: PLR2004 - scope, token, name
            raise _token_error(f"Line {number} of the tokens is not: read, run or admin, then a token, then a name.")
        if len(secret) < MIN_TOKEN_CHARS or not secret.isascii():
            raise _token_error(f"The token in line {number} has fewer than {MIN_TOKEN_CHARS} plain characters.")
        found.append(Token(secret, Scope(scope), name))
    if len({each.text for each in found}) < len(found) or len({each.name for each in found}) < len(found):
        raise _token_error("Two tokens, or two names of tokens, are equal.")
    return tuple(found)


def _token_error(problem: str) -> UserError:
    return UserError("serve_token", problem, next_step="Make one: openssl rand -hex 24")


@dataclass(frozen=True, slots=True)
class Access:
    """What the server was configured to allow."""

    tokens: tuple[Token, ...]
    hosts: tuple[str, ...]
    secret: bytes = field(repr=False)
    ended: Path  # a folder with one empty file for each login whose holder logged out, as long as its cookie would hold
    _followers: WeakValueDictionary[str, asyncio.Event] = field(
        default_factory=WeakValueDictionary[str, asyncio.Event], repr=False
    )

    def find_token(self, given: str) -> Token | None:
        """Return the token that was given, in a time that reveals nothing about it; anybody if there are none."""
        if not self.tokens:
            return ANYBODY
        equal = [each for each in self.tokens if hmac.compare_digest(given.encode(), each.text.encode())]
        return equal[0] if equal else None

    @property
    def cookie_name(self) -> str:
        """The name of the cookie: another server of this machine has another one, as ports do not part cookies."""
        return f"corrobora-{self._sign('name of the cookie')[:12]}"

    def make_cookie(self, token: Token, login: str = "") -> str:
        """Return the value of the cookie of one login of somebody who has shown a token."""
        login = login or f"{int(time.time())}-{secrets.token_hex(16)}"
        return f"{login}.{self._sign(f'cookie {token.name} {login} {token.text}')}"

    def end_login(self, cookie: str) -> None:
        """Accept a cookie no more, and end what is being sent to its holder; do nothing if it is none."""
        if self.find_login(cookie) is None:
            return
        make_private_folder(self.ended)
        for each in self.ended.iterdir():
            if _is_expired(each.name):
                each.unlink(missing_ok=True)
        (self.ended / _login_of(cookie)).touch(mode=0o600)
        if (follower := self._followers.get(cookie)) is not None:
            follower.set()

    def follow_login(self, cookie: str) -> asyncio.Event:
        """Return what is set when the holder of a cookie logs out."""
        return self._followers.setdefault(cookie, asyncio.Event())

    def make_form_token(self, cookie: str) -> str:
        """Return what the forms of a page must send back, so that no other site can send them."""
        return self._sign(f"form {cookie}")

    def check_form_token(self, scope: ConnectionScope, given: str) -> None:
        """Refuse a form that is not from a page of this server. Raises `UserError` `form_stale`."""
        if not hmac.compare_digest(given.encode(), self.make_form_token(self.read_cookie(scope)).encode()):
            raise UserError("form_stale", "This form is not valid any more.", next_step="Open the page again.")

    def identify(self, scope: ConnectionScope) -> Token | None:
        """Return the token that a request shows, as a bearer or by the cookie of the page; None without one."""
        if not self.tokens:
            return ANYBODY
        kind, _, given = Headers(scope=scope).get("authorization", "").partition(" ")
        if kind.lower() == "bearer":
            return self.find_token(given.strip())
        return self.find_login(self.read_cookie(scope))

    def find_login(self, cookie: str) -> Token | None:
        """Return the token whose login a cookie stands for, None if there is none, or it was ended or is too old."""
        login = _login_of(cookie)
        made = ((each, self.make_cookie(each, login)) for each in self.tokens)
        found = next((each for each, own in made if hmac.compare_digest(cookie.encode(), own.encode())), None)
        return None if found is None or _is_expired(login) or (self.ended / login).exists() else found

    def read_cookie(self, scope: ConnectionScope) -> str:
        """Return the cookie of the page that a request brings, "" without one."""
        try:
            found = SimpleCookie(Headers(scope=scope).get("cookie", "")).get(self.cookie_name)
        except CookieError:
            return ""
        return found.value if found else ""

    def _sign(self, text: str) -> str:
        return hmac.new(self.secret, text.encode(), hashlib.sha256).hexdigest()


def _login_of(cookie: str) -> str:
    return cookie.partition(".")[0]


def _is_expired(login: str) -> bool:
    return time.time() - _read_number(login.partition("-")[0]) > LOGIN_SECONDS


@dataclass(slots=True)
class Traffic:
    """What the server has answered, for its metrics."""

    open: int = 0  # requests that are being answered
    answered: Counter[int] = field(default_factory=Counter[int])  # by status


Refuse = Callable[[ConnectionScope, Receive, Problem], Awaitable[ASGIApp]]


class SecurityMiddleware:
    """Lets a request pass if its host, origin, token and size are allowed, and sets the headers of every answer."""

    def __init__(
        self, app: ASGIApp, *, access: Access, traffic: Traffic | None = None, refuse: Refuse | None = None
    ) -> None:
        self._app = app
        self._access = access
        self._refuse = refuse  # makes the answer that a person reads in a browser
        self._traffic = traffic or Traffic()

    async def __call__(self, scope: ConnectionScope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_safely(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._traffic.answered[message["status"]] += 1
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                if not str(scope["path"]).startswith("/static/"):
                    headers.setdefault("Cache-Control", "no-store")
            await send(message)

        refusal = self._find_refusal(scope)
        if refusal is not None:
            await self._send_problem(scope, receive, send_safely, refusal)
            return
        if scope["method"] == "HEAD":  # the server that calls this leaves out the body
            scope = {**scope, "method": "GET"}
        limit = MAX_UPLOAD_BYTES if str(scope["path"]).startswith(_UPLOADS) else MAX_BODY_BYTES
        if int(_read_number(Headers(scope=scope).get("content-length", "0"))) > limit:
            await self._send_problem(scope, receive, send_safely, _too_large(limit))
            return
        self._traffic.open += 1
        ended = self._access.follow_login(self._access.read_cookie(scope))
        try:
            await _serve_until(ended, self._app)(scope, _limit_body(receive, limit), send_safely)
        finally:
            self._traffic.open -= 1

    def _find_refusal(self, scope: ConnectionScope) -> Problem | None:
        headers, path = Headers(scope=scope), str(scope["path"])
        host = headers.get("host", "").lower()
        if host not in self._access.hosts:
            step = "Open the address that the server printed, or allow the name with --allow-host."
            text = f"This server does not answer for {host[:80]!r}."
            return make_problem("host_refused", text, 421, next_step=step)
        if scope["method"] not in _SAFE and not self._is_own_origin(headers):
            text = "A page of another site may not change anything here."
            return make_problem("origin_refused", text, 403, next_step="Open the page of this server itself.")
        if is_open(path):
            return None
        token = self._access.identify(scope)
        if token is None:
            step = "Send it as Authorization: Bearer TOKEN, or log in at /login."
            return make_problem("token_missing", "This server needs its token.", 401, next_step=step)
        wanted = required_scope(scope["method"], path)
        if not token.allows(wanted):
            text = f"The token {token.name} may {token.scope}; this needs {wanted}."
            return make_problem("scope_missing", text, 403, next_step="Use a token with this scope.")
        return None

    async def _send_problem(self, scope: ConnectionScope, receive: Receive, send: Send, refusal: Problem) -> None:
        """Refuse: whoever opened a page of this server gets a page, everything else a problem document."""
        wants_page = "text/html" in Headers(scope=scope).get("accept", "") and refusal.code in _TOLD_AS_PAGE
        if self._refuse and wants_page and not str(scope["path"]).startswith(("/api/", "/v1/")):
            limited = _limit_body(receive, MAX_BODY_BYTES)
            await (await self._refuse(scope, limited, refusal))(scope, limited, send)
            return
        headers = [(b"content-type", PROBLEM_TYPE.encode())]
        if refusal.status == 401:  # noqa: PLR2004 - HTTP
            headers.append((b"www-authenticate", b"Bearer"))
        await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
        await send({"type": "http.response.body", "body": refusal.model_dump_json(exclude_defaults=True).encode()})

    def _is_own_origin(self, headers: Headers) -> bool:
        origin, site = headers.get("origin"), headers.get("sec-fetch-site", "none")
        if origin is None:
            return site in ("none", "same-origin")
        if origin == "null" and site == "same-origin":  # a form of a page whose policy sends no referrer
            return True
        scheme, _, host = origin.partition("://")
        return scheme in ("http", "https") and host.lower() in self._access.hosts


def _too_large(limit: int) -> Problem:
    text = f"The body has more than {limit:,} bytes."
    return make_problem("body_too_large", text, 413, next_step="Send less at once.")


def _read_number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() else 0


def _serve_until(ended: asyncio.Event, app: ASGIApp) -> ASGIApp:
    """Let what is sent for long end, as if its reader had gone, when its login ends."""

    async def serve(scope: ConnectionScope, receive: Receive, send: Send) -> None:
        if scope["method"] not in _SAFE:  # its body is read
            await app(scope, receive, send)
            return
        unfinished = False

        async def receive_or_end() -> Message:
            reading, leaving = asyncio.ensure_future(receive()), asyncio.ensure_future(ended.wait())
            try:
                await asyncio.wait((reading, leaving), return_when=asyncio.FIRST_COMPLETED)
                return {"type": "http.disconnect"} if ended.is_set() else await reading
            finally:
                reading.cancel()
                leaving.cancel()

        async def send_and_note(message: Message) -> None:
            nonlocal unfinished
            unfinished = message["type"] == "http.response.start" or bool(message.get("more_body"))
            await send(message)

        await app(scope, receive_or_end, send_and_note)
        if unfinished and ended.is_set():
            await send({"type": "http.response.body"})

    return serve


def _limit_body(receive: Receive, limit: int) -> Callable[[], Awaitable[Message]]:
    left = limit

    async def receive_limited() -> Message:
        nonlocal left
        message = await receive()
        left -= len(message.get("body", b""))
        if left < 0:
            raise HTTPException(413, _too_large(limit).title)
        return message

    return receive_limited
