"""Clauses: a long question falls into parts, a short one does not."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from corrobora.text.ranking import MAX_CLAUSES, split_clauses
from corrobora.text.tokens import stem_text


def test_a_long_question_falls_into_its_clauses():
    found = split_clauses("Which team won the cup final, and who trained the losing side that year?")
    assert len(found) == 2


def test_a_short_question_stays_whole():
    assert len(split_clauses("When did Lothair II die?")) == 1


@given(st.text() | st.lists(st.sampled_from(["and", "who", "won", "cup", "final,", "year"])).map(" ".join))
def test_no_content_word_is_lost(text):
    assert sorted(stem for part in split_clauses(text) for stem in stem_text(part)) == sorted(stem_text(text))
    assert len(split_clauses(text)) <= MAX_CLAUSES
