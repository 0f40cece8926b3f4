"""The OpenAI-compatible embedder against a real server on loopback."""

from __future__ import annotations

import asyncio
import contextlib
import json

import pytest

from corrobora.adapters.embedders.openai_compatible import OpenAICompatibleEmbedder
from corrobora.domain.errors import ProviderError


def good(body):
    rows = [{"index": at, "embedding": [len(text), 1.0, 0.0]} for at, text in enumerate(body["input"])]
    return 200, {"data": rows[::-1]}


@contextlib.asynccontextmanager
async def serving(answer, seen=None):
    async def handle(reader, writer):
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        size = int(next(line for line in head.lower().split("\r\n") if line.startswith("content-length")).split(":")[1])
        body = json.loads(await reader.readexactly(size))
        if seen is not None:
            seen.append((head, body))
        status, reply = answer(body)
        data = reply if isinstance(reply, bytes) else json.dumps(reply).encode()
        writer.write(f"HTTP/1.1 {status} X\r\nContent-Length: {len(data)}\r\nConnection: close\r\n\r\n".encode() + data)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"


async def test_vectors_come_in_order_at_unit_length_in_batches():
    seen = []
    async with serving(good, seen) as url:
        embedder = OpenAICompatibleEmbedder(url, "m", key="k")
        assert embedder.dimensions == 0
        vectors = await embedder.embed(["a" * (at + 1) for at in range(70)])
    assert embedder.dimensions == 3
    assert [round(vector[0] / vector[1]) for vector in vectors] == list(range(1, 71))
    assert [len(body["input"]) for _, body in seen] == [64, 6]
    assert "post /v1/embeddings" in seen[0][0].lower()
    assert "authorization: bearer k" in seen[0][0].lower()


@pytest.mark.parametrize(
    ("answer", "code", "retryable"),
    [
        ((401, {}), "provider_refused", False),
        ((429, {}), "provider_failed", True),
        ((500, {}), "provider_failed", True),
        ((200, b"not json"), "provider_bad_content", False),
        ((200, {"data": "x"}), "provider_bad_content", False),
        ((200, {"data": []}), "provider_bad_content", False),
        ((200, {"data": [{"index": 0, "embedding": [0, 0]}]}), "provider_bad_content", False),
        ((200, {"data": [{"index": 0, "embedding": ["x"]}]}), "provider_bad_content", False),
    ],
)
async def test_a_bad_answer_is_never_taken_for_vectors(answer, code, retryable):
    async with serving(lambda _: answer) as url:
        with pytest.raises(ProviderError) as caught:
            await OpenAICompatibleEmbedder(url, "m").embed(["a"])
    assert (caught.value.code, caught.value.retryable) == (code, retryable)


async def test_another_number_of_dimensions_than_before_is_refused():
    sizes = iter((3, 4))
    async with serving(lambda _: (200, {"data": [{"index": 0, "embedding": [1.0] * next(sizes)}]})) as url:
        embedder = OpenAICompatibleEmbedder(url, "m")
        await embedder.embed(["a"])
        with pytest.raises(ProviderError, match="does not have 3 dimensions"):
            await embedder.embed(["a"])


async def test_no_server_is_a_retryable_failure():
    async with serving(good) as url:
        pass
    with pytest.raises(ProviderError) as caught:
        await OpenAICompatibleEmbedder(url, "m").embed(["a"])
    assert caught.value.retryable
