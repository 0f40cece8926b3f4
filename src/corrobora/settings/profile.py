"""Profiles of the user's own: `[profiles.NAME]` tables, as a base and what they change in it.

Knows how a table flattens to fields. Does not know which fields exist: loading the profile checks them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from corrobora.settings.values import Settings

Overrides = tuple[tuple[str, str], ...]


def profile_of(settings: Settings, name: str | None = None) -> tuple[str, Overrides]:
    """Return the preset or file to start from, and what a profile of the user's own changes in it.

    A profile of the configuration is stored with the run as its base and its changes, and a file by its absolute path,
    so that a run can be resumed from another folder and by another machine. A table may be the base of another.
    """
    name = name or settings.profile
    changes: Overrides = ()
    seen: set[str] = set()
    while name in settings.profiles and name not in seen:  # a table of a preset's name starts from the preset
        seen.add(name)
        own = settings.profiles[name]
        changes = (*_flat(own), *changes)
        name = str(own.get("base", "timed"))
    is_file = name.endswith(".toml") or "/" in name
    return (str(Path(name).expanduser().absolute()) if is_file else name), changes


def _flat(own: Mapping[str, object]) -> Overrides:
    flat: dict[str, object] = {}
    for field, value in own.items():
        if isinstance(value, dict):
            flat |= {f"{field}.{part}": inner for part, inner in cast("dict[str, object]", value).items()}
        elif field != "base":
            flat[field] = value
    return tuple((field, _toml(value)) for field, value in flat.items())


def _toml(value: object) -> str:
    """Write a value in one line of TOML."""
    if isinstance(value, dict):
        table = cast("dict[str, object]", value)
        return "{" + ", ".join(f"{_toml(name)} = {_toml(inner)}" for name, inner in table.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, cast("list[object]", value))) + "]"
    return json.dumps(value, default=str, ensure_ascii=False).replace("\x7f", "\\u007f")
