"""Options that several commands share: the flags of settings, where settings come from, how results are printed.

Knows how a declared setting becomes a flag, and the notes that loading settings gives. Does not know commands.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar

import click

from corrobora.config import Settings, load_settings
from corrobora.config.settings import Declared, list_settings
from corrobora.config.values import split_annotation
from corrobora.faces.cli.completion import displays, libraries, profiles, providers
from corrobora.faces.cli.failure import say
from corrobora.faces.cli.terminal import safe

F = TypeVar("F", bound=Callable[..., Any])
_COMPLETIONS = {"profile": profiles, "libraries": libraries, "providers": providers, "display": displays}

config_option = click.option(
    "--config",
    "config_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Read this configuration file in place of the project's.",
)
model_option = click.option(
    "-m", "--model", multiple=True, metavar="[TIER=]PROVIDER:MODEL", help="Tiers: lead, worker, fast, judge."
)
fields_option = click.option("-s", "fields", multiple=True, metavar="FIELD=VALUE", help="Set one field of the profile.")
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document on stdout.")


def list_flags(*, report: bool | None = None) -> dict[str, Declared]:
    """Return the settings that have a flag, by attribute: all, those of every report, or those of a new run alone."""
    declared = [each for each in list_settings().values() if each.mark.flags]
    return {each.attribute: each for each in declared if report is None or each.mark.report is report}


def setting_options(*attributes: str, **defaults: str) -> Callable[[F], F]:
    """Return a decorator that adds the flags of settings to a command; a command may have a default of its own."""
    flags = list_flags()

    def add_options(command: F) -> F:
        for attribute in reversed((*attributes, *defaults)):
            command = _make_option(flags[attribute], defaults.get(attribute))(command)
        return command

    return add_options


def _make_option(declared: Declared, default: str | None) -> Callable[[F], F]:
    kind, _ = split_annotation(declared.annotation)
    shape: dict[str, Any] = {"metavar": declared.metavar, "multiple": isinstance(declared.default, tuple)}
    if kind is bool:
        shape = {"is_flag": True}
    if default is not None:
        shape |= {"default": default, "show_default": True}
    return click.option(
        *declared.mark.flags.split(),
        help=declared.mark.about,
        shell_complete=_COMPLETIONS.get(declared.attribute),
        **shape,
    )


def read_setting_flags(flags: Mapping[str, object]) -> dict[str, tuple[object, str]]:
    """Return the flags that are settings and were written, by key: the value, and the flag as it is called."""
    found: dict[str, tuple[object, str]] = {}
    for declared in list_flags().values():
        value = flags.get(declared.parameter)
        if value is not None and value is not False and value != ():
            found[declared.key] = (value, f"--{declared.parameter.replace('_', '-')}")
    return found


def open_settings(
    config_file: Path | None,
    flags: Mapping[str, tuple[object, str]] | None = None,
    *,
    untrusted: Literal["refuse", "ignore"] = "refuse",
) -> Settings:
    """Load settings and say each of their notes once on stderr. Raises `UserError`."""
    settings = load_settings(flags, config=config_file, untrusted=untrusted)
    for note in settings.notes:
        say(f"Note: {note}" + ("" if note.endswith("?") else "."))
    return settings


def print_json(value: object) -> None:
    """Print one JSON document on stdout."""
    click.echo(json.dumps(value, indent=2, default=str))


def print_text(text: str) -> None:
    """Print text on stdout without anything that a terminal would obey."""
    sys.stdout.write(safe(text).rstrip("\n") + "\n")
