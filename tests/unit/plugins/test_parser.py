"""The parser of all tests is one process; a test about the process has one of its own."""

from __future__ import annotations

import asyncio

import pytest

from corrobora.adapters.readers.parser import ParserProcess


async def test_a_parser_with_the_usual_limits_reads_in_the_shared_process() -> None:
    async with ParserProcess() as usual, ParserProcess(seconds=5.0) as other:
        for each in (usual, other):
            assert (await each.parse_document(b"Text.", name="a.txt")).text == "Text."
        assert usual._process is None
        assert other._process is not None


async def test_a_reader_that_leaves_lets_the_next_one_read() -> None:
    async with ParserProcess() as usual:
        reading = asyncio.create_task(usual.parse_document(b"<i>a</i>" * 90_000, name="a.html"))
        await asyncio.sleep(0.1)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        assert (await usual.parse_document(b"Text.", name="a.txt")).text == "Text."


@pytest.mark.own_parser
async def test_a_process_of_its_own_ends_with_its_context() -> None:
    async with ParserProcess() as own:
        await own.parse_document(b"Text.", name="a.txt")
        process = own._process
        assert process is not None
    assert process.returncode is not None
