"""Connect: from "provider:model" and settings to targets, tier by tier; and which local servers are running.

Knows providers, their default addresses and the environment variables users have. Does not know pydantic-ai or roles.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, cast
from urllib.parse import urlsplit

import httpx2

from corrobora.adapters.models.client import model_client
from corrobora.domain.errors import UserError

Tier = Literal["lead", "worker", "fast", "judge"]
TIERS: tuple[Tier, ...] = ("lead", "worker", "fast", "judge")
Protocol = Literal["anthropic", "chat", "responses"]
OutputMode = Literal["native", "tool", "prompted"]


@dataclass(frozen=True, slots=True)
class Provider:
    """One kind of endpoint. `key` names the environment variable of its key; "" if it needs none."""

    name: str
    protocol: Protocol
    base_url: str
    key: str = ""
    base_url_settings: tuple[str, ...] = ()
    local: bool = False


PROVIDERS: Mapping[str, Provider] = {
    provider.name: provider
    for provider in (
        Provider("anthropic", "anthropic", "https://api.anthropic.com", "ANTHROPIC_API_KEY", ("ANTHROPIC_BASE_URL",)),
        Provider("openai", "responses", "https://api.openai.com/v1", "OPENAI_API_KEY", ("OPENAI_BASE_URL",)),
        Provider("openai-chat", "chat", "https://api.openai.com/v1", "OPENAI_API_KEY", ("OPENAI_BASE_URL",)),
        Provider("openai-compatible", "chat", "", "OPENAI_API_KEY", ("CORROBORA_MODEL_BASE_URL", "OPENAI_BASE_URL")),
        Provider("ollama", "chat", "http://127.0.0.1:11434/v1", "", ("OLLAMA_BASE_URL", "OLLAMA_HOST"), local=True),
        Provider("lmstudio", "chat", "http://127.0.0.1:1234/v1", "", ("LMSTUDIO_BASE_URL",), local=True),
        Provider("vllm", "chat", "http://127.0.0.1:8000/v1", "", ("VLLM_BASE_URL",), local=True),
        Provider("llamacpp", "chat", "http://127.0.0.1:8080/v1", "", ("LLAMACPP_BASE_URL",), local=True),
    )
}

_ENV_TIERS: Mapping[Tier, str] = {
    "lead": "LEAD_MODEL_ID",
    "worker": "MODEL_ID",
    "fast": "SMALL_MODEL_ID",
    "judge": "JUDGE_MODEL_ID",
}
_ENV_PROVIDERS = (("ANTHROPIC", "anthropic"), ("OPENAI", "openai"))


@dataclass(frozen=True, slots=True)
class Price:
    """Dollars for a million tokens, where the user states them."""

    input_per_million: float
    output_per_million: float


@dataclass(frozen=True, slots=True)
class Target:
    """One model at one endpoint. The key is never shown."""

    provider: Provider
    model: str
    base_url: str
    key: str = field(default="", repr=False)
    mode: OutputMode | None = None  # None: by capability
    thinking: bool = False
    max_output_tokens: int | None = None
    price: Price | None = None

    @property
    def id(self) -> str:
        """Name the model for people and for journal keys: "anthropic:claude-opus-4-5"."""
        return f"{self.provider.name}:{self.model}"

    @property
    def free(self) -> bool:
        """True for servers on this machine or network that nobody is billed for."""
        return self.provider.local or urlsplit(self.base_url).hostname in ("127.0.0.1", "localhost", "::1")


def parse_target(text: str, env: Mapping[str, str], *, base_url: str = "", key: str = "") -> Target:
    """Read "provider:model" or "provider:model@http://host:port/v1".

    Raises `UserError` `model_unknown_provider`, `model_no_name`, `model_no_address` or `model_no_key`.
    """
    name, colon, rest = text.strip().partition(":")
    provider = PROVIDERS.get(name.strip().lower()) if colon else None
    if provider is None:
        raise UserError(
            "model_unknown_provider",
            f"The model {text.strip()[:80]!r} names no known provider.",
            next_step=f"Write PROVIDER:MODEL with one of: {', '.join(PROVIDERS)}.",
        )
    model, _, address = rest.strip().partition("@http")
    if not model.strip():
        raise UserError("model_no_name", f"{text.strip()[:80]!r} names no model.", next_step="Write PROVIDER:MODEL.")
    return Target(
        provider,
        model.strip(),
        _address(provider, f"http{address}" if address else base_url, env),
        _key(provider, key, env, own_address=bool(address or base_url)),
    )


def _address(provider: Provider, given: str, env: Mapping[str, str]) -> str:
    named = next((env[name].strip() for name in provider.base_url_settings if env.get(name, "").strip()), "")
    address = (given or named or provider.base_url).rstrip("/")
    if address and "://" not in address:
        address = f"http://{address}"  # OLLAMA_HOST is written without a scheme
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UserError(
            "model_no_address",
            f"The provider {provider.name} has no usable address ({address[:100] or 'none'}).",
            next_step=f"Set {provider.base_url_settings[0]} to something like http://127.0.0.1:8000/v1.",
        )
    if provider.local and parts.path in ("", "/"):
        address = f"{address.rstrip('/')}/v1"
    return address


def _key(provider: Provider, given: str, env: Mapping[str, str], *, own_address: bool) -> str:
    key = given or (env.get(provider.key, "").strip() if provider.key else "")
    optional = not provider.key or provider.name == "openai-compatible" or own_address
    if not key and not optional:
        raise UserError(
            "model_no_key",
            f"The provider {provider.name} needs a key.",
            next_step=f"Set the environment variable {provider.key}.",
        )
    return key


def targets(
    wishes: Mapping[str, str], env: Mapping[str, str], *, base_url: str = "", lead_thinking: bool = False
) -> dict[Tier, Target]:
    """Choose a model for each tier: from `wishes` (tier -> "provider:model"), else from the environment.

    Where a tier is not named it takes its neighbour's: lead, fast and judge take the worker's, and the worker takes any
    that is named. Honours (ANGLES-34) ANTHROPIC_LEAD_MODEL_ID, ANTHROPIC_MODEL_ID, ANTHROPIC_SMALL_MODEL_ID, and the
    same
    in lower case; likewise OPENAI_. Returns {} if nothing is named. Raises `UserError` as `parse_target`.
    """
    named = {tier: wishes[tier] for tier in TIERS if wishes.get(tier, "").strip()} or _from_environment(env)
    if not named:
        return {}
    worker = named.get("worker") or next(named[tier] for tier in TIERS if tier in named)
    chosen: dict[Tier, Target] = {tier: parse_target(named.get(tier, worker), env, base_url=base_url) for tier in TIERS}
    if lead_thinking:
        chosen["lead"] = replace(chosen["lead"], thinking=True)
    return chosen


def _from_environment(env: Mapping[str, str]) -> dict[Tier, str]:
    for prefix, provider in _ENV_PROVIDERS:
        found: dict[Tier, str] = {}
        for tier, suffix in _ENV_TIERS.items():
            name = f"{prefix}_{suffix}"
            value = (env.get(name) or env.get(name.lower()) or "").strip()
            if value:
                known = value.partition(":")[0] in PROVIDERS and ":" in value
                found[tier] = value if known else f"{provider}:{value}"
        if found:
            return found
    return {}


@dataclass(frozen=True, slots=True)
class LocalServer:
    """A model server that answered on this machine."""

    provider: str
    base_url: str
    models: tuple[str, ...]


async def find_local_servers(
    env: Mapping[str, str] | None = None, *, seconds: float = 0.7, addresses: Mapping[str, str] | None = None
) -> tuple[LocalServer, ...]:
    """Ask the known local ports which models they have (`GET /v1/models`); silence and nonsense mean "not there".

    `addresses` (provider -> base URL) replaces the default ports.
    """
    known = addresses or {p.name: _address(p, "", env or {}) for p in PROVIDERS.values() if p.local}
    async with model_client(idle_seconds=seconds, limit=1_000_000) as client:
        found = await asyncio.gather(*(_ask(client, name, url, seconds) for name, url in known.items()))
    return tuple(server for server in found if server is not None)


async def _ask(client: httpx2.AsyncClient, name: str, base_url: str, seconds: float) -> LocalServer | None:
    try:
        async with asyncio.timeout(seconds * 2):
            reply = await client.get(f"{base_url}/models")
        if not reply.is_success:
            return None
        rows: object = json.loads(reply.content)
    except (httpx2.HTTPError, TimeoutError, ValueError, RecursionError):
        return None
    data = cast("dict[str, object]", rows).get("data") if isinstance(rows, dict) else None
    if not isinstance(data, list):
        return None
    names = [cast("dict[str, object]", row).get("id") for row in cast("list[object]", data) if isinstance(row, dict)]
    return LocalServer(name, base_url, tuple(name for name in names if isinstance(name, str) and name))
