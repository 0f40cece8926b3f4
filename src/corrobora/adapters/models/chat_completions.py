"""OpenAI's chat completions, as OpenAI itself and every compatible server speaks them.

Knows request bodies, streamed and whole answers. Does not know connections (`transport`), other protocols or prices.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

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
    BrokenAnswerError,
    ForeignAnswerError,
    RejectedError,
    UnfinishedAnswerError,
)
from corrobora.adapters.models.transport import HttpEndpoint
from corrobora.analysts.language_model import Ending
from corrobora.analysts.language_model.parsing import is_whole_object

_ENDINGS: Mapping[str, Ending] = {
    **dict.fromkeys(("length", "model_length", "max_tokens", "max_output_tokens"), "length"),
    **dict.fromkeys(("content_filter", "safety", "refusal"), "refusal"),
}
# What a compatible server may not know. Each is left out once the server has refused it by name.
_OPTIONAL = ("stream", "stream_options", "max_completion_tokens", "reasoning_effort", "json_object")


class ChatCompletions:
    """Speaks chat completions with one model of one endpoint. `strict`: ask for OpenAI's strict decoding."""

    mode: OutputMode = "native"

    def __init__(self, target: Target, *, strict: bool = True) -> None:
        authorization = {"authorization": f"Bearer {target.key}"} if target.key else {}
        headers = {"content-type": "application/json", "accept": "text/event-stream", **authorization}
        self._http = HttpEndpoint(target.base_url, headers, target.options)
        self._target = target
        self._strict = strict
        self._refused: set[str] = set()

    async def complete(self, request: ModelRequest) -> Completion:
        """Send one request and read its answer. Raises `ProviderError`, `RoleError` or `TransportError`."""
        body = self._make_body(request)

        def make_answer(is_stream: bool) -> _Answer:  # noqa: FBT001 - a callback of one argument
            return _Answer(request.form.name, finished=not is_stream)

        return await self._http.post_for_answer("/chat/completions", body, make_answer)

    def adapt(self, refusal: str) -> bool:
        """Leave out an optional field that the server has just refused by name."""
        named = {name for name in _OPTIONAL if re.search(rf"\b{name}\b", refusal)} - self._refused
        if self._target.effort:
            named -= {"reasoning_effort"}  # asked for by the user: never left out in silence
        self._refused |= named
        return bool(named)

    async def aclose(self) -> None:
        """Close the connections of this event loop."""
        await self._http.aclose()

    def _make_body(self, request: ModelRequest) -> dict[str, Any]:
        prompt, form = request.prompt, request.form
        system = f"{prompt.system}\n\n{form.instructions}" if request.mode == "prompted" else prompt.system
        turns = [{"role": "system", "content": system}, {"role": "user", "content": prompt.user}]
        if (correction := request.correction) is not None and correction.answer.strip():
            turns += [
                {"role": "assistant", "content": correction.answer},
                {"role": "user", "content": correction.order},
            ]
        elif correction is not None:  # an empty turn of the model may not be sent
            turns[1]["content"] += f"\n\n{correction.order}"
        limit = "max_tokens" if "max_completion_tokens" in self._refused else "max_completion_tokens"
        body: dict[str, Any] = {
            "model": self._target.model,
            "messages": turns,
            "stream": True,
            "stream_options": {"include_usage": True},
            limit: request.max_tokens,
            **self._ask_for_form(request),
        }
        if self._target.effort or (self._target.thinking and self._target.provider.key):
            body["reasoning_effort"] = self._target.level
        streams = self._target.options.stream is not False and "stream" not in self._refused
        left_out = self._refused | (set[str]() if streams else {"stream", "stream_options"})
        return {name: value for name, value in body.items() if name not in left_out} | self._target.further_fields

    def _ask_for_form(self, request: ModelRequest) -> dict[str, Any]:
        form = request.form
        if request.mode == "prompted":
            return {} if "json_object" in self._refused else {"response_format": {"type": "json_object"}}
        shape: dict[str, Any] = {"name": form.name, "description": form.description}
        schema = form.strict_schema if self._strict else form.schema
        if self._strict:
            shape["strict"] = True
        if request.mode == "tool":
            function = {**shape, "parameters": schema}
            return {"tools": [{"type": "function", "function": function}], "tool_choice": "required"}
        return {"response_format": {"type": "json_schema", "json_schema": {**shape, "schema": schema}}}


