"""A connection to one model: typed failures, other ways of asking, deadlines, secrets, and providers from outside."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from bench.model_server.faults import Fault
from bench.model_server.protocols import WireReply, read_request, write_answer
from bench.model_server.server import ModelServer
from tests.unit.adapters.models.recorded import SHIPPED, read

from corrobora.adapters.models import Target, parse_target
from corrobora.adapters.models.connection import ModelConnection, explain_failure
from corrobora.adapters.models.framing import IdleTimeoutError, OversizedAnswerError, RejectedError, UnreachableError
from corrobora.adapters.pacing import CallGate, Pace
from corrobora.analysts.language_model import OutputForm, Prompt, Reply
from corrobora.domain.errors import CorroboraError, ProviderError
from corrobora.domain.limits import CallOptions, Usage
from corrobora.ports import open_book
from corrobora.testing.http_server import HttpServer, Request, Response

KEY = "canary-1234567890"
PROMPT = Prompt("s", ("b",), "t")
FORM = OutputForm("answer", "An answer.", {"type": "object", "properties": {"a": {"type": "string"}}})


def target_of(url: str, provider: str = "openai-compatible") -> Target:
    return parse_target(f"{provider}:m@{url}", {}, key=KEY)


async def ask(target: Target, **more: Any) -> Reply:
    connection = ModelConnection(target, CallGate("g"), **more)
    try:
        return await connection.ask(PROMPT, FORM, max_tokens=50)
    finally:
        await connection.aclose()


def explain(status: int, body: dict[str, Any] | bytes, **headers: str) -> CorroboraError:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return explain_failure(RejectedError(status, named, raw), target_of("http://127.0.0.1:1/v1"))


@pytest.mark.parametrize(
    ("status", "body", "code", "retryable"),
    [
        (429, {"error": {"code": "insufficient_quota", "message": "no credit"}}, "provider_quota", False),
        (400, {"error": {"code": "context_length_exceeded", "message": "x"}}, "model_context", False),
        (
            400,
            {"error": {"type": "invalid_request_error", "message": "prompt is too long: 9 > 8"}},
            "model_context",
            False,
        ),
        (413, b"too large", "model_context", False),
        (400, {"error": {"code": 400, "type": "exceed_context_size_error", "message": "x"}}, "model_context", False),
        (400, {"message": "Input is too long for requested model."}, "model_context", False),
        (422, {"detail": "the prompt exceeds the maximum number of input tokens"}, "model_context", False),
        (403, b"", "provider_refused", False),
        (403, {"error": {"message": "invalid key"}}, "provider_refused", False),
        (403, {"error": {"code": "unsupported_country_region_territory", "message": "x"}}, "provider_rejected", False),
        (403, {"error": {"message": "Your input was flagged by moderation"}}, "provider_rejected", False),
        (451, {"error": {"message": "not available for legal reasons"}}, "provider_rejected", False),
        (529, {"type": "error", "error": {"type": "overloaded_error", "message": "x"}}, "provider_busy", True),
        (200, {"type": "error", "error": {"type": "overloaded_error", "message": "x"}}, "provider_busy", True),
        (200, {"error": {"code": 429, "message": "x"}}, "provider_busy", True),
        (200, {"error": {"code": 402, "message": "x"}}, "provider_quota", False),
        (200, {"error": {"message": "the server stumbled"}}, "provider_failed", True),
        (200, {"error": {"type": "authentication_error", "message": "x"}}, "provider_refused", False),
        (200, {"error": {"type": "not_found_error", "message": "x"}}, "model_not_found", False),
        (429, [{"error": {"code": 429, "message": "exhausted"}}], "provider_busy", True),
        (502, b"<html>Bad gateway</html>", "provider_failed", True),
        (500, b"[" * 100_000, "provider_failed", True),
        (302, b"", "provider_rejected", False),
    ],
)
def test_what_a_provider_says_becomes_a_typed_error(status: int, body: Any, code: str, retryable: bool):
    error = explain(status, body)
    assert isinstance(error, ProviderError)
    assert (error.code, error.retryable) == (code, retryable)
    assert len(error.message) < 300


def test_a_page_of_a_gateway_is_told_by_its_title():
    error = explain(413, b"<html>\r\n<head><title>413 Request Entity Too Large</title></head><body><hr>nginx</html>")
    assert "413 Request Entity Too Large" in error.message
    assert "<" not in error.message


def test_a_provider_may_say_that_another_try_is_useless_or_when_to_try():
    error = explain(500, b"x", x_should_retry="false", retry_after="9")
    assert isinstance(error, ProviderError)
    assert (error.retryable, error.retry_after_seconds) == (False, 9.0)
    error = explain(429, b"{}", retry_after_ms="250")
    assert isinstance(error, ProviderError)
    assert error.retry_after_seconds == 0.25


def test_an_address_that_has_moved_is_named():
    assert "it has moved to https://new.example/v1" in explain(308, b"", location="https://new.example/v1").message


def test_failures_without_an_answer_are_typed_too():
    target = target_of("http://127.0.0.1:1/v1")
    codes = {
        UnreachableError("x"): "provider_unreachable",
        IdleTimeoutError("x"): "provider_timeout",
        OversizedAnswerError("x"): "output_too_large",
    }
    assert {explain_failure(error, target).code for error in codes} == set(codes.values())


@pytest.mark.parametrize("words", [f"bad key {KEY}", f"Bearer {KEY}", "key sk-abcdefghijkl refused"])
def test_no_error_holds_a_key(words: str):
    error = explain(400, {"error": {"message": words}})
    assert "***" in str(error)
    assert KEY not in str(error)
    assert "abcdefghijkl" not in str(error)


async def test_the_key_travels_in_the_header_of_its_protocol():
    seen: list[Request] = []

    async def respond(request: Request) -> Response:
        seen.append(request)
        protocol = "anthropic" if request.path == "/v1/messages" else "chat"
        asked = read_request(protocol, json.loads(request.body))
        return Response(body=write_answer(asked, WireReply("{}", input_tokens=1, output_tokens=1), 1))

    async with HttpServer(respond) as server:
        await ask(target_of(f"{server.url}/v1"))
        await ask(target_of(server.url, "anthropic"))
    assert seen[0].headers["authorization"] == f"Bearer {KEY}"
    assert seen[1].headers["x-api-key"] == KEY
    assert seen[1].headers["anthropic-version"]


def refusing(wrong: Callable[[dict[str, Any]], str], bodies: list[dict[str, Any]]) -> HttpServer:
    """A server that refuses requests in these words, until there are none."""

    async def respond(request: Request) -> Response:
        body = json.loads(request.body)
        bodies.append(body)
        if words := wrong(body):
            return Response(400, json.dumps({"error": {"message": words, "type": "invalid_request_error"}}).encode())
        return Response(
            body=write_answer(read_request("chat", body), WireReply("{}", input_tokens=1, output_tokens=1), 1)
        )

    return HttpServer(respond)


async def test_an_old_server_is_asked_in_its_own_words_and_remembered():
    bodies: list[dict[str, Any]] = []

    def wrong(body: dict[str, Any]) -> str:
        for name in ("stream_options", "max_completion_tokens", "json_schema"):
            if name in json.dumps(body):
                return f"unknown: {name}"
        return ""

    async with refusing(wrong, bodies) as server:
        connection = ModelConnection(target_of(f"{server.url}/v1"), CallGate("g"))
        for _ in range(2):
            assert (await connection.ask(PROMPT, FORM, max_tokens=50)).text == "{}"
        await connection.aclose()
    assert len(bodies) == 5  # three refusals, then two answers
    assert bodies[-1]["max_tokens"] == 50
    assert bodies[-1]["tools"]


async def test_a_server_that_refuses_every_way_is_not_asked_for_ever():
    bodies: list[dict[str, Any]] = []
    async with refusing(
        lambda _: "response_format json_object tools stream_options max_completion_tokens", bodies
    ) as server:
        with pytest.raises(ProviderError) as raised:
            await ask(target_of(f"{server.url}/v1"))
    assert raised.value.code == "provider_rejected"
    assert len(bodies) <= 5


async def test_a_call_that_is_too_slow_is_sent_once_even_while_the_provider_is_taken_to_be_down():
    server = ModelServer(faults=[Fault("slow", seconds=60)])
    gate = CallGate("g")
    async with server:
        connection = ModelConnection(
            replace(target_of(f"{server.url}/v1"), options=CallOptions(total_seconds=0.2)), gate
        )
        for _ in range(4):
            with pytest.raises(ProviderError) as raised:
                await connection.ask(PROMPT, FORM, max_tokens=50)
            assert raised.value.code == "provider_timeout"
        await connection.aclose()
        assert gate.down
        assert server.in_flight <= 4


async def test_a_probe_that_is_given_up_during_an_outage_tells_of_the_outage():
    sent, over = 0, asyncio.Event()

    async def cut_three_then_hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        await reader.readuntil(b"\r\n\r\n")
        sent += 1
        if sent > 3:
            await over.wait()
        writer.close()

    server = await asyncio.start_server(cut_three_then_hang, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    connection = ModelConnection(target_of(url), CallGate("g", Pace(probe_seconds=0.05, patience_seconds=30.0)))
    book = Told()
    token = open_book.set(book)
    try:
        for _ in range(2):
            with pytest.raises(ProviderError):
                await connection.ask(PROMPT, FORM, max_tokens=50)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(2.0):
                await connection.ask(PROMPT, FORM, max_tokens=50)
    finally:
        open_book.reset(token)
        over.set()
        await connection.aclose()
        server.close()
    assert sent == 4, "three failures, then a probe that is given up"
    assert book.failures == ["provider_bad_content"] * 4


async def test_a_web_page_is_no_answer_of_a_model_and_is_asked_again_only_where_a_model_answered_before():
    async def sign_in(_: Request) -> Response:
        return Response(200, b"<!doctype html><title>Sign in</title>", "text/html")

    async with HttpServer(sign_in) as server:
        gate = CallGate("g", Pace(probe_seconds=0.02, patience_seconds=0.1, first_patience_seconds=0.1))
        connection = ModelConnection(target_of(f"{server.url}/v1"), gate)
        for known in (False, True):
            gate.reached = known
            with pytest.raises(ProviderError, match="a web page came instead") as raised:
                await connection.ask(PROMPT, FORM, max_tokens=50)
            assert (raised.value.code, raised.value.retryable) == ("provider_foreign", known)
            assert known or f"Check {server.url}/v1" in raised.value.next_step
        await connection.aclose()


class Told:
    """A book that grants every call and keeps what went wrong with each."""

    def __init__(self) -> None:
        self.failures: list[str | None] = []
        self.refusals: dict[str, list[ProviderError]] = {}

    async def reserve(self, most: Usage, prompt: int) -> Usage:
        return most

    def settle(self, most: Usage, cost: Usage, failure: str | None = None) -> None:
        self.failures.append(failure)


PACKAGE = """
from corrobora.adapters.models import Completion, Provider, Tokens

