"""Answers in shapes of other servers, over loopback: what can be read is read at once, the rest is sent a few times.

Knows the bytes that a server sends and how often it is asked. A failure that would come again is no outage: nobody
waits for its end by sending the same prompt every two seconds.
"""

from __future__ import annotations

import asyncio
import gzip
import json
from dataclasses import dataclass
from typing import Any

import pytest
from tests.profiles.research import make_run

from corrobora.adapters.models import parse_target
from corrobora.adapters.models.connection import ModelConnection
from corrobora.adapters.pacing import CallGate
from corrobora.analysts.extractive import ExtractiveAnalyst
from corrobora.analysts.language_model.analyst import LanguageModelAnalyst
from corrobora.domain.run import EventType
from corrobora.policies.queries import MAX_SENDS
from corrobora.roles.review import critique

GOOD = json.dumps({"problems": ["It is late."], "summary": "Weak."})
HALF = len(GOOD) // 2
JSON, EVENTS, LINES = "application/json", "text/event-stream", "application/x-ndjson"


@dataclass(frozen=True)
class Sent:
    """What a server sends for every request; `missing` bytes are announced and never come."""

    body: bytes
    kind: str = JSON
    missing: int = 0
    head: str = ""


def as_json(value: object) -> Sent:
    return Sent(json.dumps(value).encode())


def as_events(*events: object, end: bytes = b"data: [DONE]\n\n") -> Sent:
    return Sent(b"".join(b"data: " + json.dumps(each).encode() + b"\n\n" for each in events) + end, EVENTS)


def as_lines(*values: object) -> Sent:
    return Sent(b"\n".join(json.dumps(each).encode() for each in values), LINES)


def chat(content: object = GOOD, ended: str | None = "stop", **more: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "message": {"content": content, **more}, "finish_reason": ended}]}


def chunk(content: str, ended: str | None = None) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": {"content": content}, "finish_reason": ended}]}


def native(content: str, **more: Any) -> dict[str, Any]:
    return {"model": "q", "message": {"role": "assistant", "content": content}, **more}


def message(text: str = GOOD, ended: str = "end_turn") -> dict[str, Any]:
    return {"type": "message", "content": [{"type": "text", "text": text}], "stop_reason": ended, "usage": {}}


def message_events(*texts: str) -> list[dict[str, Any]]:
    begin = {"type": "message_start", "message": {"content": [], "usage": {"input_tokens": 9}}}
    block = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
    parts = ({"type": "content_block_delta", "index": 0, "delta": {"text": text}} for text in texts)
    return [begin, block, *parts]


