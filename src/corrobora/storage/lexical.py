"""Lexical search: exact BM25 over posting blobs, in one statement and one pass of numpy.

Knows how blobs, outbox and totals of some spaces become scores (measurements: the study of PostgreSQL as an index).
Does not know passages, titles or links: it ranks numbers, dead ones included.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corrobora.storage.tokens import LENGTHS, Codes, Ints, unpack

if TYPE_CHECKING:
    from psycopg import AsyncConnection
    from psycopg.rows import TupleRow

K1 = 0.9
B = 0.5

# One statement is one snapshot: a fold that runs meanwhile can neither hide nor double a passage.
_READ = """
with named as materialized (select coalesce(array_agg(id), '{}') ids from space where name = any(%(spaces)s))
select term, n, post, 0 from lex_post
  where space = any((select ids from named)::int4[]) and term = any(%(terms)s::int4[])
union all select -1 - id, n, post, dl from lex_new where space = any((select ids from named)::int4[])
union all select null, coalesce(sum(docs), 0)::int4, int8send(coalesce(sum(dl), 0)::int8), coalesce(max(hi), 0)
  from lex_seg where space = any((select ids from named)::int4[])
"""


class Blob(NamedTuple):
    """The postings of one term in one segment or in the outbox."""

    term: int
    docs: Ints
    codes: Codes


@dataclass(frozen=True, slots=True)
class Postings:
    """What one statement read for a question: blobs in a fixed order, and the totals that BM25 needs."""

    blobs: tuple[Blob, ...]
    n_docs: int
    total_length: int
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
    scores: NDArray[np.float32]

    def pairs(self) -> list[tuple[int, float]]:
        """Return (passage number, score), best first."""
        return list(zip(self.ids.tolist(), self.scores.tolist(), strict=True))


async def read(connection: AsyncConnection[TupleRow], spaces: Sequence[str], terms: Sequence[int]) -> Postings:
    """Fetch the postings of `terms` in the spaces of these names, the outbox included."""
    async with connection.cursor(binary=True) as cursor:
        await cursor.execute(_READ, {"spaces": list(spaces), "terms": array(terms)})
        rows = await cursor.fetchall()
    blobs: list[Blob] = []
    fresh: list[tuple[int, int, bytes]] = []
    n_docs = total = highest = 0
    for term, n, post, extra in rows:
        if term is None:
            n_docs, total, highest = n_docs + n, total + int.from_bytes(post, "big"), max(highest, extra)
        elif term < 0:
            fresh.append((-1 - term, n, post))
            n_docs, total, highest = n_docs + 1, total + extra, max(highest, -1 - term)
        else:
            blobs.append(Blob(term, *unpack(post, n)))
    blobs += _outbox(fresh, terms)
    return Postings(tuple(blobs), n_docs, total, highest)


def array(numbers: Iterable[int]) -> str:
    """Write numbers as PostgreSQL reads an array: many times as fast as a list that the driver looks through."""
    return f"{{{','.join(map(str, numbers))}}}"


def _outbox(rows: list[tuple[int, int, bytes]], wanted: Sequence[int]) -> list[Blob]:
    """Turn forward rows of the outbox into blobs of the wanted terms."""
    if not rows:
        return []
    rows.sort()
    parts = [unpack(post, n) for _, n, post in rows]
    terms = np.concatenate([part[0] for part in parts])
    codes = np.concatenate([part[1] for part in parts])
    docs = np.repeat(np.array([row[0] for row in rows], np.int32), [row[1] for row in rows])
    order = np.argsort(terms, kind="stable")
    terms, codes, docs = terms[order], codes[order], docs[order]
    low, high = (np.searchsorted(terms, np.array(wanted, np.int32), side).tolist() for side in ("left", "right"))
    return [
        Blob(term, docs[start:end], codes[start:end])
        for term, start, end in zip(wanted, low, high, strict=True)
        if start < end
    ]


class Scorer:
    """Scores postings. Keeps one buffer, as long as the highest passage number, between questions."""

    def __init__(self) -> None:
        self._buffer = np.zeros(1024, np.float32)
        self._average = -1.0
        self._table = np.empty(0, np.float32)

    def rank(self, postings: Postings, *, limit: int) -> Ranked:
        """Return the `limit` best documents by BM25 over all terms, exactly.

        The sum of a document is built in a fixed order of terms, so equal content gives equal bits whatever the
        segments are.
        """
        frequencies = postings.frequencies
        if not frequencies:
            return Ranked(np.empty(0, np.int32), np.empty(0, np.float32))
        if len(self._buffer) <= postings.highest:
            self._buffer = np.zeros(int(postings.highest * 1.25) + 1024, np.float32)
        else:
            self._buffer[: postings.highest + 1] = 0
        buffer = self._buffer
        table = self._impacts(postings.total_length / max(1, postings.n_docs))
        blobs = sorted(postings.blobs, key=lambda blob: (frequencies[blob.term], blob.term))
        for blob in blobs:
            weight = idf(postings.n_docs, frequencies[blob.term])
            buffer[blob.docs] += table.take(blob.codes) * np.float32(weight)
        return _best(buffer[: postings.highest + 1], blobs, limit)

    def _impacts(self, average: float) -> NDArray[np.float32]:
        """Return the table for an average length; it is the same until something is written."""
        if average != self._average:
            self._average, self._table = average, impacts(average)
        return self._table

    def score_of(self, ids: Sequence[int]) -> list[float]:
        """Return the scores that the last `rank` gave to `ids`; 0.0 for those without any term."""
        return [float(self._buffer[at]) if at < len(self._buffer) else 0.0 for at in ids]


def idf(n_docs: int, frequency: int) -> float:
    """Weight of a term: Robertson-Sparck Jones, never negative."""
    return float(max(1e-6, np.log((n_docs - frequency + 0.5) / (frequency + 0.5)))) if frequency < n_docs else 1e-6


def impacts(average: float) -> NDArray[np.float32]:
    """Saturated term frequency for every code, at this average length: 65,536 entries."""
    norm = K1 * (1 - B + B * LENGTHS / max(average, 1e-9))
    frequency = np.arange(256, dtype=np.float64)[:, None]
    return (frequency * (K1 + 1) / np.maximum(frequency + norm[None, :], 1e-9)).astype(np.float32).ravel()


def _best(buffer: NDArray[np.float32], blobs: Sequence[Blob], limit: int) -> Ranked:
    """Select the best: the k-th best score among holders of the rarest terms is a valid lower bound for the rest."""
    seen: list[NDArray[np.float32]] = []
    n = 0
    lists = 0
    for blob in blobs:
        seen.append(buffer[blob.docs])
        n += len(blob.docs)
        lists += 1
        if n >= limit * lists * 2:
            break
    floor = np.float32(0)
    scores = np.concatenate(seen)
    depth = limit * lists  # a document may stand in every one of the lists
    if len(scores) > depth:
        floor = np.partition(scores, len(scores) - depth)[len(scores) - depth]
    ids = np.flatnonzero((buffer >= floor) & (buffer > 0)) if floor <= 0 else np.flatnonzero(buffer >= floor)
    found = buffer[ids]
    if len(ids) > limit * 4:
        cut = np.partition(found, len(found) - limit)[len(found) - limit]
        keep = found >= cut
        ids, found = ids[keep], found[keep]
    order = np.lexsort((ids, -found))[:limit]
    return Ranked(ids[order].astype(np.int32), found[order].copy())
