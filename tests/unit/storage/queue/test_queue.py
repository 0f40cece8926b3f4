"""The queue in one process: submit, cancel, deadlines, waiting for a person, hand-over, schedules."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from tests.unit.storage.queue.steady import Steady, lost_worker

from corrobora.domain.errors import JournalError
from corrobora.domain.run import Request, RunId, RunStatus
from corrobora.storage.journal.runs import Runs
from corrobora.storage.postgres import Database
from corrobora.storage.postgres.processes import this_process
from corrobora.storage.queue import SHARED_QUEUE, Queue, own_queue_name

HANG_SECONDS = 300.0  # only a test that hangs waits so long
Body = Callable[[RunId, int], Awaitable[None]]


@asynccontextmanager
async def working(database: Database, execute: Body, **options: float) -> AsyncIterator[asyncio.Event]:
    stop = asyncio.Event()
    queue = Queue(database)
    task = asyncio.create_task(
        queue.run_worker(execute, stop=stop, concurrency=10, grace_seconds=options.get("grace_seconds", 0.1))
    )
    try:
        yield stop
    finally:
        stop.set()
        await task


def doing(runs: Runs, seen: list[tuple[str, int]] | None = None) -> Body:
    async def execute(run: RunId, epoch: int) -> None:
        if seen is not None:
            seen.append((run, epoch))
        await runs.finish(run, epoch, RunStatus.DONE, outcome="complete")

    return execute


async def test_submitted_runs_are_executed_once_and_waited_for(database: Database) -> None:
    runs, queue, seen = Runs(database), Queue(database), list[tuple[str, int]]()
    made = [await runs.create(Request(f"Question {number}?")) for number in range(20)]
    assert all([await queue.submit(run) for run in made])
    async with working(database, doing(runs, seen)):
        standing = await queue.wait_for_runs(made, timeout_seconds=HANG_SECONDS)
    assert set(standing.values()) == {RunStatus.DONE}
    assert sorted(seen) == sorted((run, 1) for run in made)


async def test_submitting_twice_at_once_gives_one_attempt(database: Database) -> None:
    runs, queue, seen = Runs(database), Queue(database), list[tuple[str, int]]()
    run = await runs.create(Request("Which?"))
    submitted = await asyncio.gather(*(queue.submit(run) for _ in range(8)))
    assert sum(submitted) == 1
    async with working(database, doing(runs, seen)):
        await queue.wait_for_runs([run], timeout_seconds=HANG_SECONDS)
    assert seen == [(run, 1)]
    assert not await queue.submit(run), "a final run takes no attempt"


async def test_a_worker_of_one_run_leaves_the_others_alone_and_ends_with_it(database: Database) -> None:
    runs, queue, seen = Runs(database), Queue(database), list[tuple[str, int]]()
    mine, other = [await runs.create(Request("Which?")) for _ in range(2)]
    await queue.submit(mine, own=True)
    await queue.submit(other)
    await queue.run_worker(doing(runs, seen), until=[mine])
    assert seen == [(mine, 1)]
    assert (await runs.get(other)).status is RunStatus.QUEUED
    assert own_queue_name(mine) != SHARED_QUEUE
    assert len(f"procrastinate_queue_v1#{own_queue_name('x' * 64)}") < 64, "names of channels are short"


async def test_a_run_that_waits_for_a_fleet_may_be_taken_by_a_command(database: Database) -> None:
    runs, queue, seen = Runs(database), Queue(database), list[tuple[str, int]]()
    run = await runs.create(Request("Which?"))
    assert await queue.submit(run)
    assert await queue.submit(run, own=True)
    assert not await queue.submit(run, own=True)
    await queue.run_worker(doing(runs, seen), until=[run])
    assert seen == [(run, 1)]


async def test_waiting_for_a_person_costs_no_job_and_the_answer_starts_the_next_attempt(database: Database) -> None:
    runs, queue = Runs(database), Queue(database)

    async def execute(run: RunId, epoch: int) -> None:
        if "plan" in await runs.read_answers(run):
            await runs.finish(run, epoch, RunStatus.DONE, outcome="complete")
        else:
            await runs.finish(run, epoch, RunStatus.AWAITING)

    run = await runs.create(Request("Which?"))
    await queue.submit(run)
    async with working(database, execute):
        assert await queue.wait_for_runs([run], timeout_seconds=HANG_SECONDS) == {run: RunStatus.AWAITING}
        await runs.store_answer(run, "plan", "yes")
        assert await queue.submit(run)
        assert await queue.wait_for_runs([run], timeout_seconds=HANG_SECONDS) == {run: RunStatus.DONE}
    assert (await runs.get(run)).epoch == 2


async def test_a_running_attempt_is_cancelled(database: Database) -> None:
    runs, queue = Runs(database), Queue(database)
    begun = asyncio.Event()

    async def execute(_run: RunId, _epoch: int) -> None:
        begun.set()
        await asyncio.Event().wait()

    run = await runs.create(Request("Which?"))
    await queue.submit(run)
    async with working(database, execute):
        await begun.wait()
        assert await queue.cancel(run)
        assert await queue.wait_for_runs([run], timeout_seconds=HANG_SECONDS) == {run: RunStatus.CANCELLED}
    assert not await queue.cancel(run)


async def test_a_run_that_is_cancelled_while_it_begins_to_wait_does_not_wait(database: Database) -> None:
    runs, queue = Runs(database), Queue(database)
    asked = await runs.create(Request("Which?"))
    epoch = await runs.claim(asked, "test")
    assert epoch is not None
    await database.execute("UPDATE runs SET cancel_requested = true WHERE id = %s", [asked], where="a test")
    await runs.finish(asked, epoch, RunStatus.AWAITING, reason="The plan waits.")
    row = await runs.get(asked)
    assert (row.status, row.outcome, row.reason) == (RunStatus.CANCELLED, "cancelled", "")
    standing: list[RunStatus] = []

    async def execute(run: RunId, epoch: int) -> None:
        await runs.finish(run, epoch, RunStatus.AWAITING)
        await queue.cancel(run)  # its job has not ended
        standing.append((await runs.get(run)).status)

    run = await runs.create(Request("Which?"))
    await queue.submit(run, own=True)
    await queue.run_worker(execute, until=[run])
    assert (await runs.get(run)).status is RunStatus.CANCELLED
    assert standing in ([RunStatus.CANCELLED], [])  # unless it was stopped before it looked


async def test_a_waiting_run_is_cancelled_without_a_worker(database: Database) -> None:
    runs, queue = Runs(database), Queue(database)
    run = await runs.create(Request("Which?"))
    await queue.submit(run)
    assert await queue.cancel(run)
    assert (await runs.get(run)).status is RunStatus.CANCELLED
    assert await runs.claim(run, "test") is None


async def test_an_error_of_an_attempt_ends_its_run_and_says_why(database: Database) -> None:
    runs, queue = Runs(database), Queue(database)

    async def execute(_run: RunId, _epoch: int) -> None:
        raise JournalError("journal_damaged", "The stored answer to 'k' is damaged.")

    run = await runs.create(Request("Which?"))
    await queue.submit(run)
    async with working(database, execute):
        await queue.wait_for_runs([run], timeout_seconds=HANG_SECONDS)
    row = await runs.get(run)
    assert (row.status, row.reason) == (RunStatus.FAILED, "The stored answer to 'k' is damaged.")


async def test_a_worker_that_leaves_hands_its_run_to_the_next(database: Database) -> None:
    runs, queue = Runs(database), Queue(database)
    begun = asyncio.Event()

    async def endless(_run: RunId, _epoch: int) -> None:
        begun.set()
        await asyncio.Event().wait()

    run = await runs.create(Request("Which?"))
    await queue.submit(run)
    async with working(database, endless):
        await begun.wait()
    assert (await runs.get(run)).status is RunStatus.QUEUED
    async with working(database, doing(runs)):
        assert await queue.wait_for_runs([run], timeout_seconds=HANG_SECONDS) == {run: RunStatus.DONE}
    assert (await runs.get(run)).epoch == 2


async def test_a_worker_that_is_cancelled_hands_its_run_over_too(database: Database) -> None:
    runs, queue, begun = Runs(database), Queue(database), asyncio.Event()

    async def endless(_run: RunId, _epoch: int) -> None:
        begun.set()
        await asyncio.Event().wait()

    run = await runs.create(Request("Which?"))
    await queue.submit(run, own=True)
    task = asyncio.create_task(queue.run_worker(endless, until=[run], grace_seconds=0))
    await begun.wait()
    task.cancel()
    await asyncio.wait({task})
    assert task.cancelled()
    assert (await runs.get(run)).status is RunStatus.INTERRUPTED, "it waits for its person, who ended the command"


async def test_a_run_without_a_live_job_is_queued_again(database: Database) -> None:
    runs, queue = Runs(database), Queue(database)
    run = await runs.create(Request("Which?"))
    await queue.submit(run)
    await database.execute("DELETE FROM procrastinate_jobs")
    await database.execute("UPDATE runs SET updated_at = now()")
    assert (await queue.sweep()).requeued == 0, "fresh changes are left alone"
    await database.execute("UPDATE runs SET updated_at = now() - interval '1 minute'")
    swept = await asyncio.gather(*(queue.sweep() for _ in range(4)))
    assert sum(each.requeued for each in swept) == 1
    assert await database.fetch_one("SELECT count(*) FROM procrastinate_jobs WHERE status = 'todo'") == (1,)


async def test_what_a_dead_worker_left_is_closed_once_and_goes_on_as_a_new_row(database: Database) -> None:
    runs, queue = Runs(database), Queue(database)
    run = await runs.create(Request("Which?"))
    await queue.submit(run)
    await lost_worker(database, run)
    steady = Steady()
    queues = [steady.open_queue(database) for _ in range(4)]
    for _ in range(15):
        assert sum([(await each.sweep()).closed for each in queues]) == 0
        steady.at += 1
    steady.at += 1
    swept = await asyncio.gather(*(each.sweep() for each in queues))
    assert sum(each.closed for each in swept) == 1
    rows = await database.fetch_all("SELECT status::text, attempts FROM procrastinate_jobs ORDER BY id")
    assert rows == [("failed", 1), ("todo", 1)]


async def test_a_command_that_died_leaves_an_interrupted_run_that_its_person_resumes(database: Database) -> None:
    runs, queue = Runs(database), Queue(database)
    run = await runs.create(Request("Which?"))
    await queue.submit(run, own=True)
    await lost_worker(database, run)
    steady = Steady()
    await steady.sweep(steady.open_queue(database), 16)
    assert (await runs.get(run)).status is RunStatus.INTERRUPTED
    assert await queue.submit(run, own=True)
    await queue.run_worker(doing(runs), until=[run])
    assert (await runs.get(run)).status is RunStatus.DONE


async def test_a_person_need_not_wait_for_the_heartbeats_of_a_command_that_was_killed_here(database: Database) -> None:
    runs, queue = Runs(database), Queue(database)
    run = await runs.create(Request("Which?"))
    await queue.submit(run, own=True)
    await lost_worker(database, run)
    machine = this_process().split("/")[0]
    await database.execute("UPDATE runs SET owner = %s", [f"{machine}/{os.getpid()}/1.00"])
    assert await queue.submit(run, own=True)
    rows = await database.fetch_all("SELECT status::text FROM procrastinate_jobs ORDER BY id")
    assert rows == [("failed",), ("todo",)]
    await queue.run_worker(doing(runs), until=[run])
    row = await runs.get(run)
    assert (row.status, row.epoch) == (RunStatus.DONE, 2)


async def test_a_worker_that_is_seen_to_have_ended_is_dead_after_three_heartbeats(database: Database) -> None:
    runs, steady = Runs(database), Steady()
    queue = steady.open_queue(database)
    run = await runs.create(Request("Which?"))
    await queue.submit(run)
    await lost_worker(database, run)
    ended = f"{this_process().split('/')[0]}/{os.getpid()}/1.00"
    assert (await steady.sweep(queue, 5)).closed == 0, "it cannot be seen"
    await database.execute("UPDATE runs SET owner = %s", [this_process()])
    assert (await queue.sweep()).closed == 0, "it is busy"
    await database.execute("UPDATE runs SET owner = %s, status = 'queued'", [ended])
    assert (await queue.sweep()).closed == 0, "that is who had the run before; who has it now has not said so"
    await database.execute("UPDATE runs SET status = 'running'")
    assert (await queue.sweep()).closed == 1
    assert (await runs.get(run)).status is RunStatus.QUEUED


async def test_the_run_of_a_dead_worker_is_cancelled_at_once(database: Database) -> None:
    runs, queue = Runs(database), Queue(database)
    run = await runs.create(Request("Which?"))
    await queue.submit(run)
    await lost_worker(database, run)
    assert await queue.cancel(run)
    assert (await runs.get(run)).status is RunStatus.CANCELLED
    assert (await queue.sweep()).requeued == 0
    assert (await runs.get(run)).status is RunStatus.CANCELLED


async def test_the_error_of_an_outage_does_not_end_a_run(database: Database) -> None:
    runs, queue, tries = Runs(database), Queue(database), list[int]()

    async def execute(run: RunId, epoch: int) -> None:
        tries.append(epoch)
        if len(tries) == 1:
            await database.execute("UPDATE runs SET updated_at = now() - interval '1 minute'")
            raise JournalError("database_down", "The database does not answer.")
        await runs.finish(run, epoch, RunStatus.DONE)

    run = await runs.create(Request("Which?"))
    await queue.submit(run)
    async with working(database, execute):
        assert await queue.wait_for_runs([run], timeout_seconds=HANG_SECONDS) == {run: RunStatus.DONE}
    assert tries == [1, 2]


@pytest.mark.parametrize("own", [True, False])
async def test_a_full_disk_is_told_by_the_command_of_a_run_or_else_by_its_worker(
    database: Database, caplog: pytest.LogCaptureFixture, *, own: bool
) -> None:
    runs, queue, stop = Runs(database), Queue(database), asyncio.Event()

    async def execute(run: RunId, epoch: int) -> None:
        await runs.finish(run, epoch, RunStatus.INTERRUPTED)
        stop.set()
        raise JournalError("database_full", "The disk of the database is full.")

    run = await runs.create(Request("Which?"))
    await queue.submit(run, own=own)
    await queue.run_worker(execute, until=(run,) if own else None, stop=stop)
    told = [each for each in caplog.records if "disk" in each.message and each.levelname == "WARNING"]
    assert bool(told) is not own


async def test_an_attempt_that_was_overtaken_leaves_the_run_to_its_new_owner(database: Database) -> None:
    runs, queue, overtaken = Runs(database), Queue(database), asyncio.Event()

    async def execute(run: RunId, epoch: int) -> None:
        assert await runs.claim(run, "another worker") == epoch + 1

        async def write() -> None:
            await runs.finish(run, epoch, RunStatus.DONE)

        overtaken.set()
        async with asyncio.TaskGroup() as group:
            group.create_task(write())

    run = await runs.create(Request("Which?"))
    await queue.submit(run)
    async with working(database, execute):
        await overtaken.wait()
    row = await runs.get(run)
    assert (row.status, row.epoch, row.reason) == (RunStatus.RUNNING, 2, "")


async def test_a_run_whose_workers_keep_dying_is_given_up(database: Database) -> None:
    runs, queue = Runs(database), Queue(database)
    run = await runs.create(Request("Which?"))
    await queue.submit(run)
    await database.execute("UPDATE procrastinate_jobs SET attempts = 24")
    await lost_worker(database, run)
    steady = Steady()
    await steady.sweep(steady.open_queue(database), 16)
    row = await runs.get(run)
    assert (row.status, row.reason) == (RunStatus.FAILED, "its worker died 25 times in a row")


async def test_a_pruned_worker_goes_on(database: Database) -> None:
    runs, queue, seen = Runs(database), Queue(database), list[tuple[str, int]]()
    async with working(database, doing(runs, seen)):
        await queue.submit(first := await runs.create(Request("Which?")))
        await queue.wait_for_runs([first], timeout_seconds=HANG_SECONDS)
        assert await database.execute("DELETE FROM procrastinate_workers") == 1
        run = await runs.create(Request("Which?"))
        await queue.submit(run)
        assert await queue.wait_for_runs([run], timeout_seconds=HANG_SECONDS) == {run: RunStatus.DONE}


async def test_who_works_on_a_run_does_not_take_himself_for_dead_after_a_long_sleep(database: Database) -> None:
    runs, queue, begun, end = Runs(database), Queue(database), asyncio.Event(), asyncio.Event()

    async def execute(run: RunId, epoch: int) -> None:
        begun.set()
        await end.wait()
        await runs.finish(run, epoch, RunStatus.DONE)

    run = await runs.create(Request("Which?"))
    await queue.submit(run, own=True)
    work = asyncio.create_task(queue.run_worker(execute, until=[run]))
    await begun.wait()
    closed = 0
    for _ in range(20):  # its own sweeper looks as well, whenever it likes
        await database.execute("UPDATE procrastinate_workers SET last_heartbeat = now() - interval '1 hour'")
        closed += (await queue.sweep()).closed
    standing = (await runs.get(run)).status
    end.set()
    await work
    assert (closed, standing) == (0, RunStatus.RUNNING)
    row = await runs.get(run)
    assert (row.status, row.epoch) == (RunStatus.DONE, 1)
