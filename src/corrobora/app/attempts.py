"""One attempt at a run: wired from its request, worked on to its end or until it waits, and closed with its status.

Knows how a request becomes a session, what ends an attempt, and how the person behind a run is reached: through stored
answers. Does not know the method: `engine.research` does.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
from collections.abc import AsyncGenerator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from corrobora.adapters.library import EvidenceSearch
from corrobora.app.delivery import send_report
from corrobora.app.earlier_runs import (
    UPDATE,
    WATCH,
    find_baseline,
    find_topic,
    list_previous,
    list_unchanged,
    reads_evidence,
)
from corrobora.app.libraries import open_library, read_again, read_shipped
from corrobora.app.run_files import RunFiles, run_to_end
from corrobora.app.runs import (
    ANYWAY_TOPIC,
    FINISH_TOPIC,
    PAUSE_TOPIC,
    RETRY_TOPIC,
    UNTIL_TOPIC,
    YES,
    StoredHuman,
    load_report,
    resolve_profile,
    run_folder,
)
from corrobora.app.telemetry import export_attempt
from corrobora.app.wiring import run_allowance
from corrobora.domain.errors import CorroboraError, Infeasible, JournalError, NeedsHuman, RunRemoved, Stale
from corrobora.domain.evidence import SourceId
from corrobora.domain.plan import Brief
from corrobora.domain.report import Outcome, Report
from corrobora.domain.run import SEALED, Event, EventType, RequestOption, RunId, RunRow, RunStatus
from corrobora.domain.thread import StopReason
from corrobora.engine.research import rescue_report, research
from corrobora.engine.review import list_read_sources
from corrobora.engine.sealing import find_sealed_report
from corrobora.engine.session import RunPorts, Session
from corrobora.engine.session.budget import Budget
from corrobora.engine.session.journal import sum_earlier_seconds, sum_searches, sum_usage
from corrobora.engine.session.reading import PassageClaims
from corrobora.policies import resolve_advance, resolve_rules
from corrobora.ports import SearchProvider
from corrobora.reporting.thread_json import render_round_files
from corrobora.storage.index import PostgresLibrary
from corrobora.storage.journal import RunJournal
from corrobora.storage.journal.runs import answer_mark
from corrobora.storage.postgres import cancel_tasks

if TYPE_CHECKING:
    from corrobora.app import Workspace
    from corrobora.reporting.run_comparison import RunComparison

log = logging.getLogger("corrobora")
CHANGES = "changes.md"  # what changed since the previous run
STILL_SECONDS = 10.0  # without a turn of the event loop, which is told
_LOOK_SECONDS = 1.0
OVERRUN_SECONDS = 2.0  # delivered by the deadline + 5 %, 2 s at least (BUDGET-6)


async def run_here(workspace: Workspace, run: str) -> None:
    """Work on one run in this process until it ends or waits. Raises `RunRemoved` if somebody removes it meanwhile."""
    await workspace.queue.submit(run, own=True)
    await workspace.queue.run_worker(partial(execute_run, workspace), concurrency=1, until=(run,))
    if await workspace.runs.status_and_epoch(run) is None:
        raise RunRemoved(run)


async def serve_queue(workspace: Workspace, *, concurrency: int) -> None:
    """Be a worker: take runs from the queue until cancelled; SIGTERM hands them back after a grace time."""
    from corrobora.app.webhooks import send_webhooks  # noqa: PLC0415 - a command alone sends none

    stop = asyncio.Event()
    with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):  # where a platform cannot
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    sender = asyncio.create_task(send_webhooks(workspace), name="webhooks")
    try:
        await workspace.queue.run_worker(partial(execute_run, workspace), concurrency=concurrency, stop=stop)
    finally:
        await cancel_tasks(sender)


async def execute_run(workspace: Workspace, run: RunId, epoch: int) -> None:
    """Make one attempt at a run, from its journal, to its end or until it waits."""
    log.info("run %s: attempt %d begins", run, epoch, extra={"run": run, "attempt": epoch, "state": "running"})
    await RunAttempt(workspace, await workspace.runs.get(run), epoch).work()
    await export_attempt(workspace, run, epoch)


class RunAttempt:
    """One attempt. `epoch` is its number: what a newer one owns, this one cannot change."""

    def __init__(self, workspace: Workspace, row: RunRow, epoch: int) -> None:
        self._workspace = workspace
        self._row = row
        self._epoch = epoch
        self._problems: list[str] = []  # of the libraries, for people

    async def work(self) -> None:
        """Work to the end of the run or until it waits, and store its status."""
        run = self._row.id
        again = self._row.request.get_option(RequestOption.READ_AGAIN) and not self._row.elapsed_seconds
        try:
            await read_shipped(self._workspace, self._row.request.libraries)
            self._problems += await read_again(self._workspace, self._row.request.libraries) if again else ()
            session = await self._open_session()
            self._workspace.sessions[run] = session
            async with self._watch_requests(session):
                report = await research_in_time(session)
            await self._hand_over(session, report)
        except Stale:
            is_removed = await self._workspace.runs.status_and_epoch(run) is None
            log.info("run %s: %s", run, "it was removed" if is_removed else "a newer attempt owns it")
        except NeedsHuman as error:
            pauses = error.code in ("paused", "stage_reached", "changes_proposed", "finished_early")
            paused = RunStatus.PAUSED if pauses else RunStatus.AWAITING
            await self._stop(paused, error)
        except asyncio.CancelledError:
            with contextlib.suppress(Stale):  # it had ended
                await run_to_end(self._end_cancelled())
            raise
        except CorroboraError as error:
            if isinstance(error, JournalError) and error.code.startswith("database"):
                raise  # the store is down: the attempt is not over, its next worker goes on
            await self._stop(RunStatus.FAILED, error)
        finally:
            self._workspace.sessions.pop(run, None)

    async def _hand_over(self, session: Session, report: Report) -> None:
        """Do what is left after a report was sealed: compare it with an earlier one, send it, close the attempt."""
        changes = await self._compare_previous(session, report)
        watches = session.request.get_option(RequestOption.FOLLOW_UP) == WATCH
        is_news = not watches or changes is None or changes.has_news
        if is_news and await self._may_deliver(session, report):
            await send_report(report, session, self._workspace.settings, self._workspace.runs)
        await run_to_end(self._finish(session, report))

    async def _end_cancelled(self) -> None:
        """End a run that a person cancelled; of a sealed report only the sending can still be stopped."""
        run, runs = self._row.id, self._workspace.runs
        if not await runs.cancel_requested(run):
            return
        session = self._workspace.sessions.get(run)
        sealed = None if session is None or session.request.output else await find_sealed_report(session)
        if session is not None and sealed is not None:
            await self._hand_over(session, sealed)
        else:
            await runs.finish(run, self._epoch, RunStatus.CANCELLED, outcome=Outcome.CANCELLED)

    @contextlib.asynccontextmanager
    async def _watch_requests(self, session: Session) -> AsyncGenerator[None]:
        """Watch for what a person asks of this attempt: to finish early, or to pause after its round."""

        async def read_requests() -> None:
            asked = await self._workspace.runs.read_answers(self._row.id)
            if asked.get(FINISH_TOPIC) == YES:
                session.budget.finish_research()
            if asked.get(PAUSE_TOPIC) == YES:
                session.pauses.add("")

        async def watch_answers() -> None:
            with self._workspace.events.watch_runs([answer_mark(self._row.id)]) as changed:
                while True:
                    changed.clear()
                    with contextlib.suppress(JournalError):  # the store is down: asked again after it is back
                        await read_requests()
                    await changed.wait()

        with contextlib.suppress(JournalError):  # as above
            await read_requests()  # what was asked for before this attempt began counts from its beginning
        watching = asyncio.create_task(watch_answers(), name=f"requests for {self._row.id}")
        looking = asyncio.create_task(self._report_suspension(session), name=f"suspension of {self._row.id}")
        try:
            yield
        finally:
            await cancel_tasks(watching, looking)

    async def _report_suspension(self, session: Session) -> None:
        """Tell for how long the program stood still, as after Ctrl-Z: the time of a run goes on meanwhile."""
        clock, before = session.outside.clock, session.outside.clock.now()
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            now, limited = clock.now(), session.budget.allowance.seconds is not None
            if now - before > STILL_SECONDS:
                still = f"The program stood still for {now - before:.0f} s, suspended or without a processor"
                message = f"{still}; this counts against the time limit." if limited else f"{still}."
                session.emit(EventType.WARNING, "root", {"message": message}, part=f"still/{self._epoch}/{now:.0f}")
            before = now

    async def _may_deliver(self, session: Session, report: Report) -> bool:
        """False if the verification of the report failed, unless it is to be delivered anyway (ANGLES-33)."""
        settings, score = self._workspace.settings, report.verdict.overall if report.verdict else None
        failed = session.profile.review.explain_failure(score, settings.min_score)
        if not (failed and report.markdown and session.request.output):
            return True
        if ANYWAY_TOPIC in await self._workspace.runs.read_answers(self._row.id):
            return True
        message = f"The report was not delivered: {failed} With --deliver-anyway it is delivered."
        session.emit(EventType.WARNING, "root", {"message": message}, part="deliver")
        return False

    async def _finish(self, session: Session, report: Report) -> None:
        """Close the attempt: last event, then the final status with its honest outcome."""
        library = session.library
        if isinstance(library, PostgresLibrary) and library.vector_problem:
            self._problems.append(library.vector_problem)
        for number, problem in enumerate(self._problems):
            session.emit(EventType.WARNING, "root", {"message": problem}, part=f"library{number}")
        status = RunStatus.FAILED if report.outcome is Outcome.PROVIDER_DOWN else RunStatus.DONE
        data = {"outcome": report.outcome, "reason": report.reason}
        await self._store_end(session, status, report.outcome, report.reason, _make_last_event(data))

    async def _stop(self, status: RunStatus, error: CorroboraError) -> None:
        session, last = self._workspace.sessions.get(self._row.id), None
        if session is not None and status is RunStatus.FAILED:
            data: dict[str, object] = {"outcome": "failed", "code": error.code, "reason": str(error)}
            data |= {"narrower": list(error.narrower)} if isinstance(error, Infeasible) else {}
            last = _make_last_event(data, error.code)
        reason = str(error).replace("resume RUN", f"resume {self._row.id}")
        await run_to_end(self._store_end(session, status, error.code, reason, last))

    async def _store_end(
        self, session: Session | None, status: RunStatus, outcome: str, reason: str, last: Event | None
    ) -> None:
        """Store how the attempt ended. What was asked of a run that was ended early is done: resumed, it goes on."""
        run = self._row.id
        if session is not None:
            await session.journal.flush()
        await self._workspace.runs.finish(
            run,
            self._epoch,
            status,
            outcome=outcome,
            reason=reason,
            seconds=session.budget.elapsed if session is not None else None,
            last=last,
            answered=FINISH_TOPIC if outcome == "finished_early" else "",
        )
        fields: dict[str, object] = {"run": run, "attempt": self._epoch, "state": status.value}
        if session is not None:
            meter = session.budget.read_meter()
            fields |= {"seconds": round(session.budget.elapsed, 1), "searches": meter.searches}
            fields |= {"model_calls": meter.usage.calls, "dollars": round(meter.usage.dollars, 6)}
            spent = "{seconds} s, {searches} searches, {model_calls} model calls, ${dollars:.4f}".format_map(fields)
            reason = f"{reason}; {spent}" if reason else spent
        log.info("run %s: %s%s", run, status.value, f" ({outcome}: {reason})" if reason else "", extra=fields)

    async def _open_session(self) -> Session:
        workspace, request, run = self._workspace, self._row.request, self._row.id
        wiring, space, profile = workspace.wiring, f"run:{run}", resolve_profile(workspace.settings, request)
        journal = await RunJournal.open(workspace.database, workspace.writer, run, self._epoch)
        files = await self._open_files(journal)
        answers, followed = await workspace.runs.read_answers(run), await list_previous(workspace, request)
        earlier_runs = [each.id for each in followed] if reads_evidence(request) else []
        library = open_library(workspace, (*request.libraries, *(f"run:{each}" for each in earlier_runs), space))
        estimate, previous = wiring.open_estimator(request, profile), await self._load_previous()
        chain = await self._load_chain(previous, earlier_runs)
        return Session(
            run=run,
            request=request,
            profile=profile,
            stop=resolve_rules(profile),
            advance=resolve_advance(profile),
            outside=RunPorts(
                analysts=wiring.open_analysts(request, profile),
                searches=self._open_searches(library, chain),
                readers=wiring.open_readers(request, library, space),
                library=library,
                journal=journal,
                clock=wiring.clock,
                human=StoredHuman(workspace.runs, run, estimate, profile.phrase),
                estimate=estimate,
                write=files.write,
                seal=files.seal,
                read=files.read,
                render_round=render_round_files,
                facts=wiring.facts,
                recipients=wiring.list_recipients(request, profile),
                previous=previous,
                topic=find_topic((self._row, *followed)),
                earlier=[fact for each in chain if each is not previous for fact in each.findings.facts],
                answer=self._read_answer,
            ),
            budget=Budget(
                run_allowance(request, profile),
                wiring.clock,
                carried_seconds=max(sum_earlier_seconds(journal), self._row.elapsed_seconds),
                carried_usage=sum_usage(journal, ""),
                carried_searches=sum_searches(journal),
                in_turn=wiring.asks_in_turn(request, profile),
            ),
            started_at=self._row.created_at,
            retry_failures=RETRY_TOPIC in answers,
            until=answers.get(UNTIL_TOPIC, ""),
            pauses=set(answers),
            claims=PassageClaims.from_journal(journal),
        )

    async def _open_files(self, journal: RunJournal) -> RunFiles:
        files = RunFiles(self._workspace.runs, run_folder(self._workspace, self._row.id), self._row, journal)
        if journal.get(SEALED) is not None:
            await files.restore()
        return files

    async def _load_previous(self) -> Report | None:
        """Return the report that this run follows: of a watch, that of its newest turn."""
        request = self._row.request
        if not request.previous:
            return None
        return await load_report(self._workspace, await find_baseline(self._workspace, self._row))

    async def _load_chain(self, previous: Report | None, runs: Sequence[RunId]) -> list[Report]:
        """Return the reports that this run follows, the oldest first."""
        followed = () if self._row.request.edits else runs[1:]
        before = reversed([await load_report(self._workspace, each) for each in followed])
        return [each for each in (*before, previous) if each is not None]

    def _open_searches(self, library: PostgresLibrary, chain: Sequence[Report]) -> Mapping[str, SearchProvider]:
        """Open the search providers; a follow-up begins with what the runs that it follows have read."""
        request = self._row.request
        if not chain or request.edits or not reads_evidence(request):
            return self._workspace.wiring.open_searches(request, library)
        read = frozenset[SourceId]().union(*(list_read_sources(each) for each in chain))
        evidence = {EvidenceSearch.name: EvidenceSearch(library, read)}
        if request.get_option(RequestOption.NO_SEARCH):
            return evidence
        return {**evidence, **self._workspace.wiring.open_searches(request, library)}

    async def _compare_previous(self, session: Session, report: Report) -> RunComparison | None:
        """Write what changed since the run that this one repeats; None if it repeats none."""
        before = session.outside.previous
        if before is None or session.request.get_option(RequestOption.FOLLOW_UP) not in (UPDATE, WATCH):
            return None
        from corrobora.reporting import run_comparison  # noqa: PLC0415 - few runs repeat one

        baseline = await find_baseline(self._workspace, self._row)
        unchanged = await list_unchanged(self._workspace, baseline, before, report)
        found = run_comparison.compare_reports(before, report, (baseline, self._row.id), unchanged)
        files = {
            CHANGES: run_comparison.render_comparison(found),
            "changes.json": run_comparison.dump_comparison(found),
        }
        await session.write_artifacts(files)
        return found

    async def _read_answer(self, topic: str) -> str | None:
        return (await self._workspace.runs.read_answers(self._row.id)).get(topic)


def _make_last_event(data: Mapping[str, object], part: str = "") -> Event:
    """Return the last event of a run; it is stored with the status that it tells."""
    kind = EventType.RUN_FINISHED
    return Event(kind, f"{kind}@root/{part}" if part else f"{kind}@root", "root", None, data)


async def research_in_time(session: Session) -> Report:
    """Research, unless an earlier attempt has sealed a report; past the deadline, write what the journal holds."""
    if (sealed := await find_sealed_report(session)) is not None:
        return sealed
    if session.request.edits:
        from corrobora.engine.edit import edit_report  # noqa: PLC0415 - few runs edit a report

        return await edit_report(session)
    brief = Brief(session.request.question, suggested_plan=session.request.plan_file)
    seconds = session.budget.allowance.seconds
    if seconds is None:
        return await research(brief, session)
    left = seconds - session.budget.elapsed
    try:
        async with asyncio.timeout(max(left, 0.0) + OVERRUN_SECONDS / 2):
            return await research(brief, session)
    except TimeoutError:
        return await find_sealed_report(session) or await rescue_report(session, StopReason.TIME_RESERVE)
