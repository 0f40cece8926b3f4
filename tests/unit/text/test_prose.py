"""Prose: lists, tables and headings of a quote read as sentences, and no word is added or lost."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from corrobora.text.markup import quote_to_prose, read_table_rows
from corrobora.text.tokens import split_words

TABLE = "Name | Age\nAnn | 7\nBo | 9"


def test_items_follow_what_leads_them_in() -> None:
    assert quote_to_prose("Bring:\n\n- a lamp,\n- two ropes") == "Bring: a lamp; two ropes."
    assert quote_to_prose("To open:\n\n1. Lift the lid.\n2. Wait.") == "To open: Lift the lid. Wait."


def test_a_heading_leads_in_what_stands_below_it() -> None:
    assert quote_to_prose("2.4.0\n\nAdded\n\n- Dark mode.") == "2.4.0: Added: Dark mode."


def test_lettered_clauses_keep_their_letters() -> None:
    assert (
        quote_to_prose("(2) It shall include:\n(a) a copy;\n(b) the fee.")
        == "It shall include: (a) a copy; (b) the fee."
    )


def test_a_paragraph_without_a_stop_is_ended() -> None:
    assert quote_to_prose("An example:\n\nkiln --hot\n\nThis heats it.") == "An example: kiln --hot. This heats it."


def test_a_row_reads_under_the_heads_of_its_table() -> None:
    assert quote_to_prose(TABLE) == "Name: Ann; Age: 7. Name: Bo; Age: 9."
    assert quote_to_prose(TABLE, "Name: Bo; Age: 9.") == "Name: Bo; Age: 9."
    assert read_table_rows(TABLE) == ("Name: Ann; Age: 7", "Name: Bo; Age: 9")
    assert read_table_rows("No table. At all.") == ()


def test_one_sentence_stays_as_it_is() -> None:
    assert quote_to_prose("The kiln is **hot**.") == "The kiln is hot."
    assert quote_to_prose("(3) The kiln is hot.") == "The kiln is hot."


@given(st.lists(st.sampled_from(["The kiln is hot.", "- a lamp", "Heading", "It must:", "Wait", "", "* two"])))
def test_no_word_is_added_or_lost_outside_tables(lines: list[str]) -> None:
    quote = "\n".join(lines).strip()
    assert split_words(quote_to_prose(quote)) == split_words(quote)
