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

from corrobora.app.delivery import ARTIFACT_DIR, ThreadReports, check_targets, send_report
from corrobora.app.dialogues import DialogueManager
from corrobora.app.libraries import IngestSummary, Progress, ingest_files, open_fact_store
from corrobora.app.models import ModelPool
from corrobora.app.runs import PLAN_TOPIC, RETRY_TOPIC, UNTIL_TOPIC, YES, StoredHuman, SystemClock, pause_topic
from corrobora.app.wiring import (
    WebAccess,
    check_sources,
    open_analysts,
    open_embedder,
    open_readers,
    open_searches,
    open_web_searches,
    run_allowance,
)
from corrobora.config import Settings, load_profile, resolve_profile
from corrobora.domain.errors import CorroboraError, JournalError, NeedsHuman, NoEvidence, Stale, UserError
from corrobora.domain.plan import Brief
from corrobora.domain.report import Outcome, Report
from corrobora.domain.run import Event, EventType, Request, RunId, RunRow, RunStatus, Stage
from corrobora.domain.thread import StopReason
from corrobora.engine.planning import check_suggested_plan
from corrobora.engine.research import rescue_report, research
from corrobora.engine.session.budget import Budget
from corrobora.engine.session.calls import RunPorts, Session, sum_earlier_seconds
from corrobora.engine.session.journal import PassageClaims, decode
from corrobora.policies.profile import Profile, resolve_advance, resolve_rules
from corrobora.ports import Clock, Limiter
from corrobora.registry import load_part
from corrobora.reporting.recheck import RecheckResult, recheck_report
from corrobora.storage.index.library import PostgresLibrary
from corrobora.storage.journal.dialogues import Dialogues, StoredDialogue, new_dialogue
from corrobora.storage.journal.events import EventLog, last_event_number, rewind_run
from corrobora.storage.journal.journal import JournalWriter, RunJournal
from corrobora.storage.journal.runs import Artifact, RunFolder, Runs
from corrobora.storage.postgres.database import Database, describe_database
from corrobora.storage.queue.limiter import Limiter as RateLimiter
from corrobora.storage.queue.queue import Queue, Schedules

log = logging.getLogger("corrobora")
OVERRUN_SECONDS = 2.0  # delivered by the deadline + 5 %, 2 s at least (BUDGET-6)


