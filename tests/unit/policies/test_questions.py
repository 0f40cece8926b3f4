"""Questions: what they are about, what they compare, what they want."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corrobora.policies.questions import (
    alternatives,
    anchors,
    attributions,
    differing,
    expectation,
    of_year,
    relational,
    sides,
    subjects,
    topic_stems,
    weighed,
)


def test_sides_of_a_comparison():
    assert sides("How did the rules change between the 2017 edition and the draft of 2022?") == (
        "the 2017 edition",
        "the draft of 2022",
    )
    assert sides("Compare PostgreSQL and MySQL on licensing.") == ("PostgreSQL", "MySQL")
    assert sides("What is heat?") == ()
    assert alternatives("Which bridge is older, the Rialto Bridge or Tower Bridge?") == (
        "the Rialto Bridge",
        "Tower Bridge",
    )


def test_who_says_it_is_told_from_what_it_is_about():
    question = "According to Reuters, is SMS allowed under RFC 2119, as the ACME report says?"
    assert attributions(question) == ("Reuters", "RFC 2119", "ACME")
    assert anchors(question) == ("SMS",)
    assert subjects(question) == ("Reuters", "SMS", "RFC 2119", "ACME")


def test_the_topic_leaves_out_names_and_framing():
    read = weighed("How did ACME guidance on kiln inspection change between the old edition and the draft?")
    assert read.topic == {"kiln", "inspect"}
    assert read.weights["kiln"] > read.weights["chang"]
    assert topic_stems("How does heat differ?") == ("heat",)


def test_a_chain_of_names_is_known_by_its_few_words():
    assert relational("When did Ada Lovelace's mother die?")
    assert not relational("Is SMS acceptable as a second factor?")


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("What must a fitter inspect?", "obligation"),
        ("How many nests were counted?", "number"),
        ("When was it built?", "date"),
        ("Who built it?", "name"),
        ("Why did it fall?", "reason"),
        ("Under which conditions is it allowed?", "condition"),
        ("How does A differ from B? What is the difference?", "comparison"),
    ],
)
def test_the_kind_of_answer_is_read_from_the_words(question, kind):
    assert getattr(expectation(question), kind)


@given(st.text(max_size=200))
def test_any_text_can_be_read(text):
    read = weighed(text)
    assert read.topic <= set(read.weights)
    sides(text)
    anchors(text)
    expectation(text)


@pytest.mark.parametrize("hostile", ["between " * 5_000, "a, b or " * 5_000, "compare x and " * 4_000, "A " * 20_000])
def test_hostile_questions_are_read_to_the_end(hostile):
    weighed(hostile[:20_000])
    sides(hostile[:20_000])
    attributions(hostile[:20_000])


def test_two_things_that_differ_are_the_sides():
    assert differing("How do the opening dates of Hall 9 and Hall 10 differ?") == ("Hall 9", "Hall 10")
    assert differing("How do oak and ash differ?") == ("oak", "ash")
    assert differing("What do the rules and the guide say?") == ()


def test_the_year_of_a_question_counts_and_another_speaks_against():
    asked = "Who kept the kiln in 2010?"
    texts = ("Ann kept it from April 2010 on.", "Bo kept it.", "Cid kept it in 2004.")
    assert sorted(texts, key=lambda text: -of_year(asked, text)) == list(texts)
