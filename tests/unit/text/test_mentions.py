"""Mentions: names, identifiers, dates and quantities by spelling alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.plugins.growth import LINEAR, measure_growth

from corrobora.text.measures import find_quantities
from corrobora.text.mentions import find_claim_words, find_mentions, find_names, mentions_name, strip_to_alphanumeric
from corrobora.text.quantities import find_days, find_years, is_calendar_name
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
    assert find_days("on 11 November 875, on June 5th, 1962 and on 2021-02-03; not on 99 June 2000") == (
        "1962-06-05",
        "2021-02-03",
    )
    assert find_years("from 1998 to 2015, version 2015.3") == (1998, 2015)
    assert [(q.number, *q.units) for q in find_quantities("at least 8 characters, 12 % and $26.3 billion")] == [
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


@pytest.mark.parametrize("unit", ["A ", "'", "1,1", "A-", '"a '])
@pytest.mark.parametrize("find", [find_mentions, find_quantities, find_days])
def test_hostile_texts_are_read_in_linear_time(find, unit):
    assert measure_growth(lambda size: find(unit * size), 4_000) < LINEAR


def test_numbers_in_words_have_tens_and_ones():
    found = find_quantities("A keeper of thirty-five years kept twenty one trays, nineteen lids and forty jars.")
    assert [each.number for each in found] == [35, 21, 19, 40]


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


@pytest.mark.parametrize(
    ("sentence", "words"),
    [
        ("It has 64 rooms.", "64 rooms"),
        ("In March 2018 it closed.", "March 2018"),
        ("It was sold to Ruth Hale.", "Ruth Hale"),
        ("Users must not wait.", "must not"),
        ("It fell by half a percent, to 3 %.", "3 %"),
        ("They use RFC 2119 here.", "RFC 2119"),
    ],
)
def test_a_claim_is_found_with_its_words(sentence: str, words: str) -> None:
    assert words in find_claim_words(sentence)


@pytest.mark.parametrize(
    "sentence", ["Both sides agree on this.", "Two rules changed:", "However, the picture is mixed.", "", "***"]
)
def test_connecting_prose_claims_nothing(sentence: str) -> None:
    assert find_claim_words(sentence) == ()


def test_a_text_about_the_report_itself_claims_nothing() -> None:
    assert find_claim_words("**Revision 3 (June 2017)**", ["Revision 3 (June 2017)"]) == ()
    assert find_claim_words("Revision 3 (June 2017) holds 8.", ["Revision 3 (June 2017)"])
    assert find_claim_words("Stated in Revision 3 (June 2017):", ["Revision 3 (June 2017)"]) == ()
    assert find_claim_words("Stated in Revision 3 (June 1987):", ["Revision 3 (June 2017)"]) == ("1987",)


def test_a_sentence_that_leaves_a_known_question_open_claims_nothing() -> None:
    known = ["What does section 5.2.5 of RFC 9999 require?", "Who built the mill?"]
    assert find_claim_words("What section 5.2.5 of RFC 9999 demands was not found in what was read.", known) == ()
    assert find_claim_words("What section 5.2.6 of RFC 9999 demands was not found.", known)
    assert find_claim_words("Section 5.2.5 of RFC 9999 demands a key.", known)
    assert find_claim_words("RFC 9999 was not found before 2019.", known)


@pytest.mark.parametrize(
    "sentence",
    [
        "The bridge at Arnholm was never opened.",
        "The drug Novel-7 was not found to reduce mortality at Arnholm.",
        "The bridge at Arnholm was not found in 1951.",
        "The bridge at Arnholm was not found in the river.",
        "The bridge at Arnholm remains open.",
        "The bridge at Arnholm is not settled.",
        "The cause at Arnholm remains unknown.",
        "The letter from Arnholm was never read.",
        "The bridge at Arnholm was not found in the documents of the treaty.",
    ],
)
def test_a_denial_about_the_world_still_needs_a_source(sentence: str) -> None:
    known = ["Was the bridge at Arnholm ever opened?", "Did Novel-7 reduce mortality at Arnholm before 1951?"]
    assert find_claim_words(sentence, known)


@pytest.mark.parametrize(
    "sentence",
    [
        "When the bridge at Arnholm was opened is not answered here.",
        "Whether Novel-7 reduced mortality at Arnholm remains unanswered.",
        "An opening of the bridge at Arnholm could not be found in the documents.",
        "The year of the bridge at Arnholm was not found in any of the cited sources.",
        "The opening of the bridge at Arnholm was nowhere found in any document.",
    ],
)
def test_what_was_not_found_while_reading_claims_nothing(sentence: str) -> None:
    known = ["Did Novel-7 reduce mortality at Arnholm?"]
    assert find_claim_words(sentence, known) == ()


def test_what_was_not_read_is_said_without_a_source() -> None:
    known = ("fixes of data corruption in the change log of Keeper after 1.1.11",)
    assert find_claim_words("The entries of the change log of Keeper after 1.1.11 were not read.", known) == ()
    assert find_claim_words("The entries of the change log of Otter after 1.1.11 were not read.", known)


def test_a_span_in_words_needs_a_source_and_one_day_in_a_story_does_not():
    assert find_claim_words("The sender is warned after one day.") == ("one day",)
    assert find_claim_words("One day this may change.") == ()


def test_a_name_may_begin_with_a_small_letter() -> None:
    assert find_names("Does the iPhone work with eSIM on macOS, or is nO such thing sO?") == ("iPhone", "eSIM", "macOS")
