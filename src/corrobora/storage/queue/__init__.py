"""The queue: runs handed to workers, on one machine or many, and runs started by a schedule.

Knows that a run is the truth and a job row only one attempt at it, who is dead and what to do then, and cron lines, of
which each turn is taken exactly once over all workers (ANGLES-39). Does not know the method: an attempt is whatever
`execute` does with a run and its epoch.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import blake2b
from typing import TYPE_CHECKING, TypeAlias, cast

from corrobora.domain.errors import CorroboraError, JournalError, Stale, UserError, describe_failure, lacks_memory
from corrobora.domain.run import Request, RunId, RunStatus
from corrobora.storage.journal.events import EventLog
from corrobora.storage.journal.runs import (
    FINAL_STATUSES,
    STATUS_CHANNEL,
    Runs,
    dump_request,
    load_request,
    new_run_id,
    validate_id,
)
from corrobora.storage.postgres import PASSING, Database, cancel_tasks
from corrobora.storage.postgres.processes import has_ended, this_process
from corrobora.storage.queue import statements as sql
from corrobora.storage.queue.heartbeats import DEAD_AFTER_SECONDS, WorkerWatch
from corrobora.storage.queue.statements import ATTEMPT_TASK, POLL_SECONDS

if TYPE_CHECKING:
    from procrastinate.job_context import JobContext

    from corrobora.storage.queue.attempts import AttemptWorker


@dataclass(frozen=True, slots=True)
class Schedule:
    """A request and when it runs. `cron` has five fields, or six with seconds last; times are UTC."""

    id: str
    cron: str
    request: Request
    next_at: str
    last_run: str | None


class Schedules:
    """The schedules of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def save(self, identity: str, cron: str, request: Request) -> datetime:
        """Store a schedule, replacing one of the same id, and return when its next turn is. Raises `UserError`."""
        due = next_run_time(cron, datetime.now(UTC))
        await self._database.execute(
            """INSERT INTO schedule (id, cron, request, next_at) VALUES (%s, %s, %s, %s)
            ON CONFLICT (id) DO UPDATE
            SET cron = excluded.cron, request = excluded.request, next_at = excluded.next_at""",
            [validate_id(identity), cron, dump_request(request), due],
            where="storing a schedule",
        )
        return due

    async def remove(self, identity: str) -> bool:
        """Remove a schedule; False if there was none."""
        return await self._database.execute("DELETE FROM schedule WHERE id = %s", [identity]) > 0

    async def list(self) -> Sequence[Schedule]:
        """Return all schedules, the next one first."""
        rows = await self._database.fetch_all(
            "SELECT id, cron, request, next_at, last_run FROM schedule ORDER BY next_at"
        )
        return [
            Schedule(identity, cron, load_request(identity, request), due.astimezone(UTC).isoformat(), last)
            for identity, cron, request, due, last in rows
        ]

    async def start_due_runs(self, task: str, queue: str) -> Sequence[RunId]:
        """Create a run for each schedule that is due. Every worker calls it; each turn is taken once.

        Schedules that were missed while no worker was running start one run, not many.
        """
        made: list[RunId] = []
        for identity, cron, _, due in await self._database.fetch_all(sql.READ_DUE_SCHEDULES, where="reading schedules"):
            run = new_run_id()
            values = {"id": identity, "due": due, "next": next_run_time(cron, datetime.now(UTC)), "run": run}
            row = await self._database.fetch_one(
                sql.TAKE_TURN, {**values, "task": task, "shared": queue}, where="starting a scheduled run"
            )
            if row is not None:
                made.append(run)
        return made


def next_run_time(cron: str, now: datetime) -> datetime:
    """Return the first time after `now` that a cron line of five columns names. Raises `UserError` `schedule_cron`."""
    from croniter import CroniterError, croniter  # noqa: PLC0415 - 90 ms that only schedules cost

    with contextlib.suppress(CroniterError, ValueError, KeyError):
        columns = cron.split()  # croniter reads more of them as seconds and years, and R as a time drawn by lot
        if (len(columns) == 5 and not re.search(r"\bR\b", cron, re.IGNORECASE)) or cron[:1] == "@":  # noqa: PLR2004
            return croniter(" ".join(columns), now).get_next(datetime)
    step = 'Write minute, hour, day, month and weekday, as in "0 7 * * 1" for Mondays at seven (UTC).'
    message = f"{cron[:80]!r} is not a cron line of five columns that has a next time, always the same."
    raise UserError("schedule_cron", message, next_step=step)


