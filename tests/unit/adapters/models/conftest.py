"""Shared parts of the model tests: a provider on loopback and an analyst that asks it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from bench.model_server.server import ModelServer

from corrobora.adapters.models import parse_target
from corrobora.adapters.models.connection import ModelConnection
from corrobora.adapters.pacing import CallGate, Pace
from corrobora.analysts.language_model.analyst import LanguageModelAnalyst
from corrobora.domain.limits import CallOptions
from corrobora.testing.conformance import find_sample as sample

__all__ = ["TARGETS", "asking", "sample"]

TARGETS = {
    "chat": "openai-compatible:scripted@{url}/v1",
    "openai": "openai:gpt-4.1@{url}/v1",
    "anthropic-tool": "anthropic:claude-3-5-haiku-latest@{url}",
    "anthropic-native": "anthropic:claude-sonnet-5@{url}",
    "ollama": "ollama:qwen3@{url}/v1",
    "vllm": "vllm:llama-3@{url}/v1",
}


@asynccontextmanager
async def asking(
    server: ModelServer, kind: str = "chat", *, pace: Pace | None = None, **options: Any
) -> AsyncIterator[LanguageModelAnalyst]:
    """Open an analyst that asks `server` in the way of `kind`."""
    target = replace(parse_target(TARGETS[kind].format(url=server.url), {}), options=CallOptions(**options))
    connection = ModelConnection(target, CallGate(kind, pace))
    try:
        yield LanguageModelAnalyst({"worker": connection})
    finally:
        await connection.aclose()
