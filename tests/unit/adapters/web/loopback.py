"""What tests of page fetches need: a canary on loopback, names of our own, a clock that does not wait."""

from __future__ import annotations

import asyncio
import contextlib
import heapq
import itertools
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

from corrobora.adapters.pacing import SystemClock
from corrobora.adapters.web.fetcher import PageFetcher
from corrobora.adapters.web.network import AllowList, NameUnresolved
from corrobora.adapters.web.transport import Bounds, PageReply
from corrobora.domain.errors import ReadError
from corrobora.domain.limits import LIMITS, Limits
from corrobora.testing.http_server import HttpServer, Request, Response

QUICK = replace(LIMITS, host_pause_seconds=0.0, host_max_pause_seconds=1.0)
BOUNDS = Bounds(LIMITS.page_wire_bytes, LIMITS.page_decoded_bytes, truncate=True)


class Canary:
    """Listens on loopback, IPv4 and IPv6, and counts whoever connects."""

    def __init__(self, addresses: Sequence[str] = ("127.0.0.1", "::1"), port: int = 0) -> None:
        self.connections = 0
        self.port = port
        self._addresses = addresses
        self._more = asyncio.Condition()
        self._servers: list[asyncio.Server] = []

    async def __aenter__(self) -> Self:
        for address in self._addresses:
            server = await asyncio.start_server(self._caught, address, self.port)
            self.port = server.sockets[0].getsockname()[1]
            self._servers.append(server)
        return self

    async def __aexit__(self, *_: object) -> None:
        for server in self._servers:
            server.close()
            await server.wait_closed()

    async def reached(self, times: int) -> None:
        async with self._more:
            await self._more.wait_for(lambda: self.connections >= times)

    async def _caught(self, _: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with self._more:
            self.connections += 1
            self._more.notify_all()
        writer.close()


def resolver(names: Mapping[str, Sequence[str]]) -> Callable[[str, int], Awaitable[Sequence[str]]]:
    async def resolve(host: str, port: int) -> Sequence[str]:
        del port
        if host not in names:
            raise NameUnresolved(f"{host} has no address")
        return names[host]

    return resolve


def visitor(
    *servers: HttpServer,
    names: Mapping[str, Sequence[str]] | None = None,
    ports: Sequence[int] = (),
    limits: Limits = QUICK,
    resolve: Callable[[str, int], Awaitable[Sequence[str]]] | None = None,
    tls: ssl.SSLContext | None = None,
) -> PageFetcher:
    """A visitor that may read the given servers, and no other private address; `ports` are open, addresses are not."""
    allow = AllowList(
        ports=frozenset({80, 443, *ports}),
        endpoints=frozenset((host, server.port) for server in servers for host in ("127.0.0.1", *(names or {}))),
    )
    return PageFetcher(SystemClock(), allow=allow, limits=limits, resolve=resolve or resolver(names or {}), tls=tls)


async def fetch(at: PageFetcher, url: str) -> PageReply:
    return await at.fetch_page(url, lambda head: BOUNDS if head.status == 200 else None)


async def outcome(at: PageFetcher, url: str) -> str:
    try:
        await fetch(at, url)
    except ReadError as error:
        return error.outcome
    return "read"


async def redirecting(request: Request) -> Response:
    """A server whose path `/to?url=…&hops=N` redirects, and `/page` does not; robots.txt allows all."""
    parts = urlsplit(request.path)
    asked = {name: values[0] for name, values in parse_qs(parts.query).items()}
    if parts.path == "/page":
        return Response(200, b"<p>page</p>", "text/html")
    if parts.path != "/to":
        return Response(404)
    return Response(302, headers={"location": asked["url"].encode().decode("latin-1")})


@contextlib.asynccontextmanager
async def raw_server(answer: bytes | Callable[[asyncio.StreamWriter], Awaitable[None]]) -> AsyncIterator[int]:
    """A server that reads a request and then writes exactly these bytes; robots.txt gets a 404."""

    opened: set[asyncio.StreamWriter] = set()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        opened.add(writer)
        with contextlib.suppress(ConnectionError):
            head = await reader.read(65_536)
            if b"/robots.txt" in head:
                writer.write(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n")
            elif callable(answer):
                await answer(writer)
            else:
                writer.write(answer)
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for writer in opened:
            writer.transport.abort()
        await server.wait_closed()


class VirtualClock:
    """Time that jumps to the next sleeper as soon as nothing else can go on."""

    def __init__(self) -> None:
        self.time = 0.0
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._numbers = itertools.count()

    def now(self) -> float:
        return self.time

    def utc_time(self) -> str:
        return "2026-01-01T00:00:00+00:00"

    async def sleep(self, seconds: float) -> None:
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self.time + seconds, next(self._numbers), done))
        await done

    async def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        task = asyncio.ensure_future(work)
        while not task.done():
            for _ in range(30):
                await asyncio.sleep(0)
            if self._sleepers:
                self.time, _, sleeper = heapq.heappop(self._sleepers)
                if not sleeper.done():
                    sleeper.set_result(None)
        return task.result()
