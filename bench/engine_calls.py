"""What the whole engine costs per model call, how long it waits beyond its data flow, and what starting it costs.

Runs over a library of synthetic documents with the scripted provider in another process, every answer after a fixed
time, at N = 1 and N = 50 runs at once in this process. CPU is this process's alone, database server and provider apart;
one run is made before counting. Run: python -m bench.engine_calls [--profile angles]

The critical path is the longest chain of calls that had to wait for each other, each a fixed latency long; it is taken
from the journal of the N = 1 run by what each role is given: plan the answer of clarify; the scope of a round what the
thread before it decided; an extraction the plan and the last queries asked before it; reflect its scope
and all readings before it; a summary its thread; the report and its review everything. No scheduler that feeds the
roles the same way is faster.
Searches, reads, journal and rendering are no part of it, so the ratio charges them to the engine.

Machines differ, and one machine at two hours: so each cost is also given as a multiple of what a bare httpx2 client
spends on a call to the same server in the same process, measured just before.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2
import psutil

from bench.synthetic import Texts, run_command
from corrobora.__main__ import collect_rarely
from corrobora.app import Workspace
from corrobora.app.attempts import execute_run
from corrobora.app.libraries import ingest_files
from corrobora.app.runs import submit_run
from corrobora.config import Settings, load_settings
from corrobora.domain.run import Request, RunId

LIBRARY = "synthetic"
DOCUMENTS = 60
SUBJECTS = ("harbour crane", "sluice gate", "signal lamp", "tide mill", "rope ferry", "salt pan")
GOALS = {1: 8.0, 50: 4.0}  # CPU milliseconds per model call
SLACK_GOAL = 1.10
TRIES = 4
VERSION_GOAL = 0.17  # CPU seconds
FIRST_SEARCH_GOAL = 1.0  # CPU seconds of the command until its first search is told
WHOLE_RUN_GOAL = 1.8  # CPU seconds of one question with a model that answers at once


@dataclass(frozen=True, slots=True)
class Played:
    """One journaled call: where in the tree, which role, when it was answered (seconds of working time), its tokens."""

    path: str
    role: str
    answered: float
    tokens: int  # of the answer


def main() -> int:
    """Print all figures; return 1 if one misses its goal."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--profile", default="angles")
    parser.add_argument("--latency", type=float, default=0.3)
    parser.add_argument("--runs", type=int, nargs="*", default=[1, 50])
    parser.add_argument("--no-start", action="store_true", help="leave out the figures of start-up")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="corrobora-bench-") as folder, server(options.latency) as url:
        home = Path(folder)
        write_documents(home / "documents")
        good = True if options.no_start else start_up(home)
        measured = engine(load(home), home, url, options.profile, options.latency, options.runs)
        good = asyncio.run(measured) and good
        subprocess.run([*COMMAND, "db", "stop"], env=environment(home), check=False, capture_output=True)
    return 0 if good else 1


