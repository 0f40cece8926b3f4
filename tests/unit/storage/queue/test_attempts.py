"""The steadied queue library: an outage or a closed row never ends a worker."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

import pytest
from procrastinate import PsycopgConnector
from procrastinate.jobs import Job, Status

from corrobora.domain.errors import JournalError
from corrobora.storage.postgres import Database, cancel_tasks
from corrobora.storage.queue.attempts import HEARTBEAT_SECONDS, ResilientJobManager
from corrobora.storage.queue.heartbeats import DEAD_AFTER_SECONDS


async def manager(database: Database) -> ResilientJobManager:
    connector = PsycopgConnector()
    await connector.open_async(cast("Any", database.pool))  # its pool type is invariant
    return ResilientJobManager(connector)


async def queued(database: Database) -> None:
    await database.execute("INSERT INTO procrastinate_jobs (queue_name, task_name, args) VALUES ('runs', 't', '{}')")


async def test_a_row_that_a_sweeper_closed_is_closed(database: Database) -> None:
    steady = await manager(database)
    await queued(database)
    worker = await steady.register_worker()
    job = await steady.fetch_job(["runs"], worker)
    assert isinstance(job, Job)
    await database.execute("UPDATE procrastinate_jobs SET status = 'failed'")
    await steady.finish_job(job, Status.SUCCEEDED, True)
    assert await database.fetch_one("SELECT status::text FROM procrastinate_jobs") == ("failed",)


async def test_a_heartbeat_brings_back_a_pruned_worker(database: Database) -> None:
    steady = await manager(database)
    worker = await steady.register_worker()
    await database.execute("DELETE FROM procrastinate_workers")
    await queued(database)
    assert await steady.fetch_job(["runs"], worker) is None
    await steady.update_heartbeat(worker)
    assert isinstance(await steady.fetch_job(["runs"], worker), Job)
    assert steady.worker_id == worker


async def test_closing_a_row_insists_until_the_database_is_back(database: Database) -> None:
    steady = await manager(database)
    await queued(database)
    job = await steady.fetch_job(["runs"], await steady.register_worker())
    assert job is not None
    await database.execute("ALTER TABLE procrastinate_jobs RENAME TO away")
    finishing = asyncio.create_task(steady.finish_job(job, Status.SUCCEEDED, True))
    assert await steady.fetch_job(["runs"], 1) is None
    await steady.update_heartbeat(1)
    await database.execute("ALTER TABLE away RENAME TO procrastinate_jobs")
    await finishing
    assert await database.fetch_one("SELECT count(*) FROM procrastinate_jobs") == (0,)


def test_a_worker_is_dead_after_more_than_four_heartbeats() -> None:
    assert DEAD_AFTER_SECONDS > 4 * HEARTBEAT_SECONDS


@pytest.fixture
def data_dir(scratch: Path) -> Iterator[Path]:
    with TemporaryDirectory(prefix="corrobora-db-", dir=scratch) as folder:
        Path(folder).chmod(0o755)
        yield Path(folder) / "data"


async def test_a_listener_outlives_a_server_that_cannot_be_started_anew(data_dir: Path) -> None:
    heard = asyncio.Event()

    async def hear(**_: object) -> None:
        heard.set()

    settings = data_dir / "postgres" / "cluster" / "postgresql.conf"
    async with await Database.connect(data_dir, wait_seconds=30.0) as database:
        steady, text = await manager(database), settings.read_text()
        settings.write_text(f"{text}\nno_such_setting = 1\n")
        os.kill(int((settings.parent / "postmaster.pid").read_text().split()[0]), signal.SIGKILL)
        listener = asyncio.create_task(steady.listen_for_jobs(on_notification=hear))
        await asyncio.wait([listener], timeout=3.0)
        settings.write_text(text)
        while not heard.is_set() and not listener.done():
            with suppress(JournalError):  # it tries less and less often
                await queued(database)
            await asyncio.wait([listener], timeout=0.2)
        assert heard.is_set()
        await cancel_tasks(listener)
