"""Layers of settings: flags, environment, project file, user file, each flattened to dotted names.

Knows where each layer lies, how TOML and variables become names, and that unknown names are refused. Does not merge.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Literal, cast

from corrobora.domain.errors import UserError
from corrobora.settings import keys
from corrobora.settings.files import read_small_file

MAX_CONFIG_BYTES = 1_000_000
_AT = re.compile(r"\s*\(at (?:line (\d+), column (\d+)|end of document)\)\Z")
_ENDPOINT_FIELDS = ("kind", "base_url", "api_key")
_PRICE_FIELDS = ("input", "output", "cached")
_OTHERS = frozenset({"CORROBORA_MODEL_BASE_URL"})  # read by the adapter that it belongs to
_VENDOR_TIERS = {"lead": "LEAD_MODEL_ID", "worker": "MODEL_ID", "fast": "SMALL_MODEL_ID", "judge": "JUDGE_MODEL_ID"}

LayerName = Literal["flag", "environment", "vendor environment", "project file", "user file"]


@dataclass(frozen=True, slots=True)
class Layer:
    """One source of settings. `origins` says for each name where exactly it was written."""

    name: LayerName
    values: Mapping[str, object]
    origins: Mapping[str, str] = field(default_factory=dict[str, str])
    folder: Path | None = None  # relative paths in a file are relative to it
    notes: tuple[str, ...] = ()


def flag_layer(flags: Mapping[str, tuple[object, str]]) -> Layer:
    """Return the layer of flags: name to (value, flag as typed)."""
    return Layer(
        "flag", {name: value for name, (value, _) in flags.items()}, {name: flag for name, (_, flag) in flags.items()}
    )


def environment_layers(env: Mapping[str, str]) -> tuple[Layer, Layer]:
    """Return the layer of our own variables and the weaker one of the vendors' variables.

    An empty variable counts as not set. An unknown `CORROBORA_` variable is a note, not an error: it may belong to
    another program.
    """
    known = {key.variable: key.name for key in keys.KEYS} | {"CORROBORA_DATABASE_URL": keys.DATABASE_URL}
    values: dict[str, object] = {}
    origins: dict[str, str] = {}
    notes: list[str] = []
    for variable in sorted(env):
        if variable in known and env[variable].strip():
            value = env[variable].rstrip("\r\n")
            if value != env[variable] and variable != "CORROBORA_DATABASE_URL":
                notes.append(f"The environment variable {variable} ends with a line end, which was dropped")
            name = known[variable]
            values[name] = f"env:{variable}" if name == keys.DATABASE_URL else value
            origins[name] = variable
        elif variable.startswith("CORROBORA_") and variable not in _OTHERS and env[variable].strip():
            notes.append(f"The environment variable {variable} is not known and was ignored{nearest(variable, known)}")
    return Layer("environment", values, origins, notes=tuple(notes)), _vendor_layer(env)


def _vendor_layer(env: Mapping[str, str]) -> Layer:
    """Return what other variables say: model names (ANGLES-34, also in lower case) and RESEARCH_MODE (ROUNDS-34)."""
    values: dict[str, object] = {}
    origins: dict[str, str] = {}

    def take(name: str, variable: str, value: object) -> None:
        values[name], origins[name] = value, variable

    for vendor in ("openai", "anthropic"):
        found = {
            tier: (name, value)
            for tier, suffix in _VENDOR_TIERS.items()
            for name in (f"{vendor.upper()}_{suffix}", f"{vendor}_{suffix}".lower())
            if (value := env.get(name, "").strip())
        }
        if worker := found.get("worker"):
            found = dict.fromkeys(("lead", "judge"), worker) | found  # they default to it (ANGLES-34)
        for tier, (name, value) in found.items():
            take(f"models.{tier}", name, value if value.startswith(f"{vendor}:") else f"{vendor}:{value}")
    if mode := env.get("RESEARCH_MODE", "").strip():
        profiles = {"iterative": "rounds", "parallel": "angles"}
        if mode.lower() not in profiles:
            message = f"RESEARCH_MODE (environment) is {mode[:40]!r}; it must be parallel or iterative."
            raise UserError("config_value", message, next_step="Correct or unset it.")
        take("profile", "RESEARCH_MODE", profiles[mode.lower()])
    return Layer("vendor environment", values, origins)


def file_layer(path: Path, name: Literal["project file", "user file"], *, table: tuple[str, ...] = ()) -> Layer:
    """Return the layer of one TOML file; `table` is where in the file the settings stand.

    Raises `UserError`: unreadable file, TOML error with line and column, unknown name with the nearest known one.
    """
    text = read_small_file(path, limit=MAX_CONFIG_BYTES, what="The configuration file")
    content = parse_toml(text, str(path))
    for part in table:
        inner = content.get(part, {})
        if not isinstance(inner, dict):
            raise UserError("config_value", f"[{'.'.join(table)}] in {path} is not a table.")
        content = cast("dict[str, object]", inner)
    values = dict(_flatten(content, "", str(path), text))
    origins = {each: f"{path}{_line(text, each)}" for each in values}
    if name == "project file" and (own := sorted(keys.OPERATOR_ONLY & set(values))):
        raise UserError(
            "config_operator_only",
            f"{own[0]} may not stand in a project file ({origins[own[0]]}).",
            next_step="Put it into the user file, or set its variable.",
        )
    return Layer(name, values, origins, folder=path.parent)


def parse_toml(text: str, where: str) -> dict[str, object]:
    """Parse TOML. Raises `UserError` `config_syntax` with line and column; nothing else, whatever the text.

    Requirement: bad-input C02.
    """
    try:
        return tomllib.loads(text)
    except (ValueError, OverflowError) as error:  # TOMLDecodeError, or a number or date that Python cannot hold
        message = str(error)
        found = _AT.search(message)
        line, column = (found.group(1), found.group(2)) if found and found.group(1) else (None, None)
        place = f"line {line}, column {column}" if line else f"line {text.count(chr(10)) + 1} (end)"
        why = _AT.sub("", message) if found else "a value is out of range"
        raise UserError("config_syntax", f"{where}: {place}: {_plain(why)}.", next_step="Correct the TOML.") from None
    except RecursionError:
        raise UserError("config_syntax", f"{where}: line 1: the values are nested too deeply.") from None


def project_layer(folder: Path) -> Layer | None:
    """Return `corrobora.toml` or `[tool.corrobora]` of the nearest folder from `folder` up to the repository's root.

    Without a repository only `folder` itself is looked at: a file that a stranger leaves higher up never counts.
    """
    for place in _upwards(folder):
        own = place / "corrobora.toml"
        if os.path.lexists(own):
            return file_layer(own, "project file")
        shared = place / "pyproject.toml"
        if shared.is_file() and "[tool.corrobora" in read_small_file(shared, limit=MAX_CONFIG_BYTES):
            return file_layer(shared, "project file", table=("tool", "corrobora"))
    return None


def _upwards(folder: Path) -> Iterator[Path]:
    chain = (folder, *folder.parents)
    root = next((index for index, place in enumerate(chain) if (place / ".git").exists()), 0)
    yield from chain[: root + 1]


def nearest(name: str, known: Mapping[str, object] | list[str] | tuple[str, ...]) -> str:
    """Return "; did you mean X?" for the nearest known name, "" if none is near."""
    near = get_close_matches(name, list(known), n=1, cutoff=0.5)
    return f"; did you mean {near[0]}?" if near else ""


def _flatten(table: dict[str, object], prefix: str, where: str, text: str) -> Iterator[tuple[str, object]]:
    names = {key.name for key in keys.KEYS} | set(keys.secret_names())
    for part, value in table.items():
        name = f"{prefix}{part}"
        if name in names:
            yield name, value
        elif name in keys.FREE_TABLES and isinstance(value, dict):
            yield from _free_table(name, cast("dict[str, object]", value), where, text)
        elif isinstance(value, dict) and any(each.startswith(name + ".") for each in (*names, *keys.FREE_TABLES)):
            yield from _flatten(cast("dict[str, object]", value), name + ".", where, text)
        else:
            raise _unknown(name, where, text, sorted(names | set(keys.FREE_TABLES)))


def _free_table(name: str, table: dict[str, object], where: str, text: str) -> Iterator[tuple[str, object]]:
    """Yield the entries of a table whose names users choose: own profiles, endpoints, prices."""
    allowed = {"models.endpoints": _ENDPOINT_FIELDS, "models.prices": _PRICE_FIELDS}.get(name)
    for own, value in table.items():
        if not isinstance(value, dict):
            raise UserError("config_value", f"{name}.{_plain(own)} in {where} must be a table.")
        if allowed is None:
            yield f"{name}.{own}", cast("dict[str, object]", value)
            continue
        for each, item in cast("dict[str, object]", value).items():
            if each not in allowed:
                raise _unknown(f"{name}.{own}.{each}", where, text, [f"{name}.{own}.{it}" for it in allowed])
            yield f"{name}.{own}.{each}", item


def _unknown(name: str, where: str, text: str, known: list[str]) -> UserError:
    message = f"Unknown setting {_plain(name)!r} in {where}{_line(text, name)}{nearest(name, known)}".rstrip("?")
    end = "?" if "did you mean" in message else "."
    return UserError("config_unknown_key", message + end, next_step="See: corrobora config show --origin")


def _line(text: str, name: str) -> str:
    """Return ", line N" if the last part of `name` is written on exactly one line, else ""."""
    last = re.escape(name.rsplit(".", 1)[-1])
    found = [match.start() for match in re.finditer(rf"(?m)^[ \t]*[\w.\"'-]*{last}[\"']?[ \t]*=", text)]
    return f", line {text.count(chr(10), 0, found[0]) + 1}" if len(found) == 1 else ""


def _plain(text: str) -> str:
    return "".join(letter if letter.isprintable() else "?" for letter in text)[:200].rstrip(".")
