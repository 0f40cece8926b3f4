"""One attempt at a run of the whole engine, with every step at the outside written to a ledger, for kill tests.

Called as a program: `engine_run.py URL LEDGER PROFILE POINT...`. For each point it forks a child that starts a run and
kills itself by SIGKILL at that point of progress, then a child that resumes the run; at the end it prints one JSON line
for each point. A point is a call begun, a call answered, or an answer committed: progress, never time.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corrobora.adapters.library import LibraryReader, LibrarySearch
from corrobora.adapters.pacing import SystemClock
from corrobora.analysts.extractive import ExtractiveAnalyst
from corrobora.app.run_files import RunFiles
from corrobora.app.runs import StoredHuman
from corrobora.config.profiles import load_profile
from corrobora.domain.evidence import Document, Hit, Query
from corrobora.domain.plan import Brief
from corrobora.domain.run import Event, Request, RunId
from corrobora.engine.research import research
from corrobora.engine.session import RunPorts, Session
from corrobora.engine.session.budget import Budget
from corrobora.engine.session.journal import encode, hash_parts, sum_earlier_seconds
from corrobora.engine.session.reading import PassageClaims
from corrobora.policies import derive_allowance, resolve_advance, resolve_rules
from corrobora.ports import Answer, Entry, Role
from corrobora.reporting.thread_json import render_round_files
from corrobora.storage.index import PostgresLibrary
from corrobora.storage.journal import JournalWriter, RunJournal
from corrobora.storage.journal.artifacts import RunFolder
from corrobora.storage.journal.runs import Runs
from corrobora.storage.postgres import Database

QUESTION = "How do the kiln temperature and the drying time differ between the 2015 and the 2021 handbook?"
SPACE = "handbooks"


@dataclass
class Progress:
    """Counts points, writes them down, and kills its process at the chosen one."""

    ledger: int
    at: int  # 0: never
    attempt: str
    count: int = 0

    def point(self, kind: str, key: str) -> None:
        os.write(self.ledger, f"{self.attempt}\t{kind}\t{key}\n".encode())
        self.count += 1
        if self.count == self.at:
            os.kill(os.getpid(), signal.SIGKILL)


class LedgerAnalyst(ExtractiveAnalyst):
    """The extractive analyst, every call written down."""

    def __init__(self, progress: Progress) -> None:
        super().__init__()
        self._progress = progress

    async def play(self, role: Role[Any, Any], given: Any) -> Answer[Any]:
        key = f"{given.path}/{role.prompt}#{hash_parts(self.identity(role), encode(role.takes, given))}"
        self._progress.point("begin", key)
        await asyncio.sleep(0)
        answer = await super().play(role, given)
        self._progress.point("answer", key)
        return answer


class LedgerSearch(LibrarySearch):
    """The library's search, every call written down."""

    def __init__(self, library: PostgresLibrary, progress: Progress) -> None:
        super().__init__(library)
        self._progress = progress

    async def search(self, query: Query, /, *, limit: int) -> Sequence[Hit]:
        key = f"search/library#{hash_parts(query.text, query.site, str(limit))}"
        self._progress.point("begin", key)
        hits = await super().search(query, limit=limit)
        self._progress.point("answer", key)
        return hits


class LedgerReader(LibraryReader):
    """The library's reader, every call written down."""

    def __init__(self, library: PostgresLibrary, progress: Progress) -> None:
        super().__init__(library)
        self._progress = progress

    async def read(self, hit: Hit) -> Document:
        key = f"read#{hash_parts(hit.url, hit.passage or '')}"
        self._progress.point("begin", key)
        document = await super().read(hit)
        self._progress.point("answer", key)
        return document


