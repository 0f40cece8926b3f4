"""A small HTTP/1.1 server on loopback for tests and demonstrations, and the faults of web pages and search engines.

Knows heads, lengths, chunks, how to break a connection on purpose, and each fault by its name. Does not know models,
protocols or where a fault strikes. Not for the open network: it binds to 127.0.0.1 and checks little.
"""

from __future__ import annotations

import asyncio
import gzip
import random
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from http.client import responses
from typing import Self

_HEAD_LIMIT = 64_000
_BODY_LIMIT = 50_000_000


@dataclass(frozen=True, slots=True)
class Request:
    """One request. Header names are in lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Response:
    """One answer. With `cut_after` the connection is closed after so many bytes of the body."""

    status: int = 200
    body: bytes = b""
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    parts: AsyncIterator[bytes] | None = None  # sent as chunks instead of `body`
    cut_after: int | None = None


Respond = Callable[[Request], Awaitable[Response]]


class HttpServer:
    """Serves `respond` on 127.0.0.1 or another address of loopback. Port 0 takes a free one, see `port`."""

    def __init__(self, respond: Respond, *, port: int = 0, host: str = "127.0.0.1") -> None:
        self._respond = respond
        self._wanted = port
        self._host = host
        self._server: asyncio.Server | None = None
        self._open: dict[asyncio.Task[None], asyncio.StreamWriter] = {}
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(
            self._serve_connection, self._host, self._wanted, limit=_HEAD_LIMIT, backlog=1024
        )
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        talks = dict(self._open)
        for talk, writer in talks.items():
            writer.transport.abort()
            talk.cancel()
        await asyncio.gather(*talks, return_exceptions=True)
        await self._server.wait_closed()

    async def _serve_connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        talk = asyncio.current_task()
        assert talk is not None
        self._open[talk] = writer
        try:
            while (request := await _read_request(reader)) is not None:
                if not await _write_response(writer, request, await self._respond(request)):
                    break
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            writer.transport.abort()
        except asyncio.CancelledError:
            writer.transport.abort()  # the server is closing: the end of the task, not an error of it
        finally:
            del self._open[talk]
            writer.close()


async def _read_request(reader: asyncio.StreamReader) -> Request | None:
    """Read one request; None when the client has hung up between two."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError as error:
        if not error.partial.strip():
            return None
        raise
    first, *lines = head.decode("latin-1").split("\r\n")
    method, path, _ = first.split(" ", 2)
    headers = {
        name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)
    }
    length = min(int(headers.get("content-length", "0") or 0), _BODY_LIMIT)
    return Request(method, path, headers, await reader.readexactly(length) if length else b"")


async def _write_response(writer: asyncio.StreamWriter, request: Request, response: Response) -> bool:
    """Send an answer; return True if the connection may be used again."""
    reason = responses.get(response.status, "Unknown")
    headers = {"content-type": response.content_type, **response.headers}
    if response.parts is None:
        headers["content-length"] = str(len(response.body))
    else:
        headers["transfer-encoding"] = "chunked"
    lines = [f"HTTP/1.1 {response.status} {reason}", *(f"{name}: {value}" for name, value in headers.items())]
    writer.write("\r\n".join(lines).encode("latin-1") + b"\r\n\r\n")
    cut = response.cut_after
    if response.parts is None:
        writer.write(response.body if cut is None else response.body[:cut])
    else:
        async for part in response.parts:
            writer.write(b"%x\r\n%b\r\n" % (len(part), part))
            await writer.drain()
            if cut is not None:
                cut -= len(part)
                if cut <= 0:
                    break
        else:
            writer.write(b"0\r\n\r\n")
    await writer.drain()
    if response.cut_after is not None:
        writer.transport.abort()
        return False
    return request.headers.get("connection", "").lower() != "close"


_HTML = "text/html; charset=utf-8"
_STEP = 65_536
_PACKED = {"content-encoding": "gzip"}


def _html_page(title: str, text: str) -> bytes:
    return f"<html><head><title>{title}</title></head><body><article><p>{text}</p></article></body></html>".encode()


@cache
def gzip_bomb(megabytes: int = 1024) -> bytes:
    """Return a gzip stream of about a kilobyte for each megabyte of zeros that it unpacks to.

    One block is packed and repeated, so the check at its end is not right: whoever gets there has unpacked it all.
    """
    packer = zlib.compressobj(9, zlib.DEFLATED, 16 + zlib.MAX_WBITS)
    head = packer.flush(zlib.Z_FULL_FLUSH)
    block = packer.compress(bytes(1_000_000)) + packer.flush(zlib.Z_FULL_FLUSH)
    return head + block * megabytes + packer.flush()


async def _endless_parts(part: bytes, *, pause: float = 0.0, parts: int = 1_000_000) -> AsyncIterator[bytes]:
    for _ in range(parts):
        yield part
        await asyncio.sleep(pause)


def _redirect_to(location: str) -> Callable[[Request], Response]:
    return lambda _: Response(302, headers={"location": location})


def _fixed_page(
    status: int = 200, body: bytes = b"", type_: str = _HTML, **headers: str
) -> Callable[[Request], Response]:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda _: Response(status, body, type_, named)


def _redirect_chain(request: Request) -> Response:
    """Each path redirects to itself with one more letter, for ever."""
    return Response(302, headers={"location": request.path + "x"})


