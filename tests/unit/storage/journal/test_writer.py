"""The writer: grouping, bad rows, outages that end and outages that do not."""

from __future__ import annotations

import asyncio

import psycopg
import pytest
from psycopg import sql

from corrobora.domain.errors import JournalError
from corrobora.domain.run import Event, EventType, Request
from corrobora.ports import Entry
from corrobora.storage.journal import JournalWriter, RunJournal
from corrobora.storage.journal.events import read_events
from corrobora.storage.journal.runs import Runs
from corrobora.storage.postgres import Database


async def attempt(database: Database, writer: JournalWriter) -> RunJournal:
    runs = Runs(database)
    run = await runs.create(Request("Which?"))
    epoch = await runs.claim(run, "test")
    assert epoch is not None
    return await RunJournal.open(database, writer, run, epoch)


def thought(number: int) -> Event:
    return Event(EventType.THOUGHT, f"e{number}", "root", number, {})


class Outage:
    """A database that refuses everybody, as one that is down does."""

    def __init__(self, server: str, url: str) -> None:
        self._server = server
        with psycopg.connect(url) as connection:
            self._name = connection.info.dbname

    def begin(self) -> None:
        with psycopg.connect(self._server, autocommit=True) as connection:
            connection.execute(sql.SQL("ALTER DATABASE {} ALLOW_CONNECTIONS false").format(sql.Identifier(self._name)))
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [self._name]
            )

    def end(self) -> None:
        with psycopg.connect(self._server, autocommit=True) as connection:
            connection.execute(sql.SQL("ALTER DATABASE {} ALLOW_CONNECTIONS true").format(sql.Identifier(self._name)))


async def test_what_was_answered_in_an_outage_is_written_after_it(
    database: Database, database_server: str, database_url: str
) -> None:
    outage = Outage(database_server, database_url)
    async with JournalWriter(database) as writer:
        journal = await attempt(database, writer)
        await journal.put(Entry("before", "1"))
        journal.emit(thought(0))
        await journal.flush()
        outage.begin()
        puts = [asyncio.create_task(journal.put(Entry(f"k{number}", str(number)))) for number in range(50)]
        for number in range(1, 30):
            journal.emit(thought(number))
        journal.begin("sent")
        done, _ = await asyncio.wait(puts, timeout=0.2)
        assert not done
        outage.end()
        await asyncio.gather(*puts)
        await journal.flush()
        events = await read_events(database, journal.run)
        assert [(event.seq, event.key) for event in events] == [(n + 1, f"e{n}") for n in range(30)]
    assert await database.fetch_one("SELECT count(*) FROM journal") == (51,)


async def test_an_outage_without_end_reaches_whoever_waits(
    database: Database, database_server: str, database_url: str
) -> None:
    outage = Outage(database_server, database_url)
    async with JournalWriter(database, patience_seconds=0.2) as writer:
        journal = await attempt(database, writer)
        outage.begin()
        journal.emit(thought(1))
        with pytest.raises(JournalError) as caught:
            await journal.put(Entry("k", "1"))
        assert caught.value.next_step
        with pytest.raises(JournalError):
            await journal.flush()
        with pytest.raises(JournalError):
            journal.emit(thought(2))
        outage.end()
        other = await attempt(database, writer)
        assert await other.put(Entry("k", "1")) == Entry("k", "1"), "the writer itself goes on"


async def test_one_run_that_the_database_refuses_does_not_take_the_others_with_it(database: Database) -> None:
    await database.execute("ALTER TABLE journal ADD CHECK (key <> 'refused')")
    await database.execute("ALTER TABLE run_events ADD CHECK (key <> 'e13')")
    async with JournalWriter(database) as writer:
        good, bad = [await attempt(database, writer) for _ in range(2)]
        results = await asyncio.gather(
            *(good.put(Entry(f"k{number}", "1")) for number in range(20)),
            bad.put(Entry("refused", "1")),
            return_exceptions=True,
        )
        assert sum(isinstance(result, Entry) for result in results) == 20
        assert isinstance(results[-1], JournalError)
        refused = await attempt(database, writer)
        for number in range(20, 40):
            good.emit(thought(number))
            if number == 30:
                refused.emit(thought(13))
        await good.flush()
        with pytest.raises(JournalError):
            await refused.flush()
        assert [event.seq for event in await read_events(database, good.run)] == list(range(1, 21))


async def test_leaving_the_writer_writes_what_is_left(database: Database) -> None:
    async with JournalWriter(database) as writer:
        journal = await attempt(database, writer)
        for number in range(100):
            journal.emit(thought(number))
    assert len(await read_events(database, journal.run)) == 100
    with pytest.raises(JournalError, match="closed"):
        journal.emit(thought(101))


async def test_more_than_one_group_fits_is_written_in_several(database: Database) -> None:
    async with JournalWriter(database) as writer:
        journal = await attempt(database, writer)
        await asyncio.gather(*(journal.put(Entry(f"k{number}", "1")) for number in range(2500)))
        for number in range(2500):
            journal.emit(thought(number))
        await journal.flush()
        assert writer.flushes >= 6
    assert await database.fetch_one("SELECT count(*), max(seq) FROM run_events") == (2500, 2500)
    assert await database.fetch_one("SELECT count(*) FROM journal") == (2500,)
