"""Delivery: JSON, JSONL, files, artifacts."""

from __future__ import annotations

import json
from typing import Any

import pytest

QUESTION = "When was the bridge at Arnholm opened and how long is it?"


def test_json_is_one_document_on_stdout(filled: Any) -> None:
    report = json.loads(filled(QUESTION, "-l", "docs", "-t", "1", "--json").out)
    assert report["run_id"].startswith("r_")
    assert report["outcome"] in ("complete", "partial")
    assert report["citations"][0]["quotes"]


def test_jsonl_puts_the_events_on_stdout_between_launch_and_done(filled: Any) -> None:
    lines = [json.loads(line) for line in filled(QUESTION, "-l", "docs", "--display", "jsonl").out.splitlines()]
    assert lines[0]["event"] == "launch"
    assert lines[1]["type"] == "run.started"
    assert [line["seq"] for line in lines[1:-1]] == list(range(1, len(lines) - 1))
    assert lines[-1] == {"event": "done", "run_id": lines[0]["run_id"], "exit": 0}


def test_jsonl_with_json_goes_to_stderr(filled: Any) -> None:
    result = filled(QUESTION, "-l", "docs", "--display", "jsonl", "--json")
    assert json.loads(result.out)["run_id"]
    assert json.loads(result.err.splitlines()[0])["event"] == "launch"


def test_artifacts_are_copied(filled: Any) -> None:
    filled(QUESTION, "-l", "docs", "--artifacts", "here", "-q")
    assert {"plan.json", "report.json", "report.md"} <= {path.name for path in (filled.folder / "here").iterdir()}


def test_output_files_hold_the_report_and_stdout_stays_empty(filled: Any) -> None:
    assert filled(QUESTION, "-l", "docs", "-q", "-o", "report.md").out == ""
    assert "412 metres" in (filled.folder / "report.md").read_text()
    assert filled(QUESTION, "-l", "docs", "-q", "-o", "folder").code == 0
    assert {path.name for path in (filled.folder / "folder").iterdir()} == {"report.md", "report.html", "report.json"}


@pytest.mark.covers("resume --deliver")
def test_a_report_that_a_folder_did_not_take_goes_to_another(filled: Any) -> None:
    (filled.folder / "taken").write_text("a file")
    failed = filled(QUESTION, "-l", "docs", "-q", "--deliver", "folder:taken/here")
    assert failed.code == 7
    assert "--deliver folder:DIR" in failed.complaint
    assert "  not delivered  " in filled("runs", "list").out  # "failed" would say that there is no report
    run = filled("runs", "list", "--json").out.partition('"id": "')[2].partition('"')[0]
    assert filled("resume", run, "--deliver", "folder:there", "-q").code == 0
    assert "412 metres" in (filled.folder / "there" / "report.md").read_text()
    assert filled("resume", run, "--deliver", "folder:third", "-q").code == 0  # it has ended: only delivered again
    assert (filled.folder / "third" / "report.md").read_text() == (filled.folder / "there" / "report.md").read_text()
    assert filled("resume", run, "--deliver", "pigeon:x", "-q").code == 2
