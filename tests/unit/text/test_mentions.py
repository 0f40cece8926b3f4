"""Mentions: names, identifiers, dates and quantities by spelling alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corrobora.text.mentions import find_mentions, find_names, mentions_name, strip_to_alphanumeric
from corrobora.text.quantities import find_dates, find_quantities, find_years, is_calendar_name
from corrobora.text.tokens import stem_text


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("When did Lothair II's mother die?", ("Lothair II",)),
        ("She met Ermengarde of Tours there.", ("Ermengarde of Tours",)),
        ("Walking On The Water is a film by Ana de la Cruz.", ("Walking On The Water", "Ana de la Cruz")),
        ("Is SMS allowed under NIST SP 800-63B?", ("SMS", "NIST SP 800-63B")),
        ("Reuters and The Age wrote about RFC 2119.", ("Reuters", "The Age", "RFC 2119")),
        ("Operators SHALL NOT do it.", ("Operators",)),
        ("nothing named here", ()),
    ],
)
def test_names_are_found_by_their_capitals(text, found):
    assert find_names(text) == found


def test_a_quoted_title_is_one_mention():
    assert "The Verge" in {m.text for m in find_mentions("Does 'The Verge' say so?")}


def test_dates_years_and_quantities_are_read():
    assert find_dates("on 11 November 875, on June 5th, 1962 and on 2021-02-03; not on 99 June 2000") == (
        "1962-06-05",
        "2021-02-03",
    )
    assert find_years("from 1998 to 2015, version 2015.3") == (1998, 2015)
    assert [(q.value, q.unit) for q in find_quantities("at least 8 characters, 12 % and $26.3 billion")] == [
        (8.0, "charact"),
        (12.0, "%"),
        (26.3e9, "$"),
    ]


def test_spacing_does_not_hide_an_identifier():
    text = "as SP800-63B says"
    assert mentions_name(frozenset(stem_text(text)), strip_to_alphanumeric(text), "NIST SP 800-63B")
    assert not mentions_name(frozenset(stem_text(text)), strip_to_alphanumeric(text), "SP 800-99")
    assert is_calendar_name("November 6")
    assert not is_calendar_name("March Hare")


@given(st.text(max_size=300))
def test_mentions_stand_where_they_say(text):
    for mention in find_mentions(text):
        assert text[mention.start : mention.end] == mention.text
        assert mention.text


@pytest.mark.parametrize("hostile", ["A " * 50_000, "'" * 100_000, "1,1" * 50_000, "A-" * 50_000, '"a ' * 50_000])
def test_hostile_texts_are_read_to_the_end(hostile):
    find_mentions(hostile)
    find_quantities(hostile)
    find_dates(hostile)


def test_numbers_in_words_have_tens_and_ones():
    found = find_quantities("A keeper of thirty-five years kept twenty one trays, nineteen lids and forty jars.")
    assert [each.value for each in found] == [35, 21, 19, 40]


def test_a_quantity_is_told_without_the_function_word_after_it():
    told = [
        each.text for each in find_quantities("It cost 12 million in May, $14 a year, 76 % of it, and 8 keys of it.")
    ]
    assert told == ["12 million", "$14", "76 %", "8 keys"]


def test_a_short_number_names_only_what_stands_before_it():
    text = "Hall 7 was built by 3 masons."
    held, small = frozenset(stem_text(text)), strip_to_alphanumeric(text)
    assert mentions_name(held, small, "Hall 7")
    assert not mentions_name(held, small, "Hall 3")