class Echo:
    mode = "prompted"
    def __init__(self, target): self.model = target.model
    async def complete(self, request): return Completion('{"a": "%s"}' % self.model, "stop", Tokens(3, 4))
    def adapt(self, refusal): return False
    async def aclose(self): pass

PROVIDER = Provider("echo", Echo)
"""
USE = """
import asyncio
from corrobora.adapters.models.connection import ModelConnection
from corrobora.adapters.models import parse_target
from corrobora.adapters.pacing import CallGate
from corrobora.analysts.language_model import OutputForm, Prompt
from corrobora.registry import list_parts

async def main():
    assert "echo" in list_parts("models")
    connection = ModelConnection(parse_target("echo:hello", {}), CallGate("g"))
    reply = await connection.ask(Prompt("s", ("b",), "t"), OutputForm("f", "d", {}), max_tokens=5)
    print(reply.text, reply.usage.output_tokens, reply.usage.priced)

asyncio.run(main())
"""


def test_an_installed_package_adds_a_provider(tmp_path: Path):
    (tmp_path / "echo_provider.py").write_text(PACKAGE)
    info = tmp_path / "echo_provider-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: echo-provider\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[corrobora.models]\necho = echo_provider:PROVIDER\n")
    environment = {"PYTHONPATH": str(tmp_path), "PATH": "/usr/bin:/bin"}
    done = subprocess.run([sys.executable, "-c", USE], capture_output=True, text=True, check=False, env=environment)
    assert (done.stdout, done.stderr) == ('{"a": "hello"} 4 False\n', "")


REASONED = next(read(SHIPPED / "llm_openai" / "test_reasoning_model_with_temperature.yaml"))
REFUSED = next(read(SHIPPED / "llm_anthropic" / "test_anthropic_explicit_effort_xhigh_unsupported_model_errors.yaml"))
UNSUPPORTED = b'{"error": {"message": "Unsupported parameter: \'reasoning_effort\' is not supported with this model."}}'


@pytest.mark.parametrize(
    ("name", "status", "body"),
    [("anthropic:claude-opus-4-6@{url}", REFUSED.status, REFUSED.body), ("openai:m@{url}/v1", 400, UNSUPPORTED)],
)
async def test_an_effort_that_the_provider_refuses_is_an_error_that_names_it(name: str, status: int, body: bytes):
    asked: list[Any] = []

    async def refuse(request: Request) -> Response:
        asked.append(json.loads(request.body))
        return Response(status, body)

    async with HttpServer(refuse) as server:
        target = replace(parse_target(name.format(url=server.url), {}, key=KEY), effort="high")
        with pytest.raises(ProviderError, match="refuses the effort 'high'") as caught:
            await ask(target)
    assert caught.value.code == "model_effort"
    assert "effort" in caught.value.next_step
    assert not caught.value.retryable
    assert "high" in (asked[0].get("reasoning_effort"), asked[0].get("output_config", {}).get("effort"))


async def test_thinking_where_the_model_can_is_left_out_where_it_cannot_and_thoughts_are_billed():
    asked: list[Any] = []

    async def serve(request: Request) -> Response:
        asked.append(json.loads(request.body))
        return Response(400, UNSUPPORTED) if "reasoning_effort" in asked[-1] else Response(body=REASONED.body)

    async with HttpServer(serve) as server:
        reply = await ask(replace(parse_target(f"openai:m@{server.url}/v1", {}, key=KEY), thinking=True))
    assert ["reasoning_effort" in each for each in asked] == [True, False]
    told = json.loads(REASONED.body)["usage"]
    assert told["completion_tokens_details"]["reasoning_tokens"] == 192
    assert reply.usage.output_tokens == told["completion_tokens"] > 192
