"""Recorded answers of real providers: reading cassettes, what their bodies say, and asking our own clients for them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

import pytest
import yaml

from corrobora.adapters.models import Completion, ModelRequest, OutputMode, parse_target
from corrobora.adapters.models.connection import explain_failure
from corrobora.adapters.models.framing import TransportError
from corrobora.analysts.language_model import OutputForm, Prompt
from corrobora.domain.errors import ProviderError
from corrobora.testing.http_server import HttpServer, Request, Response

TARGETS = {"chat": "openai-chat:gpt-4.1@{url}/v1", "anthropic": "anthropic:claude-sonnet-5@{url}"}
SHIPPED = Path(__file__).parents[3] / "fixtures" / "recorded"
_EVAL = os.environ.get("CORROBORA_EVAL_DATA")
ROOTS = [SHIPPED, *([Path(_EVAL) / "recorded_api"] if _EVAL else [])]
FORM = OutputForm("answer", "An answer.", {"type": "object", "properties": {"a": {"type": "string", "maxLength": 3}}})
ENDINGS = {"length": "length", "max_tokens": "length", "content_filter": "refusal", "refusal": "refusal"}

Kind = Literal["chat", "anthropic", "count_tokens"]
_KINDS: tuple[tuple[str, Kind], ...] = (
    ("/messages/count_tokens", "count_tokens"),
    ("/messages", "anthropic"),
    ("/chat/completions", "chat"),
)


@dataclass(frozen=True)
class Recorded:
    """One recorded answer."""

    cassette: str
    number: int
    kind: Kind
    status: int
    stream: bool
    body: bytes


@dataclass(frozen=True)
class WireReply:
    """What a body says: text, tool calls, tokens (None where the body has no usage), how it ended."""

    text: str
    calls: tuple[tuple[str, Any], ...]
    sent: int | None
    received: int | None
    ended: str


def read(path: Path) -> Iterator[Recorded]:
    """Yield the answers of a cassette that a model client receives; others (conversations, Gemini) are left out."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    for number, interaction in enumerate(yaml.load(path.read_text("utf-8"), loader)["interactions"]):
        url = urlsplit(interaction["request"]["uri"])
        kind: Kind | None = next((kind for part, kind in _KINDS if part in url.path), None)
        if kind is None:
            continue
        response = interaction["response"]
        body = response.get("parsed_body")
        text = json.dumps(body) if body is not None else (response.get("body") or {}).get("string", "")
        raw = text if isinstance(text, bytes) else text.encode()
        content_type = " ".join(response["headers"].get("content-type", response["headers"].get("Content-Type", [])))
        stream = "event-stream" in content_type
        yield Recorded(path.stem, number, kind, response["status"]["code"], stream, raw)


def said(recorded: Recorded) -> WireReply:
    """Take a body apart."""
    if not recorded.stream:
        return _WHOLE[recorded.kind](json.loads(recorded.body))
    events = [
        json.loads(line[5:])
        for line in recorded.body.decode().splitlines()
        if line.startswith("data:") and line[5:].strip() != "[DONE]"
    ]
    return _STREAM[recorded.kind](events)


def _args(text: str) -> Any:
    try:
        return json.loads(text or "{}")
    except ValueError:
        return text


def _chat(body: Any) -> WireReply:
    choice, usage = body["choices"][0], body.get("usage") or {}
    message = choice["message"]
    calls = tuple((c["function"]["name"], _args(c["function"]["arguments"])) for c in message.get("tool_calls") or ())
    return WireReply(
        message.get("content") or "",
        calls,
        usage.get("prompt_tokens"),
        usage.get("completion_tokens"),
        choice["finish_reason"],
    )


def _chat_stream(events: list[Any]) -> WireReply:
    text, ended, usage = "", "", {}
    calls: dict[int, list[str]] = {}
    for event in events:
        usage = event.get("usage") or usage
        for choice in event.get("choices") or ():
            delta = choice.get("delta") or {}
            text += delta.get("content") or ""
            ended = choice.get("finish_reason") or ended
            for call in delta.get("tool_calls") or ():
                known = calls.setdefault(call["index"], ["", ""])
                known[0] += call["function"].get("name") or ""
                known[1] += call["function"].get("arguments") or ""
    done = tuple((name, _args(args)) for name, args in calls.values())
    return WireReply(text, done, usage.get("prompt_tokens"), usage.get("completion_tokens"), ended)


