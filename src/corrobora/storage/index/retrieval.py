"""Lexical ranking: exact BM25 over posting blobs, in one pass of numpy.

Knows how the postings and totals of some spaces become scores (measurements: the study of PostgreSQL as an index).
Does not know SQL, passages, titles or links: it ranks numbers, dead ones included.

Vectors: one halfvec for each passage, for those who bring an embedder.

Knows pgvector, the one embedder of a database, and from which size an index is worth its loss. Does not know models:
vectors are given.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray
from psycopg import sql

from corrobora.domain.errors import UserError
from corrobora.storage.index.posting_lists import LENGTHS, Codes, Ints

Places = NDArray[np.intp]
Scores = NDArray[np.float32]

K1 = 0.9
B = 0.5


class Blob(NamedTuple):
    """The postings of one term in all segments together, or in the outbox."""

    term: int
    docs: Ints
    codes: Codes


@dataclass(frozen=True, slots=True)
class QueryPostings:
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

    def keep_terms(self, terms: Collection[int]) -> QueryPostings:
        """Return the same postings without all other terms; totals stay."""
        return replace(self, blobs=tuple(blob for blob in self.blobs if blob.term in terms))


class RankedPassages(NamedTuple):
    """Passage numbers with scores, best first; equal scores by rising number."""

    ids: Ints
    scores: Scores

    def as_pairs(self) -> list[tuple[int, float]]:
        """Return (passage number, score), best first."""
        return list(zip(self.ids.tolist(), self.scores.tolist(), strict=True))


class Scorer:
    """Scores postings. Keeps its arrays between questions: as long as the span of the passage numbers, or the lists."""

    def __init__(self) -> None:
        self._buffer = np.zeros(1024, np.float32)
        self._marks = np.empty(1024, np.bool_)
        self._places = np.empty(1024, np.intp)
        self._scores = np.empty(1024, np.float32)
        self._size = 0  # of the part that the last question used; it begins with the passage `_lowest`
        self._lowest = 0
        self._average = -1.0
        self._table = np.empty(0, np.float32)

    def rank(self, postings: QueryPostings, *, limit: int) -> RankedPassages:
        """Return the `limit` best documents by BM25 over all terms, exactly.

        The sum of a document is built in a fixed order of terms, so equal content gives equal bits whatever the
        segments are.
        """
        self._lowest, self._size = postings.lowest, 0
        frequencies = postings.frequencies
        if not frequencies:
            return RankedPassages(np.empty(0, np.int32), np.empty(0, np.float32))
        blobs = sorted(postings.blobs, key=lambda blob: (frequencies[blob.term], blob.term))
        weights = {term: idf(postings.n_docs, frequency) for term, frequency in frequencies.items()}
        self._reserve_buffers(postings.highest - postings.lowest + 1, sum(frequencies.values()))
        table = self._impact_table(postings.total_length / max(1, postings.n_docs))
        end = 0
        for blob in blobs:
            part = slice(end, end := end + len(blob.docs))
            np.subtract(blob.docs, self._lowest, out=self._places[part])
            scores = table.take(blob.codes, out=self._scores[part], mode="clip")
            scores *= np.float32(weights[blob.term])
        np.add.at(self._buffer[: self._size], self._places[:end], self._scores[:end])  # one after the other, in order
        ids, found = self._select_best([len(blob.docs) for blob in blobs], limit)
        return RankedPassages((ids + self._lowest).astype(np.int32), found)

    def _reserve_buffers(self, span: int, n: int) -> None:
        """Have room for `n` postings, and a zero for every passage of the span."""
        if len(self._buffer) < span:
            self._buffer = np.zeros(int(span * 1.25) + 1024, np.float32)
            self._marks = np.empty(len(self._buffer), np.bool_)
        else:
            self._buffer[:span] = 0
        if len(self._places) < n:
            self._places, self._scores = np.empty(int(n * 1.25), np.intp), np.empty(int(n * 1.25), np.float32)
        self._size = span

    def _impact_table(self, average: float) -> Scores:
        """Return the table for an average length; it is the same until something is written."""
        if average != self._average:
            self._average, self._table = average, compute_impacts(average)
        return self._table

    def weighted_sums(self, postings: QueryPostings, weights: Mapping[int, float], ids: Sequence[int]) -> list[float]:
        """Return for `ids` the sum of BM25 times the weight of each term; what `score_of` tells stays as it is."""
        frequencies = postings.frequencies
        table = self._impact_table(postings.total_length / max(1, postings.n_docs))
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
        """Select the best: the k-th best score among holders of the rarest terms is a valid lower bound for the rest.

        `sizes` are those of the lists of the terms, the rarest first.
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
        depth = limit * lists  # a document may stand in every one of the lists
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
        """Return the scores that the last `rank` gave to `ids`; 0.0 for those without any term."""
        places = [id_ - self._lowest for id_ in ids]
        return [float(self._buffer[at]) if 0 <= at < self._size else 0.0 for at in places]


def idf(n_docs: int, frequency: int) -> float:
    """Weight of a term: Robertson-Sparck Jones, never negative."""
    return float(max(1e-6, np.log((n_docs - frequency + 0.5) / (frequency + 0.5)))) if frequency < n_docs else 1e-6


