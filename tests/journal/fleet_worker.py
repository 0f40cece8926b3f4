"""A worker for the proofs with several processes: fake paid calls in a tree, each noted in a ledger file.

Run as a program with the database, the ledger, the mean seconds of a call and the concurrency. A line of the ledger is
what happened (Begun, Answered, Committed, Finished), the process, the time, the run and the key.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import sys
import time

from corrobora.domain.run import Event, EventType, RunId, RunStatus
from corrobora.ports import Entry
from corrobora.storage.journal import JournalWriter, RunJournal
from corrobora.storage.journal.runs import Runs
from corrobora.storage.postgres import Database
from corrobora.storage.queue import Queue

BRANCHES, LEAVES, CALLS = 2, 3, 9  # 54 calls a run, in a tree of depth 3
PER_RUN = BRANCHES * LEAVES * CALLS


class Work:
    """What an attempt does: every call once, as far as the journal knows."""

    def __init__(self, database: Database, writer: JournalWriter, ledger: int, seconds: float) -> None:
        self.database, self.writer, self.ledger, self.seconds = database, writer, ledger, seconds
        self.runs = Runs(database)

    def note(self, what: str, run: str, key: str) -> None:
        os.write(self.ledger, f"{what} {os.getpid()} {time.monotonic():.6f} {run} {key}\n".encode())

    async def execute(self, run: RunId, epoch: int) -> None:
        journal = await RunJournal.open(self.database, self.writer, run, epoch)
        journal.emit(Event(EventType.RUN_STARTED, "started", "root", None, {}))
        async with asyncio.TaskGroup() as group:
            for branch in range(BRANCHES):
                group.create_task(self.branch(journal, f"root/{branch}"))
        journal.emit(Event(EventType.RUN_FINISHED, "finished", "root", None, {}))
        await journal.flush()
        await self.runs.finish(run, epoch, RunStatus.DONE, outcome="complete")
        self.note("F", run, "-")

    async def branch(self, journal: RunJournal, path: str) -> None:
        async with asyncio.TaskGroup() as group:
            for leaf in range(LEAVES):
                group.create_task(self.leaf(journal, f"{path}/{leaf}"))

    async def leaf(self, journal: RunJournal, path: str) -> None:
        for number in range(CALLS):
            key = f"{path}/call/{number}"
            entry = journal.get(key) or await self.call(journal, key)
            assert json.loads(entry.out)["key"] == key, "an answer went to another call"
            journal.emit(Event(EventType.THOUGHT, key, path, number, {"text": "x" * 200}))

    async def call(self, journal: RunJournal, key: str) -> Entry:
        journal.begin(key)
        self.note("B", journal.run, key)
        await asyncio.sleep(random.uniform(0.5, 1.5) * self.seconds)
        self.note("A", journal.run, key)
        entry = await journal.put(Entry(key, json.dumps({"key": key, "text": "y" * 1000})))
        self.note("C", journal.run, key)
        return entry


async def main(url: str, ledger: str, seconds: float, concurrency: int) -> None:
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    handle = os.open(ledger, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    async with await Database.connect(url) as database, JournalWriter(database) as writer:
        work = Work(database, writer, handle, seconds)
        await Queue(database).run_worker(work.execute, concurrency=concurrency, stop=stop, grace_seconds=0.2)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], float(sys.argv[3]), int(sys.argv[4])))
