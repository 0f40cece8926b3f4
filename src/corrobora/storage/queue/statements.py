"""The statements of the queue and of webhooks, and one rate limit per provider that all workers share.

Knows the columns of procrastinate's tables (pinned, and tested) beside our own. Each statement is one transaction, safe
in every worker at the same time. A job row is one attempt: it is closed and a new one is inserted, because the library
does not fence rows that are used again. The limit is the generic cell rate algorithm in one row per provider: one
statement reserves slots for all waiters of this process, and each sleeps until its own; no lock is held across a round
trip, and nothing is left to clean up after a crash.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal, LiteralString

from corrobora.domain.errors import CorroboraError
from corrobora.storage.postgres import Database

ATTEMPT_TASK = "corrobora.attempt"
POLL_SECONDS = 1.0


SUBMIT_RUN: LiteralString = """
WITH old AS (SELECT id, status FROM runs WHERE id = %(run)s),
wanted AS (
    UPDATE runs r SET queue = %(queue)s,
        owner = coalesce(%(owner)s::text, r.owner),  -- who dies before the start leaves a free run
        status = CASE WHEN r.status = 'running' THEN r.status ELSE 'queued' END,
        cancel_requested = CASE WHEN r.status = 'running' THEN r.cancel_requested ELSE false END,
        outcome = '', reason = '',  -- of an earlier attempt
        updated_at = clock_timestamp()
    WHERE r.id = %(run)s AND r.status <> ALL(%(final)s)
        AND NOT (r.status = 'running' AND EXISTS (
            SELECT 1 FROM procrastinate_jobs j WHERE j.lock = r.id AND j.status = 'doing'))
        AND NOT (r.status = 'queued' AND r.queue = %(queue)s  -- a command that is about to begin has it
            AND r.owner <> '' AND r.owner <> coalesce(%(owner)s::text, r.owner))
    RETURNING r.id, r.queue
), queued AS (
    INSERT INTO procrastinate_jobs (queue_name, task_name, lock, queueing_lock, args)
    SELECT queue, %(task)s, id, id, jsonb_build_object('run', id) FROM wanted
    ON CONFLICT (queueing_lock) WHERE status = 'todo' DO UPDATE SET queue_name = excluded.queue_name
        WHERE procrastinate_jobs.queue_name <> excluded.queue_name  -- that a worker takes it
    RETURNING 1
)
SELECT old.status, (SELECT count(*) FROM queued) FROM old
"""

# If the process of a job ran on this machine and has ended, there is no need to wait for missing heartbeats.
FREE_DEAD_OWNER: LiteralString = """
WITH freed AS (UPDATE runs SET owner = '' WHERE id = %(run)s AND owner = %(owner)s RETURNING id)
UPDATE procrastinate_jobs j SET abort_requested = false,
    status = CASE WHEN j.status = 'doing' THEN 'failed' ELSE 'cancelled' END::procrastinate_job_status
FROM freed r WHERE j.lock = r.id
    AND (j.status = 'doing' OR (j.status = 'todo' AND j.queue_name = %(queue)s))  -- it died before it began
