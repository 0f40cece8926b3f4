"""CPU milliseconds per answer of HTTP clients that might carry model calls: our own transport, httpx2, aiohttp.

A server in another process answers with 61 server-sent events or with one JSON body of the same text. Each client reads
the answer and parses every event. aiohttp is measured where it is installed. Run: python bench/model_transports.py
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
import json
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from importlib import import_module
from typing import Any

from corrobora.adapters.models.transport import HttpEndpoint
from corrobora.testing.http_server import HttpServer, Request, Response

PIECE = "word or two of it 10 "
EVENT = b"data: " + json.dumps({"choices": [{"index": 0, "delta": {"content": PIECE}}]}).encode() + b"\n\n"
WHOLE = json.dumps({"choices": [{"message": {"content": PIECE * 60}, "finish_reason": "stop"}]}).encode()
PATH = "/v1/chat/completions"
HEADERS = {"content-type": "application/json", "authorization": "Bearer none"}
CallRecord = Callable[[bytes], Awaitable[None]]


async def serve(latency: float, gap: float) -> None:
    """Answer for ever; `gap` seconds pass between two events."""

    async def parts() -> AsyncIterator[bytes]:
        for _ in range(60):
            if gap:
                await asyncio.sleep(gap)
            yield EVENT
        yield b"data: [DONE]\n\n"

    async def respond(request: Request) -> Response:
        await asyncio.sleep(latency)
        if b'"stream": true' in request.body:
            return Response(parts=parts(), content_type="text/event-stream")
        return Response(body=WHOLE)

    async with HttpServer(respond) as server:
        print(server.url, flush=True)
        await asyncio.Event().wait()


def parse(rest: bytes, part: bytes) -> bytes:
    """Parse the whole lines of a part; return what is left."""
    *lines, rest = (rest + part).split(b"\n")
    for line in lines:
        if line.startswith(b"data: {"):
            json.loads(line[6:])
    return rest


@asynccontextmanager
async def own(url: str) -> AsyncIterator[CallRecord]:
    endpoint = HttpEndpoint(url, HEADERS)

    async def call(body: bytes) -> None:
        async with endpoint.request("POST", PATH, body) as answer:
            async for event in answer.read_events():
                json.loads(event) if event.startswith(b"{") else None

    yield call
    await endpoint.aclose()


@asynccontextmanager
async def httpx2(url: str) -> AsyncIterator[CallRecord]:
    import httpx2  # noqa: PLC0415 - one client is measured in a process

    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=None)
    async with httpx2.AsyncClient(trust_env=False, limits=limits, timeout=60) as client:

        async def call(body: bytes) -> None:
            async with client.stream("POST", url + PATH, content=body, headers=HEADERS) as answer:
                rest = b""
                async for part in answer.aiter_raw():
                    rest = parse(rest, part)

        yield call


@asynccontextmanager
async def aiohttp(url: str) -> AsyncIterator[CallRecord]:
    aiohttp: Any = import_module("aiohttp")  # measured where it is installed; the project does not need it

    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar()) as session:

        async def call(body: bytes) -> None:
            async with session.post(url + PATH, data=body, headers=HEADERS) as answer:
                rest = b""
                while part := await answer.content.readany():
                    rest = parse(rest, part)

        yield call


CLIENTS = {"own": own, "httpx2": httpx2, "aiohttp": aiohttp}


async def measure(client: str, url: str, callers: int, calls: int, *, stream: bool) -> float:
    """Return CPU milliseconds for each call."""
    body = json.dumps({"stream": stream, "messages": [{"role": "user", "content": "x" * 6_000}]}).encode()
    async with CLIENTS[client](url) as call:

        async def caller(times: int) -> None:
            for _ in range(times):
                await call(body)

        await asyncio.gather(*(caller(2) for _ in range(callers)))
        times = max(1, calls // callers)
        cpu = time.process_time()
        await asyncio.gather(*(caller(times) for _ in range(callers)))
        return 1e3 * (time.process_time() - cpu) / (times * callers)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--serve", type=float, nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--client", choices=CLIENTS, help="measure one only, in this process")
    parser.add_argument("--url")
    parser.add_argument("--calls", type=int, default=400)
    options = parser.parse_args()
    if options.serve:
        asyncio.run(serve(*options.serve))
    elif options.client:
        for stream in (False, True):
            costs = [
                asyncio.run(measure(options.client, options.url, n, options.calls, stream=stream)) for n in (1, 50)
            ]
            what = "streamed" if stream else "whole"
            print(f"{options.client:8} {what:9} N=1 {costs[0]:5.2f}   N=50 {costs[1]:5.2f} CPU ms/call", flush=True)
    else:
        for gap, calls in ((0.0, options.calls), (0.005, 50)):
            print(f"{gap * 1e3:g} ms between two events", flush=True)
            compare(gap, calls)


def compare(gap: float, calls: int) -> None:
    """Measure each client in a process of its own, against one server."""
    command = [sys.executable, __file__, "--serve", "0.02", str(gap)]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        for name in CLIENTS:
            if name == "own" or importlib.util.find_spec(name):
                subprocess.run(
                    [sys.executable, __file__, "--client", name, "--url", url, "--calls", str(calls)], check=True
                )
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    main()
