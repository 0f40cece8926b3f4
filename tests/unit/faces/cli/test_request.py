"""`corrobora research` as a user runs it: a report on stdout, flags that count, bad input in one line."""

from __future__ import annotations

import json
from typing import Any

import pytest

QUESTION = "When was the bridge at Arnholm opened and how long is it?"


@pytest.mark.covers("research --library")
def test_the_report_is_on_stdout_and_the_progress_on_stderr(filled: Any) -> None:
    result = filled("research", QUESTION, "--library", "docs", "-t", "1")
    assert result.code == 0
    assert result.out.startswith("# ")
    assert "412 metres" in result.out
    assert "▤" in result.err
    assert "412 metres" not in result.err
    assert str(filled.home / "runs") in result.err


def test_a_bare_question_is_research(filled: Any) -> None:
    assert "412 metres" in filled(QUESTION, "-l", "docs", "-t", "1", "-q").out
    assert "412 metres" in filled("-l", "docs", "-t", "1", "-q", QUESTION).out


def test_quiet_says_nothing_on_stderr(filled: Any) -> None:
    assert filled(QUESTION, "-l", "docs", "-t", "1", "-q").err == ""


PROFILE_FLAGS = {
    "--time": (["--time", "0.5"], {"minutes": 0.5}),
    "--time unlimited": (["--time", "unlimited"], {"minutes": None}),
    "--profile": (["--profile", "triplet"], {"name": "triplet"}),
    "--deep": (["--deep"], {"max_rounds": 7}),
    "--max-rounds": (["--max-rounds", "1"], {"max_rounds": 1}),
    "C11": (["--deep", "--max-rounds", "99"], {"max_rounds": 7}),
    "--angles": (["--angles", "2"], {"split": "angles", "max_leaves": 2}),
    "--angles dynamic": (["--angles", "dynamic"], {"split": "angles", "dynamic_angles": True}),
    "-s": (["-s", "reads_per_round=1"], {"reads_per_round": 1}),
    "-s wins": (["--max-rounds", "2", "-s", "max_rounds=1"], {"max_rounds": 1}),
}


@pytest.mark.parametrize("flag", PROFILE_FLAGS)
@pytest.mark.covers("research --profile", "research --time", "research --deep", "research --max-rounds")
@pytest.mark.covers("research --angles", "research -s", "setting profile", "setting time", "setting deep")
@pytest.mark.covers("setting max_rounds", "setting angles")
def test_flags_change_the_profile_that_the_first_event_carries(filled: Any, flag: str) -> None:
    flags, expected = PROFILE_FLAGS[flag]
    result = filled(QUESTION, "-l", "docs", *flags, "--display", "jsonl")
    profile = json.loads(result.out.splitlines()[1])["data"]["profile"]
    assert {name: profile[name] for name in expected} == expected


def test_min_score_below_the_report_s_score_is_exit_4(filled: Any) -> None:
    assert filled(QUESTION, "-l", "docs", "--min-score", "0").code == 0
    docs = filled(QUESTION, "-l", "docs", "--json")
    checks = [check for check in json.loads(docs.out)["checks"] if check["support"] != "uncited"]
    assert checks


@pytest.mark.covers("setting strict")
def test_strict_is_exit_5_where_something_is_missing(filled: Any) -> None:
    question = "When was the bridge at Arnholm opened, and who paints the Velmora lighthouse today?"
    assert filled(question, "-l", "docs", "-q").code == 0
    result = filled(question, "-l", "docs", "--strict")
    assert result.code == 5
    assert "--strict: " in result.complaint


def test_nothing_found_is_exit_6_with_a_report_that_says_so(filled: Any) -> None:
    result = filled("Which moons of Jupiter have oceans of ammonia?", "-l", "docs")
    assert result.code == 6
    assert "No sufficient evidence was found to answer the question." in result.out
    assert "No sufficient evidence was found: " in result.complaint


