"""SIGKILL of program, parser and database at many points of runs, over a library and over a web on loopback.

Each run has a fresh database, a scripted model and, on the web, a search engine and pages over HTTP, which count what
they are asked. A run is killed at a point of progress (`kill_attempt`), then resumed until it has ended, and compared
with one that nobody killed. `python -m tests.journal.kill_points` prints the figures of all 200 points; words on its
command line choose cases: `parser`, `web`, `tree`; `ending` kills at each step in which a run ends.
"""

from __future__ import annotations

import asyncio
import difflib
import multiprocessing
import os
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
from bench.model_server.server import ModelServer
from psycopg import sql
from tests.integration.harness import DOCUMENTS, LIBRARY, QUESTION, name_web, write_pages
from tests.journal.kill_attempt import DATABASE, ENDING, LOADED, PARSER, PROGRAM, Strike, counts_point, work

from corrobora.app import Workspace
from corrobora.app.libraries import ingest_files
from corrobora.app.runs import load_report, submit_run
from corrobora.config import load_settings
from corrobora.domain.report import Findings, Report
from corrobora.domain.run import Request, RunStatus
from corrobora.engine.session.journal import decode_meta
from corrobora.ports import Entry
from corrobora.storage.postgres.embedded import EmbeddedServer, server_status, stop_server
from corrobora.storage.postgres.processes import is_running
from corrobora.testing.web import LoopbackWeb

LIBRARIES, WEB = "library", "web"
MOST_ATTEMPTS = 4
HOSTS = tuple(f"127.0.3.{number}" for number in range(1, 9))
KINDS = ("calls", "searches", "pages")
# Of two leaves at once that find one page, the first has it, so that two whole runs differ in words.
IN_TURN = {"tree": (("leaves_in_turn", "true"),)}
_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["tests.journal.kill_attempt", *LOADED])


@dataclass(frozen=True, slots=True)
class Case:
    """Kills of one victim in runs of one profile."""

    victim: str
    source: str
    profile: str
    points: int

    def __str__(self) -> str:
        return f"{self.victim} {self.source} {self.profile}"


CASES = (
    *(Case(PROGRAM, WEB, profile, 20) for profile in ("timed", "angles", "tree")),
    *(Case(PROGRAM, LIBRARIES, profile, 15) for profile in ("timed", "angles", "tree")),
    *(Case(PARSER, WEB, profile, 15) for profile in ("timed", "angles", "tree")),
    *(Case(DATABASE, WEB, profile, 10) for profile in ("timed", "angles", "tree")),
    *(Case(DATABASE, LIBRARIES, profile, 10) for profile in ("timed", "tree")),
)

END_CASES = tuple(Case(ENDING, LIBRARIES, profile, 4) for profile in ("timed", "angles", "full"))


@dataclass
class Told:
    """What one run did: how often each thing was asked for outside, what was committed, and what came of it."""

    points: int = 0
    struck: bool = False
    attempts: int = 0
    status: str = ""
    asked: dict[str, Counter[str]] = field(default_factory=dict[str, Counter[str]])
    in_flight: dict[str, int] = field(default_factory=dict[str, int])  # when the first attempt ended
    facts: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    text: str = ""

    def count_repeats(self, kind: str) -> int:
        """How often something was asked for again."""
        return sum(count - 1 for count in self.asked[kind].values())


