"""`--model` through the command: how a model is called, and what becomes of a run whose model does not answer."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from bench.model_server.server import ModelServer

from corrobora.testing.http_server import Request, Response

QUESTION = "When was the bridge at Arnholm opened?"


class RefusingServer(ModelServer):
    """A model server that refuses the key after some good answers, or does not know the model any more."""

    good = 0
    status = 401
    turned_away = 0

    async def _respond(self, request: Request) -> Response:
        if request.method == "POST" and len(self.calls) >= self.good:
            self.turned_away += 1
            return Response(self.status, b'{"error": {"message": "no such key"}}')
        return await super()._respond(request)


class SpeechlessServer(ModelServer):
    """A server at the address of a model that has no answer to any call."""

    does: Response | None = None  # None: it is silent
    hangs_up = False
    turned_away = 0

    async def _respond(self, request: Request) -> Response:
        self.turned_away += request.method == "POST"
        if request.method == "POST" and self.hangs_up:
            raise ConnectionError
        if request.method == "POST" and self.does is None:
            await asyncio.Event().wait()
        return self.does if self.does is not None and request.method == "POST" else await super()._respond(request)


FOREIGN = {
    "web pages": Response(200, b"<!doctype html><title>Sign in</title><p>Please sign in.", "text/html"),
    "another service": Response(200, b'{"ok": true}'),
    "nothing": Response(200),
    "packed": Response(200, b"\x1f\x8b", headers={"content-encoding": "gzip"}),
    "long headers": Response(200, b"{}", headers={"x": "x" * 300_000}),
}
SPEECHLESS = {
    **FOREIGN,
    "web pages of a gateway": Response(502, b"<!doctype html><title>Bad gateway</title>", "text/html"),
    "busy for a day": Response(429, b"{}", headers={"retry-after": "86400"}),
    "moved": Response(307, headers={"location": "http://127.0.0.2/v1"}),
    "silent": None,
}


@contextmanager
def serve(server: ModelServer) -> Iterator[str]:
    """Serve in a thread of its own; its address as a model is written."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    asyncio.run_coroutine_threadsafe(server.__aenter__(), loop).result(10)
    try:
        yield f"openai-compatible:scripted@{server.url}/v1"
    finally:
        asyncio.run_coroutine_threadsafe(server.__aexit__(None, None, None), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def ask(shell: Any, model: str, *flags: str) -> Any:
    return shell(QUESTION, "-l", "docs", "-m", model, "-s", "max_rounds=1", "--json", *flags)


def ask_speechless(shell: Any, does: Any, protocol: str, *flags: str, hangs_up: bool = False) -> tuple[Any, str, int]:
    """Ask at an address where no model answers; return the result, the address, and how many calls it had."""
    shell.setenv(ANTHROPIC_API_KEY="sk-test")
    server = SpeechlessServer()
    server.does, server.hangs_up = does, hangs_up
    with serve(server) as model:
        given = model if protocol == "openai" else f"anthropic:scripted@{server.url}"
        return ask(shell, given, *flags), given.partition("@")[2], server.turned_away


def test_a_model_of_an_own_endpoint_is_called_by_its_name(filled: Any) -> None:
    with serve(ModelServer()) as model:
        file = filled.folder / "user" / "corrobora" / "config.toml"
        file.parent.mkdir(parents=True)
        file.write_text(f'[models.endpoints.lan]\nkind = "openai"\nbase_url = "{model.partition("@")[2]}"\n')
        report = json.loads(ask(filled, "lan:scripted-large").out)
    assert "lan:scripted-large (" in report["methodology"]["analyst"]
    assert "lan:scripted-large (" in report["markdown"]
    assert "openai-compatible" not in report["markdown"]


def test_a_model_that_nobody_serves_stops_the_run_before_it_begins(filled: Any) -> None:
    before = filled("runs", "list", "--json").out
    result = ask(filled, "openai-compatible:scripted@http://127.0.0.1:9/v1")
    assert result.code == 7
    assert "no server at 127.0.0.1:9 for openai-compatible:scripted. Start it" in result.complaint
    filled.setenv(OPENAI_API_KEY="sk-test")
    elsewhere = ask(filled, "openai:scripted@https://127.0.0.2:9/v1")
    assert "127.0.0.2:9 cannot be reached for openai:scripted. Check the network" in elsewhere.complaint
    assert "Start it, or leave --model out" in result.complaint
    assert filled("runs", "list", "--json").out == before


@pytest.mark.parametrize("profile", ["timed", "angles", "tree"])
def test_a_model_that_never_answers_ends_the_run(filled: Any, profile: str) -> None:
    with serve(RefusingServer()) as model:
        result = ask(filled, model, "-p", profile, "-y")
    assert result.code == 7
    assert "The model never answered: openai-compatible:scripted refused the key" in result.complaint
    assert "leave --model out" in result.complaint


@pytest.mark.parametrize(
    ("does", "protocol"),
    [(each, "openai") for each in SPEECHLESS] + [("web pages", "anthropic"), ("silent", "anthropic")],
)
def test_whatever_an_address_does_instead_of_answering_the_run_ends_with_7(
    filled: Any, does: str, protocol: str
) -> None:
    result, _, _ = ask_speechless(filled, SPEECHLESS[does], protocol, "-t", "3s")
    assert (result.code, json.loads(result.out)["outcome"]) == (7, None)
    assert "The model never answered: " in result.complaint
    assert "leave --model out" in result.complaint


@pytest.mark.parametrize("protocol", ["openai", "anthropic"])
@pytest.mark.parametrize("does", FOREIGN)
def test_an_address_where_no_model_answers_ends_the_run_at_its_first_call(
    filled: Any, does: str, protocol: str
) -> None:
    result, address, turned_away = ask_speechless(filled, FOREIGN[does], protocol)
    assert f"Check {address}" in result.complaint
    assert (result.code, turned_away) == (7, 1)
    assert "did not answer as a model server does: " in result.complaint


@pytest.mark.parametrize("protocol", ["openai", "anthropic"])
def test_an_address_that_hangs_up_ends_the_run_after_a_few_calls(filled: Any, protocol: str) -> None:
    began = time.monotonic()
    result, _, turned_away = ask_speechless(filled, None, protocol, hangs_up=True)
    assert (result.code, turned_away <= 8) == (7, True), turned_away
    assert "The model never answered: " in result.complaint
    assert "the connection was closed" in result.complaint
    assert time.monotonic() - began < 30


def test_a_model_that_answered_before_is_replaced_and_the_report_says_why(filled: Any) -> None:
    server = RefusingServer()
    server.good = 1
    with serve(server) as model:
        result = ask(filled, model)
    report = json.loads(result.out)
    assert (result.code, "1931" in report["markdown"]) == (0, True)
    assert "the provider refused the key" in report["markdown"]
    assert "provider_refused" not in report["markdown"]


@pytest.mark.parametrize("status", [401, 402, 404])
def test_a_key_or_a_model_that_ends_half_way_is_not_asked_by_every_later_call(filled: Any, status: int) -> None:
    server = RefusingServer()
    server.good, server.status = 1, status
    with serve(server) as model:
        result = ask(filled, model, "-p", "angles", "-y")
    assert "written without the model: the provider" in json.loads(result.out)["markdown"]
    assert 0 < server.turned_away < 4, f"{server.turned_away}: two in a row, and who was in flight"


def test_a_model_of_the_settings_is_replaced_from_the_beginning(filled: Any) -> None:
    filled.setenv(OPENAI_MODEL_ID="openai-compatible:scripted@http://127.0.0.1:9/v1")
    result = filled(QUESTION, "-l", "docs", "-s", "max_rounds=1", "--json")
    assert (result.code, "1931" in json.loads(result.out)["markdown"]) == (0, True)
