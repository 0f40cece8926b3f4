"""Events of runs, read from any number on and followed live; rewinding a run (ANGLES-1); and dialogues before a run.

Knows the one log, notifications and the poll that makes up for lost ones, and which keys of the journal belong to which
stage. Does not know what events mean, except which is the last, and does not run anything: submit a rewound run again.
A dialogue is kept word by word, so that none is lost with a process (TREE-6); what it means the engine knows.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator, Collection, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import LiteralString, Self, cast

import psycopg
from psycopg import sql
from psycopg.rows import TupleRow

from corrobora.domain.errors import JournalError, Stale, UserError
from corrobora.domain.run import SEALED, Event, EventType, Request, RunId, Stage
from corrobora.ports import Entry
from corrobora.storage.journal.commits import EVENT_CHANNEL, entry_digest
from corrobora.storage.journal.runs import (
    FINAL_STATUSES,
    STATUS_CHANNEL,
    dump_request,
    load_request,
    new_run_id,
    unknown_run_error,
    validate_id,
)
from corrobora.storage.postgres import Database, cancel_tasks

_PAGE = 500
_LEFT_OUT = 4  # looks in a row while notifications arrive
_READ: LiteralString = """
SELECT seq, at, type, key, path, round, data FROM run_events WHERE run = %s AND seq > %s ORDER BY seq LIMIT %s
"""
_CALL_TIMES: LiteralString = "SELECT key, meta, at FROM journal WHERE run = %s AND epoch = %s ORDER BY at, key"
_STATUS: LiteralString = "SELECT status FROM runs WHERE id = %s"
_LAST: LiteralString = """
SELECT id, status, (SELECT max(seq) FROM run_events WHERE run = id) FROM runs WHERE id = ANY(%s)
"""

_Look = tuple[bool, Sequence[Event]]  # whether a run has ended, and events of it


async def read_events(database: Database, run: str, *, after: int = 0, limit: int = _PAGE) -> Sequence[Event]:
    """Return at most `limit` events of a run with a number above `after`, in order, without gaps."""
    rows = await database.fetch_all(_READ, [run, after, limit], where="reading the events of a run")
    return [
        Event(EventType(kind), key, path, number, json.loads(data), seq, at.astimezone(UTC).isoformat())
        for seq, at, kind, key, path, number, data in rows
    ]


async def list_events(database: Database, run: str) -> list[Event]:
    """Return all events of a run so far, in order."""
    found: list[Event] = []
    while page := await read_events(database, run, after=found[-1].seq if found else 0):
        found += page
    return found


async def read_call_times(database: Database, run: str, epoch: int) -> Sequence[tuple[str, str, datetime]]:
    """Return key, meta and the time of storing of each call that an attempt answered, in this order of time."""
    return await database.fetch_all(_CALL_TIMES, [run, epoch], where="reading the times of calls")


async def last_event_number(database: Database, run: str) -> int:
    """Return the number of the last event of a run so far, 0 if it has none."""
    row = await database.fetch_one("SELECT max(seq) FROM run_events WHERE run = %s", [run], where="counting events")
    return int(row[0] or 0) if row is not None else 0


def _is_rewound(event: Event) -> bool:
    """True for an event of a stage that was rewound: it stays in the log under another key."""
    return event.key.endswith(f"!{event.seq}")


class EventLog:
    """Follows the events of many runs over one listening connection. Use it as a context.

    A lost notification or connection only costs time: a query looks at all followed runs, every `poll_seconds` where no
    notifications arrive, else every fifth time.
    Followers of a run that wait for the same event share the query that reads it. To wait for a status, listen to that
    channel alone, or every event wakes the waiter.
    """

    def __init__(
        self,
        database: Database,
        *,
        poll_seconds: float = 1.0,
        channels: Sequence[str] = (EVENT_CHANNEL, STATUS_CHANNEL),
    ) -> None:
        self._database = database
        self._channels = channels
        self._poll_seconds = poll_seconds
        self._followers: dict[str, set[asyncio.Event]] = {}
        self._reads: dict[str, dict[tuple[int, tuple[str, ...]], asyncio.Task[_Look]]] = {}  # since the last change
        self._tasks: tuple[asyncio.Task[None], ...] = ()
        self._open = False
        self._heard = False  # a notification, since the last look

    async def __aenter__(self) -> Self:
        self._open = True
        return self

    def _start_listening(self) -> None:
        """Start to listen with the first follower: most commands follow nothing, and a connection takes time."""
        if self._open and not self._tasks:
            self._tasks = (
                asyncio.create_task(self._listen_for_changes(), name="event listener"),
                asyncio.create_task(self._poll_for_changes(), name="event poll"),
            )

    async def __aexit__(self, *_: object) -> None:
        self._open = False
        reads = [task for tasks in self._reads.values() for task in tasks.values()]
        await cancel_tasks(*self._tasks, *reads)

    async def follow(
        self, run: str, after: int = 0, *, ends: Collection[str] = FINAL_STATUSES
    ) -> AsyncGenerator[Event]:
        """Yield the events of a run with a number above `after`, past ones first, then live ones.

        Ends after `run.finished`, or when the run is in one of the statuses `ends`, or when it was removed. A slow
        reader misses nothing, because it reads from the table.
        """
        with self.watch_runs([run]) as changed:
            look = self._look(run, after, ends)  # its own: what others have read may be older than this follower
            while True:
                changed.clear()
                final, events = await look
                for event in events:
                    after = event.seq
                    yield event
                    if event.type is EventType.RUN_FINISHED and not _is_rewound(event):
                        return
                if len(events) == _PAGE:
                    look = self._look(run, after, ends)
                    continue
                if final:
                    return
                await changed.wait()
                look = self._share_look(run, after, ends)

    async def _look(self, run: str, after: int, ends: Collection[str]) -> _Look:
        """Return whether the run has ended, and its events after a number; asked in this order, so none is missed."""
        row = await self._database.fetch_one(_STATUS, [run], where="reading a run")
        return row is None or row[0] in ends, await read_events(self._database, run, after=after)

    async def _share_look(self, run: str, after: int, ends: Collection[str]) -> _Look:
        """Look at a run once for all followers that the same change woke; the next change begins a new look."""
        reads = self._reads.setdefault(run, {})
        key = (after, tuple(ends))
        if key not in reads:
            reads[key] = asyncio.create_task(self._look(run, after, ends), name="look at a run")
        return await asyncio.shield(reads[key])  # a follower that leaves must not cancel what others wait for

    @contextlib.contextmanager
    def watch_runs(self, runs: Iterable[str]) -> Generator[asyncio.Event]:
        """Lend an `asyncio.Event` that is set whenever one of the runs changes."""
        self._start_listening()
        changed = asyncio.Event()
        names = list(runs)
        for run in names:
            self._followers.setdefault(run, set()).add(changed)
        try:
            yield changed
        finally:
            for run in names:
                self._followers[run].discard(changed)
                if not self._followers[run]:
                    del self._followers[run]
                    self._reads.pop(run, None)

    async def wait_for_change(self, changed: asyncio.Event) -> None:
        """Wait until `changed` is set, but not longer than one poll."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._poll_seconds):
                await changed.wait()

    async def _poll_for_changes(self) -> None:
        """Wake the followers of each run that changed, until cancelled; most looks find only what was notified."""
        known: dict[str, list[object]] = {}
        left_out = 0
        while True:
            await asyncio.sleep(self._poll_seconds)
            if not self._followers:
                continue
            heard, self._heard = self._heard, False
            left_out = left_out + 1 if heard and left_out < _LEFT_OUT else 0
            if left_out:
                continue
            with contextlib.suppress(JournalError):  # a lost connection; the next look tells what was missed
                rows = await self._database.fetch_all(_LAST, [list(self._followers)], where="looking for changes")
                now = {str(run): state for run, *state in rows}
                self._wake_followers([run for run in self._followers if known.get(run) != now.get(run)])
                known = {run: state for run, state in now.items() if run in self._followers}

    async def _listen_for_changes(self) -> None:
        """Listen until cancelled; when the connection is lost, connect again while the followers poll."""
        while True:
            with contextlib.suppress(psycopg.Error, JournalError):
                async with await self._database.open_connection() as connection:
                    for channel in self._channels:
                        await connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(channel)))
                    self._wake_followers(list(self._followers))  # for what was missed before
                    async for note in connection.notifies():
                        self._heard = True
                        self._wake_followers(pair.split(" ")[0] for pair in note.payload.split(","))
            await asyncio.sleep(self._poll_seconds)

    def _wake_followers(self, runs: Iterable[str]) -> None:
        for run in runs:
            self._reads.pop(run, None)
            for changed in self._followers.get(run, ()):
                changed.set()


