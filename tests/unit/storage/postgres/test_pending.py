"""Statements that wait: a silent server is told from a slow one, and nobody waits for it without end."""

from __future__ import annotations

import asyncio

import pytest
from tests.plugins.proxy import open_proxy

from corrobora.domain.errors import JournalError
from corrobora.storage.postgres import Database, open_connection, translate_errors
from corrobora.storage.postgres.pending import PendingStatements, WatchedConnection

HANG_SECONDS = 60.0


async def test_a_statement_to_a_server_that_fell_silent_fails_and_a_slow_one_does_not(database_url: str) -> None:
    with open_proxy(database_url) as proxy:
        asked = 0

        async def probe() -> None:
            nonlocal asked
            asked += 1
            async with await open_connection(f"{proxy.url}?connect_timeout=3") as fresh:
                await fresh.execute("SELECT 1")

        pending = PendingStatements(probe, silent_seconds=2.0)
        watching = asyncio.create_task(pending.watch())
        async with asyncio.timeout(HANG_SECONDS), await open_connection(proxy.url, pending) as connection:
            await connection.execute("SELECT pg_sleep(7)")
            assert asked > 0, "it was looked whether the server lives, and it does"
            await asyncio.sleep(3)  # a connection that waits for nothing is left alone
            await connection.execute("SELECT 1")
            proxy.goes.clear()
            with pytest.raises(JournalError) as failed, translate_errors("reading"):
                await connection.execute("SELECT 2")
            assert failed.value.code == "database_down"
        watching.cancel()


async def test_who_gives_a_database_up_waits_for_no_statement_of_it(database_url: str) -> None:
    with open_proxy(database_url) as proxy:
        async with await Database.connect(proxy.url, size=2) as database:
            waiting = asyncio.create_task(database.fetch_one("SELECT 1"))
            await waiting
            lone = await database.open_connection()
            proxy.goes.clear()
            statements = [
                asyncio.create_task(database.fetch_one("SELECT 2")),
                asyncio.create_task(lone.execute("SELECT 3")),
            ]
            await asyncio.sleep(1)
            async with asyncio.timeout(HANG_SECONDS / 4):
                await database.abandon()
                failed = await asyncio.gather(*statements, return_exceptions=True)
            assert all(isinstance(each, Exception) for each in failed), failed
            with pytest.raises(JournalError):
                await database.open_connection()
            await lone.close()


async def test_a_connection_that_is_being_checked_is_not_waited_for_either(database_url: str) -> None:
    with open_proxy(database_url) as proxy:
        async with await Database.connect(proxy.url, size=1) as database:
            async with database.connection() as connection:
                pass
            assert isinstance(connection, WatchedConnection)
            connection.used_at = float("-inf")  # long ago: it is checked before it is lent
            proxy.goes.clear()
            statement = asyncio.create_task(database.fetch_one("SELECT 2"))
            await asyncio.sleep(1)
            async with asyncio.timeout(HANG_SECONDS / 4):
                await database.abandon()
                with pytest.raises(JournalError, match="not waited for"):
                    await statement
