"""Lexical ranking: exact BM25 over posting blobs, in one pass of numpy.

Knows how the postings and totals of some spaces become scores (measurements: the study of PostgreSQL as an index).
Does not know SQL, passages, titles or links: it ranks numbers, dead ones included.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corrobora.storage.tokens import LENGTHS, Codes, Ints

Places = NDArray[np.intp]
Scores = NDArray[np.float32]

K1 = 0.9
B = 0.5
NOTHING = np.empty(0, np.int32)


@dataclass(slots=True, eq=False)
class Blob:
    """The postings of one term in all segments together, or in the outbox; they never change."""

    term: int
    docs: Ints
    codes: Codes
    _scores: Scores | None = field(default=None, init=False, repr=False)
    _scored_at: tuple[float, float] = field(default=(0.0, 0.0), init=False, repr=False)

    def scores(self, table: Scores, average: float, weight: float) -> Scores:
        """Return what each document gets for this term; the last answer is kept until the totals change.

        `table` is that of `average`.
        """
        if self._scores is None or self._scored_at != (average, weight):
            self._scores = table.take(self.codes) * np.float32(weight)
            self._scored_at = average, weight
        return self._scores


@dataclass(frozen=True, slots=True)
class Postings:
    """What was read for a question: blobs, the totals that BM25 needs, and the span of the passage numbers."""

    blobs: tuple[Blob, ...]
    n_docs: int
    total_length: int
    lowest: int
    highest: int

    @property
    def frequencies(self) -> dict[int, int]:
        """Number of documents for each term, dead ones included until the next merge."""
        found: dict[int, int] = {}
        for blob in self.blobs:
            found[blob.term] = found.get(blob.term, 0) + len(blob.docs)
        return found

    def only(self, terms: Collection[int]) -> Postings:
        """Return the same postings without all other terms; totals stay."""
        return replace(self, blobs=tuple(blob for blob in self.blobs if blob.term in terms))


class Ranked(NamedTuple):
    """Passage numbers with scores, best first; equal scores by rising number."""

    ids: Ints
    scores: Scores

    def pairs(self) -> list[tuple[int, float]]:
        """Return (passage number, score), best first."""
        return list(zip(self.ids.tolist(), self.scores.tolist(), strict=True))


class Scorer:
    """Scores postings. Keeps one buffer, as long as the span of the passage numbers, between questions."""

    def __init__(self) -> None:
        self._buffer = np.zeros(1024, np.float32)
        self._size = 0  # of the part that the last question used; it begins with the passage `_lowest`
        self._lowest = 0
        self._average = -1.0
        self._table = np.empty(0, np.float32)

    def rank(self, postings: Postings, *, limit: int) -> Ranked:
        """Return the `limit` best documents by BM25 over all terms, exactly.

        The sum of a document is built in a fixed order of terms, so equal content gives equal bits whatever the
        segments are.
        """
        frequencies = postings.frequencies
        if not frequencies:
            self._size = 0
            return Ranked(NOTHING, np.empty(0, np.float32))
        average = postings.total_length / max(1, postings.n_docs)
        table = self._impacts(average)
        blobs = sorted(postings.blobs, key=lambda blob: (frequencies[blob.term], blob.term))
        weights = {term: idf(postings.n_docs, frequency) for term, frequency in frequencies.items()}
        scores = np.concatenate([blob.scores(table, average, weights[blob.term]) for blob in blobs])
        self._lowest = postings.lowest
        places = np.subtract(np.concatenate([blob.docs for blob in blobs]), self._lowest, dtype=np.intp)
        buffer = self._cleared(postings.highest - postings.lowest + 1)
        np.add.at(buffer, places, scores)  # in the order given: one sum after the other for each document
        ids, found = _best(buffer, places, [len(blob.docs) for blob in blobs], limit)
        return Ranked((ids + self._lowest).astype(np.int32), found)

    def _cleared(self, size: int) -> Scores:
        self._size = size
        if len(self._buffer) < size:
            self._buffer = np.zeros(int(size * 1.25) + 1024, np.float32)
        else:
            self._buffer[:size] = 0
        return self._buffer[:size]

    def _impacts(self, average: float) -> Scores:
        """Return the table for an average length; it is the same until something is written."""
        if average != self._average:
            self._average, self._table = average, impacts(average)
        return self._table

    def score_of(self, ids: Sequence[int]) -> list[float]:
        """Return the scores that the last `rank` gave to `ids`; 0.0 for those without any term."""
        places = [id_ - self._lowest for id_ in ids]
        return [float(self._buffer[at]) if 0 <= at < self._size else 0.0 for at in places]


def idf(n_docs: int, frequency: int) -> float:
    """Weight of a term: Robertson-Sparck Jones, never negative."""
    return float(max(1e-6, np.log((n_docs - frequency + 0.5) / (frequency + 0.5)))) if frequency < n_docs else 1e-6


def impacts(average: float) -> Scores:
    """Saturated term frequency for every code, at this average length: 65,536 entries."""
    norm = K1 * (1 - B + B * LENGTHS / max(average, 1e-9))
    frequency = np.arange(256, dtype=np.float64)[:, None]
    return (frequency * (K1 + 1) / np.maximum(frequency + norm[None, :], 1e-9)).astype(np.float32).ravel()


def _best(buffer: Scores, places: Places, sizes: Sequence[int], limit: int) -> tuple[Places, Scores]:
    """Select the best: the k-th best score among holders of the rarest terms is a valid lower bound for the rest.

    `places` holds the lists of the terms one after the other, the rarest first.
    """
    n = 0
    lists = 0
    for size in sizes:
        n += size
        lists += 1
        if n >= limit * lists * 2:
            break
    floor = np.float32(0)
    depth = limit * lists  # a document may stand in every one of the lists
    if n > depth:
        scores = buffer[places[:n]]
        floor = np.partition(scores, n - depth)[n - depth]
    ids = np.flatnonzero((buffer >= floor) & (buffer > 0)) if floor <= 0 else np.flatnonzero(buffer >= floor)
    found = buffer[ids]
    if len(ids) > limit * 4:
        cut = np.partition(found, len(found) - limit)[len(found) - limit]
        keep = found >= cut
        ids, found = ids[keep], found[keep]
    order = np.lexsort((ids, -found))[:limit]
    return ids[order], found[order]
