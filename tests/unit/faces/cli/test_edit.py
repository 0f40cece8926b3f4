"""`corrobora edit`: edits as options, changes as text, JSON and questions, versions."""

from __future__ import annotations

import json
from typing import Any

import pytest

OPENED = "The bridge at Arnholm was opened in 1931 and carries two lanes of traffic."


@pytest.mark.covers("edit --outline", "edit --json", "edit --no-input")
@pytest.mark.covers("edit --drop", "edit --reword", "edit --add", "edit --move", "edit --shorten", "edit --research")
def test_edits_are_named_by_options_and_wait_for_their_reader(finished: tuple[Any, str]) -> None:
    shell, run = finished
    outline = json.loads(shell("edit", run, "--outline", "--json").out)
    named = {each["text"]: each["id"] for each in outline["sentences"]}
    assert f"{named[OPENED]}  {OPENED} [1]" in shell("edit", run, "--outline").out
    one = named[OPENED]
    wishes = ("--reword", f"{one}=In 1931 the bridge at Arnholm was opened.", "--add", f"0={OPENED} [1]")
    more = ("--move", f"{one}=0", "--shorten", "1", "--research", "0=Is it long?", "--drop", "9.9")
    result = shell("edit", run, *wishes, *more, "--json", "-q", "--no-input")
    assert result.code == 3
    found = json.loads(result.out)
    assert found["status"] == "changes_proposed"
    told = {each["edit"]["action"]: each for each in found["changes"]}
    assert list(told) == ["reword", "add", "move", "research", "shorten", "drop"]
    assert [loss["kind"] for loss in told["reword"]["losses"]] == ["detail", "words"]
    assert "carries two lanes traffic" in told["reword"]["losses"][1]["text"]
    assert told["add"]["edit"]["text"] == f"{OPENED} [1]"
    assert "nothing was found" in told["research"]["refused"]
    assert "another change" in told["move"]["refused"]
    assert {loss["kind"] for loss in told["shorten"]["losses"]} == {"statement"}
    assert "9.9" in told["drop"]["refused"]


def test_an_edit_that_names_no_sentence_of_the_report_makes_no_run(finished: tuple[Any, str]) -> None:
    shell, run = finished
    before = shell("runs", "list", "--json").out
    refused = shell("edit", run, "--drop", "9.9", "-q")
    assert refused.code == 2
    assert "has no sentence '9.9'. The ids: corrobora edit RUN --outline" in refused.complaint
    assert shell("runs", "list", "--json").out == before


def test_feedback_without_a_model_makes_no_run(finished: tuple[Any, str]) -> None:
    shell, run = finished
    before = shell("runs", "list", "--json").out
    refused = shell("edit", run, "Say it in simpler words", "-q")
    assert (refused.code, "Feedback can be read only by a language model" in refused.complaint) == (2, True)
    assert "--model PROVIDER:MODEL" in refused.complaint
    long = shell("edit", run, "simpler " * 501, "-q")
    assert (long.code, "has 4,007 characters; the limit is 4,000" in long.complaint) == (2, True)
    assert shell("runs", "list", "--json").out == before


@pytest.mark.covers("edit --accept", "edit --accept-losses", "edit --versions", "edit --restore")
def test_changes_are_accepted_by_number_at_once_or_at_a_terminal_and_versions_stay(finished: tuple[Any, str]) -> None:
    shell, run = finished
    text = shell("resume", run).out
    one = json.loads(shell("edit", run, "--outline", "--json").out)["sentences"][0]["id"]
    refused = shell("edit", run, "--shorten", "1", "--accept", "all", "-q")
    assert (refused.code, "1 (loses statement “" in refused.complaint) == (2, True), refused
    assert shell("edit", "last", "--outline").code == 0  # `last` is the newest run that has a report
    dropped = shell("edit", run, "--drop", one, "--accept-losses", "-q")
    assert (dropped.code, OPENED in dropped.out.split("## Sources")[0]) == (0, False)
    waiting = shell("edit", run, "--drop", one, "-q")
    assert (waiting.code, f"Loses statement: {OPENED}" in waiting.out) == (3, True)
    wrong = shell("edit", "last", "--accept", "7", "-q")  # the edit waits on, and the right number is taken after it
    assert (wrong.code, "'7' is not a change that may be accepted; these are: 1." in wrong.complaint) == (2, True)
    assert shell("edit", "last", "--accept", "1", "-q").code == 0
    asked = shell.at_terminal("edit", run, "--drop", one, "-q", typed="what?\n\ny\n")
    assert (asked.code, asked.err.count("Accept this change?"), OPENED in asked.out.split("## Sources")[0]) == (
        0,
        3,
        False,
    ), "what is no answer is asked again"
    assert "--accept" not in asked.err, "who is asked needs no command"
    later = shell.at_terminal("edit", run, "--drop", one, "-q", typed="q\n")
    assert later.code == 3
    back = shell("edit", "last", "--restore", "1", "-q")
    assert back.out.rpartition("\n*Sealed")[0] == text.rpartition("\n*Sealed")[0]
    versions = json.loads(shell("edit", run, "--versions", "--json").out)
    assert [each["number"] for each in versions] == [1, 2, 3, 4, 5]
    assert versions[-1]["what"] == f"restored from {run}"
    assert run in shell("edit", run, "--versions").out
    assert shell("verify", versions[1]["run"]).code == 0


