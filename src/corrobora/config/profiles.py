"""Profiles: from the name of a preset, a table of the configuration or a TOML file, and overrides, to a `Profile`.

Knows TOML, inheritance by `base`, and what must hold between fields. Which fields there are and what they may hold is
declared with `Profile`, `Review` and `Phase`.
"""

from __future__ import annotations

import dataclasses
import difflib
import json
import tomllib
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, cast

from corrobora.config.layers import parse_toml
from corrobora.config.settings import Settings, list_settings
from corrobora.config.values import describe_forms, find_fields, list_words, read_small_file, read_value
from corrobora.domain.errors import UserError
from corrobora.domain.thread import Phase
from corrobora.policies import Profile, Review
from corrobora.registry import list_parts, read_part

Overrides = tuple[tuple[str, str], ...]
_FILE_MAX_BYTES = 1_000_000
_LONGEST_CHAIN = 8
_BOUND = "max_rounds"  # the one rule that ends every thread, whatever models and providers answer
_SHOWN = 60  # characters of a wrong key or value that a message repeats
_STRUCTURED = frozenset({"phases", "review", "notes"})  # tables of their own, and what loading itself writes


@cache
def list_fields(kind: type) -> Mapping[str, Any]:
    """Return the fields of a profile, a phase or a review that a TOML table may set, with their annotations."""
    return {name: annotation for name, annotation in find_fields(kind).items() if name not in _STRUCTURED}


def list_presets() -> tuple[str, ...]:
    """Return the names of the profiles that packages install, the built-in ones first."""
    return list_parts("profiles")


def load_profile(name_or_path: str, overrides: Sequence[tuple[str, str]] = ()) -> Profile:
    """Return the profile of a preset's name or of a TOML file, with overrides applied in order.

    A file may say `base = "timed"` and change single fields. An override is a field (`review.judge`, `minutes`) and a
    TOML value; a bare word is taken as text. The override `deep = true` takes `deep_rounds` as the cap of rounds.

    Raises:
        UserError: unknown_profile, profile_file, profile_syntax, profile_unknown_key, profile_bad_value,
            profile_conflict. Nothing was run and nothing was paid.
    """
    table = _read_chain(name_or_path)
    before, changed = table.get("minutes"), {key for key, _ in overrides}
    deep = _apply_overrides(table, overrides)
    if "minutes" in changed and "reserve_minutes" not in changed:
        table.pop("reserve_minutes", None)  # it was chosen for another time limit: the formula holds again
    profile = _build_profile(table, where=f"profile {name_or_path}")
    if "minutes" in changed and "phases" not in changed:
        profile = _fit_phases(profile, before)
    if deep:
        profile = _deepen_profile(profile, overrides)
    _check_profile(profile)
    return profile


def resolve_profile(settings: Settings, name: str | None = None) -> tuple[str, Overrides]:
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
        changes = (*_flatten_fields(own), *changes)
        name = str(own.get("base", name if name in list_presets() else "timed"))
    is_file = name.endswith(".toml") or "/" in name
    return (str(Path(name).expanduser().absolute()) if is_file else name), changes


def override_profile(
    settings: Settings, fields: Overrides, *, plan_only: bool = False, only: Collection[str] | None = None
) -> Overrides:
    """Return what the settings change in the profile, or those whose keys are in `only`; `fields` come last and win."""
    found: list[tuple[str, str]] = []
    for declared in list_settings().values():
        if only is not None and declared.key not in only:
            continue
        value = declared.read(settings)
        if declared.key == "angles" and value is not None:
            found.append(("split", '"angles"'))
            found.append(("dynamic_angles", "true") if value == "dynamic" else ("max_leaves", str(value)))
        elif declared.mark.profile_field and value is not None and value is not False:
            found.append((declared.mark.profile_field, _write_toml(value)))
    found += fields
    if plan_only:  # the run stops before it is authorized, and waits
        found += (("authorize", '"human"'), ("phrase", '"Authorized to execute"'))
    return tuple(found)


def _flatten_fields(own: Mapping[str, object]) -> Overrides:
    flat: dict[str, object] = {}
    for field, value in own.items():
        if isinstance(value, dict):
            flat |= {f"{field}.{part}": inner for part, inner in cast("dict[str, object]", value).items()}
        elif field != "base":
            flat[field] = value
    return tuple((field, _write_toml(value)) for field, value in flat.items())


def _write_toml(value: object) -> str:
    if isinstance(value, dict):
        table = cast("dict[str, object]", value)
        return "{" + ", ".join(f"{_write_toml(name)} = {_write_toml(inner)}" for name, inner in table.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_write_toml, cast("list[object]", value))) + "]"
    return json.dumps(value, default=str, ensure_ascii=False).replace("\x7f", "\\u007f")


