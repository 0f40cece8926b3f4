"""Fit what meaning counts beside words in a search, and print how each set is ranked by weights fitted without it.

Knows the sets of `bench.eval_retrieval`, two of them also with questions in other words, and an embedding model in a
folder. The likelihood of the passages of the right documents among the candidates is maximised, every set counting
alike and questions in other words half as much. The ranking measured here is that before boosts and links.
Run it as `python -m bench.fit_meaning --data DIR --embedder FOLDER [--write]`; embedding takes some minutes.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.eval_retrieval import SUITES, Question, distinct, fill, measure
from corrobora.adapters.embedders import OnnxEmbedder
from corrobora.storage.index.bm25 import Scorer
from corrobora.storage.index.catalog import Catalog
from corrobora.storage.index.posting_cache import PostingCache
from corrobora.storage.index.search import Search
from corrobora.storage.index.terms import Tokenizer
from corrobora.storage.index.vectors import VectorIndex
from corrobora.storage.postgres import Database
from corrobora.text.ranking import MEANING, list_meaning_features

DEPTH = 100
OTHER = 0.5  # what questions in other words count
WEIGHTS = Path("src/corrobora/data/meaning.json")
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Compared:
    """The candidates of one question: relative scores by words, nearness, documents; and the question's features."""

    words: Floats
    nearness: Floats
    documents: Sequence[str]
    features: Floats
    gold: frozenset[str]

    def join(self, weights: Floats) -> Floats:
        """Return the scores by words and meaning, as the search joins them."""
        return self.words + np.exp(self.features @ weights) * self.nearness

    def rank(self, scores: Floats) -> list[str]:
        """Return the documents, best first."""
        order: list[int] = np.argsort(-scores, kind="stable").tolist()
        return distinct([self.documents[at] for at in order])


async def compare(database: Database, index: VectorIndex, name: str, urls: Mapping[str, str], asked: Question) -> Any:
    """Search for a question by words and by meaning; None if nothing right is among the candidates."""
    tokenizer, kept = Tokenizer(), PostingCache([name])
    near = await index.find_nearest(asked.text, await Catalog(database).space_numbers([name]), DEPTH)
    assert near is not None, index.problem
    async with database.connection("comparing") as connection:
        search = Search(connection, kept, asked.text, Scorer(), tokenizer)
        terms = tokenizer.query_terms(asked.text)
        postings = (await kept.read(connection, terms)).postings
        scores, _ = search.rank_by_words(postings, DEPTH)
        found = await search.compare_meaning(near, scores, postings, terms)
    ids = sorted({*found.words, *found.nearness})
    stored = await database.fetch_all(
        "select p.id, s.url from passage p join source s on s.id = p.source where p.id = any(%s)", (ids,)
    )
    of = {id_: urls[url] for id_, url in stored}
    words = np.array([found.words.get(id_, 0.0) for id_ in ids])
    row = Compared(
        words / (words.max() or 1.0),
        np.array([found.nearness.get(id_, 0.0) for id_ in ids]),
        [of.get(id_, "") for id_ in ids],
        np.array([1.0, *list_meaning_features(found.held, found.asked)]),
        asked.gold,
    )
    return row if asked.gold & set(row.documents) else None


async def collect(data: Path, embedder: OnnxEmbedder, target: str | None) -> dict[str, list[Compared]]:
    """Ask every set its questions; those in other words are a set whose name ends in a star."""
    found: dict[str, list[Compared]] = {}
    with tempfile.TemporaryDirectory(prefix="corrobora-fit-") as folder:
        async with await Database.connect(target or Path(folder)) as database:
            index = VectorIndex(database, embedder)
            for name, load in SUITES.items():
                suite = load(data)
                urls = await fill(Catalog(database, vectors=index), suite)
                for key, questions in ((name, suite.questions), (f"{name}*", suite.reworded)):
                    compared = [await compare(database, index, name, urls, each) for each in questions]
                    found |= {key: [one for one in compared if one is not None]} if questions else {}
    return found


