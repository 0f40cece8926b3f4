"""The database: one pool of connections, migrated and checked, with errors that say what to do next.

Knows how to connect to an embedded or a given server, what a server must offer, and how PostgreSQL's errors read to a
user. The modules below know the embedded server and the migrations. Does not know what the tables mean.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import selectors
import time
from collections.abc import AsyncGenerator, Generator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, LiteralString, Self, TypeAlias

import psycopg
from psycopg import AsyncConnection
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import TupleRow
from psycopg_pool import AsyncConnectionPool, PoolClosed, PoolTimeout

from corrobora.domain.errors import JournalError
from corrobora.storage.postgres.schema import apply_migrations

if TYPE_CHECKING:
    from corrobora.storage.postgres.embedded import EmbeddedServer

_log = logging.getLogger(__name__)
logging.getLogger("psycopg.pool").disabled = True  # lost connections are reported in our own words

Connection: TypeAlias = AsyncConnection[TupleRow]
_Poll = getattr(selectors, "PollSelector", selectors.SelectSelector)  # needs no file descriptor of its own
Params: TypeAlias = Sequence[object] | Mapping[str, object] | None

MIN_SERVER = 15
WAIT_SECONDS = 120.0  # for a connection of the pool: a busy machine is not an outage
_AGAIN_SECONDS = 1.0  # after which a task that has not ended is cancelled again
OUTAGE_SECONDS = 300.0  # for which statements wait for a server that is away; less for one that was stopped on purpose
STOPPED_SECONDS = 10.0
_TRUSTED_SECONDS = 10.0
_LOOK_SECONDS = 1.0
_CONNECT: Mapping[str, str | int] = {  # a lost peer is noticed within about half a minute, not after two hours
    "connect_timeout": 10,
    "keepalives": 1,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
    "application_name": "corrobora",
}


class PooledConnection(AsyncConnection[TupleRow]):
    """A connection of the pool, which knows when a statement last went through it."""

    used_at = float("-inf")

    async def check_alive(self) -> None:
        """Check the connection with a round trip, if there is a reason to doubt it.

        A check before every statement would double the round trips. If the server has closed the connection, the
        socket is readable, which costs no round trip; a server that vanished is noticed after a pause.
        """
        if self._has_input() or time.monotonic() - self.used_at > _TRUSTED_SECONDS:
            await AsyncConnectionPool.check_connection(self)

    def _has_input(self) -> bool:
        with _Poll() as selector:
            selector.register(self.pgconn.socket, selectors.EVENT_READ)
            return bool(selector.select(0))


class Database:
    """A migrated database. Create it with `connect` and end it with `close`, or use it as a context.

    Every statement is its own transaction: a frozen process must hold no lock.
    """

    def __init__(
        self, conninfo: str, pool: AsyncConnectionPool[PooledConnection], server: EmbeddedServer | None
    ) -> None:
        self.conninfo = conninfo
        self.pool = pool
        self._server = server
        self._unreachable = asyncio.Event()
        self._not_revived: JournalError | None = None

    @classmethod
    async def connect(cls, target: str | Path, *, size: int = 6, wait_seconds: float = WAIT_SECONDS) -> Self:
        """Connect to the server at a URL, or start the embedded one of a data folder; then check and migrate.

        A statement waits for one of `size` connections, at most `wait_seconds`.

        Raises:
            JournalError: the server is down, refuses the account, is older than PostgreSQL 15, or has
                the tables of another version of this program.
        """
        server = await asyncio.to_thread(_start_embedded, target) if isinstance(target, Path) else None
        try:
            conninfo = complete_conninfo(server.url if server else str(target))
            async with await open_connection(conninfo) as connection:
                with translate_errors("checking the database"):
                    require_version(connection.info.server_version // 10_000)
                    await apply_migrations(connection)

            async def locate() -> str:
                return await database._locate()

            async def note_outage(_: object) -> None:
                database._unreachable.set()

            pool = AsyncConnectionPool[PooledConnection](
                locate,
                connection_class=PooledConnection,
                min_size=1,
                max_size=size,
                timeout=wait_seconds,
                configure=configure_connection,
                check=PooledConnection.check_alive,
                reconnect_timeout=OUTAGE_SECONDS,
                reconnect_failed=note_outage,
                open=False,
            )
            database = cls(conninfo, pool, server)
            try:
                await pool.open()
            except BaseException:
                await pool.close()
                raise
        except BaseException:
            if server is not None:
                await asyncio.to_thread(server.stop_if_last)
            raise
        return database

    async def _locate(self) -> str:
        """Return where to connect; an embedded server that was killed is started again before."""
        self._not_revived = None
        if self._server is not None:
            try:
                await asyncio.to_thread(self._server.revive)
            except JournalError as error:
                self._not_revived = error
                raise
        return self.conninfo

    async def watch_outage(self) -> None:
        """Watch until the server is away for good, or was stopped and not started again soon.

        Raises:
            JournalError: always, in the end.
        """
        left = STOPPED_SECONDS
        while left > 0 and not self._unreachable.is_set():
            await asyncio.sleep(_LOOK_SECONDS)
            stopped = self._server is not None and self._server.was_stopped()
            if stopped and left == STOPPED_SECONDS:
                _log.warning("The embedded database was stopped; waiting %g s for it to be started again.", left)
            left = left - _LOOK_SECONDS if stopped else STOPPED_SECONDS
        if self._server is not None and not self._server.data_dir.is_dir():
            message = f"The data folder {self._server.data_dir} was removed, and with it what it held."
            raise JournalError("database_folder", message, next_step="Restore it from a copy.")
        what = f"has not answered for {OUTAGE_SECONDS:g} s" if left > 0 else "was stopped"
        raise JournalError("database_down", f"The database {what}.", next_step=_DOWN)

    async def abandon(self) -> None:
        """Let every statement fail at once, also those that wait for a connection: nobody waits for the server."""
        await self.pool.close(timeout=0)

    async def close(self) -> None:
        """Close the pool; stop the embedded server if this was its last user."""
        await self.pool.close()
        if self._server is not None:
            await asyncio.to_thread(self._server.stop_if_last)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @contextlib.asynccontextmanager
    async def connection(self, where: str = "using the database") -> AsyncGenerator[Connection]:
        """Lend a connection in autocommit mode; errors inside become `JournalError` that name `where`."""
        with translate_errors(where):
            try:
                async with self.pool.connection() as connection:
                    yield connection
                    connection.used_at = time.monotonic()
            except PoolTimeout:
                if self._not_revived is None:
                    raise
                raise self._not_revived from None  # why there was no connection, such as a full disk

    async def fetch_all(self, sql: LiteralString, params: Params = None, *, where: str = "reading") -> list[TupleRow]:
        """Run one statement and return its rows."""
        async with self.connection(where) as connection:
            cursor = await connection.execute(sql, params)
            return await cursor.fetchall()

    async def fetch_one(self, sql: LiteralString, params: Params = None, *, where: str = "reading") -> TupleRow | None:
        """Run one statement and return its first row, or None."""
        async with self.connection(where) as connection:
            cursor = await connection.execute(sql, params)
            return await cursor.fetchone()

    async def execute(self, sql: LiteralString, params: Params = None, *, where: str = "writing") -> int:
        """Run one statement and return how many rows it touched."""
        async with self.connection(where) as connection:
            cursor = await connection.execute(sql, params)
            return cursor.rowcount


def _start_embedded(data_dir: Path) -> EmbeddedServer:
    # Imported here: the embedded server needs a POSIX system, a given server does not.
    from corrobora.storage.postgres.embedded import EmbeddedServer  # noqa: PLC0415

    return EmbeddedServer.start(data_dir)


def complete_conninfo(url: str) -> str:
    """Complete a URL with time limits; settings in the URL win. Raises `JournalError` for a broken URL."""
    try:
        given = conninfo_to_dict(url)
    except psycopg.Error:  # the parser quotes its input, which may hold a password
        raise JournalError(
            "database_url",
            "The database URL cannot be read; it is not shown, since it may hold a password.",
            next_step="Write it as postgresql://user:password@host:5432/name in CORROBORA_DATABASE_URL.",
        ) from None
    return make_conninfo("", **{**_CONNECT, **given})


async def open_connection(conninfo: str) -> Connection:
    """Open one connection outside the pool, in autocommit mode. Raises `JournalError`."""
    with translate_errors(f"connecting to {describe_database(conninfo)}"):
        connection = await AsyncConnection[TupleRow].connect(conninfo)
        try:
            await configure_connection(connection)
        except BaseException:  # also when cancelled: nobody else could close this connection
            await connection.close()
            raise
        return connection


async def configure_connection(connection: Connection) -> None:
    """Make every statement its own transaction, and end transactions of a frozen process, which would hold locks."""
    await connection.set_autocommit(True)
    await connection.execute("SET idle_in_transaction_session_timeout = '60s'")


def describe_database(conninfo: str) -> str:
    """Name a database without its password."""
    parts = conninfo_to_dict(conninfo)
    host, name = parts.get("host") or "localhost", parts.get("dbname") or "postgres"
    return f"the database {name} at {host}"


@contextlib.contextmanager
def translate_errors(where: str) -> Generator[None]:
    """Turn every error of PostgreSQL in the block into a `JournalError` that says what, where and the next step."""
    try:
        yield
    except (psycopg.Error, PoolTimeout, PoolClosed) as error:
        raise explain_error(error, where) from error


def explain_error(error: Exception, where: str) -> JournalError:
    """Return the error for what PostgreSQL refused while doing `where`."""
    said = _first_line(error)
    state = (error.sqlstate or "") if isinstance(error, psycopg.Error) else ""
    for code, states, words, meaning, step in _MEANINGS:
        if state.startswith(states) if state and states else any(word in said for word in words):
            return JournalError(code, f"{meaning} ({where}: {said}).", next_step=step)
    if isinstance(error, psycopg.OperationalError | psycopg.InterfaceError | PoolTimeout | PoolClosed):
        return JournalError("database_down", f"The database does not answer ({where}: {said}).", next_step=_DOWN)
    return JournalError(
        "database_error",
        f"The database refused a statement ({where}: {state} {said}).",
        next_step="This is a bug; please report it with this line.",
    )


_DOWN = "Start it, or check CORROBORA_DATABASE_URL; then run the same command again, nothing committed is lost."
_MEANINGS: Sequence[tuple[str, tuple[str, ...], tuple[str, ...], str, str]] = (
    (
        "database_full",
        ("53100",),
        ("No space left",),
        "The disk of the database is full",
        "Free some space and run the same command again; nothing committed is lost.",
    ),
    (
        "database_read_only",
        ("25006",),
        ("read-only",),
        "The database is read-only",
        "Connect to its primary server, with an account that may write.",
    ),
    (
        "database_rights",
        ("42501",),
        (),
        "The role of the database lacks a right",
        "Let an administrator grant it: GRANT ALL ON SCHEMA public TO ROLE; for vectors: CREATE EXTENSION vector.",
    ),
    (
        "database_refused",
        ("28",),
        ("authentication failed", "no password supplied", "no pg_hba.conf entry"),
        "The database refused the account or its password",
        "Check user and password in CORROBORA_DATABASE_URL.",
    ),
    (
        "database_unknown",
        ("3D000",),
        ('" does not exist',),
        "There is no such database",
        "Create it (createdb NAME), or correct the name in CORROBORA_DATABASE_URL.",
    ),
    (
        "database_busy",
        ("53300", "53400", "53200"),
        ("too many clients", "remaining connection slots"),
        "The database has no free connection or memory",
        "Run fewer workers, or raise max_connections.",
    ),
    (
        "database_busy",
        (),
        ("couldn't get a connection after",),
        "The database gave no connection in time",
        f"{_DOWN} If the machine is only busy: fewer runs at once, or more storage.wait_seconds.",
    ),
    (
        "database_damaged",
        ("XX001", "XX002", "58"),
        (),
        "The files of the database are damaged",
        "Restore a copy; do not write to this one any more.",
    ),
    (
        "database_version",
        ("42P01", "42703", "42883"),
        (),
        "The tables of the database are not those of this version",
        "Use the version of corrobora that made them, or another database.",
    ),
    ("database_down", ("08", "57P"), (), "The database does not answer", _DOWN),
)


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")


def require_version(version: int) -> None:
    """Raise `JournalError` for a server older than PostgreSQL 15."""
    if version < MIN_SERVER:
        raise JournalError(
            "database_too_old",
            f"The database server is PostgreSQL {version}; at least {MIN_SERVER} is needed.",
            next_step="Upgrade it, or leave CORROBORA_DATABASE_URL empty to use the embedded one.",
        )


async def cancel_tasks(*tasks: asyncio.Task[Any]) -> None:
    """Cancel tasks until they have ended.

    Once is not enough: before Python 3.12 `asyncio.wait_for`, which psycopg uses, loses a cancellation that arrives
    together with its result.
    """
    left: set[asyncio.Task[Any]] = set(tasks)
    while left:
        for task in left:
            task.cancel()
        ended, left = await asyncio.wait(left, timeout=_AGAIN_SECONDS)
        for task in ended:
            if not task.cancelled():
                task.exception()  # retrieved, so that asyncio does not log it