@dataclass(slots=True)
class _Answer:
    """An answer while its events arrive; a whole answer is one event."""

    tool: str
    finished: bool
    reason: str | None = None
    size: int = 0
    _texts: list[str] = field(default_factory=list[str])
    _refusals: list[str] = field(default_factory=list[str])
    _thoughts: list[str] = field(default_factory=list[str])
    _calls: dict[int, list[str]] = field(default_factory=dict[int, list[str]])  # name, then parts of the arguments
    _tokens: Tokens = field(default_factory=Tokens)
    _index: object = None  # of the choice that is read: any other is a second answer, which nobody asked for
    _begun: bool = False  # an empty list of choices is an empty answer, as some filters give it

    def add_event(self, event: bytes) -> None:
        """Take in one event. Raises `ForeignAnswerError`, or `RejectedError` if the event is an error."""
        if event == b"[DONE]":
            self.finished = True
            return
        try:
            value = _read_native(load_json(event))
            if value.get("error") or ("choices" not in value and (value.get("message") or value.get("detail"))):
                raise RejectedError(200, {}, event)
            self._begun = self._begun or "choices" in value
            self.finished = value.get("done", self.finished) is True
            for choice in value.get("choices") or ():
                self._add_choice(choice)
            if isinstance(value.get("usage"), dict):
                usage: Mapping[str, Any] = value["usage"]
                cached = read_count(usage.get("prompt_tokens_details"), "cached_tokens")
                self._tokens = Tokens(
                    read_count(usage, "prompt_tokens"), read_count(usage, "completion_tokens"), cached
                )
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
            raise ForeignAnswerError(f"no chat completion ({type(error).__name__})") from error

    def _add_choice(self, choice: Mapping[str, Any]) -> None:
        if error := choice.get("error"):
            raise RejectedError(200, {}, json.dumps({"error": error}).encode())
        self._index = choice.get("index") if self._index is None else self._index
        if choice.get("index") != self._index:
            return
        delta: Mapping[str, Any] = choice.get("delta") or choice.get("message") or {}
        self.reason = choice.get("finish_reason") or self.reason
        if isinstance(text := choice.get("text"), str) and not delta:  # of completions that are no chat
            delta = {"content": text}
        if isinstance(thought := delta.get("reasoning_content") or delta.get("reasoning"), str):
            self._thoughts.append(thought)
        if content := delta.get("content"):
            self._texts.append(read_text(content))
            self.size += len(self._texts[-1])
        if refusal := delta.get("refusal"):
            self._refusals.append(read_text(refusal))
        legacy = delta.get("function_call")
        calls: Sequence[Mapping[str, Any]] = delta.get("tool_calls") or ([{"function": legacy}] if legacy else [])
        for at, call in enumerate(calls):
            function: Mapping[str, Any] = call.get("function") or {}
            known = self._calls.setdefault(call.get("index", at), [""])
            known[0] = known[0] or function.get("name") or ""
            known.append(write_arguments(function.get("arguments") or ""))
            self.size += len(known[-1])

    def make_completion(self) -> Completion:
        """Return the whole answer. Raises `TransportError` if the stream ended before its end, or with an error."""
        if not self._begun:
            raise BrokenAnswerError("no chat completion")
        if self.reason == "error":
            raise RejectedError(200, {}, b"it ended with an error")
        calls = [(name, "".join(parts)) for name, *parts in self._calls.values()]
        text, thought = choose_text(calls, self.tool, "".join(self._texts)), "".join(self._thoughts)
        if not (self.reason or self.finished or is_whole_object(text)):
            raise UnfinishedAnswerError("the answer ended early")
        if self._refusals and not text.strip():
            beside = _count_bytes(thought + "".join(self._refusals))
            return Completion(text, "refusal", self._tokens, beside)
        if not text.strip():  # some servers take an answer in a form for a thought
            text, thought = thought, ""
        ending = _ENDINGS.get(str(self.reason).lower(), "stop")
        return Completion(text, ending, self._tokens, _count_bytes(thought))


def _read_native(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return an answer, or a part of one, as a chat completion if it has the form of Ollama's own protocol."""
    text, whole = value.get("response"), value.get("message")
    message: Mapping[str, Any] = cast("Mapping[str, Any]", whole) if isinstance(whole, dict) else {}
    if "message" not in value and isinstance(text, str):
        message = {"content": text}
    if "choices" in value or not ("content" in message or "tool_calls" in message):
        return value
    usage = {"prompt_tokens": value.get("prompt_eval_count"), "completion_tokens": value.get("eval_count")}
    choice = {"message": message, "finish_reason": value.get("done_reason")}
    return {"choices": [choice], "usage": usage, "done": value.get("done", True)}


def _count_bytes(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


_lenient = functools.partial(ChatCompletions, strict=False)
_OPENAI = "https://api.openai.com/v1"
_OPENAI_URL = ("OPENAI_BASE_URL",)
_OWN_URL = ("CORROBORA_MODEL_BASE_URL", "OPENAI_BASE_URL")

OPENAI = Provider("openai", ChatCompletions, _OPENAI, "OPENAI_API_KEY", _OPENAI_URL)
OPENAI_CHAT = Provider("openai-chat", ChatCompletions, _OPENAI, "OPENAI_API_KEY", _OPENAI_URL)
COMPATIBLE = Provider("openai-compatible", ChatCompletions, "", "OPENAI_API_KEY", _OWN_URL)
OLLAMA = Provider("ollama", _lenient, "http://127.0.0.1:11434/v1", "", ("OLLAMA_BASE_URL", "OLLAMA_HOST"), local=True)
LMSTUDIO = Provider("lmstudio", ChatCompletions, "http://127.0.0.1:1234/v1", "", ("LMSTUDIO_BASE_URL",), local=True)
VLLM = Provider("vllm", ChatCompletions, "http://127.0.0.1:8000/v1", "", ("VLLM_BASE_URL",), local=True)
LLAMACPP = Provider("llamacpp", ChatCompletions, "http://127.0.0.1:8080/v1", "", ("LLAMACPP_BASE_URL",), local=True)
