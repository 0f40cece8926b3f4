"""Connecting: names of models, tiers, settings of users, local servers."""

from __future__ import annotations

import json

import pytest
from bench.model_server.server import MODELS, ModelServer

from corrobora.adapters.models import (
    choose_targets,
    find_local_servers,
    find_provider,
    parse_target,
)
from corrobora.adapters.models.transport import HttpEndpoint
from corrobora.domain.errors import UserError
from corrobora.registry import list_parts
from corrobora.testing.http_server import HttpServer, Request, Response


@pytest.mark.parametrize(
    ("text", "env", "id_", "url"),
    [
        ("anthropic:claude-x", {"ANTHROPIC_API_KEY": "k"}, "anthropic:claude-x", "https://api.anthropic.com"),
        ("openai:gpt-x", {"OPENAI_API_KEY": "k"}, "openai:gpt-x", "https://api.openai.com/v1"),
        ("ollama:llama3:8b", {}, "ollama:llama3:8b", "http://127.0.0.1:11434/v1"),
        ("ollama:m", {"OLLAMA_HOST": "10.0.0.5:9000"}, "ollama:m", "http://10.0.0.5:9000/v1"),
        ("ollama:m", {"OLLAMA_HOST": "0.0.0.0"}, "ollama:m", "http://0.0.0.0:11434/v1"),
        ("ollama:m", {"OLLAMA_HOST": ":9000"}, "ollama:m", "http://127.0.0.1:9000/v1"),
        ("ollama:m", {"OLLAMA_HOST": "[::1]"}, "ollama:m", "http://[::1]:11434/v1"),
        ("ollama:m", {"OLLAMA_HOST": "https://box"}, "ollama:m", "https://box/v1"),
        ("lmstudio:m", {}, "lmstudio:m", "http://127.0.0.1:1234/v1"),
        ("vllm:org/m", {}, "vllm:org/m", "http://127.0.0.1:8000/v1"),
        ("llamacpp:m", {}, "llamacpp:m", "http://127.0.0.1:8080/v1"),
        ("openai-compatible:m@http://h:1/v1/", {}, "openai-compatible:m", "http://h:1/v1"),
        ("openai-compatible:m", {"CORROBORA_MODEL_BASE_URL": "http://h/v1"}, "openai-compatible:m", "http://h/v1"),
        ("openai:m", {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "https://p/v1"}, "openai:m", "https://p/v1"),
    ],
)
def test_a_model_is_named_by_provider_and_name(text: str, env: dict[str, str], id_: str, url: str):
    target = parse_target(text, env)
    assert (target.id, target.base_url) == (id_, url)


@pytest.mark.parametrize(
    ("text", "env", "code"),
    [
        ("gpt-4", {}, "model_unknown_provider"),
        ("nosuch:gpt-4", {}, "model_unknown_provider"),
        ("openai:", {"OPENAI_API_KEY": "k"}, "model_no_name"),
        ("openai:gpt-4", {}, "model_no_key"),
        ("anthropic:claude", {"ANTHROPIC_API_KEY": " "}, "model_no_key"),
        ("openai-compatible:m", {}, "model_no_address"),
        *(
            ("openai-compatible:m", {"OPENAI_BASE_URL": f"{address}/v1"}, "model_no_address")
            for address in ("ftp://x", "http://[::1", "http://h:99999", "http://h:x", "http://a..b", "http://a b")
        ),
    ],
)
def test_a_model_that_cannot_be_asked_is_refused_with_a_next_step(text: str, env: dict[str, str], code: str):
    with pytest.raises(UserError) as raised:
        parse_target(text, env)
    assert raised.value.code == code
    assert raised.value.next_step


def test_an_address_that_cannot_be_asked_is_told_with_the_variable_that_holds_it():
    with pytest.raises(UserError, match=r"\(http://::1\).*Set OLLAMA_HOST"):
        parse_target("ollama:m", {"OLLAMA_HOST": "::1"})


def test_a_user_name_in_an_address_is_refused_without_being_shown():
    with pytest.raises(UserError) as raised:
        parse_target("openai-compatible:m@http://me:hunter2@127.0.0.1:9/v1", {})
    assert raised.value.code == "model_no_address"
    assert "user name" in raised.value.message
    assert "hunter2" not in f"{raised.value.message} {raised.value.next_step}"


def test_a_query_of_an_address_is_kept():
    assert parse_target("openai-compatible:m@http://h/v1?api-version=2", {}).base_url == "http://h/v1?api-version=2"
    assert parse_target("ollama:m", {"OLLAMA_HOST": "http://h:1/?a=b"}).base_url == "http://h:1/v1?a=b"


async def test_the_query_of_an_address_is_sent_with_every_request():
    sent: list[str] = []

    async def respond(request: Request) -> Response:
        sent.append(request.path)
        return Response(body=b"{}")

    async with HttpServer(respond) as server:
        endpoint = HttpEndpoint(f"{server.url}/v1/?api-version=2026-01&x=a b")
        async with endpoint.request("POST", "/chat/completions", b"{}") as answer:
            await answer.read_body(100)
        await endpoint.aclose()
    assert sent == ["/v1/chat/completions?api-version=2026-01&x=a%20b"]


async def test_an_address_that_cannot_be_asked_hides_no_other_local_server():
    assert isinstance(await find_local_servers({"OLLAMA_HOST": "http://[::1"}), tuple)


def test_a_key_is_never_shown():
    target = parse_target("openai:m", {"OPENAI_API_KEY": "sk-secret-value"})
    assert target.key == "sk-secret-value"
    assert "secret-value" not in repr(target)


def test_a_tier_without_a_name_takes_the_workers():
    chosen = choose_targets({"lead": "ollama:big", "judge": "ollama:wise"}, {}, lead_thinking=True)
    assert {tier: target.id for tier, target in chosen.items()} == {
        "lead": "ollama:big",
        "worker": "ollama:big",
        "fast": "ollama:big",
        "judge": "ollama:wise",
    }
    assert [target.thinking for target in chosen.values()] == [True, False, False, False]
    assert choose_targets({}, {}) == {}


async def test_running_local_servers_are_found_and_silence_and_nonsense_are_not():
    async def nonsense(_request: Request) -> Response:
        return Response(body=json.dumps(["no", "models"]).encode())

    async def broken(_request: Request) -> Response:
        return Response(500, b"oops")

    async with ModelServer() as good, HttpServer(nonsense) as odd, HttpServer(broken) as bad:
        found = await find_local_servers(
            {
                "OLLAMA_BASE_URL": f"{good.url}/v1",
                "VLLM_BASE_URL": f"{odd.url}/v1",
                "LMSTUDIO_BASE_URL": f"{bad.url}/v1",
                "LLAMACPP_BASE_URL": "http://127.0.0.1:9/v1",
            }
        )
    assert [(server.provider, server.models) for server in found] == [("ollama", MODELS)]


def test_every_local_provider_has_a_default_address_on_this_machine():
    found = [provider for name in list_parts("models") if (provider := find_provider(name)) is not None]
    local = [provider for provider in found if provider.local]
    assert len({provider.base_url for provider in local}) == len(local) == 4
    assert all(provider.base_url.startswith("http://127.0.0.1:") and not provider.key for provider in local)
