"""Flags of `research` whose effect is outside the request: what is read, shown and written. One test for each."""

from __future__ import annotations

import json
import os
import pty
from pathlib import Path
from typing import Any

import pytest

from corrobora.config import load_settings
from corrobora.faces.cli.request import output_options, research, run_settings

QUESTION = "When was the bridge at Arnholm opened?"
RUN = (QUESTION, "-l", "docs", "-q")


@pytest.mark.covers("research --question-file")
def test_flag_question_file(filled):
    (filled.folder / "q.txt").write_text(QUESTION)
    assert "1931" in filled("research", "--question-file", "q.txt", "-l", "docs", "-q").out


@pytest.mark.parametrize("flags", [("-o", ""), ("--plan", ""), ("-l", "")])
def test_an_empty_path_or_name_is_refused_and_nothing_is_written(filled, flags):
    before = sorted(filled.folder.iterdir())
    result = filled("research", *RUN, *flags)
    assert result.code == 2
    assert "empty" in result.err
    assert sorted(filled.folder.iterdir()) == before


def test_flag_plan(filled):
    (filled.folder / "plan.json").write_text("no JSON")
    assert filled("research", *RUN, "--plan", "plan.json").code == 2


@pytest.mark.covers("research --provider")
def test_flag_provider(filled):
    assert "TAVILY_API_KEY" in filled("research", QUESTION, "--provider", "tavily").err


@pytest.mark.covers("research --source")
def test_flag_source(filled):
    assert "cannot be read" in filled("research", *RUN, "--source", "file:///etc/passwd").complaint
    assert "no reader here can crawl" in filled("research", *RUN, "--source", "https://a.example/*").complaint
    assert "--source" in filled("research", *RUN, "--source", "https://a.example/", "--offline").complaint


@pytest.mark.covers("research --offline", "setting offline")
def test_flag_offline(filled):
    assert filled("research", *RUN, "--provider", "tavily", "--offline").complaint.count("--offline")


@pytest.mark.covers("research --run-id", "research --from-stage")
def test_flag_run_id_and_from_stage(finished):
    shell, run = finished
    assert json.loads(shell("research", "--run-id", run, "--json", "-q").out)["run_id"] == run
    again = shell("research", "--run-id", run, "--from-stage", "deliver", "--display", "plain")
    assert again.code == 0
    assert "nothing was asked again" not in again.err
    assert shell("research", QUESTION, "-l", "docs", "-q", "--from-stage", "deliver").code == 2


@pytest.mark.parametrize(
    "flags",
    [
        ("-l", "docs"), ("--profile", "rounds"), ("--time", "3"), ("--yes",), ("--deep",),
        ("-s", "max_rounds=2"), ("--model", "anthropic:x"), ("--angles", "3"), ("--max-tokens", "5"), ("--offline",),
    ],
)  # fmt: skip
def test_flag_run_id_refuses_what_it_would_ignore(finished, flags):
    shell, run = finished
    result = shell("research", "--run-id", run, *flags)
    assert result.code == 2
    assert "applies only to a new run" in result.complaint


def test_r09_a_run_that_goes_on_takes_no_other_question(finished):
    shell, run = finished
    (shell.folder / "q.txt").write_text("When was the ferry stopped?")
    for other in (("When was the ferry stopped?",), ("--question-file", "q.txt")):
        result = shell("research", "--run-id", run, *other)
        assert result.code == 2
        assert f"The run {run} already has its question" in result.complaint


def test_flag_min_score_counts_for_a_run_that_goes_on(filled):
    made = filled("research", *RUN, "-p", "angles", "--json", "--min-score", "0.1")
    run = json.loads(made.out)["run_id"]
    for again in (("research", "--run-id", run), ("resume", run)):
        codes = [filled(*again, "-q", "--min-score", score).code for score in ("1.0", "0.1")]
        assert (made.code, codes) == (0, [4, 0])


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


def test_flag_no_input_means_that_nobody_is_asked():
    flags: Any = research.make_context("research", [QUESTION, "--no-input"]).params
    settings = load_settings(run_settings(flags), env={}, user_file=Path("/nonexistent"))
    assert output_options(flags, settings).may_ask is False


def test_flag_no_input_leaves_a_plan_waiting_although_a_person_sits_there(filled):
    ours, theirs = pty.openpty()
    os.write(ours, b"Authorized to execute\n")
    with filled.start(QUESTION, "-l", "docs", "-p", "tree", "-q", "--no-input", stdin=theirs, stderr=theirs) as process:
        assert process.stdout.read() == b""
    os.close(theirs)
    os.close(ours)
    assert process.returncode == 3


def test_flag_deliver(filled):
    assert filled("research", *RUN, "--deliver", "folder:shared").code == 0
    assert "1931" in (filled.folder / "shared" / "report.md").read_text()


def test_flag_until_stage(filled):
    made = json.loads(filled("research", *RUN, "--until-stage", "init", "--json").out)
    assert made["outcome"] is None


def test_field_phrase_is_what_authorizes(filled):
    waits = filled("research", *RUN, "-p", "tree", "-s", "phrase=Go ahead", "--no-input", "--display", "jsonl")
    run = json.loads(waits.out.splitlines()[0])["run_id"]
    assert filled("authorize", run, "--words", "Authorized to execute").code == 2
    assert filled("authorize", run, "--words", "Go ahead", "-q").code == 0
