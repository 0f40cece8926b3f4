"""The exchange: every recorded answer of two providers decodes through the real clients.

All recordings are run where CORROBORA_EVAL_DATA names the folder of the evaluation data; a part ships as fixtures.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.direct import model_request, model_request_stream
from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.settings import ModelSettings
from tests.unit.adapters.models.recorded import Recorded, read, said

from corrobora.adapters.models.building import build
from corrobora.adapters.models.connect import parse_target
from corrobora.adapters.models.exchange import FAILURES
from corrobora.adapters.models.failures import mapped
from corrobora.domain.errors import ProviderError
from corrobora.testing.http_server import HttpServer, Request, Response

FOLDERS = ("llm_anthropic", "llm_openai", "llm_openai_responses")
SHIPPED = Path(__file__).parents[3] / "fixtures" / "recorded"
EVAL = os.environ.get("CORROBORA_EVAL_DATA")
ROOTS = [SHIPPED, *([Path(EVAL) / "recorded_api"] if EVAL else [])]
CASSETTES = [path for root in ROOTS for folder in FOLDERS for path in sorted((root / folder).glob("*.yaml"))]
TARGETS = {
    "chat": "openai-chat:gpt-4.1@{url}/v1",
    "responses": "openai:gpt-4.1@{url}/v1",
    "anthropic": "anthropic:claude-sonnet-5@{url}",
}
ENDED = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "tool_call",
    "content_filter": "content_filter",
    "completed": "stop",
    "end_turn": "stop",
    "tool_use": "tool_call",
    "max_tokens": "length",
    "stop_sequence": "stop",
    "refusal": "content_filter",
}


def test_the_shipped_recordings_cover_every_protocol_and_streams():
    found = [each for path in CASSETTES for each in read(path)]
    assert {(each.kind, each.stream) for each in found} >= {
        (kind, stream) for kind in ("chat", "responses", "anthropic") for stream in (False, True)
    }
    assert any(each.status >= 400 for each in found)
    size = sum(path.stat().st_size for path in SHIPPED.rglob("*") if path.is_file())
    assert size <= 1_500_000


@pytest.mark.parametrize("path", CASSETTES, ids=lambda path: f"{path.parent.name}/{path.stem}")
async def test_every_recorded_answer_decodes(path: Path):
    for recorded in read(path):
        if recorded.kind == "count_tokens":
            continue
        if recorded.status >= 400:
            await _fails(recorded)
        else:
            _same(recorded, await _decoded(recorded))


async def _ask(recorded: Recorded) -> ModelResponse:
    async def respond(_request: Request) -> Response:
        kind = "text/event-stream; charset=utf-8" if recorded.stream else "application/json"
        return Response(recorded.status, recorded.body, kind)

    async with HttpServer(respond) as server:
        built = build(parse_target(TARGETS[recorded.kind].format(url=server.url), {}))
        asked: dict[str, Any] = {
            "model_request_parameters": ModelRequestParameters(),
            "model_settings": ModelSettings(max_tokens=1_000),
        }
        try:
            if not recorded.stream:
                return await model_request(built.model, [ModelRequest.user_text_prompt("hello")], **asked)
            async with model_request_stream(built.model, [ModelRequest.user_text_prompt("hello")], **asked) as stream:
                deltas = [event async for event in stream]
                assert deltas
                return stream.get()
        finally:
            await built.client.aclose()


async def _decoded(recorded: Recorded) -> ModelResponse:
    return await _ask(recorded)


def _same(recorded: Recorded, response: ModelResponse) -> None:
    expected = said(recorded)
    where = f"{recorded.cassette}[{recorded.number}]"
    text = "".join(part.content for part in response.parts if isinstance(part, TextPart))
    calls = tuple((part.tool_name, part.args_as_dict()) for part in response.parts if isinstance(part, ToolCallPart))
    assert text == expected.text, where
    assert calls == expected.calls, where
    if expected.sent is not None:
        assert response.usage.input_tokens == expected.sent, where
    if expected.received is not None:
        assert response.usage.output_tokens == expected.received, where
    if expected.ended in ENDED and not (expected.ended == "completed" and calls):
        assert response.finish_reason == ENDED[expected.ended], where


async def _fails(recorded: Recorded) -> None:
    with pytest.raises(FAILURES) as raised:
        await _ask(recorded)
    error = mapped(raised.value, parse_target("openai-chat:gpt-4.1@http://127.0.0.1:1/v1", {}))
    assert isinstance(error, ProviderError)
    assert error.status == recorded.status
    assert not error.retryable
