"""Directness: close, short and self-contained sentences come before others that hold the same words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corrobora.analysts.extractive.relevance import score_brevity, score_proximity, score_standalone
from corrobora.text.tokens import stem_text

TOPIC = frozenset(stem_text("oil pump change"))


def test_words_side_by_side_count_more_than_words_apart() -> None:
    near = score_proximity(stem_text("The pump oil is changed monthly."), TOPIC)
    far = score_proximity(
        stem_text("The pump stands on a frame of steel that was painted when the oil tank changed."), TOPIC
    )
    assert near > far > 1.0


def test_one_word_is_close_to_nothing() -> None:
    assert score_proximity(stem_text("The pump is new."), TOPIC) == 1.0
    assert score_proximity((), TOPIC) == 1.0


def test_a_long_sentence_counts_less_than_a_short_one() -> None:
    assert score_brevity(("a",) * 10) == 1.0
    assert score_brevity(("a",) * 100) < score_brevity(("a",) * 40) < 1.0


@pytest.mark.parametrize(
    "text",
    ["For example, a pump may leak.", "(They leak.)", "More on pumps can be found in Annex B.",
     "See below for pumps.", "It leaks.", "The pump includes:",
     "In the above example, it leaks.", "However, pumps leak."],
)  # fmt: skip
def test_asides_pointers_and_open_ends_count_less(text: str) -> None:
    assert score_standalone(text) < score_standalone("The pump leaks when it is cold.") == 1.0


@given(st.lists(st.sampled_from([*sorted(TOPIC), "x", "y"]), max_size=30))
def test_closeness_stays_in_its_bounds(said: list[str]) -> None:
    assert 1.0 <= score_proximity(said, TOPIC) <= 1.5


def test_a_pointer_to_more_elsewhere_is_told_for_another_sentences_sake():
    assert score_standalone("For more views of the kiln see Holt's essay on kilns.") < score_standalone(
        "The kiln was built in 1931."
    )


def test_a_polite_pointer_is_a_pointer():
    assert score_standalone("If kilns are new to you, please see the book on kilns.") < 1.0
