"""Layout: marks of list items and rows that name their heads."""

from __future__ import annotations

from corrobora.text.layout import is_table_row, skip_item_mark


def test_the_words_of_an_item_begin_after_its_mark_and_those_of_a_clause_with_its_letter() -> None:
    assert skip_item_mark("- a rope of hemp", 0) == 2
    assert skip_item_mark("(a) the keeper shall", 0) == 0
    assert skip_item_mark("A rope of hemp", 0) == 0


def test_a_row_names_its_heads() -> None:
    assert is_table_row("Plan: Basic; Price: 5.")
    assert not is_table_row("Ole: I shall come.")
