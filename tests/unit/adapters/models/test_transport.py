"""HTTP to model endpoints: bounded answers, kept connections, streams, and one family of errors whatever goes wrong."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import ssl
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corrobora.adapters.models.framing import (
    BrokenAnswerError,
    ChunkDecoder,
    IdleTimeoutError,
    OversizedAnswerError,
    RejectedError,
    TransportError,
    UnreachableError,
)
from corrobora.adapters.models.transport import HttpEndpoint
from corrobora.domain.limits import CallOptions
from corrobora.testing.http_server import HttpServer, Request, Response

Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@contextlib.asynccontextmanager
async def talking(talk: Talk) -> AsyncIterator[str]:
    """Serve connections in this way; give the address."""
    talks: list[asyncio.Task[None]] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        talks.append(asyncio.current_task())  # type: ignore[arg-type] - there is one
        try:
            with contextlib.suppress(ConnectionError, EOFError, asyncio.LimitOverrunError):
                await talk(reader, writer)
        finally:
            writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        for each in talks:
            each.cancel()
        await asyncio.gather(*talks, return_exceptions=True)


def says(answer: bytes) -> Talk:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        await writer.drain()

    return talk


async def fetch(url: str, *, limit: int = 1_000_000, idle_seconds: float = 5.0) -> bytes:
    endpoint = HttpEndpoint(url, options=CallOptions(idle_seconds=idle_seconds))
    try:
        async with endpoint.request("POST", "/", b"{}") as answer:
            return await answer.read_body(limit)
    finally:
        await endpoint.aclose()


async def events(url: str) -> list[bytes]:
    endpoint = HttpEndpoint(url)
    try:
        async with endpoint.request("POST", "/", b"{}") as answer:
            return [event async for event in answer.read_events()]
    finally:
        await endpoint.aclose()


@pytest.mark.parametrize(
    "head", [b"content-length: 1000\r\n\r\n", b"\r\n", b"transfer-encoding: chunked\r\n\r\n3e8\r\n"]
)
async def test_an_answer_up_to_the_limit_is_read_and_a_longer_one_is_not(head: bytes):
    end = b"\r\n0\r\n\r\n" if b"chunked" in head else b""
    async with talking(says(b"HTTP/1.1 200 OK\r\n" + head + b"x" * 1_000 + end)) as url:
        assert await fetch(url, limit=1_020) == b"x" * 1_000
        with pytest.raises(OversizedAnswerError):
            await fetch(url, limit=999)


@pytest.mark.parametrize("head", [b"", b"content-type: text/plain\r\n", b"content-type: application/x-ndjson\r\n"])
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
async def test_a_stream_of_events_is_read_whatever_the_server_calls_it(head: bytes, end: bytes):
    body = b": hello\n\nevent: x\ndata:{}\n\ndata: []".replace(b"\n", end)
    answer = b"HTTP/1.1 200 OK\r\n%bcontent-length: %d\r\n\r\n" % (head, len(body))
    async with talking(says(answer + body)) as url:
        assert await events(url) == [b"{}", b"[]"]


@pytest.mark.parametrize(("coding", "pack"), [("gzip", gzip.compress), ("deflate", zlib.compress)])
async def test_a_packed_answer_is_read_within_its_limit(coding: str, pack: Callable[[bytes], bytes]):
    body = pack(b"data: {}\n\n" + b" " * 9_000 + b"\ndata: []\n\n")
    head = f"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-encoding: {coding}\r\n"
    answer = f"{head}content-length: {len(body)}\r\n\r\n".encode()
    async with talking(says(answer + body)) as url:
        assert await events(url) == [b"{}", b"[]"]
        with pytest.raises(OversizedAnswerError):
            await fetch(url, limit=1_000)


@pytest.mark.parametrize("coding", ["br", "zstd", "gzip, br", "gzip", "deflate"])
async def test_a_coding_that_is_not_read_or_not_there_is_named(coding: str):
    answer = f"HTTP/1.1 200 OK\r\ncontent-encoding: {coding}\r\ncontent-length: 4\r\n\r\nnope"
    async with talking(says(answer.encode())) as url:
        with pytest.raises(BrokenAnswerError, match=coding):
            await fetch(url)


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"SMTP ready\r\n\r\n",
        b"HTTP/1.1 twohundred OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf",
        b"HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhello\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n" + b"0" * 500,
        b"HTTP/1.1 200 OK\r\nx: " + b"x" * 300_000 + b"\r\n\r\n",
    ],
    ids=[
        "cut at once",
        "no HTTP",
        "no status",
        "cut body",
        "negative length",
        "broken chunk",
        "cut chunks",
        "wrong chunk",
        "endless size",
        "endless header",
    ],
)
async def test_a_broken_answer_is_told_from_an_empty_one(answer: bytes):
    async with talking(says(answer)) as url:
        with pytest.raises(BrokenAnswerError):
            await fetch(url)


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\ncontent-length: 2\n\nok",
        b"HTTP/1.1 200\r\ncontent-length: 2\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\nx: " + b"x" * 100_000 + b"\r\ncontent-length: 2\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\n" + b"x: x\r\n" * 20_000 + b"content-length: 2\r\n\r\nok",
    ],
    ids=["line feeds alone", "no reason", "a long header", "many headers"],
)
async def test_an_odd_head_is_read(answer: bytes):
    async with talking(says(answer)) as url:
        assert await fetch(url) == b"ok"


@pytest.mark.parametrize("length", [b"2", b"2, 2"])
async def test_more_than_an_answer_says_is_not_waited_for_and_its_connection_not_used_again(length: bytes):
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: " + length + b"\r\n\r\nok and more")
        await asyncio.sleep(30)

    async with talking(talk) as url:
        endpoint = HttpEndpoint(url)
        for _ in range(2):
            async with asyncio.timeout(5), endpoint.request("POST", "/", b"{}") as answer:
                assert await answer.read_body() == b"ok"
        await endpoint.aclose()


class OneEvent:
    """A `StreamedAnswer` of one event."""

    size = 0
    finished = False

    def add_event(self, event: bytes) -> None:
        self.finished = True

    def make_completion(self) -> bool:
        return self.finished


@pytest.mark.parametrize("goes", [True, False])
async def test_what_follows_a_whole_stream_is_not_waited_for(goes: bool):
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
        writer.write(b"a\r\ndata: {}\n\n\r\n")
        await writer.drain()
        if not goes:
            await asyncio.sleep(30)

    async with talking(talk) as url:
        endpoint = HttpEndpoint(url)
        async with asyncio.timeout(10):
            assert await endpoint.post_for_answer("/", {"stream": True}, lambda _: OneEvent())
        await endpoint.aclose()


async def test_interim_answers_are_skipped():
    interim = b"HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n"
    async with talking(says(interim + b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")) as url:
        assert await fetch(url) == b"ok"


async def test_a_silent_server_is_a_timeout_before_and_within_the_body():
    async def waits(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf")
        await asyncio.sleep(30)

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(30)

    for talk in (silent, waits):
        async with talking(talk) as url:
            with pytest.raises(IdleTimeoutError):
                await fetch(url, idle_seconds=0.05)


async def test_a_port_where_nobody_listens_is_unreachable():
    async with HttpServer(lambda _: asyncio.sleep(0, Response())) as server:
        closed = server.url
    with pytest.raises(UnreachableError) as raised:
        await fetch(closed)
    assert not raised.value.reached


async def test_a_server_without_tls_is_no_secure_connection():
    async def talk(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    async with talking(talk) as url:
        with pytest.raises(UnreachableError, match="secure") as raised:
            await fetch(url.replace("http:", "https:"))
        assert isinstance(raised.value.__cause__, ssl.SSLError)


async def test_this_machine_is_reached_without_a_proxy_and_no_redirect_is_followed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    asked: list[str] = []

    async def respond(request: Request) -> Response:
        asked.append(request.path)
        return Response(302, headers={"location": "/elsewhere"})

    async with HttpServer(respond) as server:
        with pytest.raises(RejectedError) as raised:
            await events(f"{server.url}/here")
    assert (asked, raised.value.status) == (["/here/"], 302)


async def test_a_connection_is_kept_for_the_next_request_and_many_may_be_open_at_once():
    opened: list[int] = []
    waiting = asyncio.Barrier(20)

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        opened.append(1)
        while head := await reader.read(4_000):
            if b"/together" in head:  # answered only once all have come
                await waiting.wait()
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")

    async with talking(talk) as url:
        endpoint = HttpEndpoint(url)

        async def get(path: str) -> bytes:
            async with endpoint.request("GET", path) as answer:
                return await answer.read_body()

        for _ in range(3):
            assert await get("/") == b"{}"
        assert len(opened) == 1
        assert await asyncio.gather(*(get("/together") for _ in range(20))) == [b"{}"] * 20
        assert len(opened) == 20
        await endpoint.aclose()


async def test_a_connection_that_the_server_has_closed_is_not_used_again():
    async with talking(says(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")) as url:
        endpoint = HttpEndpoint(url)
        for _ in range(3):
            async with endpoint.request("GET", "/") as answer:
                assert await answer.read_body() == b"{}"
            await asyncio.sleep(0.02)
        await endpoint.aclose()


async def test_an_answer_that_was_left_early_closes_its_connection():
    ended = asyncio.Event()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\ndata: a\n\n")
        await reader.read()
        ended.set()

    async with talking(talk) as url:
        async with HttpEndpoint(url).request("GET", "/") as answer:
            async for event in answer.read_events():
                assert event == b"a"
                break
        await asyncio.wait_for(ended.wait(), 5)


async def test_only_the_headers_that_were_given_are_sent():
    seen: list[Request] = []

    async def respond(request: Request) -> Response:
        seen.append(request)
        return Response(headers={"set-cookie": "a=b"})

    async with HttpServer(respond) as server:
        endpoint = HttpEndpoint(f"{server.url}/v1/", {"x-mark": "1"})
        for _ in range(2):
            async with endpoint.request("POST", "/path", b"{}") as answer:
                await answer.read_body()
        await endpoint.aclose()
    assert [set(request.headers) for request in seen] == [{"host", "accept-encoding", "x-mark", "content-length"}] * 2
    assert {request.path for request in seen} == {"/v1/path"}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"data: a\n\ndata:b\n\n", [b"a", b"b"]),
        (b": ping\r\n\r\nevent: x\r\nid: 1\r\ndata: a\r\ndata: b\r\n\r\n", [b"a\nb"]),
        (b"data: a\n\ndata: last", [b"a", b"last"]),
        (b"", []),
    ],
)
async def test_events_are_read_whatever_their_line_ends(body: bytes, expected: list[bytes]):
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n\r\n"
    async with talking(says(head + body)) as url:
        assert await events(url) == expected


async def test_a_body_that_is_no_stream_is_one_event_and_an_error_says_its_status():
    async with talking(says(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")) as url:
        assert await events(url) == [b"{}"]
    async with talking(says(b"HTTP/1.1 429 Slow\r\nretry-after: 3\r\ncontent-length: 2\r\n\r\nno")) as url:
        with pytest.raises(RejectedError) as raised:
            await events(url)
    error = raised.value
    assert (error.status, error.headers["retry-after"], error.body) == (429, "3", b"no")


async def test_a_slow_stream_is_read_in_few_steps_and_loses_nothing():
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
        for number in range(100):
            event = b"data: %d\n\n" % number
            writer.write(b"%x\r\n%b\r\n" % (len(event), event))
            await asyncio.sleep(0.003)
        writer.write(b"0\r\n\r\n")
        await writer.drain()

    parts, began = 0, asyncio.get_running_loop().time()
    async with talking(talk) as url:
        endpoint = HttpEndpoint(url)
        async with endpoint.request("GET", "/") as answer:
            found = b""
            async for part in answer.read_parts(100_000):
                parts += 1
                found += part
        await endpoint.aclose()
    assert found == b"".join(b"data: %d\n\n" % number for number in range(100))
    pauses = (asyncio.get_running_loop().time() - began) / 0.05
    assert parts <= 10 + pauses, "after the first ones, each step waits for what comes in a pause"


@given(st.lists(st.binary(min_size=1, max_size=50), max_size=8), st.integers(1, 30))
def test_chunks_are_decoded_however_they_are_cut(chunks: list[bytes], cut: int):
    wire = b"".join(b"%x;x=1\r\n%b\r\n" % (len(each), each) for each in chunks) + b"0\r\ntrailer: x\r\n\r\n"
    decoder = ChunkDecoder()
    parts = [decoder.decode(wire[at : at + cut]) for at in range(0, len(wire), cut)]
    assert b"".join(parts) == b"".join(chunks)
    assert decoder.finished


def test_every_failure_is_a_transport_error():
    kinds = (UnreachableError, IdleTimeoutError, BrokenAnswerError, OversizedAnswerError, RejectedError)
    assert all(issubclass(kind, TransportError) for kind in kinds)
