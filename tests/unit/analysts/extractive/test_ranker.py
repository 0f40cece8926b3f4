"""Definitions: what is to be explained, and which sentence explains it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corrobora.analysts.extractive.ranker import (
    FEATURES,
    Sentence,
    find_explained_term,
    is_question,
    rank_sentences,
    read_weights,
    score_explanation,
)
from corrobora.text.tokens import stem_text


@pytest.mark.parametrize(
    ("question", "thing"),
    [
        ("What is a kiln?", "kiln"),
        ("What does the flue do?", "flue"),
        ("What does TTL stand for?", "TTL"),
        ("Tell me about the history of the lighthouse", "lighthouse"),
        ("What do the documents say about glazes?", "glazes"),
        ("Explain what a saggar is", "saggar"),
        ("What is the length of the kiln?", ""),
        ("How hot is a kiln?", ""),
        ("What are the risks and benefits of glazes?", ""),
    ],
)
def test_what_is_to_be_explained_is_read_from_the_question(question: str, thing: str) -> None:
    assert find_explained_term(question) == frozenset(stem_text(thing))


@pytest.mark.parametrize(
    ("text", "much"),
    [
        ("A kiln is an oven for pottery.", 1.0),
        ("A kiln (or furnace) is the oven of a potter.", 1.0),
        ("For the purposes of this guide, a kiln is the oven of a potter.", 1.0),
        ("Kiln: an oven for pottery.", 1.0),
        ("A kiln dries clay.", 0.6),
        ("A kiln is hot.", 0.0),
        ("The oven stands next to the kiln.", 0.0),
        ("", 0.0),
    ],
)
def test_a_sentence_explains_a_thing_by_what_it_is_or_does(text: str, much: float) -> None:
    assert score_explanation(text, frozenset(stem_text("kiln"))) == much


def test_nothing_explains_nothing() -> None:
    assert score_explanation("A kiln is an oven.", frozenset()) == 0.0


def test_a_sentence_that_names_a_thing_or_says_which_it_is_tells_of_it():
    thing = frozenset({"kilnid"})
    assert score_explanation("Each tray has a number that is never used again, called the “kilnid”.", thing) > 0
    assert score_explanation("Trays have a kilnid which is unique in the hall.", thing) > 0
    assert score_explanation("Two kilnids were lost in spring.", thing) == 0


@pytest.mark.parametrize(
    ("question", "telling", "other"),
    [
        ("Was ist ein Brennofen?", "Ein Brennofen ist ein Kasten, der Hitze hält.", "Der Brennofen ist seit Mai kalt."),
        ("Qu'est-ce qu'un four ?", "Un four est une boîte qui garde la chaleur.", "Le four a coûté cher."),
        ("¿Qué es el horno?", "La caja de calor también es conocida como horno.", "El horno se abre por la tarde."),
    ],
)
def test_other_languages_ask_and_tell_what_a_thing_is(question, telling, other):
    thing = find_explained_term(question)
    assert thing
    assert score_explanation(telling, thing) > score_explanation(other, thing)


def test_what_is_said_of_the_use_of_a_thing_does_not_explain_it():
    thing = frozenset({"kiln"})
    assert score_explanation("The use of a kiln is a craft.", thing) < score_explanation(
        "A kiln is a box that holds heat.", thing
    )


def sentence(text: str, passage: str = "C1", score: float = 0.0) -> Sentence:
    return Sentence(text, stem_text(text), frozenset(), passage, score=score)


def worths(question: str, *sentences: Sentence) -> list[float]:
    return [one.worth for one in rank_sentences(question, sentences, {})]


def test_there_is_a_weight_for_each_feature() -> None:
    assert {len(weights) for weights in read_weights().values()} == {len(FEATURES) + 1}


def test_what_shares_the_rare_words_of_a_question_comes_first() -> None:
    near, far = worths("How hot is the kiln?", sentence("The kiln is hot."), sentence("Cows graze.", "C2"))
    assert near > far


def test_a_result_comes_before_an_aim() -> None:
    aim, result = worths(
        "Does clay reduce heat?",
        sentence("The aim was to determine whether clay reduces heat."),
        sentence("Clay reduced heat significantly.", "C2"),
    )
    assert result > aim


def test_the_better_passage_of_a_search_counts() -> None:
    first, second = worths("Is it hot?", sentence("It is hot.", "C1", 2.0), sentence("It is hot.", "C2", 1.0))
    assert first > second


@given(st.lists(st.text(max_size=60), max_size=5), st.text(max_size=60))
def test_any_text_has_a_worth_between_none_and_one(texts: list[str], question: str) -> None:
    assert all(0.0 <= worth <= 1.0 for worth in worths(question, *map(sentence, texts)))


def test_a_question_ends_with_its_mark() -> None:
    assert is_question("Is it hot?")
    assert not is_question("It is hot.")
