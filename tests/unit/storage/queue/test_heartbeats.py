"""Heartbeats: clocks that jump, of the database and of the machine, make no worker dead and none alive."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.unit.storage.queue.steady import Steady, lost_worker
from tests.unit.storage.queue.test_queue import doing, working

from corrobora.domain.run import Request, RunId, RunStatus
from corrobora.storage.journal.runs import Runs
from corrobora.storage.postgres import Database
from corrobora.storage.queue import Queue
from corrobora.storage.queue.statements import RateLimiter

HANG_SECONDS = 120.0
ELSEWHERE = "elsewhere:pid/1/1.00"
JUMPING = """
CREATE SCHEMA jumping;
CREATE TABLE jumping.jump (seconds float8);
INSERT INTO jumping.jump VALUES (0);
CREATE FUNCTION jumping.now() RETURNS timestamptz LANGUAGE sql VOLATILE
    AS 'SELECT pg_catalog.now() + make_interval(secs => (SELECT seconds FROM jumping.jump))';
CREATE FUNCTION jumping.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE
    AS 'SELECT pg_catalog.clock_timestamp() + make_interval(secs => (SELECT seconds FROM jumping.jump))';
"""


@pytest.fixture
async def jumping(database: Database, database_url: str) -> AsyncIterator[Database]:
    """The database with a clock that `jump` moves: its functions of time are found before those of the system."""
    for statement in JUMPING.split(";\n"):
        await database.execute(statement)
    path = "options=-c%20search_path%3Djumping%2Cpg_catalog%2Cpublic"
    async with await Database.connect(f"{database_url}&{path}", size=6) as opened:
        yield opened


async def jump(database: Database, seconds: float) -> None:
    before = await database.fetch_one("SELECT now()")
    await database.execute("UPDATE jumping.jump SET seconds = seconds + %s", [seconds])
    after = await database.fetch_one("SELECT now()")
    assert before is not None
    assert after is not None
    assert abs((after[0] - before[0]).total_seconds() - seconds) < HANG_SECONDS / 2


@pytest.mark.parametrize("seconds", [120.0, 86_400.0, -86_400.0], ids=["2 min", "1 day", "a day back"])
async def test_a_jump_of_the_databases_clock_takes_no_run_from_a_worker_that_lives(
    jumping: Database, seconds: float
) -> None:
    runs, begun, end, epochs = Runs(jumping), asyncio.Event(), asyncio.Event(), list[int]()

    async def execute(run: RunId, epoch: int) -> None:
        epochs.append(epoch)
        await jumping.execute("UPDATE runs SET owner = %s WHERE id = %s", [ELSEWHERE, run])
        begun.set()
        await end.wait()
        await runs.finish(run, epoch, RunStatus.DONE)

    other = Queue(jumping)
    run = await runs.create(Request("Which?"))
    async with working(jumping, execute):
        await other.submit(run)
        await begun.wait()
        await other.sweep()
        await jump(jumping, seconds)
        closed = 0
        until = time.monotonic() + 4
        while time.monotonic() < until:
            closed += (await other.sweep()).closed
        assert closed == 0
        assert not await other.submit(run, own=True), "its heart beats"
        assert (await runs.get(run)).status is RunStatus.RUNNING
        end.set()
        await other.wait_for_runs([run], timeout_seconds=HANG_SECONDS)
    assert epochs == [1]


async def test_a_worker_that_died_before_the_clock_was_set_back_is_dead_within_the_usual_time(
    jumping: Database,
) -> None:
    runs, steady = Runs(jumping), Steady()
    queue = steady.open_queue(jumping)
    run = await runs.create(Request("Which?"))
    await queue.submit(run)
    await lost_worker(jumping, run)
    await jump(jumping, -86_400)
    swept = await steady.sweep(queue, 16)
    assert (swept.closed, swept.requeued) == (1, 1)


async def test_a_pause_of_the_database_counts_as_few_missed_heartbeats(database: Database) -> None:
    runs, steady = Runs(database), Steady()
    queue = steady.open_queue(database)
    run = await runs.create(Request("Which?"))
    await queue.submit(run)
    await lost_worker(database, run)
    await queue.sweep()
    steady.at += 600  # the next look waits for a server that stood still, as the worker's heartbeats did
    assert (await queue.sweep()).closed == 0


async def test_a_command_takes_over_a_run_whose_owner_out_of_sight_gives_no_sign_of_life(database: Database) -> None:
    runs, steady = Runs(database), Steady()
    queue = steady.open_queue(database)
    run = await runs.create(Request("Which?"))
    await queue.submit(run, own=True)
    await lost_worker(database, run)
    assert await queue.submit(run, own=True)
    assert 15 < steady.at <= 17, "not at once, and not later than a sweeper would"
    await queue.run_worker(doing(runs), until=[run])
    assert (await runs.get(run)).epoch == 2


async def test_a_command_that_died_out_of_sight_before_it_began_leaves_a_run_for_the_next(database: Database) -> None:
    runs, steady = Runs(database), Steady()
    queue = steady.open_queue(database)
    run = await runs.create(Request("Which?"))
    await queue.submit(run, own=True)
    await database.execute("UPDATE runs SET owner = %s", [ELSEWHERE])
    assert await queue.submit(run, own=True)
    assert steady.at > 15, "its worker may have been about to begin"


def test_an_owner_is_the_same_process_after_the_clock_of_the_machine_jumped(tmp_path: Path) -> None:
    """The kernel tells when it began by the time of day, which a jump changes; so would all starts of processes."""
    told = Path("/proc/stat").read_text()
    began = next(line for line in told.splitlines() if line.startswith("btime"))
    jumped = f"btime {int(began.split()[1]) + 120}"
    for name in (str(os.getpid()), "self"):
        (tmp_path / name).symlink_to(f"/proc/{name}")
    (tmp_path / "stat").write_text(told.replace(began, jumped))
    code = (
        "import psutil, sys; from corrobora.storage.postgres.processes import has_ended, is_alive_here;"
        "psutil.PROCFS_PATH = sys.argv[2]; print(has_ended(sys.argv[1]), is_alive_here(sys.argv[1]))"
    )
    name = "from corrobora.storage.postgres.processes import this_process; print(this_process(), flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as owner:
        assert owner.stdout is not None
        who = owner.stdout.readline().strip()
        (tmp_path / str(owner.pid)).symlink_to(f"/proc/{owner.pid}")
        said = subprocess.run(
            [sys.executable, "-c", code, who, str(tmp_path)], capture_output=True, text=True, check=True
        )
        owner.communicate("\n")
    assert said.stdout.split() == ["False", "True"]


async def test_a_clock_that_was_set_back_makes_no_call_wait_for_the_difference(jumping: Database) -> None:
    limiter = RateLimiter(jumping, "p", rate=100)
    await limiter.acquire()
    await jump(jumping, -86_400)
    async with asyncio.timeout(HANG_SECONDS):
        await limiter.acquire()
        await asyncio.gather(*(limiter.acquire() for _ in range(20)))
    row = await jumping.fetch_one("SELECT extract(epoch FROM tat - clock_timestamp())::float8 FROM rate_limit")
    assert row is not None
    assert row[0] < 1
