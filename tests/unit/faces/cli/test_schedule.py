"""`corrobora schedule` as a user runs it."""

from __future__ import annotations

import json
from typing import Any

import pytest

QUESTION = "When was the bridge at Arnholm opened and how long is it?"


def test_angles_a_schedule_is_added_listed_and_removed(filled: Any) -> None:
    assert filled("schedule", "add", "weekly-bridges", QUESTION, "--cron", "weekly", "-l", "docs").code == 0
    rows = json.loads(filled("schedule", "list", "--json").out)
    assert [(row["id"], row["cron"], row["request"]["question"]) for row in rows] == [
        ("weekly-bridges", "0 6 * * 1", QUESTION)
    ]
    assert rows[0]["request"]["authorized"] == "policy", "who makes the schedule authorizes its plans"
    assert "weekly-bridges" in filled("schedule", "list").out
    assert filled("schedule", "rm", "weekly-bridges").code == 0
    assert filled("schedule", "rm", "weekly-bridges").code == 2
    assert "There are no schedules yet. Add one: corrobora schedule add" in filled("schedule", "list").err


@pytest.mark.parametrize(
    "args", [("bad name", "0 6 * * 1"), ("name", "whenever"), ("name", "99 * * * *"), ("name", "R 6 * * 1")]
)
def test_angles_a_schedule_that_cannot_run_is_exit_2(filled: Any, args: tuple[str, str]) -> None:
    assert filled("schedule", "add", args[0], QUESTION, "--cron", args[1], "-l", "docs").code == 2
