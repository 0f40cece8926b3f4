"""`corrobora investigate` and `steer`: a given thread and a pause between rounds, as a user meets them."""

from __future__ import annotations

import json

import pytest

THREAD = """
round_budget = 4
artifact_dir = "reports"
[thread]
name = "Arnholm Bridge"
sub_questions = ["When was the bridge at Arnholm opened?", "How long is the bridge at Arnholm?"]
subjects = ["bridge", "ferry"]
[brief]
question = "What is known of the bridge at Arnholm?"
known_facts = ["The bridge at Arnholm is 400 metres long and was built of riveted steel by the Varde company."]
"""
QUESTION = "When was the bridge at Arnholm opened?"


def test_triplet_investigate_writes_its_reports_to_the_folder_of_the_thread(filled):
    (filled.folder / "thread.toml").write_text(THREAD)
    result = filled("investigate", "thread.toml", "-l", "docs", "-q")
    assert result.code == 0
    assert "1931" in result.out
    names = sorted(path.name for path in (filled.folder / "reports").iterdir())
    assert names[-1] == "thread-completion-arnholm-bridge.md"
    assert names[0] == "micro-report-arnholm-bridge-round-1.md"
    report = (filled.folder / "reports" / names[-1]).read_text()
    assert f"**Micro-reports generated:** {len(names) - 1}" in report
    assert "known fact of the brief" in report


def test_triplet_investigate_names_what_is_wrong_with_a_thread_before_anything_runs(filled):
    (filled.folder / "thread.toml").write_text(THREAD.replace("round_budget = 4", "round_budget = 0"))
    result = filled("investigate", "thread.toml", "-l", "docs")
    assert result.code == 2
    assert "round_budget" in result.complaint
    assert filled("investigate", "nowhere.toml", "-l", "docs").code == 2


def test_triplet_investigate_needs_something_to_search(filled):
    (filled.folder / "thread.toml").write_text(THREAD)
    result = filled("investigate", "thread.toml")
    assert result.code == 2
    assert "nothing to search" in result.complaint


def test_rounds_a_run_pauses_between_rounds_is_steered_and_goes_on(filled):
    args = ("-l", "docs", "-p", "rounds", "-s", "pause_between_rounds=true", "--no-input", "--display", "jsonl")
    result = filled(QUESTION, *args)
    assert result.code == 3
    run = json.loads(result.out.splitlines()[0])["run_id"]
    assert json.loads(filled("runs", "show", run, "--json").out)["status"] == "paused"
    assert filled("steer", run, "the last crossing of the ferry").code == 0
    second = filled("resume", run, "-q")
    assert second.code == 3
    assert f"Run {run}: goes on with the next round, with the hint that was given." in second.err
    ended = filled("resume", run, "-q", "--json")
    assert ended.code == 0
    assert "goes on with the next round, without a hint" in ended.err
    rounds = json.loads(ended.out)["findings"]["rounds"]
    asked = [[query["text"] for query in each["intent"]["queries"]] for each in rounds]
    assert len(asked) == 3
    assert "the last crossing of the ferry" in asked[1]
    assert "the last crossing of the ferry" not in asked[2]


def test_rounds_a_run_that_does_not_pause_cannot_be_steered(finished):
    shell, run = finished
    result = shell("steer", run, "anything")
    assert result.code == 2
    assert "does not pause" in result.complaint


@pytest.mark.covers("investigate --model")
def test_triplet_investigate_takes_a_model_and_reads_the_pages_that_its_thread_names(filled):
    (filled.folder / "thread.toml").write_text(THREAD)
    refused = filled("investigate", "thread.toml", "-l", "docs", "-m", "nobody:x")
    assert refused.code == 2
    assert "nobody" in refused.complaint
    (filled.folder / "thread.toml").write_text(
        THREAD.replace("subjects", 'sources = ["http://127.0.0.1:9/bridge"]\nsubjects')
    )
    result = filled("investigate", "thread.toml", "--display", "jsonl")
    reads = [event for line in result.out.splitlines() if (event := json.loads(line)).get("type") == "read"]
    assert {event["data"]["outcome"] for event in reads} == {"refused"}, "it was tried, and is private"
    assert result.code == 6
    assert '"verify"' not in result.out, "nothing was cited, so no share of it is supported"


def test_triplet_and_rounds_the_display_states_the_thread_each_round_and_the_words_of_the_report(filled):
    (filled.folder / "thread.toml").write_text(THREAD)
    said = filled("investigate", "thread.toml", "-l", "docs", "--display", "plain").err
    start = "Arnholm Bridge: 2 sub-questions, 2 subjects, at most 4 rounds; round 1 begins: survey"
    assert said.index(start) < said.index("⌕")
    events = [
        json.loads(line)
        for line in filled(QUESTION, "-l", "docs", "-p", "rounds", "--display", "jsonl").out.splitlines()
    ]
    begun = [(each["round"], each["data"]["max_rounds"]) for each in events if each.get("type") == "round.started"]
    assert begun == [(1, 3), (2, 3), (3, 3)]
    words = [each["data"]["words"] for each in events if each.get("type") == "complete" and "words" in each["data"]][-1]
    report = (filled.home / "runs" / events[0]["run_id"] / "report.md").read_text()
    assert words < len(report.partition("## Methodology")[0].split())
