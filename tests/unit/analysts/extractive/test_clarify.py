"""Clarify without a model (TREE-2)."""

from __future__ import annotations

import pytest
from tests.unit.analysts.extractive.samples import QUESTION, brief, play

from corrobora.domain.plan import Brief, SubQuestion
from corrobora.roles.clarify import Asking, clarify


def test_a_question_becomes_a_brief_with_parts_subjects_and_years():
    scoping = play(clarify, Asking("root", brief()))
    (made,) = scoping.queries
    assert scoping.feasible
    assert [part.id for part in made.sub_questions] == [f"sq-{n}" for n in range(1, len(made.sub_questions) + 1)]
    assert (made.focus.since, made.focus.until) == (None, None)  # the years of a title restrict nothing
    assert made.question == QUESTION


def test_a_stated_period_is_the_focus():
    (made,) = play(clarify, Asking("root", Brief("How did kiln rules change between 2015 and 2021?"))).queries
    assert (made.focus.since, made.focus.until) == (2015, 2021)


def test_two_unrelated_questions_become_two_queries_and_ids_stay_unique():
    scoping = play(clarify, Asking("root", Brief("How do kilns hold heat? Which gulls nest in harbours?")))
    assert len(scoping.queries) == 2
    ids = [part.id for made in scoping.queries for part in made.sub_questions]
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("question", ["and what of it?", "tell me everything about art", "?? !!"])
def test_a_question_without_limits_or_content_is_refused_with_reasons(question):
    scoping = play(clarify, Asking("root", Brief(question)))
    assert not scoping.feasible
    assert scoping.reasons
    assert scoping.questions or scoping.narrower
    assert scoping.queries == ()


@pytest.mark.parametrize(
    "question",
    [
        "Does the manual say anything about backups?",
        "How do I catch the output (or anything that prints to the log)?",
        "How do I erase everything on a disk?",
        "What was the tallest tower in all of history?",
        "Who wrote the History of the World?",
    ],
)
def test_a_bounded_question_that_speaks_of_everything_is_asked(question: str):
    assert play(clarify, Asking("root", Brief(question))).feasible


def test_q20_500_questions_are_too_many_and_a_split_is_proposed():
    found = play(clarify, Asking("root", Brief("\n".join(f"What is the height of tower {n}?" for n in range(500)))))
    assert not found.feasible
    assert found.narrower


def test_too_many_parts_are_refused_with_narrower_questions():
    question = " ".join(f"Where is the town of Place{n} and who built it?" for n in "ABCDEFGH")
    scoping = play(clarify, Asking("root", Brief(question), max_sub_questions=4))
    assert not scoping.feasible
    assert len(scoping.narrower) > 1
    for narrower in scoping.narrower:
        assert play(clarify, Asking("root", Brief(narrower), max_sub_questions=4)).feasible


def test_a_given_brief_is_kept():
    given = Brief("What is a kiln?", sub_questions=(SubQuestion("sq-9", "What holds heat?"),), known_facts=("a",))
    (made,) = play(clarify, Asking("root", given)).queries
    assert made.sub_questions == given.sub_questions
    assert made.known_facts == ("a",)


@pytest.mark.parametrize(
    ("question", "topic"),
    [
        ("Tell me everything about the history of batteries for the whole of mankind", "batteries"),
        ("everything there is on kiln guards and lamps, please", "kiln guards and lamps"),
        ("I want to know all about the Harbour of Ardal?", "Harbour of Ardal"),
        ("Explain anything known about tides.", "tides"),
    ],
)
def test_narrower_questions_name_the_topic_in_words_that_stand_together(question, topic):
    offered = play(clarify, Asking("root", Brief(question))).narrower
    assert offered[0] == f"What is meant by {topic}?"
