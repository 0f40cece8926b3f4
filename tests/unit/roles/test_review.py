"""Confirm: rulings in the order of the doubts, and none where a model contradicts itself or rules on nothing shown."""

from __future__ import annotations

import pytest

from corrobora.domain.report import Critique, Draft
from corrobora.roles.edit import Edit, EditAction
from corrobora.roles.forms import UnusableAnswer
from corrobora.roles.review import (
    Confirming,
    Doubt,
    Revising,
    Revision,
    WireDraftEdit,
    WireRevision,
    WireRuling,
    WireRulings,
    convert_revision,
    convert_rulings,
)

GIVEN = Confirming("root/confirm", (Doubt("It is red.", (("Manual", "", "It is red."),)), Doubt("It is old.", ())))


def test_rulings_stand_in_the_order_of_the_doubts() -> None:
    filled = WireRulings([WireRuling("D2", "its  age", carried=False), WireRuling("D1", "", carried=True)])
    assert convert_rulings(GIVEN, filled).reasons == ("", "its age")


@pytest.mark.parametrize(
    "ruling",
    [
        WireRuling("D1", "its colour", carried=True),
        WireRuling("D1", " ", carried=False),
        WireRuling("D7", "", carried=True),
    ],
)
def test_a_ruling_that_contradicts_itself_or_names_no_sentence_is_none(ruling: WireRuling) -> None:
    assert convert_rulings(GIVEN, WireRulings([ruling])).reasons == (None, None)


REVISING = Revising(
    "root/revise", "Is it red?", Draft("Red", "{0.1} It is red."), Critique(("age",)), (), places=("0.1", "0")
)


def test_edits_of_places_that_were_shown_are_taken_without_the_ids_that_a_model_copies() -> None:
    filled = WireRevision(
        [
            WireDraftEdit("reword", "{0.1}", "{0.1} It is blue."),
            WireDraftEdit("drop", "7.1"),
            WireDraftEdit("move", "0.1", after="9"),
            WireDraftEdit("add", "0", " "),
        ]
    )
    assert convert_revision(REVISING, filled) == Revision((Edit(EditAction.REWORD, "0.1", "It is blue."),))


def test_a_text_written_anew_is_taken_without_ids_and_nothing_at_all_changes_nothing() -> None:
    whole = Revision(whole=Draft("Red", "It is blue."))
    assert convert_revision(REVISING, WireRevision(body="{0.1} It is blue.")) == whole
    assert convert_revision(REVISING, WireRevision([])) == Revision()
    with pytest.raises(UnusableAnswer, match=r"its ids are: 0\.1, 0"):
        convert_revision(REVISING, WireRevision([WireDraftEdit("drop", "7.1")]))


def test_braces_that_no_id_was_shown_with_stay_in_new_words() -> None:
    for text in ("It matches [0-9]{3} and x{0} .", "Of {1.5} 2.", "x^{0.1}"):
        filled = WireRevision([WireDraftEdit("reword", "0.1", text)])
        assert convert_revision(REVISING, filled).edits[0].text == text
    filled = WireRevision([WireDraftEdit("add", "0", "- {0.1} It is\n- {0.1} blue {0.1}")])
    assert convert_revision(REVISING, filled).edits[0].text == "- It is\n- blue"


def test_edits_that_contradict_each_other_lose_no_words() -> None:
    new = WireDraftEdit("reword", "0.1", "It is blue.")
    given = WireRevision([new, WireDraftEdit("drop", "0.1"), new, WireDraftEdit("reword", "0", "It is green.")])
    assert convert_revision(REVISING, given) == Revision((Edit(EditAction.REWORD, "0.1", "It is blue."),))


def test_a_model_that_gives_edits_and_the_whole_text_gives_edits() -> None:
    filled = WireRevision([WireDraftEdit("drop", "0.1")], " # Blue ", "It is blue.")
    assert convert_revision(REVISING, filled) == Revision((Edit(EditAction.DROP, "0.1"),), title="Blue")
