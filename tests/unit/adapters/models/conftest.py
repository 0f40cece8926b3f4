"""Shared parts of the model tests: a provider on loopback and an analyst that asks it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from corrobora.analysts.language_model.analyst import LanguageModelAnalyst
from corrobora.adapters.models.registry import OutputMode, parse_target
from corrobora.adapters.models.connection import ModelConnection
from corrobora.adapters.pacing import Gate, Pace
from corrobora.testing.samples import SAMPLES
from corrobora.testing.server import ModelServer

TARGETS = {
    "chat": "openai-compatible:scripted@{url}/v1",
    "responses": "openai:gpt-4.1@{url}/v1",
    "anthropic-tool": "anthropic:claude-unheard-of@{url}",
    "anthropic-native": "anthropic:claude-sonnet-5@{url}",
    "ollama": "ollama:qwen3@{url}/v1",
    "vllm": "vllm:llama-3@{url}/v1",
}


@asynccontextmanager
async def asking(
    server: ModelServer, kind: str = "chat", *, mode: OutputMode | None = None, pace: Pace | None = None, **more: Any
) -> AsyncIterator[LanguageModelAnalyst]:
    """Open an analyst that asks `server` in the way of `kind`."""
    target = replace(parse_target(TARGETS[kind].format(url=server.url), {}), mode=mode)
    connection = Connection(target, Gate(kind, pace), **more)
    try:
        yield LanguageModelAnalyst({"worker": connection})
    finally:
        await connection.aclose()


def sample(name: str) -> tuple[Any, Any]:
    """Return a role and a full input for it."""
    return next((role, given) for role, given in SAMPLES if role.prompt == name)


@pytest.fixture
def ask() -> Callable[..., Any]:
    return asking
