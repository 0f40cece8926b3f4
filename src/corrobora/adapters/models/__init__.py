"""The registry: from "provider:model" and settings to targets, tier by tier; and what one reply of a target costs.

Knows providers by entry point, their default addresses, the environment variables users have, and the public price list
(genai-prices). Does not know protocols or roles, and does not trust reported usage that cannot be true: zero, negative,
huge or missing counts are replaced by an estimate that is rather too high. A package adds a provider with an entry
point of the group `corrobora.models` that names a `Provider`; the built-in ones come the same way.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, cast
from urllib.parse import urlsplit

from corrobora.adapters.models.framing import TransportError
from corrobora.adapters.models.transport import HttpEndpoint
from corrobora.analysts.language_model import TIERS, Correction, Effort, Ending, OutputForm, Prompt, Tier
from corrobora.domain.errors import UserError
from corrobora.domain.limits import CallOptions, OutputMode, Price, Usage
from corrobora.registry import list_parts, load_part


@dataclass(frozen=True, slots=True)
class Provider:
    """One kind of endpoint. `key` names the environment variable of its key; "" if it needs none.

    `connect` makes what speaks to a target.
    """

    name: str
    connect: Callable[[Target], ModelWire]
    base_url: str = ""
    key: str = ""
    base_url_settings: tuple[str, ...] = ()
    local: bool = False


@dataclass(frozen=True, slots=True)
class Target:
    """One model at one endpoint. The key is never shown."""

    provider: Provider
    model: str
    base_url: str
    key: str = field(default="", repr=False)
    thinking: bool = False  # much, where the model can; what refuses it is asked without
    effort: Effort | None = None  # as the user asks for it; what refuses it is an error
    options: CallOptions = field(default_factory=CallOptions)
    price: Price | None = None
    alias: str = ""  # what the user calls it, where the endpoint is one of their own

    @property
    def id(self) -> str:
        """Name the model for journal keys: "anthropic:claude-opus-4-5"."""
        return f"{self.provider.name}:{self.model}"

    @property
    def label(self) -> str:
        """Name the model for people: "lan:llama" for a model of the user's endpoint `lan`."""
        return self.alias or self.id

    @property
    def further_fields(self) -> dict[str, Any]:
        """What the user adds to the body of every request."""
        return json.loads(self.options.extra_body or "{}")

    @property
    def level(self) -> Effort | None:
        """How much the model is asked to think; None: as much as it does by itself."""
        return self.effort or ("high" if self.thinking else None)

    @property
    def free(self) -> bool:
        """True for servers on this machine or network, whose calls cost nothing."""
        return self.provider.local or urlsplit(self.base_url).hostname in ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One request: what is asked, in which form, in which way, and how long the answer may be."""

    prompt: Prompt
    form: OutputForm
    mode: OutputMode
    max_tokens: int
    correction: Correction | None = None


@dataclass(frozen=True, slots=True)
class Tokens:
    """What a provider reports. `sent` includes what was read from or written to its cache."""

    sent: int = 0
    received: int = 0
    cache_read: int = 0
    cache_written: int = 0


def read_text(value: object) -> str:
    """Return a text of an answer, also one in parts, among which may be thoughts. Raises `TypeError`."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "".join(map(read_text, cast("list[object]", value)))
    if not isinstance(value, dict):
        raise TypeError
    part = cast("dict[str, Any]", value)
    if "type" not in part and "text" not in part:
        return json.dumps(part, ensure_ascii=False)  # the object that was asked for, in place of its text
    return (part.get("text") or "") if part.get("type", "text") in ("text", "output_text") else ""


def write_arguments(given: object) -> str:
    """Return arguments of a tool as text: some servers send an object where others send its text."""
    return given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)


def choose_text(calls: Sequence[tuple[str, str]], tool: str, text: str) -> str:
    """Return the answer among called tools (name, arguments) and text.

    The tool that was offered comes first, then text, then the one tool that was called under a name that was made up.
    """
    named = next((arguments for name, arguments in calls if name == tool and arguments), "")
    return named or text or (calls[0][1] if len(calls) == 1 else "")


def read_count(usage: object, name: str) -> int:
    """Return a reported number of tokens; 0 for what is no number."""
    value = cast("dict[str, Any]", usage).get(name) if isinstance(usage, dict) else None
    if isinstance(value, str) and value.isdecimal():
        value = float(value[:20])
    number = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _MOST_TOKENS**2
    return int(value) if number else 0  # type: ignore[arg-type] - it is a number


@dataclass(frozen=True, slots=True)
class Completion:
    """What came back, before metering."""

    text: str
    ending: Ending
    tokens: Tokens
    thoughts: int = 0  # bytes of thinking that came beside the text: they are billed like it


