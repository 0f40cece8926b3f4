"""The event log: replay from any number, live following, lost notifications, the end of a run."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from corrobora.domain.errors import Stale, UserError
from corrobora.domain.run import Event, EventType, Request, RunId, RunStatus, Stage
from corrobora.storage.journal import JournalWriter, RunJournal
from corrobora.storage.journal.events import (
    Dialogues,
    EventLog,
    cancel_tasks,
    dialogue_run_id,
    last_event_number,
    new_dialogue,
    read_events,
    rewind_run,
)
from corrobora.storage.journal.runs import Runs
from corrobora.storage.postgres import Database


async def attempt(database: Database, writer: JournalWriter) -> RunJournal:
    runs = Runs(database)
    run = await runs.create(Request("Which?"))
    epoch = await runs.claim(run, "test")
    assert epoch is not None
    return await RunJournal.open(database, writer, run, epoch)


def event(key: str, kind: EventType = EventType.THOUGHT) -> Event:
    return Event(kind, key, "root", None, {"n": key})


async def numbers(log: EventLog, run: str, after: int = 0) -> Sequence[int]:
    return [each.seq async for each in log.follow(run, after)]


async def test_a_follower_gets_past_and_live_events_and_ends_with_the_run(database: Database) -> None:
    async with JournalWriter(database) as writer, EventLog(database) as log:
        journal = await attempt(database, writer)
        for number in range(5):
            journal.emit(event(str(number)))
        await journal.flush()
        followers = [asyncio.create_task(numbers(log, journal.run, after)) for after in (0, 3, 7)]
        for number in range(5, 1200):
            journal.emit(event(str(number)))
            if number % 100 == 0:
                await asyncio.sleep(0)
        journal.emit(event("end", EventType.RUN_FINISHED))
        for after, follower in zip((0, 3, 7), followers, strict=True):
            assert await follower == list(range(after + 1, 1202))


@pytest.mark.parametrize("status", [RunStatus.DONE, RunStatus.FAILED, RunStatus.CANCELLED])
async def test_a_follower_ends_when_the_run_is_final_without_a_last_event(
    database: Database, status: RunStatus
) -> None:
    async with JournalWriter(database) as writer, EventLog(database) as log:
        journal = await attempt(database, writer)
        follower = asyncio.create_task(numbers(log, journal.run))
        journal.emit(event("a"))
        await journal.flush()
        await Runs(database).finish(journal.run, journal.epoch, status)
        assert await follower == [1]
        assert await numbers(log, journal.run, 1) == []


async def test_a_follower_outlives_its_listening_connection(database: Database) -> None:
    async with JournalWriter(database) as writer, EventLog(database, poll_seconds=0.05) as log:
        journal = await attempt(database, writer)
        follower = asyncio.create_task(numbers(log, journal.run))
        for number in range(4):
            journal.emit(event(str(number)))
            await journal.flush()
            await database.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND query LIKE 'LISTEN%'"
            )
        journal.emit(event("end", EventType.RUN_FINISHED))
        assert await follower == [1, 2, 3, 4, 5]


class CountedLog(EventLog):
    """Counts how often it asks the database for a run."""

    looks = 0

    async def _look(self, *given: Any) -> Any:
        self.looks += 1
        return await super()._look(*given)


async def test_followers_of_one_run_share_what_they_read(database: Database) -> None:
    """A thousand listeners must not cost the database a thousand queries an event."""
    async with JournalWriter(database) as writer, CountedLog(database, poll_seconds=60) as log:
        journal = await attempt(database, writer)
        followers = [asyncio.create_task(numbers(log, journal.run)) for _ in range(40)]
        while log.looks < len(followers):  # noqa: ASYNC110 - until each has had its first look
            await asyncio.sleep(0.01)
        for number in range(5):
            journal.emit(event(str(number)))
            await journal.flush()
        journal.emit(event("end", EventType.RUN_FINISHED))
        assert await asyncio.gather(*followers) == [[1, 2, 3, 4, 5, 6]] * 40
        assert log.looks - len(followers) <= 2 * 6


class CountedDatabase:
    """A database that counts how often it is asked what has changed."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.looks = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._database, name)

    async def fetch_all(self, *given: Any, where: str = "") -> Any:
        self.looks += where == "looking for changes"
        return await self._database.fetch_all(*given, where=where)


async def test_what_is_notified_is_rarely_looked_for_and_what_is_not_always(database: Database) -> None:
    counted: Any = CountedDatabase(database)
    polls = 30
    async with JournalWriter(database) as writer, EventLog(counted, poll_seconds=0.05) as log:
        journal = await attempt(database, writer)
        follower = asyncio.create_task(numbers(log, journal.run))
        began = time.monotonic()
        for number in range(polls):
            journal.emit(event(str(number)))
            await journal.flush()
            await asyncio.sleep(0.05)
        heard, took = counted.looks, time.monotonic() - began
        await asyncio.sleep(took)
        assert heard <= (counted.looks - heard) / 2
        journal.emit(event("end", EventType.RUN_FINISHED))
        assert await follower == list(range(1, polls + 2))


