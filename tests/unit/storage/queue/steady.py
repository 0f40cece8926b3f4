"""What tests of the queue share: a steady clock that they move, and what a killed worker leaves behind."""

from __future__ import annotations

from dataclasses import dataclass

from corrobora.storage.journal.runs import Runs
from corrobora.storage.postgres import Database
from corrobora.storage.queue import Queue, SweepResult


@dataclass
class Steady:
    """The steady clock of a queue that a test moves."""

    at: float = 0.0

    def now(self) -> float:
        return self.at

    async def pause(self, seconds: float) -> None:
        self.at += seconds

    def open_queue(self, database: Database) -> Queue:
        return Queue(database, now=self.now, pause=self.pause)

    async def sweep(self, queue: Queue, seconds: int) -> SweepResult:
        """Sweep once a second, and sum up what was done."""
        swept = [await queue.sweep()]
        for _ in range(seconds):
            self.at += 1
            swept.append(await queue.sweep())
        return SweepResult(sum(each.closed for each in swept), sum(each.requeued for each in swept))


async def lost_worker(database: Database, run: str, *, claim: bool = True) -> None:
    """Leave behind what a worker leaves that was killed in the middle of a run."""
    await database.execute("INSERT INTO procrastinate_workers (last_heartbeat) VALUES (now() - interval '1 minute')")
    await database.execute(
        "UPDATE procrastinate_jobs SET status = 'doing', worker_id = (SELECT max(id) FROM procrastinate_workers)"
        " WHERE lock = %s AND status = 'todo'",
        [run],
    )
    if claim:
        assert await Runs(database).claim(run, "killed") is not None
