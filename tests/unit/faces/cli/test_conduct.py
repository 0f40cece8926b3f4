"""Signals: the first Ctrl-C finishes, the second leaves, SIGTERM leaves at once (bad-input C19)."""

from __future__ import annotations

import json
import signal
from typing import Any

import pytest


def _slow() -> list[str]:
    """Flags of a run that pauses between queries, so that a signal meets it at work."""
    question = "When was the bridge at Arnholm opened?"
    return [question, "-l", "docs", "-p", "rounds", "-s", "pause_seconds=60", "--display", "jsonl"]


def _until(process: Any, kind: str) -> None:
    for line in process.stdout:
        if json.loads(line).get("type") == kind:
            return
    pytest.fail(f"no event {kind}")


def test_c19_the_first_interrupt_writes_what_was_gathered(filled: Any) -> None:
    with filled.start(*_slow()) as process:
        _until(process, "search")
        process.send_signal(signal.SIGINT)
        rest = process.stdout.read().decode().splitlines()
        said = process.stderr.read().decode()
    assert process.returncode == 130
    assert "Finishing" in said
    shown = [json.loads(line).get("type") for line in rest]
    ends = [json.loads(line)["data"].get("outcome") for line in rest if json.loads(line).get("type") == "run.finished"]
    which = "a partial" if ends == ["partial"] else "the"
    partial = f"Interrupted: {which} report was written." in said
    assert ("run.finished" if partial else "round.finished") in shown, "the last event is shown, however late"
    nothing = "Interrupted before anything was found that can be reported. Continue: corrobora resume" in said
    assert partial != nothing, "a run without anything to report can go on"
    assert "No report" not in said, "what is said in the end agrees with itself"
    assert partial == ("report   " in said)


def test_c19_the_second_interrupt_leaves_with_the_resume_line(filled: Any) -> None:
    with filled.start(*_slow(), "--time", "unlimited") as process:
        _until(process, "search")
        process.send_signal(signal.SIGINT)
        assert b"Finishing" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        process.stdout.read()
        said = process.stderr.read().decode()
    assert process.returncode == 130
    assert "Traceback" not in said


def test_c19_sigterm_leaves_at_once_and_the_run_can_be_resumed(filled: Any) -> None:
    with filled.start(*_slow()) as process:
        run = json.loads(process.stdout.readline())["run_id"]
        _until(process, "search")
        process.send_signal(signal.SIGTERM)
        process.stdout.read()
        said = process.stderr.read().decode()
    assert process.returncode == 143
    assert f"corrobora resume {run}" in said
