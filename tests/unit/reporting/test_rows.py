"""Rows of tables: each cell is checked against its own citation, and a label of a source is no statement."""

from __future__ import annotations

import hashlib
import re

import pytest

from corrobora.domain.evidence import Document, Fact, Passage, PassageId, Source, SourceId
from corrobora.domain.report import Draft, Support
from corrobora.reporting.recheck import recheck_report
from corrobora.reporting.references import CitationStatus, Lookups
from corrobora.reporting.report_parser import Reference
from corrobora.reporting.verify import MARKER, check_draft
from corrobora.text.markdown import (
    is_rule,
    iter_cited_sentences,
    iter_row_statements,
    split_cells,
    split_cited_sentences,
    strip_source_label,
)

OLD = "The sluice gates of Orrin mill should be greased every 30 days with animal fat."
NEW = "The sluice gates of Orrin mill must be greased every 14 days with mineral oil."


def fact(number: int, text: str, version: str) -> Fact:
    source = Source(SourceId(f"S{number}"), f"Rules of the mill, {version}", f"{version}.md", "0" * 64, version=version)
    passage = Passage(PassageId(f"C{number}"), source.id, text, 0, len(text))
    made = Fact.from_quote(Document(source, text, (passage,)), passage, text)
    assert made is not None
    return made


FACTS = [fact(1, OLD, "Revision 3 (June 2014)"), fact(2, NEW, "Revision 4 (2021)")]
HEAD = "| What differs | One side | Other side | Status |\n|---|---|---|---|\n"


def row(one: str, other: str, first: str = "30 -> 14 days") -> str:
    return f"{HEAD}| {first} | {one} | {other} | later version differs |"


GOOD = row(f"Revision 3 (June 2014): “{OLD}” [S1:C1]", f"Revision 4 (2021): “{NEW}” [S2:C2]")


def test_a_row_of_two_versions_holds_cell_by_cell() -> None:
    found = check_draft(Draft("T", GOOD), FACTS)
    assert [check.support for check in found.checks] == [Support.SUPPORTED, Support.SUPPORTED]
    assert found.draft.body == GOOD


@pytest.mark.parametrize(
    "bad",
    [
        GOOD.replace("every 14 days", "every 40 days"),
        GOOD.replace("“The sluice gates of Orrin mill must be", "“The sluice gates of Orrin mill must not be"),
        GOOD.replace("[S1:C1]", "[S2:C2]").replace("Revision 4 (2021): “" + NEW, "Revision 3: “" + OLD),
        GOOD.replace("[S2:C2]", "[S9:C9]"),
        row("every 30 days [S1:C1]", "every 15 days [S2:C2]"),
        row("Revision 3 (June 2015): every 30 days [S1:C1]", "every 14 days [S2:C2]"),
    ],
)
def test_a_note_stands_in_the_place_of_a_forged_cell_and_the_row_stays(bad: str) -> None:
    found = check_draft(Draft("T", f"It is said. [S1:C1]\n\n{bad}"), FACTS)
    rows = [line for line in found.draft.body.split("\n") if line.startswith("|")]
    assert len(rows) == 3
    assert rows[2].count("*[One cell withheld: ") == found.removed_sentences >= 1
    assert len(split_cells(rows[2])) == 4


def test_a_number_in_a_cell_without_a_citation_stands_only_if_its_row_has_it() -> None:
    head = "| Gate | Interval | Days | Who | Since |\n|---|---|---|---|---|\n"
    body = head + "| gate 7 | greased every 14 days with mineral oil [S2:C2] | {} | millers | - |"
    assert check_draft(Draft("T", body.format("14")), FACTS).draft.body == body.format("14")
    found = check_draft(Draft("T", body.format("41 days")), FACTS)
    assert found.removed_sentences == 1
    told = "*[One cell withheld: it states 41 days without a source.]*"
    assert found.draft.body == body.format(told)


