"""Commits: what one flush of the journal writes, who hears of it, and the checksum beside every answer.

Knows the statements, each a transaction of its own, so that no lock is held between round trips and a crash leaves all
of a flush or nothing; what they are given and what their answers mean: which attempt owns a run, whose answer was
first, and how to repeat a group whose first try may have committed. Does not know when to write, or how a lost
connection is replaced.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import LiteralString

from psycopg.rows import TupleRow

from corrobora.domain.errors import JournalError, Stale
from corrobora.domain.run import Event
from corrobora.ports import Entry
from corrobora.storage.postgres import Connection, array_literal, text_array

EVENT_CHANNEL = "corrobora_events"

# The lock makes the statement wait for a concurrent claim, so that it sees which attempt owns the run. It is the one
# that numbering needs: two attempts that first shared a weaker one would wait for each other. A late answer is stored
# if its key is free, because it was paid for. Intents and events of an old attempt are not stored.
# The statement that inserts events also takes their numbers, so they rise in commit order without gaps. `expected` is
# -1, or the last number that a repeated group saw, so that a first try that committed after all is not written twice.
WRITE_GROUP: LiteralString = """
WITH own AS MATERIALIZED (
    SELECT id, epoch FROM runs WHERE id = ANY(%s::text[]) ORDER BY id FOR NO KEY UPDATE
), answered AS (
    INSERT INTO journal (run, key, epoch, digest, meta, out)
    SELECT i.* FROM unnest(%s::text[], %s::text[], %s::int[], %s::bytea[], %s::text[], %s::text[])
        AS i (run, key, epoch, digest, meta, out)
    WHERE i.run IN (SELECT id FROM own)
    ON CONFLICT DO NOTHING RETURNING 1
), begun AS (
    INSERT INTO journal_intent (run, key, epoch)
    SELECT i.* FROM unnest(%s::text[], %s::text[], %s::int[]) AS i (run, key, epoch)
    WHERE (i.run, i.epoch) IN (SELECT id, epoch FROM own)
    ON CONFLICT DO NOTHING
), numbered AS (
    UPDATE runs r SET next_seq = r.next_seq + c.n
    FROM unnest(%s::text[], %s::int[], %s::bigint[], %s::bigint[]) AS c (run, epoch, n, expected)
        JOIN own ON own.id = c.run AND own.epoch = c.epoch
    WHERE r.id = c.run AND c.expected IN (-1, r.next_seq)
    RETURNING r.id, r.epoch, r.next_seq - c.n AS base, r.next_seq AS last
), appended AS (
    INSERT INTO run_events (run, seq, epoch, type, key, path, round, data)
    SELECT e.run, numbered.base + e.n, e.epoch, e.type, e.key, e.path, nullif(e.round, -1), e.data
    FROM unnest(%s::text[], %s::int[], %s::int[], %s::text[], %s::text[], %s::text[], %s::int[], %s::text[])
        AS e (run, epoch, n, type, key, path, round, data)
    JOIN numbered ON numbered.id = e.run AND numbered.epoch = e.epoch
), notes AS (
    SELECT string_agg(id || ' ' || last, ',') AS payload
    FROM (SELECT id, last, (row_number() OVER () - 1) / 90 AS part FROM numbered) AS parts GROUP BY part
)
SELECT (SELECT count(*) FROM answered), ARRAY(SELECT id FROM own), ARRAY(SELECT epoch FROM own),
    ARRAY(SELECT id FROM numbered), ARRAY(SELECT epoch FROM numbered),
    (SELECT count(pg_notify(%s::text, payload)) FROM notes)
