"""Virtual time: an hour takes no time, time-outs fire at their hour."""

from __future__ import annotations

import asyncio

import pytest
from tests.fakes import LoopTime, run_virtually


def test_time_outs_and_clock_agree() -> None:
    async def work() -> tuple[float, str]:
        clock = LoopTime()
        await clock.sleep(3_600)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(60):
                await asyncio.Event().wait()
        return clock.now(), clock.utc_time()

    assert run_virtually(work()) == (3_660, "2026-01-01T01:01:00+00:00")


def test_outside_of_a_loop_time_stands_still() -> None:
    assert LoopTime().now() == 0.0
