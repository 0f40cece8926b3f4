"""The fake clock: time passes when somebody sleeps, or when the test says so."""

from __future__ import annotations

import asyncio

from tests.fakes import FakeClock


async def test_an_automatic_clock_jumps_to_the_end_of_a_sleep():
    clock = FakeClock(5.0)
    await clock.sleep(3_600)
    assert clock.now() == 3_605
    assert clock.utc_time() == "2026-01-01T01:00:05+00:00"
    assert clock.slept == [3_600]


async def test_sleepers_wake_in_the_order_of_their_hours():
    clock = FakeClock(auto=False)
    woken: list[tuple[str, float]] = []

    async def sleeper(name: str, *naps: float) -> None:
        for nap in naps:
            await clock.sleep(nap)
            woken.append((name, clock.now()))

    tasks = [
        asyncio.create_task(sleeper("a", 2, 2)),
        asyncio.create_task(sleeper("b", 3)),
        asyncio.create_task(sleeper("c", 9)),
    ]
    await clock.advance(5)
    assert woken == [("a", 2), ("b", 3), ("a", 4)]
    assert clock.now() == 5
    await clock.advance(5)
    await asyncio.gather(*tasks)
    assert woken[-1] == ("c", 9)
