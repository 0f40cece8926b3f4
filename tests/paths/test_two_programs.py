"""Two programs and one run: of two that resume it one goes on, and one that stood still does not lose what it had."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import pytest
from bench.model_server.server import Latency, ModelServer
from tests.paths.conftest import Serve
from tests.paths.starts import CLEAR, QUESTION
from tests.plugins.shell import DOCUMENTS, Shell
from tests.unit.storage.queue.steady import Steady

from corrobora.app.attempts import STILL_SECONDS
from corrobora.app.runs import PAUSE_TOPIC, UNTIL_TOPIC, YES
from corrobora.domain.run import RunStatus
from corrobora.storage.journal.runs import Runs
from corrobora.storage.postgres import Database

T = TypeVar("T")


@pytest.fixture
def server(serve: Serve[ModelServer]) -> ModelServer:
    return serve(ModelServer(latency=Latency(0.5)))


def start_run(shell: Shell, server: ModelServer, *more: str, question: str = CLEAR) -> subprocess.Popen[bytes]:
    """Start a run and return when it has sent some calls."""
    (shell.folder / "docs").mkdir()
    (shell.folder / "docs" / "bridge.md").write_text(DOCUMENTS["bridge.md"])
    model = f"openai-compatible:scripted-large@{server.url}/v1"
    process = shell.start("research", question, "-l", "docs", "-m", model, *more)
    end = time.monotonic() + 60
    while server.received < 2:
        assert process.poll() is None
        assert time.monotonic() < end
        time.sleep(0.05)
    return process


def ask_database(url: str, ask: Callable[[Database], Awaitable[T]]) -> T:
    async def open_and_ask() -> T:
        async with await Database.connect(url, size=2) as database:
            return await ask(database)

    return asyncio.run(open_and_ask())


def count_repeats(server: ModelServer) -> int:
    sent = Counter(json.dumps(each.body, sort_keys=True) for each in server.asked)
    return sent.total() - len(sent)


def test_of_two_commands_that_resume_a_run_at_once_one_goes_on_and_the_other_says_who_has_it(
    served: Shell, server: ModelServer
) -> None:
    process = start_run(served, server)
    process.kill()
    process.communicate()
    both = [served.start("resume", "last") for _ in range(2)]
    said = [(*each.communicate(timeout=120), each.returncode) for each in both]
    (report, _, done), (nothing, refused, code) = sorted(said, key=lambda each: each[2])
    assert (done, code, nothing) == (0, 2, b""), said
    assert b"1931" in report
    assert b"another process is working on it. Wait for it, or stop it: corrobora cancel r_" in refused
    assert b"goes on" not in refused
    assert count_repeats(server) <= 2, "only what was under way when the program died"


def test_a_refused_resume_changes_nothing_of_the_run(served: Shell, server: ModelServer, database_url: str) -> None:
    process = start_run(served, server, "--until-stage", "synthesize")
    assert served("resume", "last", "--until-stage", "plan").code == 2

    async def read_stage(database: Database) -> str:
        runs = Runs(database)
        return (await runs.read_answers((await runs.list())[0].id))[UNTIL_TOPIC]

    assert ask_database(database_url, read_stage) == "synthesize"
    process.kill()
    process.communicate()


def test_a_command_whose_run_somebody_removes_says_so_and_ends_as_a_cancelled_one(
    served: Shell, server: ModelServer
) -> None:
    process = start_run(served, server)
    assert served("runs", "rm", "last").code == 0
    out, err = process.communicate(timeout=120)
    assert (process.returncode, out) == (130, b""), err
    assert re.search(rb"corrobora: The run r_\w{26} was removed while this program worked on it: .*ask.* again\.", err)


def test_a_pause_holds_although_the_program_died_that_was_asked_for_it(
    served: Shell, server: ModelServer, database_url: str
) -> None:
    process = start_run(served, server, "-p", "rounds", question=QUESTION)

    async def ask_to_pause(database: Database) -> None:
        runs = Runs(database)
        await runs.store_answer((await runs.list())[0].id, PAUSE_TOPIC, YES)

    worked = re.compile(r"^worked +(?!0\.0 s)[\d.]+ s in 1 attempt$", re.MULTILINE)
    assert worked.search(served("runs", "show", "last").out), "a run that works has worked"
    ask_database(database_url, ask_to_pause)
    process.kill()
    process.communicate()
    assert worked.search(served("runs", "show", "last").out), "so has one whose program died"
    paused = served("resume", "last")
    assert (paused.code, "pauses after round 1 of root" in paused.err) == (3, True), paused
    gone_on = served("resume", "last")
    assert (gone_on.code, "round 2 begins" in gone_on.err) == (0, True), gone_on


def test_a_command_that_a_signal_stopped_for_an_hour_goes_on_and_repeats_nothing(
    served: Shell, server: ModelServer, database_url: str
) -> None:
    process = start_run(served, server)
    process.send_signal(signal.SIGSTOP)
    began = time.monotonic()

    async def look_at_heartbeats(database: Database) -> RunStatus:
        steady = Steady()
        assert (await steady.sweep(steady.open_queue(database), 150)).closed == 0
        return (await Runs(database).list())[0].status

    assert ask_database(database_url, look_at_heartbeats) is RunStatus.RUNNING
    assert served("resume", "last").code == 2
    time.sleep(max(0.0, began + STILL_SECONDS + 1 - time.monotonic()))
    process.send_signal(signal.SIGCONT)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert b"suspended or without a processor; this counts against the time limit" in err
    assert b"1931" in out
    assert count_repeats(server) == 0
    files = list((Path(served.home) / "runs").glob("*/report.md"))
    assert len(files) == 1
    assert files[0].read_text().count("1931") == out.decode().count("1931")
