"""`corrobora verify`: a report checked again, ours and foreign ones."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from bench.forgeries import FORMATS
from bench.model_server.protocols import WireRequest
from bench.model_server.scripted_model import ParsedPrompt, answer_prompt
from bench.model_server.server import ModelServer
from tests.plugins.growth import LINEAR, measure_growth
from tests.unit.faces.cli.test_models import serve

from corrobora.reporting.seal import format_seal, strip_seal


def test_json_that_is_cut_off_is_not_read_as_markdown(readable: tuple[Any, str]) -> None:
    shell, run = readable
    shell("export", run, "-f", "json", "-o", ".")
    whole = (shell.folder / "report.json").read_text()
    (shell.folder / "cut.json").write_text(whole[: len(whole) // 2])
    result = shell("verify", "cut.json")
    assert result.code == 2
    assert "begins like JSON but is not valid JSON" in result.err
    (shell.folder / "curly.md").write_text("{#top} The bridge was opened. [1]\n")
    assert "JSON" not in shell("verify", "curly.md").err


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("references.bib", "a list of references in BibTeX, not a report"),
        ("references.ris", "a list of references in RIS, not a report"),
        ("references.csl.json", "references in CSL-JSON, not a report"),
        ("plan.json", "no field `markdown`"),
    ],
)
def test_what_a_run_writes_beside_its_report_is_not_taken_for_one(
    readable: tuple[Any, str], name: str, told: str
) -> None:
    shell, run = readable
    if name == "plan.json":
        (shell.folder / name).write_text('{"root": {"title": "The bridge was opened in 1931. [1]"}}')
    else:
        shell("export", run, "-f", "bib,ris,csl", "-o", ".")
    result = shell("verify", name)
    assert (result.code, told in result.complaint, "Markdown, HTML, JSON or bundle" in result.complaint) == (
        2,
        True,
        True,
    ), result


@pytest.mark.covers("verify --min-score", "verify --json", "verify --sarif")
def test_verify_of_a_run_of_its_files_and_of_a_changed_file(readable: tuple[Any, str]) -> None:
    shell, run = readable
    assert shell("verify", run).code == 0
    shell("export", run, "-f", "md,html,json", "-o", ".")
    for name in ("report.md", "report.html", "report.json"):
        result = shell("verify", name, "--json")
        counts = json.loads(result.out)
        assert (result.code, counts["seal"], counts["run"]) == (0, "delivered", run), name
        assert counts["carried"] == counts["checkable"] > 0
    text = (shell.folder / "report.md").read_text()
    # bad-input R07: also the quote is edited by hand
    (shell.folder / "report.md").write_text(text.replace("1931", "1951"))
    changed = shell("verify", "report.md")
    assert changed.code == 5
    assert f"this is NOT the report that run {run} delivered" in changed.out
    assert "! reference [1]: a quote is not in the stored text" in changed.out
    assert re.search(r"(?m)^! line \d+: \[1\] .*1951.* \(quote missing, \w+\)$", changed.out), "no reasons of the rest"
    (shell.folder / "added.md").write_text(text.replace(" [1]\n", " [1] The harbour sank. [1]\n", 1))
    added = [line for line in shell("verify", "added.md").out.split("\n") if "not in the delivered" in line]
    assert len(added) == 1
    assert added[0].endswith(": The harbour sank. [1]"), "a citation belongs to the sentence before it"
    low = shell("verify", "report.md", "--min-score", "1", "--json")
    assert (low.code, json.loads(low.out)["verdict"], json.loads(low.out)["passed"]) == (4, "below_min_score", False)
    found = json.loads(shell("verify", "report.md", "--sarif").out)["runs"][0]["results"]
    line = next(number for number, each in enumerate(text.split("\n"), 1) if "1931" in each)
    assert found[0]["locations"][0]["physicalLocation"]["region"]["startLine"] == line
    assert {each["ruleId"] for each in found} >= {"changed", "reference"}


# a manual with what re-formatting turns into something else: item marks, headings, rows, code, quotation marks, numbers
MANUAL = """The sluice manual

