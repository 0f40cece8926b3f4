"""The journal of one attempt: answers, intents, events, fencing and damage, against a real database."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import LiteralString

import pytest

from corrobora.domain.errors import JournalError, Stale
from corrobora.domain.run import Event, EventType, Request
from corrobora.ports import Entry
from corrobora.storage.journal import JournalWriter, RunJournal
from corrobora.storage.journal.events import read_events
from corrobora.storage.journal.runs import Runs
from corrobora.storage.postgres import Database
from corrobora.testing.conformance import check_journal


async def attempt(database: Database, writer: JournalWriter, run: str | None = None) -> RunJournal:
    runs = Runs(database)
    identity = run or await runs.create(Request("Which of the two holds?"))
    epoch = await runs.claim(identity, "test")
    assert epoch is not None
    return await RunJournal.open(database, writer, identity, epoch)


def thought(key: str) -> Event:
    return Event(EventType.THOUGHT, key, "root", 1, {"text": "ein Gedanke, \u00fc\ud800\x00"})


async def wait_for_rows(database: Database, query: LiteralString) -> None:
    """Wait until a query gives rows, at most ten seconds."""
    for _ in range(1_000):
        if await database.fetch_all(query):
            return
        await asyncio.sleep(0.01)
    raise AssertionError(query)


async def test_an_answer_is_committed_and_found_again_by_the_next_attempt(database: Database) -> None:
    async with JournalWriter(database) as writer:
        first = await attempt(database, writer)
        entry = Entry("root/1/extract", '{"a": "\\u0000"}', '{"model": "m"}')
        assert first.get(entry.key) is None
        assert await first.put(entry) == entry
        assert first.get(entry.key) == entry
        second = await attempt(database, writer, first.run)
        assert second.epoch == first.epoch + 1
        assert second.get(entry.key) == entry
        assert second.keys("root/1") == [entry.key]
        assert second.keys("root/2") == []


async def test_it_keeps_the_contract_of_the_port(database: Database) -> None:
    async with JournalWriter(database) as writer:
        run = await Runs(database).create(Request("Which?"))
        await check_journal(lambda: attempt(database, writer, run))


async def test_what_was_not_paid_for_counts_at_once_and_shares_the_commit_of_the_next_answer(
    database: Database,
) -> None:
    async with JournalWriter(database) as writer:
        journal = await attempt(database, writer)
        before = writer.flushes
        pages = [Entry(f"read#{number}", "{}") for number in range(8)]
        assert [await journal.put(page, wait=False) for page in pages] == pages
        assert journal.get("read#7") == pages[7], "whoever needs it does not wait for its commit"
        await journal.put(Entry("root/extract", "{}"))
        assert writer.flushes == before + 1
        later = await attempt(database, writer, journal.run)
        assert len(later.keys()) == 9, "what an answer was made of is never committed after it"


async def test_events_share_the_commit_of_the_answer_that_follows_and_are_not_held_back_without_one(
    database: Database,
) -> None:
    async with JournalWriter(database) as writer:
        journal = await attempt(database, writer)
        before = writer.flushes
        for number in range(5):
            journal.emit(thought(f"e{number}"))
            await asyncio.sleep(0.03)  # an intent would be written by now
        await journal.put(Entry("root/extract", "{}"))
        await journal.flush()
        assert writer.flushes <= before + 2, "one with the answer, and one more where this machine was slow"
        journal.emit(thought("alone"))
        await wait_for_rows(database, "SELECT 1 FROM run_events WHERE key = 'alone'")


async def test_a_call_about_to_be_sent_is_noted_at_once_though_events_could_wait(
    database: Database,
) -> None:
    async with JournalWriter(database, event_seconds=60.0) as writer:
        journal = await attempt(database, writer)
        journal.emit(thought("a"))
        journal.begin("sent")
        await wait_for_rows(database, "SELECT 1 FROM journal_intent")


async def test_many_answers_at_once_are_committed_in_few_groups(database: Database) -> None:
    async with JournalWriter(database) as writer:
        journals = [await attempt(database, writer) for _ in range(5)]
        puts = [journal.put(Entry(f"k{number}", f'"{number}"')) for journal in journals for number in range(100)]
        assert len(await asyncio.gather(*puts)) == 500
        assert writer.flushes < 20
    row = await database.fetch_one("SELECT count(*) FROM journal")
    assert row == (500,)


async def test_a_second_answer_to_a_key_gets_the_first(database: Database) -> None:
    async with JournalWriter(database) as writer:
        journal = await attempt(database, writer)
        first, second = await asyncio.gather(journal.put(Entry("k", "1")), journal.put(Entry("k", "2")))
        assert first == second == Entry("k", "1")
        assert await journal.put(Entry("k", "3")) == first


async def test_two_attempts_in_one_process_adopt_the_winner_and_the_old_one_is_stale(database: Database) -> None:
    async with JournalWriter(database) as writer:
        old = await attempt(database, writer)
        new = await attempt(database, writer, old.run)
        results = await asyncio.gather(old.put(Entry("k", "old")), new.put(Entry("k", "new")), return_exceptions=True)
        assert isinstance(results[0], Stale)
        assert results[1] == new.get("k") == Entry("k", "old"), "the late answer is paid, and was first"
        with pytest.raises(Stale):
            await old.put(Entry("k2", "x"))


async def test_a_late_answer_is_kept_where_its_key_is_free(database: Database) -> None:
    async with JournalWriter(database) as writer:
        old = await attempt(database, writer)
        await attempt(database, writer, old.run)
        with pytest.raises(Stale):
            await old.put(Entry("late", "1"))
        third = await attempt(database, writer, old.run)
        assert third.get("late") == Entry("late", "1")


async def test_events_of_an_old_attempt_are_refused(database: Database) -> None:
    async with JournalWriter(database) as writer:
        old = await attempt(database, writer)
        old.emit(thought("a"))
        await old.flush()
        new = await attempt(database, writer, old.run)
        old.emit(thought("b"))
        with pytest.raises(Stale):
            await old.flush()
        new.emit(thought("a"))
        new.emit(thought("c"))
        new.emit(thought("c"))
        await new.flush()
        events = await read_events(database, old.run)
        assert [(event.seq, event.key) for event in events] == [(1, "a"), (2, "c")]
        assert events[0].data == {"text": "ein Gedanke, \u00fc\ud800\x00"}
        assert events[0].round == 1
        assert events[0].at.endswith("+00:00")


async def test_a_begun_call_without_an_answer_is_uncertain_for_the_next_attempt(database: Database) -> None:
    async with JournalWriter(database) as writer:
        first = await attempt(database, writer)
        first.begin("sent")
        first.begin("answered")
        await first.put(Entry("answered", "1"))
        await first.flush()
        assert first.uncertain_keys() == []
        second = await attempt(database, writer, first.run)
        assert second.uncertain_keys() == ["sent"]
        await second.put(Entry("sent", "2"))
        assert second.uncertain_keys() == []


async def test_a_flipped_bit_is_found_and_named(database: Database) -> None:
    async with JournalWriter(database) as writer:
        journal = await attempt(database, writer)
        await journal.put(Entry("root/1/extract", '{"n": 10}'))
        await database.execute("UPDATE journal SET out = replace(out, '10', '11')")
        with pytest.raises(JournalError, match="root/1/extract") as caught:
            await attempt(database, writer, journal.run)
        assert caught.value.code == "journal_damaged"


@pytest.mark.parametrize("entry", [Entry("k\x00", "1"), Entry("k", "\x00"), Entry("k", "\ud800")])
async def test_text_that_no_database_can_hold_is_refused_alone(database: Database, entry: Entry) -> None:
    async with JournalWriter(database) as writer:
        journal = await attempt(database, writer)
        results = await asyncio.gather(journal.put(Entry("good", "1")), journal.put(entry), return_exceptions=True)
        assert results[0] == Entry("good", "1")
        assert isinstance(results[1], JournalError)
        assert results[1].code == "journal_text"


async def test_a_cancelled_waiter_does_not_lose_the_answer(database: Database) -> None:
    async with JournalWriter(database) as writer:
        journal = await attempt(database, writer)
        task = asyncio.create_task(journal.put(Entry("k", "1")))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await journal.flush()
        assert journal.get("k") == Entry("k", "1")


async def test_the_writer_goes_on_after_its_connection_was_cut(database: Database) -> None:
    async with JournalWriter(database) as writer:
        journal = await attempt(database, writer)
        for number in range(20):
            if number % 5 == 0:
                await database.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
                    " AND datname = current_database()"
                )
            journal.emit(thought(f"e{number}"))
            await journal.put(Entry(f"k{number}", str(number)))
        await journal.flush()
        events = await read_events(database, journal.run)
        assert [event.seq for event in events] == list(range(1, 21))
        assert [event.key for event in events] == [f"e{number}" for number in range(20)]
    row = await database.fetch_one("SELECT count(*) FROM journal")
    assert row == (20,)


async def test_a_removed_run_makes_its_attempt_stale(database: Database) -> None:
    async with JournalWriter(database) as writer:
        journal = await attempt(database, writer)
        assert await Runs(database).remove(journal.run)
        with pytest.raises(Stale):
            await journal.put(Entry("k", "1"))
    assert await database.fetch_one("SELECT count(*) FROM journal") == (0,)


async def test_eight_writers_on_one_run_leave_no_gap(database: Database) -> None:
    async with AsyncExitStack() as stack:
        writers = [await stack.enter_async_context(JournalWriter(database)) for _ in range(8)]
        first = await attempt(database, writers[0])
        journals = [await RunJournal.open(database, writer, first.run, first.epoch) for writer in writers]
        for number in range(50):
            for index, journal in enumerate(journals):
                journal.emit(thought(f"{index}/{number}"))
            await asyncio.sleep(0)
        await asyncio.gather(*(journal.flush() for journal in journals))
        events = await read_events(database, first.run)
        assert [event.seq for event in events] == list(range(1, 401))
        assert len({event.key for event in events}) == 400
