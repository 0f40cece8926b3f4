"""`corrobora runs`, `export`, `verify`, `resume`, `authorize`, `cancel`: what can be done with a stored run."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from corrobora.faces.cli.runs import shorten_ids

QUESTION = "When was the bridge at Arnholm opened?"


@pytest.mark.covers("runs list --limit", "runs list --json")
def test_list_and_show(finished: tuple[Any, str]) -> None:
    shell, run = finished
    short = shell("runs", "list").out.split()[0]
    assert run.startswith(short)
    assert json.loads(shell("runs", "show", short, "--json").out)["id"] == run
    assert json.loads(shell("runs", "list", "--json", "--limit", "1").out)[0]["id"] == run
    shown = json.loads(shell("runs", "show", run, "--json").out)
    assert (shown["status"], shown["request"]["question"]) == ("done", QUESTION)
    assert "report.md" in shown["files"]
    assert "report.md" in shell("runs", "show", run).out
    listed = shell("runs", "list")
    heads = next(line for line in listed.err.splitlines() if line.startswith("id "))
    row = listed.out.splitlines()[0]
    assert heads.split() == ["id", "created", "state", "question"]
    assert row[heads.index("question") :].startswith(QUESTION[:40])
    assert row[heads.index("created") :].startswith("20")


def test_a_list_says_which_run_another_one_follows(filled: Any) -> None:
    def start(*command: str) -> str:
        return json.loads(filled(*command, "-q", "--json").out)["run_id"]

    origin = start("research", QUESTION, "-l", "docs")
    asked, updated = start("ask", origin, "How long is the bridge?"), start("update", origin)
    first = json.loads(filled("edit", origin, "--outline", "--json").out)["sentences"][0]["id"]
    edited = start("edit", asked, "--drop", first, "--accept", "all")
    lines = [line.split(maxsplit=1) for line in filled("runs", "list").out.splitlines()]

    def find(run: str) -> str:
        return next(rest for short, rest in lines if run.startswith(short))

    for run, relation, previous in ((asked, "follow-up", origin), (updated, "update", origin), (edited, "edit", asked)):
        assert f"  {relation} of {previous[:10]}: " in find(run)
        assert f"{relation} of {previous}" in filled("runs", "show", run).out
    assert " of r_" not in find(origin)
    filled("runs", "rm", origin)
    assert "update of a removed run: " in filled("runs", "list").out


def test_angles_the_scores_of_runs_are_listed_to_be_compared(filled: Any) -> None:
    run = json.loads(filled("research", QUESTION, "-l", "docs", "-p", "angles", "-q", "--json").out)["run_id"]
    (row,) = [each for each in json.loads(filled("runs", "list", "--json").out) if each["id"] == run]
    assert 0 < row["score"] <= 1
    line = next(line for line in filled("runs", "list").out.splitlines() if run.startswith(line.split()[0]))
    assert f"score {row['score']:.2f}" in line


def test_an_empty_list_says_how_to_begin(served: Any) -> None:
    assert served("runs", "list").err.endswith("No runs yet. The first one: corrobora demo\n")


@pytest.mark.covers("runs list --search")
def test_a_narrow_terminal_breaks_lines_between_words(finished: tuple[Any, str]) -> None:
    shell, run = finished
    wide = shell.at_terminal("runs", "list", columns=200).out
    for command in (("runs", "list"), ("runs", "show", "last"), ("profiles", "list"), ("resume", "last")):
        shown = shell.at_terminal(*command, columns=40)
        lines = [*shown.out.splitlines(), *shown.err.splitlines()]
        assert shown.code == 0
        assert max(map(len, lines)) <= 40, command
        words = {word for line in lines for word in line.split()}
        assert words & {"Arnholm", "Arnholm?", "Sub-questions"}, command
    assert shell.at_terminal("runs", "list", columns=40).out.split() == wide.split()
    assert run[:10] in wide


def test_a_search_finds_runs_by_their_question_alone(filled: Any) -> None:
    """The database may hold runs of other tests."""
    asked = {"When was Quorvenna opened?", 'Who "paints" the Quorvenna \\ of Velmöra?'}
    for question in asked:
        assert filled("research", question, "-l", "docs", "-q", "--plan-only").code == 0

    def find(text: str) -> set[str]:
        rows = json.loads(filled("runs", "list", "--json", "--search", text).out)
        return {row["request"]["question"] for row in rows}

    assert find("quorVENNA") == asked
    for part in ('"paints"', "\\ of velmöra"):
        assert find(part) == {question for question in asked if "paints" in question}
    assert find("Quorvenna%") == set()
    assert "contains that" in filled("runs", "list", "--search", '"profile"').err


def test_ids_are_shortened_only_as_far_as_each_stays_unique() -> None:
    names = ["r_abcdefgh1x", "r_abcdefgh2x", "r_zzzzzzzzzz"]
    assert shorten_ids(names) == {names[0]: "r_abcdefgh1", names[1]: "r_abcdefgh2", names[2]: "r_zzzzzzzz"}
    assert shorten_ids(["r_1", "r_2"]) == {"r_1": "r_1", "r_2": "r_2"}


def test_rm(finished: tuple[Any, str]) -> None:
    shell, run = finished
    folder = shell.home / "runs" / run
    assert (folder / "report.md").is_file()
    assert shell("runs", "rm", run).out == f"removed {run}\n"
    assert not folder.exists()
    result = shell("runs", "rm", run)
    assert (result.code, f"no run {run}" in result.complaint) == (2, True)


@pytest.mark.parametrize(
    ("start", "state", "step"),
    [
        (("-p", "tree", "--no-input"), "waiting for authorization", "authorize"),
        (("--until-stage", "plan"), "paused after a stage", "resume"),
    ],
)
def test_a_run_without_a_report_says_the_same_next_step_everywhere(
    filled: Any, start: tuple[str, ...], state: str, step: str
) -> None:
    run = json.loads(filled("research", QUESTION, "-l", "docs", *start, "-q", "--json").out)["run_id"]
    assert f"corrobora {step} {run}" in filled("runs", "show", run).out.partition("\nnext ")[2].splitlines()[0]
    for command in (
        ("export", run, "-o", "exported"),
        ("ask", run, "How long is the bridge?"),
        ("edit", run, "--drop", "1.1"),
        ("update", run),
        ("runs", "compare", run, run),
        ("verify", run),
    ):
        told = filled(*command)
        assert (told.code, f"The run {run} has no report yet." in told.complaint) == (6, True), command
        assert f": corrobora {step} {run}" in told.complaint, command
    assert f"Its state: {state}. Go on with it: corrobora {step} {run}" in filled("steer", run, "north").complaint


@pytest.mark.parametrize(
    ("command", "code"),
    [(("verify", "9" * 300), 2), (("trust", "9" * 300), 2), (("runs", "list", "--search", "\udcff"), 0)],
)
def test_what_no_file_or_question_can_be_is_no_bug(filled: Any, command: tuple[str, ...], code: int) -> None:
    assert filled(*command).code == code


def test_steer_needs_a_paused_run(finished: tuple[Any, str]) -> None:
    shell, run = finished
    told = shell("steer", run, "look north").complaint
    assert "does not pause between rounds, so it takes no hint. Its state: complete. See: corrobora runs show" in told


@pytest.mark.parametrize("command", ["show", "rm"])
@pytest.mark.parametrize("run", ["../x", "A", "", "x" * 65, "r_\n"])
def test_c14_ids_that_are_no_ids_are_refused_before_a_database_is_opened(shell: Any, command: str, run: str) -> None:
    shell.setenv(CORROBORA_DATABASE_URL="postgresql://127.0.0.1:9/nobody")
    result = shell("runs", command, run)
    assert (result.code, "not the id of a run" in result.complaint) == (2, True)


def test_cancel_of_an_ended_run_says_so_and_changes_nothing(finished: tuple[Any, str]) -> None:
    shell, run = finished
    result = shell("cancel", run)
    assert (result.code, result.out) == (0, "")
    assert "has ended (complete); there was nothing to cancel" in result.err
    assert json.loads(shell("runs", "show", run, "--json").out)["status"] == "done"


def test_show_is_written_for_people(finished: tuple[Any, str]) -> None:
    shell, run = finished
    out = shell("runs", "show", run).out
    assert "state      complete\n" in out
    assert "libraries  docs\n" in out
    assert re.search(rf"^folder     /\S.*{run}$", out, re.MULTILINE)
    assert re.search(r"^worked     \d+\.\d s in 1 attempt$", out, re.MULTILINE)
    assert not re.search(r'[{}"]|elapsed_seconds|\d\.\d{3}', out)


def test_last_and_a_unique_start_name_a_run(finished: tuple[Any, str]) -> None:
    shell, run = finished
    for given in ("last", run[:12]):
        assert json.loads(shell("runs", "show", given, "--json").out)["id"] == run
        assert "1931" in shell("resume", given, "-q").out
        assert "1931" in shell("export", given, "-f", "md", "-o", "-").out
        assert shell("verify", given).code == 0
        assert f"{run} has ended" in shell("cancel", given).err
        assert "does not wait for authorization. Its state: complete" in shell("authorize", given, "-q").complaint
        assert f"{run} does not pause" in shell("steer", given, "north").complaint
        assert "1931" in shell("--run-id", given, "--from-stage", "verification", "-q").out
    assert shell("runs", "rm", run[:12]).out == f"removed {run}\n"


def test_a_start_that_several_runs_have_is_refused(finished: tuple[Any, str]) -> None:
    shell, _ = finished
    shell(QUESTION, "-l", "docs", "-q")
    result = shell("runs", "show", "r_")
    assert (result.code, "Several runs start with r_" in result.complaint) == (2, True)


def test_last_without_any_run_is_unknown(served: Any) -> None:
    assert "There are no runs yet." in served("resume", "last").complaint


def test_what_nothing_answers_is_printed_and_written_as_a_report_that_says_so(filled: Any) -> None:
    asked = ("Who painted the ceiling of the opera in Zambria?", "-l", "docs", "-q")
    printed = filled(*asked)
    assert printed.code == 6
    assert printed.out.startswith(f"# {asked[0]}\n\n*Status: no sufficient evidence was found (")
    assert "No sufficient evidence was found: " in printed.complaint
    assert "## Methodology" in printed.out
    assert ", of nothing" not in printed.out
    for name in ("none.md", "none.html", "none.json"):
        assert filled(*asked, "-o", name).code == 6
        verified = filled("verify", name)
        assert verified.code == 6
        assert "seal        this is the report that run r_" in verified.out


def test_angles_35_the_list_shows_how_a_score_changed_since_the_same_was_asked(filled: Any) -> None:
    for rounds in ("1", "2", "2"):
        assert filled("research", QUESTION, "-l", "docs", "-p", "angles", "-q", "--max-rounds", rounds).code in (0, 4)
    newest, middle, oldest = json.loads(filled("runs", "list", "--json", "--limit", "3").out)
    assert (newest["change"], oldest["change"]) == (0, None)
    assert middle["change"] == pytest.approx(middle["score"] - oldest["score"], abs=1e-3)
    lines = filled("runs", "list", "--limit", "3").out.splitlines()
    assert ["(+0.00)" in lines[0], "(" in lines[2].partition("score")[2][:12]] == [True, False]
