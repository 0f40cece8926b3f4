"""The table of settings: name, kind, default, environment variables, meaning.

Knows every setting that exists. Does not read files, flags or the environment.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from corrobora.settings import kinds
from corrobora.settings.kinds import Dynamic, Kind, Unlimited

T_co = TypeVar("T_co", covariant=True)

TIERS = ("lead", "worker", "fast", "judge")
DISPLAYS = ("auto", "rich", "plain", "jsonl", "none")
READERS = ("direct", "firecrawl")  # who fetches pages
WEB_PROVIDERS = ("tavily", "exa", "firecrawl")  # names that `--provider` takes; each comes with its adapter
SECRETS = {  # our name of a key: the vendor's own variable
    "anthropic": "ANTHROPIC_API_KEY",
    "openai": "OPENAI_API_KEY",
    "tavily": "TAVILY_API_KEY",
    "exa": "EXA_API_KEY",
    "firecrawl": "FIRECRAWL_API_KEY",
    "smtp": "SMTP_PASSWORD",
    "webhook": "WEBHOOK_SECRET",
    "qdrant": "QDRANT_API_KEY",
}
OPERATOR_ONLY = frozenset(  # a cloned folder could send keys elsewhere, or open the network of this machine
    {
        *("sources.tavily_url", "sources.exa_url", "sources.firecrawl_url", "sources.allowed_endpoints"),
        *("delivery.smtp_server", "delivery.webhook_url", "facts.qdrant_url"),
    }
)
DATABASE_URL = "storage.database_url"  # a secret: it may carry a password
FREE_TABLES = ("profiles", "models.endpoints", "models.prices")  # tables whose names users choose


@dataclass(frozen=True, slots=True)
class Key(Generic[T_co]):
    """One setting. Its own variable is `CORROBORA_` and its name in capitals; `env` names another one."""

    name: str
    kind: Kind[T_co]
    default: T_co
    about: str
    env: str = ""

    @property
    def variable(self) -> str:
        """The environment variable that sets it."""
        return self.env or "CORROBORA_" + self.name.upper().replace(".", "_")


def _path(given: object) -> Path:
    return Path(kinds.text(given)).expanduser()


HOME: Key[Path | None] = Key("home", _path, None, "folder of the data: database, runs, snapshots")
PROFILE: Key[str] = Key("profile", kinds.text, "timed", "how to research: a preset or a profile of your own")
TIME: Key[float | Unlimited | None] = Key("time", kinds.minutes, None, "minutes for a run, or unlimited")
DEEP: Key[bool] = Key("deep", kinds.boolean, default=False, about="more rounds: the profile's deep_rounds")
MAX_ROUNDS: Key[int | None] = Key("max_rounds", kinds.optional(kinds.integer(1, 100)), None, "rounds per thread")
ANGLES: Key[int | Dynamic | None] = Key("angles", kinds.angles, None, "sub-agents: 1 to 7, or dynamic")
STRICT: Key[bool] = Key("strict", kinds.boolean, default=False, about="exit 5 if gaps remain or a limit fired")
OFFLINE: Key[bool] = Key("offline", kinds.boolean, default=False, about="libraries only: no web search, no pages")
DISPLAY: Key[str] = Key("display", kinds.choice(*DISPLAYS), "auto", "how progress is shown")
LIBRARIES: Key[tuple[str, ...]] = Key("sources.libraries", kinds.names, (), "libraries searched by every run")
PROVIDERS: Key[tuple[str, ...]] = Key("sources.providers", kinds.names, (), "web search providers, in order")
READER: Key[str] = Key("sources.reader", kinds.choice(*READERS), "direct", "who fetches pages: direct or firecrawl")
TAVILY_URL: Key[str | None] = Key("sources.tavily_url", kinds.optional(kinds.url), None, "another address for Tavily")
EXA_URL: Key[str | None] = Key("sources.exa_url", kinds.optional(kinds.url), None, "another address for Exa")
FIRECRAWL_URL: Key[str | None] = Key(
    "sources.firecrawl_url", kinds.optional(kinds.url), None, "another address for Firecrawl, such as your own server"
)
ALLOWED: Key[tuple[str, ...]] = Key(
    "sources.allowed_endpoints", kinds.names, (), "private addresses with port that pages may be read from"
)
USD: Key[float | None] = Key(
    "limits.usd",
    kinds.optional(kinds.number(0.01, 100_000, zero=True)),
    None,
    "US dollars a run may cost; 0: plan only",
)
UNKNOWN_PRICE: Key[bool] = Key(
    "limits.accept_unknown_price",
    kinds.boolean,
    default=False,
    about="let a run with a limit of dollars use models without a known price",
)
TOKENS: Key[int | None] = Key("limits.tokens", kinds.optional(kinds.integer(1, 10**12)), None, "tokens a run may use")
SEARCHES: Key[int | None] = Key(
    "limits.searches", kinds.optional(kinds.integer(1, 10**6)), None, "searches a run may do"
)
ATTEMPTS: Key[int | None] = Key("limits.attempts", kinds.optional(kinds.integer(1, 20)), None, "attempts per target")
MIN_SCORE: Key[float | None] = Key(
    "verify.min_score", kinds.optional(kinds.number(0, 1)), None, "a judged score below it gives exit 4"
)
DATABASE_WAIT: Key[float] = Key(
    "storage.wait_seconds", kinds.number(1, 3_600), 120.0, "seconds a statement waits for a connection of the database"
)
CONCURRENCY: Key[int] = Key("worker.concurrency", kinds.integer(1, 10_000), 16, "runs at once in one worker")
EMBED_MODEL: Key[str | None] = Key(
    "embedder.model", kinds.optional(kinds.text), None, "model folder, or a model's name"
)
EMBED_URL: Key[str | None] = Key("embedder.url", kinds.optional(kinds.url), None, "OpenAI-compatible address")
SMTP_SERVER: Key[str | None] = Key(
    "delivery.smtp_server", kinds.optional(kinds.mail_server), None, "mail server: smtps://HOST, HOST:PORT (STARTTLS)"
)
SMTP_USER: Key[str | None] = Key("delivery.smtp_user", kinds.optional(kinds.text), None, "user of the mail server")
SMTP_FROM: Key[str | None] = Key("delivery.smtp_from", kinds.optional(kinds.text), None, "sender of reports by mail")
WEBHOOK_URL: Key[str | None] = Key(
    "delivery.webhook_url", kinds.optional(kinds.url), None, "endpoint that gets finished reports, signed"
)
QDRANT_URL: Key[str | None] = Key(
    "facts.qdrant_url", kinds.optional(kinds.url), None, "Qdrant server that keeps facts, in place of the database"
)
MODELS: tuple[Key[str | None], ...] = tuple(
    Key(f"models.{tier}", kinds.optional(kinds.model), None, f"provider:model for the {tier} tier") for tier in TIERS
)

KEYS: tuple[Key[object], ...] = (
    HOME,
    PROFILE,
    TIME,
    DEEP,
    MAX_ROUNDS,
    ANGLES,
    STRICT,
    OFFLINE,
    DISPLAY,
    LIBRARIES,
    PROVIDERS,
    READER,
    TAVILY_URL,
    EXA_URL,
    FIRECRAWL_URL,
    ALLOWED,
    USD,
    UNKNOWN_PRICE,
    TOKENS,
    SEARCHES,
    ATTEMPTS,
    MIN_SCORE,
    DATABASE_WAIT,
    CONCURRENCY,
    EMBED_MODEL,
    EMBED_URL,
    SMTP_SERVER,
    SMTP_USER,
    SMTP_FROM,
    WEBHOOK_URL,
    QDRANT_URL,
    *MODELS,
)  # fmt: skip - one table, read as one


def secret_names() -> Iterator[str]:
    """Yield the names of the settings whose values are secrets."""
    yield DATABASE_URL
    yield from (f"keys.{name}" for name in SECRETS)


def is_secret(name: str) -> bool:
    """True for a setting whose value may never be shown."""
    return name in set(secret_names()) or (name.startswith("models.endpoints.") and name.endswith(".api_key"))
