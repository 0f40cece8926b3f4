"""Virtual time: an event loop whose clock jumps to the next timer as soon as nothing else is to be done.

Knows one loop. Time-outs, sleeps and `LoopTime` all read the same clock, so a run of an hour with its deadlines takes
milliseconds. Real sockets and threads are not waited for: use it for runs in memory.
"""

from __future__ import annotations

import asyncio
import contextlib
import selectors
from collections.abc import Coroutine
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

T = TypeVar("T")
_VIRTUAL_EPOCH = datetime(2026, 1, 1, tzinfo=UTC)


class _JumpingSelector(selectors.DefaultSelector):
    """Never waits: where a loop would wait for its next timer, the clock jumps there."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Return what is ready; if nothing is, let the time pass at once."""
        ready = super().select(0)
        if not ready and timeout is not None and timeout > 0:
            self.now += timeout
        elif not ready and timeout is None:
            return super().select(None)
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop on virtual time, which starts at 0."""

    def __init__(self) -> None:
        self._jumping = _JumpingSelector()
        super().__init__(self._jumping)

    def time(self) -> float:
        """Seconds of virtual time."""
        return self._jumping.now


class LoopTime:
    """A `Clock` that reads the running loop; outside of one its time stands still."""

    def __init__(self) -> None:
        self._last = 0.0

    def now(self) -> float:
        """Seconds of the loop's time; before a loop runs 0, after it the last that was read."""
        with contextlib.suppress(RuntimeError):
            self._last = asyncio.get_running_loop().time()
        return self._last

    def utc_time(self) -> str:
        """A time of day that fits `now`, counted from the first of January 2026."""
        return (_VIRTUAL_EPOCH + timedelta(seconds=self.now())).isoformat()

    async def sleep(self, seconds: float) -> None:
        """Sleep on the loop's time."""
        await asyncio.sleep(seconds)


def run_virtually(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end on a loop of its own, in virtual time."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(work)
