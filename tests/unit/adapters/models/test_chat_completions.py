"""Chat completions: recorded answers, and every shape in which a compatible server may answer or refuse."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.unit.adapters.models.recorded import FORM, SHIPPED, check_recorded, complete, find_cassettes, read

from corrobora.adapters.models import ModelRequest, OutputMode, parse_target
from corrobora.adapters.models.chat_completions import ChatCompletions
from corrobora.adapters.models.framing import BrokenAnswerError, RejectedError
from corrobora.analysts.language_model import Correction, Prompt

CASSETTES = find_cassettes("llm_openai")
PROMPT = Prompt("Be exact.", ("The brief.",), "The task. é 漢")


def test_the_shipped_recordings_cover_both_protocols_and_streams():
    found = [each for path in (*CASSETTES, *find_cassettes("llm_anthropic")) for each in read(path)]
    kinds = {(kind, stream) for kind in ("chat", "anthropic") for stream in (False, True)}
    assert {(each.kind, each.stream) for each in found} >= kinds
    assert any(each.status >= 400 for each in found)
    assert sum(path.stat().st_size for path in SHIPPED.rglob("*") if path.is_file()) <= 1_500_000


@pytest.mark.parametrize("path", CASSETTES, ids=lambda path: path.stem)
async def test_every_recorded_answer_is_read_as_it_was_meant(path: Path):
    for recorded in read(path):
        if recorded.kind == "chat":
            await check_recorded(recorded)


def chunk(delta: dict[str, Any], ended: str | None = None, **more: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": ended}], **more}


def stream(*events: Any) -> bytes:
    return b"".join(b"data: " + (e if isinstance(e, bytes) else json.dumps(e).encode()) + b"\n\n" for e in events)


def call(name: str | None, arguments: str, index: int = 0) -> dict[str, Any]:
    return {"tool_calls": [{"index": index, "function": {"name": name, "arguments": arguments}}]}


USAGE = {"prompt_tokens": 12, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 8}}
STREAMS: dict[str, tuple[bytes, tuple[str, str]]] = {
    "text": (
        stream(
            chunk({"role": "assistant", "content": ""}),
            chunk({"content": "a"}),
            chunk({"content": "b"}, "stop"),
            b"[DONE]",
        ),
        ("ab", "stop"),
    ),
    "tool": (
        stream(
            chunk(call("answer", "")), chunk(call(None, '{"a"')), chunk(call(None, ": 1}")), chunk({}, "tool_calls")
        ),
        ('{"a": 1}', "stop"),
    ),
    "two tools": (
        stream(chunk(call("other", "{}")), chunk(call("answer", "[]", 1)), chunk({}, "stop")),
        ("[]", "stop"),
    ),
    "a tool under another name": (
        stream(chunk(call("json_tool_call", '{"a": 1}')), chunk({}, "tool_calls")),
        ('{"a": 1}', "stop"),
    ),
    "cut, as some say it": (stream(chunk({"content": "a"}, "model_length")), ("a", "length")),
    "null and more": (
        stream(chunk({"content": None, "reasoning": None, "tool_calls": None}), chunk({"content": "a"}, "stop")),
        ("a", "stop"),
    ),
    "lines that end otherwise": (
        stream(chunk({"content": "a"}, "stop"))
        .replace(b"data: ", b"event: x\r\nid: 7\r\ndata:")
        .replace(b"\n\n", b"\r\n\r\n"),
        ("a", "stop"),
    ),
    "a name in every chunk": (
        stream(chunk(call("answer", "{")), chunk(call("answer", "}")), chunk({}, "stop")),
        ("{}", "stop"),
    ),
    "cut": (stream(chunk({"content": "a"}), chunk({}, "length"), b"[DONE]"), ("a", "length")),
    "refusal": (
        stream(chunk({"refusal": "I cannot"}), chunk({"refusal": " help."}), chunk({}, "stop")),
        ("", "refusal"),
    ),
    "filter": (stream(chunk({"content": "a"}), chunk({}, "content_filter")), ("a", "refusal")),
    "an answer taken for a thought": (stream(chunk({"reasoning_content": "{}"}), chunk({}, "stop")), ("{}", "stop")),
    "more after the end": (stream(chunk({"content": "a"}, "stop"), b"[DONE]", {"error": "late"}), ("a", "stop")),
    "a byte order mark": (b"\xef\xbb\xbf" + stream(chunk({"content": "a"}, "stop")), ("a", "stop")),
    "no UTF-8": (stream(chunk({"content": "a-b"}, "stop")).replace(b"-", b"\xf6"), ("a\ufffdb", "stop")),
    "the limit under another name": (stream(chunk({"content": "a"}, "MAX_TOKENS")), ("a", "length")),
    "a filter under another name": (stream(chunk({}, "SAFETY")), ("", "refusal")),
    "no choice": (stream({"choices": [], "prompt_filter_results": []}, b"[DONE]"), ("", "stop")),
    "a number as text": (
        stream({"choices": [{"index": "0", "delta": {"content": "a"}, "finish_reason": "stop"}]}),
        ("a", "stop"),
    ),
    "thoughts": (stream(chunk({"reasoning_content": "hm"}), chunk({"content": "a"}), chunk({}, "stop")), ("a", "stop")),
    "no reason": (stream(chunk({"content": "a"}), b"[DONE]"), ("a", "stop")),
    "comments": (b": OPENROUTER PROCESSING\n\n" + stream(chunk({"content": "a"}, "stop")), ("a", "stop")),
    "every event twice": (
        stream(*(each for word in "aab" for each in [chunk({"content": word})] * 2), *[chunk({}, "stop")] * 2),
        ("aab", "stop"),
    ),
    "the same words twice": (
        stream(*[chunk({"content": "a"})] * 2, *[chunk({"content": "b"})] * 2, chunk({}, "stop"), b"[DONE]"),
        ("aabb", "stop"),
    ),
    "an endless number": (
        stream(chunk({"content": "a"}, "stop", created=1)).replace(b"1", b"1" * 5_000),
        ("a", "stop"),
    ),
    "usage with the last choice": (
        stream(chunk({"content": "a"}, "stop", usage=None), {"choices": [], "usage": USAGE}),
        ("a", "stop"),
    ),
}


@pytest.mark.parametrize("name", STREAMS)
async def test_streams_are_read_whatever_the_server_sends(name: str):
    body, expected = STREAMS[name]
    found = await complete("chat", body, stream=True)
    assert (found.text, found.ending) == expected


async def test_thoughts_count_where_a_server_reports_no_tokens():
    body = stream(
        chunk({"reasoning_content": "h" * 40}), chunk({"reasoning": "m" * 40}), chunk({"content": "a"}, "stop")
    )
    assert (await complete("chat", body, stream=True)).thoughts == 80
    refused = stream(chunk({"reasoning": "h" * 40}), chunk({"refusal": "n" * 20}), chunk({}, "stop"))
    assert (await complete("chat", refused, stream=True)).thoughts == 60, "a refusal is billed, too"


async def test_usage_and_cached_tokens_are_read_and_nonsense_counts_as_nothing():
    body = stream(chunk({"content": "a"}, "stop"), {"choices": [], "usage": USAGE}, b"[DONE]")
    tokens = (await complete("chat", body, stream=True)).tokens
    assert (tokens.sent, tokens.received, tokens.cache_read) == (12, 3, 8)
    for nonsense in ({"prompt_tokens": "many", "completion_tokens": None}, [1], "none", {"prompt_tokens": True}):
        odd = stream(chunk({"content": "a"}, "stop", usage=nonsense))
        assert (await complete("chat", odd, stream=True)).tokens.sent == 0
    as_text = stream(chunk({"content": "a"}, "stop", usage={"prompt_tokens": "12", "completion_tokens": 3.0}))
    tokens = (await complete("chat", as_text, stream=True)).tokens
    assert (tokens.sent, tokens.received) == (12, 3)


def whole(content: Any, **more: Any) -> bytes:
    return json.dumps({"choices": [{"message": {"content": content, **more}, "finish_reason": "stop"}]}).encode()


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (whole("{}"), "{}"),
        (
            whole(
                [{"type": "text", "text": "{"}, {"type": "text", "text": None}, {"type": "output_text", "text": "}"}]
            ),
            "{}",
        ),
        (whole(["{", {"text": "}"}]), "{}"),
        (whole({"a": 1}), '{"a": 1}'),
        (whole("{}", tool_calls=[{"function": {"name": "answer", "arguments": None}}]), "{}"),
        (whole("{}", tool_calls=[{"id": "1", "type": "custom"}]), "{}"),
        (whole(None, tool_calls=[{"function": {"name": "answer", "arguments": {"a": 1}}}]), '{"a": 1}'),
    ],
)
async def test_an_answer_of_an_odd_shape_is_read_under_either_name(body: bytes, text: str):
    for named in (True, False):
        assert (await complete("chat", body, stream=named)).text == text


@pytest.mark.parametrize(
    "body",
    [
        stream(chunk({"content": "half"})),
        stream(chunk({"content": "half"}), b'{"choices": ['),
        stream(b"[DONE]"),
        stream({"choices": [None]}),
        stream(chunk({"content": 7}, "stop")),
        stream([1, 2]),
        b"data: " + b"[" * 100_000 + b"\n\n",
    ],
)
async def test_a_stream_that_ends_early_or_holds_nonsense_is_broken(body: bytes):
    with pytest.raises(BrokenAnswerError):
        await complete("chat", body, stream=True)


async def test_an_error_within_a_stream_is_a_rejection():
    with pytest.raises(RejectedError) as raised:
        await complete("chat", stream(chunk({"content": "a"}), {"error": {"message": "overloaded"}}), stream=True)
    assert b"overloaded" in raised.value.body
    for body in (
        b'{"object": "error", "message": "no", "code": 400}',
        b'{"detail": "Not authenticated"}',
        b'{"choices": [{"finish_reason": "error", "error": {"code": 502, "message": "no"}}]}',
        b'{"choices": [{"finish_reason": "error", "message": {"content": ""}}]}',
    ):
        with pytest.raises(RejectedError):
            await complete("chat", body)


async def test_a_very_long_answer_is_not_read_to_its_end():
    found = await complete("chat", stream(*[chunk({"content": "x" * 10_000})] * 100), stream=True)
    assert 200_000 < len(found.text) < 220_000


def body_of(model: str, *, mode: OutputMode = "native", correction: Correction | None = None, **env: str) -> Any:
    target = parse_target(model, {"OPENAI_API_KEY": "k", **env})
    wire = target.provider.connect(target)
    assert isinstance(wire, ChatCompletions)
    return wire._make_body(ModelRequest(PROMPT, FORM, mode, 40, correction))


def test_the_request_is_what_the_protocol_documents():
    body = body_of("openai:gpt-4.1")
    assert body["messages"] == [
        {"role": "system", "content": "Be exact."},
        {"role": "user", "content": "The brief.\n\nThe task. é 漢"},
    ]
    assert (body["model"], body["stream"], body["max_completion_tokens"]) == ("gpt-4.1", True, 40)
    assert body["stream_options"] == {"include_usage": True}
    schema = {
        "type": "object",
        "properties": {"a": {"type": "string", "description": "(maxLength=3)"}},
        "additionalProperties": False,
        "required": ["a"],
    }
    shape = {"name": "answer", "description": "An answer.", "strict": True}
    assert body["response_format"] == {"type": "json_schema", "json_schema": {**shape, "schema": schema}}
    tool = body_of("openai:gpt-4.1", mode="tool")
    assert tool["tools"] == [{"type": "function", "function": {**shape, "parameters": schema}}]
    assert tool["tool_choice"] == "required"
    words = body_of("openai:gpt-4.1", mode="prompted")
    assert words["response_format"] == {"type": "json_object"}
    assert '"maxLength":3' in words["messages"][0]["content"]
    loose = body_of("ollama:m")["response_format"]["json_schema"]
    assert "strict" not in loose
    assert loose["schema"] == FORM.schema


def test_a_correction_is_one_turn_more_and_an_empty_answer_none():
    turns = body_of("openai:m", correction=Correction("bad", "It is bad."))["messages"]
    assert [turn["role"] for turn in turns] == ["system", "user", "assistant", "user"]
    assert "It is bad." in turns[3]["content"]
    turns = body_of("openai:m", correction=Correction(" ", "It is empty."))["messages"]
    assert [turn["role"] for turn in turns] == ["system", "user"]
    assert "It is empty." in turns[1]["content"]


def test_what_a_server_refuses_by_name_is_left_out_from_then_on():
    target = parse_target("openai-compatible:m@http://127.0.0.1:1/v1", {})
    wire = ChatCompletions(target)
    asked = ModelRequest(PROMPT, FORM, "native", 40)
    assert wire.adapt("Unrecognized request argument: max_completion_tokens")
    assert wire._make_body(asked)["max_tokens"] == 40
    assert wire.adapt("stream_options is not allowed")
    assert "stream_options" not in wire._make_body(asked)
    assert not wire.adapt("stream_options is not allowed")
    assert not wire.adapt("response_format is not supported")
