"""Fixtures of the integration tests: several fresh databases in one test."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import count

import pytest
from tests.conftest import fresh_database


@pytest.fixture
def fresh_url(database_server: str) -> Iterator[Callable[[], str]]:
    """Make the URL of a fresh, migrated database, as often as a test asks; all are dropped after it."""
    numbers = count()
    with ExitStack() as made:
        yield lambda: made.enter_context(fresh_database(database_server, f"wire_{os.getpid()}_{next(numbers)}"))
