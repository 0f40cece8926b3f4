"""The journal of one attempt at one run, and the writer that commits the journals of all runs of a process in groups.

Knows every committed answer of a run, when to write, how to continue after an outage with the same group, and how to
keep one bad row from failing others. Does not know the statements or what an answer means.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections import deque
from collections.abc import Iterable, Sequence
from typing import LiteralString, Self

import psycopg

from corrobora.domain.errors import JournalError
from corrobora.domain.run import Event
from corrobora.ports import Entry
from corrobora.storage.journal.commits import (
    AnswerWrite,
    AttemptWrites,
    CommitGroup,
    EventWrite,
    IntentWrite,
    commit_group,
    dump_event_data,
    entry_digest,
    fail_group,
    group_of_one,
    require_storable,
    verify_entry,
)
from corrobora.storage.postgres import OUTAGE_SECONDS, STOPPED_SECONDS, Connection, Database, explain_error

_MAX_ROWS = 1_000
_MAX_CHARACTERS = 8_000_000
_GATHER_SECONDS = 0.004
# What nobody waits for may share the commit of what comes so soon: a crash would lose what is known of a call that was
# sent or of a page that was read, but events are made again.
_LATER_SECONDS, _EVENT_SECONDS = 0.02, 0.15
_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.05, 1.0
_log = logging.getLogger(__name__)
_LOST = (psycopg.OperationalError, psycopg.InterfaceError, JournalError)


class JournalWriter:
    """Writes for all runs of this process. Use it as a context; leaving it writes what is left.

    On an outage it keeps the answers, connects again and repeats the same group for `patience_seconds`; after that, or
    sooner where waiting cannot help, the runs concerned get a `JournalError`. An event waits at most `event_seconds`
    for a commit that it can share.
    """

    def __init__(
        self, database: Database, *, patience_seconds: float = OUTAGE_SECONDS, event_seconds: float = _EVENT_SECONDS
    ) -> None:
        self._database = database
        self._event_seconds = event_seconds
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
        self._connection = await self._database.open_connection()
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

    def add_answer(self, lane: AttemptWrites, entry: Entry, *, soon: bool = True) -> asyncio.Future[Entry]:
        """Queue an answer; the future ends when it is committed, or with `Stale` or `JournalError`."""
        future: asyncio.Future[Entry] = asyncio.get_running_loop().create_future()
        self._answers.append(AnswerWrite(lane, entry, future))
        self._count_write(lane)
        if soon:
            self.flush_now()
        return future

    def add_intent(self, lane: AttemptWrites, key: str) -> None:
        """Queue the note that a call is about to be sent."""
        self._intents.append(IntentWrite(lane, key))
        self._count_write(lane)

    def add_event(self, event: EventWrite) -> None:
        """Queue an event."""
        self._events.append(event)
        self._count_write(event.lane, self._event_seconds)

    def _count_write(self, lane: AttemptWrites, within: float = _LATER_SECONDS) -> None:
        """Count a write. If nobody waits for it, as for an intent or an event, it shares the next commit."""
        if self._task is None or self._task.done():
            raise JournalError("journal_closed", "The journal is closed: the program is ending.")
        lane.pending += 1
        at = asyncio.get_running_loop().time() + within
        if self._wake.is_set() or (self._later is not None and self._later.when() <= at):
            return
        if self._later is not None:
            self._later.cancel()
        self._later = asyncio.get_running_loop().call_at(at, self.flush_now)

    def flush_now(self) -> None:
        """Write everything that is queued without further delay."""
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
                    await asyncio.sleep(_GATHER_SECONDS)  # answers of parallel calls share a commit

    def _has_waiting(self) -> bool:
        return bool(self._answers or self._intents or self._events)

    def _next_group(self) -> CommitGroup:
        """Take the next group, bounded in size. Two answers to one key never share a group: one must win first."""
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
                if pause < _LONGEST_PAUSE_SECONDS <= pause * 2:
                    _log.warning("What was answered is kept in memory until the database takes it: %s", reason.message)
                pause = min(pause * 2, _LONGEST_PAUSE_SECONDS)
            except psycopg.Error as error:
                items = group.uncommitted_items()
                if len(items) == 1:
                    fail_group(group, explain_error(error, "writing the journal"))
                    return
                for item in items:  # one row that cannot be written must not fail the others
                    await self._write_group(group_of_one(item))
                return

    def _patience_for(self, reason: JournalError) -> float:
        """Return how long to wait: an outage ends by itself, but a full disk needs a person."""
        if self._database.pool.closed:
            return 0.0
        passing = reason.code in ("database_down", "database_busy")
        return self._patience_seconds if passing else min(self._patience_seconds, STOPPED_SECONDS)

    async def _ensure_connection(self) -> Connection:
        if self._connection is None:
            self._connection = await self._database.open_connection()
        return self._connection

    async def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with contextlib.suppress(psycopg.Error):
                await connection.close()


_ENTRIES: LiteralString = "SELECT key, digest, meta, out FROM journal WHERE run = %s ORDER BY key"
_EVENT_KEYS: LiteralString = "SELECT key FROM run_events WHERE run = %s"
_UNCERTAIN: LiteralString = """
SELECT i.key FROM journal_intent i LEFT JOIN journal j USING (run, key)
WHERE i.run = %s AND i.epoch < %s AND j.key IS NULL ORDER BY i.key
"""


class RunJournal:
    """`ports.Journal` in PostgreSQL, for one (run, epoch). Open it after `Runs.claim` gave the epoch."""

    __slots__ = ("_entries", "_event_keys", "_lane", "_pending", "_uncertain", "_writer", "epoch", "run")

    def __init__(  # noqa: PLR0913 - all that an attempt starts with
        self,
        writer: JournalWriter,
        run: str,
        epoch: int,
        *,
        entries: Iterable[Entry] = (),
        event_keys: Iterable[str] = (),
        uncertain: Sequence[str] = (),
    ) -> None:
        self.run = run
        self.epoch = epoch
        self._writer = writer
        self._entries = {entry.key: entry for entry in entries}
        self._event_keys = set(event_keys)
        self._uncertain = tuple(uncertain)
        self._pending: dict[str, asyncio.Future[Entry]] = {}
        self._lane = AttemptWrites(run, epoch, self.add_committed)

    @classmethod
    async def open(cls, database: Database, writer: JournalWriter, run: str, epoch: int) -> RunJournal:
        """Load everything that earlier attempts committed.

        Raises:
            JournalError: the database does not answer, or a stored answer is damaged (the message names its key).
        """
        keys = await database.fetch_all(_EVENT_KEYS, [run], where="reading the events of a run")
        uncertain = await database.fetch_all(_UNCERTAIN, [run, epoch], where="reading the journal of a run")
        return cls(
            writer,
            run,
            epoch,
            entries=await read_entries(database, run),
            event_keys=(key for (key,) in keys),
            uncertain=tuple(key for (key,) in uncertain),
        )

    def get(self, key: str) -> Entry | None:
        return self._entries.get(key)

    def keys(self, prefix: str = "") -> Sequence[str]:
        return sorted(key for key in self._entries if key.startswith(prefix))

    def begin(self, key: str) -> None:
        """Note that a paid call is about to be sent. Not awaited: it is written with the next group."""
        self._lane.raise_if_failed()
        if key not in self._entries:
            self._writer.add_intent(self._lane, key)

    async def put(self, entry: Entry, *, wait: bool = True) -> Entry:
        """Commit an answer and return the one that was committed first for its key; without `wait`, the one given.

        If the waiter is cancelled, the answer is committed all the same, because it was paid for. Answers are committed
        in the order in which they are put, so that none depends on one that a crash could lose.

        Raises:
            Stale: a newer attempt owns the run.
            JournalError: the database did not come back in time, or cannot store the text.
        """
        self._lane.raise_if_failed()
        pending = self._pending.get(entry.key)
        if pending is None:
            if (known := self._entries.get(entry.key)) is not None:
                return known
            entry_digest(require_storable(entry))
            pending = self._pending[entry.key] = self._writer.add_answer(self._lane, entry, soon=wait)
            pending.add_done_callback(lambda done: self._drop_pending(entry.key, done))
        if not wait:
            return self._entries.setdefault(entry.key, entry)
        self._writer.flush_now()
        return await asyncio.shield(pending)

    def add_committed(self, entry: Entry) -> None:
        """Note an answer that was committed, by the writer or beside it."""
        self._entries[entry.key] = entry

    def emit(self, event: Event) -> None:
        self._lane.raise_if_failed()
        if event.key in self._event_keys:
            return
        data = dump_event_data(event)
        if "\x00" in event.key or "\x00" in event.path:
            raise JournalError("journal_text", f"The event {event.key!r} contains a zero byte in its key or path.")
        self._event_keys.add(event.key)
        self._writer.add_event(EventWrite(self._lane, event.type.value, event.key, event.path, event.round, data))

    async def flush(self) -> None:
        """Wait until all answers, events and intents are committed. Raises `Stale` or `JournalError`."""
        if self._lane.pending:
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._lane.waiting.append(future)
            self._writer.flush_now()
            await future
        self._lane.raise_if_failed()

    def uncertain_keys(self) -> Sequence[str]:
        """Return keys that an earlier attempt began without an answer: they may have been billed."""
        return [key for key in self._uncertain if key not in self._entries]

    def _drop_pending(self, key: str, done: asyncio.Future[Entry]) -> None:
        self._pending.pop(key, None)
        if not done.cancelled():
            done.exception()  # retrieved, even if the waiter is gone


async def read_entries(database: Database, run: str) -> list[Entry]:
    """Read all committed answers of a run, each checked against its digest, sorted by key. Raises `JournalError`."""
    rows = await database.fetch_all(_ENTRIES, [run], where="reading the journal of a run")
    return [verify_entry(run, Entry(key, out, meta), stored) for key, stored, meta, out in rows]
