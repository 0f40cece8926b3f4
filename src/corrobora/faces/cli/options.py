"""Options that several commands share: what is searched and how, where settings come from.

Knows `--library`, `--profile`, `--config`, `--json` and the notes that loading settings gives. Does not know commands.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

from corrobora.config import Settings, load_settings
from corrobora.faces.cli.completion import libraries, profiles, providers
from corrobora.faces.cli.failure import say
from corrobora.faces.cli.terminal import safe

F = TypeVar("F", bound=Callable[..., Any])

config_option = click.option(
    "--config",
    "config_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Read this configuration file in place of the project's.",
)
library_option = click.option(
    "-l",
    "--library",
    multiple=True,
    shell_complete=libraries,
    metavar="NAME|PATH",
    help="Search this library, folder or file.",
)
provider_option = click.option(
    "--provider",
    multiple=True,
    shell_complete=providers,
    metavar="NAME",
    help="Search the web with this provider.",
)
model_option = click.option(
    "-m", "--model", multiple=True, metavar="[TIER=]PROVIDER:MODEL", help="Tiers: lead, worker, fast, judge."
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document on stdout.")


def profile_option(*, default: str | None = None) -> Callable[[F], F]:
    """Return `--profile` for a command that has a method of its own as `default`, or takes that of the settings."""
    return click.option(
        "-p",
        "--profile",
        default=default,
        show_default=default is not None,
        shell_complete=profiles,
        metavar="NAME|FILE",
        help="How to research; see: corrobora profiles",
    )


def open_settings(config_file: Path | None, flags: Mapping[str, tuple[object, str]] | None = None) -> Settings:
    """Load settings and say each of their notes once on stderr. Raises `UserError`."""
    settings = load_settings(flags, config=config_file)
    for note in settings.notes:
        say(f"Note: {note}" + ("" if note.endswith("?") else "."))
    return settings


def print_json(value: object) -> None:
    """Print one JSON document on stdout."""
    click.echo(json.dumps(value, indent=2, default=str))


def print_text(text: str) -> None:
    """Print text on stdout without anything that a terminal would obey."""
    sys.stdout.write(safe(text).rstrip("\n") + "\n")