@contextmanager
def server(latency: float) -> Iterator[str]:
    """Run the scripted provider in its own process."""
    command = [sys.executable, "-m", "bench.model_server.server", "--latency", str(latency)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().split()[2]
    finally:
        process.terminate()
        process.wait()


def write_documents(into: Path) -> None:
    """Write documents about a few subjects, each with statements that a question can be answered from."""
    into.mkdir()
    texts = Texts()
    for number in range(DOCUMENTS):
        subject = SUBJECTS[number % len(SUBJECTS)]
        place, year = texts.title(), 1960 + number
        statements = [
            f"Every {subject} of {place} must be inspected every {2 + number % 17} months since {year}.",
            f"A {subject} of {place} may carry a load of at most {10 + 3 * number} tonnes.",
        ]
        parts = [f"# The {subject} of {place}", texts.passage(), *statements, texts.passage()]
        (into / f"{number:02}.md").write_text("\n\n".join(parts) + "\n")


def question(number: int) -> str:
    """Return one question of many about the subjects."""
    subject = SUBJECTS[number % len(SUBJECTS)]
    return f"How often must each {subject} be inspected, and what load may a {subject} carry in case {number}?"


async def engine(  # noqa: PLR0913, PLR0917 - what one measurement needs
    settings: Settings, home: Path, url: str, profile: str, latency: float, counts: Sequence[int]
) -> bool:
    """Measure runs at once: CPU for each call of a model, and at N = 1 the wall clock over the critical path."""
    good = True
    collect_rarely()  # as the program does
    async with Workspace.open(settings) as workspace:
        await ingest_files(workspace.database, LIBRARY, (home / "documents",), lambda *_: None)
        await research(workspace, url, profile, [10_000])  # loads what is loaded once
        for count in counts:
            bare = await bare_call(url, count)
            wall, cpu, runs = await research(workspace, url, profile, range(count))
            calls = [await played(workspace, run) for run in runs]
            total = sum(map(len, calls))
            cost = 1e3 * cpu / total
            good = good and cost <= GOALS.get(count, cost)
            goal = GOALS.get(count, 0)
            rate = f"{wall:.1f} s, {60 * count / wall:.0f} questions a minute, {rss():.0f} MB"
            print(
                f"engine    {profile} N={count:<3} {total} model calls, {cost:.2f} CPU ms each (goal {goal:g}), "
                f"{cost / bare:.1f} x the bare client's {bare:.2f}, {rate}"
            )
            if count == 1:
                chain = critical_path(calls[0], latency)
                ratio = wall / chain
                good = good and ratio <= SLACK_GOAL
                print(
                    f"engine    {profile} N=1   critical path {chain / latency:.0f} calls of {latency:g} s "
                    f"= {chain:.1f} s, wall {wall:.2f} s: {ratio:.3f} (goal {SLACK_GOAL:.2f})"
                )
    return good


async def research(
    workspace: Workspace, url: str, profile: str, numbers: Sequence[int]
) -> tuple[float, float, list[str]]:
    """Work on one run for each number at once; return wall seconds, CPU seconds of this process, and the runs."""
    model = (("worker", f"openai-compatible:scripted-large@{url}/v1"),)
    claimed: list[tuple[str, int]] = []
    for number in numbers:
        request = Request(question(number), profile, libraries=(LIBRARY,), models=model, authorized="policy")
        run = await submit_run(workspace, request, deferred=False)
        epoch = await workspace.runs.claim(run, "bench")
        assert epoch is not None
        claimed.append((run, epoch))
    began, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*(execute_run(workspace, RunId(run), epoch) for run, epoch in claimed))
    wall, spent = time.perf_counter() - began, time.process_time() - cpu
    for run, _ in claimed:
        row = await workspace.runs.get(run)
        assert row.status == "done", row
    return wall, spent, [run for run, _ in claimed]


