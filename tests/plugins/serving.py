"""A real server for tests: on a free port of this machine, in a thread, over a database with one finished run.

The server is that of `corrobora serve`, with its worker. One is started for a whole session and shared: tests read the
stored run `site.run` and start runs of their own in the library `docs`, but never change what is stored for others.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

if TYPE_CHECKING:
    from corrobora.config import Settings
    from corrobora.domain.run import RunId


@dataclass(frozen=True)
class Site:
    """A running server: its address without a slash at the end, its settings, and the id of the finished demo run."""

    url: str
    settings: Settings
    run: RunId


@contextmanager
def serve_settings(settings: Settings, *, port: int = 0, **options: object) -> Generator[str]:
    """Serve in a thread until the block ends; yield the address. Options are those of `create_app`.

    On a free port, or on the given one: that of a server that was stopped, for example.
    """
    import uvicorn

    from corrobora.faces.serve import bind_socket
    from corrobora.faces.web import create_app
    from corrobora.faces.web.security import default_hosts

    listening = bind_socket("127.0.0.1", port)
    port = listening.getsockname()[1]
    app = create_app(settings, allowed_hosts=default_hosts("127.0.0.1", port), **options)  # type: ignore[arg-type]
    config = uvicorn.Config(
        app, log_config=None, log_level="warning", access_log=False, lifespan="on", timeout_graceful_shutdown=1
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=lambda: asyncio.run(server.serve([listening])), name="server of a test")
    thread.start()
    try:
        while thread.is_alive() and not server.started:
            thread.join(0.01)
        assert server.started, "the server did not start"
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join()


_TEMPLATE = "site_template"


def _load_site_settings(home: Path, url: str) -> Settings:
    from corrobora.config import load_settings

    env = {"CORROBORA_HOME": str(home), "CORROBORA_DATABASE_URL": url}
    return load_settings(env=env, folder=home, user_file=Path("/nonexistent"))


@contextmanager
def open_site_settings(database_server: str, shared: Path, home: Path, name: str) -> Generator[Settings]:
    """Settings of a server on a database of its own with the library `docs` of two documents and the finished demo."""
    from tests.conftest import fresh_database, make_template
    from tests.plugins.shell import DOCUMENTS, _fill

    def fill(url: str) -> None:
        asyncio.run(_fill("docs", DOCUMENTS, url))
        asyncio.run(_research_demo(_load_site_settings(shared / "site", url)))

    make_template(shared, database_server, _TEMPLATE, fill, "corrobora_template")
    with fresh_database(database_server, name, _TEMPLATE) as url:
        yield _load_site_settings(home, url)


@pytest.fixture(scope="session")
def site_settings(database_server: str, shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    """Settings of the shared server."""
    home = tmp_path_factory.mktemp("site")
    with open_site_settings(database_server, shared, home, f"site_{os.getpid()}") as settings:
        yield settings


@pytest.fixture(scope="session")
def site(site_settings: Settings) -> Iterator[Site]:
    """The shared server, without a token; its run `site.run` is the finished demo."""
    with serve_settings(site_settings) as url:
        yield Site(url, site_settings, _find_demo(site_settings))


@pytest.fixture
def doomed_site(database_server: str, shared: Path, tmp_path: Path) -> Iterator[Site]:
    """A server for a test that may remove and change whatever is stored."""
    name = f"doomed_{os.getpid()}"
    with open_site_settings(database_server, shared, tmp_path, name) as settings, serve_settings(settings) as url:
        yield Site(url, settings, _find_demo(settings))


def _find_demo(settings: Settings) -> RunId:
    """Return the id of the run that was stored first."""
    assert settings.database_url is not None
    with psycopg.connect(settings.database_url.reveal()) as connection:
        row = connection.execute("SELECT id FROM runs ORDER BY created_at LIMIT 1").fetchone()
    assert row is not None
    return row[0]


async def _research_demo(settings: Settings) -> RunId:
    from corrobora.app import Workspace
    from corrobora.app.attempts import run_here
    from corrobora.app.libraries import resolve_libraries
    from corrobora.app.runs import submit_run
    from corrobora.domain.run import DEMO
    from corrobora.faces.cli.new_run import DEMO_QUESTION
    from corrobora.faces.request import build_request, parse_question

    async with Workspace.open(settings) as workspace:
        request = build_request(replace(settings, libraries=(DEMO,), providers=()), parse_question(DEMO_QUESTION))
        spaces = await resolve_libraries(workspace, (DEMO,))
        run = await submit_run(workspace, replace(request, libraries=spaces), deferred=False)
        await run_here(workspace, run)
        return run


def wait_for_status(url: str, run: str, *wanted: str) -> dict[str, Any]:
    """Wait until a run has one of the statuses, and return it; a run that ends otherwise fails the test."""
    import httpx2

    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        found = httpx2.get(f"{url}/api/v1/runs/{run}", timeout=60).json()
        if found["status"] in wanted:
            return found
        assert found["status"] not in ("done", "failed", "cancelled"), found
        time.sleep(0.05)
    raise AssertionError(f"{run} is {found['status']}")
