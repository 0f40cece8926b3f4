"""The HTTP client for model endpoints: bounded, without proxies, without redirects."""

from __future__ import annotations

import asyncio
import gzip
import zlib

import httpx2
import pytest

from corrobora.adapters.models.client import SpreadTransport, TooLarge, model_client
from corrobora.testing.http import HttpServer, Request, Response


async def fetched(body: bytes, *, limit: int, **headers: str) -> bytes:
    async def respond(_request: Request) -> Response:
        return Response(body=body, headers={key.replace("_", "-"): value for key, value in headers.items()})

    async with HttpServer(respond) as server, model_client(limit=limit) as client:
        return (await client.get(server.url)).content


async def test_an_answer_up_to_the_limit_is_read_and_one_byte_more_is_not():
    assert await fetched(b"x" * 1_000, limit=1_000) == b"x" * 1_000
    with pytest.raises(TooLarge):
        await fetched(b"x" * 1_001, limit=1_000)


@pytest.mark.parametrize(("coding", "pack"), [("gzip", gzip.compress), ("deflate", zlib.compress)])
async def test_a_packed_answer_is_bounded_after_unpacking(coding: str, pack):
    assert await fetched(pack(b"x" * 1_000), limit=1_000, content_encoding=coding) == b"x" * 1_000
    bomb = pack(b"\0" * 50_000_000)
    assert len(bomb) < 100_000
    with pytest.raises(TooLarge):
        await fetched(bomb, limit=1_000_000, content_encoding=coding)


async def test_a_coding_that_was_not_asked_for_is_refused():
    with pytest.raises(httpx2.RemoteProtocolError, match="br"):
        await fetched(b"x", limit=10, content_encoding="br")


async def test_proxies_of_the_environment_and_redirects_are_ignored(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    asked: list[str] = []

    async def respond(request: Request) -> Response:
        asked.append(request.path)
        return Response(302, headers={"location": "/elsewhere"})

    async with HttpServer(respond) as server, model_client() as client:
        assert (await client.get(f"{server.url}/here")).status_code == 302
    assert asked == ["/here"]


class Counting(httpx2.AsyncBaseTransport):
    """Counts what it sends and the most at once."""

    def __init__(self) -> None:
        self.busy = self.most = self.sent = 0

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self.busy += 1
        self.sent += 1
        self.most = max(self.most, self.busy)
        await asyncio.sleep(0.01)
        self.busy -= 1
        return httpx2.Response(200)


async def test_many_requests_at_once_are_spread_over_pools_and_few_share_one():
    parts = [Counting() for _ in range(4)]
    spread = SpreadTransport(parts)
    request = httpx2.Request("GET", "http://127.0.0.1/")
    await asyncio.gather(*(spread.handle_async_request(request) for _ in range(10)))
    assert [part.sent for part in parts] == [4, 4, 2, 0]
    await asyncio.gather(*(spread.handle_async_request(request) for _ in range(100)))
    assert sorted(part.most for part in parts) == [25, 25, 25, 25]
    await spread.handle_async_request(request)
    assert [part.busy for part in parts] == [0, 0, 0, 0]