def test_short_cells_and_a_column_of_citations_are_read_with_their_row() -> None:
    body = "| Gate | Interval | Source |\n|---|---|---|\n| sluice gates greased | every 14 days | [S2:C2] |"
    kept = check_draft(Draft("T", body), FACTS).draft.body
    assert kept.replace(" *(unclear)*", "") == body
    wrong = body.replace("every 14 days", "every 41 days")
    row = check_draft(Draft("T", wrong), FACTS).draft.body.split("\n")[2]
    assert row.startswith(
        "| sluice gates greased | *[One cell withheld: its amount 41 days stands in none of its sources; "
    )


def test_cells_with_bars_and_labels() -> None:
    assert list(iter_row_statements("| a \\| b [S1:C1] | c |", MARKER)) == [("c a | b", ("[S1:C1]",))]
    assert strip_source_label("Revision 3 (2014): “It holds 5 tonnes.”", ["Revision 3 (2014)"]) == "It holds 5 tonnes."
    assert strip_source_label("Revision 9: “It holds 5 tonnes.”", ["Revision 3"]) == "Revision 9: “It holds 5 tonnes.”"
    assert strip_source_label("2014: “It holds up to 12…”", ["2014"]) == "It holds up to"
    assert is_rule("|---|:-:|")
    assert not is_rule("| a | b |")


def report(text: str) -> tuple[str, dict[str, str]]:
    """Our own Markdown with these contradictions, and the snapshots it cites."""
    stored = {hashlib.sha256(body.encode()).hexdigest(): body for body in (OLD, NEW)}
    old, new = stored
    listed = (
        f"## Sources\n\n[1] **Rules of the mill** (Revision 3 (June 2014)). a.md `S1:C1` `sha256:{old}`\n\n> {OLD}\n\n"
        f"[2] **Rules of the mill** (Revision 4 (2021)). b.md `S2:C2` `sha256:{new}`\n\n> {NEW}\n"
    )
    return f"# T\n\n## Contradictions and changes\n\n{text}\n\n{listed}", stored


async def checked_again(text: str):
    markdown, stored = report(text.replace("[S1:C1]", "[1]").replace("[S2:C2]", "[2]"))

    async def by_hash(sha: str) -> str | None:
        return stored.get(sha)

    async def by_reference(_: Reference) -> None:
        return None

    return await recheck_report(markdown, Lookups(by_hash, by_reference))


async def test_the_version_label_of_a_row_does_not_make_it_unsupported_when_it_is_checked_again() -> None:
    found = await checked_again(GOOD)
    assert [(s.support, s.found) for s in found.statements] == [
        (Support.SUPPORTED, (CitationStatus.VERIFIED,)),
        (Support.SUPPORTED, (CitationStatus.VERIFIED,)),
    ]
    assert found.coverage == 1.0


async def test_a_forged_number_in_a_row_is_found_when_it_is_checked_again() -> None:
    found = await checked_again(GOOD.replace("every 14 days", "every 41 days"))
    assert [s.support for s in found.statements] == [Support.SUPPORTED, Support.CONTRADICTED]
    assert "41" in found.statements[1].reasons[0]


@pytest.mark.parametrize(
    "line",
    [
        "The mill opened. [7][8] For years it ran. [9]",
        "The mill opened.[7] [8] For years it ran. [9]",
        "The mill opened [7][8]. For years it ran. [9]",
        "The mill opened. [7][8] for years it ran. [9]",
    ],
)
def test_all_of_several_marks_belong_to_the_sentence_before_them(line: str) -> None:
    found = split_cited_sentences(line, re.compile(r"\[\d\]"))
    assert [[mark.group() for mark in each.marks] for each in found] == [["[7]", "[8]"], ["[9]"]]
    assert [each.text.rstrip(".")[:4] for each in found] == ["The ", line.partition("]")[2].strip(" [8].")[:4]]


def test_a_statement_that_begins_with_an_option_is_one_of_its_own() -> None:
    line = "-s passes all grain through a sieve [S1:C1]. -f, --fan turns on the fan [S1:C1]. # is a mark [S1:C2]."
    assert [len(marks) for _, marks in iter_cited_sentences(line)] == [1, 1, 1]
