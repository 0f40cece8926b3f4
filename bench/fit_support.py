"""Fit the weights of support on development data, and say what they reach on data that they have not seen.

Knows AttributionBench's pairs of claims and references with the ratings of people. Prints macro-F1 in five folds by
question and with each data set left out, and precision and coverage of "supported"; `--write` stores the weights.
Run it as `python -m bench.fit_support --data DIR [--write]`.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import corrobora.data
from corrobora.text.support import (
    FEATURES,
    PASSAGE,
    Comparison,
    Evidence,
    compare_evidence,
    measure_features,
    read_units,
)

Matrix = NDArray[np.float64]
_MARKER, _ADDRESS = re.compile(r"\s*\[\d+\]"), re.compile(r"^\[\d+\]\s*https?://\S+\s*")
FOLDS = 5
RIDGE = 3.0
PRECISION = 0.88  # of "supported", the least that is wanted on unseen kinds of data
LOST = 0.03  # share of supported pairs that may be called unsupported on unseen questions


def read_pairs(data: Path) -> list[dict[str, Any]]:
    """Return the pairs of AttributionBench's development part."""
    with gzip.open(data / "attributionbench" / "dev.jsonl.gz", "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def measure_pair(claim: str, references: list[str]) -> tuple[tuple[float, ...], bool, bool]:
    """Return the features of a claim and its references, whether a difference forbids support, and if they are a page.

    Markers of citations and addresses before a text are cut, as they are before a sentence of a report is checked.
    """
    evidence = [Evidence(_ADDRESS.sub("", text)) for text in references]
    said = _MARKER.sub("", claim).strip()
    found = compare_evidence(said, evidence) or Comparison(read_units(evidence), (), copied=False)
    return measure_features(said, found.reading, found.problems), found.differs, len(found.reading.units) >= PASSAGE


def fit_weights(features: Matrix, labels: Matrix) -> Matrix:
    """Return bias and weights of a logistic regression with an L2 penalty on standardised features."""
    mean, scale = features.mean(axis=0), features.std(axis=0) + 1e-9
    table = np.column_stack([np.ones(len(features)), (features - mean) / scale])
    weights = np.zeros(table.shape[1])
    ridge = np.full(table.shape[1], RIDGE)
    ridge[0] = 0.0
    for _ in range(30):
        chance = 1 / (1 + np.exp(-table @ weights))
        slope = table.T @ (labels - chance) - ridge * weights
        curve = (table * (chance * (1 - chance))[:, None]).T @ table + np.diag(ridge)
        weights = weights + np.linalg.solve(curve, slope)
    own = weights[1:] / scale
    return np.concatenate([[weights[0] - own @ mean], own])


def score(weights: Matrix, features: Matrix) -> Matrix:
    """Return the probability of support of each row."""
    return 1 / (1 + np.exp(-(weights[0] + features @ weights[1:])))


def macro_f1(labels: Matrix, said: NDArray[np.bool_]) -> float:
    """Return the mean of the F1 of both classes."""
    found: list[float] = []
    for wanted in (True, False):
        hit = float(np.sum((said == wanted) & ((labels > 0) == wanted)))
        found.append(2 * hit / max(1.0, float(np.sum(said == wanted) + np.sum((labels > 0) == wanted))))
    return sum(found) / 2


def rank_right(labels: Matrix, chance: Matrix) -> float:
    """Return how often a supported pair scores above an unsupported one (area under the curve)."""
    above, below = chance[labels > 0][:, None], chance[labels == 0][None]
    return float(np.mean((above > below) + 0.5 * (above == below)))


def predict_unseen(features: Matrix, labels: Matrix, groups: NDArray[np.str_], read: NDArray[np.bool_]) -> Matrix:
    """Return the score of every row by weights that were fitted without its group, 0 for what is not `read`."""
    chance = np.zeros(len(labels))
    for group in np.unique(groups):
        others, own = read & (groups != group), read & (groups == group)
        chance[own] = score(fit_weights(features[others], labels[others]), features[own])
    return chance


def choose_threshold(chance: Matrix, labels: Matrix, free: NDArray[np.bool_]) -> float:
    """Return the lowest score from which what is called supported has the wanted precision on unseen kinds of data."""
    for threshold in np.arange(0.3, 0.95, 0.01):
        above = free & (chance >= threshold)
        if above.sum() and labels[above].mean() >= PRECISION:
            return round(float(threshold), 2)
    return 0.95


def main() -> None:
    """Print the figures and store the weights on request."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--write", action="store_true", help="store the weights in the package")
    wanted = parser.parse_args()
    rows = read_pairs(wanted.data)
    measured = [measure_pair(row["claim"], row["references"]) for row in rows]
    features, free = np.array([each[0] for each in measured]), np.array([not each[1] for each in measured])
    read = np.array([not each[2] for each in measured])  # a page is never called supported, and teaches nothing
    labels = np.array([float(row["attribution_label"] == "attributable") for row in rows])
    folds = np.array([str(int(hashlib.sha256(row["question"].encode()).hexdigest(), 16) % FOLDS) for row in rows])
    sets = np.array([row["src_dataset"] for row in rows])
    by_question = predict_unseen(features, labels, folds, read)
    left_out = predict_unseen(features, labels, sets, read)
    threshold = choose_threshold(left_out, labels, free)
    print(f"pairs {len(rows)}, features {len(FEATURES)}")
    for name, chance in (
        ("five folds by question", by_question),
        ("each data set left out", left_out),
    ):
        sure, called = chance >= threshold, free & (chance >= threshold)
        print(f"{name}: macro-F1 {macro_f1(labels, chance >= 0.5):.3f}, ranked right {rank_right(labels, chance):.3f}")
        for what, above in (("and nothing else against it", called), ("by its score alone", sure)):
            print(f"   supported (score >= {threshold}), {what}: "
                  f"precision {labels[above].mean():.3f}, "
                  f"coverage {above.mean():.3f}")  # fmt: skip
        for least in np.arange(0.35, 0.8, 0.05):
            above = free & (chance >= least)
            print(f"   score >= {least:.2f}: precision {labels[above].mean():.3f}, coverage {above.mean():.3f}")
        for each in np.unique(sets):
            print(f"   {each:20} {macro_f1(labels[sets == each], chance[sets == each] >= 0.5):.3f}")
    weights = fit_weights(features[read], labels[read])
    for name, weight, spread in zip(FEATURES, weights[1:], features.std(axis=0), strict=True):
        print(f"   {name:12} standardised {weight * spread:+.2f}")
    unsure = float(np.quantile(by_question[read & (labels > 0)], LOST))
    if wanted.write:
        stored = {
            "command": "python -m bench.fit_support --data DIR --write",
            "bias": round(float(weights[0]), 4),
            "weights": {name: round(float(weight), 4) for name, weight in zip(FEATURES, weights[1:], strict=True)},
            "supported": threshold,
            "unsupported": round(unsure, 2),
        }
        Path(corrobora.data.__path__[0], "support.json").write_text(
            json.dumps(stored, indent=1) + "\n", encoding="utf-8"
        )


if __name__ == "__main__":
    main()
