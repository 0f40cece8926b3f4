"""The workspace: one database with its runs and libraries, and the engine wired to it.

Knows how a request becomes a session and how an attempt ends. Does not know the method and does not show anything.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import signal
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from corrobora.assembly.conversation import Manager
from corrobora.assembly.delivery import check_targets, deliver
from corrobora.assembly.facts import fact_store
from corrobora.assembly.ingesting import Ingested, Progress, ingest
from corrobora.assembly.models import Models
from corrobora.assembly.outside import allowance, analysts, embedder, readers, searches
from corrobora.assembly.people import PLAN, RETRY, UNTIL, YES, StoredHuman, SystemClock, paused_at
from corrobora.assembly.reports import ARTIFACT_DIR, ThreadReports
from corrobora.assembly.web import RATES, Web, check_sources, web_searches
from corrobora.config import Settings, load_profile, resolve_profile
from corrobora.domain.brief import Brief
from corrobora.domain.errors import CorroboraError, JournalError, NeedsHuman, NoEvidence, Stale, UserError
from corrobora.domain.events import Event, EventType
from corrobora.domain.report import Outcome, Report
from corrobora.domain.run import Request, RunId, RunRow, RunStatus, Stage
from corrobora.domain.thread import StopReason
from corrobora.engine.budget import Budget
from corrobora.engine.claims import Claims
from corrobora.engine.codec import decode
from corrobora.engine.manager import research
from corrobora.engine.planning import check_suggested
from corrobora.engine.recheck import Recheck, recheck
from corrobora.engine.rescue import rescue
from corrobora.engine.session import Outside, Session, carried_seconds
from corrobora.policies.profile import Profile, resolve_advance, resolve_rules
from corrobora.ports import Clock, Limiter
from corrobora.storage.database import Database, place
from corrobora.storage.dialogues import Dialogues, StoredDialogue, new_dialogue
from corrobora.storage.events import EventLog, last_number
from corrobora.storage.folder import RunFolder
from corrobora.storage.journal import RunJournal
from corrobora.storage.library import PostgresLibrary
from corrobora.storage.limiter import Limiter as RateLimiter
from corrobora.storage.queue import Queue
from corrobora.storage.rewind import rewind
from corrobora.storage.runs import Artifact, Runs
from corrobora.storage.schedules import Schedules
from corrobora.storage.writer import JournalWriter

log = logging.getLogger("corrobora")
OVERRUN_SECONDS = 2.0  # delivered by the deadline + 5 %, 2 s at least (DESIGN 11)


class Workspace:
    """Everything a face needs. Open it with `Workspace.open` as an async context."""

    def __init__(
        self,
        settings: Settings,
        database: Database,
        writer: JournalWriter,
        events: EventLog,
        web: Callable[[Settings, Clock], Web] = Web,
    ) -> None:
        self.settings = settings
        self.database = database
        self.runs = Runs(database)
        self.queue = Queue(database)
        self.schedules = Schedules(database)
        self.dialogues = Dialogues(database)
        self._writer = writer
        self._events = events
        self._models = Models(settings)
        self._facts = fact_store(settings)
        self._clock = SystemClock()
        self._web = web(settings, self._clock)
        self._sessions: dict[str, Session] = {}

    @classmethod
    @asynccontextmanager
    async def open(cls, settings: Settings, *, web: Callable[[Settings, Clock], Web] = Web) -> AsyncGenerator[Self]:
        """Connect (starting the embedded server if no other is named) and migrate; disconnect at the end.

        `web` makes what reads pages; one of your own has other limits or other names for addresses.

        Raises:
            JournalError: the database is down, damaged, of another version or refuses.
        """
        target: str | Path = settings.home / "database"
        if settings.database_url is not None:
            target = settings.database_url.reveal()
        async with (
            await Database.connect(target, wait_seconds=settings.database_wait_seconds) as database,
            JournalWriter(database.conninfo) as writer,
            EventLog(database) as events,
        ):
            workspace = cls(settings, database, writer, events, web)
            try:
                yield workspace
            finally:
                await workspace._models.close()
                if workspace._facts is not None:
                    await workspace._facts.close()
                await workspace._web.close()

    @property
    def place(self) -> str:
        """Where the journal lies, for people: no secret in it."""
        return place(self.database.conninfo) if self.settings.database_url else str(self.settings.home / "database")

    def library(self, names: Sequence[str]) -> PostgresLibrary:
        """Open the named libraries as one."""
        return PostgresLibrary(self.database, tuple(names), embedder(self.settings))

    async def ingest(self, name: str, paths: Sequence[Path], progress: Progress) -> Ingested:
        """Read folders and files into a library; every file is accounted for."""
        return await ingest(self.database, name, paths, progress)

    async def submit(self, request: Request, *, run: RunId | None = None, deferred: bool = True) -> RunId:
        """Store a run; queue it unless this process works on it itself.

        Raises:
            UserError: a bad profile, plan or target; where this process works on it, also a model or a web provider
                that cannot be used. Nothing was stored and nothing was paid.
        """
        request = self._resolved(request)
        profile = self.profile(request)
        if request.plan_file:
            check_suggested(request.plan_file, profile)
        check_targets(request, self.settings)
        if not deferred:  # else the worker's settings count: it may have keys that this process has not
            analysts(self.settings, request, profile, self._models)
            web_searches(self.settings, request, clock=self._clock)
            check_sources(self.settings, request)
        made = await self.runs.create(request, run=run)
        if deferred:
            await self.queue.submit(made)
        return made

    def profile(self, request: Request) -> Profile:
        """Resolve the profile of a request: preset, file or `[profiles.NAME]`, with its overrides."""
        known = self._resolved(request)
        return load_profile(known.profile, known.overrides)

    def _resolved(self, request: Request) -> Request:
        """Write out a profile of the settings, so that a worker with other settings or elsewhere does the same."""
        name, own = resolve_profile(self.settings, request.profile)
        return replace(request, profile=name, overrides=(*own, *request.overrides))

    async def authorize(self, run: str, words: str) -> bool:
        """Take a person's words on a waiting plan: only the profile's exact phrase starts the run (S0)."""
        row = await self.runs.get(run)
        phrase = self.profile(row.request).phrase
        if phrase and words != phrase:
            raise UserError(
                "phrase",
                f"{words[:80]!r} does not authorize the plan.",
                next_step=f"Say exactly: {phrase}",
            )
        await self.runs.answer(run, PLAN, YES)
        return True

    async def steer(self, run: str, hint: str) -> None:
        """Answer a pause between two rounds; an empty hint just goes on (S3)."""
        row = await self.runs.get(run)
        topic = paused_at(row.reason) if row.status is RunStatus.PAUSED and row.outcome == "paused" else None
        if topic is None:
            raise UserError("not_paused", f"Run {run} does not pause between rounds.")
        await self.runs.answer(run, topic, hint)

    async def rewind(self, run: str, stage: Stage) -> None:
        """Take a run back to the begin of a stage; what was answered before it is kept (S1, from_stage)."""
        await rewind(self.database, run, stage)

    async def schedule(self, name: str, cron: str, request: Request) -> str:
        """Store a schedule and return when its next turn is. Raises `UserError` for what could not run then."""
        request = self._resolved(request)
        self.profile(request)
        check_targets(request, self.settings)
        return (await self.schedules.put(name, cron, request)).isoformat(timespec="minutes")

    async def until(self, run: str, stage: Stage | None) -> None:
        """Let the next attempts pause after a stage; None lets them go to the end (S1, one job for each stage)."""
        await self.runs.answer(run, UNTIL, stage or "")

    def manager(self, request: Request, stored: StoredDialogue | None = None) -> Manager:
        """Open a dialogue with the manager; `request` says where and how to research once it is agreed (S0)."""
        profile = self.profile(request)
        players = analysts(self.settings, request, profile, self._models)
        return Manager(self.submit, stored or new_dialogue(request), profile, players, keep=self.dialogues.keep)

    async def reopen(self, run: str) -> None:
        """Open a run again that ended for want of a provider or was cancelled: failures are tried again."""
        await rewind(self.database, run, Stage.DELIVER)
        await self.runs.answer(run, RETRY, YES)

    async def recheck(self, text: str) -> Recheck:
        """Check the citations of any Markdown against the stored sources, offline."""
        return await recheck(text, by_hash=self._snapshot, by_url=self._page)

    async def _snapshot(self, sha: str) -> str | None:
        row = await self.database.row("SELECT body FROM snapshot WHERE sha = %s", [sha], where="reading a snapshot")
        return None if row is None else str(row[0])

    async def _page(self, url: str) -> str | None:
        row = await self.database.row(
            "SELECT n.body FROM source s JOIN snapshot n ON n.sha = s.snapshot WHERE s.url = ANY(%s) "
            "ORDER BY s.id DESC LIMIT 1",
            [[url, url.rstrip("/"), f"{url}/"]],
            where="reading a source",
        )
        return None if row is None else str(row[0])

    async def finish(self, run: str) -> None:
        """Let a run of this process end its research now and write its report."""
        session = self._sessions.get(run)
        if session is not None:
            session.budget.finish()

    async def cancel(self, run: str) -> None:
        """Cancel a run, wherever it works."""
        await self.queue.cancel(run)

    def follow(self, run: str, after: int = 0, *, through_pauses: bool = True) -> AsyncGenerator[Event]:
        """Yield the events of a run after a sequence number, past ones first, then live ones, until it ends.

        Without `through_pauses` also until it waits for a person.
        """
        ends = [status for status in RunStatus if status.final or (status.waits and not through_pauses)]
        return self._events.follow(run, after, ends=ends)

    async def last_event(self, run: str) -> int:
        """Return the number of the last event of a run so far."""
        return await last_number(self.database, run)

    async def report(self, run: str) -> dict[str, Any]:
        """Return the report of a finished run as JSON values. Raises `NoEvidence` if it has none."""
        stored = await self.runs.artifact(run, "report.json")
        if stored is None:
            raise NoEvidence("report_missing", f"Run {run} has no report yet.", next_step=f"corrobora resume {run}")
        return json.loads(stored.content)

    async def whole_report(self, run: str) -> Report | None:
        """Return the report of a run as a value, or None if it has none."""
        stored = await self.runs.artifact(run, "report.json")
        return None if stored is None else decode(Report, stored.content.decode(), key=f"{run}/report.json")

    def folder(self, run: str) -> RunFolder:
        """The folder of a run's files on this machine."""
        return RunFolder(self.settings.home / "runs" / run)

    async def run_here(self, run: str) -> None:
        """Work on one run in this process until it ends or waits."""
        await self.queue.submit(run, own=True)
        await self.queue.run_worker(self.execute, concurrency=1, until=(run,))

    async def work(self, *, concurrency: int) -> None:
        """Be a worker: take runs from the queue until cancelled; SIGTERM hands them back after a grace time."""
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):  # where a platform cannot
            loop.add_signal_handler(signal.SIGTERM, stop.set)
        await self.queue.run_worker(self.execute, concurrency=concurrency, stop=stop)

    async def execute(self, run: RunId, epoch: int) -> None:
        """Make one attempt at a run, from its journal, to its end or until it waits."""
        row = await self.runs.get(run)
        try:
            session = await self._session(row, epoch)
            self._sessions[run] = session
            report = await self._researched(session)
            await deliver(report, session, self.settings, self.runs)
            await self._end(session, report, epoch)
        except Stale:
            log.info("run %s: a newer attempt owns it", run)
        except NeedsHuman as error:
            paused = RunStatus.PAUSED if error.code in ("paused", "stage_reached") else RunStatus.AWAITING
            await self._leave(run, epoch, paused, error)
        except asyncio.CancelledError:
            if await asyncio.shield(self.runs.cancel_requested(run)):
                await asyncio.shield(self.runs.finish(run, epoch, RunStatus.CANCELLED, outcome=Outcome.CANCELLED))
            raise
        except CorroboraError as error:
            if isinstance(error, JournalError) and error.code.startswith("database"):
                raise  # the store is down: the attempt is not over, its next worker goes on
            await self._leave(run, epoch, RunStatus.FAILED, error)
        finally:
            self._sessions.pop(run, None)

    async def _researched(self, session: Session) -> Report:
        """Research; at the deadline and a little, write what the journal holds."""
        seconds = session.budget.allowance.seconds
        brief = _brief(session.request)
        if seconds is None:
            return await research(brief, session)
        left = seconds - session.budget.elapsed
        try:
            async with asyncio.timeout(max(left, 0.0) + OVERRUN_SECONDS / 2):
                return await research(brief, session)
        except TimeoutError:
            return await rescue(session, StopReason.TIME_RESERVE)

    async def _end(self, session: Session, report: Report, epoch: int) -> None:
        """Close the attempt: last event, then the final status with its honest outcome."""
        run = session.run
        session.tell(EventType.RUN_FINISHED, "root", {"outcome": report.outcome, "reason": report.reason})
        await session.journal.flush()
        await self.runs.store_elapsed(run, epoch, session.budget.elapsed)
        status = RunStatus.FAILED if report.outcome is Outcome.PROVIDER_DOWN else RunStatus.DONE
        await self.runs.finish(run, epoch, status, outcome=report.outcome, reason=report.reason)

    async def _leave(self, run: RunId, epoch: int, status: RunStatus, error: CorroboraError) -> None:
        session = self._sessions.get(run)
        if session is not None:
            if status is RunStatus.FAILED:
                data = {"outcome": "failed", "code": error.code, "reason": str(error)}
                session.tell(EventType.RUN_FINISHED, "root", data, part=error.code)
            await session.journal.flush()
            await self.runs.store_elapsed(run, epoch, session.budget.elapsed)
        await self.runs.finish(run, epoch, status, outcome=error.code, reason=str(error))

    async def _session(self, row: RunRow, epoch: int) -> Session:
        """Wire a session for one attempt."""
        request, run = row.request, row.id
        profile = self.profile(request)
        journal = await RunJournal.open(self.database, self._writer, run, epoch)
        spaces = (*request.libraries, f"run:{run}")
        library = self.library(spaces)
        clock = self._clock
        carried = max(carried_seconds(journal), row.elapsed_seconds)
        answers = await self.runs.answers(run)
        session = Session(
            run=run,
            request=request,
            profile=profile,
            stop=resolve_rules(profile),
            advance=resolve_advance(profile),
            outside=Outside(
                analysts=analysts(self.settings, request, profile, self._models),
                searches=searches(self.settings, request, library, self._limiter, clock),
                readers=readers(self.settings, request, self._web, library, f"run:{run}", limiter=self._limiter),
                library=library,
                journal=journal,
                clock=clock,
                human=StoredHuman(self.runs, run),
                write=self._writer_of(run, epoch, request),
                read=self._reader_of(run),
                facts=self._facts,
            ),
            budget=Budget(allowance(request, profile), clock, carried_seconds=carried),
            started_at=row.created_at,
            retry_failures=RETRY in answers,
            until=Stage(answers[UNTIL]) if answers.get(UNTIL) else None,
        )
        session.claims = Claims.restored(journal)
        return session

    def _limiter(self, provider: str) -> Limiter:
        """The rate limit of a provider, one for all workers of this database."""
        return RateLimiter(self.database, provider, rate=RATES[provider])

    def _reader_of(self, run: RunId) -> Callable[[str], Awaitable[str | None]]:
        async def read(name: str) -> str | None:
            stored = await self.runs.artifact(run, name)
            return None if stored is None else stored.content.decode("utf-8", "replace")

        return read

    def _writer_of(self, run: RunId, epoch: int, request: Request) -> Callable[[Mapping[str, str]], Awaitable[None]]:
        """Write a run's files: with the run, in its folder, and S4's reports also in `artifact_dir`, as they come."""
        folder = self.folder(run)
        wanted = dict(request.metadata).get(ARTIFACT_DIR)
        reports = ThreadReports(Path(wanted)) if wanted else None

        def write_folders(files: Sequence[Artifact]) -> None:
            for file in files:
                folder.write(file.name, file.content)
                if reports is not None:
                    reports.write(file.name, file.content)

        async def write(texts: Mapping[str, str]) -> None:
            files = [Artifact.of(name, text) for name, text in texts.items()]
            await asyncio.to_thread(write_folders, files)
            await self.runs.keep(run, epoch, files)

        return write


def _brief(request: Request) -> Brief:
    return Brief(request.question, suggested_plan=request.plan_file)
