"""Ranker: which sentence of some passages a question is about."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from corrobora.analysts.extractive.ranker import (
    FEATURES,
    Sentence,
    is_question,
    rank_sentences,
    read_weights,
)
from corrobora.text.tokens import stem_text


def sentence(text: str, passage: str = "C1", score: float = 0.0) -> Sentence:
    return Sentence(text, stem_text(text), frozenset(), passage, score=score)


def worths(question: str, *sentences: Sentence) -> list[float]:
    return [one.worth for one in rank_sentences(question, sentences, {})]


def test_there_is_a_weight_for_each_feature() -> None:
    assert {len(weights) for weights in read_weights().values()} == {len(FEATURES) + 1}


def test_what_shares_the_rare_words_of_a_question_comes_first() -> None:
    near, far = worths("How hot is the kiln?", sentence("The kiln is hot."), sentence("Cows graze.", "C2"))
    assert near > far


def test_the_date_of_a_source_or_heading_chooses_between_statements() -> None:
    june = replace(sentence("The badge stands at half."), source="Minutes > 2019-06-13")
    july = replace(sentence("The badge stands at full.", "C2"), source="Minutes > 2019-07-11")
    first, second = worths("How was the badge in June 2019?", june, july)
    assert first > second
    first, second = worths("How was the badge on July 14th?", replace(june, place="7/14/2019"), july)
    assert first > second


def test_the_better_passage_of_a_search_counts() -> None:
    first, second = worths("Is it hot?", sentence("It is hot.", "C1", 2.0), sentence("It is hot.", "C2", 1.0))
    assert first > second


@given(st.lists(st.text(max_size=60), max_size=5), st.text(max_size=60))
def test_any_text_has_a_worth_between_none_and_one(texts: list[str], question: str) -> None:
    assert all(0.0 <= worth <= 1.0 for worth in worths(question, *map(sentence, texts)))


def test_a_heading_that_the_question_names_counts() -> None:
    text, heading = "It takes two hours.", frozenset(stem_text("Cleaning the kiln"))
    below, elsewhere = worths(
        "How long is the cleaning of the kiln?",
        replace(sentence(text), heading=heading, above=heading),
        replace(sentence(text, "C2"), heading=frozenset(stem_text("Parking"))),
    )
    assert below > elsewhere


def test_a_question_ends_with_its_mark() -> None:
    assert is_question("Is it hot?")
    assert not is_question("It is hot.")


def test_what_defines_the_term_that_is_asked_about_comes_before_what_mentions_it() -> None:
    text = "It sets the size of the bowl for all chunks."
    defining, plain, other = (
        replace(sentence(text, passage), term=term)
        for passage, term in (("C1", "chunk-size"), ("C2", ""), ("C3", "layout"))
    )
    first, second, third = worths("What is the chunk size?", defining, plain, other)
    assert first > second > third


def test_code_counts_as_it_is_spelled_and_an_entry_by_the_option_that_it_is_about() -> None:
    texts = ["Set -V to leave it.", "Set -v to leave it."]
    assert worths("What does -V do?", *map(sentence, texts))[0] > worths("What does -v do?", *map(sentence, texts))[0]
    own, other = worths(
        "What does the option --keep-last do?",
        replace(sentence("It keeps the last one."), term="--keep-last N"),
        replace(sentence("It keeps the last one.", "C2"), term="--keep-within [--keep-last N]"),
    )
    assert own > other


def test_a_word_is_known_however_it_is_spelled() -> None:
    for asked, said in (
        ("Which user name opens the mill?", "The username is miller."),
        ("Which username opens the mill?", "The user name is miller."),
        ("What are the four sails?", "There are 4 things: Anna, Bo, Cora, Dan."),
    ):
        near, far = worths(asked, sentence(said), sentence("It is closed on that day.", "C2"))
        assert near > 1.2 * far, asked
