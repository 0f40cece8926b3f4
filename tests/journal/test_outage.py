"""The database stopped under load, politely and not, and started again: nothing answered is lost or asked twice."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.journal.fleet import Fleet, begun_after_commit, repeated
from tests.journal.test_fleet import assert_whole, submitted

from corrobora.storage.postgres import Database
from corrobora.storage.postgres.embedded import EmbeddedServer, server_status, stop_server
from corrobora.storage.postgres.processes import is_running

pytestmark = pytest.mark.slow


@pytest.fixture
def data_dir(scratch: Path) -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="corrobora-outage-", dir=scratch))
    yield folder
    stop_server(folder)
    shutil.rmtree(folder)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGQUIT], ids=["fast", "immediate"])
async def test_runs_go_on_after_the_database_was_away(how: signal.Signals, data_dir: Path, tmp_path: Path) -> None:
    server = EmbeddedServer.start(data_dir)
    async with await Database.connect(server.url) as database:
        made = await submitted(database, 20)
    with Fleet(server.url, tmp_path / "ledger", seconds=0.3, concurrency=15) as fleet:
        for _ in range(2):
            fleet.start()
        for progress in (150, 400):
            fleet.until_committed(progress)
            pid = server_status(data_dir).pid
            assert pid is not None
            os.kill(pid, how)
            while is_running(pid):
                pass
            before = fleet.lines()
            answered = sum(line.what == "A" for line in before)
            fleet.until(  # calls go on while the database is away, and their answers wait in memory
                lambda lines, enough=answered + 5: sum(line.what == "A" for line in lines) >= enough, "answers"
            )
            assert EmbeddedServer.start(data_dir).url == server.url
        async with await Database.connect(server.url) as database:
            await assert_whole(database, fleet, made)
        assert all(worker.poll() is None for worker in fleet.workers), "no worker ended"
        lines = fleet.lines()
        assert begun_after_commit(lines) == []
        assert repeated(lines) == 0
