"""What one question costs beside a bare loop and beside installed programs of the field, over the same web.

Each program works as a process of its own on the same question, with the same scripted model and the same search API
and pages on loopback (`bench.peer_server`): our command with its own database (from a stopped process, a database that
runs), `bench.floor`, smolagents and gpt-researcher, each installed into an environment of its own. Counted are all
processes of a program: CPU, the proportional share of memory at its highest, and wall-clock time from the start of the
process. Exact repeats are prompts, searches and pages asked for more than once. Calls follow from the fixed behaviour
of the script, not from quality. Run: make bench-peers, or python -m bench.peers FOLDER [PROGRAM ...]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from bench.engine_calls import COMMAND, environment
from bench.synthetic import server_cpu
from bench.web_run import HOSTS, Memory, ask_server, question
from corrobora.storage.postgres.embedded import server_status

ROOT = Path(__file__).parents[1]
PEERS = {"smolagents": ("smolagents[openai]==1.26.0",), "gpt-researcher": ("gpt-researcher==0.15.1",)}
MOST_SECONDS = 600.0
OURS = ("timed", "angles")


@dataclass(frozen=True, slots=True)
class Cost:
    """What a program cost: CPU seconds of it and of the database, MB, seconds; its exit code and words of report."""

    cpu: float
    database: float
    memory: float
    wall: float
    code: int
    words: int


def main() -> int:
    """Install what is missing, run every program once, and print the table; return 1 if one of ours fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="where the environments of the others are")
    parser.add_argument("programs", nargs="*", help="these only: floor, ours, or the name of a package")
    parser.add_argument("--latency", type=float, default=1.0, help="seconds of every answer")
    parser.add_argument("--per-token", type=float, default=0.005, help="further seconds for each token of it")
    options = parser.parse_args()
    wanted = options.programs or ["floor", "ours", *PEERS]
    with own_server(options.latency, options.per_token) as server, tempfile.TemporaryDirectory() as folder:
        assert server.stdout is not None
        ports = json.loads(server.stdout.readline())
        print("program              exit words  wall s  CPU s (database)  CPU ms/call   MB  calls (repeats)", end="  ")
        print("prompt tokens  searches (repeats)  pages (repeats)  embeddings", flush=True)
        good = True
        for name in wanted:
            if name == "ours":
                good = min([run_ours(Path(folder), profile, ports, server) for profile in OURS]) and good
            elif name == "floor":
                run([sys.executable, "-m", "bench.floor", *addresses(ports)], name, server)
            elif (python := install(options.folder / name, PEERS[name])) is not None:
                script = ROOT / "bench" / f"peer_{name.replace('-', '_')}.py"
                run([str(python), str(script), *addresses(ports)], name, server)
    return 0 if good else 1


def addresses(ports: Mapping[str, int]) -> list[str]:
    """What every program but ours is told: model, search engine, question."""
    return [f"http://127.0.0.1:{ports['model']}/v1", f"http://127.0.0.1:{ports['web']}", question(1)]


def install(folder: Path, packages: Sequence[str]) -> Path | None:
    """Make the environment of a program, once, and return its interpreter; None, with the reason, if that fails."""
    python = folder / "bin" / "python"
    if not (folder / "ready").exists():
        print(f"Installing {', '.join(packages)} ...", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages]
        done = subprocess.run(pip, capture_output=True, text=True, check=False)
        if done.returncode:
            reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
            print(f"{folder.name:20} not installed: {reason}", flush=True)
            return None
        (folder / "ready").touch()
    return python


def run_ours(folder: Path, profile: str, ports: Mapping[str, int], server: subprocess.Popen[str]) -> bool:
    """Run our command with a data folder of its own; True if it ends with a report."""
    home = folder / profile
    web = f"127.0.0.1:{ports['web']}"
    settings = {
        "TAVILY_API_KEY": "tvly-bench",
        "CORROBORA_SOURCES_TAVILY_URL": f"http://{web}",
        "CORROBORA_SOURCES_TAVILY_RATE": "1000",
        "CORROBORA_SOURCES_ALLOWED_ENDPOINTS": ",".join(f"{host}:{ports['web']}" for host in HOSTS),
    }
    given = {**environment(home), **settings}
    subprocess.run([*COMMAND, "db", "start"], env=given, check=True, capture_output=True)
    try:
        model = f"worker=openai-compatible:scripted-large@http://127.0.0.1:{ports['model']}/v1"
        command = [*COMMAND, "research", question(1), "--provider", "tavily", "--profile", profile]
        command += ["--model", model, "--time", "unlimited", "--yes", "--quiet"]
        return run(command, f"ours, {profile}", server, given, server_status(home / "database").pid).code == 0
    finally:
        subprocess.run([*COMMAND, "db", "stop"], env=given, check=False, capture_output=True)


def run(
    command: Sequence[str],
    name: str,
    server: subprocess.Popen[str],
    given: Mapping[str, str] | None = None,
    database: int | None = None,
) -> Cost:
    """Run a program to its end and print its row."""
    ask_server(server)
    cost = measure(command, given, database)
    asked = ask_server(server)
    cpu, calls = cost.cpu + cost.database, max(1, asked["calls"])
    row = f"{name:20} {cost.code:4} {cost.words:5}  {cost.wall:6.1f}  {cpu:5.2f} ({cost.database:.2f})"
    row = f"{row:56} {1e3 * cpu / calls:12.1f} {cost.memory:5.0f}  {asked['calls']:5} ({asked['repeats']})"
    print(f"{row:98} {asked['tokens']:13,} {asked['searches']:9} ({asked['search_repeats']})", end=" ")
    print(f"{asked['pages']:14} ({asked['page_repeats']}) {asked['embeddings']:16}", flush=True)
    return cost


def measure(command: Sequence[str], given: Mapping[str, str] | None, database: int | None) -> Cost:
    """Run a program and say what it cost."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        before = server_cpu(database) if database else 0.0
        clock = psutil.Process().cpu_times()
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=out, stderr=err, cwd=ROOT, env=given or dict(os.environ), text=True)
        memory = Memory(process.pid)
        if database:
            memory.watch(database)
        try:
            process.wait(MOST_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        wall, ended = time.perf_counter() - start, psutil.Process().cpu_times()
        used = ended.children_user + ended.children_system - clock.children_user - clock.children_system
        spent = server_cpu(database) - before if database else 0.0
        out.seek(0)
        err.seek(0)
        words, said = len(out.read().split()), err.read().strip().splitlines()
        if process.returncode:
            print(f"{Path(command[0]).name} ended with {process.returncode}: {' / '.join(said[-3:])}", file=sys.stderr)
        return Cost(used, spent, memory.take_peak(), wall, process.returncode, words)


@contextmanager
def own_server(seconds: float, per_token: float) -> Iterator[subprocess.Popen[str]]:
    """Run the model, the search engine and the web in a process that is not counted."""
    command = [sys.executable, "-m", "bench.peer_server", str(seconds), str(per_token)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        try:
            yield process
        finally:
            process.terminate()


if __name__ == "__main__":
    raise SystemExit(main())
