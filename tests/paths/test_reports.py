"""What all commands that print a report share: where the report goes, what is shown, and which exit code says what."""

from __future__ import annotations

import json

import pytest
from tests.paths.starts import CLEAR, PHRASE, STARTS
from tests.plugins.shell import Shell

every_start = pytest.mark.parametrize("command", STARTS)


@every_start
@pytest.mark.covers("* --output", "* --force", "* --follow-symlinks", "* --artifacts", "* --quiet")
@pytest.mark.covers(
    "* --strict", "* --min-score", "* --json", "* --display", "setting verify.min_score", "demo --no-input"
)
def test_the_report_goes_where_it_shall_and_the_exit_code_says_what_it_lacks(filled: Shell, command: str) -> None:
    args = STARTS[command](filled)
    real, link = filled.folder / "real.md", filled.folder / "out.md"
    real.write_text("before")
    link.symlink_to(real)
    assert "--force" in filled(*args, "--output", "real.md").complaint
    assert "--follow-symlinks" in filled(*args, "--output", "out.md", "--force").complaint
    assert real.read_text() == "before"
    outputs = ("--output", "out.md", "--force", "--follow-symlinks", "--artifacts", "files")
    written = filled(*args, *outputs, "--quiet", "--strict")
    assert (written.code, "--strict: " in written.complaint, written.out) == (5, True, "")
    assert real.read_text().startswith("# ")
    assert {"plan.json", "report.json"} <= {path.name for path in (filled.folder / "files").iterdir()}
    assert "report   " not in written.err
    if command == "authorize":  # what has ended is not started again
        assert "does not wait for authorization" in filled(*args).complaint
        args = STARTS[command](filled)
    again = filled(*args, "--min-score", "1", "--json", "--display", "plain")
    assert (again.code, "is below 1.00" in again.complaint) == (4, True)
    assert json.loads(again.out)["run_id"] in again.err
    assert "report   " in again.err
    if command == "demo":  # here, because it has read its documents already
        filled.setenv(CORROBORA_PROFILE="tree")
        left = filled.at_terminal("demo", "--no-input", "-q", typed=f"{PHRASE}\n")
        assert (left.code, left.out, "Type " in left.err) == (3, "", False)


@pytest.mark.parametrize("command", ["authorize", "research", "resume"])
@pytest.mark.covers("authorize --no-input", "research --no-input", "resume --no-input", "authorize --words")
def test_nobody_is_asked_where_nobody_shall_be(filled: Shell, command: str) -> None:
    filled.setenv(CORROBORA_PROFILE="tree")
    run = json.loads(filled("research", CLEAR, "-l", "docs", "--no-input", "-q", "--json").out)["run_id"]
    args = ("research", CLEAR, "-l", "docs") if command == "research" else (command, run)
    typed = f"{PHRASE}\n"
    left = filled.at_terminal(*args, "--no-input", "-q", typed=typed)
    assert (left.code in (2, 3), left.out) == (True, "")
    assert "Type " not in left.err
    if command == "authorize":
        assert filled(*args, "--words", PHRASE, "-q").out.startswith("# ")
    else:
        asked = filled.at_terminal(*args, "-q", typed=typed)
        assert (asked.code, f'Type "{PHRASE}"' in asked.err) == (0, True)


def test_a_gap_names_a_question_and_no_stems_of_its_words(filled: Shell) -> None:
    """The themes of a plan that code makes are stems; as a gap they said "meant ferri" beside the question itself."""
    report = filled("research", "What is meant by ferries?", "-l", "docs", "-p", "tree", "-y", "--display", "none").out
    gaps = report.partition("## Gaps")[2].partition("## ")[0]
    assert "What is meant by ferries?" in gaps
    assert "ferri\n" not in gaps
