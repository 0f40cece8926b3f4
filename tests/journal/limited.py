"""A process that takes slots of one rate limit and notes when it got each. Run by the proof over several processes."""

from __future__ import annotations

import asyncio
import os
import sys
import time

from corrobora.storage.postgres import Database
from corrobora.storage.queue.statements import RateLimiter


async def main(url: str, ledger: str, rate: float, burst: int) -> None:
    handle = os.open(ledger, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    async with await Database.connect(url, size=2) as database:
        limiter = RateLimiter(database, "p", rate=rate, burst=burst)

        async def take() -> None:
            while True:
                await limiter.acquire()
                os.write(handle, f"S {os.getpid()} {time.monotonic():.6f} p -\n".encode())

        async with asyncio.TaskGroup() as group:
            for _ in range(16):
                group.create_task(take())


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], float(sys.argv[3]), int(sys.argv[4])))