@dataclass
class Proof:
    """The parts that all runs of a case share: a database server of its own, a model, a web."""

    case: Case
    folder: Path
    server: EmbeddedServer
    model: ModelServer
    web: LoopbackWeb
    runs: int = 0

    async def tell(self, at: int) -> Told:
        """Make a run, kill the victim at a point (0: never), resume, and say what was done."""
        self.runs += 1
        name = f"kill_{self.runs}"
        with psycopg.connect(self.server.url, autocommit=True) as connection:
            make = sql.SQL("CREATE DATABASE {} TEMPLATE filled STRATEGY file_copy")
            connection.execute(make.format(sql.Identifier(name)))
        try:
            return await self._run(name, at)
        finally:
            with psycopg.connect(self.server.url, autocommit=True) as connection:
                connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))

    async def _run(self, name: str, at: int) -> Told:
        variables = self.variables(name)
        ledger = self.folder / f"{name}.ledger"
        ledger.touch()
        self.model.asked.clear()
        self.web.searches.clear()
        self.web.requests.clear()
        told = Told()
        async with self.workspace(variables) as workspace:
            run = await submit_run(workspace, self.request(), deferred=False)
            row = await workspace.runs.get(run)
            while told.attempts < MOST_ATTEMPTS and row.status is not RunStatus.DONE:
                told.attempts += 1
                pid = server_status(self.folder / "database").pid
                assert pid is not None
                strike = Strike(ledger, self.case.victim, at if told.attempts == 1 else 0, pid)
                process = _CONTEXT.Process(target=work, args=(variables, run, strike))
                process.start()
                while process.is_alive():
                    await asyncio.sleep(0.02)  # a process ends without telling the loop
                    if not told.struck and "\nstrike\t" in ledger.read_text():
                        told.struck = True
                        await self._restart(pid)
                process.join()
                row = await workspace.runs.get(run)
                if told.attempts == 1:
                    told.in_flight = self._count_in_flight(
                        ledger.read_text(), await self._count_committed(workspace, run)
                    )
            told.status = row.status.value
            report = await load_report(workspace, run)
            told.asked = self._count_asked(ledger.read_text())
            told.points = sum(
                counts_point(self.case.victim, line.partition("\t")[0]) for line in ledger.read_text().splitlines()
            )
        if report is not None:
            told.facts = sorted((fact.url, fact.quote) for each in _nodes(report.findings) for fact in each.facts)
            told.text = _said(report)
        return told

    async def _restart(self, pid: int) -> None:
        """Start the server again if it was killed, as whoever looks after it does."""
        if self.case.victim == DATABASE:
            while is_running(pid):  # noqa: ASYNC110 - it tells nobody
                await asyncio.sleep(0.01)
            await asyncio.to_thread(EmbeddedServer.start, self.folder / "database")

    async def _count_committed(self, workspace: Workspace, run: str) -> Counter[str]:
        rows = await workspace.database.fetch_all("SELECT key, out, meta FROM journal WHERE run = %s", [run])
        found = Counter[str]()
        for key, out, meta in rows:
            kind = "pages" if key.startswith("read#") else "searches" if key.startswith("search/") else ""
            found[kind or ("calls" if decode_meta(Entry(key, out, meta)).role else "other")] += 1
        return found

    def _count_asked(self, ledger: str) -> dict[str, Counter[str]]:
        """Count by what was asked: prompts, queries and addresses; of the library by its keys in the ledger."""
        own = [line.partition("\t")[2] for line in ledger.splitlines() if line.startswith("answer\t")]
        return {
            "calls": Counter(f"{each.system}\0{each.user}\0{each.turns}" for each in self.model.asked),
            "searches": Counter(self.web.searches) + Counter(key for key in own if key.startswith("search/library")),
            "pages": Counter(
                f"{each.headers.get('host')}{each.path}" for each in self.web.requests if _is_page(each.path)
            )
            + Counter(key for key in own if key.startswith("read#")),
        }

    def _count_in_flight(self, ledger: str, committed: Counter[str]) -> dict[str, int]:
        asked = self._count_asked(ledger)
        return {kind: max(0, len(asked[kind]) - committed[kind]) for kind in KINDS}

    def request(self) -> Request:
        web = self.case.source == WEB
        return Request(
            QUESTION,
            self.case.profile,
            libraries=() if web else (LIBRARY,),
            providers=("tavily",) if web else (),
            authorized="policy",
            models=(("worker", f"openai-compatible:scripted-large@{self.model.url}/v1"),),
            overrides=(("minutes", '"unlimited"'), *IN_TURN.get(self.case.profile, ())),
        )

    def variables(self, name: str) -> dict[str, str]:
        return {
            "CORROBORA_HOME": str(self.folder / "home"),
            "CORROBORA_DATABASE_URL": self.server.url.replace("/postgres?", f"/{name}?"),
            **name_web(self.web),
        }

    @asynccontextmanager
    async def workspace(self, variables: dict[str, str]) -> AsyncGenerator[Workspace]:
        found = load_settings(env=variables, folder=self.folder, user_file=self.folder / "none.toml")
        async with Workspace.open(found) as workspace:
            yield workspace


def _is_page(path: str) -> bool:
    return path.startswith("/p/")


def _nodes(found: Findings) -> Iterator[Findings]:
    yield found
    for child in (*found.children, *found.left_out):
        yield from _nodes(child)


