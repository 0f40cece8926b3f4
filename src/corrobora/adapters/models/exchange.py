"""Exchange: our texts as pydantic-ai messages, its response as our text; what it raises as our errors.

Knows pydantic-ai's messages and settings; importing this module loads it, so only `connection.py` does, late. Does not
know gates, time limits or roles.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import httpx2
from pydantic_ai.direct import model_request
from pydantic_ai.exceptions import AgentRunError, UserError
from pydantic_ai.messages import (
    CachePoint,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    UserPromptPart,
)
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.settings import ModelSettings

from corrobora.adapters.models.building import build, parameters
from corrobora.adapters.models.connect import OutputMode, Target
from corrobora.adapters.models.failures import mapped, refuses_structure
from corrobora.adapters.models.metering import Tokens
from corrobora.roles.rendering import Prompt

__all__ = ["FAILURES", "Raw", "build", "capability", "exchange", "mapped", "parameters", "refuses_structure"]

THINKING_ROOM = 20_480  # tokens beside the answer: providers count thinking and answer together

# What a broken answer may raise deep inside an SDK, besides the errors that are meant for callers.
FAILURES = (
    AgentRunError,
    UserError,
    httpx2.HTTPError,
    httpx2.StreamError,
    OSError,
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
)


@dataclass(frozen=True, slots=True)
class Raw:
    """What came back, before metering."""

    text: str
    ended: str  # stop | length | refusal
    tokens: Tokens


async def exchange(  # noqa: PLR0913, PLR0917 - the parts of one request
    model: Model,
    target: Target,
    prompt: Prompt,
    order: tuple[str, str] | None,
    asked: ModelRequestParameters,
    max_tokens: int,
) -> Raw:
    """Send one request and return what came back. `order` is a bad answer and the order to mend it."""
    response = await model_request(
        model,
        _messages(target, prompt, order),
        model_settings=_settings(target, max_tokens),
        model_request_parameters=asked,
    )
    name = asked.output_tools[0].name if asked.output_tools else ""
    return _raw(response, name)


def capability(model: Model) -> OutputMode:
    """Native where the model's profile has it, else a tool, else words: the strictest that the model can do."""
    profile = model.profile
    if profile.get("supports_json_schema_output"):
        return "native"
    return "tool" if profile.get("supports_tools", True) else "prompted"


def _settings(target: Target, max_tokens: int) -> ModelSettings:
    settings: dict[str, Any] = {"max_tokens": max_tokens}
    if target.thinking:
        settings["thinking"] = "high"
        settings["max_tokens"] = max_tokens + THINKING_ROOM
    if target.provider.protocol == "anthropic":
        settings["anthropic_cache_instructions"] = True
        settings["anthropic_cache_tool_definitions"] = True
    return ModelSettings(**settings)


def _messages(target: Target, prompt: Prompt, order: tuple[str, str] | None) -> list[ModelMessage]:
    """The user's text; for Anthropic with a mark after the stable brief, so that it is cached with the instructions."""
    split = target.provider.protocol == "anthropic" and bool(prompt.brief and prompt.task)
    user = UserPromptPart([prompt.brief, CachePoint(), prompt.task] if split else prompt.user)
    if order is None:
        return [ModelRequest([user], instructions=prompt.system)]
    answer, demand = order
    again = UserPromptPart(demand)
    if not answer.strip():  # an empty turn of the model may not be sent
        return [ModelRequest([user, again], instructions=prompt.system)]
    return [
        ModelRequest([user], instructions=prompt.system),
        ModelResponse([TextPart(answer)]),
        ModelRequest([again], instructions=prompt.system),
    ]


def _raw(response: ModelResponse, name: str) -> Raw:
    calls = [
        part.args_as_json_str() for part in response.parts if isinstance(part, ToolCallPart) and part.tool_name == name
    ]
    text = calls[0] if calls else "".join(part.content for part in response.parts if isinstance(part, TextPart))
    ended = "stop"
    if response.finish_reason == "length":
        ended = "length"
    elif response.finish_reason == "content_filter" or (
        not text.strip() and (response.provider_details or {}).get("refusal")
    ):
        ended = "refusal"
    used = response.usage
    return Raw(
        text, ended, Tokens(used.input_tokens, used.output_tokens, used.cache_read_tokens, used.cache_write_tokens)
    )