# The journal keys to delete for each stage, as a pattern; a later stage keeps more.
_FORGOTTEN_KEYS: Mapping[Stage, str] = {
    Stage.CLARIFY: r".",
    Stage.PLAN: r"^(?!root/clarify#)",
    Stage.INVESTIGATE: r"^(?!root/clarify#|root(/\d+)?/plan#|authorized$)",
    Stage.SYNTHESIZE: r"^root/(synthesize#|write/|critique/|revise/|repair/|judge/)|^rescue/|^deliver/",
    Stage.REVIEW: r"^root/(critique|revise|repair|judge)/|^deliver/",
    Stage.VERIFY: r"^root/judge/|^deliver/",
    Stage.DELIVER: r"^deliver/",
}
# Events are never deleted: those of a stage that is repeated get another key and so make room for new ones.
_REPEATED_EVENTS = ("stage", "report", "verify", "judge", "complete", "run.finished", "leaf.failed", "warning")


_BILL = "bill/again/"  # begins the keys of costs whose answers were deleted
_NO_ANSWER = '""'


async def _list_bills(database: Database, run: str, stage: Stage) -> list[Entry]:
    """Return what the answers cost and searched that a stage will forget, each as an entry of its own."""
    rows = await database.fetch_all(
        "SELECT key, epoch, meta FROM journal WHERE run = %s AND key ~ %s AND key !~ %s",
        [validate_id(run), _FORGOTTEN_KEYS[stage], f"^{_BILL}"],
        where="reading what a stage cost",
    )
    found: list[Entry] = []
    for key, epoch, text in rows:
        meta = cast("dict[str, object]", json.loads(str(text)))
        if meta.get("usage") or meta.get("searches"):
            kept = {"usage": meta.get("usage"), "searches": meta.get("searches") or 0}
            found.append(Entry(f"{_BILL}{epoch}/{key}", _NO_ANSWER, json.dumps(kept)))
    return found


