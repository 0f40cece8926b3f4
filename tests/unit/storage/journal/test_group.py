"""Groups: a repetition after a commit of which nobody heard doubles nothing and loses nothing."""

from __future__ import annotations

import asyncio

import psycopg
import pytest

from corrobora.domain.run import Request
from corrobora.ports import Entry
from corrobora.storage.journal.commits import (
    AnswerWrite,
    AttemptWrites,
    CommitGroup,
    EventWrite,
    IntentWrite,
    commit_group,
    group_of_one,
)
from corrobora.storage.journal.events import read_events
from corrobora.storage.journal.runs import Runs
from corrobora.storage.postgres import Database, open_connection


async def lane(database: Database) -> tuple[AttemptWrites, dict[str, Entry]]:
    runs, seen = Runs(database), dict[str, Entry]()
    run = await runs.create(Request("Which?"))
    epoch = await runs.claim(run, "test")
    assert epoch is not None
    return AttemptWrites(run, epoch, lambda entry: seen.update({entry.key: entry})), seen


def group(on: AttemptWrites, *numbers: int) -> CommitGroup:
    loop = asyncio.get_running_loop()
    on.pending += 3 * len(numbers)
    return CommitGroup(
        [AnswerWrite(on, Entry(f"k{number}", str(number)), loop.create_future()) for number in numbers],
        [IntentWrite(on, f"k{number}") for number in numbers],
        [EventWrite(on, "thought", f"e{number}", "root", None, "{}") for number in numbers],
    )


async def test_a_group_that_had_committed_after_all_is_not_doubled(database: Database) -> None:
    on, seen = await lane(database)
    async with await open_connection(database.conninfo) as connection:
        await commit_group(connection, group(on, 1, 2), again=False)
        repeated = group(on, 1, 2, 3)
        answers = list(repeated.answers)
        await commit_group(connection, repeated, again=True)
    assert not repeated
    assert [answer.future.result() for answer in answers] == list(seen.values())
    assert [(event.seq, event.key) for event in await read_events(database, on.run)] == [
        (1, "e1"),
        (2, "e2"),
        (3, "e3"),
    ]
    assert await database.fetch_one("SELECT count(*) FROM journal") == (3,)
    assert on.pending == 0


async def test_a_group_of_an_old_attempt_keeps_its_answers_and_loses_its_events(database: Database) -> None:
    on, seen = await lane(database)
    await Runs(database).claim(on.run, "newer")
    for again in (False, True):
        async with await open_connection(database.conninfo) as connection:
            written = group(on, int(again))
            await commit_group(connection, written, again=again)
        assert not written
    assert on.stale
    assert seen == {}
    assert await database.fetch_one("SELECT count(*) FROM journal") == (2,)
    assert await database.fetch_one("SELECT count(*) FROM journal_intent") == (0,)
    assert await read_events(database, on.run) == []


async def test_writing_waits_for_a_claim_that_is_being_made(database: Database) -> None:
    on, _ = await lane(database)
    async with await open_connection(database.conninfo) as claiming, await open_connection(database.conninfo) as other:
        async with claiming.transaction():
            await claiming.execute("UPDATE runs SET epoch = epoch + 1 WHERE id = %s", [on.run])
            task = asyncio.create_task(commit_group(other, group(on, 1), again=False))
            while await database.fetch_one("SELECT count(*) FROM pg_locks WHERE NOT granted") == (0,):
                assert not task.done()
        await task
    assert on.stale, "the statement saw the owner that the claim made"
    assert await read_events(database, on.run) == []


async def test_answers_and_the_events_that_report_them_are_committed_in_one_transaction(database: Database) -> None:
    on, _ = await lane(database)
    async with await open_connection(database.conninfo) as connection:
        await commit_group(connection, group(on, 1, 2), again=False)
    rows = await database.fetch_all(
        "SELECT xmin::text FROM journal UNION ALL SELECT xmin::text FROM journal_intent"
        " UNION ALL SELECT xmin::text FROM run_events UNION ALL SELECT xmin::text FROM runs"
    )
    assert len(rows) == 7
    assert len(set(rows)) == 1


async def test_one_event_that_is_refused_holds_back_the_answers_of_its_group(database: Database) -> None:
    await database.execute("ALTER TABLE run_events ADD CHECK (key <> 'e2')")
    on, _ = await lane(database)
    async with await open_connection(database.conninfo) as connection:
        refused = group(on, 1, 2)
        with pytest.raises(psycopg.errors.CheckViolation):
            await commit_group(connection, refused, again=False)
    assert len(refused.uncommitted_items()) == 6, "the writer tries each alone"
    assert await database.fetch_one("SELECT count(*) FROM journal") == (0,)


async def test_programs_that_took_a_run_of_each_other_over_do_not_wait_for_each_other(database: Database) -> None:
    lanes = [await successive_lanes(database) for _ in range(2)]
    here = [lanes[0][0], lanes[1][1]]  # each program owns one run and does not know that it lost the other one
    there = [lanes[1][0], lanes[0][1]]
    async with await open_connection(database.conninfo) as one, await open_connection(database.conninfo) as other:
        for number in range(300):
            written = [
                join_groups(*(group(on, 2 * number + side) for on in on_both))
                for side, on_both in enumerate((here, there))
            ]
            answers = [item.future for each in written for item in each.answers]
            await asyncio.gather(
                commit_group(one, written[0], again=False), commit_group(other, written[1], again=False)
            )
            assert [each.exception() is None for each in answers] == [False, True, False, True]
    for (_, new), side in zip(lanes, (1, 0), strict=True):
        keys = [event.key for event in await read_events(database, new.run, limit=1_000)]
        assert keys == [f"e{2 * number + side}" for number in range(300)]


async def successive_lanes(database: Database) -> tuple[AttemptWrites, AttemptWrites]:
    """Two attempts at one run, the older one first."""
    old, _ = await lane(database)
    epoch = await Runs(database).claim(old.run, "newer")
    assert epoch is not None
    return old, AttemptWrites(old.run, epoch, lambda _: None)


def join_groups(*groups: CommitGroup) -> CommitGroup:
    return CommitGroup(
        [item for each in groups for item in each.answers],
        [item for each in groups for item in each.intents],
        [item for each in groups for item in each.events],
    )


async def test_one_of_each_kind_alone() -> None:
    on = AttemptWrites("r", 1, lambda _: None)
    assert [len(group_of_one(item).uncommitted_items()) for item in group(on, 1).uncommitted_items()] == [1, 1, 1]
