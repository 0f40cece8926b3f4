"""Migrations: applied once and in order; a database of another version is refused and left as it is."""

from __future__ import annotations

import psycopg
import pytest

from corrobora.domain.errors import JournalError
from corrobora.storage.postgres import Database, open_connection
from corrobora.storage.postgres.schema import Migration, apply_migrations, load_migrations


def test_the_files_are_numbered_without_doubles_and_in_order() -> None:
    numbers = [migration.number for migration in load_migrations()]
    assert numbers == sorted(set(numbers))
    assert numbers[:2] == [1, 2]


async def test_a_second_time_applies_nothing(database: Database) -> None:
    async with await open_connection(database.conninfo) as connection:
        assert await apply_migrations(connection) == 0


async def test_a_newer_migration_is_applied_once(database: Database) -> None:
    newer = (*load_migrations(), Migration(9000, "later", "CREATE TABLE later (id integer)"))
    async with await open_connection(database.conninfo) as connection:
        assert await apply_migrations(connection, newer) == 1
        assert await apply_migrations(connection, newer) == 0
        with pytest.raises(JournalError, match="9000_later, which this program does not know") as caught:
            await apply_migrations(connection)
    assert caught.value.code == "database_version"


async def test_a_changed_migration_is_noticed(database: Database) -> None:
    first, *rest = load_migrations()
    changed = (Migration(first.number, first.name, first.sql + "\n-- edited"), *rest)
    async with await open_connection(database.conninfo) as connection:
        with pytest.raises(JournalError, match="differs"):
            await apply_migrations(connection, changed)


async def test_a_failing_migration_leaves_nothing_behind(database: Database) -> None:
    broken = (*load_migrations(), Migration(9001, "broken", "CREATE TABLE half (id integer); SELECT 1 / 0"))
    async with await open_connection(database.conninfo) as connection:
        with pytest.raises(psycopg.errors.DivisionByZero):
            await apply_migrations(connection, broken)
        assert await apply_migrations(connection) == 0
    assert await database.fetch_one("SELECT to_regclass('half')") == (None,)
