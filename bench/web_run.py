"""What research on the web costs: main process, parser and database, cold and warm, one question and fifty at once.

A search API in the shape of Tavily, 1,200 pages on 400 hosts and a scripted model answer over HTTP on loopback, in a
process of their own that is not counted. A fresh process works on one question (cold: from its start, imports
included), on further ones in turn (warm), and then on fifty at once. Counted is the CPU of this process, of its parser
children and of the database with all its backends; memory is the proportional share of all three at its highest.
Nothing of the product is changed but the rate of the search provider. Run: python -m bench.web_run [--runs 1 50]

The critical path is that of `bench.engine_calls`, each call as long as the server took for its answer. Exact repeats
are prompts that the server was sent twice, and searches and pages that it was asked for more often than the journals
of the runs have answers.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

from bench.engine_calls import COMMAND, critical_path, environment, played
from bench.model_server.protocols import WireRequest
from bench.model_server.server import Latency, ModelServer, answer_from_prompt
from bench.synthetic import Texts, postmaster, server_cpu
from corrobora.__main__ import collect_rarely
from corrobora.app import Workspace
from corrobora.app.attempts import execute_run
from corrobora.app.runs import submit_run
from corrobora.config import Settings, load_settings
from corrobora.domain.run import Request, RunId
from corrobora.registry import load_part
from corrobora.testing.web import LoopbackWeb, WebPage

PAGES = 1_200
HOSTS = tuple(f"127.0.{1 + number // 200}.{1 + number % 200}" for number in range(400))
KINDS = "harbour signal tide rope salt bell river canal winter copper".split()
THINGS = "crane gate lamp mill ferry pan tower bridge pump wheel lift barge".split()
SUBJECTS = len(KINDS) * len(THINGS)
WARM = 3  # questions in turn after the first
GOALS = {1: 15.0, 50: 12.0}  # CPU milliseconds for a model call, everything counted
COLD_GOAL, RATE_GOAL, MEMORY_GOAL, MAIN_MEMORY_GOAL, PATH_GOAL, SLACK_GOAL = 1.5, 100.0, 350.0, 80.0, 24.0, 1.10


def main() -> int:
    """Print all figures; return 1 if one misses its goal."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--profile", default="timed")
    parser.add_argument("--latency", type=float, default=1.0, help="seconds of every answer")
    parser.add_argument("--per-token", type=float, default=0.005, help="further seconds for each token of it")
    parser.add_argument("--runs", type=int, nargs="*", default=[1, 50])
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--measure", nargs=2, metavar=("HOME", "PORTS"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    latency = Latency(options.latency, options.per_token)
    if options.serve:
        asyncio.run(serve(latency))
        return 0
    if options.measure:
        home, ports = options.measure
        asyncio.run(measure(Path(home), json.loads(ports), options.profile, latency, options.runs))
        return 0
    with tempfile.TemporaryDirectory(prefix="corrobora-bench-") as folder, own_server(latency) as server:
        subprocess.run([*COMMAND, "db", "start"], env=environment(Path(folder)), check=True, capture_output=True)
        try:
            return report(folder, server, options)
        finally:
            subprocess.run([*COMMAND, "db", "stop"], env=environment(Path(folder)), check=False, capture_output=True)