def _sent(usage: Any) -> int | None:
    if "input_tokens" not in usage:
        return None
    return sum(
        usage.get(key) or 0 for key in ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    )


def _anthropic(body: Any) -> WireReply:
    text = "".join(block["text"] for block in body["content"] if block["type"] == "text")
    calls = tuple((block["name"], block["input"]) for block in body["content"] if block["type"] == "tool_use")
    return WireReply(text, calls, _sent(body["usage"]), body["usage"].get("output_tokens"), body["stop_reason"])


def _anthropic_stream(events: list[Any]) -> WireReply:
    text, ended, usage = "", "", {}
    calls: dict[int, list[str]] = {}
    for event in events:
        match event["type"]:
            case "message_start":
                usage = dict(event["message"]["usage"])
            case "content_block_start" if event["content_block"]["type"] == "tool_use":
                calls[event["index"]] = [event["content_block"]["name"], ""]
            case "content_block_start" if event["content_block"]["type"] == "text":
                text += event["content_block"]["text"]
            case "content_block_delta" if event["delta"]["type"] == "text_delta":
                text += event["delta"]["text"]
            case "content_block_delta" if event["delta"]["type"] == "input_json_delta" and event["index"] in calls:
                calls[event["index"]][1] += event["delta"]["partial_json"]
            case "message_delta":
                usage |= {key: value for key, value in event["usage"].items() if value is not None}
                ended = event["delta"].get("stop_reason") or ended
    done = tuple((name, _args(args)) for name, args in calls.values())
    return WireReply(text, done, _sent(usage), usage.get("output_tokens"), ended)


_WHOLE: dict[str, Any] = {"chat": _chat, "anthropic": _anthropic}
_STREAM: dict[str, Any] = {"chat": _chat_stream, "anthropic": _anthropic_stream}


def find_cassettes(folder: str) -> list[Path]:
    """Return the shipped recordings, and all of them where CORROBORA_EVAL_DATA names the evaluation data."""
    return [path for root in ROOTS for path in sorted((root / folder).glob("*.yaml"))]


async def complete(
    kind: Kind, body: bytes, *, status: int = 200, stream: bool = False, tool: str = "answer", mode: OutputMode = "tool"
) -> Completion:
    """Ask one of our clients for an answer whose body is this one."""

    async def respond(_request: Request) -> Response:
        return Response(status, body, "text/event-stream; charset=utf-8" if stream else "application/json")

    async with HttpServer(respond) as server:
        target = parse_target(TARGETS[kind].format(url=server.url), {})
        wire = target.provider.connect(target)
        form = OutputForm(tool, FORM.description, FORM.schema)
        try:
            return await wire.complete(ModelRequest(Prompt("s", ("b",), "t"), form, mode, 100))
        finally:
            await wire.aclose()


async def check_recorded(recorded: Recorded) -> None:
    """Check that our client reads a recorded answer as it was meant, each of its tools in turn."""
    where = f"{recorded.cassette}[{recorded.number}]"
    if recorded.status >= 400:
        with pytest.raises(TransportError) as raised:
            await complete(recorded.kind, recorded.body, status=recorded.status)
        error = explain_failure(raised.value, parse_target("openai-chat:gpt-4.1@http://127.0.0.1:1/v1", {}))
        assert isinstance(error, ProviderError), where
        assert (error.status, error.retryable) == (recorded.status, False), where
        return
    expected = said(recorded)
    for name in {name for name, _ in expected.calls} or {""}:
        found = await complete(recorded.kind, recorded.body, stream=recorded.stream, tool=name or "answer")
        wanted = next((arguments for called, arguments in expected.calls if called == name), None)
        assert (_args(found.text) if name else found.text) == (wanted if name else expected.text), where
        if expected.sent is not None:
            assert found.tokens.sent == expected.sent, where
        if expected.received is not None:
            assert found.tokens.received == expected.received, where
        assert found.ending == ENDINGS.get(expected.ended, "stop"), where
