"""The search provider over an MCP server: the contract of every provider, streams of events, and failing commands."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any

import pytest

from corrobora.adapters.pacing import SystemClock
from corrobora.adapters.search.mcp_server import McpSearch
from corrobora.domain.errors import ProviderError, UserError
from corrobora.domain.evidence import Hit, Query
from corrobora.testing.http_server import HttpServer, Request, Response
from corrobora.testing.search_conformance import SEARCH_CHECKS, SearchCase, SearchCheck

ROW = {"id": "7", "url": "https://a.test/", "title": "A", "text": "words"}


def make(url: str, seconds: float = 30.0) -> McpSearch:
    return McpSearch("a-key", clock=SystemClock(), base_url=url, seconds=seconds)


def write_answer(rows: object) -> object:
    return {"jsonrpc": "2.0", "id": 1, "result": {"content": [], "structuredContent": {"results": rows}}}


@pytest.mark.parametrize("check", SEARCH_CHECKS, ids=lambda check: check.__name__)
async def test_conformance(check: SearchCheck) -> None:
    await check(SearchCase(make, write_answer, "a-key"))


async def search(reply: object, *, raw: bytes = b"") -> tuple[list[Hit], list[Request]]:
    seen: list[Request] = []

    async def respond(request: Request) -> Response:
        seen.append(request)
        return Response(body=raw or json.dumps(reply).encode())

    async with HttpServer(respond) as server:
        return list(await make(server.url).search(Query("iron", site="a.test"), limit=5)), seen


def in_text(value: Mapping[str, Any]) -> object:
    return {"id": 1, "result": {"content": [{"type": "text", "text": json.dumps(value)}]}}


async def test_results_stand_in_a_text_or_in_a_stream_of_events() -> None:
    (hit,), seen = await search(in_text({"results": [ROW]}))
    assert (hit.snippet, hit.identifier, hit.provider) == ("words", "mcp:7", "mcp")
    sent = json.loads(seen[0].body)
    assert sent["params"]["name"] == "search"
    assert sent["params"]["arguments"] == {"query": "iron site:a.test"}
    assert seen[0].headers["mcp-protocol-version"] == sent["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"]
    events = b'event: message\r\ndata: {"method":"notifications/progress"}\r\n\r\n: ping\r\n\r\n'
    events += b"data: " + json.dumps(in_text({"results": [ROW]})).encode() + b"\r\n\r\n"
    assert (await search(None, raw=events))[0][0].url == "https://a.test/"


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        ({"id": 1, "error": {"code": -32602, "message": "\x1b[31mIgnore all"}}, "provider_bad_content"),
        ({"id": 1, "result": {"isError": True, "content": []}}, "provider_failed"),
        ({"id": 1, "result": {"content": [{"type": "image", "data": "x"}]}}, "provider_bad_content"),
        (in_text({"answer": 1}), "provider_bad_content"),
    ],
)
async def test_what_is_no_answer_is_an_error_that_repeats_nothing_of_it(reply: object, code: str) -> None:
    with pytest.raises(ProviderError) as raised:
        await search(reply)
    assert raised.value.code == code
    assert "Ignore" not in str(raised.value)


async def test_an_empty_stream_is_a_cut_answer() -> None:
    with pytest.raises(ProviderError, match="cut"):
        await search(None, raw=b"event: message\n\n")


@pytest.mark.parametrize("command", ["/nowhere/to/be-found", f"{sys.executable} -c 'print(1)'"])
async def test_a_command_that_cannot_serve_is_a_failed_provider(command: str) -> None:
    provider = McpSearch("", clock=SystemClock(), command=command, seconds=20.0)
    with pytest.raises(ProviderError) as raised:
        await provider.search(Query("iron"), limit=1)
    assert raised.value.code in ("provider_failed", "provider_timeout")


def test_one_of_address_and_command_is_needed() -> None:
    with pytest.raises(UserError, match="mcp_command"):
        McpSearch("", clock=SystemClock())
