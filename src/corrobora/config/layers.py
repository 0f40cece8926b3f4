"""Layers of settings: flags, environment, project file and user file, each flattened to dotted keys.

Knows where each layer lies, how TOML and variables become keys, and that unknown keys are refused. Does not merge.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import tempfile
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from pathlib import Path
from types import MappingProxyType
from typing import Literal, cast

import platformdirs

from corrobora.config.settings import DATABASE_URL, FREE_TABLES, Endpoint, list_secrets, list_settings
from corrobora.config.trust import digest_text
from corrobora.config.values import find_fields, read_small_file
from corrobora.domain.errors import UserError
from corrobora.domain.limits import CallOptions, Price
from corrobora.registry import list_parts

MAX_CONFIG_BYTES = 1_000_000
PROJECT_FILE = "corrobora.toml"
_AT = re.compile(r"\s*\(at (?:line (\d+), column (\d+)|end of document)\)\Z")
_PREFIX = "CORROBORA_"
_SAME_NAME = 0.5  # share of their words above which two names are alike
_OTHERS = frozenset({"CORROBORA_MODEL_BASE_URL", "CORROBORA_SERVER_TOKEN"})  # read by the part that it belongs to
_VENDOR_TIERS = {"lead": "LEAD_MODEL_ID", "worker": "MODEL_ID", "fast": "SMALL_MODEL_ID", "judge": "JUDGE_MODEL_ID"}

LayerName = Literal["flag", "environment", "vendor environment", "project file", "user file"]


@dataclass(frozen=True, slots=True)
class Layer:
    """One source of settings. `origins` says for each key where exactly it was written."""

    name: LayerName
    values: Mapping[str, object]
    origins: Mapping[str, str] = field(default_factory=dict[str, str])
    notes: tuple[str, ...] = ()
    path: Path | None = None  # of a file; relative paths in it are relative to its folder
    digest: str = ""

    @property
    def folder(self) -> Path:
        """The folder that relative paths start from."""
        return self.path.parent if self.path else find_current_folder()

    def locate(self, key: str) -> str:
        """Say where a key was written, for messages."""
        place = self.origins.get(key, "")
        return f"{self.name}: {place}" if place else self.name


def find_usual_data_folder() -> Path:
    """Return where this platform keeps the user's data."""
    return platformdirs.user_data_path("corrobora", appauthor=False)


def find_data_folder() -> Path:
    """Return where the data, such as the database, are kept by default.

    Without a home that can be written to (a service account, a container), a private folder below the folder for
    temporary files, used only if it belongs to this user alone. Else the usual place, whose error names the setting; so
    does one that is there and can only be read: an empty folder in its place would look like lost runs.
    """
    usual = find_usual_data_folder()
    existing = next(folder for folder in (usual, *usual.parents) if os.path.lexists(folder))
    if existing == usual or os.access(existing, os.W_OK | os.X_OK) or not hasattr(os, "geteuid"):
        return usual
    private = Path(tempfile.gettempdir()) / f"corrobora-{os.geteuid()}"
    with contextlib.suppress(OSError):
        private.mkdir(mode=0o700, exist_ok=True)
        state = private.lstat()
        if stat.S_ISDIR(state.st_mode) and state.st_uid == os.geteuid() and not state.st_mode & 0o077:
            return private
    return usual


def find_user_file() -> Path:
    """Return where this platform keeps the user's `config.toml`."""
    return platformdirs.user_config_path("corrobora", appauthor=False) / "config.toml"


def find_current_folder() -> Path:
    """Return the current folder. Raises `UserError` if it is gone."""
    try:
        return Path.cwd()
    except OSError:
        raise UserError(
            "folder_missing", "The current folder does not exist any more.", next_step="Change to another folder."
        ) from None


def read_environment_layers(env: Mapping[str, str]) -> tuple[Layer, Layer]:
    """Return the layer of our own variables and the weaker one of the vendors' variables.

    An empty variable counts as not set. An unknown `CORROBORA_` variable is a note, not an error: it may belong to
    another program.
    """
    known = {declared.variable: key for key, declared in list_settings().items()}
    known |= {list_secrets()[DATABASE_URL]: DATABASE_URL}
    described = {declared.variable: declared.mark.about for declared in list_settings().values()}
    values: dict[str, object] = {}
    origins: dict[str, str] = {}
    notes: list[str] = []
    for variable in sorted(env):
        if variable in known and env[variable].strip():
            value = env[variable].rstrip("\r\n")
            key = known[variable]
            if value != env[variable] and key != DATABASE_URL:
                notes.append(f"The environment variable {variable} ends with a line end, which was dropped")
            values[key] = f"env:{variable}" if key == DATABASE_URL else value
            origins[key] = variable
        elif variable.startswith(_PREFIX) and variable not in _OTHERS and env[variable].strip():
            near = _suggest(variable, (*known, *_OTHERS), described)
            notes.append(f"The environment variable {variable} is not known and was ignored{near}")
    return Layer("environment", values, origins, tuple(notes)), _read_vendor_layer(env)


