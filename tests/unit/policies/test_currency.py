"""Currency: when the time of an answer matters, and the words of time that a query then holds."""

from __future__ import annotations

import pytest

from corrobora.policies.queries import asks_about_present, choose_time_words, has_time_words


@pytest.mark.parametrize(
    "question",
    [
        "What is the latest release of the ferry timetable?",
        "Who currently runs the ferry?",
        "Which rules are in force for cranes?",
        "What is the state-of-the-art in fog horns?",
        "Who is the mayor now?",
    ],
)
def test_triplet_a_question_that_asks_for_now_needs_latest(question: str) -> None:
    assert asks_about_present(question)
    assert choose_time_words(question, None, None) == "latest"


@pytest.mark.parametrize(
    "question", ["How tall is the lighthouse?", "What was the current rate in 1999?", "Do they know the answer?"]
)
def test_triplet_time_that_does_not_matter_or_is_named_adds_nothing(question: str) -> None:
    assert choose_time_words(question, None, None) == ""


@pytest.mark.parametrize(
    ("since", "until", "words"),
    [(1902, 1902, "1902"), (1902, 1905, "1902 to 1905"), (1902, None, "since 1902"), (None, 1905, "until 1905")],
)
def test_triplet_a_given_period_comes_before_latest(since: int | None, until: int | None, words: str) -> None:
    assert choose_time_words("Who currently runs the ferry?", since, until) == words


def test_triplet_a_query_with_a_year_or_a_word_of_recency_is_dated() -> None:
    assert has_time_words("ferry owners 2025")
    assert has_time_words("current ferry owners")
    assert not has_time_words("ferry owners")
