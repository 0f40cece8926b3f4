"""Fit the rating of questions that a library can not answer, and print how well it tells them apart.

Knows four kinds of library: chats, product documentation, news facts, an encyclopedia; questions whose documents were
withheld, and those that nothing answers. Each kind is rated by weights fitted without it, and refused by the rating
that 8 % of the answerable questions of the other kinds do not reach. Prints also the curve of risk against coverage.
Run it as `python -m bench.fit_abstention --data DIR [--write]`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.eval_refusals import small
from bench.eval_retrieval import SUITES, fill, rows
from corrobora.storage.index.catalog import Catalog
from corrobora.storage.index.posting_cache import PostingCache
from corrobora.storage.index.queries import FEATURES, CoverageRater
from corrobora.storage.index.terms import Tokenizer
from corrobora.storage.postgres import Database

FALSE = 0.08  # share of answerable questions that may be refused
HOPELESS = 0.01  # share of them that may be told without any passage
RIDGE = 0.01
KINDS = {"lihua": "chats", "cookbook": "documentation", "multihop": "news", "twowiki": "encyclopedia"}
WEIGHTS = Path("src/corrobora/data/abstention.json")
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Rated:
    """One question to one library: its group, its features, and whether the library answers it."""

    group: str
    features: Floats
    answered: bool


async def collect(data: Path, most: int) -> list[Rated]:
    """Measure the questions of every library."""
    found: list[Rated] = []
    with tempfile.TemporaryDirectory(prefix="corrobora-fit-") as folder:
        async with await Database.connect(Path(folder)) as database:
            for name, group, asked in (*_whole_sets(data), *_small_sets(data, most)):
                suite, questions = asked
                await fill(Catalog(database), suite)
                rater = CoverageRater([suite.name], PostingCache([suite.name]), Tokenizer())
                async with database.connection("measuring") as connection:
                    for text, answered in questions:
                        features = await rater.measure(connection, text)
                        if features is not None:
                            found.append(Rated(f"{KINDS[name]}, {group}", features, answered))
    return found


def _whole_sets(data: Path) -> list[tuple[str, str, Any]]:
    """Whole libraries, with questions that nothing in them answers."""
    chats = rows(data / "lihua_world" / "queries_dev.jsonl.gz")
    news = rows(data / "multihop_rag_500" / "queries_dev.jsonl.gz")
    asked = {
        "lihua": [(r["question"], r["type"] != "Null") for r in chats if r["type"] == "Null" or r["evidence_docs"]],
        "multihop": [(r["query"], r["question_type"] != "null_query") for r in news],
    }
    return [(name, "whole", (SUITES[name](data), questions)) for name, questions in asked.items()]


def _small_sets(data: Path, most: int) -> list[tuple[str, str, Any]]:
    """Libraries of 25 documents, with questions whose documents were withheld."""
    found: list[tuple[str, str, Any]] = []
    for name in ("lihua", "cookbook", "twowiki"):
        for library in small(SUITES[name](data), most):
            questions = [(q.text, True) for q in library.present] + [(q.text, False) for q in library.withheld]
            found.append((name, "25 documents", (library.suite, questions)))
    return found


def fit(rated: Sequence[Rated]) -> Floats:
    """Fit a logistic rating, intercept first; every group and both answers count alike."""
    x = np.array([[1.0, *one.features] for one in rated])
    y = np.array([float(one.answered) for one in rated])
    keys = [(one.group, one.answered) for one in rated]
    weight = np.array([1 / keys.count(key) for key in keys])
    weight /= weight.sum()
    spread = np.r_[1.0, x[:, 1:].std(0)]
    z, fitted, ridge = x / spread, np.zeros(x.shape[1]), RIDGE * np.diag([0.0, *[1.0] * (x.shape[1] - 1)])
    for _ in range(50):
        share = 1 / (1 + np.exp(-z @ fitted))
        curve = (z * (weight * share * (1 - share))[:, None]).T @ z + ridge
        fitted += np.linalg.solve(curve, z.T @ (weight * (y - share)) - ridge @ fitted)
    return fitted / spread


def rate(rated: Sequence[Rated], weights: Floats) -> Floats:
    """Return the ratings, higher for questions that are likelier answered."""
    return np.array([weights[0] + one.features @ weights[1:] for one in rated])


def find_threshold(rated: Sequence[Rated], weights: Floats, missed: float = FALSE) -> float:
    """Return the rating that a share of the answerable questions does not reach; every group counts alike."""
    groups = sorted({one.group for one in rated})
    ratings = {g: rate([one for one in rated if one.group == g and one.answered], weights) for g in groups}
    low, high = -20.0, 20.0
    for _ in range(60):
        middle = (low + high) / 2
        refused = float(np.mean([(each < middle).mean() for each in ratings.values()]))
        low, high = (middle, high) if refused < missed else (low, middle)
    return low


def print_left_out(rated: Sequence[Rated]) -> None:
    """Print for each group what weights and threshold of the other kinds refuse, and what its own threshold would."""
    fitted = fit(rated)
    for group in sorted({one.group for one in rated}):
        kind = group.split(",")[0]
        others = [one for one in rated if not one.group.startswith(kind)]
        weights = fit(others)
        own = [one for one in rated if one.group == group]
        ratings, answered = rate(own, weights), np.array([one.answered for one in own])
        threshold = find_threshold(others, weights)
        absent, present = ratings[~answered], ratings[answered]
        best = (absent < np.quantile(present, FALSE)).mean()
        every = rate(own, fitted) < find_threshold(rated, fitted)
        print(
            f"{group:26} absent told {(absent < threshold).mean():.2f} of {len(absent)}, others refused "
            f"{(present < threshold).mean():.3f} of {len(present)}; at {FALSE:.0%} refused: {best:.2f}; "
            f"fitted on all: {every[~answered].mean():.2f}, {every[answered].mean():.3f}"
        )


def print_curve(rated: Sequence[Rated], weights: Floats) -> None:
    """Print the share of wrongly answered questions among the answered ones, by the share that is answered."""
    ratings = rate(rated, weights)
    for group in sorted({one.group for one in rated}):
        mine = np.array([one.group == group for one in rated])
        order = np.argsort(-ratings[mine], kind="stable")
        wrong = np.array([not one.answered for one, own in zip(rated, mine, strict=True) if own])[order]
        points = [(share, wrong[: max(1, round(share * len(wrong)))].mean()) for share in (0.2, 0.4, 0.6, 0.8, 1.0)]
        print(f"{group:26} answered: risk  " + "  ".join(f"{share:.0%}: {risk:.2f}" for share, risk in points))


def main(options: Any) -> None:
    """Print the figures; with `--write`, store the weights fitted on all, with the threshold at one half."""
    rated = asyncio.run(collect(options.data, options.sample))
    print_left_out(rated)
    weights = fit(rated)
    print_curve(rated, weights)
    weights[0] -= find_threshold(rated, weights)
    values = {name: round(float(each), 3) for name, each in zip(FEATURES, weights[1:], strict=True)}
    stored = {
        "fitted_by": "python -m bench.fit_abstention --data DIR --write",
        "intercept": round(float(weights[0]), 3),
    }
    print(stored | {"weights": values})
    hopeless = round(float(1 / (1 + np.exp(-find_threshold(rated, weights, HOPELESS)))), 2)
    print(f"rating that {HOPELESS:.0%} of the answerable questions do not reach: {hopeless}")
    if options.write:
        before = json.loads(WEIGHTS.read_text("ascii"))
        stored = before | stored | {"weights": values, "nearby": hopeless}
        WEIGHTS.write_text(json.dumps(stored, indent=1) + "\n", encoding="ascii")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--sample", type=int, default=90, help="questions of a set for small libraries, at most")
    parser.add_argument("--write", action="store_true", help=f"store the weights in {WEIGHTS}")
    main(parser.parse_args())
