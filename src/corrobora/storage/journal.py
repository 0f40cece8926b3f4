"""The journal of one attempt at one run: what was asked, answered and told, in memory and on disk.

Knows every committed answer of its run, and hands new ones to the writer of the process. Does not know statements,
connections or what an answer means.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Sequence
from typing import LiteralString

from corrobora.domain.errors import JournalError
from corrobora.domain.events import Event
from corrobora.ports import Entry
from corrobora.storage.database import Database
from corrobora.storage.group import EventWrite, Lane
from corrobora.storage.integrity import entry_digest, require_storable, verify_entry
from corrobora.storage.writer import JournalWriter

_ENTRIES: LiteralString = "SELECT key, digest, meta, out FROM journal WHERE run = %s ORDER BY key"
_EVENT_KEYS: LiteralString = "SELECT key FROM run_events WHERE run = %s"
_UNCERTAIN: LiteralString = """
SELECT i.key FROM journal_intent i LEFT JOIN journal j USING (run, key)
WHERE i.run = %s AND i.epoch < %s AND j.key IS NULL ORDER BY i.key
"""


class RunJournal:
    """`ports.Journal` in PostgreSQL, for one (run, epoch). Open it after `Runs.claim` gave the epoch."""

    __slots__ = ("_entries", "_lane", "_pending", "_told", "_uncertain", "_writer", "epoch", "run")

    def __init__(  # noqa: PLR0913 - all that an attempt starts with
        self,
        writer: JournalWriter,
        run: str,
        epoch: int,
        *,
        entries: Iterable[Entry] = (),
        told: Iterable[str] = (),
        uncertain: Sequence[str] = (),
    ) -> None:
        self.run = run
        self.epoch = epoch
        self._writer = writer
        self._entries = {entry.key: entry for entry in entries}
        self._told = set(told)
        self._uncertain = tuple(uncertain)
        self._pending: dict[str, asyncio.Future[Entry]] = {}
        self._lane = Lane(run, epoch, self._record_commit)

    @classmethod
    async def open(cls, database: Database, writer: JournalWriter, run: str, epoch: int) -> RunJournal:
        """Load all that earlier attempts committed.

        Raises:
            JournalError: the database does not answer, or a stored answer is damaged (the message names its key).
        """
        told = await database.fetch_all(_EVENT_KEYS, [run], where="reading the events of a run")
        uncertain = await database.fetch_all(_UNCERTAIN, [run, epoch], where="reading the journal of a run")
        return cls(
            writer,
            run,
            epoch,
            entries=await read_entries(database, run),
            told=(key for (key,) in told),
            uncertain=tuple(key for (key,) in uncertain),
        )

    def get(self, key: str) -> Entry | None:
        """Return the committed answer for `key`, if there is one."""
        return self._entries.get(key)

    def keys(self, prefix: str = "") -> Sequence[str]:
        """Return the committed keys that start with `prefix`, sorted."""
        return sorted(key for key in self._entries if key.startswith(prefix))

    def begin(self, key: str) -> None:
        """Note that a paid call is about to be sent. Not awaited: it is written with the next group."""
        self._lane.raise_if_failed()
        if key not in self._entries:
            self._writer.add_intent(self._lane, key)

    async def put(self, entry: Entry) -> Entry:
        """Commit an answer and return the one that counts: the first committed for its key.

        A waiter that is cancelled does not take the answer back: it is paid, and will be committed.

        Raises:
            Stale: a newer attempt owns the run.
            JournalError: the database did not come back in time, or cannot hold the text.
        """
        self._lane.raise_if_failed()
        if (known := self._entries.get(entry.key)) is not None:
            return known
        pending = self._pending.get(entry.key)
        if pending is None:
            entry_digest(require_storable(entry))
            pending = self._pending[entry.key] = self._writer.add_answer(self._lane, entry)
            pending.add_done_callback(lambda done: self._drop_pending(entry.key, done))
        return await asyncio.shield(pending)

    def emit(self, event: Event) -> None:
        """Append an event, unless one with its key was told before."""
        self._lane.raise_if_failed()
        if event.key in self._told:
            return
        data = json.dumps(dict(event.data), separators=(",", ":"))
        if "\x00" in event.key or "\x00" in event.path:
            raise JournalError("journal_text", f"The event {event.key!r} holds a zero byte in its key or path.")
        self._told.add(event.key)
        self._writer.add_event(EventWrite(self._lane, event.type.value, event.key, event.path, event.round, data))

    async def flush(self) -> None:
        """Wait until all that was put, told or begun is committed. Raises `Stale` or `JournalError`."""
        if self._lane.pending:
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._lane.waiting.append(future)
            self._writer.flush_now()
            await future
        self._lane.raise_if_failed()

    def uncertain_keys(self) -> Sequence[str]:
        """Keys that an earlier attempt began and nobody answered: they may have been billed."""
        return [key for key in self._uncertain if key not in self._entries]

    def _drop_pending(self, key: str, done: asyncio.Future[Entry]) -> None:
        self._pending.pop(key, None)
        if not done.cancelled():
            done.exception()  # seen, even if whoever waited has gone

    def _record_commit(self, entry: Entry) -> None:
        self._entries[entry.key] = entry


async def read_entries(database: Database, run: str) -> list[Entry]:
    """Read all committed answers of a run, each checked against its digest, sorted by key. Raises `JournalError`."""
    rows = await database.fetch_all(_ENTRIES, [run], where="reading the journal of a run")
    return [verify_entry(run, Entry(key, out, meta), stored) for key, stored, meta, out in rows]
