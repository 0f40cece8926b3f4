"""`corrobora runs compare`: two stored runs side by side."""

from __future__ import annotations

import json
from typing import Any

import pytest


@pytest.mark.covers("runs compare --json")
def test_two_runs_are_compared_by_what_they_say(finished: tuple[Any, str]) -> None:
    shell, first = finished
    again = json.loads(shell("When was the bridge at Arnholm opened?", "-l", "docs", "--json", "-q").out)["run_id"]
    other = json.loads(shell("How long is the bridge at Arnholm?", "-l", "docs", "--json", "-q").out)["run_id"]
    same = json.loads(shell("runs", "compare", first, again, "--json").out)
    assert (same["before"], same["after"], same["has_news"]) == (first, again, False)
    assert {each["kind"] for each in same["statements"]} == {"same"}
    told = shell("runs", "compare", first, other[:12])
    assert told.code == 0
    assert f"from run `{first}` to run `{other}`" in told.out
    assert "new: " in told.out
    assert "The questions differ, so this compares what two reports quote: " in told.out
    assert "Sources say something else" not in told.out
    assert same["summary"].startswith("No source says something else than before.")


def test_a_run_without_a_report_and_an_unknown_one_are_refused(waiting: tuple[Any, str]) -> None:
    shell, run = waiting
    assert "has no report yet" in shell("runs", "compare", run, run).complaint
    assert "no run r_nobody" in shell("runs", "compare", run, "r_nobody").complaint
