"""Statements that wait for an answer: those of a server that has fallen silent are ended.

Knows that a network may swallow every answer and still acknowledge what is sent, so that no time limit of TCP ends the
wait, and that a fresh connection tells such a server from one that is busy. Does not know what statements say.
"""

from __future__ import annotations

import asyncio
import os
import selectors
import socket
import time
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager, nullcontext, suppress
from typing import Any, TypeVar

import psycopg
from psycopg import AsyncConnection
from psycopg.abc import PQGen
from psycopg.pq import TransactionStatus
from psycopg.pq.abc import PGconn
from psycopg.rows import TupleRow
from psycopg_pool import AsyncConnectionPool

from corrobora.domain.errors import JournalError

SILENT_SECONDS = 30.0  # without an answer, after which the server is asked on a fresh connection
_LOOK_SECONDS = 2.0
_TRUSTED_SECONDS = 10.0
_Poll = getattr(selectors, "PollSelector", selectors.SelectSelector)  # needs no file descriptor of its own
T = TypeVar("T")


class GivenUp(asyncio.CancelledError):
    """The database was given up while a connection was checked: the pool would wait for another one."""


class PendingStatements:
    """The connections that wait for the server now. `probe` opens a fresh one, and fails as `JournalError`."""

    def __init__(self, probe: Callable[[], Awaitable[None]], *, silent_seconds: float = SILENT_SECONDS) -> None:
        self._probe = probe
        self._silent_seconds = silent_seconds
        self.given_up = False
        self._since: dict[PGconn, float] = {}

    @contextmanager
    def note(self, connection: PGconn) -> Generator[None]:
        """Note that a connection waits for the server during the block."""
        self._since[connection] = time.monotonic()
        try:
            yield
        finally:
            self._since.pop(connection, None)

    def end(self, *, after_seconds: float = 0.0) -> None:
        """Let every statement that has waited for so long fail at once, as if the server had closed the connection."""
        for connection in self._list_silent(after_seconds):
            with suppress(OSError, psycopg.Error), socket.socket(fileno=os.dup(connection.socket)) as our_end:
                our_end.shutdown(socket.SHUT_RDWR)

    async def watch(self) -> None:
        """Watch until cancelled; end what waits for a server that gives a fresh connection no answer either."""
        while True:
            await asyncio.sleep(min(_LOOK_SECONDS, self._silent_seconds))
            if not self._list_silent(self._silent_seconds):
                continue
            try:
                async with asyncio.timeout(self._silent_seconds):
                    await self._probe()
            except TimeoutError:
                self.end(after_seconds=self._silent_seconds)
            except JournalError as error:
                if error.code == "database_down":
                    self.end(after_seconds=self._silent_seconds)

    def _list_silent(self, seconds: float) -> list[PGconn]:
        """Return the connections whose statement has waited for so long; one that listens has none."""
        until = time.monotonic() - seconds
        return [
            connection
            for connection, since in self._since.items()
            if since <= until and connection.transaction_status == TransactionStatus.ACTIVE
        ]


class WatchedConnection(AsyncConnection[TupleRow]):
    """A connection that knows when a statement last went through it, and whether one waits."""

    used_at = float("-inf")
    pending: PendingStatements | None = None

    async def wait(self, gen: PQGen[T], *args: Any, **options: Any) -> T:
        """Wait for the server; every statement does."""
        with self.pending.note(self.pgconn) if self.pending else nullcontext():
            return await super().wait(gen, *args, **options)

    async def check_alive(self) -> None:
        """Check the connection with a round trip, if there is a reason to doubt it.

        A check before every statement would double the round trips. If the server has closed the connection, the
        socket is readable, which costs no round trip; a server that vanished is noticed after a pause.
        """
        if self._has_input() or time.monotonic() - self.used_at > _TRUSTED_SECONDS:
            try:
                await AsyncConnectionPool.check_connection(self)
            except psycopg.Error:
                if self.pending and self.pending.given_up:
                    raise GivenUp from None
                raise

    def _has_input(self) -> bool:
        with _Poll() as selector:
            selector.register(self.pgconn.socket, selectors.EVENT_READ)
            return bool(selector.select(0))
