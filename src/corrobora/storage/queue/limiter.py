"""The limiter: one rate limit per provider, shared by all workers.

Knows the generic cell rate algorithm in one row per provider: one statement reserves slots for all waiters of this
process, and each sleeps until its own. There is no polling, no lock across a round trip, and nothing to clean up after
a crash. Does not know what is called.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import LiteralString

from corrobora.domain.errors import CorroboraError
from corrobora.storage.postgres.database import Database

_RESERVE: LiteralString = """
INSERT INTO rate_limit AS r (provider, tat)
VALUES (%(provider)s, clock_timestamp() + make_interval(secs => (%(n)s - %(burst)s) / %(rate)s::float8))
ON CONFLICT (provider) DO UPDATE SET tat =
    greatest(r.tat, clock_timestamp() - make_interval(secs => %(burst)s / %(rate)s::float8))
    + make_interval(secs => %(n)s / %(rate)s::float8)
RETURNING extract(epoch FROM tat - clock_timestamp())::float8
"""


class Limiter:
    """At most `rate` calls a second to one provider, with bursts of `burst`, over all processes of one database.

    In any window of one second at most `rate + burst` calls begin. `most` bounds the slots that one statement
    reserves: 1 or 2 where processes must share fairly, 8 at high rates.
    """

    def __init__(self, database: Database, provider: str, *, rate: float, burst: int = 1, most: int = 8) -> None:
        self._database = database
        self._provider = provider
        self._rate = rate
        self._burst = burst
        self._most = most
        self._waiting: deque[asyncio.Future[float]] = deque()
        self._task: asyncio.Task[None] | None = None

    async def acquire(self) -> None:
        """Wait for the next free slot.

        Raises:
            JournalError: the database does not answer.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[float] = loop.create_future()
        self._waiting.append(future)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._reserve_slots(), name=f"limiter of {self._provider}")
        at = await future
        await asyncio.sleep(max(0.0, at - loop.time()))

    async def _reserve_slots(self) -> None:
        """Reserve exactly as many slots as there are waiters: none is wasted, and none is used late."""
        while self._waiting:
            taken = [self._waiting.popleft() for _ in range(min(len(self._waiting), self._most))]
            waiters = [future for future in taken if not future.done()]
            if not waiters:
                continue
            values = {"provider": self._provider, "rate": self._rate, "burst": self._burst, "n": len(waiters)}
            try:
                row = await self._database.fetch_one(_RESERVE, values, where="reserving calls to a provider")
            except CorroboraError as error:
                for future in waiters:
                    if not future.done():
                        future.set_exception(error)
                continue
            now = asyncio.get_running_loop().time()
            last = now + float(row[0] if row else 0.0)  # the arrival time after our last slot
            for index, future in enumerate(waiters, start=1):
                if not future.done():
                    future.set_result(last - (len(waiters) - index) / self._rate)
