"""The transport to model endpoints: bounded answers, kept connections, and the errors of httpx2 whatever goes wrong."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import zlib
from collections.abc import Awaitable, Callable

import httpx2
import pytest

from corrobora.adapters.models.client import model_client
from corrobora.adapters.models.transport import TooLarge
from corrobora.testing.http_server import HttpServer, Request, Response


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


Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


async def failure(talk: Talk, *, idle_seconds: float = 30.0) -> httpx2.RequestError:
    """Post to a server that talks in this way; return what the client raised."""

    done = asyncio.Event()

    async def held(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        await talk(reader, writer)
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()
        done.set()

    server = await asyncio.start_server(held, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    try:
        async with model_client(idle_seconds=idle_seconds) as client:
            with pytest.raises(httpx2.RequestError) as caught:
                await client.post(f"http://127.0.0.1:{port}/", content=b"{}")
            return caught.value
    finally:
        await done.wait()
        server.close()


def says(answer: bytes) -> Talk:
    async def talk(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(answer)
        await writer.drain()

    return talk


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"SMTP ready\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nx: " + b"x" * 100_000 + b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 4\r\n\r\nnope",
    ],
    ids=["cut at once", "no HTTP", "cut body", "broken chunk", "endless header", "no gzip"],
)
async def test_a_broken_answer_is_a_protocol_error(answer: bytes):
    assert isinstance(await failure(says(answer)), httpx2.RemoteProtocolError | httpx2.DecodingError)


async def test_a_silent_server_is_a_read_timeout_before_and_within_the_body():
    async def waits(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf")
        await reader.read(100)
        await reader.read(100)

    async def silent(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        await reader.read(100)
        await reader.read(100)

    for talk in (silent, waits):
        assert isinstance(await failure(talk, idle_seconds=0.05), httpx2.ReadTimeout)


async def test_a_port_where_nobody_listens_is_a_connect_error():
    async with HttpServer(lambda _: asyncio.sleep(0, Response())) as server:
        closed = server.url
    async with model_client() as client:
        with pytest.raises(httpx2.ConnectError):
            await client.post(closed, content=b"{}")


async def test_what_is_no_http_address_is_an_unsupported_protocol():
    async with model_client() as client:
        with pytest.raises(httpx2.UnsupportedProtocol):
            await client.post("ftp://127.0.0.1/", content=b"{}")


async def test_a_connection_is_kept_for_the_next_request_and_many_may_be_open_at_once():
    opened: list[int] = []
    waiting = asyncio.Barrier(20)

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        opened.append(1)
        while head := await reader.read(4_000):
            if b"/together" in head:  # answered only once all have come
                await waiting.wait()
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")
        writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with model_client() as client:
        for _ in range(3):
            assert (await client.get(url)).content == b"{}"
        assert len(opened) == 1
        together = await asyncio.gather(*(client.get(f"{url}/together") for _ in range(20)))
        assert [answer.content for answer in together] == [b"{}"] * 20
        assert len(opened) == 20
    server.close()


async def test_only_the_headers_that_were_given_are_sent_and_no_cookie_comes_back():
    seen: list[Request] = []

    async def respond(request: Request) -> Response:
        seen.append(request)
        return Response(headers={"set-cookie": "a=b"})

    async with HttpServer(respond) as server, model_client() as client:
        transport = client._transport
        for _ in range(2):
            sent = httpx2.Request("POST", server.url, headers={"x-mark": "1"}, content=b"{}")
            await (await transport.handle_async_request(sent)).aread()
    assert [set(request.headers) for request in seen] == [{"host", "x-mark", "content-length"}] * 2
