"""Scoring: how probably a passage supports a sentence, by a few readable features and fitted logistic weights.

Knows overlap of characters and word pairs, and how near the words of the two are in meaning, in the window of up to
three sentences that matches best. Does not know contradiction, which no overlap shows, and uses no length: lengths
recognise a data set, not support. The weights are made by `python -m bench.fit_support` (data/support.json).
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING

from corrobora.text.clauses import Clause, split_statement
from corrobora.text.tokens import fold_text, stem_text
from corrobora.text.typed import Problem, Reading
from corrobora.text.word_vectors import compare_stems, list_vectors, weigh_stem, weigh_stems

if TYPE_CHECKING:
    from corrobora.text.word_vectors import Matrix

FEATURES = ("grams", "pairs", "both", "topic", "missing", "shades", "amounts")
_WINDOW = 3  # sentences that may support a claim together
_GRAM = 5  # characters
_NEAR, _WITHIN = 3, 5  # words between the two of a pair, in the claim and in the evidence
_MAX_UNITS = 400


@dataclass(frozen=True, slots=True)
class Weights:
    """Fitted weights of the features as measured, and the scores from which a verdict is given."""

    bias: float
    weights: tuple[float, ...]
    supported: float
    unsupported: float


@lru_cache(maxsize=1)
def load_weights() -> Weights:
    """Read the weights that ship with the package."""
    stored = json.loads(files("corrobora.data").joinpath("support.json").read_text(encoding="utf-8"))
    weights = tuple(stored["weights"][name] for name in FEATURES)
    return Weights(stored["bias"], weights, stored["supported"], stored["unsupported"])


def score_support(features: Sequence[float], weights: Weights) -> float:
    """Return the probability of support, 0 to 1."""
    total = weights.bias + sum(value * weight for value, weight in zip(features, weights.weights, strict=True))
    return 1.0 / (1.0 + math.exp(-max(-30.0, min(30.0, total))))


@lru_cache(maxsize=4_000)  # every sentence is compared with the same quotes
def _list_stems(text: str) -> tuple[str, ...]:
    return stem_text(text)


@lru_cache(maxsize=4_000)
def _list_grams(text: str) -> frozenset[str]:
    plain = "".join(char for char in fold_text(text) if char.isalnum())
    return frozenset(plain[at : at + _GRAM] for at in range(max(1, len(plain) - _GRAM + 1)))


@lru_cache(maxsize=4_000)
def _list_pairs(stems: tuple[str, ...], reach: int) -> frozenset[tuple[str, str]]:
    return frozenset((one, other) for at, one in enumerate(stems) for other in stems[at + 1 : at + 1 + reach])


def measure_features(sentence: str, reading: Reading, problems: Sequence[Problem]) -> tuple[float, ...]:
    """Return the features of a sentence and its evidence, in the order of `FEATURES`."""
    typed = (float(any(each.scored for each in problems)), float(any(each.false for each in problems)))
    stems = _list_stems(sentence)
    units = [unit for unit in reading.units[:_MAX_UNITS] if unit.stems]
    if not stems or not units:
        return (0.0, 0.0, 0.0, 0.0, 1.0, *typed)
    wanted, held = list(dict.fromkeys(stems)), sorted(reading.stems)
    near = compare_stems(wanted, held)
    begin = _find_window(frozenset(stems), units)
    window = units[begin : begin + _WINDOW]
    pairs = _list_pairs(stems, _NEAR)
    theirs = frozenset[tuple[str, str]]().union(*(_list_pairs(_list_stems(unit.text), _WITHIN) for unit in window))
    grams = _list_grams(sentence)
    weights = weigh_stems(wanted)
    missing = sorted(weights * (1.0 - near.max(axis=1)), reverse=True)
    return (
        len(grams & _list_grams(" ".join(unit.text for unit in window))) / len(grams),
        len(pairs & theirs) / max(1, len(pairs)),
        _match_both_ways(wanted, held, near, units),
        _compare_topics(wanted, sorted(_join_stems(window))),
        float(sum(missing[:2])) / 2,
        *typed,
    )


def _join_stems(units: Sequence[Clause]) -> frozenset[str]:
    return frozenset[str]().union(*(unit.stems for unit in units))


def _find_window(stems: frozenset[str], units: Sequence[Clause]) -> int:
    """Return where the sentences in a row begin that hold most of a claim's words, the rarer the heavier."""
    begins = range(max(1, len(units) - _WINDOW + 1))
    return max(begins, key=lambda at: sum(map(weigh_stem, sorted(stems & _join_stems(units[at : at + _WINDOW])))))


def _match_both_ways(wanted: Sequence[str], held: Sequence[str], near: Matrix, units: Sequence[Clause]) -> float:
    """Return how well a claim and a clause, or up to three sentences, cover each other: the best harmonic mean."""
    parts = [frozenset(_list_stems(clause)) for unit in units for clause in split_statement(unit.text)]
    for size in range(1, _WINDOW + 1):
        parts += [_join_stems(units[at : at + size]) for at in range(max(1, len(units) - size + 1))]
    rows = {stem: row for row, stem in enumerate(held)}
    weights, theirs, back = weigh_stems(wanted), weigh_stems(held), near.max(axis=0)
    best = 0.0
    for part in filter(None, parts):
        inside = sorted(rows[stem] for stem in part)
        forth = float((weights * near[:, inside].max(axis=1)).sum() / weights.sum())
        share = float((theirs * back)[inside].sum() / theirs[inside].sum())
        best = max(best, 2 * forth * share / (forth + share + 1e-9))
    return best


def _compare_topics(wanted: Sequence[str], said: Sequence[str]) -> float:
    """Return the cosine of the two sums of word vectors, the rarer words the heavier."""
    one, other = (weigh_stems(stems) @ list_vectors(stems) for stems in (wanted, said))
    length = math.sqrt(float(one @ one) * float(other @ other))
    return float(one @ other) / length if length else 0.0
