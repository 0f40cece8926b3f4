"""Flags of `research` whose effect is outside the request: what is read, shown and written. One test for each."""

from __future__ import annotations

import json

QUESTION = "When was the bridge at Arnholm opened?"
RUN = (QUESTION, "-l", "docs", "-q")


def test_flag_question_file(filled):
    (filled.folder / "q.txt").write_text(QUESTION)
    assert "1931" in filled("research", "--question-file", "q.txt", "-l", "docs", "-q").out


def test_flag_plan(filled):
    (filled.folder / "plan.json").write_text("no JSON")
    assert filled("research", *RUN, "--plan", "plan.json").code == 2


def test_flag_provider(filled):
    assert "TAVILY_API_KEY" in filled("research", QUESTION, "--provider", "tavily").err


def test_flag_offline(filled):
    assert filled("research", *RUN, "--provider", "tavily", "--offline").complaint.count("--offline")


def test_flag_run_id_and_from_stage(finished):
    shell, run = finished
    assert json.loads(shell("research", "--run-id", run, "--json", "-q").out)["run_id"] == run
    again = shell("research", "--run-id", run, "--from-stage", "deliver", "--display", "plain")
    assert again.code == 0
    assert "nothing was asked again" not in again.err
    assert shell("research", QUESTION, "-l", "docs", "-q", "--from-stage", "deliver").code == 2


def test_flag_output(filled):
    assert filled("research", *RUN, "-o", "out.md").code == 0
    assert "1931" in (filled.folder / "out.md").read_text()


def test_flag_force(filled):
    (filled.folder / "out.md").write_text("before")
    assert filled("research", *RUN, "-o", "out.md", "--force").code == 0
    assert "1931" in (filled.folder / "out.md").read_text()


def test_flag_follow_symlinks(filled):
    (filled.folder / "real.md").write_text("before")
    (filled.folder / "out.md").symlink_to(filled.folder / "real.md")
    assert filled("research", *RUN, "-o", "out.md", "--force", "--follow-symlinks").code == 0
    assert "1931" in (filled.folder / "real.md").read_text()


def test_flag_artifacts(filled):
    assert filled("research", *RUN, "--artifacts", "files").code == 0
    assert (filled.folder / "files" / "report.md").exists()


def test_flag_json(filled):
    assert json.loads(filled("research", *RUN, "--json").out)["outcome"] == "complete"


def test_flag_display(filled):
    first = filled("research", QUESTION, "-l", "docs", "--display", "jsonl").out.splitlines()[0]
    assert "run_id" in json.loads(first)


def test_flag_quiet(filled):
    assert filled("research", *RUN).err == ""


def test_flag_config(filled):
    (filled.folder / "mine.toml").write_text('profile = "nowhere"\n')
    assert filled("research", *RUN, "--config", "mine.toml").code == 2
