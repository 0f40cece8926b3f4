"""`corrobora config`: every setting with its value and where it was written.

Knows how settings are shown, secrets never. Does not change them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import cast

import click

from corrobora.config import Secret, Settings, find_user_file
from corrobora.faces.cli.options import config_option, json_option, open_settings, print_json
from corrobora.faces.cli.terminal import one_line

_FIELDS = {  # dotted name: attribute of `Settings`
    "home": "home",
    "profile": "profile",
    "time": "minutes",
    "deep": "deep",
    "max_rounds": "max_rounds",
    "angles": "angles",
    "strict": "strict",
    "offline": "offline",
    "display": "display",
    "sources.libraries": "libraries",
    "sources.providers": "providers",
    "sources.reader": "reader",
    "sources.allowed_endpoints": "allowed_endpoints",
    "delivery.smtp_server": "smtp_server",
    "delivery.smtp_user": "smtp_user",
    "delivery.smtp_from": "smtp_from",
    "delivery.webhook_url": "webhook_url",
    "facts.qdrant_url": "qdrant_url",
    "limits.usd": "max_usd",
    "limits.accept_unknown_price": "accept_unknown_price",
    "limits.tokens": "max_tokens",
    "limits.searches": "max_searches",
    "limits.attempts": "attempts",
    "verify.min_score": "min_score",
    "worker.concurrency": "worker_concurrency",
    "storage.wait_seconds": "database_wait_seconds",
    "embedder.model": "embedder_model",
    "embedder.url": "embedder_url",
}


@click.group()
def config() -> None:
    """Show the settings and where they come from."""


@config.command()
@click.option("--origin", is_flag=True, help="Show where each value was written.")
@json_option
@config_option
def show(*, origin: bool, as_json: bool, config_file: Path | None) -> None:
    """Print every setting. Secrets are shown as references, never as values."""
    settings = open_settings(config_file)
    rows = list(_rows(settings))
    if as_json:
        print_json([{"name": name, "value": value, "origin": where} for name, value, where in rows])
        return
    for name, value, where in rows:
        click.echo(f"{name} = {value}" + (f"    # {where}" if origin else ""))


@config.command()
def path() -> None:
    """Print where the user's configuration file is looked for."""
    click.echo(str(find_user_file()))


def _rows(settings: Settings) -> Iterator[tuple[str, str, str]]:
    """Yield (name, value as shown, origin) of every known setting and of what the user added."""
    for name, origin in settings.origins.items():
        if name not in _FIELDS and not _added(name) and origin.layer == "default" and not name.startswith("keys."):
            continue
        yield name, one_line(_value(settings, name)), one_line(str(origin), 300)


def _added(name: str) -> bool:
    return name.startswith(("profiles.", "models."))


def _value(settings: Settings, name: str) -> str:
    if name in _FIELDS:
        value = getattr(settings, _FIELDS[name])
        if isinstance(value, tuple):
            return ", ".join(cast("tuple[str, ...]", value)) or "-"
        return "-" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
    head, _, rest = name.partition(".")
    match head:
        case "sources":
            return settings.provider_urls.get(rest.removesuffix("_url"), "-")
        case "keys":
            return str(settings.key(rest))
        case "storage":
            return _secret(settings.database_url)
        case "profiles":
            return f"a profile of your own ({len(settings.profiles[rest])} fields)"
        case _:
            return _of_models(settings, rest)


def _of_models(settings: Settings, name: str) -> str:
    """Return the value of `models.NAME`: a tier, a part of an endpoint, a part of a price."""
    table, _, rest = name.partition(".")
    own, _, part = rest.rpartition(".")
    if table == "endpoints":
        found = settings.endpoints[own]
        return _secret(found.api_key) if part == "api_key" else str(getattr(found, part))
    if table == "prices":
        return str(getattr(settings.prices[own], part))
    return settings.models.get(name, "-")


def _secret(secret: Secret | None) -> str:
    return "-" if secret is None else str(secret)
