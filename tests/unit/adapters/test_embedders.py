"""The embedders: unit vectors or an error, the ONNX model over a tiny folder and the endpoint on loopback."""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import struct
from pathlib import Path

import pytest

from corrobora.adapters.embedders import MAX_TOKENS, OnnxEmbedder, OpenAICompatibleEmbedder, normalize_vector
from corrobora.domain.errors import ProviderError, UserError

WORDS = ["[UNK]", "[PAD]", "king", "queen", "river"]
TABLE = [[0.1, 0.1], [9.0, 9.0], [1.0, 0.0], [0.8, 0.6], [0.0, 1.0]]
_FLOAT, _INT64 = 1, 7


def varint(value: int) -> bytes:
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def number(tag: int, value: int) -> bytes:
    return varint(tag << 3) + varint(value)


def part(tag: int, value: bytes | str) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return varint(tag << 3 | 2) + varint(len(data)) + data


def typed(name: str, kind: int, *dims: str) -> bytes:
    shape = b"".join(part(1, part(2, dim)) for dim in dims)
    return part(1, name) + part(2, part(1, number(1, kind) + part(2, shape)))


def model() -> bytes:
    """One node: a vector for each token, looked up in a table."""
    flat = struct.pack(f"<{2 * len(TABLE)}f", *(x for row in TABLE for x in row))
    table = number(1, len(TABLE)) + number(1, 2) + number(2, _FLOAT) + part(8, "table") + part(9, flat)
    node = part(1, "table") + part(1, "input_ids") + part(2, "tokens") + part(4, "Gather")
    graph = part(1, node) + part(2, "g") + part(5, table)
    graph += part(11, typed("input_ids", _INT64, "b", "s")) + part(12, typed("tokens", _FLOAT, "b", "s", "d"))
    return number(1, 8) + part(7, graph) + part(8, part(1, "") + number(2, 13))


def write_model(folder: Path) -> None:
    vocabulary = {word: at for at, word in enumerate(WORDS)}
    (folder / "tokenizer.json").write_text(
        json.dumps(
            {
                "version": "1.0",
                "truncation": None,
                "padding": None,
                "added_tokens": [],
                "normalizer": {"type": "Lowercase"},
                "pre_tokenizer": {"type": "Whitespace"},
                "post_processor": None,
                "decoder": None,
                "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": "[UNK]"},
            }
        )
    )
    (folder / "model.onnx").write_bytes(model())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_model(tmp_path)
    return tmp_path


async def test_a_text_is_the_mean_of_its_tokens_without_the_padding(folder):
    embedder = OnnxEmbedder(folder)
    assert embedder.dimensions == 2
    king, both, river = await embedder.embed(["king", "king river", "river river river river"])
    assert king == pytest.approx((1.0, 0.0))
    assert both == pytest.approx((0.5**0.5, 0.5**0.5))
    assert river == pytest.approx((0.0, 1.0))


async def test_long_texts_are_cut_and_many_are_batched(folder):
    embedder = OnnxEmbedder(folder)
    (cut,) = await embedder.embed(["king " * MAX_TOKENS + "river " * 500])
    assert cut == pytest.approx((1.0, 0.0))
    assert len(await embedder.embed(["queen"] * 70)) == 70


def test_the_name_changes_with_the_model(folder):
    one = OnnxEmbedder(folder).name
    (folder / "model.onnx").write_bytes(model().replace(b"g", b"h", 1))
    assert one.startswith(folder.name)


@pytest.mark.parametrize("broken", ["model.onnx", "tokenizer.json"])
@pytest.mark.parametrize("content", [None, b"", b"nothing of use"])
def test_a_folder_that_is_none_is_told(folder, broken, content):
    (folder / broken).unlink()
    if content is not None:
        (folder / broken).write_bytes(content)
    with pytest.raises(UserError, match="model folder"):
        OnnxEmbedder(folder)


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


def test_a_vector_gets_length_one():
    assert normalize_vector([3.0, 4.0], "x") == pytest.approx((0.6, 0.8))


@pytest.mark.parametrize("vector", [[], [0.0, 0.0], [math.nan, 1.0], [math.inf]])
def test_k11_a_vector_without_direction_is_refused(vector):
    with pytest.raises(ProviderError):
        normalize_vector(vector, "x")
