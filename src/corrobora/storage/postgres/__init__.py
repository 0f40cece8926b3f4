"""The database: one pool of connections, migrated and checked, with errors that say what to do next.

Knows how to connect to an embedded or a given server, what a server must offer, and how PostgreSQL's errors read to a
user. The modules below know the embedded server and the migrations. Does not know what the tables mean.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
import time
from collections.abc import AsyncGenerator, Generator, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, LiteralString, Self, TypeAlias

import psycopg
from psycopg import AsyncConnection
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import TupleRow
from psycopg_pool import AsyncConnectionPool, PoolClosed, PoolTimeout

from corrobora.domain.errors import JournalError
from corrobora.domain.limits import read_table
from corrobora.storage.postgres.pending import GivenUp, PendingStatements, WatchedConnection
from corrobora.storage.postgres.schema import apply_migrations

if TYPE_CHECKING:
    from corrobora.storage.postgres.embedded import EmbeddedServer

_log = logging.getLogger(__name__)
for _name in ("psycopg", "psycopg.pool"):  # lost connections and statements are reported in our own words
    logging.getLogger(_name).disabled = True

Connection: TypeAlias = AsyncConnection[TupleRow]
Params: TypeAlias = Sequence[object] | Mapping[str, object] | None

MIN_SERVER = 15
WAIT_SECONDS = 120.0  # for a connection of the pool: a busy machine is not an outage
_AGAIN_SECONDS = 1.0  # after which a task that has not ended is cancelled again
OUTAGE_SECONDS = 300.0  # for which statements wait for a server that is away; less for one that was stopped on purpose
STOPPED_SECONDS = 10.0
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


class Database:
    """A migrated database. Create it with `connect` and end it with `close`, or use it as a context.

    Every statement is its own transaction: a frozen process must hold no lock.
    """

    def __init__(self, conninfo: str, server: EmbeddedServer | None, *, size: int, wait_seconds: float) -> None:
        self.conninfo = conninfo
        self._server = server
        self.pool = AsyncConnectionPool[WatchedConnection](
            self._locate,
            connection_class=WatchedConnection,
            min_size=1,
            max_size=size,
            timeout=wait_seconds,
            configure=self._configure,
            check=WatchedConnection.check_alive,
            reconnect_timeout=OUTAGE_SECONDS,
            reconnect_failed=self._note_outage,
            open=False,
        )
        self._pending = PendingStatements(self._probe)
        self._watching: asyncio.Task[None] | None = None
        self._unreachable = asyncio.Event()
        self._not_revived: JournalError | None = None
        self._checked: Connection | None = None  # the connection of the check, for the first that asks for one

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
            connection = await open_connection(conninfo)
            database = cls(conninfo, server, size=size, wait_seconds=wait_seconds)
            try:
                with translate_errors("checking the database"):
                    require_version(connection.info.server_version // 10_000)
                    await apply_migrations(connection)
                await database.pool.open()
                database._watching = asyncio.create_task(database._pending.watch(), name="silent servers")
            except BaseException:
                await connection.close()
                await database.pool.close()
                raise
            database._checked, connection.pending = connection, database._pending
        except BaseException:
            if server is not None:
                await asyncio.to_thread(server.stop_if_last)
            raise
        return database

    async def _configure(self, connection: WatchedConnection) -> None:
        connection.pending = self._pending
        await configure_connection(connection)

    async def _note_outage(self, _: object) -> None:
        self._unreachable.set()

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

    async def open_connection(self) -> Connection:
        """Open a connection outside the pool, whose statements do not wait for a silent server either."""
        if self.pool.closed:
            raise JournalError("database_down", GIVEN_UP, next_step=DOWN)
        connection, self._checked = self._checked, None
        return connection or await open_connection(self.conninfo, self._pending)

    async def _probe(self) -> None:
        """Ask the server on a fresh connection. Raises `JournalError`."""
        async with await open_connection(self.conninfo) as connection:
            with translate_errors("looking for the database"):
                await connection.execute("SELECT 1")

    async def watch_outage(self) -> None:
        """Watch until the server is away for good, or was stopped and not started again soon.

        Raises:
            JournalError: always, in the end.
        """
        left = STOPPED_SECONDS
        while left > 0 and not (self._unreachable.is_set() and await self._is_away()):
            await asyncio.sleep(_LOOK_SECONDS)
            stopped = self._server is not None and self._server.was_stopped()
            if stopped and left == STOPPED_SECONDS:
                _log.warning("The embedded database was stopped; waiting %g s for it to be started again.", left)
            left = left - _LOOK_SECONDS if stopped else STOPPED_SECONDS
        if self._server is not None and not self._server.data_dir.is_dir():
            message = f"The data folder {self._server.data_dir} was removed, and with it what it held."
            raise JournalError("database_folder", message, next_step="Restore it from a copy.")
        if left > 0:
            await self._probe()
        what = f"has not answered for {OUTAGE_SECONDS:g} s" if left > 0 else "was stopped"
        raise JournalError("database_down", f"The database {what}.", next_step=DOWN)

    async def _is_away(self) -> bool:
        """Tell whether the pool serves nobody: it also gives up when it wanted one connection more than there are."""
        self._unreachable.clear()
        with contextlib.suppress(psycopg.Error):
            async with self.pool.connection(STOPPED_SECONDS):
                return False
        return True

    async def abandon(self) -> None:
        """Let every statement fail at once, also those that wait for a connection: nobody waits for the server."""
        self._pending.given_up = True
        self._pending.end()
        await self.pool.close(timeout=0)

    async def close(self) -> None:
        """Close the pool; stop the embedded server if this was its last user."""
        if self._watching is not None:
            await cancel_tasks(self._watching)
        if self._checked is not None:
            await self._checked.close()
        await self.pool.close()
        if self._server is not None:
            await asyncio.to_thread(self._server.stop_if_last)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @contextlib.asynccontextmanager
    async def connection(self, where: str = "using the database") -> AsyncGenerator[Connection]:
        """Lend a connection in autocommit mode; errors inside become `JournalError` that name `where`.

        A server that was stopped on purpose is waited for less long than one that is away.
        """
        stopped = self._server is not None and self._server.was_stopped()
        patience = min(self.pool.timeout, STOPPED_SECONDS) if stopped else None
        with translate_errors(where):
            try:
                async with self.pool.connection(patience) as connection:
                    yield connection
                    connection.used_at = time.monotonic()
            except GivenUp:
                raise JournalError("database_down", GIVEN_UP, next_step=DOWN) from None
            except PoolTimeout:
                if stopped:
                    step = "Start it: corrobora db start"
                    raise JournalError("database_down", "The embedded database was stopped.", next_step=step) from None
                if self._not_revived is not None:
                    raise self._not_revived from None  # why there was no connection, such as a full disk
                await self._probe()  # fails for the same reason, such as a full table of connections
                raise

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


def array_literal(numbers: Iterable[int]) -> str:
    """Write numbers as an array literal of PostgreSQL: many times faster than a list that the driver adapts."""
    return f"{{{','.join(map(str, numbers))}}}"


def text_array(texts: Iterable[str]) -> str:
    """Write texts as an array literal of PostgreSQL."""
    quoted = ('"' + each.replace("\\", "\\\\").replace('"', '\\"') + '"' for each in texts)
    return f"{{{','.join(quoted)}}}"


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


async def open_connection(conninfo: str, pending: PendingStatements | None = None) -> WatchedConnection:
    """Open one connection outside the pool, in autocommit mode. Raises `JournalError`."""
    with translate_errors(f"connecting to {describe_database(conninfo)}"):
        connection = await WatchedConnection.connect(conninfo)
        connection.pending = pending
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
    for each in read_table("database_errors.toml")["meanings"]:
        states, words = tuple(each["states"]), each["words"]
        if state.startswith(states) if state and states else words and re.search(words, said):
            return JournalError(each["code"], f"{each['what']} ({where}: {said}).", next_step=each["next_step"])
    if isinstance(error, psycopg.OperationalError | psycopg.InterfaceError | PoolTimeout | PoolClosed):
        return JournalError("database_down", f"The database does not answer ({where}: {said}).", next_step=DOWN)
    return JournalError(
        "database_error",
        f"The database refused a statement ({where}: {state} {said}).",
        next_step="This is a bug; please report it with this line.",
    )


GIVEN_UP = "The database does not answer, and is not waited for any more."
DOWN = "Start it, or check CORROBORA_DATABASE_URL; then run the same command again, nothing committed is lost."
PASSING = frozenset(  # codes of what ends without a change of the run
    {"database_down", "database_busy", "database_closed", "database_full", "database_read_only", "journal_closed"}
)


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
