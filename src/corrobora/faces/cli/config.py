"""`corrobora config`: every setting with its value and where it was written.

Knows how settings are shown, secrets never. Does not change them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import click

from corrobora.config import Settings, find_user_file
from corrobora.config.settings import DATABASE_URL, list_settings
from corrobora.faces.cli.options import config_option, json_option, open_settings, print_json
from corrobora.faces.cli.terminal import one_line


@click.group()
def config() -> None:
    """Show the settings and where they come from."""


@config.command()
@click.option("--origin", is_flag=True, help="Show where each value was written.")
@json_option
@config_option
def show(*, origin: bool, as_json: bool, config_file: Path | None) -> None:
    """Print every setting. Secrets are shown as references, never as values."""
    settings = open_settings(config_file, untrusted="ignore")
    rows = list(_list_rows(settings))
    if as_json:
        print_json([{"name": name, "value": value, "origin": where} for name, value, where in rows])
        return
    for name, value, where in rows:
        click.echo(f"{name} = {value}" + (f"    # {where}" if origin else ""))


@config.command()
def path() -> None:
    """Print where the user's configuration file is looked for."""
    click.echo(str(find_user_file()))


def _list_rows(settings: Settings) -> Iterator[tuple[str, str, str]]:
    """Yield (key, value as shown, origin) of every setting and of what the user added to the free tables."""
    declared = list_settings()
    for key, origin in settings.origins.items():
        value = declared[key].read(settings) if key in declared else _find_value(settings, key)
        yield key, one_line(_show_value(value)), one_line(str(origin), 300)


def _show_value(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(cast("tuple[str, ...]", value)) or "-"
    return "-" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _find_value(settings: Settings, key: str) -> Any:
    """Return the value of a secret, of an own profile, or of a part of an endpoint or of a price."""
    head, _, rest = key.partition(".")
    own, _, part = rest.partition(".")[2].rpartition(".")
    if key == DATABASE_URL:
        return settings.database_url
    match head, rest.partition(".")[0]:
        case "keys", _:
            return settings.key(rest)
        case "profiles", _:
            return f"a profile of your own ({len(settings.profiles[rest])} fields)"
        case _, "endpoints":
            return getattr(settings.endpoints[own], part)
        case _:
            return getattr(settings.prices[own], part)