async def bare_call(url: str, callers: int) -> float:
    """Return the CPU milliseconds of one call of a bare httpx2 client, with so many at once."""
    prompt = "How often must each signal lamp be inspected? " * 40

    async def ask(times: int) -> None:
        for _ in range(times):
            body = {"model": "scripted-large", "messages": [{"role": "user", "content": prompt}]}
            (await client.post(f"{url}/v1/chat/completions", json=body)).json()

    async with httpx2.AsyncClient(trust_env=False, timeout=60) as client:
        await asyncio.gather(*(ask(1) for _ in range(callers)))
        times = max(4, 20 // callers)
        began = time.process_time()
        await asyncio.gather(*(ask(times) for _ in range(callers)))
        return 1e3 * (time.process_time() - began) / (times * callers)


async def played(workspace: Workspace, run: str) -> list[Played]:
    """Return the calls of a run that a model answered, in the order of their answers."""
    rows = await workspace.database.fetch_all("SELECT key, meta FROM journal WHERE run = %s", [run])
    found: list[Played] = []
    for key, meta in rows:
        told = meta if isinstance(meta, dict) else json.loads(meta)
        if told.get("model"):
            path, _, role = str(key).partition("#")[0].rpartition("/")
            found.append(Played(path, role, float(told["elapsed"]), int(told["usage"]["output_tokens"])))
    return sorted(found, key=lambda call: call.answered)


def critical_path(calls: Sequence[Played], latency: float, per_token: float = 0.0) -> float:
    """Return the seconds of the longest chain of calls that had to wait for each other, by what each role is given."""
    ends: dict[int, float] = {}
    for at, call in enumerate(calls):
        seconds = latency + per_token * call.tokens
        before = [ends[i] for i in range(at) if needs(call, calls[i], began=call.answered - seconds)]
        ends[at] = seconds + max(before, default=0.0)
    return max(ends.values(), default=0.0)


def needs(call: Played, earlier: Played, *, began: float) -> bool:
    """Say whether a call is given what an earlier one answered."""
    if earlier.answered > began + 0.01:
        return False
    thread = call.path.partition("/round/")[0]
    match call.role:
        case "clarify":
            return False
        case "plan":
            return earlier.role == "clarify"
        case "scope":
            return earlier.role in ("clarify", "plan") or (
                earlier.role == "reflect" and earlier.path.partition("/round/")[0] == thread
            )
        case "extract":  # for the tasks of a plan, of what was found by the queries of a scope or of a reflection
            return earlier.role in ("plan", "scope", "reflect")
        case "reflect":
            return earlier.role == "extract" or (earlier.role == "scope" and earlier.path == call.path)
        case "summarize":
            return earlier.role == "reflect" and earlier.path.startswith(call.path)
        case _:  # the report and its review are made of everything before
            return True


def start_up(home: Path) -> bool:
    """Measure the command: its version, its first search, and whole runs with a model that answers at once.

    CPU of the process, not of the database nor of the model's server; the least of some tries.
    """
    run = ("research", question(1), "--library", str(home / "documents"), "--yes", "--display")
    with server(0.0) as url:
        command(home, *run, "none")  # starts the database and fills the library
        model = ("--model", f"openai-compatible:scripted-large@{url}/v1")
        version = min(command(home, "--version")[0] for _ in range(TRIES))
        first = min(until_first_search(home, *run, "jsonl") for _ in range(TRIES))
        found = {
            name: min(command(home, *run, "none", *more) for _ in range(TRIES))
            for name, more in (("no model", ()), ("a model", model))
        }
    print(f"start     corrobora --version: {version:.3f} CPU-s (goal {VERSION_GOAL})")
    print(f"start     corrobora research, until the first search: {first:.2f} CPU-s (goal {FIRST_SEARCH_GOAL})")
    for name, (cpu, wall, memory) in found.items():
        shown = f"{cpu:.2f} CPU-s (goal {WHOLE_RUN_GOAL}), {wall:.1f} s, {memory:.0f} MB"
        print(f"start     corrobora research, {name}: {shown}")
    whole = max(cpu for cpu, _, _ in found.values())
    return version <= VERSION_GOAL and first <= FIRST_SEARCH_GOAL and whole <= WHOLE_RUN_GOAL


def until_first_search(home: Path, *arguments: str) -> float:
    """Run the command, which writes its events to stdout; return the CPU seconds it had used when it told a search."""
    with subprocess.Popen(
        [*COMMAND, *arguments], env=environment(home), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        times = psutil.Process(process.pid)
        for line in process.stdout:
            if json.loads(line).get("type") == "search":
                used = times.cpu_times()
                process.communicate()
                return used.user + used.system
    raise AssertionError(arguments)


def command(home: Path, *arguments: str) -> tuple[float, float, float]:
    """Run the command; return its CPU seconds, wall seconds, and the most memory it had (MB)."""
    began = time.perf_counter()
    cpu, memory = run_command(environment(home), *COMMAND, *arguments)
    return cpu, time.perf_counter() - began, memory


def rss() -> float:
    """The most memory that this process had, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


COMMAND = (sys.executable, "-m", "corrobora")


def environment(home: Path) -> dict[str, str]:
    """The environment of the command: its data in a folder of its own, and bytecode kept as in every install."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "CORROBORA_HOME": str(home), "XDG_CONFIG_HOME": str(home)}


def load(home: Path) -> Settings:
    """The settings of the same folder."""
    return load_settings(env={"CORROBORA_HOME": str(home)}, folder=home, user_file=home / "none.toml")


if __name__ == "__main__":
    raise SystemExit(main())
