"""Vectors: one halfvec for each passage, for those who bring an embedder.

Knows pgvector, the one embedder of a database, and from which size an index is worth its loss. Does not know models:
vectors are given.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from psycopg import sql

from corrobora.domain.errors import UserError

if TYPE_CHECKING:
    from psycopg import AsyncConnection
    from psycopg.rows import TupleRow

    Connection = AsyncConnection[TupleRow]

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
