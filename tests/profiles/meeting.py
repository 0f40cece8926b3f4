"""A place where callers wait for each other: whoever gets through was at work at the same time as the others.

Knows how many must come. Does not know what they do, nor any length of time: only a test that fails waits.
"""

from __future__ import annotations

import asyncio

HANG_SECONDS = 60.0


class Meeting:
    """Lets its callers go on once `n` of them are there together, and then lets everybody pass."""

    def __init__(self, n: int) -> None:
        self._n = n
        self._here = 0
        self._complete = asyncio.Event()
        self.most = 0

    async def join(self) -> None:
        """Wait for the others."""
        self._here += 1
        self.most = max(self.most, self._here)
        if self._here >= self._n:
            self._complete.set()
        try:
            async with asyncio.timeout(HANG_SECONDS):
                await self._complete.wait()
        except TimeoutError:  # they never meet: who comes later need not wait to show it
            self._complete.set()
        self._here -= 1
