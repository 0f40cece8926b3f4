"""Log lines: what `--verbose` prints, the two formats of a worker's log, and a report formatted on a terminal."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import pty
import re
import signal
from typing import Any

import pytest

from corrobora.app import Workspace
from corrobora.app.runs import submit_run
from corrobora.config import load_settings
from corrobora.domain.run import Request, RunId
from corrobora.faces.cli.screen import reset_logs, set_up_logs

_COLORS = re.compile(r"\x1b\[(?:\d+;)*(?:3[0-7]|38;|4[0-7]|9[0-7])[\d;]*m")
QUESTION = "When was the bridge at Arnholm opened?"


async def _submit() -> RunId:
    async with Workspace.open(load_settings()) as workspace:
        return await submit_run(workspace, Request(QUESTION, libraries=("docs",)))


async def _wait_for_end(run: RunId) -> None:
    async with Workspace.open(load_settings()) as workspace:
        await workspace.queue.wait_for_runs([run], timeout_seconds=600)


@pytest.mark.covers("worker --log")
def test_a_worker_logs_the_begin_and_the_end_of_each_run_as_json(filled: Any) -> None:
    run = asyncio.run(_submit())
    with filled.start("worker", "--log", "json") as process:
        asyncio.run(_wait_for_end(run))
        process.send_signal(signal.SIGTERM)
        lines = [json.loads(line) for line in process.stderr.read().decode().splitlines()]
    told = [line for line in lines if line.get("run") == run]
    assert [line["state"] for line in told] == ["running", "done"]
    assert {"time", "level", "logger", "message", "seconds", "searches", "model_calls", "dollars"} <= set(told[-1])
    assert told[-1]["searches"] > 0


def test_verbose_prints_the_lines_of_the_run_and_without_it_there_are_none(filled: Any) -> None:
    talks = filled("research", QUESTION, "-l", "docs", "-q", "-v")
    assert re.search(r"^\d{4}-\d\d-\d\dT\S+Z INFO run r_\w+: done", talks.err, re.MULTILINE)
    assert " INFO " not in filled("research", QUESTION, "-l", "docs", "-q").err


def test_verbose_prints_the_traceback_of_an_error(filled: Any) -> None:
    failed = filled("runs", "show", "r_none", "--verbose")
    assert failed.code == 2
    assert "Traceback" in failed.err
    assert "Traceback" not in filled("runs", "show", "r_none").err
    assert logging.getLogger("corrobora").level == logging.NOTSET  # the caller's log is as it was


@pytest.mark.parametrize("name", ["corrobora.storage", "uvicorn.error", "mcp.server"])
def test_what_others_say_neither_forges_a_line_nor_steers_a_terminal(
    capsys: pytest.CaptureFixture[str], name: str
) -> None:
    forged = "\n2026-01-01T00:00:00.000Z INFO run r_x: done\x1b[2J\x9b31m\u2028x\x85y\u202e"
    set_up_logs()
    try:
        logging.getLogger(name).error("%s", forged + "z" * 9_000, exc_info=ValueError(forged))
    finally:
        reset_logs()
    told = capsys.readouterr().err.splitlines()
    assert [bool(re.match(r"\d{4}-", line)) for line in told] == [True] + [False] * (len(told) - 1)
    assert " ERROR 2026-01-01T00:00:00.000Z INFO run" in told[0]
    assert not re.search(r"[\x00-\x1f\x7f-\x9f\u2028\u202e]", "".join(told))
    assert max(map(len, told)) < 4_100


def _run_on_a_terminal(shell: Any, *args: str) -> str:
    """Run as a process whose stdout is a terminal, and return what it drew there."""
    ours, theirs = pty.openpty()
    drawn = b""
    colorful = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    env = {**colorful, "TERM": "xterm-256color", "COLUMNS": "100"}
    with shell.start(*args, stdout=theirs, env=env) as process:
        os.close(theirs)
        while True:
            try:
                part = os.read(ours, 65_536)
            except OSError:  # its other end was closed
                break
            if not part:
                break
            drawn += part
    os.close(ours)
    assert process.returncode == 0
    return drawn.decode()


def test_a_terminal_gets_a_formatted_report_and_anything_else_markdown(filled: Any) -> None:
    args = ("research", QUESTION, "-l", "docs", "-q")
    drawn = _run_on_a_terminal(filled, *args)
    assert "1931" in drawn
    assert "## " not in drawn
    assert _COLORS.search(drawn)
    plain = _run_on_a_terminal(filled, *args, "--no-color")
    assert "\x1b[1m" in plain
    assert not _COLORS.search(plain)
    assert filled(*args).out.startswith("# ")