def compute_impacts(average: float) -> Scores:
    """Saturated term frequency for every code, at this average length: 65,536 entries."""
    norm = K1 * (1 - B + B * LENGTHS / max(average, 1e-9))
    frequency = np.arange(256, dtype=np.float64)[:, None]
    return (frequency * (K1 + 1) / np.maximum(frequency + norm[None, :], 1e-9)).astype(np.float32).ravel()


if TYPE_CHECKING:
    from corrobora.storage.postgres.database import Connection


INDEX_FROM = 30_000  # passages; below it an exact scan is as fast and loses nothing
_EF_SEARCH = 200
_UNIT = 0.02


async def prepare_table(connection: Connection, name: str, dimensions: int) -> None:
    """Make the table of vectors on first use.

    Raises:
        UserError: the database already holds vectors of another embedder; they are never mixed.
    """
    stamp = f"{name}/{dimensions}"
    async with connection.transaction():
        cursor = await connection.execute(
            "with made as (insert into library_setting values ('embedder', %s) on conflict do nothing returning value)"
            " select value from made union all select value from library_setting where name = 'embedder'",
            (stamp,),
        )
        row = await cursor.fetchone()
        if row is None or row[0] != stamp:
            raise UserError(
                "library_other_embedder",
                f"The library's vectors are of {row[0] if row else 'another embedder'}, not of {stamp}.",
                next_step="Use that embedder, or another database for this one.",
            )
        await connection.execute("create extension if not exists vector")
        await connection.execute(
            sql.SQL(
                "create table if not exists passage_vector (id int4 primary key references passage on delete cascade,"
                " space int4 not null, emb halfvec({}) not null)"
            ).format(sql.Literal(dimensions))
        )
        await connection.execute("create index if not exists passage_vector_space on passage_vector (space)")


async def find_unembedded(connection: Connection, space: int, limit: int) -> list[tuple[int, str]]:
    """Return passages without a vector: number, and the text to be embedded (heading and body, no metadata)."""
    cursor = await connection.execute(
        "select p.id, p.body from passage p where p.space = %s"
        " and not exists (select 1 from passage_vector v where v.id = p.id) order by p.id limit %s",
        (space, limit),
    )
    return [(row[0], row[1]) for row in await cursor.fetchall()]


async def store_vectors(
    connection: Connection, space: int, dimensions: int, vectors: Sequence[tuple[int, Sequence[float]]]
) -> None:
    """Store vectors. Raises `UserError` naming the passage for a wrong dimension, NaN, or no unit length."""
    for number, vector in vectors:
        check_vector(vector, dimensions, f"C{number}")
    async with connection.cursor() as cursor:
        await cursor.executemany(
            "insert into passage_vector (id, space, emb) select %s, %s, %s::halfvec"
            " where exists (select 1 from passage where id = %s) on conflict do nothing",
            [(number, space, vector_literal(vector), number) for number, vector in vectors],
        )


def check_vector(vector: Sequence[float], dimensions: int, of: str) -> None:
    """Refuse what is no unit vector of the right dimension."""
    length = math.sqrt(sum(x * x for x in vector))
    if len(vector) != dimensions or not math.isfinite(length) or abs(length - 1) > _UNIT:
        raise UserError(
            "library_bad_vector",
            f"The embedder gave no unit vector of {dimensions} dimensions for {of}"
            f" ({len(vector)} dimensions, length {length:g}).",
            next_step="Check the embedding model.",
        )


def vector_literal(vector: Sequence[float]) -> str:
    """Write a vector as pgvector reads it."""
    return "[" + ",".join(f"{x:.6g}" for x in vector) + "]"


async def build_index(connection: Connection) -> bool:
    """Build the index once there are enough vectors; return True if it exists."""
    cursor = await connection.execute(
        "select to_regclass('passage_vector_hnsw') is not null, (select count(*) from passage_vector)"
    )
    row = await cursor.fetchone()
    if row is None or (not row[0] and row[1] < INDEX_FROM):
        return False
    if not row[0]:
        await connection.execute(
            "create index if not exists passage_vector_hnsw on passage_vector using hnsw (emb halfvec_ip_ops)"
        )
    return True


async def find_nearest(connection: Connection, spaces: Sequence[int], vector: Sequence[float], limit: int) -> list[int]:
    """Return the passages whose vectors are nearest, exactly below 30,000, approximately above."""
    async with connection.transaction():
        await connection.execute(
            sql.SQL(
                "select set_config('hnsw.ef_search', {ef}, true),"
                " set_config('hnsw.iterative_scan', 'strict_order', true)"
            ).format(ef=sql.Literal(str(_EF_SEARCH)))
        )
        cursor = await connection.execute(
            "select id from (select id, emb <#> %(vector)s::halfvec d from passage_vector where space = any(%(spaces)s)"
            " order by emb <#> %(vector)s::halfvec limit %(limit)s) n order by d, id",
            {"vector": vector_literal(vector), "spaces": list(spaces), "limit": limit},
        )
        return [row[0] for row in await cursor.fetchall()]
