"""A small HTTP/1.1 server on loopback for tests and demonstrations: requests in, whole or chunked answers out.

Knows heads, lengths, chunks and how to break a connection on purpose. Does not know models or protocols. Not for the
open network: it binds to 127.0.0.1 and checks only what a test client may get wrong.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
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
    """Serves `respond` on 127.0.0.1. Port 0 takes a free one, see `port`."""

    def __init__(self, respond: Respond, *, port: int = 0) -> None:
        self._respond = respond
        self._wanted = port
        self._server: asyncio.Server | None = None
        self._open: dict[asyncio.Task[None], asyncio.StreamWriter] = {}
        self.port = 0

    @property
    def url(self) -> str:
        """Address of the server."""
        return f"http://127.0.0.1:{self.port}"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(
            self._serve_connection, "127.0.0.1", self._wanted, limit=_HEAD_LIMIT, backlog=1024
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
