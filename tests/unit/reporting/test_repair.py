"""Repair of a draft: new words stand in the place of what is withheld, and every other byte stays."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corrobora.domain.evidence import Document, Fact, Passage, PassageId, Source, SourceId
from corrobora.domain.report import Draft
from corrobora.reporting.repair import (
    NumberedDraft,
    apply_repair,
    list_withheld,
    select_better,
    select_lines,
)
from corrobora.reporting.verify import check_draft
from corrobora.roles.edit import Edit, EditAction
from corrobora.text.markdown import normalize_markers

TEXT = (
    "The basin of Ardal is 9 metres deep. It was dredged in 1990. Ships of 80 metres may enter the basin. "
    "In 1990 the harbour counted 40 ships, and in 1991 it counted 52 ships. Pilots must be called by radio."
)
_PASSAGE = Passage(PassageId("C1"), SourceId("S1"), TEXT, 0, len(TEXT))
_FACT = Fact.from_quote(
    Document(Source(SourceId("S1"), "The harbour of Ardal", "a.md", "0" * 64), TEXT, (_PASSAGE,)), _PASSAGE, TEXT
)
assert _FACT is not None
FACTS: tuple[Fact, ...] = (_FACT,)

BODY = """The basin of Ardal is 9 metres deep [S1:C1]. It was dredged in 1989 [S1:C1].  Ships of 80 metres may enter.

## The basin is 77 metres deep

- Pilots must be called by radio (S1:C1).
- The basin of Ardal is 12 metres deep. [S1:C1] See https://a.example/x for 7,000 more ships.

| Year | Ships |
|---|---|
| 1990 | 40 ships [S1:C1] |
| 1991 | 53 ships [S1:C1] |

## Rest