def _said(report: Report) -> str:
    """Return the text of a report with its sources, without what it cost."""
    cited = "\n".join(f"[{each.number}] {each.url} {each.quotes}" for each in report.citations)
    return f"{report.outcome}\n{report.markdown.partition('## Methodology')[0]}\n{cited}"


@asynccontextmanager
async def open_proof(case: Case, scratch: Path) -> AsyncGenerator[Proof]:
    """Start what the runs of a case share, with the library in a database that the others are copied from."""
    folder = Path(tempfile.mkdtemp(prefix="corrobora-kills-", dir=scratch))
    (folder / "documents").mkdir()
    for name, text in DOCUMENTS.items():
        (folder / "documents" / name).write_text(text)
    server = EmbeddedServer.start(folder / "database")
    try:
        with psycopg.connect(server.url, autocommit=True) as connection:
            connection.execute("CREATE DATABASE filled")
        async with ModelServer() as model, LoopbackWeb(write_pages(markdown=True), hosts=HOSTS) as web:
            proof = Proof(case, folder, server, model, web)
            async with proof.workspace(proof.variables("filled")) as workspace:
                await ingest_files(workspace.database, LIBRARY, (folder / "documents",), lambda *_: None)
            yield proof
    finally:
        stop_server(folder / "database")
        shutil.rmtree(folder)


async def prove(case: Case, scratch: Path) -> list[str]:
    """Kill at the points of a case, spread over the progress of a run; return what is wrong, and print the figures."""
    wrong: list[str] = []
    totals = Counter[str]()
    async with open_proof(case, scratch) as proof:
        whole = await proof.tell(0)
        wrong += _judge(whole, whole, f"{case}, nobody killed", struck=False)
        for at in _spread(whole.points, case.points):
            told = await proof.tell(at)
            wrong += _judge(told, whole, f"{case} at point {at} of {whole.points}", struck=True)
            totals["points"] += told.struck
            totals["same report"] += told.text == whole.text
            totals["same facts"] += told.facts == whole.facts
            totals["attempts"] += told.attempts
            for kind in KINDS:
                totals[kind] += told.count_repeats(kind)
                totals[f"{kind} in flight"] += told.in_flight.get(kind, 0)
    again = ", ".join(f"{totals[kind]} of {totals[f'{kind} in flight']} {kind}" for kind in KINDS)
    sys.stdout.write(
        f"{case!s:24} {totals['points']:3} points: asked again of those in flight {again}; "
        f"same facts {totals['same facts']}, same report {totals['same report']}; {totals['attempts']} attempts\n"
    )
    sys.stdout.flush()
    return wrong


def _spread(most: int, points: int) -> Sequence[int]:
    """Points from the first to the last; some twice if there are fewer."""
    return [1 + number * most // points for number in range(points)]


def _judge(told: Told, whole: Told, where: str, *, struck: bool) -> list[str]:
    """Say what is wrong with a run: more repeated than was in flight, not done, other facts or another report."""
    wrong = [] if told.status == "done" and told.text else [f"{where}: it ended {told.status}"]
    if told.struck != struck:
        wrong.append(f"{where}: nothing was killed")
    if (told.facts, told.text) != (whole.facts, whole.text):
        lines = difflib.unified_diff(whole.text.splitlines(), told.text.splitlines(), n=0, lineterm="")
        changed = " ".join(line[:200] for line in list(lines)[3:5])
        wrong.append(f"{where}: {'another report' if told.facts == whole.facts else 'other facts'} {changed}")
    most = told.in_flight if told.attempts > 1 else {}
    return wrong + [
        f"{where}: {told.count_repeats(kind)} {kind} asked again, {most.get(kind, 0)} in flight"
        for kind in KINDS
        if told.count_repeats(kind) > most.get(kind, 0)
    ]


def main(words: Sequence[str]) -> int:
    """Print the figures of the cases that hold all words, and what is wrong; return 1 if anything is."""
    memory = Path("/dev/shm")
    scratch = memory if os.access(memory, os.W_OK) else Path(tempfile.gettempdir())
    wrong: list[str] = []
    for case in (*CASES, *END_CASES):
        if set(words) <= set(str(case).split()):
            wrong += asyncio.run(prove(case, scratch))
    sys.stdout.write("\n".join(wrong or ["Nothing is wrong."]) + "\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