The sluice of Arnholm takes --gate[=N], and opens the gate "N" - or every gate... if N is not given.

The manual of the gate of the sluice of Arnholm (see #126, #131, #149, #152, #155, #161) says by Tor's word: at 17 or
18. Before that the gate of the sluice was opened an hour earlier - whenever `gate[0]` was stuck in 10*1024 | 20*1024
trays of ice. No gate of the sluice is opened -- nor is a flap -- while the “Müller” flag - or another - is up. The
gate of the sluice of Arnholm moves at levels > 6 and with gears >= 7.

| north gate of the sluice | opens at 6.30 | closes at 18.50 |
"""


@pytest.mark.parametrize("way", FORMATS)
def test_another_layout_of_an_honest_report_changes_no_verdict(
    filled: Any, runs_to_read: dict[str, str], way: str
) -> None:
    shell = filled
    if "sluice" not in runs_to_read:
        (shell.folder / "manual.txt").write_text(MANUAL)
        question = "What does the manual say about the gate of the sluice of Arnholm?"
        runs_to_read["sluice"] = json.loads(shell(question, "-l", "manual.txt", "--json", "-q").out)["run_id"]
    run = runs_to_read["sluice"]
    form, put = FORMATS[way]
    text = shell("export", run, "-f", form, "-o", "-").out
    assert all(word in text for word in ("--gate", "18.", "#155", "*1024"))
    bare = strip_seal(text).rstrip()
    elsewhere = f"{bare}\n\n{format_seal('r_elsewhere', bare)}\n"
    texts = {"delivered": text} | ({"unknown_here": elsewhere} if form == "md" else {})
    for seal, given in texts.items():
        (shell.folder / "again.md").write_bytes(put(given).encode())
        result = shell("verify", "again.md", "--json")
        counts = json.loads(result.out)
        assert (result.code, counts["seal"]) == (0, seal), result.out
        assert counts["carried"] == counts["checkable"] > 2


def test_the_json_that_a_run_prints_is_the_one_that_was_delivered(filled: Any) -> None:
    printed = filled("When was the bridge at Arnholm opened?", "-l", "docs", "--json", "-q").out
    (filled.folder / "printed.json").write_text(json.dumps(json.loads(printed), indent=1, sort_keys=True))
    result = filled("verify", "printed.json", "--json")
    assert (result.code, json.loads(result.out)["seal"]) == (0, "delivered"), result.out
    piped = filled.process("verify", "-", "--json", stdin=printed.encode())
    assert (piped.code, json.loads(piped.out)["seal"]) == (0, "delivered"), piped
    (filled.folder / "printed.json").write_text(printed.replace('"question": "When', '"question": "Why'))
    assert filled("verify", "printed.json").code == 5


def change_title(text: str) -> str:
    return re.sub(r"(?m)^(\[1\] \*\*)(.*?)\*\*", r"\1Another title**", text)


def change_edition(text: str) -> str:
    return re.sub(r"(?m)^(\[1\] \*\*.*?\*\*)(?: \([^)]*\))?", r"\1 (Revision 7)", text)


def change_address(text: str) -> str:
    return re.sub(r"(?m)^(\[1\] .* )\S+( `S)", r"\1elsewhere.md\2", text)


FORGED: dict[str, Callable[[str], str]] = {
    "title": change_title,
    "edition": change_edition,
    "address": change_address,
    "status": lambda text: re.sub(r"\*Status: \w+", "*Status: splendid", text),
    "gaps": lambda text: text.replace("## Methodology", "## Gaps\n\n- Nothing is missing.\n\n## Methodology"),
    "methodology": lambda text: re.sub(r"\d+ facts, each", "999 facts, each", text),
    "left out": lambda text: text.replace(text.partition("## Account")[2].partition("## Sources")[0], "\n\n"),
    "heading": lambda text: text.replace("## Methodology", "### Every visit costs 4,200 crowns\n\n## Methodology"),
    "quotation": lambda text: text.replace("## Methodology", "> It was shut in version 312.\n\n## Methodology"),
    "edition told": lambda text: text.replace("## Methodology", "Stated in Revision 77.\n\n## Methodology"),
    "never": lambda text: text.replace("## Methodology", "Users may never change this.\n\n## Methodology"),
    "uncited": lambda text: text.replace("## Methodology", "It cost 64 crowns.\n\n## Methodology"),
}


@pytest.mark.parametrize("kind", FORGED)
def test_a_forged_report_is_found_also_if_its_seal_is_computed_again_or_cut_off(
    finished: tuple[Any, str], kind: str
) -> None:
    shell, run = finished  # of alike runs the newest is named for a report without its seal
    text = shell("export", run, "-f", "md", "-o", "-").out
    forged = FORGED[kind](text)
    assert forged != text
    bare = strip_seal(forged)
    for shown in (forged, f"{bare}\n{format_seal(run, bare)}\n", bare):
        (shell.folder / "forged.md").write_text(shown)
        result = shell("verify", "forged.md")
        assert (result.code, f"NOT the report that run {run}" in result.out) == (5, True), kind


@pytest.mark.parametrize(
    "kind", ["title", "edition", "address", "heading", "quotation", "edition told", "never", "uncited"]
)
def test_what_the_library_alone_shows_is_found_without_the_run(readable: tuple[Any, str], kind: str) -> None:
    shell, run = readable
    text = shell("export", run, "-f", "md", "-o", "-").out
    bare = strip_seal(FORGED[kind](text))
    (shell.folder / "forged.md").write_text(f"{bare}\n{format_seal('r_elsewhere', bare)}\n")
    result = shell("verify", "forged.md")
    assert result.code == 5, result.out
    assert "its run is not known here: the seal proves only" in result.out
    (shell.folder / "broken.md").write_text(f"{bare}\n{format_seal('r_elsewhere', text)}\n")
    assert "BROKEN" in shell("verify", "broken.md").out


def test_an_invented_source_is_no_success_where_the_run_is_not_known(readable: tuple[Any, str]) -> None:
    shell, run = readable
    text = strip_seal(shell("export", run, "-f", "md", "-o", "-").out)
    entry = "[77] **Annual review** review.md `S1:C1` `sha256:" + "0" * 64 + "`\n> The bridge of Arnholm is shut.\n"
    forged = text.replace("## Methodology", "The bridge of Arnholm is shut. [77]\n\n## Methodology") + entry
    (shell.folder / "forged.md").write_text(f"{forged}\n{format_seal('r_elsewhere', forged)}\n")
    result = shell("verify", "forged.md", "--json")
    assert (result.code, "not stored here, and nothing says that it exists" in result.complaint) == (6, True), result
    counts = json.loads(result.out)
    assert (counts["verdict"], counts["passed"]) == ("source_not_stored", False)


def test_the_status_and_gaps_of_a_run_that_is_not_known_here_are_counted_as_not_checkable(
    readable: tuple[Any, str],
) -> None:
    shell, run = readable
    forged = FORGED["gaps"](FORGED["status"](strip_seal(shell("export", run, "-f", "md", "-o", "-").out)))
    # no other run of the same sources is alike: a stored report is looked up only for a file without a seal
    (shell.folder / "forged.md").write_text(f"{forged}\n{format_seal('r_elsewhere', forged)}\n")
    counts = json.loads(shell("verify", "forged.md", "--json").out)
    assert (counts["seal"], counts["run"], counts["passed"]) == ("unknown_here", "", True)
    assert counts["run_lines_not_checkable"] > 3
    assert "lines about the run (status, gaps, account, methodology): not checkable" in shell("verify", "forged.md").out
    assert json.loads(shell("verify", run, "--json").out)["run_lines_not_checkable"] == 0


@pytest.mark.covers("verify --strict")
def test_strict_fails_also_where_something_could_not_be_checked(readable: tuple[Any, str]) -> None:
    shell, run = readable
    assert shell("verify", run, "--strict").code == 0
    bare = strip_seal(shell("export", run, "-f", "md", "-o", "-").out)
    (shell.folder / "elsewhere.md").write_text(f"{bare}\n{format_seal('r_elsewhere', bare)}\n")
    assert shell("verify", "elsewhere.md").code == 0
    result = shell("verify", "elsewhere.md", "--strict", "--json")
    assert (result.code, "could not be checked" in result.complaint) == (6, True)
    assert not json.loads(result.out)["passed"]
    (shell.folder / "elsewhere.md").write_text(bare.replace("1931", "1951"))
    assert shell("verify", "elsewhere.md", "--strict").code == 5


def test_verify_of_what_cannot_be_checked_is_exit_6(filled: Any) -> None:
    (filled.folder / "foreign.md").write_text("Water boils at 100 degrees [1].\n\n[1]: https://nowhere.example/x\n")
    assert filled("verify", "foreign.md").code == 6
    (filled.folder / "bare.md").write_text("# Fog\n\nThe fog comes in the morning.\n")
    result = filled("verify", "bare.md", "--json")
    counts = json.loads(result.out)
    assert (result.code, counts["verdict"], counts["passed"]) == (6, "nothing_checkable", False)
    assert "nothing is cited" in result.complaint
    assert "does not exist" in filled("verify", "missing.md").complaint
    assert "corrobora export RUN --format md" in filled("verify", "report.docx").complaint
    assert filled("verify", "r_nowhere").code == 2


TURNED: dict[str, tuple[str, Callable[[str], str]]] = {  # the format, and a change that no word or letter shows
    "hidden words": ("html", lambda page: re.sub(r"opened", '<span style="display:none">opened</span>', page, count=1)),
    "style sheet": ("html", lambda page: page.replace("</style>", "main p{display:none}</style>")),
    "script": ("html", lambda page: page.replace("</body>", "<script>document.body.remove()</script></body>")),
    "picture": ("html", lambda page: page.replace("</main>", '<img alt="It was shut." src="data:,"></main>')),
    "field twice": ("json", lambda text: '{"title": "Another title", ' + text[1:]),
    "estimate with words": (
        "json",
        lambda text: re.sub(
            r"^\{(.*run `?(\w+)`?,.*)",
            r'{"run_id": "\2", "estimate": {"note": "It was shut."}, \1',
            text,
            flags=re.DOTALL,
        ),
    ),
    "cells": (
        "md",
        lambda text: re.sub(r"\| copied word for word \| (\d+)", r"| copied word for word \1 | ", text),
    ),
    "dashes": ("md", lambda text: re.sub(r"; (\d+) search", r"; --\1 search", text, count=1)),
    "row parted": ("md", lambda text: text.replace("| copied word for word | ", "| copied word for word |\n| ")),
    "cell escaped": ("md", lambda text: text.replace("| copied word for word | ", "| copied word for word \\| ")),
    "sign": ("md", lambda text: re.sub(r"; (\d+) search", r"; > \1 search", text, count=1)),
}


@pytest.mark.parametrize("kind", TURNED)
def test_truth_3_a_change_of_marks_alone_is_a_change(readable: tuple[Any, str], kind: str) -> None:
    """What hides, moves or doubles words is found, although every word is still there."""
    shell, run = readable
    form, change = TURNED[kind]
    text = shell("export", run, "-f", form, "-o", "-").out
    forged = change(text)
    assert forged != text
    for name, given, code in ((f"honest.{form}", text, 0), (f"turned.{form}", forged, 5)):
        (shell.folder / name).write_text(given)
        result = shell("verify", name)
        assert result.code == code, (kind, result.out)


def test_a_report_of_one_huge_paragraph_is_checked_in_linear_time(folder: Any) -> None:
    def verify(claims: int) -> None:
        text = f"# Q\n\n{'A claim stands here [1]. ' * claims}\n\n## Sources\n\n[1] x\n"
        (folder.folder / "huge.md").write_text(text)
        assert folder("verify", "huge.md").code == 6  # nothing called x is here

    assert measure_growth(verify, 1_200) < LINEAR


@pytest.mark.parametrize(
    "name", ["plain_name_2.md", "a *final* v_2_.md", "x `y` z.md", "[1] a](http:__b) **c** `S1.md"]
)
def test_a_report_on_a_file_of_any_name_is_verified(folder: Any, name: str) -> None:
    (folder.folder / "odd").mkdir()
    (folder.folder / "odd" / name).write_text("The pump of the mill runs on two nights of each month.")
    assert folder("research", "When does the pump of the mill run?", "-l", "./odd", "-q", "-o", "r.md").code == 0
    assert folder("verify", "r.md").code == 0


RULED = "Traffic over the strait has needed no boat since then"


def test_a_delivered_report_counts_what_the_model_of_its_run_ruled_and_a_changed_one_does_not(filled: Any) -> None:
    """Code alone leaves the sentence open: it says it in words that its source does not have."""

    def answer(asked: WireRequest) -> str:
        said, page = json.loads(answer_prompt(asked.system, asked.user)), ParsedPrompt.read(asked.system, asked.user)
        if page.role == "synthesize":
            marker = re.findall(r"\[S\d+:C\d+\]", said["body"])[0]
            said["body"] += f"\n\n## More\n\n{RULED} {marker}.\n"
        if page.role == "confirm":
            labels = re.findall(r"^(D\d+): ", page.text, re.MULTILINE)
            said["rulings"] = [{"sentence": each, "carried": True, "missing": ""} for each in labels]
        return json.dumps(said)

    with serve(ModelServer(answers=answer)) as model:
        asked = ("When was the bridge at Arnholm opened?", "-l", "docs", "-m", model, "-s", "max_rounds=1", "--json")
        run = json.loads(filled(*asked).out)["run_id"]
    result = filled("verify", run, "--json")
    counts = json.loads(result.out)
    ruled = next(each for each in counts["statements_checked"] if RULED in each["text"])
    assert (result.code, ruled["support"], ruled["carried"]) == (0, "supported", True), result.out
    assert "scripted" in ruled["judged_by"]
    assert counts["judged_in_run"] == {ruled["judged_by"]: 1}
    assert f"judged      1 of these by {ruled['judged_by']} in the run" in filled("verify", run).out
    filled("export", run, "-f", "md,html,json", "-o", ".")
    assert [filled("verify", f"report.{form}").code for form in ("md", "html", "json")] == [0, 0, 0]
    text = (filled.folder / "report.md").read_text()
    for forged in (text.replace(RULED, f"{RULED}, they say"), text.replace("## More", "## Most of it")):
        (filled.folder / "changed.md").write_text(forged)
        changed = json.loads(filled("verify", "changed.md", "--json").out)
        assert changed["seal"] == "changed"
        assert not changed["judged_in_run"]
        assert not next(each for each in changed["statements_checked"] if RULED in each["text"])["carried"]


def test_a_report_with_a_contradiction_of_dated_files_is_verified_also_after_a_file_has_another_title(
    folder: Any,
) -> None:
    (folder.folder / "notes").mkdir()
    rules = folder.folder / "notes" / "2023-03-01-rules.txt"
    rules.write_text("Quiet hours are from 22:00 to 06:00 on weekdays.\n")
    (folder.folder / "notes" / "2025-02-15-rules_new.txt").write_text(
        "Quiet hours are from 21:00 to 07:00 on weekdays.\n"
    )
    asked = folder("When are quiet hours on weekdays?", "-l", "notes", "-q")
    assert "| 22:00 -> 21:00 | 2023-03-01 rules, 2023-03-01: “" in asked.out
    assert folder("verify", "last").code == 0
    assert folder("export", "last", "-f", "bundle,md", "-o", ".").code == 0
    assert folder("verify", "bundle.zip").code == 0
    rules.rename(rules.with_name("2023-03-02-old.txt"))
    name = json.loads(folder("library", "list", "--json").out)[0]["name"]
    assert folder("library", "rm", name).code == folder("library", "add", name, "notes").code == 0
    assert folder("verify", "last").code == 0, "it names its sources as they were named then"
    text = (folder.folder / "report.md").read_text()
    (folder.folder / "report.md").write_text(text.replace("2025-02-15 rules new", "2025-02-15 rules bad"))
    assert folder("verify", "report.md").code == 5
