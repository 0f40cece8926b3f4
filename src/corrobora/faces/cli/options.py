"""Options that several commands share: where settings come from, and how a command opens them.

Knows `--config`, `--json` and the notes that loading settings gives. Does not know commands.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

from corrobora.faces.cli.failure import say
from corrobora.faces.cli.terminal import safe
from corrobora.settings import Settings, load_settings

F = TypeVar("F", bound=Callable[..., Any])

config_option = click.option(
    "--config",
    "config_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Read this configuration file in place of the project's.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document on stdout.")


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