def report(folder: str, server: subprocess.Popen[str], options: argparse.Namespace) -> int:
    """Start the process that is measured, print each of its figures beside the goal, and return 1 for a miss."""
    assert server.stdout is not None
    own = ["--profile", options.profile, "--latency", str(options.latency), "--per-token", str(options.per_token)]
    ports = server.stdout.readline().strip()
    command = [sys.executable, "-m", "bench.web_run", *own, "--measure", folder, ports, "--runs"]
    good = True
    with subprocess.Popen(
        [*command, *map(str, options.runs)], env=environment(Path(folder)), stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        memory = Memory(child.pid)
        cold = 0.0
        for line in child.stdout:
            found = json.loads(line)
            if "postmaster" in found:
                memory.watch(found["postmaster"])
                continue
            asked = ask_server(server)
            repeats = asked["repeats"] + sum(max(0, asked[kind] - found[kind]) for kind in ("searches", "reads"))
            found |= {"repeats": repeats, "memory": memory.take_peak()}
            found["cpu"] = found["own"] + found["parser"] + found["database"]
            if found["what"] == "cold":
                cold = found["cpu"]
            good = print_figures(found, cold) and good
    return 0 if good and child.returncode == 0 else 1


def ask_server(server: subprocess.Popen[str]) -> dict[str, int]:
    """Return what the server was asked for since the last time: repeated prompts, searches, pages."""
    assert server.stdin is not None
    assert server.stdout is not None
    server.stdin.write("\n")
    server.stdin.flush()
    return json.loads(server.stdout.readline())


def print_figures(found: dict[str, float], cold: float) -> bool:
    """Print the figures of one measurement; False if one misses its goal."""
    n, calls, cpu, wall = int(found["n"]), int(found["calls"]), found["cpu"], found["wall"]
    parts = f"{found['own']:.2f} self + {found['parser']:.2f} parser + {found['database']:.2f} database"
    print(
        f"web       {found['what']} N={n}: {calls} model calls, {found['reads']} pages, {cpu:.2f} CPU-s ({parts}), "
        f"{1e3 * cpu / calls:.1f} ms a call (goal {GOALS.get(n, 0):g}), "
        f"{found['commits']:.0f} commits of the journal a question, repeats {found['repeats']} (goal 0)"
    )
    print(f"web         memory {found['memory']:.0f} MB in all, main process {found['rss']:.0f} MB", end="")
    met = [not found["repeats"]]
    if found["what"] == "cold":
        print(f" (goal {MAIN_MEMORY_GOAL:g})")
        return met[0]
    met.append(1e3 * cpu / calls <= GOALS.get(n, 1e9))
    if n == 1:
        over = cold - cpu / found["runs"]
        print(f" (goal {MAIN_MEMORY_GOAL:g}); the first question took {over:.2f} CPU-s more (goal {COLD_GOAL})")
        path, slack = found["path"] / found["runs"], wall / found["path"]
        print(f"web         critical path {path:.1f} s (goal {PATH_GOAL:g}), wall over it {slack:.3f}", end="")
        print(f" (goal {SLACK_GOAL})")
        met += [over <= COLD_GOAL, path <= PATH_GOAL, slack <= SLACK_GOAL, found["rss"] <= MAIN_MEMORY_GOAL]
    else:
        print(f" (goal {MEMORY_GOAL:g}); {60 * n / wall:.0f} questions a minute (goal {RATE_GOAL:g}), {wall:.1f} s")
        met += [60 * n / wall >= RATE_GOAL, found["memory"] <= MEMORY_GOAL]
    sys.stdout.flush()
    return all(met)


class Memory:
    """Samples the proportional memory of a process, its children and a database, in a thread of this process."""

    def __init__(self, child: int) -> None:
        self._roots = [child]
        self._peak = 0.0
        threading.Thread(target=self._sample, daemon=True).start()

    def watch(self, process: int) -> None:
        """Count another process with its children, too."""
        self._roots.append(process)

    def take_peak(self) -> float:
        """Return the highest sum in MB since the last call."""
        peak, self._peak = self._peak, 0.0
        return peak

    def _sample(self) -> None:
        while True:
            total = 0
            for root in self._roots:
                try:
                    family = [psutil.Process(root), *psutil.Process(root).children(recursive=True)]
                    total += sum(_read_share(each.pid) for each in family)
                except psutil.Error:
                    continue
            self._peak = max(self._peak, total / 1024)
            time.sleep(0.25)


def _read_share(process: int) -> int:
    """Proportional share of memory in kB; 0 for a process that has just ended."""
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)


async def measure(home: Path, ports: dict[str, int], profile: str, latency: Latency, counts: Sequence[int]) -> None:
    """Work on the questions in this process and print one JSON object for each measurement."""
    load_part("search", "tavily").calls_per_second = 1_000.0
    collect_rarely()  # as the program does
    model = (("worker", f"openai-compatible:scripted-large@http://127.0.0.1:{ports['model']}/v1"),)
    async with Workspace.open(connect(home, ports["web"])) as workspace:
        server = await postmaster(workspace.database)
        print(json.dumps({"postmaster": server}), flush=True)
        before = Cpu(0.0, 0.0, server_cpu(server))
        for what, numbers in list_measurements(counts):
            requests = [Request(question(each), profile, models=model, authorized="policy") for each in numbers]
            start = time.perf_counter()
            at_once, written = what == "warm" and len(numbers) > WARM, workspace.writer.flushes
            if at_once:
                runs = list(await asyncio.gather(*(work_on(workspace, each) for each in requests)))
            else:
                runs = [await work_on(workspace, each) for each in requests]
            wall, spent = time.perf_counter() - start, Cpu.read(server) - before
            calls = [await played(workspace, run) for run in runs]
            found: dict[str, object] = {"what": what, "n": len(runs) if at_once else 1, "runs": len(runs)}
            found |= {"wall": wall, "rss": read_own_peak(), "commits": (workspace.writer.flushes - written) / len(runs)}
            found |= {"calls": sum(map(len, calls)), **await count_answers(workspace, runs), **asdict(spent)}
            paths = [critical_path(each, latency.seconds, latency.per_token_seconds) for each in calls]
            print(json.dumps({**found, "path": sum(paths)}), flush=True)
            before = Cpu.read(server)