"""

READ_WINNERS: LiteralString = """
SELECT j.run, j.key, j.digest, j.meta, j.out
FROM unnest(%s::text[], %s::text[]) AS i (run, key) JOIN journal j USING (run, key)
"""

READ_EVENT_KEYS: LiteralString = """
SELECT r.id, r.epoch, r.next_seq, ARRAY(SELECT e.key FROM run_events e WHERE e.run = r.id)
FROM runs r WHERE r.id = ANY(%s::text[])
"""


def dump_event_data(event: Event) -> str:
    """Return the data of an event as it is stored."""
    return json.dumps(dict(event.data), separators=(",", ":"))


def entry_digest(entry: Entry) -> bytes:
    """Return 8 bytes that change with any bit of the entry. Raises `JournalError` for text no database can hold."""
    text = f"{entry.key}\x1f{entry.meta}\x1f{entry.out}"
    try:
        return blake2b(text.encode(), digest_size=8).digest()
    except UnicodeEncodeError as error:
        raise JournalError(
            "journal_text",
            f"The answer to {entry.key!r} contains a lone surrogate (position {error.start}).",
            next_step="Write answers as JSON with escapes.",
        ) from error


def require_storable(entry: Entry) -> Entry:
    """Return the entry if PostgreSQL can store its text; raise `JournalError` for zero bytes."""
    if "\x00" in entry.key or "\x00" in entry.meta or "\x00" in entry.out:
        raise JournalError(
            "journal_text",
            f"The answer to {entry.key!r} contains a zero byte.",
            next_step="Write answers as JSON with escapes.",
        )
    return entry


def verify_entry(run: str, entry: Entry, stored: bytes) -> Entry:
    """Return the entry if its digest is the stored one; raise a `JournalError` that names the key if not."""
    if entry_digest(entry) != bytes(stored):
        raise JournalError(
            "journal_damaged",
            f"The stored answer to {entry.key!r} of run {run} is damaged: its checksum does not match.",
            next_step=f"Restore the database from a copy, or start the run again; run {run} is not used as it is.",
        )
    return entry


@dataclass(slots=True, eq=False)
class AttemptWrites:
    """One attempt at one run, as the writer sees it: its writes that are not committed yet, and its error."""

    run: str
    epoch: int
    on_commit: Callable[[Entry], None]
    stale: bool = False
    error: JournalError | None = None
    pending: int = 0
    waiting: list[asyncio.Future[None]] = field(default_factory=list[asyncio.Future[None]])

    def raise_if_failed(self) -> None:
        """Raise `Stale` if a newer attempt owns the run, or the error that stopped the writing."""
        if self.stale:
            raise Stale(f"A newer attempt owns run {self.run}; attempt {self.epoch} stops.")
        if self.error is not None:
            raise self.error

    def settle_writes(self, count: int) -> None:
        """Count `count` writes as ended, and wake those who wait for all of them."""
        self.pending -= count
        if self.pending == 0:
            for future in self.waiting:
                if not future.done():
                    future.set_result(None)
            self.waiting.clear()


@dataclass(slots=True, eq=False)
class AnswerWrite:
    """An answer to commit; its future gets the entry that was committed first for the key."""

    lane: AttemptWrites
    entry: Entry
    future: asyncio.Future[Entry]


@dataclass(slots=True, eq=False)
class IntentWrite:
    """A call that is about to be sent."""

    lane: AttemptWrites
    key: str


@dataclass(slots=True, eq=False)
class EventWrite:
    """An event to append; `data` is JSON."""

    lane: AttemptWrites
    type: str
    key: str
    path: str
    round: int | None
    data: str


@dataclass(slots=True)
class CommitGroup:
    """What one flush writes. Committed parts are emptied, so that a repetition writes only the rest."""

    answers: list[AnswerWrite]
    intents: list[IntentWrite]
    events: list[EventWrite]

    def __bool__(self) -> bool:
        return bool(self.answers or self.intents or self.events)

    def uncommitted_items(self) -> Sequence[AnswerWrite | IntentWrite | EventWrite]:
        """Return everything that is not committed yet."""
        return [*self.answers, *self.intents, *self.events]


async def commit_group(connection: Connection, group: CommitGroup, *, again: bool) -> None:
    """Commit a group in one statement, so that an event never reports an answer that is not committed.

    `again` says that a first try may have committed unnoticed. What is committed is taken out of the group.

    Raises:
        psycopg.Error: as far as is known, what is left in the group is not committed.
    """
    while group:
        expected = await _drop_committed(connection, group) if again and group.events else {}
        if group:
            await _write_once(connection, group, expected, again=again)
        again = True  # the events that are left had an outdated `expected`: read the state again


async def _write_once(connection: Connection, group: CommitGroup, expected: Mapping[str, int], *, again: bool) -> None:
    """Write what is left of a group; events of a repetition may stay in it, because their number was taken."""
    answers, intents = group.answers, group.intents
    by_lane: dict[AttemptWrites, list[EventWrite]] = {}
    for event in group.events:
        by_lane.setdefault(event.lane, []).append(event)
    lanes = sorted(by_lane, key=lambda lane: (lane.run, lane.epoch))
    runs = sorted({item.lane.run for item in group.uncommitted_items()})
    row = await _fetch_row(
        connection,
        WRITE_GROUP,
        (text_array(runs), *_list_answers(answers), *_list_intents(intents), *_list_events(lanes, by_lane, expected)),
    )
    count, owners, numbered = row[0], dict(zip(row[1], row[2], strict=True)), set(zip(row[3], row[4], strict=True))
    winners = {} if count == len(answers) else await _read_winners(connection, answers)
    for item in answers:
        _resolve_answer(item, owners, winners)
    for item in intents:
        item.lane.stale |= owners.get(item.lane.run) != item.lane.epoch
        item.lane.settle_writes(1)
    group.answers, group.intents = [], []
    left: list[EventWrite] = []
    for lane in lanes:
        if again and (lane.run, lane.epoch) not in numbered:
            left += by_lane[lane]
            continue
        lane.stale |= (lane.run, lane.epoch) not in numbered
        lane.settle_writes(len(by_lane[lane]))
    group.events = left


def _list_answers(answers: Sequence[AnswerWrite]) -> tuple[str, ...]:
    return (
        text_array(item.lane.run for item in answers),
        text_array(item.entry.key for item in answers),
        array_literal(item.lane.epoch for item in answers),
        text_array(f"\\x{entry_digest(item.entry).hex()}" for item in answers),
        text_array(item.entry.meta for item in answers),
        text_array(item.entry.out for item in answers),
    )


def _list_intents(intents: Sequence[IntentWrite]) -> tuple[str, ...]:
    return (
        text_array(item.lane.run for item in intents),
        text_array(item.key for item in intents),
        array_literal(item.lane.epoch for item in intents),
    )


def _list_events(
    lanes: Sequence[AttemptWrites], by_lane: Mapping[AttemptWrites, Sequence[EventWrite]], expected: Mapping[str, int]
) -> tuple[str, ...]:
    ordered = [(number, event) for lane in lanes for number, event in enumerate(by_lane[lane], start=1)]
    return (
        text_array(lane.run for lane in lanes),
        array_literal(lane.epoch for lane in lanes),
        array_literal(len(by_lane[lane]) for lane in lanes),
        array_literal(expected.get(lane.run, -1) for lane in lanes),
        text_array(event.lane.run for _, event in ordered),
        array_literal(event.lane.epoch for _, event in ordered),
        array_literal(number for number, _ in ordered),
        text_array(event.type for _, event in ordered),
        text_array(event.key for _, event in ordered),
        text_array(event.path for _, event in ordered),
        array_literal(-1 if event.round is None else event.round for _, event in ordered),
        text_array(event.data for _, event in ordered),
        EVENT_CHANNEL,
    )


def _resolve_answer(
    item: AnswerWrite, owners: dict[str, int], winners: dict[tuple[str, str], Entry | JournalError]
) -> None:
    """Give a waiter the winning entry; a stale one gets `Stale`, even if its answer was stored."""
    lane, entry = item.lane, winners.get((item.lane.run, item.entry.key), item.entry)
    lane.stale |= owners.get(lane.run) != lane.epoch
    if isinstance(entry, Entry) and not lane.stale:
        lane.on_commit(entry)
    if not item.future.done():
        if lane.stale:
            item.future.set_exception(Stale(f"A newer attempt owns run {lane.run}."))
        elif isinstance(entry, JournalError):
            item.future.set_exception(entry)
        else:
            item.future.set_result(entry)
    lane.settle_writes(1)


async def _read_winners(
    connection: Connection, answers: Sequence[AnswerWrite]
) -> dict[tuple[str, str], Entry | JournalError]:
    """Read the journal for keys that were taken: the answer that was committed first wins."""
    runs, keys = [item.lane.run for item in answers], [item.entry.key for item in answers]
    cursor = await connection.execute(READ_WINNERS, (text_array(runs), text_array(keys)), prepare=False)
    found: dict[tuple[str, str], Entry | JournalError] = {}
    for run, key, stored, meta, out in await cursor.fetchall():
        try:
            found[run, key] = verify_entry(run, Entry(key, out, meta), stored)
        except JournalError as error:
            found[run, key] = error
    return found


async def _drop_committed(connection: Connection, group: CommitGroup) -> dict[str, int]:
    """Drop events that a first try has written after all, and events of stale attempts.

    Returns the last number of each run, which the repetition then expects.
    """
    runs = sorted({event.lane.run for event in group.events})
    cursor = await connection.execute(READ_EVENT_KEYS, (text_array(runs),), prepare=False)
    state = {run: (epoch, last, frozenset(keys)) for run, epoch, last, keys in await cursor.fetchall()}
    left: list[EventWrite] = []
    for event in group.events:
        epoch, _, stored = state.get(event.lane.run, (None, 0, frozenset[str]()))
        event.lane.stale |= epoch != event.lane.epoch
        if event.lane.stale or event.key in stored:
            event.lane.settle_writes(1)
        else:
            left.append(event)
    group.events = left
    return {run: last for run, (_, last, _) in state.items()}


async def _fetch_row(connection: Connection, sql: LiteralString, parameters: Sequence[object]) -> TupleRow:
    async with connection.cursor(binary=True) as cursor:
        await cursor.execute(sql, parameters, prepare=True)
        row = await cursor.fetchone()
    if row is None:
        raise JournalError("journal_statement", "The journal's statement returned nothing.")
    return row


def group_of_one(item: AnswerWrite | IntentWrite | EventWrite) -> CommitGroup:
    """Return a group with one item."""
    match item:
        case AnswerWrite():
            return CommitGroup([item], [], [])
        case IntentWrite():
            return CommitGroup([], [item], [])
        case EventWrite():
            return CommitGroup([], [], [item])


def fail_group(group: CommitGroup, error: JournalError) -> None:
    """Fail a group: its waiters get the error, and its lanes raise it at the next call."""
    for item in group.uncommitted_items():
        item.lane.error = error
        if isinstance(item, AnswerWrite) and not item.future.done():
            item.future.set_exception(error)
        item.lane.settle_writes(1)
    group.answers, group.intents, group.events = [], [], []