def _read_chain(name_or_path: str) -> dict[str, object]:
    """Read a profile and all it is based on into one table; what is nearer wins."""
    chain: list[dict[str, object]] = []
    seen: list[str] = []
    name, folder = name_or_path, None
    while True:
        table, where, folder = _read_profile(name, folder)
        if where in seen or len(seen) >= _LONGEST_CHAIN:
            raise UserError("profile_conflict", f"{where}: `base` refers back to itself: {' -> '.join(seen)}.")
        seen.append(where)
        chain.append(table)
        base = table.pop("base", None)
        if base is None:
            break
        if not isinstance(base, str):
            raise UserError("profile_bad_value", f"{where}: base must be text; allowed: {', '.join(list_presets())}.")
        name = base
    merged: dict[str, object] = {}
    for table in reversed(chain):
        _merge_table(merged, table)
    return merged


def _merge_table(into: dict[str, object], table: Mapping[str, object]) -> None:
    """Lay one table over another: `review` field by field, everything else whole."""
    for key, value in table.items():
        before = into.get(key)
        if key == "review" and isinstance(before, dict) and isinstance(value, dict):
            into[key] = {**cast("dict[str, object]", before), **cast("dict[str, object]", value)}
        else:
            into[key] = value


def _read_profile(name: str, folder: Path | None) -> tuple[dict[str, object], str, Path | None]:
    """Read a preset or a file; one that the file of a profile names lies in the `folder` of this or below it."""
    if name in list_presets():
        text = read_part("profiles", name, ".toml")
        table: dict[str, object] = {"name": name}
        return table | tomllib.loads(text), f"preset {name}", folder
    if not (name.endswith(".toml") or "/" in name or "\\" in name):
        near = difflib.get_close_matches(name, list_presets(), n=1)
        hint = f"Did you mean {near[0]}?" if near else "Name a preset or the path of a .toml file."
        known = ", ".join(list_presets())
        raise UserError("unknown_profile", f"There is no profile {name[:_SHOWN]!r}; known: {known}.", next_step=hint)
    try:
        path = (folder or Path()) / Path(name).expanduser()
    except RuntimeError:
        raise UserError("profile_file", f"{name[:_SHOWN]!r}: there is no such user.") from None
    if folder is not None and not path.resolve().is_relative_to(folder.resolve()):
        why = f"{name[:_SHOWN]!r}: the base of a profile lies in the folder of its file or below it."
        raise UserError("profile_file", why, next_step="Copy it there.")
    try:
        text = read_small_file(path, limit=_FILE_MAX_BYTES, what="The profile")
    except UserError as error:
        raise UserError("profile_file", error.message, next_step=error.next_step) from None
    own = parse_toml(text, str(path), code="profile_syntax")
    return {"name": path.stem[:64], **own}, str(path), path.parent


def _apply_overrides(table: dict[str, object], overrides: Sequence[tuple[str, str]]) -> bool:
    """Apply overrides to the table; return whether `deep` was asked for."""
    deep = False
    for key, text in overrides:
        value = _parse_override(text)
        if key == "deep":
            deep = bool(read_fields({"deep": value}, {"deep": bool}, where="--deep")["deep"])
        elif key.startswith("review."):
            _merge_table(table, {"review": {key.removeprefix("review."): value}})
        elif key == "phases":
            table[key] = value  # all of them anew, as in a file; checked with the rest
        else:
            read_fields({key: value}, list_fields(Profile), where="profile field")
            table[key] = value
    return deep


def _parse_override(text: str) -> object:
    """Read one TOML value; what is none is a bare text. A value can never smuggle in a second key."""
    try:
        table = tomllib.loads(f"value = {text}")
    except (tomllib.TOMLDecodeError, RecursionError, ValueError):
        return text
    return table["value"] if list(table) == ["value"] else text


def read_fields(table: Mapping[str, object], fields: Mapping[str, Any], *, where: str) -> dict[str, Any]:
    """Return the values of a table as a profile holds them.

    Raises:
        UserError: profile_unknown_key with the nearest valid key (the value is never shown: it may be a secret), or
            profile_bad_value with key, value and what is allowed.
    """
    found: dict[str, Any] = {}
    for key, value in table.items():
        if key not in fields:
            raise _refuse_key(key, fields, where=where)
        try:
            found[key] = read_value(fields[key], value)
        except ValueError:
            allowed = f"allowed: {describe_forms(fields[key])}.{_suggest_word(value, list_words(fields[key]))}"
            shown = repr(value[:_SHOWN]) if isinstance(value, str) else repr(value)[:_SHOWN]
            message = f"{where}: {key} is {shown}; {allowed}"
            raise UserError("profile_bad_value", message, next_step="Correct the value.") from None
    return found


