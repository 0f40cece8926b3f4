"""An MCP server as a source, through the command: a server of the official SDK, over HTTP and as a command."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.paths.starts import CLEAR
from tests.plugins.shell import Shell

from corrobora.adapters.pacing import SystemClock
from corrobora.adapters.readers.pages import McpReader
from corrobora.adapters.search.mcp_server import McpSearch
from corrobora.domain.errors import ProviderError
from corrobora.domain.evidence import Hit, Query
from corrobora.storage.postgres.processes import is_running

SERVER = Path(__file__).parent / "mcp_documents.py"


def write_command(log: Path) -> str:
    """Return the line that starts the server; a path may hold a space."""
    return shlex.join((sys.executable, str(SERVER), str(log)))


STARTED = "import os; open(%r, 'a').write(f'started {os.getpid()}\\n')"


def list_started(log: Path) -> list[int]:
    """Return the ids of the processes that were started, in order."""
    return [int(line.split()[1]) for line in log.read_text().splitlines() if line.startswith("started ")]


def wait_for_end(pid: int) -> None:
    while is_running(pid):
        time.sleep(0.05)


@contextmanager
def documents_over_http(log: Path) -> Iterator[str]:
    """Run the server on a free port; yield its address, at which it listens already."""
    command = [sys.executable, str(SERVER), str(log), "http"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}/mcp"
        finally:
            process.terminate()


def check_asked(lines: list[str]) -> None:
    """The server was searched for words of the question and fetched from, and saw no key."""
    assert any(line.startswith("search ") and "bridge" in line for line in lines)
    assert "fetch d1" in lines
    assert all(line.endswith("[]") for line in lines if line.startswith("search"))


def check_report(shell: Shell, log: Path) -> None:
    """The run searched and fetched there, and cites the document at its own address."""
    result = shell(CLEAR, "--provider", "mcp", "-s", "max_rounds=1", "-q", "--json")
    assert result.code == 0, result.err
    report = json.loads(result.out)
    assert "412 metres" in report["markdown"]
    assert report["citations"][0]["url"] == "https://wiki.test/bridge"  # a passage near the question may stand below
    assert [each["version"] for each in report["citations"]] == [""] * len(report["citations"])
    check_asked(log.read_text().splitlines())
    assert "\x1b" not in json.dumps(report)
    assert "<script>" not in report["markdown"]


@pytest.mark.covers("setting sources.mcp_url", "setting sources.mcp_rate", "setting keys.mcp")
def test_an_mcp_server_is_searched_and_read_over_http(filled: Shell) -> None:
    log = filled.folder / "asked"
    with documents_over_http(log) as address:
        filled.setenv(CORROBORA_SOURCES_MCP_URL=address, CORROBORA_SOURCES_MCP_RATE="900", MCP_API_KEY="a-key")
        check_report(filled, log)


def test_hits_of_other_providers_are_read_elsewhere() -> None:
    reader = McpReader.accepts
    assert not reader(None, Hit("https://a.test/", "A", provider="tavily", identifier="mcp:1"))  # type: ignore[arg-type]
    assert not reader(None, Hit("https://a.test/", "A", provider="mcp"))  # type: ignore[arg-type]


def test_only_the_operator_names_the_server(filled: Shell) -> None:
    missing = filled(CLEAR, "--provider", "mcp", "-q")
    assert (missing.code, "sources.mcp_url" in missing.complaint) == (2, True)
    for line in ('mcp_command = "touch planted"', 'mcp_url = "http://127.0.0.1:9"'):
        (filled.folder / "corrobora.toml").write_text(f"[sources]\n{line}\n")
        refused = filled(CLEAR, "--provider", "mcp", "-q")
        assert (refused.code, "corrobora trust" in refused.complaint) == (2, True), refused.err
    assert not (filled.folder / "planted").exists()


@pytest.mark.covers("setting sources.mcp_command")
def test_an_mcp_server_is_started_by_its_command_without_our_keys_and_words_of_private_documents(served: Shell) -> None:
    log = served.folder / "asked"
    (served.folder / "papers").mkdir()
    (served.folder / "papers" / "offer.md").write_text(
        "# Zanthorium programme\n\nDana Quillfeather says that the bridge at Arnholm is built of Zanthorium steel.\n"
    )
    served.setenv(CORROBORA_SOURCES_MCP_COMMAND=write_command(log), TAVILY_API_KEY="a-key")
    result = served(CLEAR, "-l", "papers", "--provider", "mcp", "-q", "-s", "max_rounds=1")
    assert result.code == 0, result.err
    assert "412 metres" in result.out
    assert "https://wiki.test/bridge" in result.out
    asked = log.read_text().lower()
    check_asked(asked.splitlines())
    assert not any(word in asked for word in ("zanthorium", "quillfeather"))
    assert "search provider mcp (a command of this machine) gets queries" in result.out
    started = list_started(log)
    assert 1 <= len(started) <= 2 < len(asked.splitlines()) - len(started), "one for searches and one for documents"
    assert not any(is_running(pid) for pid in started), "they end with the run"


async def test_a_command_that_died_is_started_again_once(tmp_path: Path) -> None:
    log = tmp_path / "asked"
    search = McpSearch("", clock=SystemClock(), command=write_command(log))
    await search.search(Query("bridge"), limit=2)
    await search.search(Query("ferry"), limit=2)
    (pid,) = list_started(log)
    os.kill(pid, signal.SIGKILL)
    assert (await search.fetch_document("d1"))[0] == "The bridge at Arnholm"
    assert len(list_started(log)) == 2
    dies = McpSearch("", clock=SystemClock(), command=shlex.join((sys.executable, "-c", f"{STARTED % str(log)}")))
    with pytest.raises(ProviderError, match="its command failed"):
        await dies.search(Query("bridge"), limit=2)
    assert len(list_started(log)) in (3, 4)


async def test_a_command_that_does_not_answer_is_ended_in_time(tmp_path: Path) -> None:
    log = tmp_path / "asked"
    code = f"import sys; {STARTED % str(log)}; sys.stdin.read()"
    search = McpSearch("", clock=SystemClock(), command=shlex.join((sys.executable, "-c", code)), seconds=2.0)
    with pytest.raises(ProviderError, match="did not give a complete answer within 2 s"):
        await search.search(Query("bridge"), limit=2)
    (pid,) = list_started(log)
    await asyncio.to_thread(wait_for_end, pid)
