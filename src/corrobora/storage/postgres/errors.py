"""How errors of PostgreSQL read to a user: what happened, while doing what, and the next step.

Knows SQLSTATEs and, for connections that were never made and have none, the words of the server. Does not know tables.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Generator, Sequence

import psycopg
from psycopg_pool import PoolClosed, PoolTimeout

from corrobora.domain.errors import JournalError


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
        if state.startswith(states) if state and states else words and re.search(words, said):
            return JournalError(code, f"{meaning} ({where}: {said}).", next_step=step)
    if isinstance(error, psycopg.OperationalError | psycopg.InterfaceError | PoolTimeout | PoolClosed):
        return JournalError("database_down", f"The database does not answer ({where}: {said}).", next_step=DOWN)
    return JournalError(
        "database_error",
        f"The database refused a statement ({where}: {state} {said}).",
        next_step="This is a bug; please report it with this line.",
    )


GIVEN_UP = "The database does not answer, and is not waited for any more."
DOWN = "Start it, or check CORROBORA_DATABASE_URL; then run the same command again, nothing committed is lost."
_GRANT = (
    "Let an administrator grant it: GRANT ALL ON SCHEMA public TO ROLE; for what another role made, GRANT ALL ON "
    "ALL TABLES (and ALL SEQUENCES) IN SCHEMA public TO ROLE; for vectors, CREATE EXTENSION vector."
)
_LIMIT = "Raise the limit for this role: ALTER ROLE ROLE SET statement_timeout = '60s' (or lock_timeout)."
_ADDRESS = "Correct CORROBORA_DATABASE_URL: host, port, name, and settings such as sslmode."
PASSING = frozenset(  # codes of what ends without a change of the run
    {"database_down", "database_busy", "database_closed", "database_full", "database_read_only", "journal_closed"}
)
_MEANINGS: Sequence[tuple[str, tuple[str, ...], str, str, str]] = (
    (
        "database_full",
        ("53100",),
        "No space left",
        "The disk of the database is full",
        "Free some space, or files (df -i), and run the same command again; nothing committed is lost.",
    ),
    (
        "database_read_only",
        ("25006",),
        "read-only",
        "The database is read-only",
        "Connect to its primary server, with an account that may write.",
    ),
    ("database_rights", ("42501",), "", "The role of the database lacks a right", _GRANT),
    (
        "database_refused",
        ("28",),
        r'authentication failed|no password supplied|pg_hba.conf|role ".*" (?:does not exist|is not permitted)',
        "The database refused the account or its password",
        "Check user and password in CORROBORA_DATABASE_URL, and whether this role may log in.",
    ),
    (
        "database_unknown",
        ("3D000",),
        'database ".*" does not exist',
        "There is no such database",
        "Create it (createdb NAME), or correct the name in CORROBORA_DATABASE_URL.",
    ),
    (
        "database_busy",
        ("53300", "53400", "53200"),
        "too many (?:clients|connections)|remaining connection slots|no more connections allowed",
        "The database has no free connection or memory",
        "Let fewer programs use it at once, or raise max_connections, or the CONNECTION LIMIT of role or database.",
    ),
    (
        "database_busy",
        (),
        "couldn't get a connection after",
        "The database gave no connection in time",
        f"{DOWN} If the machine is only busy: fewer runs at once, or more storage.wait_seconds.",
    ),
    ("database_busy", (), "statement timeout|lock timeout", "The database ended a statement at its limit", _LIMIT),
    (
        "database_damaged",
        ("XX001", "XX002", "58"),
        "",
        "The files of the database are damaged",
        "Restore a copy; do not write to this one any more.",
    ),
    (
        "database_version",
        ("42P01", "42703", "42883"),
        "",
        "The tables of the database are not those of this version",
        "Use the version of corrobora that made them, or another database.",
    ),
    (
        "database_down",
        ("57P03",),
        "the database system is",
        "The database is being started or stopped",
        "Wait until it has started; then run the same command again, nothing committed is lost.",
    ),
    ("database_down", ("08", "57P"), "", "The database does not answer", DOWN),
    ("database_down", (), "resolve host|translate host", "The host of the database was not found", _ADDRESS),
    ("database_address", (), "SSL|certificate|definition of service", "The database was not reached", _ADDRESS),
    (
        "database_closed",
        ("55000",),
        "FATAL:",
        "The database runs, but refuses this connection",
        "Let its administrator change what it names, or correct CORROBORA_DATABASE_URL.",
    ),
)


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