async def rewind_run(database: Database, run: str, stage: Stage, *, forget: bool = True) -> None:
    """Delete the answers from `stage` on and reopen the run, in one statement; what they cost stays in its bill.

    Without `forget` all answers stay; that a report was sealed never does: another one is written.

    Raises:
        UserError: `run_unknown`, or `run_active` while an attempt works on it.
    """
    bills = await _list_bills(database, run, stage) if forget else []
    row = await database.fetch_one(
        """
        WITH opened AS (
            UPDATE runs SET status = 'queued', outcome = '', reason = '', cancel_requested = false, deadline = NULL,
                owner = CASE WHEN status = 'queued' THEN owner ELSE '' END,  -- of an attempt that has ended
                epoch = epoch + 1, updated_at = clock_timestamp()
            WHERE id = %(run)s AND status <> 'running' RETURNING id, epoch
        ), forgotten AS (
            DELETE FROM journal USING opened WHERE run = opened.id AND key ~ %(pattern)s AND key !~ %(bill)s
        ), billed AS (
            INSERT INTO journal (run, key, epoch, digest, meta, out)
            SELECT opened.id, i.key, opened.epoch, i.digest, i.meta, %(out)s
            FROM opened, unnest(%(keys)s::text[], %(digests)s::bytea[], %(metas)s::text[]) AS i (key, digest, meta)
            ON CONFLICT DO NOTHING
        ), renamed AS (
            UPDATE run_events SET key = key || '!' || seq FROM opened
            WHERE run = opened.id AND (type = ANY(%(again)s) OR %(all)s)
        )
        SELECT (SELECT count(*) FROM opened), (SELECT status FROM runs WHERE id = %(run)s)
        """,
        {
            "run": validate_id(run),
            "pattern": f"^{SEALED}$" + (f"|{_FORGOTTEN_KEYS[stage]}" if forget else ""),
            "bill": f"^{_BILL}",
            "keys": [each.key for each in bills],
            "digests": [entry_digest(each) for each in bills],
            "metas": [each.meta for each in bills],
            "out": _NO_ANSWER,
            "again": list(_REPEATED_EVENTS),
            "all": stage in (Stage.CLARIFY, Stage.PLAN, Stage.INVESTIGATE),
        },
        where="rewinding a run",
    )
    if row is not None and row[0]:
        return
    if row is None or row[1] is None:
        raise unknown_run_error(run)
    raise UserError("run_active", f"Run {run} is being worked on.", next_step=f"First: corrobora cancel {run}")


