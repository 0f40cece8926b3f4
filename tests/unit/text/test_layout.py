"""Layout: rows are told from sentences, and read under their heads."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corrobora.text.layout import is_same_table, read_heads, read_row, split_cells


@pytest.mark.parametrize(
    "text", ["first, second, and third", "A sentence; it goes on.", "one,two", "a,b,c.", "", "word"]
)
def test_a_sentence_is_no_row(text: str) -> None:
    assert split_cells(text) == ()


@pytest.mark.parametrize("text", ["Kiln | 3 | red", "Kiln,3,red", "Kiln;3;red", "Kiln\t3\tred", "| Kiln | 3 | red |"])
def test_cells_are_parted_by_bars_tabs_commas_and_semicolons(text: str) -> None:
    assert split_cells(text) == ("Kiln", "3", "red")


def test_rows_of_values_belong_together_only_with_as_many_cells() -> None:
    assert is_same_table("a,b,c", "1,2,3")
    assert not is_same_table("a,b,c", "1,2,3,4")
    assert is_same_table("Low | High", "Price | 2 | 3"), "a head may lack the cell above the names"
    assert not is_same_table("a | b", "A sentence.")


def test_a_row_reads_under_its_heads_or_as_its_cells() -> None:
    assert read_row(("Name", "Age"), ("Ann", "7")) == "Name: Ann; Age: 7"
    assert read_row(("Low", "High"), ("Price", "2", "3")) == "Price: Low 2; High 3"
    assert read_row(("Name",), ("Ann", "7", "x")) == "Ann; 7; x"


def test_a_row_that_names_its_heads_is_told_from_a_sentence() -> None:
    assert read_heads("Plan: Basic; Price: 5; Limit: 10.") == ("Plan", "Price", "Limit")
    assert read_heads("Note: the kiln is hot.") == ()
    assert read_heads("Ann: we go; then we eat.") == ()


@given(st.text(max_size=300))
def test_any_text_has_cells_that_stand_in_it(text: str) -> None:
    assert all(cell in text for cell in split_cells(text))
