"""Several workers over one database: killed, frozen and woken, or without their database for a while."""

from __future__ import annotations

import json
import signal
from collections import Counter
from pathlib import Path

import pytest
from tests.journal.fleet import Fleet, begun_after_commit, repeated
from tests.journal.fleet_worker import PER_RUN

from corrobora.domain.run import Request, RunId, RunStatus
from corrobora.storage.journal.runs import Runs
from corrobora.storage.postgres import Database
from corrobora.storage.queue import Queue

pytestmark = pytest.mark.slow


async def submitted(database: Database, count: int) -> list[RunId]:
    runs, queue = Runs(database), Queue(database)
    made = [await runs.create(Request(f"Question {number}?")) for number in range(count)]
    for run in made:
        await queue.submit(run)
    return made


async def assert_whole(database: Database, fleet: Fleet, made: list[RunId]) -> None:
    """Every run finished once, every call answered once in the journal, no answer misplaced, no event missing."""
    standing = await Queue(database).wait_for_runs(made, timeout_seconds=900)
    assert set(standing.values()) == {RunStatus.DONE}
    fleet.until(lambda lines: sum(line.what == "F" for line in lines) >= len(made), "finished runs")
    lines = fleet.lines()
    finished = Counter(line.run for line in lines if line.what == "F")
    assert finished == dict.fromkeys(made, 1)
    assert begun_after_commit(lines) == [], "a committed answer was asked for again"
    for run in made:
        entries = await database.fetch_all("SELECT key, out FROM journal WHERE run = %s", [run])
        assert len(entries) == PER_RUN
        assert all(json.loads(out)["key"] == key for key, out in entries)
        events = await database.fetch_all("SELECT seq, key FROM run_events WHERE run = %s ORDER BY seq", [run])
        assert [seq for seq, _ in events] == list(range(1, PER_RUN + 3))
        assert len({key for _, key in events}) == len(events)


async def test_a_killed_and_a_frozen_worker_lose_nothing_and_repeat_nothing(
    database: Database, database_url: str, tmp_path: Path
) -> None:
    with Fleet(database_url, tmp_path / "ledger", seconds=0.3, concurrency=20) as fleet:
        made = await submitted(database, 30)
        for _ in range(3):
            fleet.start()
        fleet.until_committed(200)
        killed = fleet.busiest()
        fleet.send(killed, signal.SIGKILL)
        killed.wait()
        fleet.until_committed(400)
        frozen = fleet.busiest()
        fleet.send(frozen, signal.SIGSTOP)
        fleet.start()
        theirs = {line.run for line in fleet.lines() if line.pid == frozen.pid and line.what == "B"}
        fleet.until(  # somebody else goes on with a run of the frozen one
            lambda lines: any(
                line.run in theirs and line.pid != frozen.pid and line.what == "C" for line in lines[-200:]
            ),
            "take-over",
        )
        fleet.send(frozen, signal.SIGCONT)
        await assert_whole(database, fleet, made)
        assert repeated(fleet.lines()) <= 2 * 20 * 6, "at most what two workers had in flight"


async def test_workers_killed_one_after_another(database: Database, database_url: str, tmp_path: Path) -> None:
    with Fleet(database_url, tmp_path / "ledger", seconds=0.3, concurrency=20) as fleet:
        made = await submitted(database, 30)
        for _ in range(3):
            fleet.start()
        for progress in (100, 400, 700, 1000):
            fleet.until_committed(progress)
            victim = fleet.busiest()
            fleet.send(victim, signal.SIGKILL)
            victim.wait()
            fleet.start()
        await assert_whole(database, fleet, made)
        assert repeated(fleet.lines()) <= 4 * 20 * 6, "at most what four workers had in flight"


async def test_a_worker_that_is_told_to_leave_hands_its_runs_over(
    database: Database, database_url: str, tmp_path: Path
) -> None:
    with Fleet(database_url, tmp_path / "ledger", seconds=0.1, concurrency=20) as fleet:
        made = await submitted(database, 10)
        first = fleet.start()
        fleet.until_committed(50)
        fleet.send(first, signal.SIGTERM)
        assert first.wait(60) == 0
        assert await database.fetch_one("SELECT count(*) FROM runs WHERE status = 'running'") == (0,)
        fleet.start()
        await assert_whole(database, fleet, made)
