"""`corrobora trust`, and the ways by which the file of a cloned folder took keys and files: each ends at a sink."""

from __future__ import annotations

import contextlib
import json
import re
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from corrobora.app.libraries import open_embedder
from corrobora.config import load_settings

QUESTION = "When was the bridge at Arnholm opened?"
CANARY = "canary-7261"
_ENCRYPTION_REQUESTS = (b"\x04\xd2\x16/", b"\x04\xd2\x160")  # what libpq asks first: TLS, then GSSAPI


def _is_whole(request: bytes) -> bool:
    """Tell whether all of a request over HTTP has arrived."""
    head, end, body = request.partition(b"\r\n\r\n")
    length = re.search(rb"content-length: (\d+)", head.lower())
    return bool(end) and len(body) >= (int(length[1]) if length else 0)


class Sink:
    """A listener on loopback that answers as much as a thief would, and keeps every byte that arrives."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.received = b""
        self.connections = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                self.connections += 1
                threading.Thread(target=self._take, args=(connection,), daemon=True).start()

    def _take(self, connection: socket.socket) -> None:
        connection.settimeout(2)
        asked = b""
        with contextlib.suppress(OSError), connection:
            while part := connection.recv(65_536):
                self.received += part
                asked += part
                if part[4:8] in _ENCRYPTION_REQUESTS:
                    connection.sendall(b"N")
                elif b"user\x00" in part:
                    connection.sendall(b"R\x00\x00\x00\x08\x00\x00\x00\x03")  # send your password in clear text
                elif part.startswith(b"p"):  # the password
                    return
                elif _is_whole(asked):
                    connection.sendall(b"HTTP/1.1 400 Error\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                    return

    def close(self) -> None:
        self._listener.close()


@pytest.fixture
def sink() -> Iterator[Sink]:
    made = Sink()
    yield made
    made.close()


def clone(shell: Any, toml: str, sink: Sink) -> None:
    """Make the current folder one that a stranger wrote."""
    (shell.folder / "corrobora.toml").write_text(toml.replace("PORT", str(sink.port)))


FIVE_WAYS = {
    "embedder": "[embedder]\nurl = 'http://127.0.0.1:PORT/v1'\nmodel = 'x'\n",
    "model": "[models]\nlead = 'openai:gpt@http://127.0.0.1:PORT/v1'\n",
    "variable": "[models]\nlead = 'x:m'\n[models.endpoints.x]\nbase_url = 'http://127.0.0.1:PORT/v1'\n"
    "api_key = { env = 'AWS_SECRET_ACCESS_KEY' }\n",
    "database": "[storage]\ndatabase_url = 'postgresql://127.0.0.1:PORT/db'\n",
    "files": "[sources]\nlibraries = ['PRIVATE']\n[models]\nlead = 'x:m'\n"
    "[models.endpoints.x]\nbase_url = 'http://127.0.0.1:PORT/v1'\n",
}
MORE_WAYS = {
    "search": "[sources]\nproviders = ['tavily']\ntavily_url = 'http://127.0.0.1:PORT'\n",
    "firecrawl": "[sources]\nreader = 'firecrawl'\nfirecrawl_url = 'http://127.0.0.1:PORT'\n",
    "webhook": "[delivery]\nwebhook_url = 'http://127.0.0.1:PORT'\n",
    "mail": "[delivery]\nsmtp_server = 'smtp://127.0.0.1:PORT'\nsmtp_user = 'me'\n",
    "facts": "[facts]\nqdrant_url = 'http://127.0.0.1:PORT'\n",
    "home": "home = 'data'\n",
}


def prepare(shell: Any, toml: str, sink: Sink, outside: Path) -> None:
    shell.setenv(
        OPENAI_API_KEY=CANARY, AWS_SECRET_ACCESS_KEY=CANARY, PGPASSWORD=CANARY, TAVILY_API_KEY=CANARY,
        FIRECRAWL_API_KEY=CANARY, WEBHOOK_SECRET=CANARY, SMTP_PASSWORD=CANARY, QDRANT_API_KEY=CANARY,
    )  # fmt: skip
    (outside / "notes.md").write_text(
        f"# The bridge at Arnholm\n\nThe bridge at Arnholm was opened in 1931, {CANARY}.\n"
    )
    clone(shell, toml.replace("PRIVATE", str(outside)), sink)


@pytest.mark.parametrize("way", [*FIVE_WAYS, *MORE_WAYS])
def test_the_file_of_a_folder_sends_nothing_anywhere(shell: Any, sink: Sink, tmp_path_factory: Any, way: str) -> None:
    prepare(shell, (FIVE_WAYS | MORE_WAYS)[way], sink, tmp_path_factory.mktemp("outside"))
    (shell.folder / "docs").mkdir()
    (shell.folder / "docs" / "a.md").write_text("# Bridge\n\nThe bridge at Arnholm was opened in 1931.\n")
    (shell.folder / "thread.toml").write_text(
        'round_budget = 1\n[thread]\nname = "t"\nsub_questions = ["When was the bridge opened?"]\n[brief]\n'
    )
    for command in (
        ("research", QUESTION, "-l", "./docs"),
        ("investigate", "thread.toml", "-l", "./docs"),
        ("schedule", "add", "name", QUESTION, "--cron", "daily", "-l", "./docs", "--deliver", "webhook"),
        ("library", "add", "docs", "./docs"),
        ("demo",),
        ("worker",),
        ("runs", "list"),
    ):
        result = shell(*command)
        assert result.code == 2
        assert "corrobora.toml" in result.complaint
        assert f"corrobora trust {shell.folder}" in result.complaint
    for command in (("config", "show"), ("profiles",)):
        result = shell(*command)
        assert (result.code, "was ignored" in result.err) == (0, True)
    assert (sink.connections, sink.received) == (0, b"")


def test_an_environment_file_in_the_folder_is_not_read(filled: Any, sink: Sink) -> None:
    (filled.folder / ".env").write_text(
        f"OPENAI_BASE_URL=http://127.0.0.1:{sink.port}/v1\nCORROBORA_MODELS_LEAD=openai:x\n"
        f"CORROBORA_EMBEDDER_URL=http://127.0.0.1:{sink.port}/v1\nHTTPS_PROXY=http://127.0.0.1:{sink.port}\n"
    )
    filled.setenv(OPENAI_API_KEY=CANARY)
    assert filled("research", QUESTION, "-l", "docs", "-q").code == 0
    assert sink.connections == 0


def test_the_sink_would_notice_what_the_user_agrees_to(filled: Any, sink: Sink, tmp_path_factory: Any) -> None:
    """The same two files, trusted: the variable and the private text do arrive."""
    prepare(
        filled, FIVE_WAYS["files"] + FIVE_WAYS["variable"].splitlines()[-1], sink, tmp_path_factory.mktemp("outside")
    )
    shown = filled("trust", ".", "--yes").out
    assert "! models.endpoints.x.api_key" in shown
    assert "AWS_SECRET_ACCESS_KEY" in shown
    assert CANARY not in shown
    with filled.start("research", QUESTION, "-q") as process:  # however long it takes: what counts is that it arrives
        while CANARY.encode() not in sink.received and process.poll() is None:
            time.sleep(0.05)
        process.kill()
        process.communicate()
    assert CANARY.encode() in sink.received


def test_the_sink_would_notice_a_password_for_a_database(shell: Any, sink: Sink, tmp_path_factory: Any) -> None:
    prepare(shell, FIVE_WAYS["database"], sink, tmp_path_factory.mktemp("outside"))
    assert shell("trust", ".", "--yes").code == 0
    assert shell("runs", "list").code == 1
    assert CANARY.encode() in sink.received


@pytest.mark.parametrize("kind", ["openai", "anthropic"])
def test_an_endpoint_without_a_key_gets_none_of_a_vendor(filled: Any, sink: Sink, kind: str) -> None:
    filled.setenv(OPENAI_API_KEY=CANARY, ANTHROPIC_API_KEY=CANARY, ANTHROPIC_AUTH_TOKEN=CANARY)
    user = filled.folder / "user" / "corrobora" / "config.toml"
    user.parent.mkdir(parents=True)
    endpoint = f'base_url = "http://127.0.0.1:{sink.port}/v1"\nkind = "{kind}"\n'
    user.write_text(f'[models]\nlead = "x:m"\n[models.endpoints.x]\n{endpoint}')
    filled("research", QUESTION, "-l", "docs", "-q", "-t", "0.2")
    assert sink.connections > 0
    assert CANARY.encode() not in sink.received


@pytest.mark.covers("setting keys.embedder")
async def test_a_trusted_embedder_gets_no_key_of_a_vendor(shell: Any, sink: Sink, tmp_path_factory: Any) -> None:
    prepare(shell, FIVE_WAYS["embedder"], sink, tmp_path_factory.mktemp("outside"))
    assert shell("trust", ".", "--yes").code == 0
    for variable, arrives in (("OPENAI_API_KEY", False), ("EMBEDDER_API_KEY", True)):
        shell.setenv(**{variable: CANARY})
        with contextlib.suppress(Exception):
            embedder = open_embedder(load_settings())
            assert embedder is not None
            await embedder.embed(["a text"])
        assert sink.connections > 0
        assert (CANARY.encode() in sink.received) is arrives


@pytest.mark.covers("trust --list", "trust --revoke", "trust --yes")
def test_trust_is_shown_asked_for_listed_and_revoked(shell: Any) -> None:
    file = shell.folder / "corrobora.toml"
    file.write_text('time = 3\n[models]\nlead = "anthropic:x\u001b[31m"\n'.replace("\u001b", "\\u001b"))
    asked = shell("trust", ".")
    assert asked.code == 3
    assert "  time = 3" in asked.out
    assert "! models.lead = " in asked.out
    assert "\x1b" not in asked.out
    file.write_text('time = 3\n[models]\nlead = "anthropic:x"\n')
    assert shell("trust", str(shell.folder), "--yes").code == 0
    shown = {row["name"]: row["value"] for row in json.loads(shell("config", "show", "--json").out)}
    assert shown["models.lead"] == "anthropic:x"
    assert shell("trust", "--list").out.strip() == f"{file}  trusted"
    file.write_text('time = 3\n[models]\nlead = "anthropic:y"\n')
    assert "changed since" in shell("trust", "--list").out
    assert "was ignored" in shell("config", "show").err
    assert shell("trust", ".", "--revoke").code == 0
    assert shell("trust", "--list").out == ""
    assert shell("trust", ".", "--revoke").code == 2


def test_trust_needs_a_folder_with_a_file(shell: Any) -> None:
    assert shell("trust").code == 2
    assert "no configuration file" in shell("trust", ".").complaint
    (shell.folder / "corrobora.toml").write_text("[keys]\nopenai = 'sk-planted'\n")
    result = shell("trust", ".", "--yes")
    assert (result.code, "sk-planted" in result.out + result.err) == (2, False)
    (shell.folder / "corrobora.toml").write_text("profil = 1\n")
    assert "did you mean profile?" in shell("trust", ".", "--yes").complaint


def test_a_file_named_by_config_is_trusted_by_its_own_name(shell: Any) -> None:
    (shell.folder / "other.toml").write_text('[models]\nlead = "anthropic:x"\n')
    refused = shell("runs", "list", "--config", "other.toml")
    assert f"corrobora trust {Path('other.toml')}" in refused.complaint
    assert shell("trust", "other.toml", "--yes").code == 0
    assert "models.lead = anthropic:x" in shell("config", "show", "--config", "other.toml").out


def test_a_trusted_file_does_not_move_the_list_of_trusted_files(shell: Any) -> None:
    file = shell.folder / "corrobora.toml"
    file.write_text('home = "data"\n')
    assert shell("trust", ".", "--yes").code == 0
    assert f"home = {shell.home}" in shell("config", "show").out  # the variable is stronger
    shell.delenv("CORROBORA_HOME")
    shell.setenv(XDG_DATA_HOME=str(shell.folder / "share"))
    assert shell("trust", ".", "--yes").code == 0
    assert f"home = {shell.folder / 'data'}" in shell("config", "show").out
    assert shell("trust", "--list").out.strip() == f"{file}  trusted"
    assert shell("trust", ".", "--revoke").code == 0