Execute: TypeAlias = Callable[[RunId, int], Awaitable[None]]

SHARED_QUEUE = "runs"
_MAX_ATTEMPTS = 25  # of one run whose workers die one after another
_PURGE_EVERY = 300  # sweeps
_LEAVE_SECONDS = 5.0  # after the grace time, to hand runs back

_log = logging.getLogger(__name__)


def own_queue_name(run: str) -> str:
    """Name the queue of one run, which only the worker of its own command takes. Channel names must be short."""
    return f"own-{blake2b(run.encode(), digest_size=12).hexdigest()}"


@dataclass(frozen=True, slots=True)
class SweepResult:
    """What one sweep did: rows of dead workers closed, attempts inserted, scheduled runs started."""

    closed: int = 0
    requeued: int = 0
    scheduled: int = 0


class Queue:
    """Submits, cancels, runs, sweeps and waits. `execute` gets a run and the epoch of its new attempt.

    `now` and `pause` are the steady clock by which it is judged whether another worker lives.
    """

    def __init__(
        self,
        database: Database,
        *,
        now: Callable[[], float] = time.monotonic,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._database = database
        self._watch = WorkerWatch(database, now, pause)
        self._runs = Runs(database)
        self._schedules = Schedules(database)
        self._active: dict[str, int] = {}
        self._missing: frozenset[int] = frozenset()
        self._sweeps = 0
        self._own = False  # it works for a command, which says itself that the disk is full

    async def submit(self, run: str, *, own: bool = False) -> bool:
        """Ask for an attempt at a run; False if the run is final, or already has a live or waiting attempt.

        With `own`, only a worker for this very run takes it, and after a crash the run waits for its person. A run
        that waits for a person is submitted again after the answer is stored.
        """
        took = await self._free_and_submit(run, own=own)
        if own and not took and (owner := await self._watch.find_left_owner(run)):
            took = await self._free_and_submit(run, own=own, left_by=owner)
        return took

    async def _free_and_submit(self, run: str, *, own: bool, left_by: str = "") -> bool:
        """Submit a run; with `own`, free it first if `left_by` has it still, or a process that has ended."""
        row = await self._database.fetch_one("SELECT owner FROM runs WHERE id = %s", [run], where="reading a run")
        if own and row is not None and (has_ended(row[0]) or row[0] == left_by != ""):
            freed = {"run": run, "owner": row[0], "queue": own_queue_name(run)}
            await self._database.execute(sql.FREE_DEAD_OWNER, freed, where="freeing a run")
        values = {"queue": own_queue_name(run) if own else SHARED_QUEUE, "owner": this_process() if own else None}
        values = self._with_defaults({**values, "run": run})
        row = await self._database.fetch_one(sql.SUBMIT_RUN, values, where="submitting a run")
        return row is not None and row[1] > 0

    async def leave(self, run: str) -> None:
        """Give up a run of this process that is not worked on: one that had not begun counts as interrupted."""
        given = self._with_defaults({"run": run, "queue": own_queue_name(run), "owner": this_process()})
        await self._database.fetch_one(sql.LEAVE_RUN, given, where="leaving a run")

    async def cancel(self, run: str) -> bool:
        """Ask to cancel a run; False if it is final or unknown. A live attempt is cancelled within milliseconds."""
        values = self._with_defaults({"run": run})
        return await self._database.fetch_one(sql.CANCEL_RUN, values, where="cancelling a run") is not None

    async def run_worker(
        self,
        execute: Execute,
        *,
        concurrency: int = 100,
        until: Collection[str] | None = None,
        stop: asyncio.Event | None = None,
        grace_seconds: float = 2.0,
    ) -> None:
        """Take runs and execute them: all that are shared, or only `until` those given have ended or wait.

        `execute` ends its attempt with `Runs.finish`. If it raises, the run is marked failed, or goes on later after
        an outage of the database. When `stop` is set (SIGTERM), attempts get the grace time and their runs are handed
        back, unless no database answers. Those of a dead worker are taken after fifteen missed heartbeats, or three.

        Raises:
            JournalError: with `until`, the database went away and did not come back in time.
        """
        from corrobora.storage.queue.attempts import AttemptWorker  # noqa: PLC0415 - only workers need the library

        worker = AttemptWorker(
            self._database,
            lambda context, run: self._run_attempt(execute, context, RunId(run)),
            grace_seconds=grace_seconds,
        )
        self._own = until is not None
        queues = [SHARED_QUEUE] if until is None else [own_queue_name(run) for run in until]
        tasks = [
            asyncio.create_task(worker.take_jobs(queues, concurrency=concurrency), name="worker"),
            asyncio.create_task(self._sweep_forever(worker), name="sweeper"),
        ]
        ends: list[asyncio.Task[bool] | asyncio.Task[None]] = []
        if stop is not None:
            ends.append(asyncio.create_task(stop.wait(), name="stop"))
        if until is not None:
            ends.append(asyncio.create_task(self._wait_until_inactive(until), name="until"))
            ends.append(asyncio.create_task(self._database.watch_outage(), name="outage"))
        patience = grace_seconds + _LEAVE_SECONDS
        try:
            done, _ = await asyncio.wait([*tasks, *ends], return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()  # raise the error of a worker or sweeper, or the outage that does not end
        except JournalError:
            patience = 0.0
            raise
        finally:
            working, sweeping = tasks
            working.cancel()
            await cancel_tasks(sweeping, *ends)
            await self._await_hand_back(working, patience)

    async def _await_hand_back(self, working: asyncio.Task[None], patience: float) -> None:
        """Wait until a cancelled worker has handed its runs back, but not for a database that is away."""
        await asyncio.wait({working}, timeout=patience)
        if not working.done():
            await self._database.abandon()
        await asyncio.gather(working, return_exceptions=True)

    async def sweep(self, *, lost: Sequence[int] = ()) -> SweepResult:
        """Close the rows of dead workers, queue runs that should continue, and start due schedules.

        Each statement is safe in every worker at once. `lost` are job rows that this process knows it has lost. Who is
        dead, `SilentJob` says. A command that a signal stopped keeps its run until it goes on or ends.
        """
        values = self._with_defaults({"mine": list(self._active), "attempts": _MAX_ATTEMPTS})
        silent = await self._watch.list_silent_jobs(values)
        ended = [job.id for job in silent if job.ended]
        late = [job for job in silent if job.dead]
        swept = None
        if late or ended or lost:
            values |= {"late": [job.id for job in late], "beats": [job.heartbeat for job in late]}
            values["lost"] = [*lost, *ended]
            swept = await self._database.fetch_one(sql.SWEEP_DEAD_WORKERS, values, where="sweeping")
        again = await self._database.fetch_one(sql.RECONCILE_RUNS, self._with_defaults({}), where="reconciling runs")
        turns = await self._schedules.start_due_runs(ATTEMPT_TASK, SHARED_QUEUE)
        closed, requeued = (swept[0], swept[1]) if swept else (0, 0)
        return SweepResult(closed, requeued + (again[0] if again else 0), len(turns))

    async def wait_for_runs(
        self, runs: Collection[str], *, timeout_seconds: float | None = None
    ) -> Mapping[RunId, RunStatus]:
        """Wait until none of the runs is queued or running, and return their statuses; unknown runs are left out.

        Raises:
            TimeoutError: `timeout_seconds` passed first.
        """
        log = EventLog(self._database, channels=[STATUS_CHANNEL])
        async with log, asyncio.timeout(timeout_seconds):
            with log.watch_runs(runs) as changed:
                while True:
                    changed.clear()
                    rows = await self._database.fetch_all(sql.READ_STATUSES, [list(runs)], where="reading runs")
                    standing = {RunId(run): RunStatus(status) for run, status in rows}
                    if not any(status.active for status in standing.values()):
                        return standing
                    await log.wait_for_change(changed)

    def _with_defaults(self, values: Mapping[str, object]) -> dict[str, object]:
        shared: dict[str, object] = {
            "task": ATTEMPT_TASK,
            "shared": SHARED_QUEUE,
            "channel": STATUS_CHANNEL,
            "dead": DEAD_AFTER_SECONDS,
            "final": list(FINAL_STATUSES),
        }
        return shared | dict(values)

    async def _run_attempt(self, execute: Execute, context: JobContext, run: RunId) -> None:
        """Make one attempt: claim the run, execute it, and record what happened."""
        from corrobora.storage.queue.attempts import is_user_request  # noqa: PLC0415 - see `run_worker`

        epoch = await self._runs.claim(run, this_process())
        if epoch is None:
            return
        self._active[run] = epoch
        task = asyncio.ensure_future(execute(run, epoch))
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            await _cancel_and_wait(task)
            await self._finish_cancelled(run, epoch, task, by_user=is_user_request(context))
            return
        finally:
            self._active.pop(run, None)
        await self._close_attempt(run, epoch, task)

    async def _finish_cancelled(self, run: RunId, epoch: int, task: asyncio.Future[None], *, by_user: bool) -> None:
        """After a cancellation: end the run if a person asked for it, else hand it back for the next worker.

        If the store is down, the end of this process sets the run free.
        """
        with contextlib.suppress(Stale, JournalError):  # `execute` may have finished it with a partial report
            if by_user:
                await self._runs.finish(run, epoch, RunStatus.CANCELLED, outcome="cancelled")
            elif task.cancelled() or task.exception() is not None:
                values = self._with_defaults({"run": run, "epoch": epoch})
                await self._database.fetch_one(sql.RELEASE_RUN, values, where="handing a run back")

    async def _close_attempt(self, run: RunId, epoch: int, task: asyncio.Future[None]) -> None:
        """After the end of `execute`: an error ends the run, unless it is an outage of the database."""
        error = None if task.cancelled() else _first_cause(task.exception())
        if isinstance(error, Stale):
            _log.info("run %s: attempt %d was overtaken", run, epoch)
            return
        if isinstance(error, JournalError) and error.code in PASSING:
            level = logging.INFO if self._own and error.code == "database_full" else logging.WARNING
            _log.log(level, "run %s: attempt %d ended for now: %s", run, epoch, error)
            return
        reason = "its attempt ended without a result"
        if error is not None:
            reason = str(error) if isinstance(error, CorroboraError) else describe_failure(error)
            trace = None if isinstance(error, CorroboraError) or lacks_memory(error) else error
            _log.error("run %s: attempt %d failed: %s", run, epoch, reason, exc_info=trace)
        with contextlib.suppress(Stale, JournalError):
            if await self._runs.status_and_epoch(run) == (RunStatus.RUNNING, epoch):
                await self._runs.finish(run, epoch, RunStatus.FAILED, reason=reason[:2000])

    async def _wait_until_inactive(self, runs: Collection[str]) -> None:
        """Return when none of the runs is active, in spite of outages."""
        while True:
            try:
                await self.wait_for_runs(runs)
            except JournalError as error:
                _log.warning("waiting for runs: %s", error)
                await asyncio.sleep(POLL_SECONDS)
            else:
                return

    async def _sweep_forever(self, worker: AttemptWorker) -> None:
        """Sweep every second. After an outage, all workers first get time for a heartbeat before any counts as dead."""
        while True:
            try:
                await self.sweep(lost=await self._find_lost_jobs(worker))
                self._sweeps += 1
                if self._sweeps % _PURGE_EVERY == 1:
                    await self._database.execute(sql.PURGE_JOBS, [ATTEMPT_TASK], where="removing old jobs")
                await asyncio.sleep(POLL_SECONDS)
            except JournalError as error:
                _log.warning("sweeping: %s", error)
                await asyncio.sleep(DEAD_AFTER_SECONDS)

    async def _find_lost_jobs(self, worker: AttemptWorker) -> Sequence[int]:
        """Find rows that were fetched by a statement whose answer was lost: seen twice, and not active."""
        if worker.manager.worker_id is None:
            return ()
        rows = await self._database.fetch_all(
            sql.READ_OWN_JOBS, [ATTEMPT_TASK, worker.manager.worker_id], where="reading jobs"
        )
        missing = frozenset(int(job) for job, run in rows if run not in self._active)
        lost, self._missing = missing & self._missing, missing
        return tuple(lost)


def _first_cause(error: BaseException | None) -> BaseException | None:
    """Return the first error of the group that a TaskGroup raises; `Stale` takes precedence."""
    if not isinstance(error, BaseExceptionGroup):
        return error
    group = cast("BaseExceptionGroup[BaseException]", error)
    return _first_cause((group.subgroup(Stale) or group).exceptions[0])


async def _cancel_and_wait(task: asyncio.Future[None]) -> None:
    """Cancel a task and wait until it has ended, however it ends."""
    task.cancel()
    await asyncio.wait({task})
