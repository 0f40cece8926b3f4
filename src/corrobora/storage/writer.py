"""The writer: one task per process that commits the answers, intents and events of all its runs in groups.

Knows when to write, how to go on after an outage with the same group, and how to keep one bad row from taking others
with it. Does not know the statements, what an answer means or who asked.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import deque
from typing import Self

import psycopg

from corrobora.domain.errors import JournalError
from corrobora.ports import Entry
from corrobora.storage.database import Connection, explain, open_connection
from corrobora.storage.group import Answered, Begun, Group, Lane, Told, alone, fail, write_group

_MAX_ROWS = 1_000
_MAX_CHARACTERS = 8_000_000
_GATHER_SECONDS = 0.004
_OTHER_PATIENCE_SECONDS = 15.0
_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.05, 1.0
_LOST = (psycopg.OperationalError, psycopg.InterfaceError, JournalError)


class JournalWriter:
    """Writes for all runs of this process. Use it as a context; leaving it writes what is left.

    On an outage it keeps what was answered, connects again and writes the same group, for `patience_seconds`; after
    that, or at once where waiting cannot help, the runs concerned get a `JournalError`.
    """

    def __init__(self, conninfo: str, *, patience_seconds: float = 300.0) -> None:
        self._conninfo = conninfo
        self._patience_seconds = patience_seconds
        self._answers: deque[Answered] = deque()
        self._intents: deque[Begun] = deque()
        self._events: deque[Told] = deque()
        self._wake = asyncio.Event()
        self._later: asyncio.TimerHandle | None = None
        self._closing = False
        self._connection: Connection | None = None
        self._task: asyncio.Task[None] | None = None
        self.flushes = 0

    async def __aenter__(self) -> Self:
        self._connection = await open_connection(self._conninfo)
        self._task = asyncio.create_task(self._work(), name="journal writer")
        return self

    async def __aexit__(self, *_: object) -> None:
        self._closing = True
        self.hurry()
        try:
            if self._task is not None:
                await self._task
        finally:
            await self._disconnect()

    def answer(self, lane: Lane, entry: Entry) -> asyncio.Future[Entry]:
        """Hand over an answer; the future ends when it is committed, or with `Stale` or `JournalError`."""
        future: asyncio.Future[Entry] = asyncio.get_running_loop().create_future()
        self._answers.append(Answered(lane, entry, future))
        self._enter(lane)
        self.hurry()
        return future

    def begin(self, lane: Lane, key: str) -> None:
        """Hand over the note that a call is about to be sent."""
        self._intents.append(Begun(lane, key))
        self._enter(lane)

    def tell(self, told: Told) -> None:
        """Hand over an event."""
        self._events.append(told)
        self._enter(told.lane)

    def _enter(self, lane: Lane) -> None:
        """Count a write. Nobody waits for an intent or an event: it may share the commit of what comes soon after."""
        if self._task is None or self._task.done():
            raise JournalError("journal_closed", "The journal is closed: the program is ending.")
        lane.pending += 1
        if self._later is None and not self._wake.is_set():
            self._later = asyncio.get_running_loop().call_later(_GATHER_SECONDS, self.hurry)

    def hurry(self) -> None:
        """Write what is there now: somebody waits for it."""
        if self._later is not None:
            self._later.cancel()
            self._later = None
        self._wake.set()

    async def _work(self) -> None:
        while not self._closing or self._waiting():
            await self._wake.wait()
            self._wake.clear()
            left = True
            while left:
                group = self._take()
                many, left = len(group.answers) > 1, self._waiting()
                await self._write(group)
                if many and not self._closing:
                    await asyncio.sleep(_GATHER_SECONDS)  # calls run in parallel: let their answers share a commit

    def _waiting(self) -> bool:
        return bool(self._answers or self._intents or self._events)

    def _take(self) -> Group:
        """Take the next group: bounded, and never two answers to one key, whose winner must be known first."""
        answers: list[Answered] = []
        seen: set[tuple[str, str]] = set()
        size = 0
        while self._answers and len(answers) < _MAX_ROWS and size < _MAX_CHARACTERS:
            key = (self._answers[0].lane.run, self._answers[0].entry.key)
            if key in seen:
                break
            seen.add(key)
            answers.append(self._answers.popleft())
            size += len(answers[-1].entry.out)
        intents = [self._intents.popleft() for _ in range(min(len(self._intents), _MAX_ROWS))]
        events = [self._events.popleft() for _ in range(min(len(self._events), _MAX_ROWS))]
        return Group(answers, intents, events)

    async def _write(self, group: Group) -> None:
        """Write a group, as often as it takes."""
        begin, pause, again = time.monotonic(), _FIRST_PAUSE_SECONDS, False
        while group:
            try:
                connection = await self._connected()
                self.flushes += 1
                await write_group(connection, group, again=again)
            except _LOST as error:
                again = True
                await self._disconnect()
                reason = error if isinstance(error, JournalError) else explain(error, "writing the journal")
                if time.monotonic() - begin > self._patience(reason):
                    fail(group, reason)
                    return
                await asyncio.sleep(pause)
                pause = min(pause * 2, _LONGEST_PAUSE_SECONDS)
            except psycopg.Error as error:
                items = group.items()
                if len(items) == 1:
                    fail(group, explain(error, "writing the journal"))
                    return
                for item in items:  # one row that cannot be written must not take the others with it
                    await self._write(alone(item))
                return

    def _patience(self, reason: JournalError) -> float:
        """How long to wait for the end of what is wrong: an outage ends by itself, a full disk only by somebody."""
        passing = reason.code in ("database_down", "database_busy")
        return self._patience_seconds if passing else min(self._patience_seconds, _OTHER_PATIENCE_SECONDS)

    async def _connected(self) -> Connection:
        if self._connection is None:
            self._connection = await open_connection(self._conninfo)
        return self._connection

    async def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with contextlib.suppress(psycopg.Error):
                await connection.close()
