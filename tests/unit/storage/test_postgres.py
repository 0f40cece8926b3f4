"""The database: what it checks before use, and how its errors read to a user."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import psycopg
import pytest
from psycopg import errors as pg
from psycopg.conninfo import make_conninfo
from psycopg_pool import PoolTimeout

from corrobora.domain.errors import JournalError
from corrobora.domain.evidence import Source, SourceId
from corrobora.ports import IngestItem
from corrobora.storage.index import PostgresLibrary
from corrobora.storage.index.catalog import Catalog
from corrobora.storage.index.vectors import VectorIndex
from corrobora.storage.postgres import (
    Database,
    complete_conninfo,
    describe_database,
    explain_error,
    require_version,
    translate_errors,
)
from corrobora.storage.postgres.embedded import server_status, stop_server
from corrobora.storage.postgres.processes import is_running


async def refusal(url: str | Path) -> JournalError:
    with pytest.raises(JournalError) as caught:
        await Database.connect(url)
    assert caught.value.next_step, "every refusal names the next step"
    return caught.value


def changed(url: str, **parts: str) -> str:
    return complete_conninfo(make_conninfo(url, **parts))


@pytest.fixture
def data_dir(scratch: Path) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="corrobora-db-", dir=scratch) as folder:
        Path(folder).chmod(0o755)
        yield Path(folder) / "data"


async def test_a_data_folder_gives_an_embedded_database_that_ends_with_its_last_user(data_dir: Path) -> None:
    async with await Database.connect(data_dir) as first, await Database.connect(data_dir) as second:
        await first.execute("INSERT INTO rate_limit (provider) VALUES ('p')")
        assert await second.fetch_one("SELECT provider FROM rate_limit") == ("p",)
    assert not server_status(data_dir).running


async def test_a_server_that_was_killed_is_started_again_by_who_uses_it_and_one_that_was_stopped_is_not(
    data_dir: Path,
) -> None:
    async with await Database.connect(data_dir, wait_seconds=30.0) as database:
        killed = server_status(data_dir).pid
        assert killed is not None
        os.kill(killed, signal.SIGKILL)
        while is_running(killed):
            pass
        with contextlib.suppress(JournalError):  # the statement that meets the outage may be lost
            await database.fetch_one("SELECT 1")
        assert await database.fetch_one("SELECT 1") == (1,)
        assert server_status(data_dir).pid not in (None, killed)
    async with await Database.connect(data_dir, wait_seconds=1.0) as database:
        stop_server(data_dir)
        for expected in (".", "was stopped. Start it: corrobora db start"):
            with pytest.raises(JournalError, match=expected):
                await database.fetch_one("SELECT 1")
        assert not server_status(data_dir).running


async def test_the_embedded_server_is_given_no_key_of_the_environment(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TAVILY_API_KEY", "tvly-canary")
    async with await Database.connect(data_dir):
        environment = Path(f"/proc/{server_status(data_dir).pid}/environ")
        assert b"canary" not in environment.read_bytes()  # noqa: ASYNC240 - a file of the kernel


async def test_a_server_of_which_one_process_was_killed_ends_and_is_started_anew(data_dir: Path) -> None:
    async with await Database.connect(data_dir, wait_seconds=30.0) as database:
        before = server_status(data_dir).pid
        row = await database.fetch_one("SELECT pg_backend_pid()")
        assert row is not None
        os.kill(int(row[0]), signal.SIGKILL)
        answer = None
        async with asyncio.timeout(60):
            while answer is None or server_status(data_dir).pid == before:
                with contextlib.suppress(JournalError):  # the statement that meets the outage may be lost
                    answer = await database.fetch_one("SELECT pg_sleep(0.05)")


async def test_who_waits_for_a_crashed_server_that_cannot_start_again_hears_why(data_dir: Path) -> None:
    settings = data_dir / "postgres" / "cluster" / "postgresql.conf"
    async with await Database.connect(data_dir, wait_seconds=3.0) as database:
        running, text = server_status(data_dir).pid, settings.read_text()
        assert running is not None
        settings.write_text(f"{text}\nno_such_setting = 1\n")
        os.kill(running, signal.SIGKILL)
        codes = set[str]()
        while "database_damaged" not in codes:
            with pytest.raises(JournalError) as refused:
                await database.fetch_one("SELECT 1")
            codes.add(refused.value.code)
            assert codes <= {"database_down", "database_busy", "database_damaged"}, refused.value
        assert "PostgreSQL did not start" in str(refused.value)
        settings.write_text(text)
        answer = None
        while answer is None:  # it tries less and less often
            with contextlib.suppress(JournalError):
                answer = await database.fetch_one("SELECT 1")
        assert not (data_dir / "stopped").exists()


async def test_the_connection_of_the_check_serves_the_first_that_asks_for_one(database_url: str) -> None:
    async with await Database.connect(database_url, size=1) as database:
        checked = database._checked
        assert checked is not None
        async with await database.open_connection() as first, await database.open_connection() as second:
            assert first is checked is not second
            assert {getattr(each, "pending", None) for each in (first, second)} == {database._pending}
    async with await Database.connect(database_url, size=1) as unused:
        checked = unused._checked
    assert checked is not None
    assert checked.closed


async def test_statements_are_transactions_of_their_own(database: Database) -> None:
    async def fail_in_the_end() -> None:
        async with database.connection("testing") as connection:
            await connection.execute("INSERT INTO rate_limit (provider) VALUES ('kept')")
            await connection.execute("SELECT 1 / 0")

    with pytest.raises(JournalError, match="refused a statement"):
        await fail_in_the_end()
    assert await database.fetch_all("SELECT provider FROM rate_limit") == [("kept",)]


async def test_a_connection_that_was_cut_is_replaced(database: Database) -> None:
    await database.fetch_all("SELECT 1")
    cut = "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = current_database()"
    async with await Database.connect(database.conninfo, size=1) as other:
        await other.execute(cut + " AND pid <> pg_backend_pid()")
    assert await database.fetch_one("SELECT 1") == (1,)


async def test_a_statement_is_one_trip_and_a_connection_is_asked_for_life_only_after_a_rest(
    database_url: str, tmp_path: Path
) -> None:
    path = tmp_path / "messages"
    async with await Database.connect(database_url, size=1) as database:
        with path.open("wb") as messages:
            async with database.pool.connection() as only:
                only.pgconn.trace(messages.fileno())
            for rested in (False, False, True):
                only.used_at = float("-inf" if rested else "inf")
                assert await database.fetch_one("SELECT 1") == (1,)
            only.pgconn.untrace()
    sent = [line.split("\t")[-1].strip() for line in path.read_text().splitlines() if "\tF\t" in line]
    assert sent == ['"SELECT 1"', '"SELECT 1"', '""', '"SELECT 1"']


async def test_a_frozen_transaction_cannot_hold_its_locks_for_ever(database: Database) -> None:
    row = await database.fetch_one("SELECT current_setting('idle_in_transaction_session_timeout')")
    assert row == ("1min",)


async def test_a_server_that_is_down_is_named_without_its_password() -> None:
    error = await refusal("postgresql://me:secret@127.0.0.1:1/papers")
    assert error.code == "database_down"
    assert "papers at 127.0.0.1" in error.message
    assert "secret" not in str(error)
    assert "CORROBORA_DATABASE_URL" in error.next_step


async def test_an_account_that_is_refused(database_url: str) -> None:
    assert (await refusal(changed(database_url, user="somebody"))).code == "database_refused"


async def test_a_database_that_does_not_exist(database_url: str) -> None:
    error = await refusal(changed(database_url, dbname="nowhere"))
    assert error.code == "database_unknown"
    assert "createdb" in error.next_step


async def test_a_running_database_that_refuses_connections_is_not_called_down(
    database_url: str, database_server: str
) -> None:
    name = database_url.partition("?")[0].rpartition("/")[2]
    allow = f"ALTER DATABASE {name} ALLOW_CONNECTIONS"
    with psycopg.connect(database_server, autocommit=True) as owner:
        async with await Database.connect(database_url, size=2, wait_seconds=0.5) as database:
            watching = asyncio.create_task(database.watch_outage())
            assert await database.fetch_one("SELECT 1") == (1,)
            owner.execute(f"{allow} false")  # type: ignore[arg-type]
            await database._note_outage(None)
            assert not (await asyncio.wait([watching], timeout=2))[0], "the one connection that there is still works"
            cut = "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = %s"
            owner.execute(cut, [name])
            with contextlib.suppress(JournalError):
                await database.fetch_one("SELECT 1")
            with pytest.raises(JournalError) as refused:
                await database.fetch_one("SELECT 1")
            await database._note_outage(None)
            with pytest.raises(JournalError) as ended:
                await asyncio.wait_for(watching, 30)
        owner.execute(f"{allow} true")  # type: ignore[arg-type]
    assert [each.value.code for each in (refused, ended)] == ["database_closed"] * 2
    assert "Start it" not in refused.value.next_step


async def test_a_url_that_cannot_be_read() -> None:
    assert (await refusal("postgresql://[")).code == "database_url"
    for url in ("mysql://u:planted@host/db", "postgresql://u:plan ted@host", "host=h password=planted oops"):
        error = await refusal(url)
        assert error.code == "database_url"
        assert "plan" not in str(error), "the parser's own words would show the password"
        assert error.__cause__ is None


async def test_a_server_without_pgvector_does_what_needs_no_vectors(database: Database, database_url: str) -> None:
    assert await database.fetch_one("SELECT 1 FROM pg_extension WHERE extname = 'vector'") is None
    await database.execute("CREATE SCHEMA other")
    await database.execute("CREATE VIEW other.pg_available_extensions AS SELECT 'x'::name AS name WHERE false")
    await database.execute(
        "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET search_path = other, public, pg_catalog',"
        " current_database()); END $$"
    )
    async with await Database.connect(database_url, size=1) as opened:
        catalog = Catalog(opened, vectors=VectorIndex(opened, Letters()))
        space = await catalog.open("lib")
        await catalog.store(space, [IngestItem(Source(SourceId(""), "A", "doc:a", ""), "The king sleeps.")])
        assert await catalog.embed_missing(space) == 0
        found = PostgresLibrary(opened, ["lib"], Letters())
        assert [hit.url for hit in await found.hybrid_search("king")] == ["doc:a"]


class Letters:
    """An `Embedder`."""

    name = "letters"
    dimensions = 2

    async def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        return [(1.0, 0.0) for _ in texts]


async def test_a_role_without_rights_is_told_who_grants_them(database: Database) -> None:
    async def create_as_reader() -> None:
        async with database.connection("adding a table") as connection, connection.transaction():
            await connection.execute("SET LOCAL ROLE pg_read_all_data")
            await connection.execute("CREATE TABLE mine (a int)")

    with pytest.raises(JournalError, match="lacks a right") as caught:
        await create_as_reader()
    assert caught.value.code == "database_rights"
    assert "GRANT" in caught.value.next_step
    assert "ALL TABLES" in caught.value.next_step, "those of another role"


async def test_a_limit_of_time_that_the_database_keeps_is_no_silence(database: Database) -> None:
    async with database.connection("sleeping") as connection:
        await connection.execute("SET statement_timeout = '20ms'")
        with pytest.raises(JournalError, match="at its limit") as caught, translate_errors("sleeping"):
            await connection.execute("SELECT pg_sleep(5)")
        await connection.execute("RESET statement_timeout")
    assert "statement_timeout" in caught.value.next_step


def test_a_server_that_is_too_old() -> None:
    require_version(15)
    with pytest.raises(JournalError, match="PostgreSQL 14; at least 15"):
        require_version(14)


async def test_a_read_only_database(database: Database, database_url: str) -> None:
    await database.execute(
        "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = on',"
        " current_database()); END $$"
    )
    async with await Database.connect(database_url) as other:
        with pytest.raises(JournalError) as caught:
            await other.execute("INSERT INTO rate_limit (provider) VALUES ('p')")
    assert caught.value.code == "database_read_only"


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (pg.DiskFull("could not extend file: No space left on device"), "database_full"),
        (pg.OperationalError("could not write: No space left on device"), "database_full"),
        (pg.TooManyConnections("sorry, too many clients already"), "database_busy"),
        (pg.AdminShutdown("terminating connection"), "database_down"),
        (pg.CannotConnectNow("the database system is starting up"), "database_down"),
        (pg.OperationalError("server closed the connection unexpectedly"), "database_down"),
        (PoolTimeout("couldn't get a connection after 15.00 sec"), "database_busy"),
        (pg.OperationalError('FATAL: too many connections for role "a"'), "database_busy"),
        (pg.OperationalError("FATAL: no more connections allowed (max_client_conn)"), "database_busy"),
        (pg.OperationalError('FATAL: role "a" does not exist'), "database_refused"),
        (pg.OperationalError("server does not support SSL, but SSL was required"), "database_address"),
        (pg.OperationalError('FATAL: unrecognized configuration parameter "a"'), "database_closed"),
        (pg.DataCorrupted("invalid page in block 7"), "database_damaged"),
        (pg.IoError("could not read block"), "database_damaged"),
        (pg.UndefinedTable('relation "runs" does not exist'), "database_version"),
        (pg.QueryCanceled("canceling statement due to statement timeout"), "database_busy"),
        (pg.QueryCanceled("canceling statement due to user request"), "database_down"),
        (pg.InsufficientPrivilege("permission denied for table runs"), "database_rights"),
        (pg.DivisionByZero("division by zero"), "database_error"),
    ],
)
def test_every_error_of_postgresql_has_a_code_and_a_next_step(error: psycopg.Error, code: str) -> None:
    said = explain_error(error, "writing the journal")
    assert said.code == code
    assert "writing the journal" in said.message
    assert said.next_step


def test_a_url_keeps_what_it_says_and_gets_time_limits() -> None:
    conninfo = complete_conninfo("postgresql://me@db.example/papers?connect_timeout=3")
    assert "connect_timeout=3" in conninfo
    assert "keepalives_idle=10" in conninfo
    assert describe_database(conninfo) == "the database papers at db.example"


async def test_many_connect_and_migrate_at_once(database_server: str) -> None:
    with psycopg.connect(database_server, autocommit=True) as connection:
        connection.execute("CREATE DATABASE fresh")
        try:
            url = changed(database_server, dbname="fresh")
            opened = await asyncio.gather(*(Database.connect(url, size=1) for _ in range(4)))
            assert await opened[0].fetch_one("SELECT count(*) = count(DISTINCT number) FROM schema_migration") == (
                True,
            )
            await asyncio.gather(*(each.close() for each in opened))
        finally:
            connection.execute("DROP DATABASE fresh WITH (FORCE)")


async def test_a_statement_waits_for_a_connection_and_who_waited_in_vain_is_told_what_to_set(database_url: str) -> None:
    async with await Database.connect(database_url, size=1, wait_seconds=0.05) as hasty:
        await hasty.pool.wait(timeout=300)
        async with hasty.connection():
            with pytest.raises(JournalError, match=r"no connection in time .*0\.05 sec") as caught:
                await hasty.fetch_one("SELECT 1")
        assert caught.value.code == "database_busy"
        assert "storage.wait_seconds" in caught.value.next_step
        assert await hasty.fetch_one("SELECT 1") == (1,), "a wait in vain breaks nothing"
    async with await Database.connect(database_url, size=1) as patient:
        async with patient.connection():
            waiting = [asyncio.create_task(patient.fetch_one("SELECT 1")) for _ in range(20)]
            while patient.pool.get_stats()["requests_waiting"] < 20:  # noqa: ASYNC110 - the pool tells nobody
                await asyncio.sleep(0)
        assert await asyncio.gather(*waiting) == [(1,)] * 20


def test_a_lost_connection_is_told_in_our_own_words_alone():
    script = "import logging, corrobora.storage.postgres; logging.getLogger('psycopg.pool').warning('discarding <...>')"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stderr == ""


async def test_a_disk_that_refuses_is_not_told_as_a_role_without_rights(database: Database) -> None:
    with pytest.raises(JournalError, match="disk of the database refuses") as caught:
        await database.execute(
            """DO $$ BEGIN
                RAISE EXCEPTION 'could not write to file "x": Read-only file system' USING ERRCODE = '42501';
            END $$"""
        )
    assert caught.value.code == "database_read_only"
