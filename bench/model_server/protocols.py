"""The wire formats of model providers, from the server's side: OpenAI chat completions and Anthropic messages.

Knows requests, whole answers and event streams of both. Does not know what is answered.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

WireProtocol = Literal["chat", "anthropic"]
PROTOCOL_PATHS: Mapping[str, WireProtocol] = {
    "/v1/chat/completions": "chat",
    "/chat/completions": "chat",
    "/v1/messages": "anthropic",
}
_PIECE, _MOST_PIECES = 24, 2_000  # characters in one event of a stream, and events of a very long answer


@dataclass(frozen=True, slots=True)
class WireRequest:
    """One request for an answer, whatever its wire format."""

    protocol: WireProtocol
    model: str
    system: str
    user: str  # all user turns, in order
    turns: int  # turns of the model so far: more than 0 in a repair
    tool: str  # name of the tool that must be called, "" if text is asked for
    schema: str  # name of the JSON schema asked for, "" if none
    stream: bool
    max_tokens: int | None
    body: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class WireReply:
    """One answer. `ended` is stop, length or refusal; tokens None leave the usage out."""

    text: str
    ended: Literal["stop", "length", "refusal"] = "stop"
    input_tokens: int | None = 0
    output_tokens: int | None = 0
    model: str = ""  # the id that the server claims; "" repeats the asked one


def read_request(protocol: WireProtocol, body: Mapping[str, Any]) -> WireRequest:
    """Read a request. Raises `KeyError` or `TypeError` for what is none."""
    match protocol:
        case "anthropic":
            turns = body["messages"]
            system = _join_text(body.get("system", ""))
            tools = [tool["name"] for tool in body.get("tools", [])]
            schema = "json" if body.get("output_config", {}).get("format") or body.get("output_format") else ""
            limit = body.get("max_tokens")
        case "chat":
            turns = body["messages"]
            system = "\n\n".join(
                _join_text(turn["content"]) for turn in turns if turn["role"] in ("system", "developer")
            )
            tools = [tool["function"]["name"] for tool in body.get("tools", [])]
            schema = body.get("response_format", {}).get("json_schema", {}).get("name", "")
            limit = body.get("max_completion_tokens") or body.get("max_tokens")
    said = [turn for turn in turns if turn.get("role") == "assistant"]
    user = "\n\n".join(_join_text(turn["content"]) for turn in turns if turn.get("role") == "user")
    tool = tools[0] if tools else ""
    return WireRequest(
        protocol, body["model"], system, user, len(said), tool, schema, bool(body.get("stream")), limit, body
    )


def _join_text(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = cast("list[dict[str, Any]]", content or [])
    return "\n\n".join(str(part.get("text", "")) for part in parts)


def write_answer(asked: WireRequest, said: WireReply, number: int) -> bytes:
    """Return the whole answer as the provider would send it."""
    return json.dumps(_WHOLE[asked.protocol](asked, said, number)).encode()


def write_events(asked: WireRequest, said: WireReply, number: int) -> Iterator[bytes]:
    """Return the answer as the provider's server-sent events."""
    for name, event in _EVENTS[asked.protocol](asked, said, number):
        data = event if isinstance(event, str) else json.dumps(event)
        yield (f"event: {name}\n" if name else "").encode() + f"data: {data}\n\n".encode()


def write_failure(protocol: WireProtocol, status: int, message: str) -> bytes:
    """Return an error as the provider would word it."""
    kind = {429: "rate_limit_error", 503: "overloaded_error", 401: "authentication_error", 400: "invalid_request_error"}
    error = {"type": kind.get(status, "api_error"), "message": message}
    whole = (
        {"type": "error", "error": error}
        if protocol == "anthropic"
        else {"error": error | {"code": None, "param": None}}
    )
    return json.dumps(whole).encode()


