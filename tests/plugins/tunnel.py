"""A proxy on loopback as companies have them: the only way out, for those who prove who they are.

Knows CONNECT and absolute request lines. Where it leads is a table: each host and port is a server on loopback, with
TLS in front of it where the table has a context.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Self

REFUSAL = b"HTTP/1.1 %d No\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


@dataclass
class TunnelProxy:
    """Serves while its context is open; `asked` holds each request line, `proofs` the credentials that came with it."""

    routes: Mapping[str, tuple[int, ssl.SSLContext | None]]
    asked: list[str] = field(default_factory=list[str])
    proofs: set[str] = field(default_factory=set[str])
    port: int = 0
    _server: asyncio.Server | None = None
    _talks: set[asyncio.Task[None]] = field(default_factory=set[asyncio.Task[None]])

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for talk in self._talks:
            talk.cancel()
        await asyncio.gather(*self._talks, return_exceptions=True)
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        talk = asyncio.current_task()
        assert talk is not None
        self._talks.add(talk)
        talk.add_done_callback(lambda _: writer.close())
        with suppress(asyncio.CancelledError):  # the test ends
            await self._answer(reader, writer)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, EOFError, ssl.SSLError):
            head = await reader.readuntil(b"\r\n\r\n")
            first, *lines = head[:-4].decode().split("\r\n")
            self.asked.append(first)
            proofs = [line.split(": ", 1)[1] for line in lines if line.lower().startswith("proxy-authorization:")]
            self.proofs.update(proofs)
            method, where, _ = first.split(" ")
            host, _, path = where.removeprefix("http://").partition("/")
            route = self.routes.get(host)
            if not proofs or route is None:
                writer.write(REFUSAL % (403 if proofs else 407))
            elif method == "CONNECT":
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
                if route[1] is not None:
                    await writer.start_tls(route[1])
                await _pass_on(reader, writer, route[0])
            else:
                await _pass_on(reader, writer, route[0], head.replace(where.encode(), f"/{path}".encode(), 1))
            await writer.drain()


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, port: int, begun: bytes = b"") -> None:
    theirs, to = await asyncio.open_connection("127.0.0.1", port)
    to.write(begun)

    async def copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while data := await source.read(65_536):
                target.write(data)
                await target.drain()

    pairs = [asyncio.ensure_future(copy(*pair)) for pair in ((reader, to), (theirs, writer))]
    try:
        await asyncio.wait(pairs, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for each in pairs:
            each.cancel()
        to.close()
