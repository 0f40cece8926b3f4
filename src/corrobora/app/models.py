"""Models: from settings and a request's wishes to an analyst, to what a run may cost, and to who is sent what in it.

Knows settings, own endpoints, keys and prices. Connections and the gates that bound them are shared by all runs of a
process. Says so that `doctor`, the plan and the report say the same. Does not send anything, and does not decide
whether a run may start: `Estimate.needs_yes` says whether a person must be asked.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from corrobora.adapters.http import check_certificates, find_proxy, list_proxies
from corrobora.adapters.models import Target, choose_targets, find_price, has_price, parse_target
from corrobora.adapters.models.connection import ModelConnection
from corrobora.adapters.pacing import CallGate, Pace
from corrobora.analysts.language_model import TIERS, Tier
from corrobora.config import Settings
from corrobora.domain.errors import ModelSilent, UserError
from corrobora.domain.plan import Plan
from corrobora.domain.run import Request, RequestOption
from corrobora.engine.session.egress import has_private_libraries
from corrobora.policies import Profile, derive_numbers
from corrobora.policies.budget import Estimate, estimate_run
from corrobora.registry import load_part

if TYPE_CHECKING:
    from corrobora.analysts.language_model import ModelClient
    from corrobora.analysts.language_model.analyst import LanguageModelAnalyst

Targets = Mapping[Tier, Target]
_CONNECT_SECONDS = 5.0  # a server of the user's own network answers in milliseconds
_VENDOR_KEYS = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}


class ModelPool:
    """The model connections of one process. `analyst` returns None where no model is named."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._gates: dict[tuple[str, str, int | None], CallGate] = {}
        self._connections: dict[Target, ModelConnection] = {}
        self._analysts: dict[tuple[str | tuple[Tier, Target], ...], LanguageModelAnalyst] = {}

    def get_analyst(
        self, wishes: Mapping[str, str], *, thinking: bool = False, language: str = ""
    ) -> LanguageModelAnalyst | None:
        """Return the analyst for these wishes (tier -> "provider:model"), or None; it writes in the language.

        Raises:
            UserError: a provider, address or key is missing; the message names the setting.
        """
        chosen = self.choose_targets(wishes, thinking=thinking)
        if not chosen:
            return None
        from corrobora.analysts.language_model.analyst import LanguageModelAnalyst  # noqa: PLC0415 - loads Jinja

        name = (language, *sorted(chosen.items()))
        if name not in self._analysts:
            opened: dict[Tier, ModelClient] = {tier: self._open_connection(target) for tier, target in chosen.items()}
            self._analysts[name] = LanguageModelAnalyst(opened, language=language)
        return self._analysts[name]

    async def close(self) -> None:
        for connection in self._connections.values():
            await connection.aclose()

    def choose_targets(self, wishes: Mapping[str, str], *, thinking: bool = False) -> Targets:
        """Return the model of each tier for these wishes, empty without any. Raises as `get_analyst`."""
        env = dict(os.environ)
        for vendor, name in _VENDOR_KEYS.items():
            secret = self._settings.key(vendor)
            if secret.set:
                env[name] = secret.reveal()
        own = {tier: self._parse_own(wishes[tier]) for tier in TIERS if self._is_own(wishes.get(tier, ""))}
        named = {tier: text for tier, text in wishes.items() if tier not in own}
        found = choose_targets(named, env, lead_thinking=thinking)
        if own:
            some = own.get("worker") or next(iter(own.values()))
            found = {tier: own.get(tier) or found.get(tier) or some for tier in TIERS}
            if thinking:
                found["lead"] = replace(found["lead"], thinking=True)
        return {tier: self._add_settings(tier, found[tier]) for tier in TIERS if tier in found}

    def _is_own(self, text: str) -> bool:
        return text.partition(":")[0] in self._settings.endpoints

    def _parse_own(self, text: str) -> Target:
        """Return a model at an endpoint of the user, with the key configured beside it and no vendor's."""
        name, _, model = text.partition(":")
        endpoint = self._settings.endpoints[name]
        key = endpoint.api_key.reveal() if endpoint.api_key else ""
        provider = "anthropic" if endpoint.kind == "anthropic" else "openai-compatible"
        target = parse_target(f"{provider}:{model}", {}, base_url=endpoint.base_url, key=key)
        return replace(target, alias=f"{name}:{target.model}")

    def _add_settings(self, tier: Tier, target: Target) -> Target:
        prices, effort = self._settings.prices, self._settings.effort.get(tier)
        price = prices.get(target.label) or prices.get(target.id)
        options = target.options
        for name in (target.provider.name, target.label.partition(":")[0], target.id, target.label, tier):
            if name in self._settings.options:
                options = options.override(self._settings.options[name])
        return replace(target, price=price, effort=effort, options=options)

    def _open_connection(self, target: Target) -> ModelConnection:
        if target not in self._connections:
            most = target.options.calls_at_once
            account = (target.base_url, hashlib.sha256(target.key.encode()).hexdigest(), most)  # limits are of a key
            pace = None if most is None else Pace(start=min(Pace().start, most), most=most)
            gate = self._gates.setdefault(account, CallGate(target.base_url, pace))
            self._connections[target] = ModelConnection(target, gate)
        return self._connections[target]