class LedgerJournal:
    """A journal that writes down what is committed."""

    def __init__(self, journal: RunJournal, progress: Progress) -> None:
        self._journal = journal
        self._progress = progress
        self.run, self.epoch = journal.run, journal.epoch

    def get(self, key: str) -> Entry | None:
        return self._journal.get(key)

    def keys(self, prefix: str = "") -> Sequence[str]:
        return self._journal.keys(prefix)

    def begin(self, key: str) -> None:
        self._journal.begin(key)

    async def put(self, entry: Entry, *, wait: bool = True) -> Entry:
        kept = await self._journal.put(entry, wait=wait)
        later = self._journal._pending.get(entry.key)  # what nobody waits for is committed later
        if later is None:
            self._progress.point("commit", entry.key)
        else:
            later.add_done_callback(lambda _: self._progress.point("commit", entry.key))
        return kept

    def emit(self, event: Event) -> None:
        self._journal.emit(event)

    async def flush(self) -> None:
        await self._journal.flush()

    def uncertain_keys(self) -> Sequence[str]:
        return self._journal.uncertain_keys()


class Unhurried(SystemClock):
    """The clock of a person who does not wait: the pauses between queries take no time, a point is progress."""

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(0)


async def attempt(url: str, run: str | None, progress: Progress, into: Path, name: str) -> None:
    """Make one attempt at a run and write its report to a file."""
    profile = load_profile(name, (("minutes", '"unlimited"'),))
    async with (
        await Database.connect(url, size=2) as database,
        JournalWriter(database) as writer,
    ):
        runs = Runs(database)
        library = PostgresLibrary(database, (SPACE,))
        request = Request(QUESTION, libraries=(SPACE,), authorized="policy")
        run = run or await runs.create(request)
        (into / "run").write_text(run)
        epoch = await runs.claim(run, "test")
        assert epoch is not None
        stored = await RunJournal.open(database, writer, run, epoch)
        journal = LedgerJournal(stored, progress)
        files = RunFiles(runs, RunFolder(into / "files"), await runs.get(run), stored)
        clock = Unhurried()
        session = Session(
            run=RunId(run),
            request=request,
            profile=profile,
            stop=resolve_rules(profile),
            advance=resolve_advance(profile),
            outside=RunPorts(
                analysts=(LedgerAnalyst(progress),),
                searches={"library": LedgerSearch(library, progress)},
                readers=(LedgerReader(library, progress),),
                library=library,
                journal=journal,
                clock=clock,
                human=StoredHuman(runs, run),
                write=files.write,
                seal=files.seal,
                read=files.read,
                render_round=render_round_files,
            ),
            budget=Budget(derive_allowance(profile), clock, carried_seconds=sum_earlier_seconds(journal)),
        )
        session.claims = PassageClaims.from_journal(journal)
        await research(Brief(QUESTION), session)
        await journal.flush()
        text = re.sub(r"- Spent: \d+ s", "- Spent: N s", str(await files.read("report.md")))
        (into / "report.md").write_text(re.sub(r"Sealed: run .*", "Sealed", text))  # it names the run
        (into / "points").write_text(str(progress.count))


def in_child(url: str, run: str | None, at: int, name: str, *, into: Path, profile: str) -> int:
    """Make an attempt in a forked child; return how it ended."""
    child = os.fork()
    if child == 0:
        ledger = os.open(into / "ledger", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        code = 1
        try:
            asyncio.run(attempt(url, run, Progress(ledger, at, name), into, profile))
            code = 0
        finally:
            os._exit(code)
    return os.waitpid(child, 0)[1]


def main(url: str, folder: str, profile: str, *points: str) -> None:
    """Do all points, print one JSON line each."""
    for point in points:
        into = Path(folder) / f"point-{point}"
        into.mkdir(parents=True)
        killed = os.WIFSIGNALED(in_child(url, None, int(point), "first", into=into, profile=profile))
        resumed = in_child(url, (into / "run").read_text(), 0, "second", into=into, profile=profile) if killed else 0
        line = {
            "point": int(point),
            "killed": killed,
            "resumed": resumed,
            "report": (into / "report.md").read_text() if (into / "report.md").exists() else "",
            "points": int((into / "points").read_text()) if (into / "points").exists() else 0,
            "ledger": [row.split("\t") for row in (into / "ledger").read_text().splitlines()],
        }
        sys.stdout.write(json.dumps(line) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