def _refuse_key(key: str, known: Iterable[str], *, where: str) -> UserError:
    """Return the error for an unknown key, with the nearest known one."""
    names = sorted(known)
    near = difflib.get_close_matches(key, names, n=1, cutoff=0.5)
    hint = f"Did you mean {near[0]}?" if near else f"Known keys: {', '.join(names)}."
    return UserError("profile_unknown_key", f"{where}: there is no key {key[:_SHOWN]!r}.", next_step=hint)


def _suggest_word(value: object, words: Sequence[str]) -> str:
    """For a misspelt word: the nearest allowed one."""
    given = cast("Sequence[object]", value if isinstance(value, list | tuple) else [value])
    for word in (each for each in given if isinstance(each, str) and each not in words):
        near = difflib.get_close_matches(word, words, n=1, cutoff=0.6)
        if near:
            return f" Did you mean {near[0]}?"
    return ""


def _build_profile(table: Mapping[str, object], *, where: str) -> Profile:
    rest = dict(table)
    phases, review = rest.pop("phases", None), rest.pop("review", {})
    stranger = next((key for key in rest if key not in list_fields(Profile)), None)
    if stranger is not None:
        raise _refuse_key(stranger, [*list_fields(Profile), "phases", "review", "base"], where=where)
    values = read_fields(rest, list_fields(Profile), where=where)
    if not isinstance(review, dict):
        raise UserError("profile_bad_value", f"{where}: review must be a table; write [review].")
    reviewed = read_fields(cast("dict[str, object]", review), list_fields(Review), where=f"{where}, review")
    if phases is not None:
        values["phases"] = _read_phases(phases, where=where)
    return Profile(**values, review=Review(**reviewed))


def _read_phases(value: object, *, where: str) -> tuple[Phase, ...]:
    if not isinstance(value, list) or not value:
        raise UserError("profile_bad_value", f"{where}: phases must be a list of tables; write [[phases]].")
    phases: list[Phase] = []
    for at, each in enumerate(cast("list[object]", value), 1):
        place = f"{where}, phase {at}"
        if not isinstance(each, dict):
            raise UserError("profile_bad_value", f"{place}: no table; write [[phases]].")
        found = read_fields(cast("dict[str, object]", each), list_fields(Phase), where=place)
        if "name" not in found:
            raise UserError("profile_bad_value", f"{place}: has no name.", next_step='Add name = "...".')
        phases.append(Phase(**found))
    return tuple(phases)


def _fit_phases(profile: Profile, before: object) -> Profile:
    """Give the phases the share of the run's new time that they had of the time `before`; without a limit, none."""
    if profile.minutes is None:
        factor = None
    elif isinstance(before, int | float):
        factor = profile.minutes / before
    else:
        return profile
    minutes = [None if factor is None or each.minutes is None else each.minutes * factor for each in profile.phases]
    fitted = [dataclasses.replace(each, minutes=one) for each, one in zip(profile.phases, minutes, strict=True)]
    return dataclasses.replace(profile, phases=tuple(fitted))


def _deepen_profile(profile: Profile, overrides: Sequence[tuple[str, str]]) -> Profile:
    """Take the deep cap, or a smaller one that was asked for; a larger one is lowered with a note."""
    most, asked = profile.deep_rounds, profile.max_rounds
    if not any(key == _BOUND for key, _ in overrides):
        return dataclasses.replace(profile, max_rounds=most)
    if asked <= most:
        return profile
    note = f"max_rounds {asked} was lowered to {most}, the cap of a deep run"
    return dataclasses.replace(profile, max_rounds=most, notes=(note,))


def _check_profile(profile: Profile) -> None:
    """Refuse fields that contradict each other."""
    minutes, review, names = profile.minutes, profile.review, [phase.name for phase in profile.phases]
    conflicts = [
        (_BOUND not in profile.stop, f"stop has no {_BOUND}: a thread might never end", f"Add {_BOUND} to stop."),
        (profile.words_min > profile.words_max, "words_min is over words_max", "Swap them."),
        (
            profile.authorize == "human" and not profile.phrase.strip(),
            "authorize needs the phrase that authorizes",
            'Set phrase = "...".',
        ),
        (review.revise and not review.critique, "review.revise needs review.critique", "Set both, or none."),
        (
            minutes is not None and profile.reserve_seconds >= 60.0 * minutes,
            f"reserve_minutes leaves no time of {minutes or 0:g} minutes",
            "Lower it.",
        ),
        (len(set(names)) < len(names), "phases has two phases of one name", "Rename one."),
    ]
    for phase in profile.phases:
        few, many = f"phase {phase.name} has min_", "over max_"
        conflicts += [
            (phase.min_queries > phase.max_queries, f"{few}queries {many}queries", "Swap them."),
            (phase.min_rounds > (phase.max_rounds or 100), f"{few}rounds {many}rounds", "Swap them."),
        ]
    for found, why, next_step in conflicts:
        if found:
            raise UserError("profile_conflict", f"{why}.", next_step=next_step)