def test_all_takes_the_loss_of_a_sentence_that_was_named_to_be_dropped(finished: tuple[Any, str]) -> None:
    shell, run = finished
    one = json.loads(shell("edit", run, "--outline", "--json").out)["sentences"][0]["id"]
    dropped = shell("edit", run, "--drop", one, "--accept", "all", "-q")
    assert (dropped.code, OPENED in dropped.out.split("## Sources")[0]) == (0, False)


def test_what_was_asked_for_and_not_done_is_said_where_nobody_was_shown_it(finished: tuple[Any, str]) -> None:
    shell, run = finished
    flags = ("--drop", "9.9", "--drop", "0.1", "--accept-losses", "-q")
    result = shell("edit", run, *flags)
    assert result.code == 0
    assert result.complaint.startswith("corrobora: Not done, the text stays: drop 9.9: ")
    waiting = shell("edit", run, *flags[:4], "-q", "--no-input")
    assert (waiting.code, "Not done" in waiting.err) == (3, False)


def test_a_version_names_the_changes_that_were_accepted_and_no_other(finished: tuple[Any, str]) -> None:
    shell, run = finished
    one, other = [each["id"] for each in json.loads(shell("edit", run, "--outline", "--json").out)["sentences"]][:2]
    assert shell("edit", run, "--drop", one, "--drop", other, "--accept", "2", "-q").code == 0
    versions = json.loads(shell("edit", run, "--versions", "--json").out)
    assert [each["what"] for each in versions] == ["researched", f"drop {other}"]


@pytest.mark.parametrize("flags", [
    ("--reword", "1.1"), ("--accept-losses",), ("--restore", "1", "--drop", "0.1"), ("--restore", "7"), (),
    ("--drop", "0.1", "--accept", "5"),
])  # fmt: skip
def test_options_that_do_not_fit_are_explained(finished: tuple[Any, str], flags: tuple[str, ...]) -> None:
    shell, run = finished
    result = shell("edit", run, *flags, "-q")
    assert result.code == 2
    assert result.complaint.startswith("corrobora: ")


@pytest.mark.covers("edit --model")
def test_the_model_that_is_named_reads_the_feedback(finished: tuple[Any, str]) -> None:
    shell, run = finished
    assert "nobody" in shell("edit", run, "Drop 0.1.", "--model", "nobody:x", "-q").complaint


@pytest.mark.covers("edit --output", "edit --force", "edit --follow-symlinks", "edit --artifacts", "edit --quiet")
@pytest.mark.covers("edit --display")
def test_a_version_goes_where_it_shall(finished: tuple[Any, str]) -> None:
    shell, run = finished
    real, link = shell.folder / "real.md", shell.folder / "out.md"
    real.write_text("before")
    link.symlink_to(real)
    dropped = ("edit", run, "--drop", "0.1", "--accept", "1")
    assert "--force" in shell(*dropped, "--output", "real.md").complaint
    assert "--follow-symlinks" in shell(*dropped, "--output", "out.md", "--force").complaint
    files = ("--output", "out.md", "--force", "--follow-symlinks", "--artifacts", "files")
    quiet = shell(*dropped, *files, "--quiet")
    assert (quiet.code, quiet.out, "report   " in quiet.err) == (0, "", False)
    assert real.read_text().startswith("# ")
    assert {"edits.json", "changes.md", "report.json"} <= {path.name for path in (shell.folder / "files").iterdir()}
    assert '"run.finished"' in shell(*dropped, "--display", "jsonl").out