PAGE_FAULTS: Mapping[str, Callable[[Request], Response] | str] = {
    "404": _fixed_page(404, _html_page("Not found", "nothing")),
    "410": _fixed_page(410),
    "401": _fixed_page(401),
    "402": _fixed_page(402),
    "403": _fixed_page(403),
    "429": _fixed_page(429, retry_after="5"),
    "451": _fixed_page(451),
    "500": _fixed_page(500),
    "503": _fixed_page(503, retry_after="3600"),
    "999": _fixed_page(999),
    "204": _fixed_page(204),
    "hang": "never answers",
    "drip": lambda _: Response(200, parts=_endless_parts(b"x", pause=0.05), content_type=_HTML),
    "cut": lambda _: Response(200, _html_page("Cut", "word " * 1_000), _HTML, cut_after=500),
    "empty": _fixed_page(200, b""),
    "blank": _fixed_page(200, b" \n" * 1_000),
    "large": lambda _: Response(200, b"<p>" + b"word " * 1_200_000, _HTML),
    "endless": lambda _: Response(200, parts=_endless_parts(b"words without end. " * 3_600), content_type=_HTML),
    "bomb": lambda _: Response(200, gzip_bomb(), _HTML, _PACKED),
    "double-gzip": lambda _: Response(
        200,
        gzip.compress(gzip.compress(_html_page("Twice", "word " * 9), mtime=0)),
        _HTML,
        {"content-encoding": "gzip, gzip"},
    ),
    "brotli": _fixed_page(200, b"\x8b\x02\x80hello\x03", content_encoding="br"),
    "damaged-gzip": _fixed_page(200, b"\x1f\x8b\x08\x00" + b"\xff" * 100, content_encoding="gzip"),
    "short-gzip": lambda _: Response(
        200, gzip.compress(_html_page("Short", "word " * 9_999), mtime=0)[:-20], _HTML, _PACKED
    ),
    "junk": lambda _: Response(200, random.Random(0).randbytes(200_000), _HTML),  # noqa: S311 - the same junk each time
    "image": _fixed_page(200, b"\x89PNG\r\n\x1a\n" + b"\0" * 100, "image/png"),
    "image-as-html": _fixed_page(200, b"\x89PNG\r\n\x1a\n" + b"\0" * 100),
    "zip-as-html": _fixed_page(200, b"PK\x03\x04" + b"\0" * 100),
    "program": _fixed_page(200, b"MZ" + b"\0" * 100, "application/octet-stream"),
    "broken-pdf": _fixed_page(200, b"%PDF-1.7\n" + b"junk " * 500, "application/pdf"),
    "wall": _fixed_page(200, _html_page("Just a moment...", "Checking your browser before you go on.")),
    "login": _fixed_page(200, _html_page("Sign in", "Sign in to continue. Enter your password.")),
    "soft-404": _fixed_page(200, _html_page("Page not found", "The page you look for does not exist.")),
    "front-page": _redirect_to("/"),
    "noai": lambda _: Response(
        200, _html_page("No", "Programs may not read this."), _HTML, {"x-robots-tag": "noai, nosnippet"}
    ),
    "to-private": _redirect_to("http://10.0.0.1/"),
    "to-loopback": _redirect_to("http://127.0.0.1:1/"),
    "to-loopback-v6": _redirect_to("http://[::1]/"),
    "to-metadata": _redirect_to("http://169.254.169.254/latest/meta-data/"),
    "to-file": _redirect_to("file:///etc/passwd"),
    "to-nowhere": _redirect_to("http://["),
    "to-user-data": _redirect_to("http://user:word@127.0.0.1/"),
    "to-self": lambda request: Response(302, headers={"location": request.path}),
    "loop": lambda request: Response(
        302, headers={"location": request.path.rstrip("~") + "~" * (request.path[-1:] != "~")}
    ),
    "chain": _redirect_chain,
    "upgrade": _fixed_page(101, upgrade="websocket", connection="upgrade"),
    "refresh": _fixed_page(
        200,
        b'<html><head><title>R</title><meta http-equiv="refresh" content="0;url=http://127.0.0.1:1/">'
        b'<base href="http://10.0.0.1/"></head><body><article><p>' + b"The page itself stays. " * 30,
    ),
}  # fmt: skip - one table, read as one

API_FAULTS: Mapping[str, Response | str] = {
    "401": Response(401, b'{"detail": "bad key"}'),
    "402": Response(402),
    "429": Response(429, headers={"retry-after": "1"}),
    "429-date": Response(429, headers={"retry-after": "Fri, 31 Dec 2100 00:00:00 GMT"}),
    "500": Response(500, b"oops", "text/plain"),
    "503": Response(503),
    "html": Response(200, b"<html><title>captcha</title></html>", _HTML),
    "null": Response(200, b'{"results": null, "success": true, "data": {"web": null}}'),
    "missing": Response(200, b'{"success": true, "data": {}}'),
    "string": Response(200, b'{"results": "none", "success": true, "data": {"web": "none"}}'),
    "error": Response(200, b'{"results": [], "success": true, "data": {"web": []}, "error": {"info": "no quota"}}'),
    "none": Response(200, b'{"results": [], "success": true, "data": {"web": []}}'),
    "cut": Response(200, b'{"results": [{"url": "https://example.org/"' + b" " * 1_000, cut_after=40),
    "redirect": Response(302, headers={"location": "http://127.0.0.1:1/search"}),
    "large": "five megabytes and more",
    "hang": "never answers",
}


async def page_answer(fault: str, request: Request) -> Response:
    """Return what the faulty page answers; `hang` does not return."""
    if fault == "hang":
        await asyncio.Event().wait()
    found = PAGE_FAULTS[fault]
    assert not isinstance(found, str)
    return found(request)


async def api_answer(fault: str) -> Response:
    """Return what the faulty search engine answers; `hang` does not return."""
    if fault == "hang":
        await asyncio.Event().wait()
    if fault == "large":
        return Response(200, parts=_endless_parts(b" " * _STEP, parts=200))
    found = API_FAULTS[fault]
    assert isinstance(found, Response)
    return found
