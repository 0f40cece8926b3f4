"""One attempt at a stored run, as the program makes it, which kills a victim by SIGKILL at a chosen point of progress.

A point is a model call begun, answered or committed, a search or read begun or answered, a page handed to the parser, a
step in which a run ends. The victim is this process, at any point or at the end of its run, its parser in the midst of
a page, or the database server with all its processes; somebody else starts that one again. Called in a forked process
by `kill_points`.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from tests.journal.engine_run import LedgerReader, LedgerSearch

from corrobora.adapters.library import LibraryReader, LibrarySearch
from corrobora.adapters.readers.parser import ParsedDocument, ParserProcess
from corrobora.app import Workspace
from corrobora.app.attempts import run_here
from corrobora.app.wiring import WebAccess, Wiring
from corrobora.config import load_settings
from corrobora.domain.limits import LIMITS
from corrobora.domain.run import Request
from corrobora.ports import Entry, Library, Reader, SearchProvider
from corrobora.storage.journal import JournalWriter
from corrobora.storage.journal.commits import AttemptWrites, EventWrite
from corrobora.storage.journal.runs import Runs

PROGRAM, PARSER, DATABASE = "program", "parser", "database"
ENDING = "ending"  # the program, where its run ends
HASTY = replace(LIMITS, host_pause_seconds=0.01, pages_per_host=200)
LOADED = (  # what a fork need not import again
    "corrobora.adapters.models.connection",
    "corrobora.adapters.readers.pages",
    "corrobora.adapters.search.keyed",
    "corrobora.adapters.web.fetcher",
    "corrobora.analysts.extractive",
    "corrobora.analysts.language_model.analyst",
    "corrobora.engine.research",
    "corrobora.storage.queue.attempts",
)


@dataclass
class Strike:
    """Counts points, writes them into the ledger, and kills the victim at the chosen one."""

    ledger: Path
    victim: str
    at: int  # 0: never
    server: int  # the process of the database server
    count: int = 0
    parser: list[int] = field(default_factory=list[int])

    def point(self, kind: str, key: str) -> None:
        """Write a point down; at the chosen one kill the victim."""
        with self.ledger.open("a") as lines:
            lines.write(f"{kind}\t{key}\n")
        if not counts_point(self.victim, kind):
            return
        self.count += 1
        if self.count != self.at:
            return
        with self.ledger.open("a") as lines:
            lines.write(f"strike\t{self.victim}\n")
        if self.victim in (PROGRAM, ENDING):
            os.kill(os.getpid(), signal.SIGKILL)
        if self.victim == DATABASE:
            os.killpg(os.getpgid(self.server), signal.SIGKILL)
        if self.victim == PARSER:
            # at every other point when it has its page, else before
            strike = partial(os.kill, self.parser[-1], signal.SIGKILL)
            asyncio.get_running_loop().call_soon(strike) if self.at % 2 else strike()


def counts_point(victim: str, kind: str) -> bool:
    """True if a victim may be killed at a point of a kind."""
    return {PARSER: "parse", ENDING: "end"}.get(victim, kind) == kind and (victim == PARSER) == (kind == "parse")


class LedgerRuns:
    """The stored runs; before and after a report is sealed, and an attempt is closed, is a point."""

    def __init__(self, runs: Runs, strike: Strike) -> None:
        self._runs, self._strike = runs, strike

    def __getattr__(self, name: str) -> Any:
        return getattr(self._runs, name)

    async def seal_report(self, *given: Any) -> Entry:
        self._strike.point("end", "seal begun")
        first = await self._runs.seal_report(*given)
        self._strike.point("end", "sealed")
        return first

    async def finish(self, *given: Any, **named: Any) -> None:
        self._strike.point("end", "finish begun")
        await self._runs.finish(*given, **named)
        self._strike.point("end", "finished")


class KilledParser(ParserProcess):
    """The parser, every page written down that it is handed."""

    strike: Strike

    async def parse_document(
        self, data: bytes, *, name: str = "", content_type: str = "", charset: str = ""
    ) -> ParsedDocument:
        await self.start()
        assert self._process is not None
        self.strike.parser.append(self._process.pid)
        self.strike.point("parse", name)
        return await super().parse_document(data, name=name, content_type=content_type, charset=charset)


class LedgerWriter:
    """The writer of the journal, every begun, answered and committed call written down."""

    def __init__(self, writer: JournalWriter, strike: Strike) -> None:
        self._writer, self._strike = writer, strike

    def add_intent(self, lane: AttemptWrites, key: str) -> None:
        self._writer.add_intent(lane, key)
        self._strike.point("sent", key)

    def add_answer(self, lane: AttemptWrites, entry: Entry, *, soon: bool = True) -> asyncio.Future[Entry]:
        future = self._writer.add_answer(lane, entry, soon=soon)
        future.add_done_callback(lambda _: self._strike.point("commit", entry.key))
        self._strike.point("put", entry.key)
        return future

    def add_event(self, event: EventWrite) -> None:
        self._writer.add_event(event)

    def flush_now(self) -> None:
        self._writer.flush_now()


class LedgerWeb(WebAccess):
    """What reads pages, with a parser that writes down what it is handed."""

    strike: Strike

    def open_reader(self, *given: Any, **named: Any) -> Reader:
        if self._child is None:
            child = KilledParser()
            child.strike = self.strike
            self._child, self._started = child, asyncio.ensure_future(child.start())
        return super().open_reader(*given, **named)


class LedgerWiring(Wiring):
    """The adapters of a run; what the library is asked for is written down."""

    strike: Any

    def open_searches(self, request: Request, library: Library) -> Mapping[str, SearchProvider]:
        found = super().open_searches(request, library)
        own: Any = library
        return {
            name: LedgerSearch(own, self.strike) if type(each) is LibrarySearch else each
            for name, each in found.items()
        }

    def open_readers(self, request: Request, library: Library, space: str) -> tuple[Reader, ...]:
        own: Any = library
        return tuple(
            LedgerReader(own, self.strike) if type(each) is LibraryReader else each
            for each in super().open_readers(request, library, space)
        )


async def _work(variables: Mapping[str, str], run: str, strike: Strike) -> None:
    home = Path(variables["CORROBORA_HOME"])
    settings = load_settings(env=variables, folder=home, user_file=home / "none.toml")

    def open_web(*given: Any) -> WebAccess:
        web = LedgerWeb(*given, limits=HASTY)
        web.strike = strike
        return web

    async with Workspace.open(settings) as workspace:
        writer: Any = LedgerWriter(workspace.writer, strike)
        runs: Any = LedgerRuns(workspace.runs, strike)
        workspace.runs = runs
        workspace.writer = writer
        workspace.wiring = LedgerWiring(settings, workspace.database, open_web)
        workspace.wiring.strike = strike
        await run_here(workspace, run)


def work(variables: Mapping[str, str], run: str, strike: Strike) -> None:
    """Make one attempt at a run, to its end or until this process is killed."""
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_work(variables, run, strike))
