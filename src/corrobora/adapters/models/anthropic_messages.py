"""Anthropic's messages: request bodies with cache marks and thinking, streamed and whole answers.

Knows one protocol and which early models lack what. Does not know connections (`transport`) or prices.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast
from urllib.parse import urlsplit

from corrobora.adapters.http import load_json
from corrobora.adapters.models import (
    Completion,
    ModelRequest,
    OutputMode,
    Provider,
    Target,
    Tokens,
    choose_text,
    read_count,
    read_text,
    write_arguments,
)
from corrobora.adapters.models.framing import (
    ForeignAnswerError,
    RejectedError,
    UnfinishedAnswerError,
)
from corrobora.adapters.models.transport import HttpEndpoint
from corrobora.analysts.language_model import Effort, Ending
from corrobora.analysts.language_model.parsing import is_whole_object

_VERSION = "2023-06-01"
_CACHED = {"type": "ephemeral"}
_BUDGET_TOKENS: Mapping[Effort, int] = {"low": 4_096, "medium": 8_192, "high": 16_384}
# Both lists are closed: every later model has native output, and decides itself how much it thinks.
_WITHOUT_NATIVE_OUTPUT = re.compile(r"claude-(?:[123]|instant|(?:opus|sonnet)-4(?:-0|-\d{8})?$)")
_WITH_BUDGET = re.compile(r"claude-(?:[123]|instant|(?:opus|sonnet|haiku)-4(?:-[015])?(?:-\d{8})?$)")
_ENDINGS: Mapping[str, Ending] = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
}


class AnthropicMessages:
    """Speaks Anthropic's messages with one model of one endpoint."""

    def __init__(self, target: Target) -> None:
        key = {"x-api-key": target.key} if target.key else {}
        headers = {"content-type": "application/json", "accept": "text/event-stream", "anthropic-version": _VERSION}
        parts = urlsplit(target.base_url)
        base = parts._replace(path=parts.path.removesuffix("/v1")).geturl()
        self._http = HttpEndpoint(base, headers | key, target.options)
        self._target = target
        self._level: Effort | None = target.level
        self._budgeted = bool(_WITH_BUDGET.match(target.model))
        self.mode: OutputMode = "tool" if _WITHOUT_NATIVE_OUTPUT.match(target.model) else "native"

    async def complete(self, request: ModelRequest) -> Completion:
        """Send one request and read its answer. Raises `TransportError`."""
        body = self._make_body(request)
        return await self._http.post_for_answer("/v1/messages", body, lambda _: _Answer(request.form.name))

    def adapt(self, refusal: str) -> bool:
        """Think with a budget where the model has just refused to decide itself how much; else not, if nobody asked."""
        if self._level is None or not re.search("thinking|adaptive|effort", refusal):
            return False
        if self._budgeted and self._target.effort:
            return False
        self._level = None if self._budgeted else self._level
        self._budgeted = True
        return True

    async def aclose(self) -> None:
        """Close the connections of this event loop."""
        await self._http.aclose()

    def _make_body(self, request: ModelRequest) -> dict[str, Any]:
        form, output = request.form, {}
        system = [_make_text(request.prompt.system)]
        body: dict[str, Any] = {
            "model": self._target.model,
            "max_tokens": request.max_tokens,
            "stream": self._target.options.stream is not False,
            "system": system,
            "messages": _make_messages(request),
        }
        if request.mode == "native":
            output["format"] = {"type": "json_schema", "schema": form.closed_schema}
        elif request.mode == "tool":
            tool = {"name": form.name, "description": form.description, "input_schema": form.schema}
            body["tools"] = [tool | {"cache_control": _CACHED}]
            forced = self._budgeted and self._level is None  # thinking allows no forced tool
            body["tool_choice"] = {"type": "any" if forced else "auto"}
        else:
            system.append(_make_text(form.instructions))
        if self._level is not None and self._budgeted:
            body["thinking"] = {"type": "enabled", "budget_tokens": _BUDGET_TOKENS[self._level]}
        elif self._level is not None:
            body["thinking"] = {"type": "adaptive"}
            output["effort"] = self._level
        system[-1]["cache_control"] = _CACHED
        if output:
            body["output_config"] = output
        return body | self._target.further_fields