"""

# A command or program that leaves its run before it began: the run waits for its person, as one that was interrupted.
LEAVE_RUN: LiteralString = """
WITH gone AS (
    UPDATE runs SET status = 'interrupted', updated_at = clock_timestamp()
    WHERE id = %(run)s AND status = 'queued' AND queue = %(queue)s AND owner = %(owner)s RETURNING id
), jobs AS (
    UPDATE procrastinate_jobs j SET status = 'cancelled' FROM gone WHERE j.lock = gone.id AND j.status = 'todo'
)
SELECT pg_notify(%(channel)s, id) FROM gone
"""

CANCEL_RUN: LiteralString = """
WITH wanted AS (
    UPDATE runs r SET cancel_requested = true, updated_at = clock_timestamp(), outcome = 'cancelled', reason = '',
        status = CASE WHEN r.status IN ('queued', 'running') AND EXISTS (  -- the job of one that waits is about to end
            SELECT 1 FROM procrastinate_jobs j JOIN procrastinate_workers w ON w.id = j.worker_id
            WHERE j.lock = r.id AND j.status = 'doing'
                AND abs(extract(epoch FROM now() - w.last_heartbeat)) < %(dead)s  -- the clock may have been set back
        ) THEN r.status ELSE 'cancelled' END
    WHERE r.id = %(run)s AND r.status <> ALL(%(final)s) RETURNING r.id
), jobs AS (
    UPDATE procrastinate_jobs j SET abort_requested = (j.status = 'doing'),
        status = CASE WHEN j.status = 'todo' THEN 'cancelled' ELSE j.status END
    FROM wanted WHERE j.lock = wanted.id AND j.status IN ('todo', 'doing')
)
SELECT pg_notify(%(channel)s, id) FROM wanted
"""

# Close the rows of dead workers and insert a new row for each run that may continue, before runs that have not begun. A
# run that a command started on a person's machine waits for that person instead.
SWEEP_DEAD_WORKERS: LiteralString = """
WITH dead AS (
    SELECT j.id FROM procrastinate_jobs j LEFT JOIN procrastinate_workers w ON w.id = j.worker_id
    WHERE j.status = 'doing' AND j.task_name = %(task)s AND j.lock <> ALL(%(mine)s::text[])
        AND (j.id = ANY(%(lost)s::bigint[]) OR EXISTS (
            SELECT FROM unnest(%(late)s::bigint[], %(beats)s::timestamptz[]) AS l (id, beat)
            WHERE l.id = j.id AND w.last_heartbeat IS NOT DISTINCT FROM l.beat))  -- it has not moved since
    FOR UPDATE OF j SKIP LOCKED
), ended AS (
    UPDATE procrastinate_jobs j SET status = 'failed', abort_requested = false, attempts = j.attempts + 1
    FROM dead WHERE j.id = dead.id RETURNING j.lock AS run, j.attempts
), judged AS (
    UPDATE runs r SET updated_at = clock_timestamp(),
        status = CASE WHEN r.cancel_requested THEN 'cancelled'
            WHEN e.attempts >= %(attempts)s THEN 'failed'
            WHEN r.queue = %(shared)s THEN 'queued'
            WHEN EXISTS (SELECT 1 FROM procrastinate_jobs t WHERE t.lock = r.id AND t.status = 'todo') THEN 'queued'
            ELSE 'interrupted' END,
        reason = CASE WHEN e.attempts >= %(attempts)s
            THEN 'its worker died ' || e.attempts || ' times in a row' ELSE r.reason END
    FROM ended e WHERE r.id = e.run AND r.status IN ('queued', 'running')
    RETURNING r.id, r.status, r.queue, e.attempts
), again AS (
    INSERT INTO procrastinate_jobs (queue_name, task_name, priority, lock, queueing_lock, args, attempts)
    SELECT queue, %(task)s, 1, id, id, jsonb_build_object('run', id), attempts
    FROM judged WHERE status = 'queued' AND queue = %(shared)s
    ON CONFLICT DO NOTHING RETURNING 1
)
SELECT (SELECT count(*) FROM ended), (SELECT count(*) FROM again),
    (SELECT count(pg_notify(%(channel)s, id)) FROM judged WHERE status <> 'queued')
"""

# Runs are the truth: one that should continue and has no live job gets one. Recent changes are left alone for a moment.
RECONCILE_RUNS: LiteralString = """
WITH judged AS (
    UPDATE runs r SET updated_at = clock_timestamp(),
        status = CASE WHEN r.cancel_requested THEN 'cancelled'
            WHEN r.queue = %(shared)s THEN 'queued' ELSE 'interrupted' END
    WHERE r.status IN ('queued', 'running') AND r.queue <> ''
        AND abs(extract(epoch FROM now() - r.updated_at)) > %(dead)s  -- also if the clock was set back
        AND NOT EXISTS (SELECT 1 FROM procrastinate_jobs j WHERE j.lock = r.id AND j.status IN ('todo', 'doing'))
    RETURNING r.id, r.status, r.queue
), again AS (
    INSERT INTO procrastinate_jobs (queue_name, task_name, priority, lock, queueing_lock, args)
    SELECT queue, %(task)s, 1, id, id, jsonb_build_object('run', id) FROM judged WHERE status = 'queued'
    ON CONFLICT DO NOTHING RETURNING 1
)
SELECT (SELECT count(*) FROM again),
    (SELECT count(pg_notify(%(channel)s, id)) FROM judged WHERE status <> 'queued')
