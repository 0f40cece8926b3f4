"""The answer test: one statement holds the topic, the names and the kind of answer that a question asks for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corrobora.text.answer_match import Lack, check_answer, covers_both_sides, is_answered, measure_standing
from corrobora.text.answers import classify_question
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
        ("Which student painted the mill?", "A student painted the mill twice.", Lack.KIND),
        ("Which student painted the mill?", "The student Ruth Holt painted the mill.", Lack.NOTHING),
        ("How often must the filter of the kiln be cleaned?", "Clean the filter of the kiln weekly.", Lack.KIND),
        ("What is the policy on visitors in the kiln hall?", "Visitors must leave the kiln hall at six.", Lack.NOTHING),
        ("Are kilns required to use valve V-512?", "Kilns MAY use valve V-512 for draught.", Lack.NOTHING),
        ("Are kilns required to use valve V-512?", "Kilns use valve V-512 for draught.", Lack.KIND),
        ("What is the maximum size of a kiln file?", "The maximum size of a kiln file is 128 MiB.", Lack.NOTHING),
        ("What is the maximum size of a kiln file?", "The size of a kiln file is 128 MiB.", Lack.KIND),
        ("What is the maximum size of a kiln file?", "The maximum size of a kiln file is 3 hours.", Lack.KIND),
        ("What changed in Kilnlib 2.3?", "Kilnlib 2.2 changed the default fuel.", Lack.NAME),
    ],
)
def test_what_a_statement_lacks(question: str, statement: str, lack: Lack) -> None:
    assert check_answer(question, statement).lack is lack


def test_a_name_in_the_case_asked_about_need_not_be_named() -> None:
    said = "The pots are lifted out with long tongs."
    assert check_answer("We use a Brandt kiln. How are the pots lifted out?", said).passed
    assert check_answer("How are the pots of a Brandt kiln lifted out?", said).what == "Brandt"
    asks = classify_question("I ask when it was built. How long is it?")
    assert asks.kinds == classify_question("How long is it?").kinds


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


def test_the_year_of_a_question_is_no_date_that_answers_it() -> None:
    question = "When did the council of 1874 open the harbour of Ardal?"
    assert check_answer(question, "The council of 1874 opened the harbour of Ardal.").lack is Lack.KIND
    assert check_answer(question, "The council of 1874 opened the harbour of Ardal in 1876.").passed


ASKED = "How high is the tower of Oldby?"
ANSWER = ("The tower of Oldby is 41 metres high.", "Oldby")
ASIDE = tuple((f"The market of Oldby sells {what}.", "Oldby") for what in ("bread", "fish", "wool", "salt", "tin"))


def test_a_question_is_answered_by_a_statement_that_stands_above_the_others() -> None:
    assert is_answered(ASKED, (ANSWER, *ASIDE), 0.99)
    assert not is_answered(ASKED, ASIDE, 0.99), "none stands above the others"
    assert not is_answered(ASKED, (ANSWER, *ASIDE), 0.01), "what is searched is hardly likely to answer it"
    assert not is_answered(ASKED, (), 0.99)


def test_no_question_on_code_is_answered_by_what_is_said_of_other_code() -> None:
    asked, above = "What does the set -e option of the mill shell do?", "Options of the set command of the mill shell"
    own = ("-e Exit the mill shell if a command does not set its wheel.", above)
    others = tuple((f"If the {each} option is set, the mill shell does what -e does.", above) for each in ("-a", "-b"))
    assert is_answered(asked, (own, *others, *ASIDE), 0.99)
    assert not is_answered(asked, (*others, *ASIDE), 0.99)
    assert not is_answered("Does the mill shell obey TIDE/2?", (("The mill shell obeys TIDE.", above), *ASIDE), 0.99)


def test_where_nothing_rates_a_question_the_statement_must_hold_most_of_it() -> None:
    assert is_answered(ASKED, (ANSWER,), None)
    assert not is_answered("Wie hoch ist der Turm der Burg von Oldby?", (ANSWER, *ASIDE), 0.99), "no English, no rating"
    assert not is_answered("How high is the northern tower of Oldby castle?", (ANSWER,), None)


def test_how_statements_stand_to_a_question_does_not_depend_on_their_order() -> None:
    one, other = measure_standing(ASKED, (ANSWER, *ASIDE)), measure_standing(ASKED, (*ASIDE, ANSWER))
    assert one == pytest.approx(other)
    assert one.share == pytest.approx(1.0)
    assert one.kind == 1.0
    assert one.topic == pytest.approx(1.0)
    assert measure_standing(ASKED, ASIDE).kind < 1.0
    assert measure_standing(ASKED, ASIDE).topic < 1.0


@pytest.mark.parametrize(
    ("statement", "passed"),
    [
        ("The ferry warns its passengers if the bridge is closed.", True),
        ("The ferry warns its passengers (24h before the bridge is closed).", True),
        ("The ferry warns its passengers of the bridge with a bell.", False),
    ],
)
def test_when_something_happens_in_general_is_told_by_a_condition_or_a_span(statement: str, *, passed: bool):
    assert check_answer("When does the ferry warn its passengers of a bridge?", statement).passed is passed
    assert not check_answer("When did the ferry warn its passengers of a bridge?", statement).passed


@pytest.mark.parametrize(
    ("question", "statement", "heading", "passed"),
    [
        ("When was mill 1.4.4 released?", "The gear is oiled.", "mill news > VERSION 1.4.4 (Jun 12 2021)", True),
        ("When was mill 1.4.4 released?", "The gear is oiled.", "mill news > VERSION 1.4.5 (Jul 12 2021)", False),
        ("Which release dropped the copper hopper?", "Dropped the copper hopper.", "News > 2.3.1", True),
        ("Which release dropped the copper hopper?", "Dropped the copper hopper.", "News", False),
        ("Which release dropped the copper hopper?", "Oiled the gear.", "News > 2.3.1", False),
    ],
)
def test_a_heading_of_a_change_log_gives_release_and_date(
    question: str, statement: str, heading: str, *, passed: bool
) -> None:
    assert check_answer(question, statement, heading).passed is passed


def test_a_side_that_is_only_referred_to_is_no_second_side():
    question = "How does it repair missing fragments, and how does this differ from replication?"
    assert covers_both_sides(question, ("The fragments are repaired from surviving ones, unlike in replication.",))


def test_no_single_statement_tells_that_a_list_is_whole_and_one_must_pass_by_itself() -> None:
    above = "The tower of Oldby"
    rows = (("The tower of Oldby Castle has three bells: Anna, Bo and Cora.", above), *ASIDE)
    assert not is_answered("Which bells does the tower of Oldby Castle have?", rows, 0.99)
    assert is_answered(ASKED, (ANSWER, *ASIDE), 0.99)
    assert not is_answered(ASKED.replace("Oldby", "Newby"), (ANSWER, *ASIDE), 0.99)


def test_a_question_for_a_person_is_answered_by_a_full_name_only() -> None:
    asked = "Who keeps the tower of Oldby?"
    assert is_answered(asked, (("The tower of Oldby is kept by Marta Lind.", "Oldby"), *ASIDE), 0.99)
    assert not is_answered(asked, (("The tower of Oldby keeps the bells of Quarrywood.", "Oldby"), *ASIDE), 0.99)