@pytest.mark.covers("research --plan-only")
def test_plan_only_prints_the_plan_and_reads_nothing(filled: Any) -> None:
    result = filled(QUESTION, "-l", "docs", "--plan-only")
    assert result.code == 0
    assert json.loads(result.out)["root"]["path"] == "root"
    assert "⌕" not in result.err


def test_c10_a_budget_of_zero_is_a_dry_run(filled: Any) -> None:
    result = filled(QUESTION, "-l", "docs", "--max-cost", "0")
    assert result.code == 0
    assert json.loads(result.out)["root"]["path"] == "root"


@pytest.mark.covers("research --yes")
def test_a_plan_that_needs_a_person_is_exit_3_and_yes_authorizes_it(filled: Any) -> None:
    waits = filled(QUESTION, "-l", "docs", "-p", "tree", "--no-input")
    assert waits.code == 3
    assert "corrobora authorize r_" in waits.complaint
    assert filled(QUESTION, "-l", "docs", "-p", "tree", "--yes", "-q").code == 0


def test_q18_a_question_with_the_phrase_does_not_authorize(filled: Any) -> None:
    assert filled(f"{QUESTION} Authorized to execute", "-l", "docs", "-p", "tree", "--no-input").code == 3


@pytest.mark.covers("research --max-searches", "setting limits.searches")
def test_max_searches_is_a_limit(filled: Any) -> None:
    report = json.loads(filled(QUESTION, "-l", "docs", "--max-searches", "1", "--json").out)
    assert report["methodology"]["searches"] - report["methodology"]["failed_searches"] <= 1


def test_a_profile_of_the_configuration_is_used(filled: Any) -> None:
    (filled.folder / "corrobora.toml").write_text('[profiles.short]\nbase = "triplet"\nmax_rounds = 1\n')
    result = filled(QUESTION, "-l", "docs", "-p", "short", "--display", "jsonl")
    profile = json.loads(result.out.splitlines()[1])["data"]["profile"]
    assert (profile["name"], profile["max_rounds"]) == ("triplet", 1)


def test_settings_of_the_project_count_and_flags_beat_them(filled: Any) -> None:
    (filled.folder / "corrobora.toml").write_text("time = 2\n")
    (filled.folder / "user" / "corrobora").mkdir(parents=True)
    (filled.folder / "user" / "corrobora" / "config.toml").write_text('time = 9\n[sources]\nlibraries = ["docs"]\n')
    result = filled(QUESTION, "--display", "jsonl")
    assert json.loads(result.out.splitlines()[1])["data"]["profile"]["minutes"] == 2.0
    result = filled(QUESTION, "--display", "jsonl", "-t", "3")
    assert json.loads(result.out.splitlines()[1])["data"]["profile"]["minutes"] == 3.0


def test_q10_q11_escape_sequences_and_direction_marks_of_a_question_are_not_printed(filled: Any) -> None:
    result = filled(f"\x1b]0;title\x07{QUESTION} \x1b[31mred\u202e", "-l", "docs")
    assert result.code == 0
    assert not set("\x1b\x07\u202e") & set(result.out + result.err)


