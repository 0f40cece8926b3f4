"""Load: from the name of a preset or the path of a TOML file, and overrides, to a profile.

Knows TOML, inheritance by `base`, and what must hold between fields. Does not know flags: faces make them overrides.
"""

from __future__ import annotations

import dataclasses
import difflib
import stat
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, cast

from corrobora.domain.errors import UserError
from corrobora.domain.thread import Phase
from corrobora.profiles import fields
from corrobora.profiles.profile import Profile, Review

_FILE_MAX_BYTES = 1_000_000
_LONGEST_CHAIN = 8
_BOUND = "max_rounds"  # the one rule that ends every thread, whatever models and providers answer


@cache
def profile_names() -> tuple[str, ...]:
    """Return the names of the presets, in alphabetical order."""
    found = (each.name for each in _presets().iterdir())
    return tuple(sorted(name.removesuffix(".toml") for name in found if name.endswith(".toml")))


def load_profile(name_or_path: str, overrides: Sequence[tuple[str, str]] = ()) -> Profile:
    """Return the profile of a preset's name or of a TOML file, with overrides applied in order.

    A file may say `base = "timed"` and change single fields. An override is a field (`review.judge`, `minutes`) and a
    TOML value; a bare word is taken as text. The override `deep = true` takes `deep_rounds` as the cap of rounds.

    Raises:
        UserError: unknown_profile, profile_file, profile_syntax, profile_unknown_key, profile_bad_value,
            profile_conflict. Nothing was run and nothing was paid.
    """
    table = _table(name_or_path)
    notes: list[str] = []
    deep = _override(table, overrides)
    if any(key == "minutes" for key, _ in overrides) and all(key != "reserve_minutes" for key, _ in overrides):
        table.pop("reserve_minutes", None)  # it was chosen for another time limit: the formula of TIMED-1 holds again
    profile = _profile(table, where=f"profile {name_or_path}")
    if deep:
        profile = dataclasses.replace(profile, max_rounds=_deep_rounds(profile, overrides, notes))
    _check(profile)
    return dataclasses.replace(profile, notes=tuple(notes))


def profile_as_dict(profile: Profile) -> dict[str, object]:
    """Return the resolved profile as plain data: the first event of a run carries it."""
    return cast("dict[str, object]", _plain(dataclasses.asdict(profile)))


def _plain(value: object) -> object:
    if isinstance(value, dict):
        table = cast("dict[str, object]", value)
        return {key: _plain(each) for key, each in table.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in cast("Sequence[object]", value)]
    return value


def _presets() -> Any:
    return resources.files("corrobora.profiles") / "presets"


def _table(name_or_path: str) -> dict[str, object]:
    """Read a profile and all it is based on into one table; what is nearer wins."""
    chain: list[dict[str, object]] = []
    seen: list[str] = []
    name, folder = name_or_path, Path()
    while True:
        table, where, folder = _read(name, folder)
        if where in seen or len(seen) >= _LONGEST_CHAIN:
            raise UserError("profile_conflict", f"{where}: `base` leads back to itself: {' -> '.join(seen)}.")
        seen.append(where)
        chain.append(table)
        base = table.pop("base", None)
        if base is None:
            break
        if not isinstance(base, str):
            raise UserError("profile_bad_value", f"{where}: base is no text; allowed: {', '.join(profile_names())}.")
        name = base
    merged: dict[str, object] = {}
    for table in reversed(chain):
        _merge(merged, table)
    return merged


def _merge(into: dict[str, object], table: Mapping[str, object]) -> None:
    """Lay one table over another: `review` field by field, everything else whole."""
    for key, value in table.items():
        before = into.get(key)
        if key == "review" and isinstance(before, dict) and isinstance(value, dict):
            into[key] = {**cast("dict[str, object]", before), **cast("dict[str, object]", value)}
        else:
            into[key] = value


def _read(name: str, folder: Path) -> tuple[dict[str, object], str, Path]:
    if name in profile_names():
        text = (_presets() / f"{name}.toml").read_text(encoding="utf-8")
        table = _parsed(text, where=f"preset {name}")
        table.setdefault("name", name)
        return table, f"preset {name}", folder
    if not (name.endswith(".toml") or "/" in name or "\\" in name):
        near = difflib.get_close_matches(name, profile_names(), n=1)
        hint = f"Did you mean {near[0]}?" if near else "Name a preset or the path of a .toml file."
        known = ", ".join(profile_names())
        raise UserError("unknown_profile", f"There is no profile {name[:60]!r}; known: {known}.", next_step=hint)
    path = folder / Path(name).expanduser()
    table = _parsed(_file_text(path), where=str(path))
    table.setdefault("name", path.stem[:64])
    return table, str(path), path.parent


def _file_text(path: Path) -> str:
    """Read a file that a user named; refuse what is no plain file or too large, at once (bad-input C01)."""
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise UserError("profile_file", f"{path}: not a plain file.", next_step="Name a .toml file.")
        if status.st_size > _FILE_MAX_BYTES:
            raise UserError("profile_file", f"{path}: {status.st_size:,} bytes; the limit is {_FILE_MAX_BYTES:,}.")
        return path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise UserError("profile_file", f"{path}: not UTF-8 (byte {error.start}).") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "cannot be opened"
        raise UserError("profile_file", f"{path}: {reason}.", next_step="Check the path.") from None


