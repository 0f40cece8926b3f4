"""Building: from a target to a pydantic-ai model, and from a schema to its request parameters.

Knows pydantic-ai's classes and both SDKs; importing this module loads the first, so only `connection.py` does, late.
Does not send anything.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import httpx2
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.profiles import ModelProfile
from pydantic_ai.tools import ToolDefinition

from corrobora.adapters.models.client import model_client
from corrobora.adapters.models.connect import OutputMode, Target

_NO_KEY = "not-needed"  # both SDKs insist on some key, local servers do not look at it


@dataclass(frozen=True, slots=True)
class Built:
    """A model and the HTTP client it sends with.

    `bare` is the same model for parameters that `shaped` has made: it does not transform their schema again in every
    request (a sixth of a request's CPU time, measured).
    """

    model: Model
    bare: Model
    client: httpx2.AsyncClient

    def shaped(self, asked: ModelRequestParameters) -> ModelRequestParameters:
        """Transform the schemas once, to what this model's provider accepts."""
        return self.model.customize_request_parameters(asked)


def build(target: Target) -> Built:
    """Return the model of `target` with its own HTTP client. The SDK's retries are off: the session retries."""
    client = model_client()
    make = _anthropic(target, client) if target.provider.protocol == "anthropic" else _openai(target, client)
    return Built(make(None), make({"json_schema_transformer": None}), client)


_Make = Callable[[ModelProfile | None], Model]


def _anthropic(target: Target, http: httpx2.AsyncClient) -> _Make:
    from anthropic import AsyncAnthropic  # noqa: PLC0415 - one SDK is enough: the other stays unloaded
    from pydantic_ai.models.anthropic import AnthropicModel  # noqa: PLC0415
    from pydantic_ai.providers.anthropic import AnthropicProvider  # noqa: PLC0415

    client = AsyncAnthropic(api_key=target.key or _NO_KEY, base_url=target.base_url, http_client=http, max_retries=0)
    provider = AnthropicProvider(anthropic_client=client)
    return lambda profile: AnthropicModel(target.model, provider=provider, profile=profile)


def _openai(target: Target, http: httpx2.AsyncClient) -> _Make:
    from pydantic_ai.models.openai import OpenAIResponsesModel  # noqa: PLC0415 - one SDK is enough: the other stays out
    from pydantic_ai.providers.ollama import OllamaProvider  # noqa: PLC0415
    from pydantic_ai.providers.openai import OpenAIProvider  # noqa: PLC0415
    from pydantic_ai.providers.vllm import VLLMProvider  # noqa: PLC0415

    from corrobora.adapters.models.posting import PostedChatModel, PostedOllamaModel, PostingClient  # noqa: PLC0415

    client = PostingClient(api_key=target.key or _NO_KEY, base_url=target.base_url, http_client=http)
    if target.provider.protocol == "responses":
        openai = OpenAIProvider(openai_client=client)
        return lambda profile: OpenAIResponsesModel(target.model, provider=openai, profile=profile)
    if target.provider.name == "ollama":
        ollama = OllamaProvider(openai_client=client)
        return lambda profile: PostedOllamaModel(target.model, provider=ollama, profile=profile)
    chat = (
        VLLMProvider(openai_client=client) if target.provider.name == "vllm" else OpenAIProvider(openai_client=client)
    )
    return lambda profile: PostedChatModel(target.model, provider=chat, profile=profile)


def parameters(
    mode: OutputMode, name: str, description: str, schema: dict[str, Any], target: Target
) -> ModelRequestParameters:
    """Return what asks for an object of `schema` in this way."""
    if mode == "tool":
        strict = None if target.provider.protocol == "anthropic" else True  # its strict tools are few and small
        tool = ToolDefinition(
            name=name, parameters_json_schema=schema, description=description, strict=strict, kind="output"
        )
        return ModelRequestParameters(output_mode="tool", output_tools=[tool], allow_text_output=False)
    shape = OutputObjectDefinition(json_schema=schema, name=name, description=description, strict=True)
    return ModelRequestParameters(output_mode=mode, output_object=shape, allow_text_output=True)
