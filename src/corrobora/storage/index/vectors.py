"""Vectors: one halfvec for each passage, computed by the embedding model that a user configures.

Knows pgvector, which model the vectors of a database are from, how near passages are to a question compared with the
others, and how a model that fails is left aside. Does not know models, words or how rankings are joined.
"""

from __future__ import annotations

import asyncio
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, LiteralString

from psycopg import sql

from corrobora.domain.errors import ProviderError
from corrobora.policies.queries import compute_backoff
from corrobora.text.phrases import format_count

if TYPE_CHECKING:
    from corrobora.ports import Embedder
    from corrobora.storage.postgres import Connection, Database

INDEX_FROM = 30_000  # passages; below it an exact scan is as fast and loses nothing
MAX_DIMENSIONS = 16_000  # of a column of halfvec
MAX_INDEXED_DIMENSIONS = 4_000  # of an HNSW index over halfvec
QUESTION_SECONDS = 10.0  # a search waits this long for the vector of its question, then goes on without it
BATCH_SECONDS = 120.0
_BATCH = 256
_EF_SEARCH = 200
_UNIT = 0.02
_COMPARED = 5_000  # passages of which the usual cosine to a question is taken
_LEAST_SPREAD = 1e-4
_WORDS_ALONE = "Passages are ranked by their words alone."
_ADD_AGAIN = "The next `corrobora library add` computes them."


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The passages nearest to a question, and the usual cosine of the others, which differs from model to model."""

    vector: str  # of the question, as pgvector reads it
    stamp: str  # of the model
    cosines: Mapping[int, float]  # by passage
    mean: float
    spread: float

    def measure_nearness(self, cosine: float) -> float:
        """Return by how many deviations a passage is nearer than usual; 0.0 if it is not."""
        return max(0.0, (cosine - self.mean) / max(self.spread, _LEAST_SPREAD))


class VectorIndex:
    """The vectors of a database, computed by one embedding model.

    A model that fails, answers badly or takes too long costs the vectors, never the search or the run: `problem` then
    says why for people, and the model is not asked again through this object.
    """

    def __init__(self, database: Database, embedder: Embedder, *, may_replace: bool = False) -> None:
        """`may_replace` lets the vectors of another model be dropped and computed anew."""
        self._database = database
        self._embedder = embedder
        self._may_replace = may_replace
        self.problem = ""

    async def find_nearest(self, text: str, spaces: Sequence[int], limit: int) -> Neighbours | None:
        """Return the passages whose vectors are nearest to `text`: exactly below 30,000 vectors, approximately above.

        Returns None, and does not ask the model, if the spaces have no vectors of this model.
        """
        if self.problem or not await self._has_vectors(spaces):
            return None
        found = await self._embed([text], QUESTION_SECONDS)
        if found is None:
            self.problem += f" {_WORDS_ALONE}"
            return None
        async with self._database.connection("searching vectors") as connection, connection.transaction():
            if (stored := await _read_locked_stamp(connection)) != self._stamp:
                self._report_other_model(stored)
                return None
            vector = vector_literal(found[0])
            nearest = await query_nearest(connection, spaces, vector, limit)
            cursor = await connection.execute(
                "select coalesce(avg(d), 0)::float8, coalesce(stddev_pop(d), 0)::float8 from"
                " (select -(emb <#> %s::halfvec) d from passage_vector where space = any(%s) limit %s) n",
                (vector, list(spaces), _COMPARED),
            )
            row = await cursor.fetchone()
        mean, spread = row or (0.0, 0.0)
        return Neighbours(vector, stored, nearest, mean, spread)

    async def _has_vectors(self, spaces: Sequence[int]) -> bool:
        """True if some passages have vectors of this model; else `problem` says why not, if there are passages."""
        async with self._database.connection("looking for vectors") as connection, connection.transaction():
            stored = await _read_stamp(connection)
            cursor = await connection.execute("select 1 from passage where space = any(%s) limit 1", (list(spaces),))
            if await cursor.fetchone() is None:
                return False
            if stored and _model_of(stored) != self._embedder.name:
                self._report_other_model(stored)
                return False
            if stored:
                cursor = await connection.execute(
                    "select 1 from passage_vector where space = any(%s) limit 1", (list(spaces),)
                )
                if await cursor.fetchone() is not None:
                    return True
        self.problem = f"The library has no vectors yet. {_WORDS_ALONE} {_ADD_AGAIN}"
        return False

    def _report_other_model(self, stored: str) -> None:
        model, _, dimensions = stored.rpartition("/")
        if model != self._embedder.name:
            self.problem = f"The stored vectors are those of the model {model}, not of {self._embedder.name}."
            step = _ADD_AGAIN
        else:
            now = self._embedder.dimensions
            self.problem = f"The stored vectors have {dimensions} dimensions, and those of {model} now have {now}."
            step = "Remove the libraries and add them again to compute new ones."
        self.problem += f" {_WORDS_ALONE} {step}"

    async def embed_missing(self, space: int) -> int:
        """Compute the vectors of the passages of a space that have none; return how many were stored.

        Each batch is committed by itself, so that the next call continues where a failed one stopped.
        """
        done = 0
        while not self.problem and (waiting := await self._read_unembedded(space)):
            vectors = await self._embed([body for _, body in waiting], BATCH_SECONDS)
            if vectors is None:
                self.problem += f" Some passages have no vectors. {_ADD_AGAIN}"
                break
            numbers = [number for number, _ in waiting]
            async with self._database.connection("storing vectors") as connection:
                if not await self._store(connection, space, numbers, vectors):
                    break
            done += len(waiting)
        if done:
            async with self._database.connection("indexing vectors") as connection:
                await build_index(connection, self._embedder.dimensions)
        return done

    async def _read_unembedded(self, space: int) -> list[tuple[int, str]]:
        """Return passages that have no vector of this model: number and text."""
        where = "reading passages without vectors"
        async with self._database.connection(where) as connection, connection.transaction():
            stored = await _read_stamp(connection, "for share")  # until the end, nobody can replace the vectors
            ours = bool(stored) and _model_of(stored) == self._embedder.name
            if not stored and not await _has_pgvector(connection):
                self.problem = f"The database server has no extension vector (package pgvector). {_WORDS_ALONE}"
                return []
            if stored and not ours and not self._may_replace:
                self._report_other_model(stored)
                return []
            missing: LiteralString = "and not exists (select 1 from passage_vector v where v.id = p.id)" if ours else ""
            cursor = await connection.execute(
                f"select p.id, p.body from passage p where p.space = %s {missing} order by p.id limit %s",  # noqa: S608
                (space, _BATCH),
            )
            return [(row[0], row[1]) for row in await cursor.fetchall()]

    async def _store(
        self, connection: Connection, space: int, numbers: Sequence[int], vectors: Sequence[Sequence[float]]
    ) -> bool:
        """Store vectors in one transaction; False, with `problem` set, if those of another model must stay."""
        async with connection.transaction():
            stored = await _read_stamp(connection, "for update")  # a shared lock of two writers could not be upgraded
            if stored != self._stamp:
                renamed = _model_of(stored) != self._embedder.name
                if stored and not (renamed and self._may_replace) and await _any_vector(connection):
                    self._report_other_model(stored)
                    return False
                await create_table(connection, self._stamp, self._embedder.dimensions)
            async with connection.cursor() as cursor:
                await cursor.executemany(
                    "insert into passage_vector (id, space, emb) select %s, %s, %s::halfvec"
                    " where exists (select 1 from passage where id = %s) on conflict do nothing",
                    [
                        (number, space, vector_literal(vector), number)
                        for number, vector in zip(numbers, vectors, strict=True)
                    ],
                )
        return True

    @property
    def _stamp(self) -> str:
        return f"{self._embedder.name}/{self._embedder.dimensions}"

    async def _embed(self, texts: Sequence[str], seconds: float) -> Sequence[Sequence[float]] | None:
        """Ask the model; None, with `problem` set, if it does not give one good vector for each text in time."""
        try:
            async with asyncio.timeout(seconds) as limit:
                found = await self._embed_patiently(texts, limit.when() or math.inf)
            check_vectors(found, len(texts), self._embedder.dimensions, self._embedder.name)
        except TimeoutError:
            self.problem = f"The embedding model {self._embedder.name} did not answer within {seconds:g} seconds."
        except ProviderError as error:
            self.problem = f"No vectors: {error.message}"
        except Exception as error:  # noqa: BLE001 - an embedder from a plug-in or a runtime may raise anything
            self.problem = f"The embedding model {self._embedder.name} failed: {type(error).__name__}: {error}."
        else:
            return found
        return None

    async def _embed_patiently(self, texts: Sequence[str], until: float) -> Sequence[Sequence[float]]:
        """Ask again, as the policy says, after an answer that allows it: a server that is busy, or failed for once."""
        loop = asyncio.get_running_loop()
        for tried in itertools.count(1):
            try:
                return await self._embedder.embed(texts)
            except ProviderError as error:
                pause = compute_backoff(tried, error.retry_after_seconds, until - loop.time(), jitter=0.5)
                if not error.retryable or error.status is None or pause is None:
                    raise
                await asyncio.sleep(pause)
        raise AssertionError


def check_vectors(vectors: Sequence[Sequence[float]], count: int, dimensions: int, model: str) -> None:
    """Raise `ProviderError` unless these are `count` unit vectors of `dimensions` finite numbers."""
    if len(vectors) != count:
        raise ProviderError.bad_content(
            model, f"{format_count(len(vectors), 'vector')} for {format_count(count, 'text')}"
        )
    if not 0 < dimensions <= MAX_DIMENSIONS:
        raise ProviderError.bad_content(model, f"vectors of {dimensions} dimensions; at most {MAX_DIMENSIONS} fit")
    for vector in vectors:
        length = math.sqrt(sum(x * x for x in vector))
        if len(vector) != dimensions or not math.isfinite(length) or abs(length - 1) > _UNIT:
            raise ProviderError.bad_content(
                model, f"no unit vector of {dimensions} dimensions ({len(vector)} dimensions, length {length:g})"
            )


def _model_of(stamp: str) -> str:
    return stamp.rpartition("/")[0]


async def _read_stamp(connection: Connection, mode: LiteralString = "") -> str:
    """Return which model and how many dimensions the stored vectors have; "" if there are none.

    Without `mode` it takes no lock of a row, which a database that may only be read would refuse.
    """
    cursor = await connection.execute(f"select value from library_setting where name = 'embedder' {mode}")  # noqa: S608
    row = await cursor.fetchone()
    return str(row[0]) if row else ""


async def _has_pgvector(connection: Connection) -> bool:
    cursor = await connection.execute("select 1 from pg_available_extensions where name = 'vector'")
    return await cursor.fetchone() is not None


async def _any_vector(connection: Connection) -> bool:
    cursor = await connection.execute("select 1 from passage_vector limit 1")
    return await cursor.fetchone() is not None


async def create_table(connection: Connection, stamp: str, dimensions: int) -> None:
    """Create an empty table for the vectors of a model, in place of one of another model."""
    cursor = await connection.execute(
        "insert into library_setting as old values ('embedder', %s)"
        " on conflict (name) do update set value = excluded.value where old.value <> excluded.value",
        (stamp,),
    )
    if not cursor.rowcount:
        return  # another process has just created it for the same model
    await connection.execute("create extension if not exists vector")
    await connection.execute("drop table if exists passage_vector")
    await connection.execute(
        sql.SQL(
            "create table passage_vector (id int4 primary key references passage on delete cascade,"
            " space int4 not null, emb halfvec({}) not null)"
        ).format(sql.Literal(dimensions))
    )
    await connection.execute("create index passage_vector_space on passage_vector (space)")


def vector_literal(vector: Sequence[float]) -> str:
    """Write a vector as pgvector reads it."""
    return "[" + ",".join(f"{x:.6g}" for x in vector) + "]"


async def build_index(connection: Connection, dimensions: int) -> bool:
    """Build the index once there are enough vectors; return True if it exists."""
    cursor = await connection.execute(
        "select to_regclass('passage_vector_hnsw') is not null, (select count(*) from passage_vector)"
    )
    row = await cursor.fetchone()
    if row is None or (not row[0] and (row[1] < INDEX_FROM or dimensions > MAX_INDEXED_DIMENSIONS)):
        return False
    if not row[0]:
        await connection.execute(
            "create index if not exists passage_vector_hnsw on passage_vector using hnsw (emb halfvec_ip_ops)"
        )
    return True


async def query_nearest(connection: Connection, spaces: Sequence[int], vector: str, limit: int) -> dict[int, float]:
    """Return the passages with the nearest vectors and their cosines, best first; call it in a transaction."""
    await connection.execute(
        sql.SQL(
            "select set_config('hnsw.ef_search', {ef}, true), set_config('hnsw.iterative_scan', 'strict_order', true)"
        ).format(ef=sql.Literal(str(_EF_SEARCH)))
    )
    cursor = await connection.execute(
        "select id, -d from (select id, emb <#> %(vector)s::halfvec d from passage_vector where space = any(%(spaces)s)"
        " order by emb <#> %(vector)s::halfvec limit %(limit)s) n order by d, id",
        {"vector": vector, "spaces": list(spaces), "limit": limit},
    )
    return dict(await cursor.fetchall())


async def read_cosines(connection: Connection, near: Neighbours, ids: Sequence[int]) -> dict[int, float]:
    """Return the cosines of these passages to the question of `near`; none if the vectors were replaced since."""
    async with connection.transaction():
        if await _read_locked_stamp(connection) != near.stamp:
            return {}
        cursor = await connection.execute(
            "select id, -(emb <#> %s::halfvec) from passage_vector where id = any(%s)", (near.vector, list(ids))
        )
        return dict(await cursor.fetchall())


async def _read_locked_stamp(connection: Connection) -> str:
    """Return which model the vectors are from; until the transaction ends nobody replaces them."""
    await connection.execute("lock table passage_vector in access share mode")
    return await _read_stamp(connection)
