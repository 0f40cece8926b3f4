"""Recorded answers of real providers: reading cassettes, and what their bodies say, taken apart without any SDK."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

import yaml

Kind = Literal["chat", "responses", "anthropic", "count_tokens"]
_KINDS: tuple[tuple[str, Kind], ...] = (
    ("/messages/count_tokens", "count_tokens"),
    ("/messages", "anthropic"),
    ("/chat/completions", "chat"),
    ("/responses", "responses"),
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
class Said:
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


def said(recorded: Recorded) -> Said:
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


def _chat(body: Any) -> Said:
    choice, usage = body["choices"][0], body.get("usage") or {}
    message = choice["message"]
    calls = tuple((c["function"]["name"], _args(c["function"]["arguments"])) for c in message.get("tool_calls") or ())
    return Said(
        message.get("content") or "",
        calls,
        usage.get("prompt_tokens"),
        usage.get("completion_tokens"),
        choice["finish_reason"],
    )


def _chat_stream(events: list[Any]) -> Said:
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
    return Said(text, done, usage.get("prompt_tokens"), usage.get("completion_tokens"), ended)


def _responses(body: Any) -> Said:
    items, usage = body.get("output") or (), body.get("usage") or {}
    parts = [
        p["text"] for item in items if item["type"] == "message" for p in item["content"] if p["type"] == "output_text"
    ]
    calls = tuple((item["name"], _args(item["arguments"])) for item in items if item["type"] == "function_call")
    return Said("".join(parts), calls, usage.get("input_tokens"), usage.get("output_tokens"), body.get("status", ""))


def _responses_stream(events: list[Any]) -> Said:
    last = next((e for e in reversed(events) if e["type"] in ("response.completed", "response.incomplete")), None)
    if last is not None:
        return _responses(last["response"])
    text = "".join(event["delta"] for event in events if event["type"] == "response.output_text.delta")
    return Said(text, (), None, None, "")


def _sent(usage: Any) -> int | None:
    if "input_tokens" not in usage:
        return None
    return sum(
        usage.get(key) or 0 for key in ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    )


def _anthropic(body: Any) -> Said:
    text = "".join(block["text"] for block in body["content"] if block["type"] == "text")
    calls = tuple((block["name"], block["input"]) for block in body["content"] if block["type"] == "tool_use")
    return Said(text, calls, _sent(body["usage"]), body["usage"].get("output_tokens"), body["stop_reason"])


def _anthropic_stream(events: list[Any]) -> Said:
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
    return Said(text, done, _sent(usage), usage.get("output_tokens"), ended)


_WHOLE: dict[str, Any] = {"chat": _chat, "responses": _responses, "anthropic": _anthropic}
_STREAM: dict[str, Any] = {"chat": _chat_stream, "responses": _responses_stream, "anthropic": _anthropic_stream}