class Workspace:
    """Everything a face needs. Open it with `Workspace.open` as an async context."""

    def __init__(
        self,
        settings: Settings,
        database: Database,
        writer: JournalWriter,
        events: EventLog,
        web: Callable[[Settings, Clock], WebAccess] = WebAccess,
    ) -> None:
        self.settings = settings
        self.database = database
        self.runs = Runs(database)
        self.queue = Queue(database)
        self.schedules = Schedules(database)
        self.dialogues = Dialogues(database)
        self._writer = writer
        self._events = events
        self._models = ModelPool(settings)
        self._facts = open_fact_store(settings)
        self._clock = SystemClock()
        self._web = web(settings, self._clock)
        self._sessions: dict[str, Session] = {}

    @classmethod
    @asynccontextmanager
    async def open(
        cls, settings: Settings, *, web: Callable[[Settings, Clock], WebAccess] = WebAccess
    ) -> AsyncGenerator[Self]:
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
        return (
            describe_database(self.database.conninfo)
            if self.settings.database_url
            else str(self.settings.home / "database")
        )

    def open_library(self, names: Sequence[str]) -> PostgresLibrary:
        """Open the named libraries as one."""
        return PostgresLibrary(self.database, tuple(names), open_embedder(self.settings))

    async def ingest_files(self, name: str, paths: Sequence[Path], progress: Progress) -> IngestSummary:
        """Read folders and files into a library; every file is accounted for."""
        return await ingest_files(self.database, name, paths, progress)

    async def submit_run(self, request: Request, *, run: RunId | None = None, deferred: bool = True) -> RunId:
        """Store a run; queue it unless this process works on it itself.

        Raises:
            UserError: a bad profile, plan or target; where this process works on it, also a model or a web provider
                that cannot be used. Nothing was stored and nothing was paid.
        """
        request = self._resolve_request(request)
        profile = self.resolve_profile(request)
        if request.plan_file:
            check_suggested_plan(request.plan_file, profile)
        check_targets(request, self.settings)
        if not deferred:  # else the worker's settings count: it may have keys that this process has not
            open_analysts(self.settings, request, profile, self._models)
            open_web_searches(self.settings, request, clock=self._clock)
            check_sources(self.settings, request)
        made = await self.runs.create(request, run=run)
        if deferred:
            await self.queue.submit(made)
        return made

    def resolve_profile(self, request: Request) -> Profile:
        """Resolve the profile of a request: preset, file or `[profiles.NAME]`, with its overrides."""
        known = self._resolve_request(request)
        return load_profile(known.profile, known.overrides)

    def _resolve_request(self, request: Request) -> Request:
        """Write out a profile of the settings, so that a worker with other settings or elsewhere does the same."""
        name, own = resolve_profile(self.settings, request.profile)
        return replace(request, profile=name, overrides=(*own, *request.overrides))

    async def authorize_plan(self, run: str, words: str) -> bool:
        """Take a person's words on a waiting plan: only the profile's exact phrase starts the run (TREE-5)."""
        row = await self.runs.get(run)
        phrase = self.resolve_profile(row.request).phrase
        if phrase and words != phrase:
            raise UserError(
                "phrase",
                f"{words[:80]!r} does not authorize the plan.",
                next_step=f"Say exactly: {phrase}",
            )
        await self.runs.store_answer(run, PLAN_TOPIC, YES)
        return True

    async def steer_run(self, run: str, hint: str) -> None:
        """Answer a pause between two rounds; an empty hint just goes on (ROUNDS-25)."""
        row = await self.runs.get(run)
        topic = pause_topic(row.reason) if row.status is RunStatus.PAUSED and row.outcome == "paused" else None
        if topic is None:
            raise UserError("not_paused", f"Run {run} does not pause between rounds.")
        await self.runs.store_answer(run, topic, hint)

    async def rewind_run(self, run: str, stage: Stage) -> None:
        """Take a run back to the begin of a stage; what was answered before it is kept (ANGLES-1)."""
        await rewind_run(self.database, run, stage)

    async def schedule_run(self, name: str, cron: str, request: Request) -> str:
        """Store a schedule and return when its next turn is. Raises `UserError` for what could not run then."""
        request = self._resolve_request(request)
        self.resolve_profile(request)
        check_targets(request, self.settings)
        return (await self.schedules.save(name, cron, request)).isoformat(timespec="minutes")

    async def pause_after(self, run: str, stage: Stage | None) -> None:
        """Let the next attempts pause after a stage; None lets them go to the end (ANGLES-1)."""
        await self.runs.store_answer(run, UNTIL_TOPIC, stage or "")

    def open_dialogue(self, request: Request, stored: StoredDialogue | None = None) -> DialogueManager:
        """Open a dialogue with the manager; `request` says where and how to research once it is agreed (TREE-2)."""
        profile = self.resolve_profile(request)
        players = open_analysts(self.settings, request, profile, self._models)
        return DialogueManager(
            self.submit_run, stored or new_dialogue(request), profile, players, keep=self.dialogues.save
        )

    async def reopen_run(self, run: str) -> None:
        """Open a run again that ended for want of a provider or was cancelled: failures are tried again."""
        await rewind_run(self.database, run, Stage.DELIVER)
        await self.runs.store_answer(run, RETRY_TOPIC, YES)

    async def recheck_report(self, text: str) -> RecheckResult:
        """Check the citations of any Markdown against the stored sources, offline."""
        return await recheck_report(text, by_hash=self._read_snapshot, by_url=self._read_page)

    async def _read_snapshot(self, sha: str) -> str | None:
        row = await self.database.fetch_one(
            "SELECT body FROM snapshot WHERE sha = %s", [sha], where="reading a snapshot"
        )
        return None if row is None else str(row[0])

    async def _read_page(self, url: str) -> str | None:
        row = await self.database.fetch_one(
            "SELECT n.body FROM source s JOIN snapshot n ON n.sha = s.snapshot WHERE s.url = ANY(%s) "
            "ORDER BY s.id DESC LIMIT 1",
            [[url, url.rstrip("/"), f"{url}/"]],
            where="reading a source",
        )
        return None if row is None else str(row[0])

    async def finish_early(self, run: str) -> None:
        """Let a run of this process end its research now and write its report."""
        session = self._sessions.get(run)
        if session is not None:
            session.budget.finish_research()

    async def cancel_run(self, run: str) -> None:
        """Cancel a run, wherever it works."""
        await self.queue.cancel(run)

    def follow_events(self, run: str, after: int = 0, *, through_pauses: bool = True) -> AsyncGenerator[Event]:
        """Yield the events of a run after a sequence number, past ones first, then live ones, until it ends.

        Without `through_pauses` also until it waits for a person.
        """
        ends = [status for status in RunStatus if status.final or (status.waits and not through_pauses)]
        return self._events.follow(run, after, ends=ends)

    async def last_event_number(self, run: str) -> int:
        """Return the number of the last event of a run so far."""
        return await last_event_number(self.database, run)

    async def report_json(self, run: str) -> dict[str, Any]:
        """Return the report of a finished run as JSON values. Raises `NoEvidence` if it has none."""
        stored = await self.runs.read_artifact(run, "report.json")
        if stored is None:
            raise NoEvidence("report_missing", f"Run {run} has no report yet.", next_step=f"corrobora resume {run}")
        return json.loads(stored.content)

    async def load_report(self, run: str) -> Report | None:
        """Return the report of a run as a value, or None if it has none."""
        stored = await self.runs.read_artifact(run, "report.json")
        return None if stored is None else decode(Report, stored.content.decode(), key=f"{run}/report.json")

    def run_folder(self, run: str) -> RunFolder:
        """The folder of a run's files on this machine."""
        return RunFolder(self.settings.home / "runs" / run)

    async def run_here(self, run: str) -> None:
        """Work on one run in this process until it ends or waits."""
        await self.queue.submit(run, own=True)
        await self.queue.run_worker(self.execute_run, concurrency=1, until=(run,))

    async def serve_queue(self, *, concurrency: int) -> None:
        """Be a worker: take runs from the queue until cancelled; SIGTERM hands them back after a grace time."""
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):  # where a platform cannot
            loop.add_signal_handler(signal.SIGTERM, stop.set)
        await self.queue.run_worker(self.execute_run, concurrency=concurrency, stop=stop)

    async def execute_run(self, run: RunId, epoch: int) -> None:
        """Make one attempt at a run, from its journal, to its end or until it waits."""
        row = await self.runs.get(run)
        try:
            session = await self._open_session(row, epoch)
            self._sessions[run] = session
            report = await self._research_in_time(session)
            await send_report(report, session, self.settings, self.runs)
            await self._finish_attempt(session, report, epoch)
        except Stale:
            log.info("run %s: a newer attempt owns it", run)
        except NeedsHuman as error:
            paused = RunStatus.PAUSED if error.code in ("paused", "stage_reached") else RunStatus.AWAITING
            await self._stop_attempt(run, epoch, paused, error)
        except asyncio.CancelledError:
            if await asyncio.shield(self.runs.cancel_requested(run)):
                await asyncio.shield(self.runs.finish(run, epoch, RunStatus.CANCELLED, outcome=Outcome.CANCELLED))
            raise
        except CorroboraError as error:
            if isinstance(error, JournalError) and error.code.startswith("database"):
                raise  # the store is down: the attempt is not over, its next worker goes on
            await self._stop_attempt(run, epoch, RunStatus.FAILED, error)
        finally:
            self._sessions.pop(run, None)

    async def _research_in_time(self, session: Session) -> Report:
        """Research; at the deadline and a little, write what the journal holds."""
        seconds = session.budget.allowance.seconds
        brief = _request_brief(session.request)
        if seconds is None:
            return await research(brief, session)
        left = seconds - session.budget.elapsed
        try:
            async with asyncio.timeout(max(left, 0.0) + OVERRUN_SECONDS / 2):
                return await research(brief, session)
        except TimeoutError:
            return await rescue_report(session, StopReason.TIME_RESERVE)

    async def _finish_attempt(self, session: Session, report: Report, epoch: int) -> None:
        """Close the attempt: last event, then the final status with its honest outcome."""
        run = session.run
        session.emit(EventType.RUN_FINISHED, "root", {"outcome": report.outcome, "reason": report.reason})
        await session.journal.flush()
        await self.runs.store_elapsed(run, epoch, session.budget.elapsed)
        status = RunStatus.FAILED if report.outcome is Outcome.PROVIDER_DOWN else RunStatus.DONE
        await self.runs.finish(run, epoch, status, outcome=report.outcome, reason=report.reason)

    async def _stop_attempt(self, run: RunId, epoch: int, status: RunStatus, error: CorroboraError) -> None:
        session = self._sessions.get(run)
        if session is not None:
            if status is RunStatus.FAILED:
                data = {"outcome": "failed", "code": error.code, "reason": str(error)}
                session.emit(EventType.RUN_FINISHED, "root", data, part=error.code)
            await session.journal.flush()
            await self.runs.store_elapsed(run, epoch, session.budget.elapsed)
        await self.runs.finish(run, epoch, status, outcome=error.code, reason=str(error))

    async def _open_session(self, row: RunRow, epoch: int) -> Session:
        """Wire a session for one attempt."""
        request, run = row.request, row.id
        profile = self.resolve_profile(request)
        journal = await RunJournal.open(self.database, self._writer, run, epoch)
        spaces = (*request.libraries, f"run:{run}")
        library = self.open_library(spaces)
        clock = self._clock
        carried = max(sum_earlier_seconds(journal), row.elapsed_seconds)
        answers = await self.runs.read_answers(run)
        session = Session(
            run=run,
            request=request,
            profile=profile,
            stop=resolve_rules(profile),
            advance=resolve_advance(profile),
            outside=RunPorts(
                analysts=open_analysts(self.settings, request, profile, self._models),
                searches=open_searches(self.settings, request, library, self._open_limiter, clock),
                readers=open_readers(
                    self.settings, request, self._web, library, f"run:{run}", limiter=self._open_limiter
                ),
                library=library,
                journal=journal,
                clock=clock,
                human=StoredHuman(self.runs, run),
                write=self._artifact_writer(run, epoch, request),
                read=self._artifact_reader(run),
                facts=self._facts,
            ),
            budget=Budget(run_allowance(request, profile), clock, carried_seconds=carried),
            started_at=row.created_at,
            retry_failures=RETRY_TOPIC in answers,
            until=Stage(answers[UNTIL_TOPIC]) if answers.get(UNTIL_TOPIC) else None,
        )
        session.claims = PassageClaims.from_journal(journal)
        return session

    def _open_limiter(self, provider: str) -> Limiter:
        """The rate limit of a provider, one for all workers of this database."""
        return RateLimiter(self.database, provider, rate=load_part("search", provider).calls_per_second)

    def _artifact_reader(self, run: RunId) -> Callable[[str], Awaitable[str | None]]:
        async def read_artifact(name: str) -> str | None:
            stored = await self.runs.read_artifact(run, name)
            return None if stored is None else stored.content.decode("utf-8", "replace")

        return read_artifact

    def _artifact_writer(
        self, run: RunId, epoch: int, request: Request
    ) -> Callable[[Mapping[str, str]], Awaitable[None]]:
        """Write a run's files into its folder, and the reports of a given thread into `artifact_dir` as well."""
        folder = self.run_folder(run)
        wanted = dict(request.metadata).get(ARTIFACT_DIR)
        reports = ThreadReports(Path(wanted)) if wanted else None

        def write_folders(files: Sequence[Artifact]) -> None:
            for file in files:
                folder.write_file(file.name, file.content)
                if reports is not None:
                    reports.write(file.name, file.content)

        async def write_artifacts(texts: Mapping[str, str]) -> None:
            files = [Artifact.from_text(name, text) for name, text in texts.items()]
            await asyncio.to_thread(write_folders, files)
            await self.runs.store_artifacts(run, epoch, files)

        return write_artifacts


def _request_brief(request: Request) -> Brief:
    return Brief(request.question, suggested_plan=request.plan_file)
