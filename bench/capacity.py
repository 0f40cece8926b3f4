"""How many workers a load needs: a day of arrivals simulated over the measured cost of a run.

A day has a quiet night and a busy hour (`--peak` times the mean). Runs arrive at random, take a slot of a worker for as
long as they last (log-normal around `--seconds`, cut at the profile's limit) and cost `--calls` model calls of
`--cpu` milliseconds each, everything counted: both are what `bench.web_run` prints. A worker is one process on one
core with `--slots` runs at once. Workers are added until the core of none is used above 70 % in the busiest minute and
99 of 100 runs wait less than a second for a slot. What a run leaves in the database is measured here, by researching
the shipped question once in a new data folder. Run: python -m bench.capacity [--runs 1000 10000 100000 1000000]
"""

from __future__ import annotations

import argparse
import asyncio
import heapq
import math
import random
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from corrobora.app import Workspace
from corrobora.app.attempts import run_here
from corrobora.app.libraries import resolve_libraries
from corrobora.app.runs import submit_run
from corrobora.config import load_settings
from corrobora.domain.run import DEMO, Request
from corrobora.faces.cli.new_run import DEMO_QUESTION

DAY = 86_400
LIMIT_SECONDS = 300.0  # of the profile `timed`
BUSY = 0.7  # most that a core is used
MAX_WAIT = 1.0  # seconds that 99 of 100 runs wait at most
TABLES = ("runs", "journal", "journal_intent", "run_events", "run_artifact", "run_answer", "procrastinate_jobs")


@dataclass(frozen=True, slots=True)
class Load:
    """What is simulated."""

    runs: int
    seconds: float
    calls: float
    cpu_milliseconds: float
    slots: int
    peak: float


@dataclass(frozen=True, slots=True)
class Day:
    """What a number of workers made of it."""

    workers: int
    busiest: float  # share of all cores in the busiest minute
    wait: float  # seconds that 99 of 100 runs waited at most
    at_once: int


def iter_arrivals(load: Load, chance: random.Random) -> Iterator[float]:
    """Yield the seconds at which runs arrive: a day whose rate swings around its mean, with the peak at noon."""
    swing = load.peak - 1.0
    at = 0.0
    while True:
        at += chance.expovariate(load.peak * load.runs / DAY)
        if at >= DAY:
            return
        rate = max(1.0 - swing * math.cos(2 * math.pi * at / DAY), 0.0) / load.peak
        if chance.random() < rate:
            yield at


def simulate_day(load: Load, workers: int, seed: int = 1) -> Day:
    """Return the waits and the use of the cores with so many workers."""
    chance = random.Random(seed)
    ends: list[float] = []
    waits: list[float] = []
    minutes = [0.0] * (DAY // 60 + 60)
    at_once = 0
    for arrival in iter_arrivals(load, chance):
        while ends and ends[0] <= arrival:
            heapq.heappop(ends)
        begin = arrival if len(ends) < workers * load.slots else heapq.heappop(ends)
        waits.append(begin - arrival)
        lasts = min(chance.lognormvariate(math.log(load.seconds), 0.5), LIMIT_SECONDS)
        heapq.heappush(ends, begin + lasts)
        at_once = max(at_once, len(ends))
        first, last = int(begin // 60), int((begin + lasts) // 60)
        for minute in range(first, min(last, len(minutes) - 1) + 1):
            minutes[minute] += load.calls * load.cpu_milliseconds / 1_000 / (last - first + 1)
    waits.sort()
    return Day(workers, max(minutes) / 60 / workers, waits[int(0.99 * len(waits))] if waits else 0.0, at_once)


def find_workers(load: Load) -> Day:
    """Return the day with the fewest workers that keep both limits."""
    mean = load.runs / DAY * load.peak
    cores = mean * load.calls * load.cpu_milliseconds / 1_000 / BUSY
    workers = max(1, int(max(cores, mean * load.seconds / load.slots) * 0.8))
    while True:
        day = simulate_day(load, workers)
        if day.busiest <= BUSY and day.wait <= MAX_WAIT:
            return day
        workers = max(workers + 1, int(workers * 1.04))


async def measure_run(home: Path) -> tuple[float, float, float]:
    """Research the shipped question once; return its bytes in the database, its commits and its seconds of work."""
    settings = replace(load_settings(env={"CORROBORA_HOME": str(home)}, user_file=home / "none"), libraries=(DEMO,))
    async with Workspace.open(settings) as workspace:
        spaces = await resolve_libraries(workspace, (DEMO,))
        before = await _read_counters(workspace)
        run = await submit_run(workspace, Request(DEMO_QUESTION, libraries=spaces), deferred=False)
        await run_here(workspace, run)
        after = await _read_counters(workspace)
        row = await workspace.runs.get(run)
        return after[0] - before[0], after[1] - before[1], row.elapsed_seconds


async def _read_counters(workspace: Workspace) -> tuple[float, float]:
    await asyncio.sleep(1.5)  # the server publishes its statistics once a second
    sizes = " + ".join(f"pg_total_relation_size('{name}')" for name in TABLES)
    row = await workspace.database.fetch_one(
        f"SELECT {sizes}, (SELECT xact_commit FROM pg_stat_database WHERE datname = current_database())",
        where="measuring",
    )
    assert row is not None
    return float(row[0]), float(row[1])


def main() -> None:
    """Print the plan for each number of runs a day."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, nargs="+", default=[1_000, 10_000, 100_000, 1_000_000])
    parser.add_argument("--seconds", type=float, default=60.0, help="median length of a run")
    parser.add_argument("--calls", type=float, default=12.0, help="model calls of a run")
    parser.add_argument("--cpu", type=float, default=20.1, help="CPU milliseconds of a model call, everything counted")
    parser.add_argument("--slots", type=int, default=50, help="runs at once in one worker")
    parser.add_argument("--memory", type=float, default=243.0, help="MB of one worker with its parsers")
    parser.add_argument("--peak", type=float, default=2.0, help="the busiest hour over the mean")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="corrobora-capacity-") as home:
        stored, commits, seconds = asyncio.run(measure_run(Path(home)))
    print(
        f"the shipped question, measured: {stored / 1e6:.2f} MB stored, {commits:.0f} commits, {seconds:.1f} s of work"
    )
    print(f"{'runs a day':>12} {'workers':>8} {'cores':>6} {'busiest':>8} {'at once':>8} {'wait p99':>9} "
          f"{'memory GB':>10} {'commits/s':>10} {'GB a day':>9}")  # fmt: skip
    for runs in given.runs:
        load = Load(runs, given.seconds, given.calls, given.cpu, given.slots, given.peak)
        day = find_workers(load)
        print(
            f"{runs:>12,} {day.workers:>8} {day.workers:>6} {day.busiest:>8.0%} {day.at_once:>8} {day.wait:>8.2f}s "
            f"{day.workers * given.memory / 1_000:>10.1f} {given.peak * runs / DAY * commits:>10,.0f} "
            f"{runs * stored / 1e9:>9,.1f}"
        )


if __name__ == "__main__":
    main()