def read_own_peak() -> float:
    """Return the highest memory of this process in MB. `getrusage` would count what started it, too."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) / 1024


def list_measurements(counts: Sequence[int]) -> Iterator[tuple[str, Sequence[int]]]:
    """Yield the cold measurement and the warm ones, each with the numbers of its questions."""
    yield "cold", (100,)
    for count in counts:
        yield "warm", range(101, 101 + WARM) if count == 1 else range(count)


def connect(home: Path, port: int) -> Settings:
    """The settings of an operator whose search provider and pages are on loopback."""
    web = f"http://127.0.0.1:{port}"
    given = {"CORROBORA_HOME": str(home), "CORROBORA_SOURCES_PROVIDERS": "tavily", "TAVILY_API_KEY": "tvly-bench"}
    endpoints = ",".join(f"{host}:{port}" for host in HOSTS)
    given |= {"CORROBORA_SOURCES_TAVILY_URL": web, "CORROBORA_SOURCES_ALLOWED_ENDPOINTS": endpoints}
    return load_settings(env=given, folder=home, user_file=home / "none.toml")


async def work_on(workspace: Workspace, request: Request) -> str:
    """Work on one question to its end and return its run."""
    run = await submit_run(workspace, request, deferred=False)
    epoch = await workspace.runs.claim(run, "bench")
    assert epoch is not None
    await execute_run(workspace, RunId(run), epoch)
    row = await workspace.runs.get(run)
    assert row.status == "done", row
    return run


async def count_answers(workspace: Workspace, runs: Sequence[str]) -> dict[str, int]:
    """Return how many searches and pages the journals of some runs hold."""
    rows = await workspace.database.fetch_all(
        "select count(*) filter (where key like 'search/%%'), count(*) filter (where key like 'read#%%')"
        " from journal where run = any(%s)",
        (list(runs),),
    )
    return {"searches": int(rows[0][0]), "reads": int(rows[0][1])}


@dataclass(frozen=True, slots=True)
class Cpu:
    """CPU seconds so far of this process, of its children that parse, and of the database."""

    own: float
    parser: float
    database: float

    @classmethod
    def read(cls, server: int) -> Cpu:
        """Read the clocks of all three."""
        ended = resource.getrusage(resource.RUSAGE_CHILDREN)
        parser = ended.ru_utime + ended.ru_stime
        for child in psutil.Process().children(recursive=True):
            times = child.cpu_times()
            parser += times.user + times.system
        return cls(time.process_time(), parser, server_cpu(server))

    def __sub__(self, other: Cpu) -> Cpu:
        return Cpu(self.own - other.own, self.parser - other.parser, self.database - other.database)


def subject(number: int) -> str:
    """One of 120 things that pages are about."""
    return f"{KINDS[number % len(KINDS)]} {THINGS[number // len(KINDS) % len(THINGS)]}"


def question(number: int) -> str:
    """Return one question of many."""
    about = subject(number)
    return f"How often must a {about} be inspected, and what load may a {about} carry?"


def write_pages() -> list[WebPage]:
    """Write pages as sites have them: head, scripts, menu, article with two statements, related links, footer."""
    texts = Texts()
    menu = "".join(f'<li class="item"><a href="/section/{at}">{texts.title()}</a></li>' for at in range(40))
    style = "<style>" + ".item{margin:0 auto;padding:4px}" * 120 + "</style>"
    pages: list[WebPage] = []
    for number in range(PAGES):
        about, place = subject(number % SUBJECTS), texts.title()
        said = [
            f"Every {about} of {place} must be inspected every {2 + number % 17} months since {1960 + number % 60}.",
            f"A {about} of {place} may carry a load of at most {10 + 3 * number} tonnes.",
        ]
        parts = [f"<p>{texts.passage()} {said[at] if at < len(said) else ''}</p>" for at in range(10)]
        parts.insert(4, f"<h2>The load of a {about}</h2>")
        related = "".join(f'<li><a href="/page/{(number + at) % PAGES}">{texts.title()}</a></li>' for at in range(20))
        title = f"The {about} of {place}"
        markup = (
            f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>{style}'
            f"<script>{'var a = 1;' * 200}</script></head><body><header><nav><ul>{menu}</ul></nav></header>"
            f"<main><article><h1>{title}</h1>{''.join(parts)}</article><aside><ul>{related}</ul></aside></main>"
            f"<footer><ul>{menu}</ul><p>Imprint, contact and terms of use.</p></footer></body></html>"
        )
        pages.append(WebPage.of_html(f"/page/{number}", markup))
    return pages


async def serve(latency: Latency) -> None:
    """Serve pages, search and model until stdin ends; each line of it is answered by the number of exact repeats."""
    prompts: Counter[str] = Counter()

    def answer(asked: WireRequest) -> str:
        prompts[f"{asked.system}\0{asked.user}"] += 1
        return answer_from_prompt(asked)

    async with (
        ModelServer(answer, latency=latency, keep=False) as model,
        LoopbackWeb(write_pages(), hosts=HOSTS) as web,
    ):
        print(json.dumps({"model": model.port, "web": web.port}), flush=True)
        while await asyncio.to_thread(sys.stdin.readline):
            reads = sum(each.path.startswith("/page/") for each in web.requests)
            repeats = sum(each - 1 for each in prompts.values())
            print(json.dumps({"repeats": repeats, "searches": len(web.searches), "reads": reads}), flush=True)
            prompts.clear()
            web.searches.clear()
            web.requests.clear()


@contextmanager
def own_server(latency: Latency) -> Iterator[subprocess.Popen[str]]:
    """Run `serve` in its own process."""
    own = ["--latency", str(latency.seconds), "--per-token", str(latency.per_token_seconds)]
    command = [sys.executable, "-m", "bench.web_run", "--serve", *own]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.terminate()


if __name__ == "__main__":
    raise SystemExit(main())
