"""Edits of a draft by its reviser: what they name changes as they say, and every other byte stays."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.reporting.test_repair import BODY, DRAFT, FACTS, NUMBERED, PLAIN, reword

from corrobora.domain.report import Draft
from corrobora.reporting.repair import NumberedDraft, apply_revision
from corrobora.roles.edit import Edit, EditAction
from corrobora.roles.review import Revision
from corrobora.text.markdown import normalize_markers

CITED = "[S1:C1]"


def add(target: str, text: str) -> Edit:
    return Edit(EditAction.ADD, target, text)


def revise(*edits: Edit, body: str = BODY) -> str:
    return apply_revision(replace(DRAFT, body=body), Revision(edits), FACTS).body


def test_a_reviser_sees_an_id_before_each_sentence_row_and_heading_and_nothing_else_is_changed() -> None:
    shown = NUMBERED.show_ids()
    for line in (
        "{1.1} ## The basin",
        "- {1.2} Pilots",
        "[S1:C1] {1.4} See",
        "\n{1.6} | 1991 | 53 ships",
        "{2.2} Pilots",
    ):
        assert line in shown
    assert re.sub(r"\{[\d.]+\} ", "", shown) == PLAIN


def test_a_reviser_adds_sentences_rows_and_sections_and_moves_what_stands_in_the_wrong_place() -> None:
    edits = (
        Edit(EditAction.ADD, "1.6", "| 1992 | no figure |"),
        Edit(EditAction.ADD, "0.1", "Larger ships wait outside."),
        Edit(EditAction.ADD, "1", "## Radio\n\n- One\n- Two"),
        Edit(EditAction.MOVE, "2.2", after="0.3"),
        Edit(EditAction.DROP, "1.4"),
    )
    made = apply_revision(DRAFT, Revision(edits, title="The port"), FACTS)
    assert made.title == "The port"
    assert made.body.startswith("The basin of Ardal is 9 metres deep [S1:C1]. Larger ships wait outside. It was")
    assert "may enter. Pilots must be called by radio [S1:C1]." in made.body
    assert "| 1991 | 53 ships [S1:C1] |\n| 1992 | no figure |\n\n## Radio\n\n- One\n- Two\n\n## Rest" in made.body
    assert "7,000" not in made.body


def test_an_edit_of_what_another_one_took_out_is_left_out_and_a_whole_text_is_taken_as_it_is() -> None:
    edits = (Edit(EditAction.DROP, "2"), Edit(EditAction.MOVE, "0.1", after="7.7"), Edit(EditAction.DROP, "2.2"))
    made = apply_revision(DRAFT, Revision(edits), FACTS)
    assert (made.title, made.body) == (DRAFT.title, PLAIN.partition("\n## Rest")[0])
    whole = Draft("New", "Pilots must be called by radio [S1:C1].")
    assert apply_revision(DRAFT, Revision(whole=whole), FACTS) == whole


def test_a_revision_without_any_change_is_the_draft_itself_however_it_writes_its_markers() -> None:
    refused = Edit(EditAction.MOVE, "1.6", after="0.1")
    assert "(S1:C1)" in BODY
    assert apply_revision(DRAFT, Revision(), FACTS) == DRAFT
    assert apply_revision(DRAFT, Revision((refused,)), FACTS) == DRAFT


def test_what_goes_behind_one_place_stands_there_in_the_order_in_which_it_is_given() -> None:
    made = revise(
        add("0.1", "It is old."), add("0.1", "It is full."), add("1.6", "| 1992 | a |"), add("1.6", "| 1993 | b |")
    )
    assert f"9 metres deep {CITED}. It is old. It is full. It was" in made
    assert made.index("| 1991") < made.index("| 1992") < made.index("| 1993") < made.index("## Rest")
    moved = revise(Edit(EditAction.MOVE, "0.2", after="2.2"), Edit(EditAction.MOVE, "0.1", after="2.2"))
    assert moved.rstrip().endswith(f"It was dredged in 1989 {CITED}. The basin of Ardal is 9 metres deep {CITED}.")
    opens = revise(Edit(EditAction.MOVE, "0.1", after="2"), Edit(EditAction.MOVE, "0.2", after="2"))
    assert (
        "## Rest\n\nThe basin of Ardal is 9 metres deep [S1:C1].\n\nIt was dredged in 1989 [S1:C1].\n\nPilots" in opens
    )
    ends = revise(add("2", "First."), add("2", "Second."))
    assert ends.rstrip().endswith("First.\n\nSecond.")


def test_new_words_that_cite_nothing_keep_the_markers_of_the_old_ones() -> None:
    made = revise(reword("0.2", "It was dredged in 1990."), reword("0.3", "Ships may enter."))
    assert f"It was dredged in 1990. {CITED}  Ships may enter." in made
    absent = "None of the 3 documents read mentions when it was dredged."
    assert f"{absent}  Ships" in revise(reword("0.2", absent))
    assert f"It was dredged in 1990 [S2:C4]. {CITED}  Ships" in revise(reword("0.2", "It was dredged in 1990 [S2:C4]."))
    assert revise(reword("1.6", "| 1991 | 52 ships |")) == BODY, "a row without its citation"


def test_a_number_in_brackets_is_no_citation_of_new_words() -> None:
    assert f"It was dredged in 1990 [3]. {CITED}  Ships" in revise(reword("0.2", "It was dredged in 1990 [3]."))


def test_an_opening_is_put_before_the_first_section_of_a_draft_that_has_none() -> None:
    body = f"## Depth\n\nIt is 9 metres deep {CITED}."
    assert NumberedDraft.read(Draft("T", body), FACTS).places == ("1.1", "1.2", "0", "1")
    assert revise(add("0", f"It is deep {CITED}."), body=body) == f"It is deep {CITED}.\n\n{body}"


def test_rows_and_items_join_what_stands_there_and_all_else_is_a_paragraph_of_its_own() -> None:
    items = "- One\n- Two\n\n---\n\n## Next\n\nText."
    assert revise(add("0.1", "- More"), body=items) == items.replace("One\n", "One\n- More\n")
    assert revise(add("0", "## New\n\nWords."), body=items) == items.replace("Two\n", "Two\n\n## New\n\nWords.\n")
    table = "| A | B |\n|---|---|\n| 1 | 2 |"
    assert f"53 ships {CITED} |\n\n{table}\n\n## Rest" in revise(add("1.6", table))
    assert f"9 metres deep {CITED}. It is old. It was" in revise(add("0.1", "It is\nold."))


@pytest.mark.parametrize("edit", [reword("1.1", "## Depth\n\nIt is deep."), add("9", "- x"), add("7.7", "Words.")])
def test_what_cannot_stand_there_is_not_made(edit: Edit) -> None:
    assert revise(edit) == BODY


_MARKS = st.sampled_from(
    [
        "[S1:C1]",
        "[S1:C1]: ",
        "[S1:C1](",
        "[2]:",
        "\\[9]",
        "[3]",
        ". ",
        "\n",
        "\n\n",
        "- ",
        "1. ",
        "## ",
        "| ",
        "|---|\n",
        "```\n",
        "> ",
        "**",
    ]
)
_WORDS = st.sampled_from(["The basin", "of 9", "e.g. ships", "Sie", "x. Y", "*b*", "`c`", "终。文"])
_TEXT = st.lists(st.one_of(_MARKS, _WORDS), max_size=30).map("".join)


@given(_TEXT)
def test_a_draft_with_its_ids_is_the_draft_but_for_them(body: str) -> None:
    numbered = NumberedDraft.read(Draft("T", body), FACTS)
    shown = numbered.show_ids()
    assert re.sub(r"\{\d+\.\d+\} ", "", shown) == normalize_markers(body)
    assert [each for each in numbered.places if "." in each] == re.findall(r"\{(\d+\.\d+)\} ", shown)


_ACTIONS = st.builds(
    Edit,
    st.sampled_from([EditAction.REWORD, EditAction.ADD, EditAction.MOVE, EditAction.DROP]),
    st.sampled_from(["0.1", "0.2", "1.1", "1.2", "0", "1", "9.9"]),
    _TEXT,
    st.sampled_from(["", "0.1", "1.2", "1", "9"]),
)


@given(_TEXT, st.lists(_ACTIONS, max_size=4))
def test_no_edit_of_whatever_kind_touches_a_sentence_that_none_names(body: str, edits: list[Edit]) -> None:
    before = NumberedDraft.read(Draft("T", body), FACTS)
    named = {each.target for each in edits}
    made = apply_revision(Draft("T", body), Revision(tuple(edits)), FACTS).body
    for piece in before.document.pieces:
        if piece.id and not {piece.id, piece.id.partition(".")[0]} & named:
            assert before.show(piece.text) in made