def _read_vendor_layer(env: Mapping[str, str]) -> Layer:
    """Return what the variables of other programs say: vendors' model names (also in lower case) and RESEARCH_MODE."""
    values: dict[str, object] = {}
    origins: dict[str, str] = {}
    for vendor in ("openai", "anthropic"):
        found = {
            tier: (name, value)
            for tier, suffix in _VENDOR_TIERS.items()
            for name in (f"{vendor.upper()}_{suffix}", f"{vendor}_{suffix}".lower())
            if (value := env.get(name, "").strip())
        }
        if worker := found.get("worker"):
            found = dict.fromkeys(("lead", "judge"), worker) | found  # they default to it
        for tier, (name, value) in found.items():
            known = ":" in value and value.partition(":")[0].lower() in list_parts("models")
            values[f"models.{tier}"] = value if known else f"{vendor}:{value}"
            origins[f"models.{tier}"] = name
    if mode := env.get("RESEARCH_MODE", "").strip():
        profiles = {"iterative": "rounds", "parallel": "angles"}
        if mode.lower() not in profiles:
            message = f"RESEARCH_MODE (environment) is {mode[:40]!r}; it must be parallel or iterative."
            raise UserError("config_value", message, next_step="Correct or unset it.")
        values["profile"], origins["profile"] = profiles[mode.lower()], "RESEARCH_MODE"
    return Layer("vendor environment", values, origins)


def find_project_layer(folder: Path) -> Layer | None:
    """Return `corrobora.toml` or `[tool.corrobora]` of the nearest folder from `folder` up to the repository's root.

    Without a repository only `folder` itself is looked at: a file that a stranger leaves higher up never counts.
    """
    chain = (folder, *folder.parents)
    root = next((index for index, place in enumerate(chain) if (place / ".git").exists()), 0)
    return next((layer for place in chain[: root + 1] if (layer := read_project_layer(place))), None)


def read_project_layer(folder: Path) -> Layer | None:
    """Return `corrobora.toml` or `[tool.corrobora]` of exactly this folder, None without one."""
    own = folder / PROJECT_FILE
    if os.path.lexists(own):
        return read_layer(own, "project file")
    shared = folder / "pyproject.toml"
    return read_layer(shared, "project file") if shared.is_file() and _has_table(shared) else None


def _has_table(path: Path) -> bool:
    """True if a file has our table, False also for one that cannot be read: it belongs to other programs."""
    try:
        with path.open("rb") as file:
            return b"\n[tool.corrobora" in b"\n" + file.read(MAX_CONFIG_BYTES)
    except OSError:
        return False


def read_layer(path: Path, name: Literal["project file", "user file"]) -> Layer:
    """Return the layer of one TOML file; in `pyproject.toml` it is the table `[tool.corrobora]`.

    Raises `UserError`: unreadable file, TOML error with line and column, unknown key with the nearest known one.
    """
    text = read_small_file(path, limit=MAX_CONFIG_BYTES, what="The configuration file")
    content = parse_toml(text, str(path))
    for part in ("tool", "corrobora") if path.name == "pyproject.toml" else ():
        inner = content.get(part, {})
        if not isinstance(inner, dict):
            raise UserError("config_value", f"[tool.corrobora] in {path} is not a table.")
        content = cast("dict[str, object]", inner)
    values = dict(_flatten_table(content, "", str(path), text))
    origins = {key: f"{path}{_find_line(text, key)}" for key in values}
    notes = (
        (f"{path} can be changed by other users; run: chmod o-w {path}",) if path.stat().st_mode & stat.S_IWOTH else ()
    )
    return Layer(name, values, origins, notes, path, digest_text(text))


def parse_toml(text: str, where: str, *, code: str = "config_syntax") -> dict[str, object]:
    """Parse TOML. Raises `UserError` with line and column; nothing else, whatever the text."""
    try:
        return tomllib.loads(text)
    except (ValueError, OverflowError) as error:  # TOMLDecodeError, or a number or date that Python cannot hold
        message = str(error)
        found = _AT.search(message)
        line, column = (found.group(1), found.group(2)) if found and found.group(1) else (None, None)
        place = f"line {line}, column {column}" if line else f"line {text.count(chr(10)) + 1} (end)"
        why = _AT.sub("", message) if found else "a value is out of range"
        raise UserError(code, f"{where}: {place}: {mask_controls(why)}.", next_step="Correct the TOML.") from None
    except RecursionError:
        raise UserError(code, f"{where}: line 1: the values are nested too deeply.") from None


