"""Attempts: the worker of the task queue library, so that an outage neither ends it nor loses a job row.

Knows procrastinate's worker, and which of its database calls must be repeated. Does not know runs, epochs or what an
attempt does. Importing procrastinate takes 80 ms, so this module is imported only where a worker runs.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

import psycopg
from procrastinate import App, PsycopgConnector
from procrastinate.exceptions import ConnectorException
from procrastinate.job_context import AbortReason, JobContext
from procrastinate.jobs import Job, Status
from procrastinate.manager import JobManager, NotificationCallback
from psycopg_pool import PoolClosed

from corrobora.domain.errors import JournalError
from corrobora.storage.postgres import Database
from corrobora.storage.queue.statements import ATTEMPT_TASK, POLL_SECONDS

HEARTBEAT_SECONDS = 1.0
_NEVER_SECONDS = 1e9  # the library would remove the rows of living workers after a jump of the clock; sweepers do it
_PAUSE_SECONDS = 0.5

_log = logging.getLogger(__name__)

Attempt = Callable[[JobContext, str], Awaitable[None]]


class ResilientJobManager(JobManager):
    """The job manager of the library, which waits for the end of an outage instead of ending its worker.

    Its heartbeat also restores a row that another worker pruned, and its `finish_job` repeats until the row is closed,
    because an open row would hold the lock of the run.
    """

    worker_id: int | None = None

    async def register_worker(self) -> int:
        """Register, and store the number of the worker."""
        self.worker_id = await super().register_worker()
        return self.worker_id

    async def fetch_job(self, queues: Iterable[str] | None, worker_id: int) -> Job | None:
        """Fetch a job; during an outage there is none."""
        try:
            return await super().fetch_job(queues, worker_id)
        except ConnectorException as error:
            _log.warning("fetching a job failed: %s", error.__cause__)
            await asyncio.sleep(_PAUSE_SECONDS)
            return None

    async def update_heartbeat(self, worker_id: int) -> None:
        """Write a heartbeat, even if the row of this worker was removed."""
        try:
            await self.connector.execute_query_async(
                "INSERT INTO procrastinate_workers (id, last_heartbeat) OVERRIDING SYSTEM VALUE "
                "VALUES (%(id)s, now()) ON CONFLICT (id) DO UPDATE SET last_heartbeat = now()",
                id=worker_id,
            )
        except ConnectorException as error:
            _log.warning("a heartbeat failed: %s", error.__cause__)

    async def finish_job(self, job: Job, status: Status, delete_job: bool) -> None:  # noqa: FBT001 - the library's signature
        """Close the row of an attempt, with as many tries as it takes, unless a sweeper has closed it."""
        while True:
            try:
                await super().finish_job(job, status, delete_job)
            except ConnectorException as error:
                if isinstance(error.__cause__, psycopg.errors.RaiseException):
                    _log.info("attempt %s was closed by a sweeper", job.id)
                    return
                if isinstance(error.__cause__, PoolClosed):
                    return  # the database was abandoned: a sweeper finds the end of this process
                _log.warning("closing attempt %s failed: %s", job.id, error.__cause__)
                await asyncio.sleep(_PAUSE_SECONDS)
            else:
                return

    async def listen_for_jobs(
        self, *, on_notification: NotificationCallback, queues: Iterable[str] | None = None
    ) -> None:
        """Listen until cancelled; the worker polls while the connection is lost."""
        while True:
            try:
                await super().listen_for_jobs(on_notification=on_notification, queues=queues)
            except (ConnectorException, JournalError) as error:  # the latter: a server that cannot be started anew
                _log.debug("listening for jobs failed: %s", error.__cause__)  # heartbeats tell of it, less often
            await asyncio.sleep(_PAUSE_SECONDS)

    async def list_jobs_to_abort_async(self, queue: str | None = None) -> Iterable[int]:
        """List the attempts that are to end; during an outage there are none."""
        try:
            return await super().list_jobs_to_abort_async(queue)
        except ConnectorException:
            return ()

    async def unregister_worker(self, worker_id: int) -> None:
        """Unregister; if the database is down, the sweeper of another worker finds this one dead."""
        try:
            await super().unregister_worker(worker_id)
        except ConnectorException as error:
            _log.info("leaving the list of workers failed: %s", error.__cause__)


class AttemptWorker:
    """Runs attempts of the given queues until it is cancelled, and starts again if the library's worker ends."""

    def __init__(self, database: Database, attempt: Attempt, *, grace_seconds: float) -> None:
        connector = PsycopgConnector()
        self.app = App(connector=connector)
        self.manager = ResilientJobManager(connector)
        self.app.job_manager = self.manager
        self._database = database
        self._grace_seconds = grace_seconds

        async def run_attempt(context: JobContext, run: str) -> None:
            await attempt(context, run)

        self.app.task(name=ATTEMPT_TASK, pass_context=True)(run_attempt)

    async def take_jobs(self, queues: Iterable[str], *, concurrency: int) -> None:
        """Take jobs until cancelled; then wait for the grace time, cancel what still runs, and unregister.

        Raises:
            asyncio.CancelledError: always, in the end.
        """
        names = list(queues)
        options: dict[str, Any] = {
            "queues": names,
            "concurrency": concurrency,
            "fetch_job_polling_interval": POLL_SECONDS,
            "abort_job_polling_interval": POLL_SECONDS,
            "update_heartbeat_interval": HEARTBEAT_SECONDS,
            "stalled_worker_timeout": _NEVER_SECONDS,
            "shutdown_graceful_timeout": self._grace_seconds,
            "install_signal_handlers": False,
            "delete_jobs": "successful",
        }
        async with self.app.open_async(pool=self._database.pool):
            while True:
                try:
                    await self.app.run_worker_async(**options)
                except ConnectorException as error:
                    _log.warning("the worker starts again: %s", error.__cause__)
                await asyncio.sleep(_PAUSE_SECONDS)


def is_user_request(context: JobContext) -> bool:
    """True if the attempt is being cancelled because a person asked for it, not because the worker stops."""
    return context.abort_reason() is AbortReason.USER_REQUEST