def _make_text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _make_messages(request: ModelRequest) -> list[dict[str, Any]]:
    """The user's text, marked for the cache after what all calls of a run share and after all stable parts.

    A bad answer and its correction follow. The second mark alone would not do: what is written at it is found again
    only by calls that go on from there, not by those of another line of research.
    """
    prompt, correction = request.prompt, request.correction
    parts = [_make_text(part) for part in (*prompt.parts, prompt.task) if part]
    if len(parts) > 1:
        for place in {0, len(prompt.parts) - 1}:
            parts[place]["cache_control"] = _CACHED
    first = {"role": "user", "content": parts}
    if correction is None:
        return [first]
    if not correction.answer.strip():  # an empty turn of the model may not be sent
        parts.append(_make_text(correction.order))
        return [first]
    return [
        first,
        {"role": "assistant", "content": [_make_text(correction.answer.rstrip())]},
        {"role": "user", "content": [_make_text(correction.order)]},
    ]


@dataclass(slots=True)
class _Block:
    """One block of an answer: a text, or the input of the tool `name`."""

    name: str = ""
    is_text: bool = False
    parts: list[str] = field(default_factory=list[str])


@dataclass(slots=True)
class _Answer:
    """An answer while its events arrive; a whole answer is one event."""

    tool: str
    finished: bool = False
    reason: str = ""
    size: int = 0
    _blocks: dict[int, _Block] = field(default_factory=dict[int, _Block])
    _usage: dict[str, Any] = field(default_factory=dict[str, Any])
    _thoughts: int = 0

    def add_event(self, event: bytes) -> None:
        """Take in one event. Raises `ForeignAnswerError`, or `RejectedError` if the event is an error."""
        if event == b"[DONE]":  # as servers of other protocols end a stream
            self.finished = True
            return
        try:
            value = load_json(event)
            if value.get("error"):
                raise RejectedError(200, {}, event)
            match value["type"]:
                case "message":
                    self._add_message(value)
                case "message_start":
                    self._add_usage(value.get("message") or {})
                    self._usage.pop("output_tokens", None)  # of a message that has just begun
                case "content_block_start":
                    self._start_block(value["index"], value["content_block"])
                case "content_block_delta":
                    self._add_delta(value["index"], value["delta"])
                case "message_delta":
                    self.reason = value["delta"].get("stop_reason") or self.reason
                    self._add_usage(value)
                case "message_stop":
                    self.finished = True
                case _:
                    pass  # pings, ends of blocks, and what later versions add
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
            raise ForeignAnswerError(f"no message ({type(error).__name__})") from error

    def _add_usage(self, value: Mapping[str, Any]) -> None:
        usage = value.get("usage")
        reported = cast("dict[str, Any]", usage) if isinstance(usage, dict) else {}
        self._usage |= {name: count for name, count in reported.items() if count is not None}

    def _add_message(self, message: Mapping[str, Any]) -> None:
        content = message["content"] or ()
        for index, block in enumerate([_make_text(content)] if isinstance(content, str) else content):
            self._start_block(index, block)
        self._add_usage(message)
        self.reason = message.get("stop_reason") or ""
        self.finished = True

    def _start_block(self, index: int, block: Mapping[str, Any]) -> None:
        made = self._blocks[index] = _Block(is_text=block["type"] == "text")
        if made.is_text:
            made.parts.append(read_text(block.get("text") or ""))
        elif block["type"] == "tool_use":
            made.name = block["name"]
            made.parts += [write_arguments(block["input"])] if block.get("input") else []
        self.size += sum(map(len, made.parts))

    def _add_delta(self, index: int, delta: Mapping[str, Any]) -> None:
        if isinstance(thought := delta.get("thinking"), str):  # only counted, as signatures are not
            self._thoughts += len(thought.encode("utf-8", "replace"))
        if part := delta.get("text") or delta.get("partial_json"):
            self._blocks[index].parts.append(read_text(part))
            self.size += len(self._blocks[index].parts[-1])

    def make_completion(self) -> Completion:
        """Return the whole answer. Raises `UnfinishedAnswerError` if the stream ended before its end."""
        blocks = self._blocks.values()
        calls = [(block.name, "".join(block.parts) or "{}") for block in blocks if block.name]
        text = choose_text(calls, self.tool, "".join(part for block in blocks if block.is_text for part in block.parts))
        if not (self.finished or self.reason or (self._usage and is_whole_object(text))):
            raise UnfinishedAnswerError("the answer ended early")
        usage = self._usage
        read, written = read_count(usage, "cache_read_input_tokens"), read_count(usage, "cache_creation_input_tokens")
        sent = read_count(usage, "input_tokens") + read + written
        tokens = Tokens(sent, read_count(usage, "output_tokens"), read, written)
        return Completion(text, _ENDINGS.get(str(self.reason), "stop"), tokens, self._thoughts)


ANTHROPIC = Provider(
    "anthropic", AnthropicMessages, "https://api.anthropic.com", "ANTHROPIC_API_KEY", ("ANTHROPIC_BASE_URL",)
)
