"""Relevance: how far a sentence speaks to a question."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from corrobora.analysts.extractive.relevance import SentenceTerms, compute_rarity, score_sentences, weigh_by_rarity

words = st.lists(st.sampled_from("kiln door heat open rule week glaze".split()), max_size=8).map(tuple)


def test_the_sentence_that_holds_more_of_the_question_ranks_higher():
    units = [
        SentenceTerms(("kiln", "heat"), paragraph=1),
        SentenceTerms(("kiln", "open", "rule"), paragraph=2),
        SentenceTerms(("glaze",), paragraph=3),
    ]
    scores = score_sentences(units, {"kiln": 1.0, "open": 1.0})
    assert scores[1].total > scores[0].total > scores[2].total
    assert scores[1].own == 1.0
    assert scores[2].total == 0.0


def test_headings_and_neighbours_help():
    alone, under = score_sentences(
        [SentenceTerms(("open",), paragraph=1), SentenceTerms(("open",), frozenset({"kiln"}), 2)],
        {"kiln": 1, "open": 1},
    )
    assert under.total > alone.total
    near = score_sentences(
        [SentenceTerms(("glaze",), paragraph=1), SentenceTerms(("kiln",), paragraph=1)], {"kiln": 1.0}
    )
    assert near[0].total > 0.0


@given(st.lists(words, max_size=8))
def test_scores_are_bounded_below_and_match_the_units(texts):
    units = [SentenceTerms(text) for text in texts]
    scores = score_sentences(units, weigh_by_rarity({"kiln": 1.0, "absent": 1.0}, compute_rarity(texts)))
    assert len(scores) == len(units)
    assert all(score.total >= 0.0 and 0.0 <= score.own <= 1.0 for score in scores)
    assert scores == score_sentences(units, weigh_by_rarity({"kiln": 1.0, "absent": 1.0}, compute_rarity(texts)))
