"""Fields: what each key of a profile may hold, and the message when it does not.

Knows names, kinds, ranges and choices of every field of a profile, a phase and a review. Does not know files.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import get_args

from corrobora.domain.errors import UserError
from corrobora.domain.limits import LIMITS
from corrobora.policies.budget import MAX_MINUTES
from corrobora.policies.queries import Rotation
from corrobora.policies.stop import ADVANCE_RULES, STOP_RULES
from corrobora.roles.plan import Split

ARTIFACTS = ("plan", "subagents", "micro_reports", "completion", "phase_state", "rounds")
LAYOUTS = ("questions", "angles", "words", "completion")
UNLIMITED = "unlimited"
_LONGEST_TEXT = 2_000
_MOST_ITEMS = 64


@dataclass(frozen=True, slots=True)
class Field:
    """What one key may hold: `read` returns the value as a profile holds it or raises ValueError; `allowed` says it."""

    read: Callable[[object], object]
    allowed: str


def whole(low: int, high: int) -> Field:
    """A whole number; a boolean is none."""

    def read(value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise ValueError
        return value

    return Field(read, f"a whole number from {low} to {high}")


def number(low: float, high: float) -> Field:
    """A finite number; a boolean is none."""

    def read(value: object) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ValueError  # noqa: TRY004 - one error for all kinds; the caller names key, value and what is allowed
        if not math.isfinite(value) or not low <= value <= high:
            raise ValueError
        return float(value)

    return Field(read, f"a number from {low:g} to {high:g}")


def minutes() -> Field:
    """A time limit in minutes, over 0, or the word for none, which becomes None."""
    inner = number(0.0, MAX_MINUTES)

    def read(value: object) -> object:
        if value == UNLIMITED:
            return None
        found = inner.read(value)
        if found == 0.0:
            raise ValueError
        return found

    return Field(read, f'minutes over 0, at most {MAX_MINUTES:g}, or "{UNLIMITED}"')


def text(longest: int = _LONGEST_TEXT) -> Field:
    """A text of a bounded length."""

    def read(value: object) -> str:
        if not isinstance(value, str) or len(value) > longest:
            raise ValueError
        return value

    return Field(read, f"a text of at most {longest:,} characters")


def choice(options: Iterable[str]) -> Field:
    """One word of a closed set."""
    allowed = tuple(options)

    def read(value: object) -> str:
        if not isinstance(value, str) or value not in allowed:
            raise ValueError
        return value

    return Field(read, f"one of {', '.join(allowed)}")


def texts(options: Iterable[str] = (), *, least: int = 0) -> Field:
    """A list of texts without repetition, of a closed set if there is one."""
    allowed = tuple(options)

    def read(value: object) -> tuple[str, ...]:
        if not isinstance(value, list | tuple) or not least <= len(value) <= _MOST_ITEMS:  # pyright: ignore[reportUnknownArgumentType]
            raise ValueError
        items = tuple(each for each in value if isinstance(each, str) and len(each) <= _LONGEST_TEXT)  # pyright: ignore[reportUnknownVariableType]
        if len(items) != len(value) or len(set(items)) != len(items):  # pyright: ignore[reportUnknownArgumentType]
            raise ValueError
        if allowed and not set(items) <= set(allowed):
            raise ValueError
        return items

    return Field(read, f"a list of {'texts' if not allowed else ', '.join(allowed)}, each once")


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError  # noqa: TRY004 - as above
    return value


flag = Field(_flag, "true or false")

PHASE: Mapping[str, Field] = MappingProxyType(
    {
        "name": text(64),
        "goal": text(),
        "min_queries": whole(1, 20),
        "max_queries": whole(1, 20),
        "providers": texts(),
        "rotation": choice(get_args(Rotation)),
        "query_hints": texts(),
        "reading_prompt": text(),
        "min_rounds": whole(1, 100),
        "max_rounds": whole(1, 100),
        "minutes": minutes(),
    }
)
REVIEW: Mapping[str, Field] = MappingProxyType(
    {"critique": flag, "revise": flag, "judge": flag, "min_score": number(0.0, 1.0)}
)
PROFILE: Mapping[str, Field] = MappingProxyType(
    {
        "name": text(64),
        "summary": text(),
        "split": choice(get_args(Split)),
        "max_depth": whole(1, LIMITS.plan_max_depth),
        "max_leaves": whole(1, LIMITS.plan_max_leaves),
        "dynamic_angles": flag,
        "discovery": flag,
        "authorize": choice(("human", "auto")),
        "phrase": text(200),
        "pause_between_rounds": flag,
        "advance": choice(ADVANCE_RULES),
        "leaves_in_turn": flag,
        "queries_in_turn": flag,
        "pause_seconds": number(0.0, 60.0),
        "max_concurrency": whole(1, 64),
        "reads_per_round": whole(1, 100),
        "hits_per_query": whole(1, 100),
        "whole_documents": flag,
        "stop": texts(STOP_RULES, least=1),
        "max_rounds": whole(1, 100),
        "deep_rounds": whole(1, 100),
        "attempts": whole(1, 10),
        "exhaust": flag,
        "drift": flag,
        "escapes": flag,
        "coverage": flag,
        "minutes": minutes(),
        "reserve_minutes": number(0.0, MAX_MINUTES),
        "share_facts": flag,
        "recall_facts": flag,
        "layout": choice(LAYOUTS),
        "words_min": whole(0, 100_000),
        "words_max": whole(50, 100_000),
        "artifacts": texts(ARTIFACTS),
        "lead_thinking": flag,
    }
)


def read_fields(table: Mapping[str, object], fields: Mapping[str, Field], *, where: str) -> dict[str, object]:
    """Return the values of a table as a profile holds them.

    Raises:
        UserError: profile_unknown_key with the nearest valid key (the value is never shown: it may be a secret), or
            profile_bad_value with key, value and what is allowed.
    """
    found: dict[str, object] = {}
    for key, value in table.items():
        rule = fields.get(key)
        if rule is None:
            raise unknown_key(key, fields, where=where)
        try:
            found[key] = rule.read(value)
        except ValueError:
            raise UserError(
                "profile_bad_value",
                f"{where}: {key} is {_short(value)}; allowed: {rule.allowed}.{_nearest_item(value, rule)}",
                next_step="Correct the value.",
            ) from None
    return found


def unknown_key(key: str, known: Iterable[str], *, where: str) -> UserError:
    """Name the key that nobody knows, and the nearest one that somebody does (bad-input C03)."""
    names = sorted(known)
    near = difflib.get_close_matches(key, names, n=1, cutoff=0.5)
    hint = f"Did you mean {near[0]}?" if near else f"Known keys: {', '.join(names)}."
    return UserError("profile_unknown_key", f"{where}: there is no key {key[:60]!r}.", next_step=hint)


def _short(value: object) -> str:
    said = value if isinstance(value, str) else repr(value)
    return repr(said[:60]) if isinstance(value, str) else said[:60]


def _nearest_item(value: object, rule: Field) -> str:
    """For a misspelt word of a list: the nearest allowed one."""
    if not isinstance(value, str | list | tuple):
        return ""
    words = [value] if isinstance(value, str) else [each for each in value if isinstance(each, str)]  # pyright: ignore[reportUnknownVariableType]
    options = rule.allowed.replace("one of ", "").replace("a list of ", "").split(", ")
    for word in words:
        near = difflib.get_close_matches(word, options, n=1, cutoff=0.6)
        if word not in options and near:
            return f" Did you mean {near[0]}?"
    return ""
