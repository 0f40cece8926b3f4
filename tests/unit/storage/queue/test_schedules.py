"""Schedules: cron lines, and each turn taken exactly once."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import pytest

from corrobora.domain.errors import UserError
from corrobora.domain.run import Request
from corrobora.storage.journal.runs import Runs
from corrobora.storage.postgres import Database
from corrobora.storage.queue import SHARED_QUEUE, Queue, Schedules, next_run_time
from corrobora.storage.queue.statements import ATTEMPT_TASK


async def test_a_schedule_has_each_turn_exactly_once_over_all_workers(database: Database) -> None:
    schedules, runs = Schedules(database), Runs(database)
    await schedules.save("weekly", "0 7 * * 1", Request("What is new?"))
    assert await schedules.start_due_runs(ATTEMPT_TASK, SHARED_QUEUE) == []
    await database.execute("UPDATE schedule SET next_at = now() - interval '15 days'")
    made = await asyncio.gather(*(schedules.start_due_runs(ATTEMPT_TASK, SHARED_QUEUE) for _ in range(4)))
    (run,) = [run for turn in made for run in turn]
    assert (await runs.get(run)).request == Request("What is new?")
    (schedule,) = await schedules.list()
    assert schedule.last_run == run
    assert datetime.fromisoformat(schedule.next_at) > datetime.now(UTC)
    assert await database.fetch_one("SELECT count(*) FROM procrastinate_jobs WHERE lock = %s", [run]) == (1,)
    assert await schedules.remove("weekly")


def test_a_cron_line_names_the_next_turn() -> None:
    friday = datetime(2026, 11, 20, 12, tzinfo=UTC)
    assert next_run_time("0 7 * * 1", friday) == datetime(2026, 11, 23, 7, tzinfo=UTC)
    for wrong in (
        "every monday",
        "0 7 * *",
        "* * * * * *",
        "0 7 * * 1 2026",
        "99 * * * *",
        "0 7 31 2 *",
        "R * * * *",
        "0 r(1-5) * * 1",
        "\x1b[31m * * * *",
    ):
        with pytest.raises(UserError, match="is not a cron line of five columns that has a next time") as told:
            next_run_time(wrong, friday)
        assert "\x1b" not in str(told.value)


async def test_a_sweep_gives_due_schedules_their_turn(database: Database) -> None:
    schedules, queue = Schedules(database), Queue(database)
    await schedules.save("weekly", "0 7 * * 1", Request("What is new?"))
    await schedules.save("weekly", "0 8 * * 1", Request("What is new today?"))
    await database.execute("UPDATE schedule SET next_at = now()")
    swept = await asyncio.gather(queue.sweep(), queue.sweep(), queue.sweep())
    assert sum(each.scheduled for each in swept) == 1
    (run,) = await Runs(database).list()
    assert run.request == Request("What is new today?")


async def test_a_turn_begins_when_the_one_before_has_ended(database: Database) -> None:
    """Two turns of a watch at once would compare with the same report and tell the same news twice."""
    schedules = Schedules(database)
    await schedules.save("often", "* * * * *", Request("What is new?"))
    await database.execute("UPDATE schedule SET next_at = now()")
    (first,) = await schedules.start_due_runs(ATTEMPT_TASK, SHARED_QUEUE)
    await database.execute("UPDATE schedule SET next_at = now()")
    assert await schedules.start_due_runs(ATTEMPT_TASK, SHARED_QUEUE) == []
    await database.execute("UPDATE runs SET status = 'done' WHERE id = %s", [first])
    assert len(await schedules.start_due_runs(ATTEMPT_TASK, SHARED_QUEUE)) == 1
