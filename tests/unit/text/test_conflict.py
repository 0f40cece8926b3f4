"""Conflict: what differs between two statements about the same thing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corrobora.text.comparison import (
    Aspect,
    compare_topics,
    find_difference,
    find_differing_sentences,
    parse_statement,
)


@pytest.mark.parametrize(
    ("before", "after", "aspect", "text"),
    [
        (
            "Drivers SHOULD NOT require seats to be cleaned arbitrarily (e.g., weekly).",
            "Drivers SHALL NOT require guests to clean seats weekly.",
            Aspect.OBLIGATION,
            "SHOULD NOT -> SHALL NOT",
        ),
        (
            "Members may bring guests to the reading room.",
            "Members must not bring guests to the reading room.",
            Aspect.OBLIGATION,
            "may -> must not",
        ),
        (
            "The boiler holds a pressure of 8 bar in normal use.",
            "The boiler holds a pressure of 12 bar in normal use.",
            Aspect.QUANTITY,
            "8 bar -> 12 bar",
        ),
        (
            "The bridge over the river was opened on 5 June 1962.",
            "The bridge over the river was opened on 6 June 1962.",
            Aspect.DATE,
            "1962-06-05 -> 1962-06-06",
        ),
        (
            "The tower of the old church is open to visitors.",
            "The tower of the old church is not open to visitors.",
            Aspect.NEGATION,
            "affirmed -> not",
        ),
    ],
)
def test_each_kind_of_difference_is_found(before, after, aspect, text):
    found = find_difference(parse_statement(before), parse_statement(after))
    assert found is not None
    assert (found.aspect, found.text) == (aspect, text)


def test_different_things_do_not_differ():
    seats = parse_statement("Drivers SHOULD NOT clean the seats of the bus every week.")
    cats = parse_statement("Cats SHALL NOT be fed in the kitchen of the hotel.")
    assert find_difference(seats, cats) is None


def test_two_duties_on_different_acts_are_no_conflict():
    one = parse_statement("Members SHOULD return books to the library within 30 days.")
    other = parse_statement("Members SHALL renew books of the library within 30 days.")
    assert find_difference(one, other) is None


def test_a_change_of_words_counts_between_editions_only():
    one = parse_statement("The gate is closed by the night watchman of the harbour every evening at ten.")
    other = parse_statement("The gate is closed by the night porter of the harbour every evening at ten.")
    assert find_difference(one, other) is None
    found = find_difference(one, other, editions=True)
    assert found is not None
    assert found.text == "watchman -> porter"


sentence = st.lists(
    st.sampled_from("boiler must not should hold 8 12 bar pressure gate never may".split()), max_size=12
)


@given(sentence, sentence)
def test_likeness_is_symmetric_and_nothing_differs_from_itself(a, b):
    one, other = parse_statement(" ".join(a)), parse_statement(" ".join(b))
    assert compare_topics(one, other) == compare_topics(other, one)
    assert find_difference(one, one, editions=True) is None


def test_of_two_quotes_the_sentences_that_differ_are_told_apart() -> None:
    one, other = "The oven is red. It must be shut at night.", "It may be shut at night. The oven is blue."
    assert find_differing_sentences(one, other, "must -> may") == (
        "It must be shut at night.",
        "It may be shut at night.",
    )
    assert find_differing_sentences(one, other, "no such difference") == (one, other)