def _flatten_table(table: dict[str, object], prefix: str, where: str, text: str) -> Iterator[tuple[str, object]]:
    keys = {*list_settings(), *list_secrets()}
    for part, value in table.items():
        key = f"{prefix}{part}"
        if key in keys:
            yield key, value
        elif key in FREE_TABLES and isinstance(value, dict):
            yield from _flatten_free_table(key, cast("dict[str, object]", value), where, text)
        elif isinstance(value, dict) and any(each.startswith(key + ".") for each in (*keys, *FREE_TABLES)):
            yield from _flatten_table(cast("dict[str, object]", value), key + ".", where, text)
        else:
            raise _refuse_key(key, where, text, sorted(keys | set(FREE_TABLES)))


def _flatten_free_table(key: str, table: dict[str, object], where: str, text: str) -> Iterator[tuple[str, object]]:
    """Yield the entries of a table whose names users choose: own profiles, endpoints, prices, options of calls."""
    kind = {"models.endpoints": Endpoint, "models.prices": Price, "models.options": CallOptions}.get(key)
    allowed = set(find_fields(kind)) - {"name"} if kind else set[str]()
    for own, value in table.items():
        if not isinstance(value, dict):
            raise UserError("config_value", f"{key}.{mask_controls(own)} in {where} must be a table.")
        if kind is None:
            yield f"{key}.{own}", cast("dict[str, object]", value)
            continue
        for each, item in cast("dict[str, object]", value).items():
            if each not in allowed:
                raise _refuse_key(f"{key}.{own}.{each}", where, text, [f"{key}.{own}.{it}" for it in sorted(allowed)])
            yield f"{key}.{own}.{each}", item


def check_key(key: str, where: str) -> None:
    """Refuse a dotted key that names no setting and belongs to no free table. Raises `UserError`."""
    known = {*list_settings(), *list_secrets()}
    if key not in known and not any(key.startswith(f"{table}.") for table in FREE_TABLES):
        raise _refuse_key(key, where, "", sorted(known | set(FREE_TABLES)))


def _refuse_key(key: str, where: str, text: str, known: Sequence[str]) -> UserError:
    message = f"Unknown setting {mask_controls(key)!r} in {where}{_find_line(text, key)}{_suggest(key, known)}"
    end = "" if message.endswith("?") else "."
    return UserError("config_unknown_key", message + end, next_step="See: corrobora config show --origin")


def _suggest(name: str, known: Iterable[str], described: Mapping[str, str] = MappingProxyType({})) -> str:
    """Return the known name with the most of the same words, spelled alike; else the one that is described in them.

    Whole names are not compared: what all have in common makes any two of them alike.
    """
    words = _split_name(name)

    def rate(other: str) -> float:
        others = _split_name(other)
        best = [max(SequenceMatcher(None, word, each).ratio() for each in others) for word in words]
        return 2 * sum(each**2 for each in best) / (len(words) + len(others))

    def compare(other: str) -> tuple[float, bool, float]:
        spelled = SequenceMatcher(None, name.lower(), other.lower()).ratio()
        return rate(other), _split_name(other)[0] == words[0], spelled

    near = max(known, key=compare)
    if rate(near) <= _SAME_NAME:
        told = [each for each, text in described.items() if set(words) & set(text.lower().split())]
        near = told[0] if len(told) == 1 else ""
    return f"; did you mean {near}?" if near else ""


def _split_name(name: str) -> list[str]:
    words = re.findall("[a-z0-9]+", name.lower().removeprefix(_PREFIX.lower())) or [name]
    return [each.removesuffix("s") or each for each in words]  # a name in the plural is not another one


def _find_line(text: str, key: str) -> str:
    """Return ", line N" if the last part of `key` is written on exactly one line, else ""."""
    last = re.escape(key.rsplit(".", 1)[-1])
    found = [match.start() for match in re.finditer(rf"(?m)^[ \t]*[\w.\"'-]*{last}[\"']?[ \t]*=", text)]
    return f", line {text.count(chr(10), 0, found[0]) + 1}" if len(found) == 1 else ""


def mask_controls(text: str) -> str:
    """Return text for a message: one line, nothing that a terminal obeys."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)[:200].rstrip(".")
