"""Questions: what they are about, what they compare, what they want."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.plugins.growth import LINEAR, measure_growth

from corrobora.text.questions import (
    asks_for_duty,
    asks_for_several,
    asks_to_compare,
    find_alternatives,
    find_anchors,
    find_attributions,
    find_code,
    find_compared_sides,
    find_differing_sides,
    find_subjects,
    find_topic_stems,
    is_relational,
    split_case,
    split_parts,
    weigh_terms,
)


def test_sides_of_a_comparison():
    assert find_compared_sides("How did the rules change between the 2017 edition and the draft of 2022?") == (
        "the 2017 edition",
        "the draft of 2022",
    )
    assert find_compared_sides("How does the limit differ between Mill 4.3 and Mill 4.4?") == ("Mill 4.3", "Mill 4.4")
    assert find_compared_sides("Compare PostgreSQL and MySQL on licensing.") == ("PostgreSQL", "MySQL")
    assert find_compared_sides("What is heat?") == ()
    assert find_compared_sides("At which distance between the tracks and a release is a match applied?") == ()
    assert find_compared_sides("What is the difference between a lathe and a mill?") == ("a lathe", "a mill")
    assert find_compared_sides("How is it defined, and at which level must it be used or offered?") == ()
    assert find_compared_sides("How are leases stored, and does it offer a second server or DNS updates?") == ()
    assert find_compared_sides("Which river is longer, the Rhine or the Danube?") == ("the Rhine", "the Danube")
    assert find_alternatives("Which bridge is older, the Rialto Bridge or Tower Bridge?") == (
        "the Rialto Bridge",
        "Tower Bridge",
    )


def test_who_says_it_is_told_from_what_it_is_about():
    question = "According to Reuters, is SMS allowed under RFC 2119, as the ACME report says?"
    assert find_attributions(question) == ("Reuters", "RFC 2119", "ACME")
    assert find_anchors(question) == ("SMS",)
    assert find_subjects(question) == ("Reuters", "SMS", "RFC 2119", "ACME")


def test_the_topic_leaves_out_names_and_framing():
    read = weigh_terms("How did ACME guidance on kiln inspection change between the old edition and the draft?")
    assert read.topic == {"kiln", "inspect"}
    assert read.weights["kiln"] > read.weights["chang"] > read.weights["guidanc"] == 0, "it is a kind of document"
    assert find_topic_stems("How does heat differ?") == ("heat",)


def test_a_chain_of_names_is_known_by_its_few_words():
    assert is_relational("When did Ada Lovelace's mother die?")
    assert not is_relational("Is SMS acceptable as a second factor?")


def test_questions_about_duties_and_differences_are_known_by_their_words():
    assert asks_for_duty("What must a fitter inspect?")
    assert asks_to_compare("How does A differ from B? What is the difference?")
    assert not asks_for_duty("How many nests were counted?")
    assert not asks_to_compare("How do I compare two files?")


@given(st.text(max_size=200))
def test_any_text_can_be_read(text):
    read = weigh_terms(text)
    assert read.topic <= set(read.weights)
    find_compared_sides(text)
    find_anchors(text)
    asks_for_duty(text)
    asks_to_compare(text)


@pytest.mark.parametrize("unit", ["between ", "a, b or ", "compare x and ", "A "])
@pytest.mark.parametrize("find", [weigh_terms, find_compared_sides, find_attributions])
def test_hostile_questions_are_read_in_linear_time(find, unit):
    assert measure_growth(lambda size: find(unit * (size // len(unit))), 2_000) < LINEAR


def test_two_things_that_differ_are_the_sides():
    assert find_differing_sides("How do the opening dates of Hall 9 and Hall 10 differ?") == ("Hall 9", "Hall 10")
    assert find_differing_sides("How do oak and ash differ?") == ("oak", "ash")
    assert find_differing_sides("What do the rules and the guide say?") == ()


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        ("Who sails the ferry, and when?", ("Who sails the ferry, and when?",)),
        ("How many cards does it need, and which networks are set up?",
         ("How many cards does it need", "which networks are set up?")),
        ("Wie viele Karten braucht er, und welche Netze sind eingerichtet?",
         ("Wie viele Karten braucht er", "welche Netze sind eingerichtet?")),
        ("Which hosts are tried and for how long?", ("Which hosts are tried and for how long?",)),
        ("What does it say about how and why it fails?", ("What does it say about how and why it fails?",)),
        ("What are bread and butter?", ("What are bread and butter?",)),
    ],
)  # fmt: skip
def test_a_question_is_split_where_it_asks_again(question: str, parts: tuple[str, ...]) -> None:
    assert split_parts(question) == parts


def test_a_letter_that_is_a_word_of_the_language_is_no_code() -> None:
    assert find_code("¿Qué hace la opción -e y cómo se usa la tecla g?") == ("-e", "g")
    assert find_code("Which key is y?") == ("y",)


def test_names_belong_to_what_a_question_is_about() -> None:
    read = weigh_terms("Which oil does the Kestrel pump need at the Ardal works?")
    assert read.names <= read.topic
    assert read.names == {"kestrel", "ardal"}


def test_the_case_asked_about_is_searched_for_and_only_what_asks_says_what_is_wanted() -> None:
    question = "I changed the lock of the kiln shed. Is there any way to get my pots back?"
    asks, case = split_case(question)
    assert (asks, case) == ("Is there any way to get my pots back?", "I changed the lock of the kiln shed.")
    read = weigh_terms(question)
    assert read.topic == weigh_terms(asks).topic
    assert 0 < read.weights["lock"] < read.weights["pot"]
    assert not asks_to_compare(question)
    assert not asks_for_duty("The kiln must stay shut. Who opened it?")
    short = weigh_terms("The kiln smokes at night. Why?")
    assert {"kiln", "smoke", "night"} <= short.topic
    assert split_case("Where is the key?") == ("Where is the key?", "")
    assert split_case("Show the keys. Then the locks.") == ("Show the keys. Then the locks.", "")


def test_a_document_that_a_question_names_is_no_part_of_its_topic() -> None:
    assert not {"nv", "12"} & weigh_terms("Which oil does the pump need under NV 12?").topic


def test_options_after_a_colon_are_no_sides_that_are_compared() -> None:
    asked = "When are the log files deleted: at removal or at purge?"
    assert find_compared_sides(asked) == ()
    assert not asks_to_compare(asked)
    assert find_compared_sides("Which mill is older, Oldby or Newby?") == ("Oldby", "Newby")


@pytest.mark.parametrize(
    ("question", "several"),
    [
        ("Which values can the field have?", True),
        ("What are the six types of sails?", True),
        ("Which policies for accepting letters does the guild have?", True),
        ("Which version made it the default?", False),
        ("Which process is stopped first?", False),
        ("What does the status of a mill mean?", False),
        ("What happens in case of fire?", False),
        ("What is Breaks?", False),
        ("What draws rats?", False),
        ("What steps do I take?", True),
    ],
)
def test_what_asks_for_several_things(question: str, several: bool) -> None:
    assert asks_for_several(question) is several
