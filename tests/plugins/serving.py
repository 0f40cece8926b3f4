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


@contextmanager
def open_site_settings(database_server: str, home: Path, name: str) -> Generator[Settings]:
    """Settings of a server on a database of its own with the library `docs` of two documents."""
    from tests.plugins.shell import DOCUMENTS, _fill

    from corrobora.config import load_settings

    url = database_server.replace("/postgres?", f"/{name}?")
    with psycopg.connect(database_server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE corrobora_template")  # type: ignore[arg-type]
        asyncio.run(_fill("docs", DOCUMENTS, url))
        yield load_settings(
            env={"CORROBORA_HOME": str(home), "CORROBORA_DATABASE_URL": url},
            folder=home,
            user_file=Path("/nonexistent"),
        )
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")  # type: ignore[arg-type]


@pytest.fixture(scope="session")
def site_settings(database_server: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    """Settings of the shared server."""
    with open_site_settings(database_server, tmp_path_factory.mktemp("site"), f"site_{os.getpid()}") as settings:
        yield settings


@pytest.fixture(scope="session")
def site(site_settings: Settings) -> Iterator[Site]:
    """The shared server, without a token; its run `site.run` is the finished demo."""
    run = asyncio.run(_research_demo(site_settings))
    with serve_settings(site_settings) as url:
        yield Site(url, site_settings, run)


@pytest.fixture
def doomed_site(database_server: str, tmp_path: Path) -> Iterator[Site]:
    """A server for a test that may remove and change whatever is stored."""
    with open_site_settings(database_server, tmp_path, f"doomed_{os.getpid()}") as settings:
        run = asyncio.run(_research_demo(settings))
        with serve_settings(settings) as url:
            yield Site(url, settings, run)


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