def _parsed(text: str, *, where: str) -> dict[str, object]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UserError("profile_syntax", f"{where}: {error}.", next_step="Correct the TOML.") from None
    except (RecursionError, ValueError):
        raise UserError("profile_syntax", f"{where}: nested too deeply or out of range.") from None


def _override(table: dict[str, object], overrides: Sequence[tuple[str, str]]) -> bool:
    """Apply overrides to the table; return whether `deep` was asked for."""
    deep = False
    for key, text in overrides:
        value = _value(text)
        if key == "deep":
            deep = bool(fields.read_fields({"deep": value}, {"deep": fields.flag}, where="--deep")["deep"])
        elif key.startswith("review."):
            _merge(table, {"review": {key.removeprefix("review."): value}})
        elif key == "phases":
            table[key] = value  # all of them anew, as in a file; checked with the rest
        elif key in ("base", "review"):
            raise fields.unknown_key(key, fields.PROFILE, where="profile field")
        else:
            fields.read_fields({key: value}, fields.PROFILE, where="profile field")
            table[key] = value
    return deep


def _value(text: str) -> object:
    """Read one TOML value; what is none is a bare text. A value can never smuggle in a second key."""
    try:
        table = tomllib.loads(f"value = {text}")
    except (tomllib.TOMLDecodeError, RecursionError, ValueError):
        return text
    return table["value"] if list(table) == ["value"] else text


def _profile(table: dict[str, object], *, where: str) -> Profile:
    rest = dict(table)
    phases, review = rest.pop("phases", None), rest.pop("review", {})
    known = {**fields.PROFILE, "phases": fields.flag, "review": fields.flag, "base": fields.flag}
    stranger = next((key for key in rest if key not in fields.PROFILE), None)
    if stranger is not None:
        raise fields.unknown_key(stranger, known, where=where)
    values: dict[str, Any] = fields.read_fields(rest, fields.PROFILE, where=where)
    if not isinstance(review, dict):
        raise UserError("profile_bad_value", f"{where}: review is no table; write [review].")
    reviewing: dict[str, Any] = fields.read_fields(
        cast("dict[str, object]", review), fields.REVIEW, where=f"{where}, review"
    )
    values["review"] = Review(**reviewing)
    if phases is not None:
        values["phases"] = _phases(phases, where)
    return Profile(**values)


def _phases(value: object, where: str) -> tuple[Phase, ...]:
    if not isinstance(value, list) or not value:
        raise UserError("profile_bad_value", f"{where}: phases is no list of tables; write [[phases]].")
    phases: list[Phase] = []
    for at, each in enumerate(cast("list[object]", value), 1):
        place = f"{where}, phase {at}"
        if not isinstance(each, dict):
            raise UserError("profile_bad_value", f"{place}: no table; write [[phases]].")
        found: dict[str, Any] = fields.read_fields(cast("dict[str, object]", each), fields.PHASE, where=place)
        if "name" not in found:
            raise UserError("profile_bad_value", f"{place}: has no name.", next_step='Add name = "...".')
        phases.append(Phase(**found))
    return tuple(phases)


def _deep_rounds(profile: Profile, overrides: Sequence[tuple[str, str]], notes: list[str]) -> int:
    """Take the deep cap, or a smaller one that was asked for; a larger one is lowered with a note (bad-input C11)."""
    if not any(key == _BOUND for key, _ in overrides):
        return profile.deep_rounds
    if profile.max_rounds > profile.deep_rounds:
        notes.append(f"max_rounds {profile.max_rounds} was lowered to {profile.deep_rounds}, the cap of a deep run")
    return min(profile.max_rounds, profile.deep_rounds)


def _check(profile: Profile) -> None:
    """Refuse fields that contradict each other."""
    if _BOUND not in profile.stop:
        raise _conflict("stop", f"has no {_BOUND}: a thread might never end", f"Add {_BOUND} to stop.")
    if profile.words_min > profile.words_max:
        raise _conflict("words_min", f"{profile.words_min} is over words_max {profile.words_max}", "Swap them.")
    if profile.authorize == "human" and not profile.phrase.strip():
        raise _conflict("authorize", "needs the phrase that authorizes", 'Set phrase = "...".')
    if profile.review.revise and not profile.review.critique:
        raise _conflict("review.revise", "needs review.critique", "Set both, or none.")
    if profile.minutes is not None and profile.reserve_seconds >= 60.0 * profile.minutes:
        raise _conflict("reserve_minutes", f"leaves no time of {profile.minutes:g} minutes", "Lower it.")
    names = [phase.name for phase in profile.phases]
    if len(set(names)) < len(names):
        raise _conflict("phases", "has two phases of one name", "Rename one.")
    for phase in profile.phases:
        if phase.min_queries > phase.max_queries:
            raise _conflict(f"phase {phase.name}", "has min_queries over max_queries", "Swap them.")
        if phase.max_rounds is not None and phase.min_rounds > phase.max_rounds:
            raise _conflict(f"phase {phase.name}", "has min_rounds over max_rounds", "Swap them.")


def _conflict(key: str, why: str, next_step: str) -> UserError:
    return UserError("profile_conflict", f"{key} {why}.", next_step=next_step)
