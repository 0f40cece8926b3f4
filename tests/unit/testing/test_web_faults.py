"""Faults: each can be asked for, and the bomb is one."""

from __future__ import annotations

import zlib

import pytest

from corrobora.testing.http_server import API_FAULTS, PAGE_FAULTS, Request, Response, api_answer, gzip_bomb, page_answer


@pytest.mark.parametrize("fault", [name for name in PAGE_FAULTS if name != "hang"])
async def test_each_page_fault_answers_the_same_each_time(fault: str):
    request = Request("GET", "/x", {}, b"")
    first, second = await page_answer(fault, request), await page_answer(fault, request)
    assert isinstance(first, Response)
    assert (first.status, first.body, first.headers) == (second.status, second.body, second.headers)


@pytest.mark.parametrize("fault", [name for name in API_FAULTS if name != "hang"])
async def test_each_search_fault_answers(fault: str):
    assert isinstance(await api_answer(fault), Response)


def test_the_bomb_is_small_and_unpacks_to_what_it_says():
    packed = gzip_bomb(64)
    assert len(packed) < 100_000
    unpacker = zlib.decompressobj(16 + zlib.MAX_WBITS)
    assert (
        sum(len(unpacker.decompress(packed[at : at + 4_096])) for at in range(0, len(packed) - 4_096, 4_096))
        > 60_000_000
    )
