"""Fixtures that many tests share: one server for all processes, and a fresh migrated database for each test."""

from __future__ import annotations

import asyncio
import fcntl
import gc
import itertools
import os
import shutil
import stat
import tempfile
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from corrobora.storage.postgres import Database
from corrobora.storage.postgres.embedded import EmbeddedServer, stop_server

_TEMPLATE = "corrobora_template"
_SHARED = "TESTS_SHARED_FOLDER"
_ROOMY_BYTES = 4_000_000_000
_numbers = itertools.count(1)


def pytest_collection_finish() -> None:
    """Nine thousand collected tests live to the end: no collection of garbage walks through them again."""
    gc.collect()
    gc.freeze()


def _find_scratch() -> Path:
    memory = Path("/dev/shm")
    roomy = memory.is_dir() and os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > _ROOMY_BYTES
    return memory if roomy else Path(tempfile.gettempdir())


def pytest_configure(config: pytest.Config) -> None:
    """Name the folder that the processes of these tests share for their database server."""
    if not hasattr(config, "workerinput"):
        os.environ[_SHARED] = tempfile.mkdtemp(prefix="corrobora-test-", dir=_find_scratch())


def pytest_unconfigure(config: pytest.Config) -> None:
    """Stop what is left of the server, and remove the folder."""
    if not hasattr(config, "workerinput"):
        folder = Path(os.environ.pop(_SHARED))
        stop_server(folder / "server")
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def scratch() -> Path:
    """Where servers of tests keep their files: in memory if there is much, because they sync at every commit."""
    return _find_scratch()


@pytest.fixture(scope="session")
def shared() -> Path:
    """A folder that all processes of these tests share until the last of them ends."""
    return Path(os.environ[_SHARED])


@pytest.fixture(scope="session", autouse=True)
def _no_settings_of_a_person(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No test asks the models that whoever runs it has configured."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("settings")))
        yield


@pytest.fixture
def tmp_path(tmp_path: Path) -> Path:
    """A folder of the test alone. Root lets the account of its servers pass: their files then end with the folder."""
    own = next((above for above in tmp_path.parents if above.name.startswith("pytest-of-")), None)
    if own is not None and os.geteuid() == 0:
        for folder in (tmp_path, *(above for above in tmp_path.parents if above == own or own in above.parents)):
            folder.chmod(folder.stat().st_mode | stat.S_IXGRP | stat.S_IXOTH)
    return tmp_path


@pytest.fixture(scope="session")
def database_server(shared: Path) -> Iterator[str]:
    """The URL of one real server for all processes of these tests, as programs that have one data folder share it."""
    server = EmbeddedServer.start(shared / "server")
    try:
        make_template(shared, server.url, _TEMPLATE, lambda url: asyncio.run(_migrate(url)))
        yield server.url
    finally:
        server.stop_if_last()


def make_template(
    shared: Path, server: str, name: str, fill: Callable[[str], None], template: str = "template1"
) -> None:
    """Make a database that others are copied from, unless another process of these tests has made it."""
    with (shared / f"{name}.lock").open("w") as lock, psycopg.connect(server, autocommit=True) as connection:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if connection.execute("SELECT FROM pg_database WHERE datname = %s", (name,)).fetchone() is not None:
            return
        begun = sql.Identifier(f"{name}_begun")
        connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(begun))
        connection.execute(sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(begun, sql.Identifier(template)))
        fill(_url(server, f"{name}_begun"))
        connection.execute(sql.SQL("ALTER DATABASE {} RENAME TO {}").format(begun, sql.Identifier(name)))


def _url(server: str, name: str) -> str:
    return server.replace("/postgres?", f"/{name}?")


async def _migrate(url: str) -> None:
    async with await Database.connect(url, size=1):
        pass


@contextmanager
def fresh_database(server: str, name: str, template: str = _TEMPLATE) -> Generator[str]:
    """Make a database on the server as a copy of another one; yield its URL, and drop it afterwards."""
    fresh = sql.Identifier(name)
    with psycopg.connect(server, autocommit=True) as connection:
        copy = sql.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY file_copy").format(fresh, sql.Identifier(template))
        connection.execute(copy)
        try:
            yield _url(server, name)
        finally:
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(fresh))


@pytest.fixture
def database_url(database_server: str) -> Iterator[str]:
    """The URL of a fresh, migrated database, dropped after the test."""
    with fresh_database(database_server, f"test_{os.getpid()}_{next(_numbers)}") as url:
        yield url


@pytest.fixture(scope="module")
def module_database_url(database_server: str) -> Iterator[str]:
    """The URL of a fresh, migrated database for all tests of a module."""
    with fresh_database(database_server, f"module_{os.getpid()}_{next(_numbers)}") as url:
        yield url


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    """A fresh, migrated database, open."""
    async with await Database.connect(database_url, size=4) as opened:
        yield opened