class ModelWire(Protocol):
    """Speaks one provider's protocol. A second implementation beside HTTP may wrap a vendor's library."""

    mode: OutputMode  # the way of structured output to try first

    async def complete(self, request: ModelRequest) -> Completion:
        """Send one request. Raises `ProviderError`, `RoleError` or `TransportError`."""
        ...

    def adapt(self, refusal: str) -> bool:
        """Leave out what the provider has just rejected in these words; True if the request may be sent again."""
        ...

    async def aclose(self) -> None:
        """Close the connections of this event loop."""
        ...


def find_provider(name: str) -> Provider | None:
    """Load a provider by its name; None if no installed package has it."""
    return load_part("models", name) if name in list_parts("models") else None


def parse_target(text: str, env: Mapping[str, str], *, base_url: str = "", key: str = "") -> Target:
    """Read "provider:model" or "provider:model@http://host:port/v1".

    Raises `UserError` `model_unknown_provider`, `model_no_name`, `model_no_address` or `model_no_key`.
    """
    name, colon, rest = text.strip().partition(":")
    provider = find_provider(name.strip().lower()) if colon else None
    if provider is None:
        raise UserError(
            "model_unknown_provider",
            f"The model {text.strip()[:80]!r} names no known provider.",
            next_step=f"Write PROVIDER:MODEL with one of: {', '.join(list_parts('models'))}.",
        )
    model, _, address = rest.strip().partition("@http")
    if not model.strip():
        raise UserError("model_no_name", f"{text.strip()[:80]!r} names no model.", next_step="Write PROVIDER:MODEL.")
    return Target(
        provider,
        model.strip(),
        _find_address(provider, f"http{address}" if address else base_url, env),
        _find_key(provider, key, env, own_address=bool(address or base_url)),
    )


def _find_address(provider: Provider, given: str, env: Mapping[str, str]) -> str:
    names = sorted(provider.base_url_settings, key=lambda name: not env.get(name, "").strip())  # first what is set
    names = names or ["its address"]
    address = (given or env.get(names[0], "").strip() or provider.base_url).rstrip("/")
    if not address and not provider.base_url_settings:
        return ""  # it knows its own way
    if address and "://" not in address:
        address = f"http://{_complete_host(address, provider)}"
    if "@" in address.partition("://")[2].partition("/")[0]:
        raise UserError(  # the address is not repeated: it may hold a password
            "model_no_address",
            f"The address of {provider.name} holds a user name, which would be stored and shown with every run.",
            next_step=f"Write it without, and set {provider.key or 'a key'} to what its server asks for.",
        )
    if not _is_usable(address):
        raise UserError(
            "model_no_address",
            f"The provider {provider.name} has no usable address ({address[:100] or 'none'}).",
            next_step=f"Set {names[0]} to something like http://127.0.0.1:8000/v1.",
        )
    parts = urlsplit(address)
    return parts._replace(path="/v1").geturl() if provider.local and parts.path in ("", "/") else address


def _complete_host(address: str, provider: Provider) -> str:
    """Return an address without a scheme with host and port: OLLAMA_HOST may be "0.0.0.0", ":11434" or "box:11434"."""
    usual = urlsplit(provider.base_url)
    host, slash, path = address.partition("/")
    host = f"{usual.hostname}{host}" if host.startswith(":") and host[1:].isdigit() else host
    port = f":{usual.port}" if provider.local and not re.search(r":\d+$", host) else ""
    return f"{host}{port}{slash}{path}"


def _is_usable(address: str) -> bool:
    """True for an address of the web whose host and port can be asked."""
    try:
        parts = urlsplit(address)
        host = (parts.hostname or "").encode("idna")
        return parts.scheme in ("http", "https") and bool(host) and parts.port != 0 and address.split() == [address]
    except ValueError:  # of brackets, ports and names
        return False


def _find_key(provider: Provider, given: str, env: Mapping[str, str], *, own_address: bool) -> str:
    key = given or (env.get(provider.key, "").strip() if provider.key else "")
    optional = not provider.key or provider.name == "openai-compatible" or own_address
    if not key and not optional:
        raise UserError(
            "model_no_key",
            f"The provider {provider.name} needs a key.",
            next_step=f"Set the environment variable {provider.key}.",
        )
    return key


def choose_targets(
    wishes: Mapping[str, str], env: Mapping[str, str], *, lead_thinking: bool = False
) -> dict[Tier, Target]:
    """Choose a model for each tier from `wishes` (tier -> "provider:model"); {} if there are none.

    Where a tier is not named it takes its neighbour's: lead, fast and judge take the worker's, and the worker takes any
    that is named. Raises `UserError` as `parse_target`.
    """
    named = {tier: wishes[tier] for tier in TIERS if wishes.get(tier, "").strip()}
    if not named:
        return {}
    worker = named.get("worker") or next(iter(named.values()))
    chosen: dict[Tier, Target] = {tier: parse_target(named.get(tier, worker), env) for tier in TIERS}
    if lead_thinking:
        chosen["lead"] = replace(chosen["lead"], thinking=True)
    return chosen


_LOOK_SECONDS = 0.7  # a server of this machine answers in milliseconds


