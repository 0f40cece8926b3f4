"""Rewording: at least half of the terms are new, or nothing new is left."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from corrobora.policies.queries import (
    add_query,
    is_reformulated,
    make_fallback_query,
    reword_query,
    split_content_words,
)

WORDS = st.lists(st.sampled_from("harbour crane load rule keeper tower lamp dam gate".split()), min_size=1, max_size=6)


@given(WORDS, st.lists(WORDS, max_size=4))
def test_triplet_half_of_the_terms_change_against_every_past_query(words: list[str], past: list[list[str]]) -> None:
    before = [" ".join(words), *(" ".join(each) for each in past)]
    assert is_reformulated(reword_query(before[0], before), before)


def test_learned_words_come_first() -> None:
    assert "mooring" in reword_query("harbour crane load", ["harbour crane load"], ["mooring ring"])


def test_a_query_that_is_new_enough_stays() -> None:
    assert reword_query("harbour crane", ["tower lamp"]) == "harbour crane"


def test_timed_15_fallbacks() -> None:
    question = "How often must the harbour cranes of Brenhaven be inspected?"
    assert make_fallback_query(question, "as_asked") == question
    assert len(split_content_words(make_fallback_query(question, "broaden"))) < len(split_content_words(question))
    assert "jib" in make_fallback_query(question, "synonyms", ["jib"])


def test_a_further_query_takes_the_last_place_and_never_repeats() -> None:
    assert add_query(["a lamp", "a tower"], "the dam", [], most=2) == ("a lamp", "the dam")
    assert add_query(["a lamp"], "lamp", [], most=3) == ("a lamp",)
