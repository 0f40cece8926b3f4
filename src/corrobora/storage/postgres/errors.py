"""How errors of PostgreSQL read to a user: what happened, while doing what, and the next step.

Knows SQLSTATEs and, for connections that were never made and have none, the words of the server. Does not know tables.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Generator

import psycopg
from psycopg_pool import PoolClosed, PoolTimeout

from corrobora.domain.errors import JournalError
from corrobora.files import read_table


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
