"""The statements of the queue touch the library's tables: the columns they rely on are there, as they rely on them."""

from __future__ import annotations

import asyncio
import time
from importlib.metadata import version

from corrobora.storage.postgres import Database
from corrobora.storage.queue.statements import RateLimiter


async def test_the_library_has_the_columns_that_the_statements_use(database: Database) -> None:
    rows = await database.fetch_all(
        "SELECT table_name, column_name FROM information_schema.columns WHERE table_name LIKE 'procrastinate%'"
    )
    jobs = {column for table, column in rows if table == "procrastinate_jobs"}
    workers = {column for table, column in rows if table == "procrastinate_workers"}
    used = {"id", "queue_name", "task_name", "priority", "lock", "queueing_lock", "args", "status", "attempts"}
    assert used | {"abort_requested", "worker_id"} <= jobs
    assert workers == {"id", "last_heartbeat"}


async def test_the_library_knows_the_states_that_the_statements_write(database: Database) -> None:
    rows = await database.fetch_all("SELECT unnest(enum_range(NULL::procrastinate_job_status))::text")
    assert {"todo", "doing", "failed", "cancelled"} <= {state for (state,) in rows}


async def test_one_waiting_row_and_one_working_row_for_each_run(database: Database) -> None:
    rows = await database.fetch_all("SELECT indexdef FROM pg_indexes WHERE tablename = 'procrastinate_jobs'")
    unique = [text for (text,) in rows if "UNIQUE" in text]
    assert any("queueing_lock" in text and "todo" in text for text in unique)
    assert any("(lock)" in text and "doing" in text for text in unique)


def test_the_version_is_the_one_whose_tables_were_read() -> None:
    assert version("procrastinate").startswith("3.10.")


HANG_SECONDS = 300.0  # a slot out of turn comes after a thousand


async def take(limiter: RateLimiter, times: list[float]) -> None:
    await limiter.acquire()
    times.append(time.monotonic())


async def test_no_call_begins_before_its_slot(database: Database) -> None:
    limiter, times, begin = RateLimiter(database, "p", rate=100, burst=5), list[float](), time.monotonic()
    await asyncio.gather(*(take(limiter, times) for _ in range(60)))
    early = [number for number, at in enumerate(times, start=1) if at - begin < (number - 5) / 100 - 0.001]
    assert early == []
    assert len(times) == 60


async def test_a_burst_passes_at_once_and_unused_slots_do_not_pile_up(database: Database) -> None:
    limiter = RateLimiter(database, "p", rate=0.001, burst=3)
    begin = await database.fetch_one("SELECT clock_timestamp()")
    assert begin is not None
    async with asyncio.timeout(HANG_SECONDS):
        await asyncio.gather(*(limiter.acquire() for _ in range(3)))
    row = await database.fetch_one("SELECT tat >= %s FROM rate_limit", begin)
    assert row == (True,), "the fourth must wait for its own time"


async def test_providers_do_not_hinder_each_other(database: Database) -> None:
    slow, fast = RateLimiter(database, "slow", rate=0.001), RateLimiter(database, "fast", rate=1000)
    async with asyncio.timeout(HANG_SECONDS):
        await slow.acquire()
        await asyncio.gather(*(fast.acquire() for _ in range(20)))


async def test_a_waiter_that_leaves_does_not_stop_the_others(database: Database) -> None:
    limiter, times = RateLimiter(database, "p", rate=100), list[float]()
    tasks = [asyncio.create_task(take(limiter, times)) for _ in range(6)]
    await asyncio.sleep(0)
    tasks[0].cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert len(times) == 5