"""

# A worker that stops hands its run back; the new row waits for the lock of the old one.
RELEASE_RUN: LiteralString = """
WITH back AS (
    UPDATE runs r SET updated_at = clock_timestamp(),
        status = CASE WHEN r.queue = %(shared)s THEN 'queued' ELSE 'interrupted' END
    WHERE r.id = %(run)s AND r.epoch = %(epoch)s AND r.status = 'running' RETURNING r.id, r.status, r.queue
), again AS (
    INSERT INTO procrastinate_jobs (queue_name, task_name, priority, lock, queueing_lock, args)
    SELECT queue, %(task)s, 1, id, id, jsonb_build_object('run', id) FROM back WHERE status = 'queued'
    ON CONFLICT DO NOTHING
)
SELECT pg_notify(%(channel)s, id) FROM back
"""

READ_OWN_JOBS: LiteralString = """
SELECT id, lock FROM procrastinate_jobs WHERE status = 'doing' AND task_name = %s AND worker_id = %s
"""
# A worker without a job writes its row again with its next heartbeat, if it lives.
PURGE_JOBS: LiteralString = """
WITH gone AS (
    DELETE FROM procrastinate_workers w WHERE w.last_heartbeat < now() - interval '10 minutes'
        AND NOT EXISTS (SELECT 1 FROM procrastinate_jobs j WHERE j.worker_id = w.id AND j.status = 'doing')
)
DELETE FROM procrastinate_jobs j WHERE j.task_name = %s AND j.status NOT IN ('todo', 'doing')
    AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.id = j.lock AND r.status IN ('queued', 'running'))
"""
READ_STATUSES: LiteralString = "SELECT id, status FROM runs WHERE id = ANY(%s)"

# A turn waits for the one before: two at once would tell the same news twice.
READ_DUE_SCHEDULES: LiteralString = """
SELECT id, cron, request, next_at FROM schedule s WHERE next_at <= now()
    AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.id = s.last_run AND r.status IN ('queued', 'running'))
    ORDER BY next_at LIMIT 100
"""
# The worker that moves `next_at` takes the turn; the same statement creates the run and its job.
TAKE_TURN: LiteralString = """
WITH turn AS (
    UPDATE schedule SET next_at = %(next)s, last_run = %(run)s WHERE id = %(id)s AND next_at = %(due)s RETURNING request
), made AS (
    INSERT INTO runs (id, request, queue) SELECT %(run)s, request, %(shared)s FROM turn RETURNING id, queue
), queued AS (
    INSERT INTO procrastinate_jobs (queue_name, task_name, lock, queueing_lock, args)
    SELECT queue, %(task)s, id, id, jsonb_build_object('run', id) FROM made
)
SELECT id FROM made
"""


_RESERVE: LiteralString = """
INSERT INTO rate_limit AS r (provider, tat)
VALUES (%(provider)s, clock_timestamp() + make_interval(secs => (%(n)s - %(burst)s) / %(rate)s::float8))
ON CONFLICT (provider) DO UPDATE SET at = clock_timestamp(), tat = greatest(
    r.tat - greatest(r.at - clock_timestamp(), interval '0'),  -- a clock that was set back makes nobody wait
    clock_timestamp() - make_interval(secs => %(burst)s / %(rate)s::float8)
) + make_interval(secs => %(n)s / %(rate)s::float8)
RETURNING extract(epoch FROM tat - clock_timestamp())::float8
"""


_MOST_SLOTS = 8  # that one statement reserves


class RateLimiter:
    """At most `rate` calls a second to one provider, with bursts of `burst`, over all processes of one database.

    In any window of one second at most `rate + burst` calls begin.
    """

    def __init__(self, database: Database, provider: str, *, rate: float, burst: int = 1) -> None:
        self._database = database
        self._provider = provider
        self._rate = rate
        self._burst = burst
        self._waiting: deque[asyncio.Future[float]] = deque()
        self._task: asyncio.Task[None] | None = None

    async def acquire(self) -> None:
        """Wait for the next free slot.

        Raises:
            JournalError: the database does not answer.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[float] = loop.create_future()
        self._waiting.append(future)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._reserve_slots(), name=f"limiter of {self._provider}")
        at = await future
        await asyncio.sleep(max(0.0, at - loop.time()))

    async def _reserve_slots(self) -> None:
        """Reserve exactly as many slots as there are waiters: none is wasted, and none is used late."""
        while self._waiting:
            taken = [self._waiting.popleft() for _ in range(min(len(self._waiting), _MOST_SLOTS))]
            waiters = [future for future in taken if not future.done()]
            if not waiters:
                continue
            values = {"provider": self._provider, "rate": self._rate, "burst": self._burst, "n": len(waiters)}
            try:
                row = await self._database.fetch_one(_RESERVE, values, where="reserving calls to a provider")
            except CorroboraError as error:
                for future in waiters:
                    if not future.done():
                        future.set_exception(error)
                continue
            now = asyncio.get_running_loop().time()
            last = now + float(row[0] if row else 0.0)  # the arrival time after our last slot
            for index, future in enumerate(waiters, start=1):
                if not future.done():
                    future.set_result(last - (len(waiters) - index) / self._rate)


