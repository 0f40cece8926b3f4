"""The clock of the machine: monotonic time for decisions, wall time for people only."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime


class SystemClock:
    """`ports.Clock` of the machine."""

    def now(self) -> float:
        """Monotonic seconds."""
        return time.monotonic()

    def utc_time(self) -> str:
        """ISO 8601 time in UTC."""
        return datetime.now(UTC).isoformat(timespec="seconds")

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)