PAGE = Sent(b"<!doctype html><html><title>Log in</title></html>", "text/html")
BROKEN = GOOD.replace("late", "late \ud83d")
READ = {
    "the form of Ollama": as_json(native(GOOD, done=True, done_reason="stop")),
    "the form of Ollama in lines": as_lines(
        native(GOOD[:HALF], done=False), native(GOOD[HALF:]), native("", done=True)
    ),
    "a text of Ollama": as_json({"response": GOOD, "done": True}),
    "chunks in lines": as_lines(chunk(GOOD[:HALF]), chunk(GOOD[HALF:]), chunk("", "stop")),
    "completions without chat": as_json({"choices": [{"text": GOOD, "finish_reason": "stop"}]}),
    "a function": as_json(chat(None, "function_call", function_call={"name": "critique", "arguments": GOOD})),
    "a thought": as_json(chat("", reasoning_content=GOOD)),
    "parts": as_json(chat([{"type": "text", "text": GOOD}])),
    "half a character": as_json(chat(BROKEN)),
    "whole at its limit": as_json(chat(ended="length")),
    "events that do not end": as_events(chunk(GOOD[:HALF]), chunk(GOOD[HALF:]), end=b""),
    "comments": Sent(b": ping\n\n" + as_events(chunk(GOOD, "stop")).body, EVENTS),
    "a mark of its bytes": Sent(b"\xef\xbb\xbf" + as_json(chat()).body),
    "packed": Sent(gzip.compress(as_json(chat()).body), head="content-encoding: gzip\r\n"),
}
READ_MESSAGES = {
    "half a character": as_json(message(BROKEN)),
    "whole at its limit": as_json(message(ended="max_tokens")),
    "events that do not end": as_events(*message_events(GOOD[:HALF], GOOD[HALF:]), end=b""),
}
FAILING = {
    "an error": (as_json({"error": "model runner has unexpectedly stopped"}), "provider_failed"),
    "an error in between": (as_events(chunk(GOOD[:HALF]), {"error": {"message": "boom"}}), "provider_failed"),
    "a message": (as_json({"message": "no such route"}), "provider_failed"),
    "nothing": (Sent(b""), "provider_foreign"),
    "an object of nothing": (as_json({}), "provider_foreign"),
    "a page": (PAGE, "provider_foreign"),
    "another protocol": (as_json(message()), "provider_foreign"),
    "lines that do not end": (as_lines(native(GOOD[:HALF], done=False)), "provider_foreign"),
    "half of the events": (as_events(chunk(GOOD[:HALF]), end=b""), "provider_bad_content"),
    "half of the bytes": (Sent(as_json(chat()).body[:-20], missing=20), "provider_bad_content"),
}
FAILING_MESSAGES = {
    "an error": (as_json({"error": "boom"}), "provider_failed"),
    "nothing": (Sent(b""), "provider_foreign"),
    "a page": (PAGE, "provider_foreign"),
    "another protocol": (as_json(chat()), "provider_foreign"),
    "events of another protocol": (as_events(chunk(GOOD, "stop")), "provider_foreign"),
    "half of the events": (as_events(*message_events(GOOD[:HALF]), end=b""), "provider_bad_content"),
}
CHAT, MESSAGES = "openai-compatible:x@http://127.0.0.1:{}/v1", "anthropic:claude-sonnet-5@http://127.0.0.1:{}"


async def ask(target: str, sent: Sent) -> tuple[int, str, tuple[str, ...]]:
    """Play a role in a run; return how often the server was asked, why another analyst played, and what was found."""
    asked = 0

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal asked
        while head := await reader.readuntil(b"\r\n\r\n"):
            length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
            await reader.readexactly(int(length))
            asked += 1
            size = len(sent.body) + sent.missing
            writer.write(
                f"HTTP/1.1 200 OK\r\ncontent-type: {sent.kind}\r\ncontent-length: {size}\r\n{sent.head}\r\n".encode()
            )
            writer.write(sent.body)
            if sent.missing:
                writer.close()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await answer(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        place = target.format(server.sockets[0].getsockname()[1])
        connection = ModelConnection(parse_target(place, {"ANTHROPIC_API_KEY": "k"}), CallGate("odd"))
        connection.gate.reached = True  # it answered before: what it gives now may be the mistake of a gateway
        analysts = (LanguageModelAnalyst({"worker": connection}), ExtractiveAnalyst())
        run = await make_run("timed", analysts=analysts, wire=False)
        assert critique.example is not None
        found = await run.session.call(critique, critique.example())
        await connection.aclose()
    why = [str(each.data["why"]) for each in run.journal.events if each.type is EventType.FALLBACK]
    return asked, "".join(why), found.problems


@pytest.mark.parametrize("name", READ)
async def test_an_answer_of_chat_completions_in_an_odd_shape_is_read_at_once(name: str):
    asked, why, [problem] = await ask(CHAT, READ[name])
    assert (asked, why) == (1, "")
    assert problem.startswith("It is late")


@pytest.mark.parametrize("name", READ_MESSAGES)
async def test_an_answer_of_messages_in_an_odd_shape_is_read_at_once(name: str):
    asked, why, [problem] = await ask(MESSAGES, READ_MESSAGES[name])
    assert (asked, why) == (1, "")
    assert problem.startswith("It is late")


@pytest.mark.parametrize("name", FAILING)
async def test_what_is_no_chat_completion_is_asked_for_a_few_times(name: str):
    sent, why = FAILING[name]
    assert await ask(CHAT, sent) == (MAX_SENDS, why, ())


@pytest.mark.parametrize("name", FAILING_MESSAGES)
async def test_what_is_no_message_is_asked_for_a_few_times(name: str):
    sent, why = FAILING_MESSAGES[name]
    assert await ask(MESSAGES, sent) == (MAX_SENDS, why, ())
