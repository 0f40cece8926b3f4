"""Migrations: the numbered SQL files of the package, applied once and in order.

Knows which files were applied to a database, and refuses a database with others: an older program must not write a
newer database. Does not know what the tables mean.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import sha256
from importlib import resources
from typing import LiteralString, cast

from psycopg import AsyncConnection
from psycopg.rows import TupleRow

from corrobora.domain.errors import JournalError

_LOCK = 0x636F7272  # "corr": one migrating process at a time
_NAME = re.compile(r"^(\d{4})_([a-z0-9_]+)\.sql$")
_INCLUDE = "-- include: procrastinate"
_VECTORS = "CREATE EXTENSION IF NOT EXISTS vector;"  # in the first file, made where vectors are first stored instead
_TABLE: LiteralString = """
CREATE TABLE IF NOT EXISTS schema_migration (
    number integer PRIMARY KEY,
    name text NOT NULL,
    checksum text NOT NULL,
    at timestamptz NOT NULL DEFAULT clock_timestamp()
)"""


@dataclass(frozen=True, slots=True)
class Migration:
    """One file. The checksum is of the file itself, not of the queue's schema that it may include."""

    number: int
    name: str
    sql: str

    @property
    def checksum(self) -> str:
        """Fingerprint of the file, recorded in the database."""
        return sha256(self.sql.encode()).hexdigest()[:16]


def load_migrations() -> tuple[Migration, ...]:
    """Return the package's migrations, in order."""
    folder = resources.files("corrobora.storage") / "migrations"
    found = [
        Migration(int(match[1]), match[2], entry.read_text(encoding="utf-8"))
        for entry in folder.iterdir()
        if (match := _NAME.match(entry.name))
    ]
    return tuple(sorted(found, key=lambda each: each.number))


async def apply_migrations(connection: AsyncConnection[TupleRow], known: tuple[Migration, ...] | None = None) -> int:
    """Apply the missing files, each in a transaction of its own, and return how many were applied.

    Several processes may call it at once; only one of them applies.

    Raises:
        JournalError: the database has a migration that this program does not know, or knows differently.
    """
    wanted = load_migrations() if known is None else known
    if not _missing_migrations(wanted, await _read_applied(connection)):
        return 0
    applied = 0
    for migration in wanted:
        async with connection.transaction():
            await connection.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
            await connection.execute(_TABLE)
            if migration not in _missing_migrations(wanted, await _read_applied(connection)):
                continue
            await connection.execute(_migration_sql(migration))
            await connection.execute(
                "INSERT INTO schema_migration (number, name, checksum) VALUES (%s, %s, %s)",
                [migration.number, migration.name, migration.checksum],
            )
            applied += 1
    return applied


def _migration_sql(migration: Migration) -> LiteralString:
    sql = migration.sql.replace(_VECTORS, "")
    if _INCLUDE in sql:
        from procrastinate.schema import SchemaManager  # noqa: PLC0415 - 80 ms that only a new database costs

        sql = sql.replace(_INCLUDE, SchemaManager.get_schema())
    return cast("LiteralString", sql)  # files of this package, as trustworthy as its code


async def _read_applied(connection: AsyncConnection[TupleRow]) -> dict[int, tuple[str, str]]:
    exists = await (await connection.execute("SELECT to_regclass('schema_migration') IS NOT NULL")).fetchone()
    if exists is None or not exists[0]:
        return {}
    cursor = await connection.execute("SELECT number, name, checksum FROM schema_migration")
    return {number: (name, checksum) for number, name, checksum in await cursor.fetchall()}


def _missing_migrations(wanted: tuple[Migration, ...], seen: dict[int, tuple[str, str]]) -> list[Migration]:
    """Return the migrations to apply; raise if the database is of another version."""
    by_number = {migration.number: migration for migration in wanted}
    for number, (name, checksum) in sorted(seen.items()):
        ours = by_number.get(number)
        if ours is None:
            raise _other_version(f"it has migration {number:04d}_{name}, which this program does not know")
        if ours.checksum != checksum:
            raise _other_version(f"its migration {number:04d}_{name} differs from the one of this program")
    return [migration for migration in wanted if migration.number not in seen]


def _other_version(why: str) -> JournalError:
    return JournalError(
        "database_version",
        f"This is the database of another version of corrobora: {why}.",
        next_step="Use the version that wrote it (or a newer one), or another database; nothing was changed.",
    )