def _split_text(text: str) -> Sequence[str]:
    size = max(_PIECE, len(text) // _MOST_PIECES)
    return [text[at : at + size] for at in range(0, len(text), size)] or [""]


def _make_chat(asked: WireRequest, said: WireReply, number: int) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": said.text, "refusal": None}
    ended = {"stop": "stop", "length": "length", "refusal": "stop"}[said.ended]
    if said.ended == "refusal":
        message |= {"content": None, "refusal": said.text or "I cannot help with that."}
    elif asked.tool:
        call = {"id": f"call_{number}", "type": "function", "function": {"name": asked.tool, "arguments": said.text}}
        message |= {"content": None, "tool_calls": [call]}
        ended = "tool_calls" if ended == "stop" else ended
    whole: dict[str, Any] = {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": said.model or asked.model,
    }
    whole["choices"] = [{"index": 0, "message": message, "finish_reason": ended, "logprobs": None}]
    if said.input_tokens is not None and said.output_tokens is not None:
        whole["usage"] = _make_chat_usage(said)
    return whole


def _make_chat_usage(said: WireReply) -> dict[str, int]:
    sent, got = said.input_tokens or 0, said.output_tokens or 0
    return {"prompt_tokens": sent, "completion_tokens": got, "total_tokens": sent + got}


def _make_chat_events(asked: WireRequest, said: WireReply, number: int) -> Iterator[tuple[str, dict[str, Any] | str]]:
    head = {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion.chunk",
        "created": 1_700_000_000,
        "model": said.model or asked.model,
    }

    def chunk(delta: dict[str, Any], ended: str | None = None) -> dict[str, Any]:
        return head | {"choices": [{"index": 0, "delta": delta, "finish_reason": ended, "logprobs": None}]}

    yield "", chunk({"role": "assistant", "content": None if asked.tool else ""})
    if said.ended == "refusal":
        yield "", chunk({"refusal": said.text or "I cannot help with that."})
    elif asked.tool:
        call = {
            "index": 0,
            "id": f"call_{number}",
            "type": "function",
            "function": {"name": asked.tool, "arguments": ""},
        }
        yield "", chunk({"tool_calls": [call]})
        for piece in _split_text(said.text):
            yield "", chunk({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]})
    else:
        for piece in _split_text(said.text):
            yield "", chunk({"content": piece})
    yield (
        "",
        chunk({}, {"stop": "tool_calls" if asked.tool else "stop", "length": "length", "refusal": "stop"}[said.ended]),
    )
    if said.input_tokens is not None:
        yield "", head | {"choices": [], "usage": _make_chat_usage(said)}
    yield "", "[DONE]"


def _make_message(asked: WireRequest, said: WireReply, number: int) -> dict[str, Any]:
    ended = {"stop": "tool_use" if asked.tool else "end_turn", "length": "max_tokens", "refusal": "refusal"}[said.ended]
    block: dict[str, Any] = {"type": "text", "text": said.text}
    if asked.tool and said.ended != "refusal":
        block = {"type": "tool_use", "id": f"toolu_{number}", "name": asked.tool, "input": _parse_object(said.text)}
    whole: dict[str, Any] = {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": said.model or asked.model,
        "content": [block] if said.text or asked.tool else [],
        "stop_reason": ended,
        "stop_sequence": None,
    }
    if said.input_tokens is not None:
        whole["usage"] = {"input_tokens": said.input_tokens, "output_tokens": said.output_tokens or 0}
    return whole


def _parse_object(text: str) -> Any:
    """Anthropic sends a tool's input as JSON, never as text: what is not JSON becomes a string in its place."""
    try:
        return json.loads(text)
    except ValueError:
        return {"unreadable": text}


def _make_message_events(
    asked: WireRequest, said: WireReply, number: int
) -> Iterator[tuple[str, dict[str, Any] | str]]:
    whole = _make_message(asked, said, number)
    usage = whole.pop("usage", {"input_tokens": 0, "output_tokens": 0})
    head: dict[str, Any] = whole | {"content": [], "stop_reason": None, "usage": usage | {"output_tokens": 0}}
    yield "message_start", {"type": "message_start", "message": head}
    for index, block in enumerate(whole["content"]):
        tool = block["type"] == "tool_use"
        empty = block | ({"input": {}} if tool else {"text": ""})
        yield "content_block_start", {"type": "content_block_start", "index": index, "content_block": empty}
        for piece in _split_text(said.text):
            delta = (
                {"type": "input_json_delta", "partial_json": piece} if tool else {"type": "text_delta", "text": piece}
            )
            yield "content_block_delta", {"type": "content_block_delta", "index": index, "delta": delta}
        yield "content_block_stop", {"type": "content_block_stop", "index": index}
    done = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    yield "message_delta", {"type": "message_delta", "delta": done, "usage": {"output_tokens": usage["output_tokens"]}}
    yield "message_stop", {"type": "message_stop"}


_WHOLE = {"chat": _make_chat, "anthropic": _make_message}
_EVENTS = {"chat": _make_chat_events, "anthropic": _make_message_events}
