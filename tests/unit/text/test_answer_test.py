"""The answer test: one statement holds the topic, the names and the kind of answer that a question asks for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corrobora.text.answer_test import Lack, check_answer, covers_both_sides
from corrobora.text.vocabulary import Equivalence


@pytest.mark.parametrize(
    ("question", "statement", "lack"),
    [
        ("How high is the tower of Oldby?", "The tower of Oldby is 41 metres high.", Lack.NOTHING),
        ("How high is the tower of Oldby?", "The tower of Oldby is very high.", Lack.KIND),
        ("How high is the tower of Oldby?", "The tower of Newby is 30 metres high.", Lack.NAME),
        ("How high is the tower of Oldby?", "Bread in Oldby costs 3 euros.", Lack.TOPIC),
        ("When was the harbour of Ardal opened?", "The harbour of Ardal was opened in 1874.", Lack.NOTHING),
        ("When was the harbour of Ardal opened?", "The harbour of Ardal was opened by a queen.", Lack.KIND),
        ("Who painted the mill?", "The mill was painted by Ruth Holt.", Lack.NOTHING),
        ("Who painted the mill?", "The mill was painted twice.", Lack.KIND),
        ("How often must the filter of the kiln be cleaned?", "Clean the filter of the kiln weekly.", Lack.KIND),
        ("What is the policy on visitors in the kiln hall?", "Visitors must leave the kiln hall at six.", Lack.NOTHING),
        ("Are kilns required to use valve V-512?", "Kilns MAY use valve V-512 for draught.", Lack.NOTHING),
        ("Are kilns required to use valve V-512?", "Kilns use valve V-512 for draught.", Lack.KIND),
        ("What changed in Kilnlib 2.3?", "Kilnlib 2.2 changed the default fuel.", Lack.NAME),
    ],
)
def test_what_a_statement_lacks(question: str, statement: str, lack: Lack) -> None:
    assert check_answer(question, statement).lack is lack


def test_a_name_may_stand_elsewhere_in_the_source_and_the_topic_in_a_heading() -> None:
    question = "How high is the tower of Oldby?"
    assert check_answer(question, "The tower is 41 metres high.", "", "Oldby guide").passed
    assert check_answer(question, "This tower is 41 metres high.", "Oldby > Buildings").passed
    assert not check_answer(question, "It was built of granite.", "Oldby > How high the tower is").passed


def test_what_the_sources_call_a_thing_counts() -> None:
    question = "How long must a password be?"
    said = "Memorized secrets shall be at least 8 characters long."
    assert not check_answer(question, said).passed
    assert check_answer(question, said, pairs=(Equivalence("memorized secrets", "password"),)).passed


def test_a_comparison_that_names_its_sides_needs_both() -> None:
    question = "How do Hall 9 and Hall 10 differ?"
    assert covers_both_sides(question, ("Hall 9 is old.", "Hall 10 is new."))
    assert not covers_both_sides(question, ("Hall 9 is old.",))
    assert covers_both_sides("What changed?", ())


@given(st.text(max_size=80), st.text(max_size=120), st.text(max_size=40))
def test_any_text_can_be_tested(question: str, statement: str, context: str) -> None:
    found = check_answer(question, statement, context)
    assert 0.0 <= found.share <= 1.0
    assert found.passed == (found.lack is Lack.NOTHING)
