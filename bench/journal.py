"""What a journaled call costs: CPU, calls a second, loop lag and memory at 1, 100 and 1,000 concurrent runs.

Each run is a tree of 54 fake calls with 4 KB answers and 44 events, taken from the queue and journaled as in
production, over an embedded server of its own. Every size is measured in a process of its own. Run it as
`python -m bench.journal`; `--runs N` measures one size, `--url` uses a server of yours.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from corrobora.domain.run import Event, EventType, Request, RunId, RunStatus
from corrobora.ports import Entry
from corrobora.storage.journal import JournalWriter, RunJournal
from corrobora.storage.journal.runs import Runs
from corrobora.storage.postgres import Database
from corrobora.storage.postgres.embedded import EmbeddedServer, stop_server
from corrobora.storage.queue import Queue

_CALLS, _EVENTS, _BYTES = 54, 44, 4096
_BRANCHES, _LEAVES = 2, 3
_TARGETS = {"cpu_ms": 0.4, "calls_s": 800.0, "lag_s": 0.3, "rss_mb": 350.0}
_TEXT = random.Random(0).randbytes(500_000).hex()


class Bench:
    """The fake research: sleeps for a call, and a text of its own for an answer."""

    def __init__(self, database: Database, writer: JournalWriter, mean_seconds: float) -> None:
        self.database, self.writer, self.mean_seconds = database, writer, mean_seconds
        self.runs = Runs(database)
        self.lag = 0.0

    async def execute(self, run: RunId, epoch: int) -> None:
        """One run: a tree of depth 3 whose leaves call one after another."""
        journal = await RunJournal.open(self.database, self.writer, run, epoch)
        async with asyncio.TaskGroup() as group:
            for branch in range(_BRANCHES):
                group.create_task(self.branch(journal, f"root/{branch}"))
        await journal.flush()
        await self.runs.finish(run, epoch, RunStatus.DONE)

    async def branch(self, journal: RunJournal, path: str) -> None:
        """An inner node."""
        async with asyncio.TaskGroup() as group:
            for leaf in range(_LEAVES):
                group.create_task(self.leaf(journal, f"{path}/{leaf}"))

    async def leaf(self, journal: RunJournal, path: str) -> None:
        """Nine calls in turn."""
        for number in range(_CALLS // (_BRANCHES * _LEAVES)):
            key = f"{path}/round/{number}/extract/S{number}#9f2c4e1a"
            journal.begin(key)
            await asyncio.sleep(random.uniform(0.0, 2.0) * self.mean_seconds)
            await journal.put(Entry(key, _answer(), '{"model":"m","input_tokens":900,"output_tokens":300}'))
            if number < _EVENTS // (_BRANCHES * _LEAVES):
                journal.emit(Event(EventType.THOUGHT, key, path, number, {"text": "x" * 200}))

    async def watch(self) -> None:
        """Measure how late the loop wakes a task."""
        while True:
            begin = time.perf_counter()
            await asyncio.sleep(0.01)
            self.lag = max(self.lag, time.perf_counter() - begin - 0.01)


def _answer() -> str:
    begin = random.randrange(len(_TEXT) - _BYTES)
    return f'{{"text": "{_TEXT[begin : begin + _BYTES]}"}}'


async def measure(url: str, count: int) -> dict[str, float]:
    """Run `count` runs at once and return the figures."""
    async with await Database.connect(url) as database, JournalWriter(database) as writer:
        runs, queue = Runs(database), Queue(database)
        made = [await runs.create(Request("bench")) for _ in range(count)]
        for run in made:
            await queue.submit(run)
        bench = Bench(database, writer, 0.5 if count > 1 else 0.02)
        wall, cpu = time.perf_counter(), time.process_time()
        stop = asyncio.Event()
        worker = asyncio.create_task(queue.run_worker(bench.execute, concurrency=count, stop=stop))
        watcher = asyncio.create_task(bench.watch())
        await queue.wait_for_runs(made)
        seconds, cpu = time.perf_counter() - wall, time.process_time() - cpu
        watcher.cancel()
        stop.set()
        await worker
        calls = count * _CALLS
        return {
            "runs": count,
            "cpu_ms": cpu * 1000 / calls,
            "calls_s": calls / seconds,
            "lag_s": bench.lag,
            "rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
            "commits": writer.flushes / calls,
            "cpu_answer_ms": _cost_of_an_answer(),
        }


def _cost_of_an_answer() -> float:
    """What making the fake text costs: it is the bench's own work, included in the CPU figure."""
    begin = time.process_time()
    for _ in range(500):
        _answer()
    return (time.process_time() - begin) * 1000 / 500


def main() -> None:
    """Print one line for each size, and whether the targets hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, action="append")
    parser.add_argument("--url")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(asyncio.run(measure(given.url, given.runs[0]))))
        return
    with tempfile.TemporaryDirectory(prefix="corrobora-bench-") as folder:
        server = None if given.url else EmbeddedServer.start(Path(folder))
        url = given.url or (server.url if server else "")
        print(f"{'runs':>6} {'CPU ms/call':>12} {'calls/s':>9} {'max lag s':>10} {'RSS MB':>8} {'commits/call':>13}")
        for count in given.runs or (1, 100, 1000):
            command = [sys.executable, "-m", "bench.journal", "--one", "--runs", str(count), "--url", url]
            line = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            print(
                f"{count:>6} {line['cpu_ms']:>12.2f} {line['calls_s']:>9.0f} {line['lag_s']:>10.3f}"
                f" {line['rss_mb']:>8.0f} {line['commits']:>13.3f}"
                f"   (of which {line['cpu_answer_ms']:.2f} ms for the fake answer)"
            )
        print("targets at 1,000 runs: " + ", ".join(f"{name} {value:g}" for name, value in _TARGETS.items()))
        if server is not None:
            stop_server(server.data_dir)


if __name__ == "__main__":
    main()
