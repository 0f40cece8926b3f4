"""Decomposition: the questions that one question holds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.plugins.growth import LINEAR, measure_growth

from corrobora.analysts.extractive.clarify import split_question


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("How does heat move?", ("How does heat move?",)),
        (
            "我们刚买了一座新窑。窑的门什么时候可以打开？石头可以洗吗？",
            ("我们刚买了一座新窑。 窑的门什么时候可以打开？", "我们刚买了一座新窑。 石头可以洗吗？"),
        ),
        (
            "I lost the key of the kiln shed. Is there any way to get my pots back?",
            ("I lost the key of the kiln shed. Is there any way to get my pots back?",),
        ),
        (
            "My kiln stays warm for hours; which valve lets the heat out, and who may turn it?",
            (
                "My kiln stays warm for hours. which valve lets the heat out?",
                "My kiln stays warm for hours. Who may turn it (valve lets the heat out)?",
            ),
        ),
        (
            "How did the guild's rules on kiln loading, glaze safety and cooling change since 1990?",
            (
                "How did the guild's rules on kiln loading change since 1990?",
                "How did the guild's rules on kiln glaze safety change since 1990?",
                "How did the guild's rules on kiln cooling change since 1990?",
            ),
        ),
        ("When and where was Ada Lovelace born?", ("When was Ada Lovelace born?", "Where was Ada Lovelace born?")),
        (
            "Is wood acceptable as fuel under the code, and under which conditions?",
            (
                "Is wood acceptable as fuel under the code?",
                "Under which conditions is wood acceptable as fuel under the code?",
            ),
        ),
        (
            "Does the mill keep hulls by default, and which option removes them?",
            (
                "Does the mill keep hulls by default?",
                "Which option removes them (the mill keep hulls by default)?",
            ),
        ),
        (
            "Which is older, the Rialto Bridge or Tower Bridge?",
            ("Which is older, the Rialto Bridge or Tower Bridge?",),
        ),
        (
            "What did the paper on 3 May, 2021, and the one on 4 June say about glaze?",
            ("What did the paper on 3 May, 2021, and the one on 4 June say about glaze?",),
        ),
        (
            "How do potters choose between firing on time and keeping the glaze whole?",
            ("How do potters choose between firing on time and keeping the glaze whole?",),
        ),
        ("My kiln loses heat at night; what is advised?", ("My kiln loses heat at night; what is advised?",)),
        ("Which fuel and which wood does the kiln take?", ("Which fuel and which wood does the kiln take?",)),
        ("In a kiln log, how do I read the date?", ("In a kiln log, how do I read the date?",)),
        (
            "How do I move the grate to the left, when the lever is pressed?",
            ("How do I move the grate to the left, when the lever is pressed?",),
        ),
        ("Can you add oak, birch or beech support?", ("Can you add oak, birch or beech support?",)),
        ("Can the kiln remove tar? Soot? Resin?", ("Can the kiln remove tar? Soot? Resin?",)),
        ("What are the entities and the rules?", ("What are the entities and the rules?",)),
    ],
)
def test_the_parts_of_a_question_stand_alone(question, found):
    assert split_question(question) == found


@pytest.mark.parametrize(
    ("question", "second"),
    [
        ("Who wrote Lathe and when was it first released?", "When was it first released (Lathe)?"),
        ("Who originally wrote the lathe tool, and when was it released?", "When was it released (the lathe tool)?"),
        ("What causes the crash and how can it be avoided?", "How can it be avoided (the crash)?"),
        ("Who may use the lathe and what does it cost?", "What does it cost (the lathe)?"),
        (
            "What happens when --heat is low and does it crack the glaze bowls?",
            "does it crack the glaze bowls (--heat is low)?",
        ),
        ("How long is the warranty and what does it not cover?", "What does it not cover (the warranty)?"),
        ("How did guidance change and why did it?", "Why did it (guidance change)?"),
    ],
)
def test_the_topic_of_a_part_that_points_back_is_what_the_first_one_asks_about(question: str, second: str):
    assert split_question(question)[1] == second


def test_a_part_that_points_back_names_its_topic():
    first, second = split_question("Is wood acceptable as fuel? Did the draft change that?")
    assert first == "Is wood acceptable as fuel?"
    assert "wood acceptable as fuel" in second


def test_contrasted_clauses_are_parts():
    assert (
        len(
            split_question(
                "Does the north report say trade grew quickly, while the south report says exports fell sharply?"
            )
        )
        == 2
    )


@given(st.text(max_size=300), st.integers(1, 7))
def test_there_is_always_one_part_and_never_too_many(text, limit):
    found = split_question(text, limit=limit)
    assert 1 <= len(found) <= limit
    assert found == split_question(text, limit=limit)


@pytest.mark.parametrize("unit", ["a, ", "and what ", "what, ", "x and "])
def test_hostile_questions_are_split_in_linear_time(unit):
    assert measure_growth(lambda size: split_question(unit * (size // len(unit))), 2_000) < LINEAR


def test_a_second_question_word_asks_the_same_of_the_same():
    assert split_question("When was the hall built and by whom?") == (
        "When was the hall built?",
        "By whom was the hall built?",
    )
    assert split_question("Where was it sold, and why?")[1] == "Why was it sold?"


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("What is the difference between --heat and --heat-idle?", ("What is --heat?", "What is --heat-idle?")),
        ("How is a shrine different from a temple?", ("What is a shrine?", "What is a temple?")),
        ("How do the lathe and the mill differ?", ("What is the lathe?", "What is the mill?")),
        ("What is the difference between hard and soft links?", ("What are hard links?", "What are soft links?")),
    ],
)
def test_each_of_two_things_whose_difference_is_asked_for_is_asked_about(question: str, found: tuple[str, ...]):
    assert split_question(question) == found


@pytest.mark.parametrize(
    "question",
    [
        "What is the difference between release 1.2 and 1.3?",  # editions, whose statements are set side by side
        "What is the difference between the rules of 2017 and the draft?",
        "How did the difference between the lathe and the mill change?",
    ],
)
def test_a_change_between_editions_is_one_question(question: str):
    assert split_question(question) == (question,)


def test_a_circumstance_without_a_verb_is_asked_of_what_the_first_question_says() -> None:
    assert split_question("How long must the cake bake and at what temperature?") == (
        "How long must the cake bake?",
        "At what temperature must the cake bake?",
    )
    assert split_question("How many cards does it need, and why?")[1] == "Why? (How many cards does it need)"
