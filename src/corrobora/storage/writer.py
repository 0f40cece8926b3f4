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
from corrobora.storage.database import Connection, explain_error, open_connection
from corrobora.storage.group import (
    AnswerWrite,
    CommitGroup,
    EventWrite,
    IntentWrite,
    Lane,
    commit_group,
    fail_group,
    group_of_one,
)

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
        self._answers: deque[AnswerWrite] = deque()
        self._intents: deque[IntentWrite] = deque()
        self._events: deque[EventWrite] = deque()
        self._wake = asyncio.Event()
        self._later: asyncio.TimerHandle | None = None
        self._closing = False
        self._connection: Connection | None = None
        self._task: asyncio.Task[None] | None = None
        self.flushes = 0

    async def __aenter__(self) -> Self:
        self._connection = await open_connection(self._conninfo)
        self._task = asyncio.create_task(self._write_loop(), name="journal writer")
        return self

    async def __aexit__(self, *_: object) -> None:
        self._closing = True
        self.flush_now()
        try:
            if self._task is not None:
                await self._task
        finally:
            await self._disconnect()

    def add_answer(self, lane: Lane, entry: Entry) -> asyncio.Future[Entry]:
        """Hand over an answer; the future ends when it is committed, or with `Stale` or `JournalError`."""
        future: asyncio.Future[Entry] = asyncio.get_running_loop().create_future()
        self._answers.append(AnswerWrite(lane, entry, future))
        self._count_write(lane)
        self.flush_now()
        return future

    def add_intent(self, lane: Lane, key: str) -> None:
        """Hand over the note that a call is about to be sent."""
        self._intents.append(IntentWrite(lane, key))
        self._count_write(lane)

    def add_event(self, told: EventWrite) -> None:
        """Hand over an event."""
        self._events.append(told)
        self._count_write(told.lane)

    def _count_write(self, lane: Lane) -> None:
        """Count a write. Nobody waits for an intent or an event: it may share the commit of what comes soon after."""
        if self._task is None or self._task.done():
            raise JournalError("journal_closed", "The journal is closed: the program is ending.")
        lane.pending += 1
        if self._later is None and not self._wake.is_set():
            self._later = asyncio.get_running_loop().call_later(_GATHER_SECONDS, self.flush_now)

    def flush_now(self) -> None:
        """Write what is there now: somebody waits for it."""
        if self._later is not None:
            self._later.cancel()
            self._later = None
        self._wake.set()

    async def _write_loop(self) -> None:
        while not self._closing or self._has_waiting():
            await self._wake.wait()
            self._wake.clear()
            left = True
            while left:
                group = self._next_group()
                many, left = len(group.answers) > 1, self._has_waiting()
                await self._write_group(group)
                if many and not self._closing:
                    await asyncio.sleep(_GATHER_SECONDS)  # calls run in parallel: let their answers share a commit

    def _has_waiting(self) -> bool:
        return bool(self._answers or self._intents or self._events)

    def _next_group(self) -> CommitGroup:
        """Take the next group: bounded, and never two answers to one key, whose winner must be known first."""
        answers: list[AnswerWrite] = []
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
        return CommitGroup(answers, intents, events)

    async def _write_group(self, group: CommitGroup) -> None:
        """Write a group, as often as it takes."""
        begin, pause, again = time.monotonic(), _FIRST_PAUSE_SECONDS, False
        while group:
            try:
                connection = await self._ensure_connection()
                self.flushes += 1
                await commit_group(connection, group, again=again)
            except _LOST as error:
                again = True
                await self._disconnect()
                reason = error if isinstance(error, JournalError) else explain_error(error, "writing the journal")
                if time.monotonic() - begin > self._patience_for(reason):
                    fail_group(group, reason)
                    return
                await asyncio.sleep(pause)
                pause = min(pause * 2, _LONGEST_PAUSE_SECONDS)
            except psycopg.Error as error:
                items = group.uncommitted_items()
                if len(items) == 1:
                    fail_group(group, explain_error(error, "writing the journal"))
                    return
                for item in items:  # one row that cannot be written must not take the others with it
                    await self._write_group(group_of_one(item))
                return

    def _patience_for(self, reason: JournalError) -> float:
        """How long to wait for the end of what is wrong: an outage ends by itself, a full disk only by somebody."""
        passing = reason.code in ("database_down", "database_busy")
        return self._patience_seconds if passing else min(self._patience_seconds, _OTHER_PATIENCE_SECONDS)

    async def _ensure_connection(self) -> Connection:
        if self._connection is None:
            self._connection = await open_connection(self._conninfo)
        return self._connection

    async def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with contextlib.suppress(psycopg.Error):
                await connection.close()
