"""`corrobora ask`, `update` and `watch`, and follow-up questions in a dialogue."""

from __future__ import annotations

import json
from typing import Any

import pytest

from corrobora.faces.python import ask

LENGTH = "How long is the bridge at Arnholm?"


@pytest.mark.covers("ask --no-search", "ask -s", "ask --model", "update -s", "update --model")
def test_a_follow_up_is_a_run_of_its_own_on_the_evidence_of_another(finished: tuple[Any, str]) -> None:
    shell, run = finished
    asked = json.loads(shell("ask", run, LENGTH, "--no-search", "-q", "--json", "-s", "words_max=900").out)
    assert (asked["previous"], asked["methodology"]["providers"]) == (run, ["evidence"])
    assert asked["from_previous"] == [each["number"] for each in asked["citations"]]
    assert "412 metres" in asked["markdown"]
    shown = json.loads(shell("runs", "show", asked["run_id"], "--json").out)["request"]
    assert (shown["previous"], ["words_max", "900"] in shown["overrides"]) == (run, True)
    assert "nobody" in shell("ask", run, LENGTH, "--model", "nobody:x").complaint
    again = json.loads(shell("update", run, "-q", "--json", "-s", "words_max=800").out)
    assert (again["before"], again["has_news"]) == (run, False)
    shown = json.loads(shell("runs", "show", again["run_id"], "--json").out)["request"]
    assert ["words_max", "800"] in shown["overrides"]
    told = shell("runs", "show", again["run_id"]).out
    assert (f"follows    update of {run}\n" in told, "read again\n" in told) == (True, True), told
    assert f"from run `{run}`" in shell("update", run, "-q").out
    assert "nobody" in shell("update", run, "--model", "nobody:x").complaint
    report = ask(run, LENGTH, search=False)
    assert (report.previous, "412 metres" in report.markdown) == (run, True)


@pytest.mark.covers("watch --cron", "watch --name", "watch --deliver")
def test_a_watch_is_a_schedule_that_delivers_news(finished: tuple[Any, str]) -> None:
    shell, run = finished
    assert "a target to deliver to" in shell("watch", run).complaint
    assert "is not a valid name" in shell("watch", run, "--name", "A B").complaint
    made = shell("watch", run, "--cron", "weekly", "--name", "bridge", "--deliver", "folder:news")
    assert made.out.startswith("bridge: next on ")
    (stored,) = [each for each in json.loads(shell("schedule", "list", "--json").out) if each["id"] == "bridge"]
    assert (stored["cron"], stored["request"]["previous"]) == ("0 6 * * 1", run)
    assert ["follow_up", "watch"] in stored["request"]["metadata"]
    assert stored["request"]["output"] == [["folder", str(shell.folder / "news")]]
    assert shell("schedule", "rm", "bridge").code == 0


def test_after_the_report_of_a_dialogue_each_line_is_a_follow_up(filled: Any) -> None:
    typed = f"Authorized to execute\n{LENGTH}\n"
    result = filled.at_terminal("chat", "When was the bridge at Arnholm opened?", "-l", "docs", "-q", typed=typed)
    assert result.code == 0
    first, second = result.out.split("\n# ")[0:2]
    assert "Follows run" not in first
    assert "Follows run" in second
    assert "412 metres" in second


def test_last_is_the_newest_run_that_has_a_report(finished: tuple[Any, str]) -> None:
    shell, run = finished
    assert shell("research", "When was the ferry of Arnholm built?", "-l", "docs", "-q", "--plan-only").code == 0
    watched = shell("watch", "last", "--name", "of-last", "--deliver", "folder:news")
    assert watched.code == 0, watched
    shell("schedule", "rm", "of-last")
    compared = shell("runs", "compare", run, "last")
    assert compared.code == 0, compared
