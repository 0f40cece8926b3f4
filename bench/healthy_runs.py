"""Whether healthy runs are left alone on a machine that is busy, and how soon those of a killed worker go on.

Ten busy loops take the cores. Two programs work on forty runs of one database: a worker on twenty that are shared, and
a program on twenty of its own, as `corrobora research` does; each looks for dead workers meanwhile. A healthy run is
attempted once. Then one of two workers is killed by SIGKILL in the midst of its runs, and the time is taken until each
of them has its next attempt. Run: python -m bench.healthy_runs [--load 10] [--runs 40]
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

from bench.engine_calls import COMMAND, LIBRARY, environment, load, question, server, write_documents
from corrobora.app import Workspace
from corrobora.app.attempts import execute_run
from corrobora.app.libraries import ingest_files
from corrobora.app.runs import submit_run
from corrobora.domain.run import Request, RunStatus

TAKEOVER_GOAL = 15.0  # seconds from the death of a worker to the next attempt at the last of its runs
SHARED = 20  # runs that the worker has at once
WORKER = (*COMMAND, "worker", "--concurrency", str(SHARED))
MOST_SECONDS = 1_500.0
ENDED = (RunStatus.DONE, RunStatus.FAILED, RunStatus.INTERRUPTED, RunStatus.CANCELLED)


def main() -> int:
    """Print the figures; return 1 if a healthy run was attempted twice, or a killed worker's runs waited too long."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--load", type=int, default=10, help="busy loops beside the two programs")
    parser.add_argument("--runs", type=int, default=2 * SHARED)
    parser.add_argument("--latency", type=float, default=1.0, help="seconds of every answer of the model")
    parser.add_argument("--own", nargs="+", metavar="HOME RUN", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.own:
        asyncio.run(work_on_own(Path(options.own[0]), options.own[1:]))
        return 0
    with tempfile.TemporaryDirectory(prefix="corrobora-bench-") as folder, server(options.latency) as url:
        home = Path(folder)
        write_documents(home / "documents")
        subprocess.run([*COMMAND, "db", "start"], env=environment(home), check=True, capture_output=True)
        try:
            with busy_loops(options.load):
                return 0 if asyncio.run(measure(home, url, options.runs, options.load)) else 1
        finally:
            subprocess.run([*COMMAND, "db", "stop"], env=environment(home), check=False, capture_output=True)


@contextmanager
def busy_loops(count: int) -> Iterator[None]:
    """Keep so many processes busy."""
    with ExitStack() as stack:
        for _ in range(count):
            loop = subprocess.Popen([sys.executable, "-c", "while True: pass"])
            stack.callback(loop.wait)
            stack.callback(loop.kill)
        yield


def start(home: Path, *command: str) -> subprocess.Popen[bytes]:
    """Start a program over the data of `home`."""
    return subprocess.Popen(command, env=environment(home), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


async def measure(home: Path, url: str, count: int, load_count: int) -> bool:
    """Measure both in turn; True if both meet their goals."""
    async with Workspace.open(load(home)) as workspace:
        await ingest_files(workspace.database, LIBRARY, (home / "documents",), lambda *_: None)
        alone = await leave_alone(workspace, home, url, count, load_count)
        return await take_over(workspace, home, url, load_count) and alone


async def submit(workspace: Workspace, url: str, count: int) -> list[str]:
    """Store so many runs."""
    models = (("worker", f"openai-compatible:scripted-large@{url}/v1"),)
    overrides = (("minutes", '"unlimited"'),)
    return [
        await submit_run(
            workspace,
            Request(question(at), libraries=(LIBRARY,), authorized="policy", models=models, overrides=overrides),
            deferred=False,
        )
        for at in range(count)
    ]


async def leave_alone(workspace: Workspace, home: Path, url: str, count: int, load_count: int) -> bool:
    """Have two programs work on runs of one database; True if each run was attempted once and is done."""
    made = await submit(workspace, url, count)
    own, shared = made[: count // 2], made[count // 2 :]
    for run in shared:
        await workspace.queue.submit(run)
    begin = time.monotonic()
    processes = [
        start(home, *WORKER),
        start(home, sys.executable, "-m", "bench.healthy_runs", "--own", str(home), *own),
    ]
    try:
        await wait_for_all(workspace, made)
    finally:
        for process in processes:
            process.terminate()
            process.wait()
    rows = [await workspace.runs.get(run) for run in made]
    done = sum(row.status is RunStatus.DONE for row in rows)
    again = sum(row.epoch > 1 for row in rows)
    interrupted = sum(row.status is RunStatus.INTERRUPTED for row in rows)
    print(
        f"healthy   {count} runs, two programs, {load_count} busy loops (load {os.getloadavg()[0]:.0f}): {done} done, "
        f"{again} attempted again, {interrupted} interrupted (goal 0), {time.monotonic() - begin:.0f} s",
        flush=True,
    )
    return done == count and not again


async def work_on_own(home: Path, runs: Sequence[str]) -> None:
    """Work on runs of this program's own, all at once, as a command does on its one."""
    async with Workspace.open(load(home)) as workspace:
        for run in runs:
            await workspace.queue.submit(run, own=True)
        await workspace.queue.run_worker(partial(execute_run, workspace), concurrency=len(runs), until=runs)


async def wait_for_all(workspace: Workspace, runs: Sequence[str]) -> None:
    """Wait until all runs have ended; those of a program that has not begun yet are neither queued nor running."""
    async with asyncio.timeout(MOST_SECONDS):
        while not all([(await workspace.runs.get(run)).status in ENDED for run in runs]):  # noqa: ASYNC110 - other processes work
            await asyncio.sleep(0.5)


async def take_over(workspace: Workspace, home: Path, url: str, load_count: int) -> bool:
    """Kill one of two workers in the midst of its runs; True if all of them were attempted again soon."""
    made = await submit(workspace, url, SHARED)
    first = start(home, *WORKER)
    processes = [first]
    try:
        for run in made:
            await workspace.queue.submit(run)
        await wait_for_attempts(workspace, made, 1)
        processes.append(start(home, *WORKER))
        while await count_workers(workspace) < len(processes):  # noqa: ASYNC110 - as above
            await asyncio.sleep(0.1)
        theirs = [run for run in made if (await workspace.runs.get(run)).status is RunStatus.RUNNING]
        first.send_signal(signal.SIGKILL)
        begin = time.monotonic()
        first.wait()
        took = [at - begin for at in await wait_for_attempts(workspace, theirs, 2)]
        await wait_for_all(workspace, made)
    finally:
        for process in processes:
            process.terminate()
            process.wait()
    done = sum([(await workspace.runs.get(run)).status is RunStatus.DONE for run in made])
    print(
        f"take-over {len(theirs)} runs of a killed worker, {load_count} busy loops: next attempt after "
        f"{min(took):.1f} to {max(took):.1f} s (goal {TAKEOVER_GOAL:g}); {done} of {SHARED} done"
    )
    return bool(theirs) and max(took) <= TAKEOVER_GOAL and done == SHARED


async def count_workers(workspace: Workspace) -> int:
    """Return how many workers have sent a heartbeat lately."""
    row = await workspace.database.fetch_one(
        "SELECT count(*) FROM procrastinate_workers WHERE last_heartbeat > now() - interval '10 seconds'"
    )
    return row[0] if row else 0


async def wait_for_attempts(workspace: Workspace, runs: Sequence[str], epoch: int) -> list[float]:
    """Return when each run had its attempt of that number."""
    seen: dict[str, float] = {}
    async with asyncio.timeout(MOST_SECONDS):
        while len(seen) < len(runs):
            for run in runs:
                if run not in seen and (await workspace.runs.get(run)).epoch >= epoch:
                    seen[run] = time.monotonic()
            await asyncio.sleep(0.1)
    return list(seen.values())


if __name__ == "__main__":
    raise SystemExit(main())
