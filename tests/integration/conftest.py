"""Fixtures of the integration tests: several fresh databases in one test."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import psycopg
import pytest
from psycopg import sql


@pytest.fixture
def fresh_url(database_server: str) -> Iterator[Callable[[], str]]:
    """Make the URL of a fresh, empty database, as often as a test asks; all are dropped after it."""
    made: list[str] = []

    def make() -> str:
        name = f"wire_{os.getpid()}_{len(made)}"
        with psycopg.connect(database_server, autocommit=True) as connection:
            template = sql.Identifier("corrobora_template")
            connection.execute(
                sql.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY file_copy").format(sql.Identifier(name), template)
            )
        made.append(name)
        return database_server.replace("/postgres?", f"/{name}?")

    yield make
    with psycopg.connect(database_server, autocommit=True) as connection:
        for name in made:
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))