def check_prices(targets: Targets) -> None:
    """Refuse models whose calls cannot be priced: a limit of money could not be kept.

    Raises:
        UserError: `price_unknown`, naming the setting for each such model.
    """
    unknown = sorted({target.label for target in targets.values() if not has_price(target)})
    if unknown:
        tables = ", ".join(f'[models.prices."{name}"]' for name in unknown)
        raise UserError(
            "price_unknown",
            f"No price is known for {', '.join(unknown)}: the dollar limit cannot be enforced.",
            next_step=f"State input and output in {tables}, or accept it with --accept-unknown-price.",
        )


def serve_in_turn(targets: Targets) -> bool:
    """True if models are likely to serve one call after the other: local ones, and those of such settings."""
    return bool(targets) and all(each.free or each.options.calls_at_once == 1 for each in targets.values())


async def check_servers(targets: Targets) -> None:
    """Look whether somebody listens at the address of each model. Raises `ModelSilent`."""
    for address, target in {target.base_url: target for target in targets.values() if target.base_url}.items():
        parts = urlsplit(address)
        host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
        proxy = find_proxy(parts.scheme, host, port)
        host, port = (proxy.host, proxy.port) if proxy else (host, port)
        try:
            async with asyncio.timeout(_CONNECT_SECONDS):
                _, writer = await asyncio.open_connection(host, port)
        except (OSError, TimeoutError):
            place = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
            raise ModelSilent.nobody_listens(target.label, place, local=target.free and proxy is None) from None
        writer.close()


def open_estimator(request: Request, profile: Profile, targets: Targets) -> Callable[[Plan], Estimate] | None:
    """Return what estimates the plans of a run, or None if none of its models costs anything."""
    prices = {target.label: find_price(target) for target in targets.values()}
    known = [price for price in prices.values() if price is not None]
    if len(known) == len(prices) and not any(price.input or price.output for price in known):
        return None
    limits = (request.get_option(name) for name in (RequestOption.ASK_ABOVE_USD, RequestOption.MAX_USD))
    ask_above, cap = (float(limit) if limit else None for limit in limits)
    cheapest = min(known, key=lambda price: price.output) if len(known) == len(prices) else None
    dearest = max(known, key=lambda price: price.output) if len(known) == len(prices) else None

    def estimate_plan(plan: Plan) -> Estimate:
        found = estimate_run(plan, derive_numbers(profile), cheapest, dearest)
        if found.high.dollars is not None and cap:
            capped = [replace(end, dollars=min(end.dollars or 0.0, cap)) for end in (found.low, found.high)]
            found = replace(found, low=capped[0], high=capped[1])
        return replace(
            found,
            models=tuple(sorted(prices)),
            unpriced=tuple(sorted(name for name, price in prices.items() if price is None)),
            ask_above=ask_above,
        )

    return estimate_plan


_HERE = ("localhost", "127.0.0.1", "::1")


def list_recipients(
    settings: Settings, request: Request, targets: Targets, providers: tuple[str, ...]
) -> tuple[str, ...]:
    """Say for each recipient of a run what it is sent; empty if all stays on this machine.

    Args:
        settings: addresses of providers, embedder and stores.
        request: the libraries, pages and deliveries of the run.
        targets: the models of the run.
        providers: the web search providers of the run.

    Raises:
        UserError: what leaves meets a proxy or certificates of the environment that cannot be used.
    """
    found = tuple(dict.fromkeys(_iter_recipients(settings, request, targets, providers)))
    if not found:
        return ()
    check_certificates()
    return (*found, *(f"the proxy {each} of the environment carries connections to others" for each in list_proxies()))


def _iter_recipients(
    settings: Settings, request: Request, targets: Targets, providers: tuple[str, ...]
) -> Iterator[str]:
    words = _describe_words(request)
    for name in providers:
        address = settings.provider_urls.get(name, "") or load_part("search", name).base_url
        address = address.replace("{language}", request.get_option(RequestOption.LANGUAGE).partition("-")[0] or "en")
        place = _host_of(address) if address else "a command of this machine"
        yield f"search provider {name} ({place}) gets queries{words}"
    if not settings.offline and (providers or request.sources):
        reader = "Firecrawl, which reads them, get" if settings.reader == "firecrawl" else "sites get"
        yield f"{reader} requests for pages that a search, a page or you named"
    if settings.allowed_endpoints and not settings.offline:
        named = ", ".join(settings.allowed_endpoints)
        yield f"sources.allowed_endpoints is on: pages at these private addresses may be read: {named}"
    private = ", private documents among them" if has_private_libraries(request) else ""
    for name, address in ((each.label, each.base_url) for each in targets.values()):
        if _leaves(address):
            yield f"model {name} ({_host_of(address)}) gets the question and every passage it reads{private}"
    if settings.embedder_url is not None and _leaves(settings.embedder_url):
        where = _host_of(settings.embedder_url)
        yield f"the embedder at {where} gets every text of the libraries and every search of them{private}"
    if settings.qdrant_url is not None and _leaves(settings.qdrant_url):
        yield f"the store of facts at {_host_of(settings.qdrant_url)} gets the facts of every run with their quotes"
    for name, target in request.output:
        if name != "folder":
            yield f"the {name} delivery ({target or 'as set'}) gets the finished report with its quotes"


def _describe_words(request: Request) -> str:
    if not has_private_libraries(request):
        return ""
    if request.get_option(RequestOption.ALLOW_EGRESS):
        return ", with words of private documents too (--allow-egress)"
    return " in words of the question, the plan, the web and the common language, none of private documents alone"


def _leaves(address: str) -> bool:
    return bool(address) and _host_of(address) not in _HERE


def _host_of(address: str) -> str:
    return urlsplit(address).hostname or address
