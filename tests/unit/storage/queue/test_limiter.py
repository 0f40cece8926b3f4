"""The limiter in one process: slots are spaced, bursts are bounded, providers are apart."""

from __future__ import annotations

import asyncio
import time

from corrobora.storage.postgres.database import Database
from corrobora.storage.queue.limiter import Limiter

HANG_SECONDS = 300.0  # a slot out of turn comes after a thousand


async def take(limiter: Limiter, times: list[float]) -> None:
    await limiter.acquire()
    times.append(time.monotonic())


async def test_no_call_begins_before_its_slot(database: Database) -> None:
    limiter, times, begin = Limiter(database, "p", rate=100, burst=5), list[float](), time.monotonic()
    await asyncio.gather(*(take(limiter, times) for _ in range(60)))
    early = [number for number, at in enumerate(times, start=1) if at - begin < (number - 5) / 100 - 0.001]
    assert early == []
    assert len(times) == 60


async def test_a_burst_passes_at_once_and_unused_slots_do_not_pile_up(database: Database) -> None:
    limiter = Limiter(database, "p", rate=0.001, burst=3)
    begin = await database.fetch_one("SELECT clock_timestamp()")
    assert begin is not None
    async with asyncio.timeout(HANG_SECONDS):
        await asyncio.gather(*(limiter.acquire() for _ in range(3)))
    row = await database.fetch_one("SELECT tat >= %s FROM rate_limit", begin)
    assert row == (True,), "the fourth must wait for its own time"


async def test_providers_do_not_hinder_each_other(database: Database) -> None:
    slow, fast = Limiter(database, "slow", rate=0.001), Limiter(database, "fast", rate=1000)
    async with asyncio.timeout(HANG_SECONDS):
        await slow.acquire()
        await asyncio.gather(*(fast.acquire() for _ in range(20)))


async def test_a_waiter_that_leaves_does_not_stop_the_others(database: Database) -> None:
    limiter, times = Limiter(database, "p", rate=100), list[float]()
    tasks = [asyncio.create_task(take(limiter, times)) for _ in range(6)]
    await asyncio.sleep(0)
    tasks[0].cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert len(times) == 5
