"""Bodies: read and unpacked within bounds, whatever the sender packs."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import AsyncIterator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corrobora.adapters.http import BadEncoding, BodyTooLarge, TruncatedBody, load_json, read_body
from corrobora.testing.http_server import gzip_bomb

LIMIT = 10_000_000


async def _chunks(parts: Sequence[bytes]) -> AsyncIterator[bytes]:
    for part in parts:
        yield part


async def _read(*parts: bytes, coding: str = "", wire: int = 5_000_000, decoded: int = LIMIT, truncate: bool = False):
    return await read_body(_chunks(parts), coding, wire=wire, decoded=decoded, truncate=truncate)


@given(data=st.binary(max_size=3_000), cuts=st.integers(1, 40), members=st.integers(1, 3))
async def test_gzip_comes_out_as_it_went_in(data: bytes, cuts: int, members: int):
    packed = gzip.compress(data) * members
    parts = [packed[at : at + cuts] for at in range(0, len(packed), cuts)]
    assert (await _read(*parts, coding="gzip")).data == data * members


@pytest.mark.parametrize("coding", ["", "identity", " Identity ", "GZIP", "x-gzip"])
async def test_known_codings(coding: str):
    data = b"text" if "zip" not in coding.lower() else gzip.compress(b"text")
    assert (await _read(data, coding=coding)).data == b"text"


@pytest.mark.parametrize(
    "coding",
    ["br", "zstd", "compress", "gzip, gzip, gzip, gzip", "gzip,br", "br, gzip", "x" * 5_000, "gzip;q=1", "*"],
)
async def test_h10_at_most_three_codings_and_only_gzip_or_deflate(coding: str):
    with pytest.raises(BadEncoding):
        await _read(gzip.compress(b"x"), coding=coding)


async def test_h09_a_bomb_stops_at_the_bound_whatever_the_chunks():
    packed = gzip_bomb(200)
    assert len(packed) < 500_000
    for size in (len(packed), 1_000, 7):
        with pytest.raises(BodyTooLarge) as caught:
            await _read(*[packed[at : at + size] for at in range(0, min(len(packed), 40_000), size)], coding="gzip")
        assert caught.value.what == "decoded"


@pytest.mark.parametrize("bits", [zlib.MAX_WBITS, -zlib.MAX_WBITS], ids=["in the frame of zlib", "bare"])
@pytest.mark.parametrize("size", [1, 7, 100_000])
async def test_deflate_is_read_with_and_without_a_frame(bits: int, size: int):
    packer = zlib.compressobj(wbits=bits)
    packed = packer.compress(b"text " * 10_000) + packer.flush()
    parts = [packed[at : at + size] for at in range(0, len(packed), size)]
    assert (await _read(*parts, b"\x1f\x8b and more", coding="deflate")).data == b"text " * 10_000
    with pytest.raises(TruncatedBody):
        await _read(packed[:-8], coding="deflate")
    with pytest.raises(BodyTooLarge):
        await _read(*parts, coding="deflate", decoded=10_000)


def test_json_is_read_with_a_mark_bytes_of_another_charset_and_endless_numbers():
    assert load_json(b'\xef\xbb\xbf{"a": 1}') == load_json('{"a": 1}'.encode("utf-16")) == {"a": 1}
    assert load_json(b'{"a": "caf\xe9"}') == {"a": "caf\ufffd"}
    assert load_json(b'{"a": 7, "b": %b}' % (b"9" * 5_000)) == {"a": 7, "b": float("inf")}
    for wrong in (b"", b"{", b"<html>", b"\xff", b"9" * 5_000 + b"{"):
        with pytest.raises(ValueError):  # noqa: PT011 - what `json` raises
            load_json(wrong)


@pytest.mark.parametrize("size", [1, 100_000])
async def test_what_was_packed_several_times_is_unpacked_in_turn_within_the_bound(size: int):
    packed = gzip.compress(zlib.compress(b"text " * 10_000))
    parts = [packed[at : at + size] for at in range(0, len(packed), size)]
    assert (await _read(*parts, coding="deflate, Gzip")).data == b"text " * 10_000
    with pytest.raises(BadEncoding):
        await _read(*parts, coding="gzip, deflate")
    with pytest.raises(TruncatedBody):
        await _read(gzip.compress(zlib.compress(b"text")[:-3]), coding="deflate, gzip")
    for bomb in (gzip.compress(gzip_bomb(20)), gzip.compress(gzip.compress(b"x") + bytes(LIMIT + 1))):
        for truncate in (False, True):
            with pytest.raises(BodyTooLarge):
                await _read(bomb, coding="gzip, gzip", truncate=truncate)


async def test_h09_gzip_in_gzip_is_read_once_only():
    inner = gzip.compress(bytes(1_000_000))
    assert (await _read(gzip.compress(inner), coding="gzip")).data == inner


async def test_the_bounds_are_exact():
    packed = gzip.compress(b"x" * 1_000)
    assert len((await _read(packed, coding="gzip", decoded=1_000)).data) == 1_000
    with pytest.raises(BodyTooLarge):
        await _read(packed, coding="gzip", decoded=999)
    assert not (await _read(b"x" * 10, wire=10)).truncated
    with pytest.raises(BodyTooLarge):
        await _read(b"x" * 11, wire=10)
    with pytest.raises(BodyTooLarge):
        await _read(b"x" * 11, decoded=10)


async def test_h06_a_long_wire_may_be_cut_and_says_so():
    found = await _read(b"abc", b"def", b"ghi", wire=5, truncate=True)
    assert (found.data, found.truncated) == (b"abcde", True)


async def test_s17_an_early_end_is_told_from_damage():
    packed = gzip.compress(b"text" * 1_000)
    for end in (1, 5, 12, len(packed) - 1):
        with pytest.raises(TruncatedBody):
            await _read(packed[:end], coding="gzip")
    with pytest.raises(BadEncoding):
        await _read(packed[:20] + b"\xff" * 30, coding="gzip")
    with pytest.raises(BadEncoding):
        await _read(b"<html>", coding="gzip")
    assert (await _read(coding="gzip")).data == b""


async def test_what_follows_the_last_member_is_ignored():
    assert (await _read(gzip.compress(b"x") + b"\0" * 50, b"more", coding="gzip")).data == b"x"


async def test_thousands_of_empty_members_are_no_way_to_keep_us_busy():
    with pytest.raises(BadEncoding, match="members"):
        await _read(gzip.compress(b"") * 100_000, coding="gzip")


async def test_raw_deflate_is_not_gzip():
    with pytest.raises(BadEncoding):
        await _read(zlib.compress(b"x"), coding="gzip")
