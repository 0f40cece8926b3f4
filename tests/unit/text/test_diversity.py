"""Diversity: relevance against repetition."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from corrobora.text.ranking import jaccard_similarity, select_diverse_items

sets = st.frozensets(st.sampled_from("abcdef"))


@given(sets, sets)
def test_likeness_is_symmetric_and_bounded(a, b):
    assert jaccard_similarity(a, b) == jaccard_similarity(b, a)
    assert 0.0 <= jaccard_similarity(a, b) <= 1.0


def test_a_repetition_comes_after_something_new():
    items = [frozenset("abc"), frozenset("abcd"), frozenset("xyz")]
    worth = {items[0]: 1.0, items[1]: 0.95, items[2]: 0.6}
    chosen = select_diverse_items(items, lambda i: worth[i], jaccard_similarity, limit=2, trade=0.5)
    assert chosen == (items[0], items[2])


@given(st.lists(sets, max_size=8), st.integers(0, 10))
def test_every_item_is_chosen_at_most_once(items, limit):
    chosen = select_diverse_items(items, len, jaccard_similarity, limit=limit)
    assert len(chosen) == min(limit, len(items))
    assert sorted(map(sorted, chosen)) == sorted(map(sorted, chosen))