_TAKE: LiteralString = """
WITH due AS (
    SELECT id FROM webhook_delivery WHERE next_at <= clock_timestamp()
        OR next_at > clock_timestamp() + interval '2 days'  -- no pause is so long: the clock was set back
    ORDER BY next_at LIMIT %(most)s FOR UPDATE SKIP LOCKED
), taken AS (
    UPDATE webhook_delivery d
    SET attempts = d.attempts + 1, next_at = clock_timestamp() + make_interval(secs => %(seconds)s::float8)
    FROM due WHERE d.id = due.id
    RETURNING d.id, d.run, d.url, d.status, d.outcome, d.reason, d.ended_at, d.attempts
), begun AS (
    INSERT INTO webhook_attempt (delivery, number) SELECT id, attempts FROM taken
)
SELECT * FROM taken
"""
_STORE: LiteralString = """
WITH told AS (
    UPDATE webhook_attempt SET result = %(result)s WHERE delivery = %(id)s AND number = %(number)s
)
UPDATE webhook_delivery SET
    delivered_at = CASE WHEN %(delivered)s THEN clock_timestamp() END,
    next_at = clock_timestamp() + make_interval(secs => %(again)s::float8)
WHERE id = %(id)s AND delivered_at IS NULL AND (attempts = %(number)s OR %(delivered)s)
"""
_LIST: LiteralString = """
SELECT d.id, d.url, d.status, d.ended_at, d.next_at, d.delivered_at, a.at, a.result
FROM webhook_delivery d LEFT JOIN webhook_attempt a ON a.delivery = d.id
WHERE d.run = %s ORDER BY d.ended_at, d.id, a.number
"""
DeliveryState = Literal["waiting", "delivered", "given_up"]


@dataclass(frozen=True, slots=True)
class DueWebhook:
    """One delivery that a sender has taken. `id` is the same in every attempt."""

    id: str
    run: str
    url: str
    status: str
    outcome: str
    reason: str
    ended_at: str
    attempt: int  # from 1


@dataclass(frozen=True, slots=True)
class WebhookAttempt:
    """One attempt; `result` is "" while it is not known."""

    at: str
    result: str


@dataclass(frozen=True, slots=True)
class WebhookRecord:
    """A delivery with its attempts, as it stands."""

    id: str
    url: str
    status: str
    ended_at: str
    state: DeliveryState
    next_at: str | None
    attempts: tuple[WebhookAttempt, ...]


class Webhooks:
    """The webhooks of one database. Every method is one statement."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def find_url(self, run: str) -> str:
        """Return the address that is notified of the end of a run, "" without one."""
        row = await self._database.fetch_one("SELECT webhook FROM runs WHERE id = %s", [run], where="reading a run")
        return str(row[0]) if row is not None else ""

    async def take_due(self, *, most: int, seconds: float) -> Sequence[DueWebhook]:
        """Take deliveries that are due; each is due again after `seconds`, unless its result is stored before."""
        rows = await self._database.fetch_all(
            _TAKE, {"most": most, "seconds": seconds}, where="looking for due webhooks"
        )
        return [
            DueWebhook(identity, run, url, status, outcome, reason, _iso_time(ended), int(attempt))
            for identity, run, url, status, outcome, reason, ended, attempt in rows
        ]

    async def store_result(self, due: DueWebhook, result: str, *, delivered: bool, again: float | None) -> None:
        """Store what became of an attempt; the next one is due in `again` seconds, None for never.

        What a later attempt has taken over is left to it.
        """
        values = {"id": due.id, "number": due.attempt, "result": result, "delivered": delivered, "again": again}
        await self._database.execute(_STORE, values, where="storing the result of a webhook")

    async def list(self, run: str) -> Sequence[WebhookRecord]:
        """Return the deliveries of a run with their attempts, oldest first."""
        found: dict[str, WebhookRecord] = {}
        rows = await self._database.fetch_all(_LIST, [run], where="listing webhooks")
        for identity, url, status, ended, due, delivered, at, result in rows:
            state: DeliveryState = "delivered" if delivered else "waiting" if due else "given_up"
            made = (WebhookAttempt(_iso_time(at), result),) if at is not None else ()
            earlier = found[identity].attempts if identity in found else ()
            next_at = _iso_time(due) if due else None
            found[identity] = WebhookRecord(identity, url, status, _iso_time(ended), state, next_at, (*earlier, *made))
        return list(found.values())


def _iso_time(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="milliseconds")
