"""Scoring: the weights ship with the package, and more of a sentence in its evidence never scores less."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from corrobora.text.scoring import FEATURES, load_weights, measure_features, score_support
from corrobora.text.typed import read_evidence

WORDS = st.lists(st.sampled_from("lake dam water river stone mill bridge boat".split()), min_size=3, max_size=12)


def test_the_shipped_weights_have_every_feature() -> None:
    weights = load_weights()
    assert len(weights.weights) == len(FEATURES)
    assert 0.0 < weights.unsupported < weights.supported < 1.0


@given(WORDS, WORDS)
def test_a_copy_scores_higher_than_foreign_words(words: list[str], others: list[str]) -> None:
    sentence = " ".join(words)
    copied = measure_features(sentence, read_evidence((sentence,), ""), ())
    foreign = measure_features(sentence, read_evidence((" ".join(f"x{each}" for each in others),), ""), ())
    assert len(copied) == len(FEATURES)
    assert score_support(copied, load_weights()) > score_support(foreign, load_weights())


@given(st.text(max_size=200), st.lists(st.text(max_size=200), max_size=4))
def test_any_text_has_a_score(sentence: str, units: list[str]) -> None:
    features = measure_features(sentence, read_evidence(tuple(units), ""), ())
    assert 0.0 <= score_support(features, load_weights()) <= 1.0
