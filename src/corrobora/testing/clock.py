"""A clock that a test moves: time passes only when somebody sleeps or the test says so.

Knows sleepers and their hours. Does not wait: a run of an hour takes milliseconds.
"""

from __future__ import annotations

import asyncio
import heapq
from datetime import UTC, datetime, timedelta
from itertools import count

_EPOCH = datetime(2026, 1, 1, tzinfo=UTC)


class FakeClock:
    """A `Clock`. With `auto` (the default) a sleep moves the time at once; else `advance` wakes the sleepers."""

    def __init__(self, start: float = 0.0, *, auto: bool = True) -> None:
        self._now = start
        self._auto = auto
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._order = count()
        self.slept: list[float] = []

    def now(self) -> float:
        """Seconds on this clock."""
        return self._now

    def utc_time(self) -> str:
        """A time of day that fits `now`, counted from the first of January 2026."""
        return (_EPOCH + timedelta(seconds=self._now)).isoformat()

    async def sleep(self, seconds: float) -> None:
        """Sleep on this clock. Other tasks get their turn first."""
        self.slept.append(seconds)
        if self._auto:
            await asyncio.sleep(0)
            self._now += max(0.0, seconds)
            return
        wake: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._now + max(0.0, seconds), next(self._order), wake))
        await wake

    async def advance(self, seconds: float) -> None:
        """Let time pass: wake every sleeper whose hour comes, in order, and let it run."""
        end = self._now + seconds
        await asyncio.sleep(0)
        while self._sleepers and self._sleepers[0][0] <= end:
            at, _, wake = heapq.heappop(self._sleepers)
            self._now = max(self._now, at)
            if not wake.done():
                wake.set_result(None)
            for _ in range(5):  # what the sleeper does next may start another sleep before `end`
                await asyncio.sleep(0)
        self._now = end