async def test_a_follower_of_an_unknown_run_ends(database: Database) -> None:
    async with EventLog(database) as log:
        assert await numbers(log, "r_unknown") == []


async def test_the_end_of_a_run_that_was_rewound_is_not_its_end(database: Database) -> None:
    async with JournalWriter(database) as writer, EventLog(database) as log:
        journal = await attempt(database, writer)
        journal.emit(event("finished", EventType.RUN_FINISHED))
        await journal.flush()
        await rewind_run(database, await ended(database, journal), Stage.SYNTHESIZE)
        follower = asyncio.create_task(numbers(log, journal.run))
        epoch = await Runs(database).claim(journal.run, "again")
        assert epoch is not None
        again = await RunJournal.open(database, writer, journal.run, epoch)
        again.emit(event("finished", EventType.RUN_FINISHED))
        await again.flush()
        assert await follower == [1, 2]


async def ended(database: Database, journal: RunJournal) -> str:
    await Runs(database).finish(journal.run, journal.epoch, RunStatus.DONE)
    return journal.run


async def test_events_are_read_in_pages(database: Database) -> None:
    async with JournalWriter(database) as writer:
        journal = await attempt(database, writer)
        for number in range(10):
            journal.emit(event(str(number)))
        await journal.flush()
    assert (await last_event_number(database, journal.run), await last_event_number(database, "r_none")) == (10, 0)
    page = await read_events(database, journal.run, after=4, limit=3)
    assert [each.seq for each in page] == [5, 6, 7]
    assert page[0].data == {"n": "4"}


async def test_a_task_that_loses_a_cancellation_is_ended_all_the_same():
    lost: list[str] = []

    async def deaf() -> None:
        try:
            await asyncio.sleep(600)
        except asyncio.CancelledError:
            lost.append("once")
        await asyncio.sleep(600)

    async def broken() -> None:
        try:
            await asyncio.sleep(600)
        finally:
            raise OSError

    tasks = [asyncio.create_task(deaf()), asyncio.create_task(broken())]
    await asyncio.sleep(0)
    await cancel_tasks(*tasks)
    assert lost == ["once"]
    assert all(task.done() for task in tasks)


ASKED = Request("", "tree", libraries=("mill",))


async def test_tree_a_dialogue_is_kept_as_it_was_said(database: Database) -> None:
    dialogues = Dialogues(database)
    kept = await dialogues.save(replace(new_dialogue(ASKED), said="{}", pending="How long?"))
    found = await dialogues.get(kept.id)
    assert (found.request, found.said, found.pending, found.run, found.version) == (ASKED, "{}", "How long?", None, 1)
    assert found.updated_at


async def test_a_writer_that_saw_an_older_version_is_refused(database: Database) -> None:
    dialogues = Dialogues(database)
    first = await dialogues.save(new_dialogue(ASKED))
    assert (await dialogues.save(first)).version == 2
    with pytest.raises(Stale):
        await dialogues.save(first)


async def test_without_a_name_the_newest_one_without_a_run_is_meant(database: Database) -> None:
    dialogues = Dialogues(database)
    for row in await dialogues.list():
        await dialogues.remove(row.id)
    with pytest.raises(UserError, match="no dialogue to continue"):
        await dialogues.get("")
    waiting = await dialogues.save(new_dialogue(ASKED))
    ended = replace(new_dialogue(ASKED), run=RunId("r_1"))
    await dialogues.save(ended)
    assert (await dialogues.get("")).id == waiting.id
    assert [each.id for each in await dialogues.list()] == [ended.id, waiting.id]
    assert await dialogues.remove(ended.id)
    assert not await dialogues.remove(ended.id)
    with pytest.raises(UserError, match="There is no dialogue"):
        await dialogues.get(ended.id)


def test_one_dialogue_starts_one_run() -> None:
    assert dialogue_run_id("d_abc") == dialogue_run_id("d_abc") == "r_abc"
    assert new_dialogue(ASKED).id != new_dialogue(ASKED).id


async def test_nobody_listens_before_somebody_follows(database: Database) -> None:
    async def count_listeners() -> int:
        row = await database.fetch_one(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'"
            " AND pid <> pg_backend_pid()"
        )
        assert row is not None
        return row[0]

    async with EventLog(database) as log:
        await asyncio.sleep(0.1)
        assert not await count_listeners()
        with log.watch_runs(["r_1"]):
            async with asyncio.timeout(60):
                while not await count_listeners():
                    pass
