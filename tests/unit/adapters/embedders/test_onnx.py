"""The ONNX embedder over a tiny model folder, its graph written byte by byte."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest

from corrobora.adapters.embedders.onnx import MAX_TOKENS, OnnxEmbedder
from corrobora.domain.errors import UserError

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
