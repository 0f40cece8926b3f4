"""The parser child: limits of time and memory, a fresh process after each misfortune."""

from __future__ import annotations

import asyncio
import signal

import pytest
from tests.unit.adapters.readers.hostile_pdfs import HOSTILE

from corrobora.adapters.readers.parser import ParserProcess, load_parsed
from corrobora.domain.errors import ReadError
from corrobora.domain.limits import LIMITS

pytestmark = pytest.mark.own_parser


async def outcome(child, data, name):
    with pytest.raises(ReadError) as caught:
        await child.parse_document(data, name=name)
    return caught.value.outcome


async def test_a_document_is_read_and_the_process_is_used_again():
    async with ParserProcess() as child:
        one = await child.parse_document(b"# Title\n\nSome text.", name="a.md")
        first = child._process
        two = await child.parse_document(b"Other text.", name="a.txt")
        assert (one.title, one.headings[0].title, two.text) == ("Title", "Title", "Other text.")
        assert child._process is first


async def test_a_reader_s_refusal_comes_through():
    async with ParserProcess() as child:
        assert await outcome(child, b"%PDF-1.4 garbage", "a.pdf") == "broken"
        assert await outcome(child, b"", "a.md") == "empty"


async def test_a_process_that_is_killed_is_replaced():
    async with ParserProcess() as child:
        await child.parse_document(b"Text.", name="a.txt")
        process = child._process
        assert process is not None
        process.kill()
        await process.wait()
        assert (await child.parse_document(b"Text.", name="a.txt")).text == "Text."
        assert child._process is not process


class Struck(ParserProcess):
    """A parser whose process is killed in the midst of its first documents."""

    kills = 1

    async def _ensure_process(self):
        process = await super()._ensure_process()
        if self.kills:
            self.kills -= 1
            process.send_signal(signal.SIGSTOP)  # or a quick one on the other core answers before the kill
            asyncio.get_running_loop().call_soon(process.kill)
        return process


async def test_a_document_whose_process_was_killed_is_read_once_more_and_not_twice():
    async with Struck() as child:
        assert (await child.parse_document(b"Text.", name="a.txt")).text == "Text."
        child.kills = 2
        assert await outcome(child, b"Text.", "a.txt") == "broken"
        assert (await child.parse_document(b"Text.", name="a.txt")).text == "Text."


async def test_safe_3_time_and_memory_are_limited():
    slow = b"<p>Some words of a page.</p>" * 90_000
    async with ParserProcess(seconds=0.01) as child:
        await child.parse_document(b"warm", name="a.txt")
        assert await outcome(child, slow, "a.html") in {"timeout", "too_large"}
        assert (await child.parse_document(b"Text.", name="a.txt")).text == "Text."
    async with ParserProcess(memory_bytes=300_000_000) as child:
        await child.parse_document(b"warm", name="a.txt")
        assert await outcome(child, b"a" + b"\n" * 28_000_000 + b"b", "a.txt") in {"too_large", "broken"}
        assert (await child.parse_document(b"Text.", name="a.txt")).text == "Text."


async def test_d01_512_megabytes_are_enough_for_the_largest_page_and_a_long_document():
    page = b"<article>" + b"<h2>Part</h2><p>" + b"Some words of a page that are read. " * 150 + b"</p></article>"
    assert LIMITS.parse_memory_bytes == 512 * 1024 * 1024
    async with ParserProcess(seconds=60.0) as child:
        large = await child.parse_document(page * (LIMITS.page_wire_bytes // len(page)), name="a.html")
        assert len(large.text) > 4_000_000
        assert len((await child.parse_document(b"Some words. " * 2_000_000, name="a.txt")).text) > 20_000_000


async def test_cancelling_kills_the_process():
    async with ParserProcess() as child:
        await child.parse_document(b"warm", name="a.txt")
        process = child._process
        assert process is not None
        task = asyncio.create_task(child.parse_document(b"<i>a</i>" * 90_000, name="a.html"))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert process.returncode is not None


async def test_a_process_retires_after_its_documents():
    async with ParserProcess(documents=1) as child:
        await child.parse_document(b"One.", name="a.txt")
        assert child._process is None


def test_headings_outside_the_text_are_dropped():
    raw = {
        **dict.fromkeys(("title", "published", "version", "publisher", "note"), ""),
        "text": "ab",
        "truncated": False,
        "authors": ["Lund, Greta", "admin"],
        "headings": [{"start": 5, "level": 1, "title": "x"}, {"start": 1, "level": 1, "title": "b"}],
    }
    parsed = load_parsed(raw)
    assert ([heading.title for heading in parsed.headings], parsed.authors) == (["b"], ("Lund, Greta",))


ENDS = {  # of each hostile PDF; where two are named, the speed of the machine decides which comes first
    "flate bomb": {"broken"},
    "flate thrice": {"broken"},
    "shared contents": {"timeout"},
    "exponential forms": {"broken", "timeout"},
    "map of 4 G": {"empty"},
    "cycle of pages": {"broken"},
    "endless xref": {"read"},
    "endless reference": {"broken"},
    "deep nesting": {"broken", "empty"},
    "claimed pages": {"read"},
    "no table": {"broken", "timeout"},
    "encrypted": {"encrypted"},
}


@pytest.mark.parametrize("name", HOSTILE)
async def test_d01_d02_a_hostile_pdf_ends_within_its_limits_and_the_next_document_is_read(name: str):
    async with ParserProcess(seconds=2.0) as child:
        said = ""
        try:
            found = (await child.parse_document(HOSTILE[name](), name="a.pdf")).text and "read"
        except ReadError as error:
            found, said = error.outcome, error.message
        assert found in ENDS[name]
        assert ("at its limit of 512 MB of memory" in said) or name != "flate bomb"
        assert (await child.parse_document(b"Text.", name="a.txt")).text == "Text."


async def test_it_can_start_and_import_before_its_first_document():
    async with ParserProcess(loads=("json.tool",)) as child:
        await child.start()
        early = child._process
        assert early is not None
        await child.parse_document(b"Text.", name="a.txt")
        assert child._process is early
    async with ParserProcess(loads=("no_such_module",)) as child:  # it is told with a document that needs it
        assert (await child.parse_document(b"Text.", name="a.txt")).text == "Text."
