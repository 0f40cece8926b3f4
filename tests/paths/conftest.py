"""Servers of tests on loopback, while a command runs in this process."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager
from typing import TypeVar

import pytest

S = TypeVar("S")
Serve = Callable[[AbstractAsyncContextManager[S]], S]


@pytest.fixture
def serve() -> Iterator[Callable[[AbstractAsyncContextManager[S]], S]]:
    """Return a function that opens an asynchronous server in a thread of its own until the test ends."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    opened: list[AbstractAsyncContextManager[object]] = []

    def open_server(server: AbstractAsyncContextManager[S]) -> S:
        found = asyncio.run_coroutine_threadsafe(server.__aenter__(), loop).result(10)
        opened.append(server)
        return found

    yield open_server
    for server in opened:
        asyncio.run_coroutine_threadsafe(server.__aexit__(None, None, None), loop).result(10)
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()
