"""Superlatives: the row that has the most or the least."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corrobora.analysts.extractive.relevance import find_extreme, find_foremost_rows

ROWS = (
    "Hall: Arden; Doors: 12; Height: 9.5 m; Built: 1874",
    "Hall: Bellow; Doors: 1,400; Height: 30 m; Built: 1931",
    "Hall: Carrow; Doors: 7; Height: 12 m; Built: 1790",
)


@pytest.mark.parametrize(
    ("question", "at"),
    [
        ("Which hall has the most doors?", 1),
        ("Which hall has the fewest doors?", 2),
        ("Which hall is the highest?", 1),
        ("What is the tallest hall?", 1),
        ("Which hall has the smallest height?", 0),
        ("Which hall is the oldest?", 2),
        ("Which is the newest hall that was built?", 1),
    ],
)
def test_the_row_with_the_extreme_is_found(question, at):
    wanted = find_extreme(question)
    assert wanted is not None
    assert find_foremost_rows(ROWS, wanted) == {at}


@pytest.mark.parametrize("question", ["Which hall is open?", "Is the west hall a test?", "What is the rest?"])
def test_other_questions_ask_for_no_extreme(question):
    assert find_extreme(question) is None


def test_one_row_is_no_table_and_other_columns_are_not_compared():
    wanted = find_extreme("Which hall has the most windows?")
    assert wanted is not None
    assert find_foremost_rows(ROWS, wanted) == frozenset()
    assert find_foremost_rows(ROWS[:1], wanted) == frozenset()


@given(st.text(max_size=100), st.lists(st.text(max_size=60), max_size=5))
def test_any_rows_have_an_extreme_or_none(question, rows):
    wanted = find_extreme(question)
    assert wanted is None or find_foremost_rows(rows, wanted) <= frozenset(range(len(rows)))