def measure_loss(sets: Mapping[str, tuple[Floats, ...]], values: Floats) -> float:
    """Return how unlikely the right passages are if the joined scores, scaled, are log odds."""
    total = 0.01 * float(values[2:] @ values[2:])
    for name, (words, nearness, right, features) in sets.items():
        scores = np.exp(values[0]) * (words + np.exp(features @ values[1:])[:, None] * nearness)
        scores -= scores.max(1, keepdims=True)
        chance = scores - np.log(np.exp(scores).sum(1, keepdims=True))
        loss = -np.where(right > 0, right * chance, 0.0).sum(1).mean()
        total += float(loss) * (OTHER if name.endswith("*") else 1.0)
    return total


def pad(compared: Sequence[Compared]) -> tuple[Floats, ...]:
    """Return words, nearness and the shares of the right passages as tables, and the features."""
    most = max(len(one.words) for one in compared)
    words, nearness, right = (np.full((len(compared), most), fill_) for fill_ in (-1e6, 0.0, 0.0))
    for at, one in enumerate(compared):
        size = len(one.words)
        words[at, :size], nearness[at, :size] = one.words, one.nearness
        right[at, :size] = [each in one.gold for each in one.documents]
    return words, nearness, right / right.sum(1, keepdims=True), np.array([one.features for one in compared])


def fit(sets: Mapping[str, tuple[Floats, ...]]) -> Floats:
    """Return the intercept and the weights of `MEANING` by a search along each of them in turn."""
    values = np.array([1.0, -1.0, *[0.0] * len(MEANING)])
    steps, best = np.full(len(values), 0.5), measure_loss(sets, values)
    while steps.max() > 0.005:
        for at in range(len(values)):
            tried = [values + sign * steps[at] * np.eye(len(values))[at] for sign in (1, -1)]
            losses = [measure_loss(sets, each) for each in tried]
            if min(losses) < best:
                best, values = min(losses), tried[int(np.argmin(losses))]
                steps[at] *= 1.3
            else:
                steps[at] *= 0.5
    return values[1:]


MEASURES = {"scifact": ("ndcg", 10), "cookbook": ("mrr", 3), "lihua": ("all", 5), "multihop": ("all", 10)}


def print_left_out(found: Mapping[str, list[Compared]], padded: Mapping[str, tuple[Floats, ...]]) -> None:
    """Print the measure of each set by words, by meaning, and joined by weights that were fitted without it."""
    for name, compared in found.items():
        own = name.strip("*")
        weights = fit({other: each for other, each in padded.items() if other.strip("*") != own})
        kind, k = MEASURES.get(own, ("all", 8))
        shares = [
            [measure(kind, one.rank(scores), one.gold, k) for scores in (one.words, one.nearness, one.join(weights))]
            for one in compared
        ]
        words, nearness, joined = np.mean(shares, axis=0)
        print(
            f"{name:10} {kind}@{k}: words {words:.3f}, meaning {nearness:.3f}, joined {joined:.3f}, "
            f"{len(compared)} questions, weights {np.round(weights, 2)}",
            flush=True,
        )


def main(options: Any) -> None:
    """Print the figures of each set left out; with `--write`, store the weights fitted on all."""
    found = asyncio.run(collect(options.data, OnnxEmbedder(options.embedder), options.database))
    padded = {name: pad(compared) for name, compared in found.items()}
    print_left_out(found, padded)
    weights = [round(float(each), 3) for each in fit(padded)]
    stored = {
        "fitted_by": "python -m bench.fit_meaning --data DIR --embedder FOLDER --write",
        "intercept": weights[0],
        "weights": dict(zip(MEANING, weights[1:], strict=True)),
    }
    print(stored)
    if options.write:
        WEIGHTS.write_text(json.dumps(stored, indent=1) + "\n", encoding="ascii")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--embedder", type=Path, required=True, help="folder of an embedding model")
    parser.add_argument("--database", help="URL of a server; default: an embedded one in a temporary folder")
    parser.add_argument("--write", action="store_true", help=f"store the weights in {WEIGHTS}")
    main(parser.parse_args())