Pilots must be called by radio [S1:C1].
"""
DRAFT = Draft("The harbour", BODY)
CHECKED = check_draft(DRAFT, FACTS)
NUMBERED = NumberedDraft.read(DRAFT, FACTS)
FAILING = list_withheld(NUMBERED, CHECKED.checks, 40)
PLAIN = normalize_markers(BODY)


def reword(target: str, text: str) -> Edit:
    return Edit(EditAction.REWORD, target, text)


def test_all_that_is_withheld_has_its_id_reason_and_text() -> None:
    shown = {name: (why, text) for name, (why, text) in FAILING}
    assert sum(bool(each.withheld) for each in CHECKED.checks) == len(shown) == 5
    assert "1989" in shown["0.2"][0]
    assert shown["0.2"][1] == "It was dredged in 1989 [S1:C1]."
    assert shown["1.1"][1] == "## The basin is 77 metres deep"
    assert shown["1.3"][1] == "The basin of Ardal is 12 metres deep. [S1:C1]"
    assert shown["1.4"][1].endswith("for 7,000 more ships.")
    assert shown["1.6"][1] == "| 1991 | 53 ships [S1:C1] |"


def test_the_writer_sees_the_paragraphs_in_which_something_is_withheld_heads_of_tables_and_all_headings() -> None:
    shown = select_lines(NUMBERED, FAILING)
    first, heading, *rest = shown.split("\n\n")
    assert first == PLAIN.partition("\n")[0]
    assert heading == "## The basin is 77 metres deep"
    assert rest[0] == "…"
    assert rest[1].startswith("- The basin of Ardal is 12 metres deep. [S1:C1] See")
    assert rest[2:] == ["…", "| Year | Ships |\n|---|---|\n| 1991 | 53 ships [S1:C1] |", "## Rest", "…"]


def test_new_words_stand_in_their_place_and_every_other_byte_stays() -> None:
    edits = (
        reword("0.2", "It was dredged in 1990\n[S1:C1]."),
        reword("1.1", "Depth"),
        reword("1.3", "- The basin of Ardal is 9 metres deep (S1:C1)."),
        Edit(EditAction.DROP, "1.4"),
        reword("1.6", "| 1991 | 52 ships [S1:C1] |"),
    )
    expected = PLAIN.replace("1989", "1990").replace("## The basin is 77 metres deep", "## Depth")
    expected = expected.replace(
        "is 12 metres deep. [S1:C1] See https://a.example/x for 7,000 more ships.", "is 9 metres deep [S1:C1]."
    )
    expected = expected.replace("53", "52")
    assert apply_repair(DRAFT, edits, FACTS).body == expected
    assert not check_draft(Draft("", expected), FACTS).removed_sentences


@pytest.mark.parametrize(
    "edit",
    [
        reword("1.6", "1991: 52 ships [S1:C1]"),
        reword("1.6", "| 1991 | 52 | ships [S1:C1] |"),
        reword("0.2", "| It was | dredged in 1990 [S1:C1] |"),
        reword("0.2", "## Dredged"),
        reword("1.1", "##"),
    ],
)
def test_new_words_of_another_kind_than_the_old_ones_are_not_taken(edit: Edit) -> None:
    assert apply_repair(DRAFT, (edit,), FACTS).body == PLAIN


def test_new_words_that_hold_no_better_than_the_old_ones_are_not_taken() -> None:
    edits = (
        reword("0.2", "It was dredged in 1990 [S1:C1]."),
        reword("1.3", "The basin of Ardal is 13 metres deep [S1:C1]. It was dredged in 1988 [S1:C1]."),
        reword("1.4", "Pilots must be called by radio [S1:C1]. The harbour counted 7,000 ships in 1999 [S1:C1]."),
        reword("1.6", "| 1991 | 54 ships [S1:C1] |"),
    )
    after = check_draft(apply_repair(DRAFT, edits, FACTS), FACTS)
    assert select_better(DRAFT, edits, CHECKED, after, FACTS) == (edits[0], edits[2]), "one of two holds: that is more"


def test_a_sentence_that_comes_again_is_told_apart_by_its_place() -> None:
    said = "The basin of Ardal is 9 metres deep"
    draft = Draft("T", f"{said} [S9:C9]. Pilots must be called by radio [S1:C1].\n\n{said} [S1:C1].\n\n{said} [S8:C8].")
    found = list_withheld(NumberedDraft.read(draft, FACTS), check_draft(draft, FACTS).checks, 40)
    assert [name for name, _ in found] == ["0.1", "0.4"]


def test_a_block_of_code_is_given_back_as_a_block() -> None:
    block = "```\nharbour --depth 77\n```"
    draft = Draft("T", f"Pilots must be called by radio [S1:C1].\n\n{block}\n\nPilots must be called by radio [S1:C1].")
    numbered = NumberedDraft.read(draft, FACTS)
    [(name, (_, text))] = list_withheld(numbered, check_draft(draft, FACTS).checks, 40)
    assert text == block
    new = "```\nPilots must be called by radio.\n```"
    assert apply_repair(draft, (reword(name, new),), FACTS).body == draft.body.replace(block, new)
    assert apply_repair(draft, (reword(name, "Plain words."),), FACTS).body == draft.body


_MARKS = st.sampled_from(
    [
        "[S1:C1]",
        "[S1:C1]: ",
        "\\[S1:C1](",
        "[2]:",
        "(S1:C1)",
        "[3]",
        "[S7:C2]",
        ". ",
        "\n",
        "\n\n",
        "- ",
        "## ",
        "| ",
        "|---|\n",
        "```\n",
    ]
)
_WORDS = st.sampled_from(["The basin", "of 9", "e.g. ships", "Sie", "e", "9", "x. Y", "*b*", "[a](b)"])


@given(st.lists(st.one_of(_MARKS, _WORDS), max_size=30).map("".join))
def test_a_draft_is_taken_apart_and_joined_again_byte_for_byte(body: str) -> None:
    draft = replace(DRAFT, body=body)
    assert apply_repair(draft, (), FACTS).body == normalize_markers(body)
    list_withheld(NumberedDraft.read(draft, FACTS), check_draft(draft, FACTS).checks, 40)


def test_a_marker_before_a_colon_or_a_bracket_stays_a_marker_and_its_sentence_is_told_by_its_id() -> None:
    body = (
        "Pilots must be called [S1:C1]: by radio, as the basin is 12 metres deep [S1:C1].\n\n"
        "- It is deep [S1:C1](see [5]: below and \\[6]).\n- Pilots must be called by radio [S1:C1]."
    )
    draft = replace(DRAFT, body=body)
    numbered = NumberedDraft.read(draft, FACTS)
    assert apply_repair(draft, (), FACTS).body == body
    assert numbered.document.find_piece("0.1").cited == numbered.document.find_piece("0.3").cited
    [(name, (why, text)), *_] = list_withheld(numbered, check_draft(draft, FACTS).checks, 40)
    assert (name, "12" in why, text) == ("0.1", True, body.partition("\n")[0])
    new = "Pilots must be called [S1:C1]: by radio."
    assert apply_repair(draft, (reword("0.1", new),), FACTS).body == body.replace(text, new)
