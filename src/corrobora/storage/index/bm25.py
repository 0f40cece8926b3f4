"""BM25, exactly: from the postings and totals of a question to scores of passages.

Does not know SQL, segments, titles or links, or which passages still exist: it ranks passage numbers, those of deleted
ones included until they are merged away.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corrobora.storage.index.posting_lists import Codes, Ints

Places = NDArray[np.intp]
Scores = NDArray[np.float32]
LENGTHS: NDArray[np.float64] = 8 * (np.exp2(np.arange(256) / 24) - 1)
K1 = 0.9
B = 0.5


class Blob(NamedTuple):
    """The postings of one term in all segments together, or in the outbox."""

    term: int
    docs: Ints
    codes: Codes


@dataclass(frozen=True, slots=True)
class QueryPostings:
    """The postings of a question: blobs, the totals that BM25 needs, and the range of the passage numbers."""

    blobs: tuple[Blob, ...]
    n_docs: int
    total_length: int
    lowest: int
    highest: int

    @property
    def frequencies(self) -> dict[int, int]:
        """Number of documents of each term, deleted ones included until the next merge."""
        found: dict[int, int] = {}
        for blob in self.blobs:
            found[blob.term] = found.get(blob.term, 0) + len(blob.docs)
        return found

    def keep_terms(self, terms: Collection[int]) -> QueryPostings:
        """Return the postings of these terms only, with the same totals."""
        return replace(self, blobs=tuple(blob for blob in self.blobs if blob.term in terms))


class RankedPassages(NamedTuple):
    """Passage numbers with scores, best first; equal scores in ascending order of the number."""

    ids: Ints
    scores: Scores

    def as_pairs(self) -> list[tuple[int, float]]:
        """Return (passage number, score), best first."""
        return list(zip(self.ids.tolist(), self.scores.tolist(), strict=True))


class Scorer:
    """Scores postings. Reuses its arrays between questions, since allocating them would cost more than scoring."""

    def __init__(self) -> None:
        self._buffer = np.zeros(1024, np.float32)
        self._marks = np.empty(1024, np.bool_)
        self._places = np.empty(1024, np.intp)
        self._scores = np.empty(1024, np.float32)
        self._size = 0  # of the part used by the last question, which starts at passage `_lowest`
        self._lowest = 0

    def rank(self, postings: QueryPostings, *, limit: int) -> RankedPassages:
        """Return the `limit` best documents by BM25 over all terms, exactly.

        The terms of a document are added in a fixed order, so the same content gives the same bits whatever the
        segments are.
        """
        self._lowest, self._size = postings.lowest, 0
        frequencies = postings.frequencies
        if not frequencies:
            return RankedPassages(np.empty(0, np.int32), np.empty(0, np.float32))
        blobs = sorted(postings.blobs, key=lambda blob: (frequencies[blob.term], blob.term))
        weights = {term: idf(postings.n_docs, frequency) for term, frequency in frequencies.items()}
        self._reserve_buffers(postings.highest - postings.lowest + 1, sum(frequencies.values()))
        table = compute_impacts(postings.total_length / max(1, postings.n_docs))
        end = 0
        for blob in blobs:
            part = slice(end, end := end + len(blob.docs))
            np.subtract(blob.docs, self._lowest, out=self._places[part])
            scores = table.take(blob.codes, out=self._scores[part], mode="clip")
            scores *= np.float32(weights[blob.term])
        np.add.at(self._buffer[: self._size], self._places[:end], self._scores[:end])  # `add.at` adds in order
        ids, found = self._select_best([len(blob.docs) for blob in blobs], limit)
        return RankedPassages((ids + self._lowest).astype(np.int32), found)

    def _reserve_buffers(self, span: int, n: int) -> None:
        """Make room for `n` postings, and set the score of every passage in the range to zero."""
        if len(self._buffer) < span:
            self._buffer = np.zeros(int(span * 1.25) + 1024, np.float32)
            self._marks = np.empty(len(self._buffer), np.bool_)
        else:
            self._buffer[:span] = 0
        if len(self._places) < n:
            self._places, self._scores = np.empty(int(n * 1.25), np.intp), np.empty(int(n * 1.25), np.float32)
        self._size = span

    def weighted_sums(self, postings: QueryPostings, weights: Mapping[int, float], ids: Sequence[int]) -> list[float]:
        """Return for `ids` the sum of BM25 times the weight of each term; `last_scores` is not affected."""
        frequencies = postings.frequencies
        table = compute_impacts(postings.total_length / max(1, postings.n_docs))
        wanted = np.array(ids, np.int32)
        order = np.argsort(wanted)
        rising = wanted[order]
        sums = np.zeros(len(ids), np.float32)
        for blob in sorted(postings.blobs, key=lambda blob: (frequencies[blob.term], blob.term)):
            weight = np.float32(idf(postings.n_docs, frequencies[blob.term]))
            at = np.minimum(np.searchsorted(rising, blob.docs), len(rising) - 1)
            held = rising[at] == blob.docs
            sums[order[at[held]]] += table.take(blob.codes[held]) * weight * np.float32(weights[blob.term])
        return sums.tolist()

    def _select_best(self, sizes: Sequence[int], limit: int) -> tuple[Places, Scores]:
        """Select the best. The k-th best score among the passages of the rarest terms is a lower bound for all.

        `sizes` are the lengths of the posting lists, the rarest term first.
        """
        buffer = self._buffer[: self._size]
        n = 0
        lists = 0
        for size in sizes:
            n += size
            lists += 1
            if n >= limit * lists * 2:
                break
        floor = np.float32(0)
        depth = limit * lists  # a document may be in each of the lists
        if n > depth:
            scores = buffer[self._places[:n]]
            floor = np.partition(scores, n - depth)[n - depth]
        compare = np.greater_equal if floor > 0 else np.greater
        ids = np.flatnonzero(compare(buffer, floor, out=self._marks[: self._size]))
        found = buffer[ids]
        if len(ids) > limit * 4:
            cut = np.partition(found, len(found) - limit)[len(found) - limit]
            keep = found >= cut
            ids, found = ids[keep], found[keep]
        order = np.lexsort((ids, -found))[:limit]
        return ids[order], found[order]

    def last_scores(self, ids: Sequence[int]) -> list[float]:
        """Return the scores of `ids` in the last `rank`; 0.0 for those without any of the terms."""
        places = [id_ - self._lowest for id_ in ids]
        return [float(self._buffer[at]) if 0 <= at < self._size else 0.0 for at in places]


def idf(n_docs: int, frequency: int) -> float:
    """Weight of a term: Robertson-Sparck Jones, never negative."""
    return float(max(1e-6, np.log((n_docs - frequency + 0.5) / (frequency + 0.5)))) if frequency < n_docs else 1e-6


@lru_cache(maxsize=8)  # an average is the same until something is written; a table takes 256 kB
def compute_impacts(average: float) -> Scores:
    """Saturated term frequency for every code, at this average length: 65,536 entries."""
    norm = K1 * (1 - B + B * LENGTHS / max(average, 1e-9))
    frequency = np.arange(256, dtype=np.float64)[:, None]
    return (frequency * (K1 + 1) / np.maximum(frequency + norm[None, :], 1e-9)).astype(np.float32).ravel()