_GET: LiteralString = """
SELECT id, request, said, pending, run, version, updated_at FROM dialogue
WHERE id = %(id)s OR (%(id)s = '' AND run IS NULL) ORDER BY updated_at DESC, id LIMIT 1
"""
_LIST: LiteralString = """
SELECT id, request, said, pending, run, version, updated_at FROM dialogue ORDER BY updated_at DESC, id LIMIT %s
"""
_SAVE: LiteralString = """
INSERT INTO dialogue AS kept (id, request, said, pending, run)
VALUES (%(id)s, %(request)s, %(said)s, %(pending)s, %(run)s)
ON CONFLICT (id) DO UPDATE SET said = excluded.said, pending = excluded.pending, run = excluded.run,
    version = kept.version + 1, updated_at = clock_timestamp()
WHERE kept.version = %(version)s RETURNING version
"""


@dataclass(frozen=True, slots=True)
class StoredDialogue:
    """One dialogue as it is stored. `version` is 0 before the first save."""

    id: str
    request: Request
    said: str = ""
    pending: str = ""
    run: RunId | None = None
    version: int = 0
    updated_at: str = ""


def new_dialogue(request: Request) -> StoredDialogue:
    """Return a dialogue that is not stored yet, under an id that nobody can guess."""
    return StoredDialogue(f"d_{new_run_id().removeprefix('r_')}", request)


def dialogue_run_id(dialogue: str) -> RunId:
    """Return the id of the run of a dialogue, which starts one run at most, however often it is confirmed."""
    return RunId(f"r_{dialogue.removeprefix('d_')}")


class Dialogues:
    """The dialogues of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def save(self, dialogue: StoredDialogue) -> StoredDialogue:
        """Store a dialogue and return it with its new version.

        Raises:
            Stale: another process has continued it since it was read.
        """
        values = {
            "id": validate_id(dialogue.id),
            "request": dump_request(dialogue.request),
            "said": dialogue.said,
            "pending": dialogue.pending,
            "run": dialogue.run,
            "version": dialogue.version,
        }
        row = await self._database.fetch_one(_SAVE, values, where="storing a dialogue")
        if row is None:
            raise Stale(f"The dialogue {dialogue.id} was continued elsewhere.")
        return replace(dialogue, version=int(row[0]))

    async def get(self, identity: str) -> StoredDialogue:
        """Return a dialogue; "" names the newest one that has no run. Raises `UserError` (`dialogue_unknown`)."""
        named = validate_id(identity) if identity else ""
        row = await self._database.fetch_one(_GET, {"id": named}, where="reading a dialogue")
        if row is None:
            raise UserError(
                "dialogue_unknown",
                f"There is no dialogue {identity}." if identity else "There is no dialogue to continue.",
                next_step="The dialogues: corrobora chat --list",
            )
        return _dialogue_from_row(row)

    async def list(self, *, limit: int = 50) -> Sequence[StoredDialogue]:
        """Return dialogues, the newest first."""
        return [
            _dialogue_from_row(row) for row in await self._database.fetch_all(_LIST, [limit], where="listing dialogues")
        ]

    async def remove(self, identity: str) -> bool:
        """Remove a dialogue; False if there was none. The run that it started is not removed."""
        return await self._database.execute("DELETE FROM dialogue WHERE id = %s", [validate_id(identity)]) > 0


def _dialogue_from_row(row: TupleRow) -> StoredDialogue:
    identity, request, said, pending, run, version, updated = row
    at = updated.astimezone().isoformat(timespec="seconds")
    return StoredDialogue(identity, load_request(identity, request), said, pending, run, version, at)
