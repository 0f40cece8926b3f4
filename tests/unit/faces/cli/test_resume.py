"""`corrobora resume` and `authorize`: going on with a stored run (group R as far as the command line goes)."""

from __future__ import annotations

import json
import shutil
from typing import Any

import pytest


def test_r11_resume_of_a_finished_run_prints_its_report_and_asks_nothing(finished: tuple[Any, str]) -> None:
    shell, run = finished
    before = json.loads(shell("runs", "show", run, "--json").out)
    result = shell("resume", run)
    assert result.code == 0
    assert "1931" in result.out
    assert "nothing was asked again" in result.err
    assert json.loads(shell("runs", "show", run, "--json").out)["epoch"] == before["epoch"]


@pytest.mark.covers("resume --from-stage")
def test_from_stage_redoes_the_run_from_there(finished: tuple[Any, str]) -> None:
    shell, run = finished
    lines = shell("resume", run, "--from-stage", "synthesize", "--display", "jsonl").out.splitlines()
    assert lines[-1].endswith('"exit": 0}')
    again = shell("--run-id", run, "--from-stage", "verification", "-q")
    assert (again.code, "1931" in again.out) == (0, True)


def test_authorize_takes_only_the_exact_phrase(waiting: tuple[Any, str]) -> None:
    shell, run = waiting
    wrong = shell("authorize", run, "--words", "yes please")
    assert (wrong.code, "Authorized to execute" in wrong.complaint) == (2, True)
    right = shell("authorize", run, "--words", "Authorized to execute", "-q")
    assert (right.code, "1931" in right.out) == (0, True)


def test_authorize_starts_no_run_that_does_not_wait_for_it(waiting: tuple[Any, str]) -> None:
    shell, run = waiting
    shell("cancel", run)
    refused = shell("authorize", run, "--words", "Authorized to execute")
    assert (refused.code, f"Its state: cancelled. Go on with it: corrobora resume {run}" in refused.complaint) == (
        2,
        True,
    )
    assert json.loads(shell("runs", "show", run, "--json").out)["status"] == "cancelled"


def test_authorize_reads_the_phrase_from_stdin(waiting: tuple[Any, str]) -> None:
    shell, run = waiting
    result = shell.piped("authorize", run, "-q", stdin=b"Authorized to execute\n")
    assert (result.code, "1931" in result.out) == (0, True)


def test_a_waiting_plan_is_saved_as_a_file(waiting: tuple[Any, str]) -> None:
    shell, run = waiting
    assert json.loads((shell.home / "runs" / run / "plan.json").read_text())["root"]["path"] == "root"


def test_cancel_and_then_resume_goes_on(waiting: tuple[Any, str]) -> None:
    shell, run = waiting
    assert shell("cancel", run).out == f"cancelled {run}\n"
    assert json.loads(shell("runs", "show", run, "--json").out)["status"] == "cancelled"
    assert shell("resume", run, "--no-input").code == 3


def test_r15_a_run_that_another_process_works_on_is_refused(filled: Any) -> None:
    flags = ("-l", "docs", "-p", "rounds", "-s", "pause_seconds=60", "--display", "jsonl")
    with filled.start("When was the bridge at Arnholm opened?", *flags) as process:
        run = json.loads(process.stdout.readline())["run_id"]
        while json.loads(process.stdout.readline()).get("type") != "search":
            pass
        result = filled("resume", run)
        process.terminate()
        process.communicate()
    assert (result.code, "another process is working on it" in result.complaint) == (2, True)
    assert f"corrobora cancel {run}" in result.complaint


def test_sigkill_and_resume_deliver_the_report_without_asking_again(filled: Any) -> None:
    flags = ("-l", "docs", "-p", "rounds", "-s", "pause_seconds=1", "--display", "jsonl")
    with filled.start("When was the bridge at Arnholm opened?", *flags) as process:
        run = json.loads(process.stdout.readline())["run_id"]
        while json.loads(process.stdout.readline()).get("type") != "search":
            pass
        assert json.loads(filled("runs", "show", run, "--json").out)["status"] == "running"
        process.kill()
        process.communicate()
    assert json.loads(filled("runs", "show", run, "--json").out)["status"] == "interrupted", "nothing runs any more"
    assert "interrupted" in filled("runs", "list", "--limit", "1").out
    result = filled("resume", run, "-q")
    assert (result.code, "1931" in result.out) == (0, True)


def test_r16_a_run_that_the_disk_stopped_goes_on_when_it_is_resumed(filled: Any) -> None:
    filled("When was the bridge at Arnholm opened?", "-l", "docs", "--until-stage", "clarify", "-q")
    run = json.loads(filled("runs", "list", "--json", "--limit", "1").out)[0]["id"]
    folder = filled.home / "runs" / run
    if folder.exists():
        shutil.rmtree(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.write_text("a file where the folder should be")
    stopped = filled("resume", run, "-q")
    assert (stopped.code, "cannot be written" in stopped.complaint) == (1, True)
    folder.unlink()
    result = filled("resume", run, "-q")
    assert (result.code, "1931" in result.out) == (0, True)


@pytest.mark.parametrize("flags", [(), ("--no-input",)])
def test_authorize_without_a_terminal_says_how_to_give_the_words(waiting: tuple[Any, str], flags: tuple[str]) -> None:
    shell, run = waiting
    result = shell.piped("authorize", run, *flags, stdin=b"")
    assert result.code == 3
    assert f'corrobora authorize {run}; without one, add --words "Authorized to execute"' in result.complaint


def test_a_pause_names_the_stage_as_it_was_asked_for(filled: Any) -> None:
    result = filled("When was the bridge at Arnholm opened?", "-l", "docs", "--until-stage", "generation", "-q")
    assert (result.code, "pauses after the stage generation, as asked" in result.complaint) == (0, True)
    assert "1931" in filled("resume", "last", "-q").out
