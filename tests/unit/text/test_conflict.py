"""Conflict: what differs between two statements about the same thing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corrobora.text.comparison import (
    Aspect,
    compare_topics,
    find_difference,
    find_differences,
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
            "open -> not open",
        ),
        (
            "Quiet hours are from 22:00 to 06:00 on weekdays.",
            "Quiet hours are from 21:00 to 07:00 on weekdays.",
            Aspect.QUANTITY,
            "22:00 -> 21:00",
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


@pytest.mark.parametrize(
    "other",
    [
        "The northern path has 4 bridges and 7 gates; the southern path has 3 bridges.",
        "Quiet hours are from 22:00 to 06:00 in the week, and on Sundays the yard stays quiet from 13:00 to 15:00.",
        "On weekdays, from 22:00 until 06:00, are quiet hours.",
    ],
)
def test_several_amounts_of_one_kind_differ_only_in_the_same_words_and_order(other):
    quiet = parse_statement("Quiet hours are from 22:00 to 06:00 on weekdays.")
    assert find_difference(quiet, parse_statement(other)) is None


def test_spelling_and_wording_are_no_difference():
    for one, other in (
        (
            "The gate is closed by the night watchman every evening.",
            "The gate is closed by the night porter every evening.",
        ),
        ("The guild reads the black list once in a month.", "The guild reads the blocklist once in a month."),
    ):
        assert find_difference(parse_statement(one), parse_statement(other)) is None


def test_two_numbers_of_different_things_are_no_difference():
    one = "The harbour of the old town has 8 boats and a crane."
    assert find_difference(parse_statement(one), parse_statement(one.replace("8 boats", "9 lamps"))) is None
    found = find_difference(parse_statement(one), parse_statement(one.replace("8 boats", "nine boats")))
    assert found is not None
    assert (found.aspect, found.text) == (Aspect.QUANTITY, "8 boats -> nine boats")
    assert (
        find_difference(parse_statement("A dose is 5 mg a day."), parse_statement("A dose is 0.005 g a day.")) is None
    )


def test_items_of_a_list_are_compared_within_their_lead_in():
    one = "Drivers of the night bus SHOULD NOT:\n- clean the seats weekly\n- sell tickets"
    other = "Drivers of the night bus SHALL NOT:\n- clean the seats weekly\n- wash windows"
    told = {
        (each.text, each.one, each.other)
        for each in find_differences(one, other)
        if each.one == "clean the seats weekly"
    }
    assert told == {("SHOULD NOT -> SHALL NOT", "clean the seats weekly", "clean the seats weekly")}


def test_a_clause_is_compared_with_the_clause_it_answers():
    one = "The gate of the mill is open in summer, and the wheel of the mill is not turned in winter."
    other = "The gate of the mill is open in summer, and the wheel of the mill is turned in winter."
    found = find_difference(parse_statement(one), parse_statement(other))
    assert found is not None
    assert found.aspect is Aspect.NEGATION
    assert (found.one, found.other) == (one, other)


sentence = st.lists(
    st.sampled_from("boiler must not should hold 8 12 bar pressure gate never may".split()), max_size=12
)


@given(sentence, sentence)
def test_likeness_is_symmetric_and_nothing_differs_from_itself(a, b):
    one, other = parse_statement(" ".join(a)), parse_statement(" ".join(b))
    assert compare_topics(one, other) == compare_topics(other, one)
    assert find_difference(one, one) is None


def test_of_two_quotes_the_sentences_that_differ_are_told_apart() -> None:
    one, other = "The oven is red. It must be shut at night.", "It may be shut at night. The oven is blue."
    assert find_differing_sentences(one, other, "must -> may") == (
        "It must be shut at night.",
        "It may be shut at night.",
    )
    same = (
        "The door must be shut. The oven must be shut at night.",
        "The oven may be shut at night. The door may be shut.",
    )
    assert (
        find_differing_sentences(*same, "must -> may", "The oven must be shut at night.")[1]
        == "The oven may be shut at night."
    )
    assert find_differing_sentences(one, other, "no such difference") == (one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Lamp number 3 uses 5 W at night.", "Lamp number 4 uses 6 W at night."),
        ("Lamp number 3 hangs in the hall of the mill.", "Lamp number 4 hangs in the hall of the mill."),
        ("Lamp 3 in the hall uses 5 W at night.", "Lamp 4 in the hall uses 6 W at night."),
        ("Room 12 seats 40 people.", "Room 14 seats 60 people."),
        ("Beacon no. 7 flashes every 5 seconds.", "Beacon no. 9 flashes every 10 seconds."),
        ("Step 3 must be repeated after a failure.", "Step 4 must not be repeated after a failure."),
        ("Tank B holds 500 litres of water.", "Tank C holds 700 litres of water."),
        ("On channel 5 the limit is 20 W.", "On channel 7 the limit is 23 W."),
        ("Lamp #3 was inspected on 2024-05-03.", "Lamp #4 was inspected on 2024-06-03."),
    ],
)
def test_things_that_a_number_or_letter_tells_apart_do_not_contradict_each_other(one: str, other: str) -> None:
    assert not find_differences(one, other)


@pytest.mark.parametrize(
    ("one", "other", "told"),
    [
        ("Lamp number 3 uses 5 W at night.", "Lamp number 3 uses 6 W at night.", "5 W -> 6 W"),
        (
            "The limit 64 characters holds for names.",
            "The limit 72 characters holds for names.",
            "64 characters -> 72 characters",
        ),
        (
            "A name shall be stored as section 5 tells.",
            "A name shall not be stored as section 6 tells.",
            "shall -> shall not",
        ),
    ],
)
def test_a_number_after_a_noun_hides_no_difference_of_one_thing(one: str, other: str, told: str) -> None:
    assert told in [each.text for each in find_differences(one, other)]
