"""`corrobora config` and `corrobora profiles`: every setting with its origin, every research method with its fields.

Knows how they are shown, secrets never. Does not change or resolve them: `corrobora.config` does.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import click

from corrobora.config import Settings, find_user_file, list_presets, load_profile, resolve_profile
from corrobora.config.settings import DATABASE_URL, list_settings
from corrobora.faces.cli.options import config_option, json_option, open_settings, print_json
from corrobora.faces.cli.terminal import one_line
from corrobora.policies.profile import dump_profile


@click.group()
def config() -> None:
    """Show the settings and where they come from."""


@config.command(name="show")
@click.option("--origin", is_flag=True, help="Show where each value was written.")
@json_option
@config_option
def show_settings(*, origin: bool, as_json: bool, config_file: Path | None) -> None:
    """Print every setting. Secrets are shown as references, never as values."""
    settings = open_settings(config_file, untrusted="ignore")
    rows = list(_setting_rows(settings))
    if as_json:
        print_json([{"name": name, "value": value, "origin": where} for name, value, where in rows])
        return
    for name, value, where in rows:
        click.echo(f"{name} = {value}" + (f"    # {where}" if origin else ""))


@config.command(name="path")
def show_config_path() -> None:
    """Print where the user's configuration file is looked for."""
    click.echo(str(find_user_file()))


def _setting_rows(settings: Settings) -> Iterator[tuple[str, str, str]]:
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


@click.group(invoke_without_command=True)
@click.pass_context
def profiles(context: click.Context) -> None:
    """List the profiles: how a question is researched."""
    if context.invoked_subcommand is None:
        context.invoke(list_profiles)


@profiles.command(name="list")
@json_option
@config_option
def list_profiles(*, as_json: bool = False, config_file: Path | None = None) -> None:
    """List the profiles with what each is for."""
    settings = open_settings(config_file, untrusted="ignore")
    found = {name: load_profile(name).summary for name in list_presets()}
    found |= dict.fromkeys(settings.profiles, "your own")
    if as_json:
        print_json(found)
        return
    for name, summary in found.items():
        mark = "*" if name == settings.profile else " "
        click.echo(f"{mark} {name:<10} {one_line(summary, 160)}")


@profiles.command(name="show")
@click.argument("name")
@json_option
@config_option
def show_profile(*, name: str, as_json: bool, config_file: Path | None) -> None:
    """Show every field of a profile; each can be set with -s FIELD=VALUE."""
    settings = open_settings(config_file, untrusted="ignore")
    fields = dump_profile(load_profile(*resolve_profile(settings, name)))
    if as_json:
        print_json(fields)
        return
    for field, value in fields.items():
        click.echo(f"{field} = {one_line(json.dumps(value, ensure_ascii=False), 1_000)}")