@dataclass(frozen=True, slots=True)
class LocalServer:
    """A model server that answered on this machine."""

    provider: str
    base_url: str
    models: tuple[str, ...]


async def find_local_servers(env: Mapping[str, str]) -> tuple[LocalServer, ...]:
    """Ask the known local ports which models they have (`GET /v1/models`); silence and nonsense mean "not there"."""
    local = [provider for name in list_parts("models") if (provider := find_provider(name)) and provider.local]
    known: dict[str, str] = {}
    for provider in local:
        with suppress(UserError):  # at an address that cannot be asked there is no server
            known[provider.name] = _find_address(provider, "", env)
    found = await asyncio.gather(*(_list_models(name, url) for name, url in known.items()))
    return tuple(server for server in found if server is not None)


async def _list_models(name: str, base_url: str) -> LocalServer | None:
    endpoint = HttpEndpoint(base_url, options=CallOptions(idle_seconds=_LOOK_SECONDS))
    try:
        async with asyncio.timeout(2 * _LOOK_SECONDS), endpoint.request("GET", "/models") as answer:
            if answer.status != 200:  # noqa: PLR2004 - HTTP
                return None
            found: object = json.loads(await answer.read_body(1_000_000))
    except (TransportError, TimeoutError, ValueError, RecursionError):
        return None
    finally:
        await endpoint.aclose()
    data = cast("dict[str, object]", found).get("data") if isinstance(found, dict) else None
    if not isinstance(data, list):
        return None
    names = [cast("dict[str, object]", row).get("id") for row in cast("list[object]", data) if isinstance(row, dict)]
    return LocalServer(name, base_url, tuple(name for name in names if isinstance(name, str) and name))


_USUAL_TOKENS = 5_000  # of one call: the price of some models depends on the size of the call
_MOST_TOKENS = 10_000_000  # more than any model takes or gives in one call
_BYTES_PER_TOKEN = 2  # English has about four, code and other scripts two to three: an estimate from above


def meter_reply(target: Target, tokens: Tokens, *, sent: int, received: int) -> Usage:
    """Return the usage of one call; `sent` and `received` are bytes of text that really went over the wire.

    `priced` is False where no price is known, and where the provider's report could not be used.
    """
    if max(tokens.sent, tokens.received) > _MOST_TOKENS:
        tokens = Tokens()
    tokens = replace(tokens, cache_read=min(tokens.cache_read, tokens.sent))
    honest = tokens.sent > 0 and (tokens.received > 0 or received == 0) and tokens.cache_read >= 0
    asked, answered = (size // _BYTES_PER_TOKEN + 1 for size in (sent, received))
    counted = tokens if honest else Tokens(max(tokens.sent, asked), max(tokens.received, answered))
    dollars = _calculate_dollars(target, counted)
    return Usage(
        input_tokens=counted.sent,
        output_tokens=counted.received,
        cached_tokens=max(0, counted.cache_read),
        dollars=dollars or 0.0,
        calls=1,
        priced=dollars is not None and (honest or target.free),
    )


def bound_cost(target: Target, *, sent: int, room: int) -> Usage:
    """Return what a call costs at most: `sent` bytes of text, written to a cache, and an answer of `room` tokens."""
    asked = sent // _BYTES_PER_TOKEN + 1
    dollars = _calculate_dollars(target, Tokens(asked, room, cache_written=asked))
    return Usage(asked, room, dollars=dollars or 0.0, calls=1, priced=dollars is not None)


def has_price(target: Target) -> bool:
    """Tell whether calls of this model can be priced: by a stated price, by the public list, or because it is free."""
    return _calculate_dollars(target, Tokens(1, 1)) is not None


def find_price(target: Target) -> Price | None:
    """Return the dollars for a million tokens of input and of output in a call of usual size, None if not known."""
    sent, received = (
        _calculate_dollars(target, tokens) for tokens in (Tokens(_USUAL_TOKENS, 0), Tokens(0, _USUAL_TOKENS))
    )
    scale = 1_000_000 / _USUAL_TOKENS
    return None if sent is None or received is None else Price(sent * scale, received * scale)


def _calculate_dollars(target: Target, tokens: Tokens) -> float | None:
    if target.price is not None:
        price, again = target.price, min(max(0, tokens.cache_read), tokens.sent)
        reread = price.input if price.cached is None else price.cached
        asked = (tokens.sent - again) * price.input + again * reread
        return (asked + tokens.received * price.output) / 1_000_000
    if target.free:
        return 0.0
    from genai_prices import Usage as Priced  # noqa: PLC0415 - 0.15 CPU-s, for billed models only
    from genai_prices import calc_price  # noqa: PLC0415

    usage = Priced(
        input_tokens=tokens.sent,
        output_tokens=tokens.received,
        cache_read_tokens=max(0, tokens.cache_read),
        cache_write_tokens=max(0, tokens.cache_written),
    )
    try:
        return float(calc_price(usage, target.model, provider_api_url=target.base_url).total_price)
    except (LookupError, ValueError):
        return None
