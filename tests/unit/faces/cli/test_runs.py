"""`corrobora runs`, `export`, `verify`, `resume`, `authorize`, `cancel`: what can be done with a stored run."""

from __future__ import annotations

import json
from typing import Any

import pytest

QUESTION = "When was the bridge at Arnholm opened?"


@pytest.mark.covers("runs list --limit", "runs list --json")
def test_list_and_show(finished: tuple[Any, str]) -> None:
    shell, run = finished
    assert run in shell("runs", "list").out
    assert json.loads(shell("runs", "list", "--json", "--limit", "1").out)[0]["id"] == run
    shown = json.loads(shell("runs", "show", run, "--json").out)
    assert (shown["status"], shown["request"]["question"]) == ("done", QUESTION)
    assert "report.md" in shown["files"]
    assert "report.md" in shell("runs", "show", run).out


def test_rm(finished: tuple[Any, str]) -> None:
    shell, run = finished
    assert shell("runs", "rm", run).out == f"removed {run}\n"
    result = shell("runs", "rm", run)
    assert (result.code, f"no run {run}" in result.complaint) == (2, True)


def test_steer_needs_a_paused_run(finished: tuple[Any, str]) -> None:
    shell, run = finished
    assert "does not pause" in shell("steer", run, "look north").complaint


@pytest.mark.parametrize("command", ["show", "rm"])
@pytest.mark.parametrize("run", ["../x", "A", "", "x" * 65, "r_\n"])
def test_c14_ids_that_are_no_ids_are_refused_before_a_database_is_opened(shell: Any, command: str, run: str) -> None:
    shell.setenv(CORROBORA_DATABASE_URL="postgresql://127.0.0.1:9/nobody")
    result = shell("runs", command, run)
    assert (result.code, "not the id of a run" in result.complaint) == (2, True)


def test_cancel_of_an_ended_run_says_so_and_changes_nothing(finished: tuple[Any, str]) -> None:
    shell, run = finished
    result = shell("cancel", run)
    assert (result.code, result.out) == (0, "")
    assert "has ended (complete); there was nothing to cancel" in result.err
    assert json.loads(shell("runs", "show", run, "--json").out)["status"] == "done"
