"""Anthropic's messages: recorded answers, streams with thoughts and tools, cache marks, refusals and errors."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.unit.adapters.models.recorded import FORM, check_recorded, complete, find_cassettes, read

from corrobora.adapters.models import ModelRequest, OutputMode, parse_target
from corrobora.adapters.models.anthropic_messages import AnthropicMessages
from corrobora.adapters.models.framing import BrokenAnswerError, RejectedError
from corrobora.analysts.language_model import Correction, Effort, Prompt

PROMPT = Prompt("Be exact.", ("The brief.",), "The task.")


@pytest.mark.parametrize("path", find_cassettes("llm_anthropic"), ids=lambda path: path.stem)
async def test_every_recorded_answer_is_read_as_it_was_meant(path: Path):
    for recorded in read(path):
        if recorded.kind == "anthropic":
            await check_recorded(recorded)


def stream(*events: dict[str, Any]) -> bytes:
    return b"".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events)


START = {"type": "message_start", "message": {"usage": {"input_tokens": 5, "cache_read_input_tokens": 7}}}
STOP = {"type": "message_stop"}


def block(index: int, **content: Any) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": content}


def delta(index: int, **content: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": content}


def ending(reason: str) -> dict[str, Any]:
    return {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 9}}


TEXT = (block(0, type="text", text=""), delta(0, type="text_delta", text="a"), delta(0, type="text_delta", text="b"))
TOOL = (
    block(0, type="thinking", thinking=""),
    delta(0, type="thinking_delta", thinking="hm"),
    delta(0, type="signature_delta", signature="x"),
    block(1, type="tool_use", id="t", name="answer", input={}),
    delta(1, type="input_json_delta", partial_json='{"a"'),
    delta(1, type="input_json_delta", partial_json=": 1}"),
)


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ((*TEXT, ending("end_turn")), ("ab", "stop")),
        ((*TOOL, ending("tool_use")), ('{"a": 1}', "stop")),
        ((*TEXT, ending("max_tokens")), ("ab", "length")),
        ((*TEXT, ending("model_context_window_exceeded")), ("ab", "length")),
        ((ending("refusal"),), ("", "refusal")),
        (tuple(each for event in (*TEXT, TEXT[2], ending("end_turn")) for each in (event, event)), ("abb", "stop")),
        (({"type": "ping"}, *TEXT, {"type": "of_a_later_version"}, ending("stop_sequence")), ("ab", "stop")),
    ],
)
async def test_streams_are_read(events: tuple[dict[str, Any], ...], expected: tuple[str, str]):
    begin = [START] * (2 if events[:1] == events[1:2] else 1)
    found = await complete("anthropic", stream(*begin, *events, STOP), stream=True)
    assert (found.text, found.ending) == expected
    assert (found.tokens.sent, found.tokens.received, found.tokens.cache_read) == (12, 9, 7)


@pytest.mark.parametrize(
    "body",
    [
        stream(START, *TEXT),
        stream(START, delta(3, type="text_delta", text="a"), STOP),
        b"data: {}\n\n",
        b'data: {"type": "message_start"}\n\n',
        b'data: {"type": "message", "content": [',
    ],
)
async def test_a_stream_that_ends_early_or_holds_nonsense_is_broken(body: bytes):
    with pytest.raises(BrokenAnswerError):
        await complete("anthropic", body, stream=True)


def message(content: Any, **more: Any) -> bytes:
    return json.dumps({"type": "message", "content": content, "stop_reason": "end_turn", **more}).encode()


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (stream(START, *TEXT, ending("end_turn")), "ab"),
        (stream(START, *TEXT, ending("end_turn")) + b"data: [DONE]\n\n", "ab"),
        (b"\xef\xbb\xbf" + stream(START, *TEXT, ending("end_turn"), STOP), "ab"),
        (message([{"type": "text", "text": "ab"}]), "ab"),
        (message("ab"), "ab"),
        (message(None), ""),
        (message([{"type": "text", "text": None}, {"type": "text", "text": "ab"}], usage=[1]), "ab"),
        (message([{"type": "tool_use", "name": "made_up", "input": {"a": 1}}]), '{"a": 1}'),
        (message([{"type": "tool_use", "name": "answer", "input": '{"a": 1}'}]), '{"a": 1}'),
    ],
)
async def test_an_answer_of_an_odd_shape_is_read_under_either_name(body: bytes, text: str):
    for named in (True, False):
        assert (await complete("anthropic", body, stream=named)).text == text


async def test_the_tokens_of_a_message_that_has_just_begun_are_not_its_bill():
    begun = {"type": "message_start", "message": {"usage": {"input_tokens": 5, "output_tokens": 1}}}
    ended = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}}
    assert (await complete("anthropic", stream(begun, *TEXT, ended, STOP), stream=True)).tokens.received == 0


async def test_an_error_within_a_stream_is_a_rejection():
    with pytest.raises(RejectedError):
        await complete("anthropic", b'{"error": {"message": "of a gateway"}}')
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    with pytest.raises(RejectedError):
        await complete("anthropic", stream(START, *TEXT, error), stream=True)


def wire_of(model: str, *, thinking: bool = False) -> AnthropicMessages:
    target = replace(parse_target(f"anthropic:{model}", {"ANTHROPIC_API_KEY": "k"}), thinking=thinking)
    return AnthropicMessages(target)


def body_of(
    model: str, mode: OutputMode = "native", *, thinking: bool = False, correction: Correction | None = None
) -> Any:
    return wire_of(model, thinking=thinking)._make_body(ModelRequest(PROMPT, FORM, mode, 40, correction))


def test_the_request_is_what_the_protocol_documents():
    mark = {"type": "ephemeral"}
    body = body_of("claude-sonnet-5")
    assert body["system"] == [{"type": "text", "text": "Be exact.", "cache_control": mark}]
    brief, task = body["messages"][0]["content"]
    assert brief == {"type": "text", "text": "The brief.", "cache_control": mark}
    assert task == {"type": "text", "text": "The task."}
    assert (body["model"], body["stream"], body["max_tokens"]) == ("claude-sonnet-5", True, 40)
    schema = body["output_config"]["format"]["schema"]
    assert schema["additionalProperties"] is False
    assert "maxLength" not in schema["properties"]["a"]
    tool = body_of("claude-3-5-haiku-latest", "tool")
    assert tool["tools"][0] == {
        "name": "answer",
        "description": "An answer.",
        "input_schema": FORM.schema,
        "cache_control": mark,
    }
    assert tool["tool_choice"] == {"type": "any"}
    words = body_of("claude-sonnet-5", "prompted")["system"]
    assert "cache_control" not in words[0]
    assert words[1]["cache_control"] == mark


def test_what_all_calls_share_and_the_whole_brief_are_marked_for_the_cache():
    prompt = Prompt("Be exact.", ("The run.", "Round 1.", "Round 2."), "The task.")
    body = wire_of("claude-sonnet-5")._make_body(ModelRequest(prompt, FORM, "tool", 40, None))
    marked = [part["text"] for part in body["messages"][0]["content"] if "cache_control" in part]
    assert marked == ["The run.", "Round 2."]
    assert json.dumps(body).count("cache_control") == 4, "as many as the protocol allows"


@pytest.mark.parametrize(
    ("model", "mode", "budget"),
    [
        ("claude-3-7-sonnet-latest", "tool", True),
        ("claude-sonnet-4-20250514", "tool", True),
        ("claude-opus-4-0", "tool", True),
        ("claude-opus-4-1", "native", True),
        ("claude-haiku-4-5-20251001", "native", True),
        ("claude-sonnet-4-6", "native", False),
        ("claude-of-a-later-year", "native", False),
    ],
)
def test_early_models_think_with_a_budget_and_later_ones_as_they_see_fit(model: str, mode: str, budget: bool):
    assert wire_of(model).mode == mode
    body = body_of(model, thinking=True)
    assert body["thinking"]["type"] == ("enabled" if budget else "adaptive")
    assert ("effort" in body["output_config"]) is not budget
    assert "thinking" not in body_of(model)


def test_a_model_that_refuses_to_decide_how_much_it_thinks_gets_a_budget():
    wire = wire_of("claude-of-a-later-year", thinking=True)
    assert not wire.adapt("max_tokens: too large")
    assert wire.adapt("thinking.type: adaptive is not supported")
    assert wire._make_body(ModelRequest(PROMPT, FORM, "native", 40))["thinking"]["type"] == "enabled"
    assert wire.adapt("thinking is not supported"), "thinking where it can is left out where it cannot"
    assert "thinking" not in wire._make_body(ModelRequest(PROMPT, FORM, "native", 40))
    assert not wire.adapt("thinking is not supported")


@pytest.mark.parametrize(("effort", "budget"), [("low", 4_096), ("medium", 8_192), ("high", 16_384)])
def test_the_effort_of_a_tier_is_asked_for_in_the_words_of_the_model(effort: Effort, budget: int):
    late, early = (replace(wire_of(model)._target, effort=effort) for model in ("claude-sonnet-5", "claude-haiku-4-5"))
    asked = [AnthropicMessages(each)._make_body(ModelRequest(PROMPT, FORM, "native", 40)) for each in (late, early)]
    assert asked[0]["thinking"] == {"type": "adaptive"}
    assert asked[0]["output_config"]["effort"] == effort
    assert asked[1]["thinking"] == {"type": "enabled", "budget_tokens": budget}
    assert "effort" not in asked[1]["output_config"]
    assert not AnthropicMessages(early).adapt("thinking is not supported"), "what was asked for is never left out"


def test_a_correction_is_one_turn_more_and_an_empty_answer_none():
    turns = body_of("claude-sonnet-5", correction=Correction("bad \n", "It is bad."))["messages"]
    assert [turn["role"] for turn in turns] == ["user", "assistant", "user"]
    assert turns[1]["content"][0]["text"] == "bad"
    turns = body_of("claude-sonnet-5", correction=Correction("", "It is empty."))["messages"]
    assert [turn["role"] for turn in turns] == ["user"]
    assert "It is empty." in turns[0]["content"][-1]["text"]
