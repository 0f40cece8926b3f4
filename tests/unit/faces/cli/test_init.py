"""`corrobora init`: what it finds on this machine, and a file that the settings accept."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from corrobora.config import find_user_file, load_settings


@pytest.fixture
def ollama() -> Iterator[str]:
    """A model server on loopback that lists two models."""

    class Server(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps({"data": [{"id": "nomic-embed"}, {"id": "qwen3:8b"}, {"id": "tiny:1b"}]}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    server.server_close()


@pytest.mark.covers("init --write")
def test_a_model_server_of_this_machine_is_written_and_used(shell: Any, ollama: str) -> None:
    shell.setenv(OLLAMA_HOST=ollama.removesuffix("/v1"))
    assert shell("init").code == 0
    assert not find_user_file().exists()
    done = shell("init", "--write")
    assert "tiny:1b" in done.out
    assert "nomic-embed" not in done.out
    assert find_user_file().read_text() == done.out
    settings = load_settings()
    assert settings.models["lead"] == "ollama:qwen3:8b"
    assert settings.max_usd == 1.0


def test_a_file_that_is_there_stays_as_it_is(shell: Any) -> None:
    shell("init", "--write")
    find_user_file().write_text('profile = "rounds"\n')
    again = shell("init", "--write")
    assert (again.code, "exists" in again.complaint) == (2, True)
    assert find_user_file().read_text() == 'profile = "rounds"\n'


def test_keys_are_named_and_never_printed(shell: Any) -> None:
    shell.setenv(OPENAI_API_KEY="sk-" + "a" * 40, TAVILY_API_KEY="tvly-" + "b" * 20)
    found = shell("init")
    assert '"openai:MODEL"' in found.out
    assert 'providers = ["tavily"]' in found.out
    assert "aaaa" not in found.out + found.err
    assert "bbbb" not in found.out + found.err


@pytest.mark.parametrize(("answer", "written"), [("y\n", True), ("n\n", False)])
def test_a_person_is_asked(shell: Any, answer: str, *, written: bool) -> None:
    assert shell.at_terminal("init", typed=answer).code == 0
    assert find_user_file().exists() is written
