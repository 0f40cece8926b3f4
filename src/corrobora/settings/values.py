"""Settings: what the product was told, checked, with the origin of every value.

Knows typed values and where they were written. Does not read anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from corrobora.settings.kinds import Dynamic, Unlimited
from corrobora.settings.secrets import Secret


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An own model server, named by the user: `[models.endpoints.NAME]`."""

    name: str
    base_url: str
    kind: str = "openai"  # the protocol it speaks: openai or anthropic
    api_key: Secret | None = None


@dataclass(frozen=True, slots=True)
class Price:
    """What a model costs, in US dollars for a million tokens: `[models.prices."provider:model"]`."""

    input: float
    output: float
    cached: float | None = None


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a value was written: the layer, and the flag, variable or file with its line."""

    layer: str  # flag | environment | vendor environment | project file | user file | default
    where: str = ""

    def __str__(self) -> str:
        return f"{self.layer} ({self.where})" if self.where else self.layer


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings of one command or process. `None` leaves a value to the profile or the assembly."""

    home: Path
    profile: str
    minutes: float | Unlimited | None
    deep: bool
    max_rounds: int | None
    angles: int | Dynamic | None
    strict: bool
    offline: bool
    display: str
    libraries: tuple[str, ...]
    providers: tuple[str, ...]
    max_usd: float | None
    max_tokens: int | None
    max_searches: int | None
    attempts: int | None
    min_score: float | None
    worker_concurrency: int
    embedder_model: str | None
    embedder_url: str | None
    models: Mapping[str, str]  # tier (lead, worker, fast, judge) -> provider:model
    endpoints: Mapping[str, Endpoint]
    prices: Mapping[str, Price]
    keys: Mapping[str, Secret]  # vendor -> key; every known vendor has an entry, set or not
    database_url: Secret | None  # None: the embedded database
    profiles: Mapping[str, Mapping[str, object]]  # the user's own profiles, as written
    origins: Mapping[str, Origin]  # dotted name -> where its value was written
    notes: tuple[str, ...] = ()  # what was repaired or should be changed, for people
    provider_urls: Mapping[str, str] = field(default_factory=dict[str, str])  # search provider -> another address
    allowed_endpoints: tuple[str, ...] = ()  # private "ADDRESS:PORT" that pages may be read from
    smtp_server: str | None = None
    smtp_user: str | None = None
    smtp_from: str | None = None
    webhook_url: str | None = None
    database_wait_seconds: float = 120.0
    qdrant_url: str | None = None
    # a limit of dollars may stand beside models without a known price (bad-input C16)
    accept_unknown_price: bool = False
    reader: str = "direct"  # who fetches pages: direct, or firecrawl

    def key(self, vendor: str) -> Secret:
        """Return the key of a vendor; one that is not set says so when it is revealed."""
        return self.keys.get(vendor) or Secret(f"keys.{vendor}", problem=f"No key is known for {vendor}")
