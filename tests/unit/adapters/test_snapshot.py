"""Passages worth reading: those that share the rare words of what was searched for, in reading order."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from corrobora.adapters.library import select_passages
from corrobora.domain.evidence import Passage, PassageId, SourceId

WORDS = ["river", "flows", "north", "bridge", "stone", "1824", "mayor", "opened", "the", "of"]


def _passages(texts: list[str]) -> list[Passage]:
    return [Passage(PassageId(f"C{n}"), SourceId("S1"), text, n * 100, n * 100 + 50) for n, text in enumerate(texts)]


def test_the_passage_that_answers_is_chosen_from_many():
    texts = [f"The river flows north, part {n}." for n in range(50)]
    texts[33] = "The stone bridge was opened by the mayor in 1824."
    chosen = select_passages(_passages(texts), "When was the bridge over the river opened?", "")
    assert "C33" in [passage.id for passage in chosen]
    assert len(chosen) == 8


def test_the_snippet_breaks_ties_but_the_query_decides():
    texts = [f"Filler {n} without anything." for n in range(20)] + ["The bridge.", "The mayor spoke.", "The stone."]
    ids = [passage.id for passage in select_passages(_passages(texts), "bridge", "mayor stone", most=2)]
    assert "C20" in ids
    assert len(ids) == 2


def test_a_page_without_the_words_is_opened_at_its_beginning():
    chosen = select_passages(_passages([f"part {n}" for n in range(30)]), "bridge", "mayor")
    assert [passage.id for passage in chosen] == ["C0", "C1", "C2"]


def test_a_short_page_is_read_whole():
    assert len(select_passages(_passages(["a", "b", "c"]), "z", "")) == 3
    assert select_passages([], "z", "") == ()


@given(
    texts=st.lists(st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join), max_size=40),
    query=st.lists(st.sampled_from(WORDS), max_size=5).map(" ".join),
    most=st.integers(1, 12),
)
def test_chosen_passages_are_some_of_the_page_in_order(texts: list[str], query: str, most: int):
    passages = _passages(texts)
    chosen = select_passages(passages, query, "", most=most)
    places = [passages.index(passage) for passage in chosen]
    assert places == sorted(set(places))
    assert len(chosen) <= max(most, 3)
    assert bool(chosen) == bool(passages)
