"""Scoring: how probably a passage supports a sentence, by ten readable features and fitted logistic weights.

Knows overlap of words, word pairs and characters in the best window of three sentences, and what is missing. Does not
know contradiction, which no overlap shows, and uses no length: lengths recognise a data set, not support. The weights
are made by `python -m bench.fit_support` (data/support.json).
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

from corrobora.text.clauses import split_statement
from corrobora.text.tokens import fold_text, stem_text
from corrobora.text.typed import Problem, Reading

FEATURES = ("grams", "pairs", "window", "clause", "everything", "run", "rarest", "names", "amounts", "differences")
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
    stems = _list_stems(sentence)
    wanted = frozenset(stems)
    units = [unit.text for unit in reading.units[:_MAX_UNITS]]
    held = [frozenset(_list_stems(unit)) for unit in units]
    windows = range(max(1, len(units) - _WINDOW + 1))
    joined = [frozenset[str]().union(*held[at : at + _WINDOW]) for at in windows]
    best = max(windows, key=lambda at: _weigh(wanted & joined[at]))
    window = units[best : best + _WINDOW]
    text = " ".join(window)
    clauses = [frozenset(_list_stems(part)) for part in split_statement(sentence)]
    missing = wanted - reading.stems
    pairs = _list_pairs(stems, _NEAR)
    theirs = frozenset[tuple[str, str]]().union(*(_list_pairs(_list_stems(unit), _WITHIN) for unit in window))
    grams = _list_grams(sentence)
    return (
        len(grams & _list_grams(text)) / len(grams),
        len(pairs & theirs) / max(1, len(pairs)),
        _weigh(wanted & joined[best]) / max(1.0, _weigh(wanted)),
        min((max(_weigh(part & each) for each in joined) / _weigh(part) for part in clauses if part), default=0.0),
        _weigh(wanted & reading.stems) / max(1.0, _weigh(wanted)),
        _find_longest_run(stems, window) / max(1, len(stems)),
        max(map(_weigh_stem, missing), default=0.0),
        float(sum(problem.reason.startswith("the name") for problem in problems) > 0),
        float(any(problem.false for problem in problems)),
        float(any(not problem.false and not problem.reason.startswith("the name") for problem in problems)),
    )


def _weigh_stem(stem: str) -> float:
    """Return how telling a stem is: long ones and those with digits are rarer."""
    return 1.0 if any(char.isdigit() for char in stem) else min(1.0, len(stem) / 8)


def _weigh(stems: frozenset[str]) -> float:
    return sum(map(_weigh_stem, stems))


def _find_longest_run(stems: tuple[str, ...], window: Sequence[str]) -> int:
    """Return the number of stems of the longest run of a claim that one sentence has in a row."""
    longest = 0
    for unit in window:
        said = f" {' '.join(_list_stems(unit))} "
        begin = 0
        for end in range(1, len(stems) + 1):
            while begin < end and f" {' '.join(stems[begin:end])} " not in said:
                begin += 1
            longest = max(longest, end - begin)
    return longest
