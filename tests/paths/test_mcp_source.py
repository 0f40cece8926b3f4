"""An MCP server as a source, through the command: a server of the official SDK, over HTTP and as a command."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.paths.starts import CLEAR
from tests.plugins.shell import Shell

from corrobora.adapters.readers.pages import McpReader
from corrobora.domain.evidence import Hit

SERVER = Path(__file__).parent / "mcp_documents.py"


def write_command(log: Path) -> str:
    """Return the line that starts the server; a path may hold a space."""
    return shlex.join((sys.executable, str(SERVER), str(log)))


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
    assert {each["url"] for each in report["citations"]} == {"https://wiki.test/bridge"}
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
