"""Settings: every setting declared once, with type, range, key, flag and meaning, and the values of one command.

Key, environment variable, command-line flag, help, error messages and the reference page all come from the declaration.
Does not read files, flags or the environment.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from types import MappingProxyType
from typing import Annotated, Any, Literal, get_args

from annotated_types import Ge, Gt, Le

from corrobora.config.values import (
    AngleCount,
    Dollars,
    FolderPath,
    Line,
    Lower,
    MailServer,
    Model,
    Names,
    Origin,
    RunMinutes,
    Secret,
    Url,
    iterate_marks,
    list_words,
)
from corrobora.domain.limits import CallOptions, Price
from corrobora.registry import key_variable, list_added, list_parts

Display = Literal["auto", "rich", "plain", "jsonl", "none"]
DISPLAYS: tuple[str, ...] = get_args(Display)
TIERS = ("lead", "worker", "fast", "judge")
_KEYS: Mapping[str, str] = {  # our name of a key: the vendor's own variable
    "anthropic": "ANTHROPIC_API_KEY",
    "openai": "OPENAI_API_KEY",
    "embedder": "EMBEDDER_API_KEY",
    "smtp": "SMTP_PASSWORD",
    "webhook": "WEBHOOK_SECRET",
    "qdrant": "QDRANT_API_KEY",
}
DATABASE_URL = "storage.database_url"  # a secret: it may carry a password
FREE_TABLES = ("profiles", "models.endpoints", "models.prices", "models.options")  # tables whose names users choose


@dataclass(frozen=True, slots=True)
class Setting:
    """The mark that makes a field of `Settings` a setting.

    Attributes:
        key: its name in files; one that ends in `*` is a table with the names in `names`.
        about: what it does; the text of help and reference.
        flags: its flags on the command line, with spaces between.
        metavar: how the flag's value is shown in help.
        folder: a file in a folder may set it without being trusted.
        report: every command that prints a report takes the flag, not only those that start a run.
        profile_field: the field of the profile that it overrides.
        names: returns the names in a table.
    """

    key: str
    about: str
    flags: str = ""
    metavar: str = ""
    folder: bool = False
    report: bool = False
    profile_field: str = ""
    names: Callable[[], tuple[str, ...]] | None = None


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An own model server, named by the user: `[models.endpoints.NAME]`."""

    name: str
    base_url: Url
    kind: Annotated[Literal["openai", "anthropic"], Lower] = "openai"  # the protocol it speaks
    api_key: Secret | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All settings of one command or process. `None` leaves a value to the profile or the assembly."""

    home: Annotated[FolderPath, Setting("home", "Data folder: database, runs and stored pages.")]
    profile: Annotated[
        Line,
        Setting(
            "profile",
            "Research method: the name of a profile, or a TOML file; see: corrobora profiles",
            "-p --profile",
            "NAME|FILE",
            folder=True,
        ),
    ] = "timed"
    minutes: Annotated[
        RunMinutes | None,
        Setting(
            "time",
            "Time limit of the run: minutes (5, 0.5), 90s, 5m, 2h, or unlimited.",
            "-t --time",
            "TIME|unlimited",
            folder=True,
            profile_field="minutes",
        ),
    ] = None
    deep: Annotated[
        bool,
        Setting(
            "deep",
            "Research more rounds: deep_rounds of the profile.",
            "--deep",
            folder=True,
            profile_field="deep",
        ),
    ] = False
    max_rounds: Annotated[
        Annotated[int, Ge(1), Le(100)] | None,
        Setting(
            "max_rounds",
            "Maximum number of rounds per thread.",
            "--max-rounds --max-iterations",
            "N",
            folder=True,
            profile_field="max_rounds",
        ),
    ] = None
    angles: Annotated[
        AngleCount | None,
        Setting(
            "angles",
            "At most N sub-agents (1 to 7), or as many as the question needs.",
            "--angles --agents",
            "N|dynamic",
            folder=True,
        ),
    ] = None
    strict: Annotated[
        bool,
        Setting(
            "strict",
            "Exit with 5 if the report is not complete, with 6 if nothing in it answers the question.",
            "--strict",
            folder=True,
            report=True,
        ),
    ] = False
    offline: Annotated[
        bool, Setting("offline", "Search libraries only: no web search, no pages.", "--offline", folder=True)
    ] = False
    display: Annotated[
        Annotated[Display, Lower],
        Setting(
            "display",
            "How progress is shown on stderr; jsonl writes the events to stdout.",
            "--display",
            folder=True,
            report=True,
        ),
    ] = "auto"
    language: Annotated[
        Line | None,
        Setting(
            "language",
            "Ask, search and report in this language, a tag or a file; else in that of the question.",
            "--language",
            "TAG|FILE",
        ),
    ] = None
    libraries: Annotated[
        Names,
        Setting("sources.libraries", "Search this library, folder or file.", "-l --library", "NAME|PATH", folder=True),
    ] = ()
    providers: Annotated[
        Names, Setting("sources.providers", "Search the web with this provider.", "--provider", "NAME")
    ] = ()
    refresh: Annotated[bool, Setting("sources.refresh", "Read changed files again.", "--refresh", folder=True)] = False
    allow_egress: Annotated[
        bool, Setting("sources.allow_egress", "Allow words of private documents in web queries.", "--allow-egress")
    ] = False
    show_queries: Annotated[
        bool, Setting("sources.show_queries", "Pause to show a round's web searches before sending.", "--show-queries")
    ] = False
    contact: Annotated[
        Line | None,
        Setting("sources.contact", "E-mail address that open sources such as Crossref ask for; sent to them alone."),
    ] = None
    reader: Annotated[
        Annotated[Literal["direct", "firecrawl"], Lower],
        Setting("sources.reader", "What fetches pages: this machine directly, or Firecrawl."),
    ] = "direct"
    provider_urls: Annotated[
        Mapping[str, Url],
        Setting(
            "sources.*_url",
            "Base URL of this provider if it is another than the public one, such as your own server.",
            names=partial(list_parts, "search"),
        ),
    ] = field(default_factory=dict[str, Url])
    provider_rates: Annotated[
        Mapping[str, Annotated[float, Gt(0), Le(1_000)]],
        Setting(
            "sources.*_rate",
            "Calls per second to this provider, over all workers.",
            names=partial(list_parts, "search"),
        ),
    ] = field(default_factory=dict[str, float])
    mcp_command: Annotated[Line | None, Setting("sources.mcp_command", "Command of the provider mcp's server.")] = None
    analysts: Annotated[Names, Setting("analysts", "Installed analysts to ask before all others, in this order.")] = ()
    allowed_endpoints: Annotated[
        Names,
        Setting(
            "sources.allowed_endpoints",
            "Private addresses and their names, each with its port, from which pages may be read.",
        ),
    ] = ()
    max_usd: Annotated[
        Dollars | None,
        Setting("limits.usd", "Cost limit of the run in US dollars; 0 makes only the plan.", "--max-cost", "USD"),
    ] = None
    accept_unknown_price: Annotated[
        bool,
        Setting(
            "limits.accept_unknown_price",
            "Allow models without a known price under a cost limit.",
            "--accept-unknown-price",
        ),
    ] = False
    ask_above_usd: Annotated[
        Dollars, Setting("limits.ask_above_usd", "Ask before a run whose estimate exceeds this many US dollars.")
    ] = 1.0
    max_tokens: Annotated[
        Annotated[int, Ge(1), Le(10**12)] | None,
        Setting("limits.tokens", "Token limit of the run.", "--max-tokens", "N"),
    ] = None
    max_searches: Annotated[
        Annotated[int, Ge(1), Le(10**6)] | None,
        Setting("limits.searches", "Search limit of the run.", "--max-searches", "N"),
    ] = None
    attempts: Annotated[
        Annotated[int, Ge(1), Le(10)] | None,
        Setting(
            "limits.attempts",
            "Attempts to answer one sub-question before it is given up.",
            folder=True,
            profile_field="attempts",
        ),
    ] = None
    min_score: Annotated[
        Annotated[float, Ge(0), Le(1)] | None,
        Setting(
            "verify.min_score",
            "Exit with 4 if the score of the report is below this.",
            "--min-score",
            "0..1",
            folder=True,
            report=True,
            profile_field="review.min_score",
        ),
    ] = None
    database_wait_seconds: Annotated[
        Annotated[float, Ge(1), Le(3_600)],
        Setting("storage.wait_seconds", "Seconds that a statement waits for a database connection."),
    ] = 120.0
    worker_concurrency: Annotated[
        Annotated[int, Ge(1), Le(10_000)],
        Setting("worker.concurrency", "Maximum number of concurrent runs of one worker."),
    ] = 16
    embedder_model: Annotated[
        Line | None, Setting("embedder.model", "Folder of an embedding model, or the name of a model at embedder.url.")
    ] = None
    embedder_url: Annotated[
        Url | None, Setting("embedder.url", "Address of an OpenAI-compatible embedding model; its key: keys.embedder.")
    ] = None
    smtp_server: Annotated[
        MailServer | None, Setting("delivery.smtp_server", "Mail server: smtps://HOST, or HOST:PORT with STARTTLS.")
    ] = None
    smtp_user: Annotated[Line | None, Setting("delivery.smtp_user", "User name at the mail server.")] = None
    smtp_from: Annotated[Line | None, Setting("delivery.smtp_from", "Sender of mailed reports.")] = None
    webhook_url: Annotated[
        Url | None, Setting("delivery.webhook_url", "Endpoint to which finished reports are sent, signed.")
    ] = None
    webhook_hosts: Annotated[
        Names,
        Setting(
            "delivery.webhook_hosts", "Hosts that a request may name for its webhook: HOST, HOST:PORT, or * for all."
        ),
    ] = ()
    delivery_wait_seconds: Annotated[
        Annotated[float, Ge(1), Le(600)],
        Setting("delivery.wait_seconds", "Seconds that a mail server or webhook may take for a report."),
    ] = 30.0
    channel_urls: Annotated[
        Mapping[str, Url],
        Setting("delivery.*_url", "Address of this delivery channel.", names=partial(list_added, "delivery")),
    ] = field(default_factory=dict[str, Url])
    qdrant_url: Annotated[
        Url | None, Setting("facts.qdrant_url", "Qdrant server that stores facts instead of the database.")
    ] = None
    models: Annotated[
        Mapping[str, Model],
        Setting("models.*", "Model of the roles of this tier, as provider:model.", names=partial(tuple, TIERS)),
    ] = field(default_factory=dict[str, Model])
    effort: Annotated[
        Mapping[str, Annotated[Literal["low", "medium", "high"], Lower]],
        Setting(
            "effort.*",
            "Reasoning effort of the models of this tier; an error for a model without this option.",
            names=partial(tuple, TIERS),
        ),
    ] = field(default_factory=dict[str, Literal["low", "medium", "high"]])
    endpoints: Mapping[str, Endpoint] = field(default_factory=dict[str, Endpoint])
    prices: Mapping[str, Price] = field(default_factory=dict[str, Price])
    options: Mapping[str, CallOptions] = field(default_factory=dict[str, CallOptions])
    keys: Mapping[str, Secret] = field(default_factory=dict[str, Secret])  # every known vendor has one, set or not
    database_url: Secret | None = None  # None: the embedded database
    profiles: Mapping[str, Mapping[str, object]] = field(default_factory=dict[str, Mapping[str, object]])  # as written
    origins: Mapping[str, Origin] = field(default_factory=dict[str, Origin])  # key -> where its value was written
    notes: tuple[str, ...] = ()  # what was repaired, ignored or should be changed, for people

    def key(self, vendor: str) -> Secret:
        """Return the key of a vendor; one that is not set says so when it is revealed."""
        return self.keys.get(vendor) or Secret(f"keys.{vendor}", problem=f"No key is known for {vendor}")


@dataclass(frozen=True, slots=True)
class DeclaredSetting:
    """One setting as it was declared; each name in a table is one of its own."""

    key: str
    attribute: str  # the field of `Settings`
    name: str  # its name in a table, or ""
    annotation: Any
    default: Any
    mark: Setting

    @property
    def variable(self) -> str:
        return "CORROBORA_" + self.key.upper().replace(".", "_")

    @property
    def parameter(self) -> str:
        return next(flag for flag in self.mark.flags.split() if flag.startswith("--"))[2:].replace("-", "_")

    @property
    def metavar(self) -> str:
        """How its flag's value is shown in help."""
        return self.mark.metavar or "|".join(list_words(self.annotation))

    def read(self, settings: Settings) -> Any:
        """Return its value in some settings; None for a name of a table that is not set."""
        value = getattr(settings, self.attribute)
        return value.get(self.name) if self.name else value