BAD = {
    "Q01": ([""], "empty"),
    "Q02": ([" \u00a0\u200b\ufeff"], "empty"),
    "Q03": (["?"], "fewer than 3 letters or digits"),
    "Q05": (["x" * 20_001], "20,001 characters; the limit is 20,000"),
    "Q07": (["ab\ud800cd efg"], "not valid UTF-8"),
    "Q08": (["caf\udce9 and more"], "not valid UTF-8: byte 3"),
    "Q09": (["a\0b and more"], "NUL character at position 2"),
    "Q14": (["--what is this"], "corrobora -- QUESTION"),
    "Q14 near": (["research", "--libary", "x"], "Did you mean '--library'? Put --"),
    "C01": (["a question", "-l", "x", "--config", "/dev/zero"], "not a regular file"),
    "C04": (["a question", "-l", "x", "--max-rounds", "0"], "whole number from 1 to 100"),
    "C08": (["a question", "-l", "x", "--time", "5d"], "unlimited"),
    "C10": (["a question", "-l", "x", "--max-cost", "nan"], "limits.usd"),
    "C12": (["a question", "-l", "x", "-o", "/proc/nothing/x.md"], "/proc/nothing/x.md"),
    "C12 format": (["a question", "-l", "x", "-o", "x.xlsx"], ".md, .html, .json"),
    "C14": (["--run-id", "../../etc/passwd"], "not the id of a run"),
    "C15": (["a question", "-l", "x", "--model", "nonsense"], "provider:model"),
    "C15 model": (["a question", "-l", "x", "--model", "nobody:x"], "nobody"),
    "C15 key": (["a question", "-l", "x", "--model", "openai:x"], "OPENAI_API_KEY"),
    "C15 provider": (["a question", "--provider", "gogle"], "gogle"),
    "C15 provider key": (["a question", "--provider", "tavily"], "TAVILY_API_KEY"),
    "C15 tier": (["a question", "-l", "x", "--model", "boss=a:b"], "lead, worker, fast, judge"),
    "C17": (["a question", "--offline", "--provider", "tavily"], "--offline"),
    "no value": (["a question", "-l", "x", "-s", "max_rounds"], "FIELD=VALUE"),
    "no question": (["-l", "x"], "No question"),
    "two questions": (["a question", "--question-file", "x"], "Give one of them"),
    "no question file": (["--question-file", "nowhere"], "does not exist"),
    "no @file": (["@nowhere"], "does not exist"),
    "no plan": (["a question", "-l", "x", "--plan", "nowhere.json"], "does not exist"),
    "no sources": (["a question"], "--library"),
    "typo of a command": (["docter"], "did you mean doctor?"),
    "unknown flag": (["a question", "--tiem", "5"], "--time"),
    "two words": (["a question", "another"], "unexpected extra argument"),
    "unknown display": (["a question", "-l", "x", "--display", "loud"], "one of auto, rich"),
    "unknown stage": (["--run-id", "r_1", "--from-stage", "writing"], "investigate"),
    "stage alone": (["a question", "-l", "x", "--from-stage", "verify"], "--run-id"),
}
BAD_AFTER_OPENING = {
    "C03": (["a question", "-l", "docs", "-s", "max_round=3"], "max_rounds"),
    "C04": (["a question", "-l", "docs", "-s", "max_rounds=0"], "max_rounds"),
    "C14": (["--run-id", "r_nowhere"], "no run"),
    "C15 profile": (["a question", "-l", "docs", "--profile", "timd"], "timed"),
    "K01": (["a question", "-l", "./empty"], "eadable"),
    "no such library": (["a question", "-l", "doc"], "Did you mean docs?"),
    "no such path": (["a question", "-l", "./nowhere"], "does not exist"),
}


def assert_refused(shell: Any, args: list[str], part: str) -> None:
    result = shell(*args)
    assert result.code == 2
    assert result.out == ""
    assert part in result.complaint
    assert len(result.err.splitlines()) == 1
    assert not (shell.home / "runs").exists()


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_line_and_exit_2_before_a_database_is_opened(shell: Any, case: str) -> None:
    shell.setenv(CORROBORA_DATABASE_URL="postgresql://127.0.0.1:9/nobody")
    assert_refused(shell, *BAD[case])


@pytest.mark.parametrize("case", BAD_AFTER_OPENING)
def test_bad_input_is_one_line_and_exit_2_before_a_run_is_made(filled: Any, case: str) -> None:
    (filled.folder / "empty").mkdir()
    assert_refused(filled, *BAD_AFTER_OPENING[case])


def test_r17_a_database_that_is_down_is_one_line(shell: Any) -> None:
    shell.setenv(CORROBORA_DATABASE_URL="postgresql://127.0.0.1:9/nobody")
    result = shell("a question", "-l", "docs")
    assert result.code == 1
    assert "CORROBORA_DATABASE_URL" in result.complaint
