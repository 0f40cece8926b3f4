"""A run on this terminal whose embedded database is stopped: it ends with a code and a way on, and loses nothing."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator

import psycopg
import pytest
from bench.model_server.server import Latency, ModelServer
from tests.paths.conftest import Serve
from tests.paths.starts import CLEAR
from tests.plugins.shell import DOCUMENTS, Shell

from corrobora.storage.postgres.embedded import EmbeddedServer


@pytest.fixture
def server(serve: Serve[ModelServer]) -> ModelServer:
    return serve(ModelServer(latency=Latency(1.0)))


@pytest.fixture
def run(shell: Shell, server: ModelServer) -> Iterator[subprocess.Popen[bytes]]:
    """A run in the middle of its work, with the embedded database."""
    (shell.folder / "docs").mkdir()
    (shell.folder / "docs" / "bridge.md").write_text(DOCUMENTS["bridge.md"])
    model = f"openai-compatible:scripted-large@{server.url}/v1"
    process = shell.start("research", CLEAR, "-l", "docs", "-m", model)
    try:
        end = time.monotonic() + 60
        while server.received < 3 and process.poll() is None:
            assert time.monotonic() < end
            time.sleep(0.05)
        yield process
    finally:
        process.kill()
        process.communicate()
        shell("db", "stop")


def leave(process: subprocess.Popen[bytes]) -> tuple[int, str]:
    """Return how the command ended, within a minute, and what it said to the person."""
    _, said = process.communicate(timeout=60)
    assert b"Traceback" not in said, said.decode()
    assert b"never retrieved" not in said, said.decode()
    return process.returncode, said.decode().splitlines()[-1]


def assert_goes_on(shell: Shell, server: ModelServer) -> None:
    """The run is resumed; at most the call that was in flight is sent again."""
    found = shell("resume", "last")
    assert found.code == 0, found.err
    assert "1931" in found.out
    sent = Counter(json.dumps(each.body, sort_keys=True) for each in server.asked)
    assert sent.total() - len(sent) <= 1


def test_a_run_whose_database_is_stopped_says_so_and_ends_and_can_be_resumed(
    shell: Shell, server: ModelServer, run: subprocess.Popen[bytes]
) -> None:
    assert shell("db", "stop").out == "stopped\n"
    code, said = leave(run)
    assert code == 1
    assert "was stopped" in said
    assert "corrobora resume r_" in said
    assert_goes_on(shell, server)


@pytest.mark.slow
@pytest.mark.parametrize(("signals", "expected"), [([signal.SIGINT, signal.SIGINT], 130), ([signal.SIGTERM], 143)])
def test_who_leaves_while_the_database_is_away_does_not_wait_for_it(
    shell: Shell, server: ModelServer, run: subprocess.Popen[bytes], signals: list[signal.Signals], expected: int
) -> None:
    assert shell("db", "stop").out == "stopped\n"
    for number in signals:
        run.send_signal(number)
        time.sleep(0.5)
    code, said = leave(run)
    assert code == expected
    assert "corrobora resume r_" in said
    assert_goes_on(shell, server)


@pytest.mark.slow
def test_a_database_that_is_started_again_at_once_costs_nothing(
    shell: Shell, server: ModelServer, run: subprocess.Popen[bytes]
) -> None:
    assert shell("db", "stop").out == "stopped\n"
    assert shell("db", "start").code == 0
    out, said = run.communicate(timeout=60)
    assert run.returncode == 0, said
    assert b"1931" in out
    assert len({json.dumps(each.body) for each in server.asked}) == server.received


def test_a_run_whose_tables_a_newer_version_changed_says_so_and_loses_nothing(
    shell: Shell, server: ModelServer, run: subprocess.Popen[bytes]
) -> None:
    database = EmbeddedServer.start(shell.home / "database")
    with psycopg.connect(database.url, autocommit=True) as connection:
        connection.execute("ALTER TABLE journal RENAME COLUMN out TO output")
        code, said = leave(run)
        connection.execute("ALTER TABLE journal RENAME COLUMN output TO out")
    database.stop_if_last()
    assert code == 1
    assert "not those of this version" in said
    assert "a newer one, go on: corrobora resume" in said
    assert_goes_on(shell, server)