@cache
def list_settings() -> Mapping[str, DeclaredSetting]:
    """Return all settings by key, in the order of their declaration; secrets and free tables are apart."""
    defaults = {each.name: each.default for each in dataclasses.fields(Settings)}
    found: dict[str, DeclaredSetting] = {}
    for attribute, annotation, mark in iterate_marks(Settings, Setting):
        for name in mark.names() if mark.names else ("",):
            key = mark.key.replace("*", name)
            kind = get_args(get_args(annotation)[0])[1] if name else annotation
            default = None if name or defaults[attribute] is dataclasses.MISSING else defaults[attribute]
            found[key] = DeclaredSetting(key, attribute, name, kind, default, mark)
    return MappingProxyType(found)


@cache
def list_keys() -> Mapping[str, str]:
    """Return the names of all keys with their environment variables, those of parts that packages add included."""
    parts = (*list_parts("search"), *list_added("delivery"), *list_added("embedders"))
    return MappingProxyType({**_KEYS, **{name: key_variable(name) for name in parts if name not in _KEYS}})


@cache
def list_secrets() -> Mapping[str, str]:
    """Return the keys of the settings whose values are secrets, with their environment variables."""
    keys = {f"keys.{name}": variable for name, variable in list_keys().items()}
    return MappingProxyType({DATABASE_URL: "CORROBORA_DATABASE_URL", **keys})


def is_secret(key: str) -> bool:
    """True for a setting whose value may never be shown."""
    return key in list_secrets() or (key.startswith("models.endpoints.") and key.endswith(".api_key"))
