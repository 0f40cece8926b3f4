"""A plugin that keeps the parser's process of one test for the next: its start takes longer than most of its reading.

It is the real process with its real limits, in a thread with a loop of its own because each test has another loop. A
test about the process itself (mark `own_parser`), and a parser with limits of its own, have one of their own.
"""

from __future__ import annotations

import asyncio
import threading
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from corrobora.adapters.readers.parser import ParserProcess
    from corrobora.ports import ParsedDocument

_opened: list[_SharedParser] = []
_own = False


class _SharedParser:
    """A parser that is used from any loop, until the session ends."""

    def __init__(self, parser: ParserProcess) -> None:
        self._parser = parser
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="parser of the tests", daemon=True)
        self._thread.start()

    async def parse_document(self, data: bytes, **about: str) -> ParsedDocument:
        """Read a document as `ParserProcess` does; if it is cancelled, the process ends, and the next one is fresh."""
        reading = self._parser.parse_document(data, **about)
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(reading, self._loop))

    def close(self) -> None:
        asyncio.run_coroutine_threadsafe(self._parser.close(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "own_parser: the parser's process is what the test is about; it has its own")


def pytest_collection_finish() -> None:
    """Let all parsers with the usual limits be one."""
    from corrobora.adapters.readers.parser import ParserProcess as Parser

    usual = vars(Parser())
    parse, start = Parser.parse_document, Parser.start

    class Shared(Parser):
        """The parser of the session."""

    @cache
    def open_shared() -> _SharedParser:
        _opened.append(_SharedParser(Shared()))
        return _opened[-1]

    def shares(one: Parser) -> bool:
        limits = ("_memory", "_documents", "_seconds")
        return not _own and type(one) is Parser and all(vars(one)[name] == usual[name] for name in limits)

    async def parse_shared(self: Parser, data: bytes, **about: str) -> ParsedDocument:
        return await (open_shared().parse_document(data, **about) if shares(self) else parse(self, data, **about))

    async def start_own(self: Parser) -> None:
        if not shares(self):
            await start(self)

    Parser.parse_document, Parser.start = parse_shared, start_own


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Any:
    """Look what the test is about."""
    global _own  # noqa: PLW0603 - the parser is a class of the program, which asks nobody
    _own = item.get_closest_marker("own_parser") is not None
    return (yield)


def pytest_sessionfinish() -> None:
    """End the process."""
    while _opened:
        _opened.pop().close()
