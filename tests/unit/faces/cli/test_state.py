"""Stored state that is damaged, moved, newer or gone, as a user meets it (group R, and C09)."""

from __future__ import annotations

import json
import os
import shutil
from typing import Any

import psycopg
import pytest

QUESTION = "When was the bridge at Arnholm opened?"


def _database(shell: Any) -> psycopg.Connection[Any]:
    assert shell.home
    return psycopg.connect(os.environ["CORROBORA_DATABASE_URL"], autocommit=True)


def test_r06_files_that_were_deleted_come_back_from_the_database(finished: tuple[Any, str]) -> None:
    shell, run = finished
    shutil.rmtree(shell.home / "runs")
    assert shell("verify", run).code == 0
    assert shell("export", run, "-o", "again").code == 0
    assert "1931" in (shell.folder / "again" / "report.md").read_text()


def test_r07_a_report_that_was_edited_by_hand_is_not_carried_any_more(finished: tuple[Any, str]) -> None:
    shell, run = finished
    shell("export", run, "-f", "md", "-o", "report.md")
    report = shell.folder / "report.md"
    report.write_text(report.read_text().replace("1931", "1941"))
    result = shell("verify", "report.md", "--strict")
    assert (result.code, "quote missing" in result.out) == (5, True)


def test_r08_a_database_of_a_newer_version_is_refused_and_left_alone(served: Any) -> None:
    assert served("runs", "list").code == 0
    with _database(served) as connection:
        connection.execute("INSERT INTO schema_migration VALUES (9999, 'tomorrow', 'x')")
    result = served("runs", "list")
    assert (result.code, "another version" in result.complaint) == (1, True)
    assert "9999_tomorrow" in result.complaint
    assert "nothing was changed" in result.complaint


def test_r10_a_run_is_resumed_by_another_folder_home_and_time_zone(filled: Any) -> None:
    filled(QUESTION, "-l", "docs", "--until-stage", "plan", "-q")
    row = json.loads(filled("runs", "list", "--json", "--limit", "1").out)[0]
    assert str(filled.folder) not in json.dumps(row)
    (filled.folder / "elsewhere").mkdir()
    filled.setenv(CORROBORA_HOME=str(filled.folder / "elsewhere"), TZ="Pacific/Kiritimati", USER="somebody")
    result = filled.process("resume", row["id"], "-q", cwd=filled.folder / "elsewhere")
    assert (result.code, "1931" in result.out) == (0, True)


def test_r14_a_snapshot_that_is_gone_is_told_by_verify(served: Any) -> None:
    (served.folder / "a.md").write_text("# Bridge\n\nThe bridge at Arnholm was opened in 1931.\n")
    run = json.loads(served(QUESTION, "-l", "./a.md", "--json", "-q").out)["run_id"]
    with _database(served) as connection:
        connection.execute("SET session_replication_role = replica")  # as a damaged store: nothing guards the rows
        connection.execute("DELETE FROM snapshot")
    result = served("verify", run)
    assert (result.code, "not stored" in result.out) == (6, True)


def test_r19_a_clock_that_went_back_does_not_disorder_the_events(finished: tuple[Any, str]) -> None:
    shell, run = finished
    with _database(shell) as connection:
        connection.execute("UPDATE run_events SET at = at - seq * interval '1 hour' WHERE run = %s", [run])
    lines = shell("resume", run, "--from-stage", "deliver", "--display", "jsonl").out.splitlines()
    numbers = [each["seq"] for line in lines if "seq" in (each := json.loads(line))]
    assert numbers == sorted(numbers)


@pytest.mark.parametrize("minutes", ["0.5", "0.05"])
def test_c09_a_very_short_time_still_searches_or_ends_honestly(filled: Any, minutes: str) -> None:
    result = filled("research", QUESTION, "-l", "docs", "--time", minutes, "--json", "-q")
    made = json.loads(result.out)
    assert (result.code, made["outcome"]) in {(0, "complete"), (0, "partial"), (8, "limit_reached")}
    assert made["methodology"]["searches"] >= 1 or made["outcome"] == "limit_reached"
    assert made["methodology"]["time_limit_seconds"] == 60 * float(minutes)
