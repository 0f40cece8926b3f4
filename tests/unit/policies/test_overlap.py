"""Overlap: near-duplicate queries, changed terms, duplicate tasks, token overlap."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from corrobora.policies.queries import (
    changed_share,
    compare_terms,
    is_near_duplicate,
    is_reformulated,
    select_fresh_queries,
)

WORDS = st.lists(st.sampled_from("harbour steamer ardal fish bergen railway salt the of".split()), max_size=6).map(
    " ".join
)


def test_triplet_32_half_of_the_terms_must_change() -> None:
    past = ["harbour steamer fish salt"]
    assert changed_share("harbour steamer railway Bergen", past) == 0.5
    assert is_reformulated("harbour steamer railway Bergen", past)
    assert not is_reformulated("harbour steamer fish Bergen", past)
    assert changed_share("anything", []) == 1.0


def test_m14_the_same_topic_again_is_no_reformulation() -> None:
    assert not is_reformulated("The harbour of Ardal?", ["railways", "harbour Ardal"])
    assert not is_reformulated("", ["x"])


def test_stop_words_and_endings_make_no_other_query() -> None:
    assert is_near_duplicate("the harbours of Ardal", "harbour in Ardal")
    assert not is_near_duplicate("harbour of Ardal", "harbour of Bergen")


def test_fresh_queries_are_new_against_the_past_and_one_another() -> None:
    asked = ["Ardal harbour", "harbours of Ardal", "Bergen fish", "of the"]
    assert select_fresh_queries(asked, ["fish in Bergen"]) == ("Ardal harbour", "of the")


@given(WORDS, WORDS)
def test_likeness_is_symmetric_and_a_share(one: str, other: str) -> None:
    assert compare_terms(one, other) == compare_terms(other, one)
    assert 0.0 <= compare_terms(one, other) <= 1.0
    assert compare_terms(one, one) == 1.0


@given(WORDS, st.lists(WORDS, max_size=4), WORDS)
def test_more_past_never_makes_a_query_newer(query: str, past: list[str], more: str) -> None:
    assert changed_share(query, [*past, more]) <= changed_share(query, past)
    assert changed_share(query, [*past, query]) == 0.0


@given(st.lists(WORDS, max_size=6), st.lists(WORDS, max_size=3))
def test_fresh_queries_hold_no_near_duplicates(queries: list[str], past: list[str]) -> None:
    kept = select_fresh_queries(queries, past)
    for at, query in enumerate(kept):
        assert not any(is_near_duplicate(query, each) for each in (*past, *kept[:at]))
