"""Models: from settings and a request's wishes to a language-model analyst, shared by all runs of a process.

Knows settings, own endpoints, keys and prices. Connections and the gates that bound them are made once and kept.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import replace

from corrobora.adapters.models.analyst import LanguageModelAnalyst
from corrobora.adapters.models.connect import TIERS, Price, Target, Tier, parse_target, targets
from corrobora.adapters.models.connection import Connection
from corrobora.adapters.models.metering import has_price
from corrobora.adapters.models.pacing import Gate
from corrobora.config import Settings
from corrobora.domain.errors import UserError

_VENDOR_KEYS = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}


class ModelPool:
    """The model connections of one process. `analyst` returns None where no model is named."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._gates: dict[tuple[str, str], Gate] = {}
        self._connections: dict[Target, Connection] = {}
        self._analysts: dict[tuple[tuple[str, Target], ...], LanguageModelAnalyst] = {}

    def get_analyst(self, wishes: Mapping[str, str], *, thinking: bool = False) -> LanguageModelAnalyst | None:
        """Return the analyst for these wishes (tier -> "provider:model"), or None.

        Raises:
            UserError: a provider, address or key is missing; the message names the setting.
        """
        chosen = self._resolve_targets(wishes, thinking=thinking)
        if not chosen:
            return None
        name = tuple(sorted(chosen.items()))
        if name not in self._analysts:
            self._analysts[name] = LanguageModelAnalyst({tier: self._get_connection(t) for tier, t in chosen.items()})
        return self._analysts[name]

    def check_prices(self, wishes: Mapping[str, str], *, thinking: bool = False) -> None:
        """Refuse a model whose calls cannot be priced: a limit of money could not be kept (BUDGET-3; bad-input C16).

        Raises:
            UserError: `price_unknown`, naming the setting for each such model; or as `analyst`.
        """
        chosen = self._resolve_targets(wishes, thinking=thinking)
        names = {self._price_name(wishes, tier, target): target for tier, target in chosen.items()}
        unknown = sorted(name for name, target in names.items() if not has_price(target))
        if unknown:
            tables = ", ".join(f'[models.prices."{name}"]' for name in unknown)
            raise UserError(
                "price_unknown",
                f"No price is known for {', '.join(unknown)}: the limit of dollars cannot be kept.",
                next_step=f"State input and output in {tables}, or accept it with --accept-unknown-price.",
            )

    async def close(self) -> None:
        """Close all connections."""
        for connection in self._connections.values():
            await connection.aclose()

    def _resolve_targets(self, wishes: Mapping[str, str], *, thinking: bool) -> dict[Tier, Target]:
        env = dict(os.environ)
        for vendor, name in _VENDOR_KEYS.items():
            secret = self._settings.key(vendor)
            if secret.set:
                env[name] = secret.reveal()
        own = {tier: self._own_target(wishes[tier]) for tier in TIERS if self._is_own(wishes.get(tier, ""))}
        named = {tier: text for tier, text in wishes.items() if tier not in own}
        found = targets(named, env, lead_thinking=thinking) if named or not own else {}
        if own:
            some = own.get("worker") or next(iter(own.values()))
            found = {tier: own.get(tier) or found.get(tier) or some for tier in TIERS}
            if thinking:
                found["lead"] = replace(found["lead"], thinking=True)
        return {tier: self._with_price(wishes, tier, found[tier]) for tier in TIERS if tier in found}

    def _is_own(self, text: str) -> bool:
        return text.partition(":")[0] in self._settings.endpoints

    def _own_target(self, text: str) -> Target:
        """A model at an endpoint of the user's own, with the key that stands beside it and no vendor's."""
        name, _, model = text.partition(":")
        endpoint = self._settings.endpoints[name]
        key = endpoint.api_key.reveal() if endpoint.api_key else ""
        provider = "anthropic" if endpoint.kind == "anthropic" else "openai-compatible"
        return parse_target(f"{provider}:{model}", {}, base_url=endpoint.base_url, key=key)

    def _price_name(self, wishes: Mapping[str, str], tier: Tier, target: Target) -> str:
        """Name a model as its price is written: an endpoint of the user's own by its own name."""
        texts = (wishes.get(tier, ""), *wishes.values())
        own = (text for text in texts if self._is_own(text) and self._endpoint_url(text) == target.base_url)
        return next((text for text in own if text.partition(":")[2] == target.model), target.id)

    def _endpoint_url(self, text: str) -> str:
        return self._settings.endpoints[text.partition(":")[0]].base_url.rstrip("/")

    def _with_price(self, wishes: Mapping[str, str], tier: Tier, target: Target) -> Target:
        prices = self._settings.prices
        price = prices.get(self._price_name(wishes, tier, target)) or prices.get(target.id)
        return target if price is None else replace(target, price=Price(price.input, price.output))

    def _get_connection(self, target: Target) -> Connection:
        if target not in self._connections:
            account = (target.base_url, hashlib.sha256(target.key.encode()).hexdigest())  # limits are of a key
            gate = self._gates.setdefault(account, Gate(target.base_url))
            self._connections[target] = Connection(target, gate)
        return self._connections[target]
