"""One rate limit over three processes, one of which is killed."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.journal.fleet import Fleet

pytestmark = pytest.mark.slow

RATE, BURST = 50.0, 10


def test_three_processes_share_one_limit(database_url: str, tmp_path: Path) -> None:
    ledger = tmp_path / "ledger"
    fleet = Fleet(database_url, ledger, seconds=0, concurrency=0)
    command = [sys.executable, "-m", "tests.journal.limited", database_url, str(ledger), str(RATE), str(BURST)]
    root = Path(__file__).parents[2]
    begin = time.monotonic()
    with fleet:
        fleet.workers = [subprocess.Popen(command, cwd=root) for _ in range(3)]
        fleet.until(lambda lines: len({line.pid for line in lines}) == 3 and len(lines) >= 100, "slots for all three")
        fleet.workers[0].kill()
        fleet.workers[0].wait()
        fleet.until(lambda lines: len(lines) >= 300, "slots")
    times = sorted(line.at for line in fleet.lines())
    early = [number for number, at in enumerate(times, start=1) if at - begin < (number - BURST) / RATE - 0.01]
    assert early == [], "no slot may be taken before its time, whoever takes it"
