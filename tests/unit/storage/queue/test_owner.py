"""Owners: a process is told apart from a later one with its number, and loses its runs only when it is gone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest
from tests.unit.storage.queue.steady import Steady, lost_worker
from tests.unit.storage.queue.test_queue import doing

from corrobora.domain.run import Request, RunStatus
from corrobora.storage.journal.runs import Runs
from corrobora.storage.postgres import Database
from corrobora.storage.postgres.processes import has_ended, is_alive_here, this_process
from corrobora.storage.queue import Queue, SweepResult


def test_a_living_owner_has_not_gone() -> None:
    assert not has_ended(this_process())
    assert is_alive_here(this_process())


def test_an_owner_that_a_signal_stopped_lives_no_more_until_it_goes_on() -> None:
    name = "from corrobora.storage.postgres.processes import this_process; print(this_process(), flush=True)"
    code = f"import sys; {name}; sys.stdin.read()"
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        owner = child.stdout.readline().strip()
        assert is_alive_here(owner)
        child.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, child.pid, os.WSTOPPED)
        assert not is_alive_here(owner)
        assert not has_ended(owner)
        child.send_signal(signal.SIGCONT)
        child.communicate("")
    assert has_ended(owner)


def test_an_ended_owner_has_gone_also_if_its_number_is_taken() -> None:
    code = "from corrobora.storage.postgres.processes import this_process; print(this_process())"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    assert has_ended(ended)
    machine, pid, _ = this_process().split("/")
    assert has_ended(f"{machine}/{pid}/1.00")


def test_an_owner_out_of_sight_is_never_called_gone() -> None:
    assert not has_ended("elsewhere:pid/1/1.00")
    assert not has_ended("")
    assert not is_alive_here("elsewhere:pid/1/1.00")


async def test_forty_runs_of_a_process_that_lives_are_not_taken_from_it_however_late_its_heartbeats(
    database: Database,
) -> None:
    runs, steady = Runs(database), Steady()
    queue = steady.open_queue(database)
    made = [await runs.create(Request("Which?")) for _ in range(40)]
    for run in made:
        await queue.submit(run)
        await lost_worker(database, run)
    await database.execute("UPDATE runs SET owner = %s", [this_process()])
    assert await steady.sweep(queue, 60) == SweepResult(), "its process is seen to live"
    assert {(await runs.get(run)).status for run in made} == {RunStatus.RUNNING}
    await database.execute("UPDATE runs SET owner = %s", ["elsewhere/1/1.00"])
    await database.execute("UPDATE procrastinate_workers SET last_heartbeat = now()")
    assert await steady.sweep(queue, 15) == SweepResult(), "a process out of sight lives as long as its heartbeats"
    steady.at += 1
    assert (await queue.sweep()).closed == 40
    assert {(await runs.get(run)).status for run in made} == {RunStatus.QUEUED}


async def test_a_loop_that_ended_in_a_process_that_lives_is_given_up_after_two_minutes(database: Database) -> None:
    runs, steady = Runs(database), Steady()
    queue = steady.open_queue(database)
    run = await runs.create(Request("Which?"))
    await queue.submit(run)
    await lost_worker(database, run)
    await database.execute("UPDATE runs SET owner = %s", [this_process()])
    assert (await steady.sweep(queue, 120)).closed == 0
    assert (await steady.sweep(queue, 1)).closed == 1


@pytest.mark.parametrize("fetched", [True, False], ids=["fetched", "only queued"])
async def test_a_command_that_died_between_submission_and_start_leaves_a_run_that_is_free_at_once(
    database: Database, fetched: bool
) -> None:
    runs, queue = Runs(database), Queue(database)
    run = await runs.create(Request("Which?"))
    await queue.submit(run, own=True)
    if fetched:
        await lost_worker(database, run, claim=False)
    machine = this_process().split("/")[0]
    await database.execute("UPDATE runs SET owner = %s", [f"{machine}/{os.getpid()}/1.00"])
    assert await queue.submit(run, own=True)
    await queue.run_worker(doing(runs), until=[run])
    row = await runs.get(run)
    assert (row.status, row.epoch) == (RunStatus.DONE, 1)
