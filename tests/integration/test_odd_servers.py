"""A model's address that now and then answers what no model answers: a good report all the same, and an exact bill."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from bench.model_server.server import ModelServer
from tests.integration.harness import good, open_harness
from tests.integration.test_faults import QUICK, SLOW, quick

from corrobora.testing.http_server import HttpServer, Request, Response, gzip_bomb

EVERY = 3  # of so many requests one meets the fault
_TEXT = re.compile(rb'"(content|text)": ("(?:[^"\\\\]|\\\\.)+")')
_END = re.compile(rb'"(finish_reason|stop_reason)": "\w+"')
_BILL = re.compile(rb'(_tokens": )\d+')


async def gather_parts(answer: Response) -> list[bytes]:
    return [answer.body] if answer.parts is None else [part async for part in answer.parts]


def stream(*parts: bytes, then: bytes = b"") -> Response:
    """A stream that goes on with the same bytes for ever, or is silent for ever without any."""

    async def send() -> AsyncIterator[bytes]:
        for part in parts:
            yield part
        while then:
            yield then
            await asyncio.sleep(0.01)
        await asyncio.Event().wait()

    return Response(parts=send(), content_type="text/event-stream")


def wait_until(when: datetime) -> Response:
    return Response(429, b"{}", headers={"retry-after": format_datetime(when, usegmt=True)})


PAGE = b"<!doctype html><html><title>Sign in</title><p>Please sign in.</p></html>"
INSTEAD: dict[str, Callable[[str], Response]] = {
    "a web page": lambda _: Response(200, PAGE, "text/html"),
    "a web page of a gateway": lambda _: Response(502, PAGE, "text/html"),
    "an error with status 200": lambda _: Response(200, b'{"error": {"message": "upstream failed", "code": 502}}'),
    "another shape": lambda _: Response(200, b'{"ok": true, "data": []}'),
    "nothing": lambda _: Response(204),
    "nesting": lambda _: Response(200, b"[" * 100_000 + b"]" * 100_000),
    "busy until a date": lambda _: wait_until(datetime.now(UTC) + timedelta(seconds=1.5)),
    "busy until a date long ago": lambda _: wait_until(datetime(1999, 1, 1, tzinfo=UTC)),
    "a packed answer": lambda _: Response(200, gzip_bomb(64), headers={"content-encoding": "gzip"}),
    "pings for ever": lambda _: stream(then=b": ping\n\n"),
    "silence after the head": lambda _: stream(b"\n"),
}
CHANGED: dict[str, Callable[[list[bytes]], Response]] = {
    "silence in the middle": lambda parts: stream(*parts[: len(parts) // 2]),
    "one event for ever": lambda parts: stream(*parts[:2], then=parts[len(parts) // 2]),
    "every event twice": lambda parts: stream_whole([each for part in parts for each in (part, part)]),
    "text in parts": lambda parts: stream_whole(
        [_TEXT.sub(rb'"\1": [{"type": "thinking", "thinking": []}, {"type": "text", "text": \2}]', p) for p in parts]
    ),
    "an end that is no word": lambda parts: stream_whole([_END.sub(rb'"\1": {"word": "stop"}', p) for p in parts]),
    "two answers": lambda parts: stream_whole(
        [each for p in parts for each in (p, p.replace(b'"index": 0', b'"index": 1'))]
    ),
    "no end": lambda parts: stream_whole(parts[:-2]),
    "another model": lambda parts: stream_whole([re.sub(rb'("model": )"[^"]*"', rb'\1"another"', p) for p in parts]),
    "a bill that cannot be true": lambda parts: stream_whole([_BILL.sub(rb"\g<1>900000000000000", p) for p in parts]),
}


def stream_whole(parts: list[bytes]) -> Response:
    async def send() -> AsyncIterator[bytes]:
        for part in parts:
            yield part

    return Response(parts=send(), content_type="text/event-stream")


class OddServer(ModelServer):
    """A model server that has a fault at every third request."""

    instead: Callable[[str], Response] | None = None
    change: Callable[[list[bytes]], Response] = staticmethod(stream_whole)
    odd = 0

    async def _respond(self, request: Request) -> Response:
        if request.method != "POST" or (self.received + 1) % EVERY:
            return await super()._respond(request)
        self.odd += 1
        if self.instead is not None:
            self.received += 1
            return self.instead(request.path)
        return self.change(await gather_parts(await super()._respond(request)))


@pytest.mark.parametrize("protocol", ["openai", pytest.param("anthropic", marks=SLOW)])
@pytest.mark.parametrize("row", quick("a web page", "every event twice", "text in parts", of=[*INSTEAD, *CHANGED]))
async def test_what_no_model_answers_costs_no_report_and_is_billed(database_url: str, row: str, protocol: str):
    server = OddServer(latency=QUICK)
    server.instead, server.change = INSTEAD.get(row), CHANGED.get(row, stream_whole)
    async with server, open_harness(database_url, settings={"ANTHROPIC_API_KEY": "sk-test"}) as harness:
        found = await harness.run(server, "timed", protocol=protocol, overrides=(("minutes", "0.25"),))
        await good(found, harness)
    assert found.report is not None
    usage = found.report.methodology.usage
    assert server.odd
    assert usage.calls + usage.refused == server.received
    assert usage.input_tokens + usage.output_tokens < 1_000_000
    assert "scripted-large" in found.report.methodology.analyst, "some calls were answered by the model"


@pytest.mark.parametrize("protocol", ["openai", pytest.param("anthropic", marks=SLOW)])
async def test_no_prompt_and_no_key_follow_a_redirect_to_another_address(database_url: str, protocol: str):
    async def receive(request: Request) -> Response:
        asked.append(request)
        return Response(200)

    asked: list[Request] = []
    server = OddServer(latency=QUICK)
    async with HttpServer(receive) as other:
        server.instead = lambda path: Response(307, headers={"location": f"{other.url}{path}"})
        async with server, open_harness(database_url, settings={"ANTHROPIC_API_KEY": "sk-test"}) as harness:
            found = await harness.run(server, "timed", protocol=protocol)
            await good(found, harness)
    assert server.odd
    assert not asked
