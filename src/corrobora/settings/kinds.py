"""Kinds of setting: from what a person wrote to a checked value, or the forms that would be accepted.

Knows texts, numbers with ranges, choices, lists. Does not know which settings exist or where a value was written.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias, TypeVar, cast

T = TypeVar("T")
Kind: TypeAlias = Callable[[object], T]
Unlimited: TypeAlias = Literal["unlimited"]
Dynamic: TypeAlias = Literal["dynamic"]

MAX_MINUTES = 10_080.0  # one week
MINUTES_FORMS = f"minutes as a number above 0 and at most {MAX_MINUTES:,.0f} (5, or 0.5), or unlimited"
_MODEL = re.compile(r"[a-z0-9][a-z0-9_.-]{0,63}:\S{1,200}\Z", re.IGNORECASE)
_NUMBER = re.compile(r"[+-]?(\d{1,30}(\.\d{0,30})?|\.\d{1,30})(e[+-]?\d{1,3})?\Z", re.IGNORECASE | re.ASCII)


class Refused(ValueError):
    """A value that a kind does not accept; the message lists what it would accept."""


def text(given: object) -> str:
    """One line of text that is not empty."""
    if isinstance(given, str) and given.strip() and given.isprintable():
        return given.strip()
    raise Refused("one line of text")


def boolean(given: object) -> bool:
    """True or false; the environment and flags write 1, 0, yes, no, on, off too."""
    if isinstance(given, bool):
        return given
    words = {"true": True, "1": True, "yes": True, "on": True, "false": False, "0": False, "no": False, "off": False}
    if isinstance(given, str) and given.strip().lower() in words:
        return words[given.strip().lower()]
    raise Refused("true or false")


def number(low: float, high: float, *, zero: bool = False) -> Kind[float]:
    """A finite number from `low` to `high`; `zero` allows exactly 0 besides."""
    expected = f"a number from {low:g} to {high:,g}" + (", or 0" if zero else "")

    def kind(given: object) -> float:
        value = _float(given)
        if value is None or not (low <= value <= high or (zero and value == 0)):
            raise Refused(expected)
        return value

    return kind


def integer(low: int, high: int) -> Kind[int]:
    """A whole number from `low` to `high`."""

    def kind(given: object) -> int:
        value = _float(given)
        if value is None or value != int(value) or not low <= value <= high:
            raise Refused(f"a whole number from {low:,} to {high:,}")
        return int(value)

    return kind


def minutes(given: object) -> float | Unlimited:
    """Minutes, or `unlimited` (TIMED-1)."""
    if isinstance(given, str) and given.strip().lower() == "unlimited":
        return "unlimited"
    value = _float(given)
    if value is None or not 0 < value <= MAX_MINUTES:
        raise Refused(MINUTES_FORMS)
    return value


def angles(given: object) -> int | Dynamic:
    """How many angles: 1 to 7, or `dynamic` for angles invented for the question (ANGLES-9)."""
    if isinstance(given, str) and given.strip().lower() == "dynamic":
        return "dynamic"
    value = _float(given)
    if value is None or value not in range(1, 8):
        raise Refused("a whole number from 1 to 7, or dynamic")
    return int(value)


def choice(*names: str) -> Kind[str]:
    """One of a closed set of words."""

    def kind(given: object) -> str:
        if isinstance(given, str) and given.strip().lower() in names:
            return given.strip().lower()
        raise Refused("one of " + ", ".join(names))

    return kind


def names(given: object) -> tuple[str, ...]:
    """A list of texts; the environment writes it with commas."""
    if isinstance(given, str):
        given = [part for part in given.split(",") if part.strip()]
    if isinstance(given, Sequence) and len(cast("Sequence[object]", given)) <= 1_000:  # noqa: PLR2004 - a list of names
        return tuple(text(item) for item in cast("Sequence[object]", given))
    raise Refused("a list of texts")


def model(given: object) -> str:
    """A model as `provider:model`; the name after the colon is the provider's own."""
    if isinstance(given, str) and _MODEL.match(given.strip()):
        return given.strip()
    raise Refused("provider:model, such as anthropic:MODEL, openai:MODEL or ENDPOINT:MODEL")


def url(given: object) -> str:
    """An http or https address of a configured service."""
    if isinstance(given, str) and re.match(r"https?://[^\s/?#]+\S*\Z", given.strip()) and len(given) <= 2_083:  # noqa: PLR2004 - LIMITS.url_max_chars
        return given.strip().rstrip("/")
    raise Refused("an address that starts with http:// or https://")


def mail_server(given: object) -> str:
    """A mail server: smtps://HOST:PORT, smtp://HOST:PORT without TLS, or HOST:PORT with STARTTLS."""
    if isinstance(given, str) and re.match(r"(?:smtps?://)?[\w.\[\]:-]+/?\Z", given.strip()):
        return given.strip().rstrip("/")
    raise Refused("a mail server such as mail.example.org:587 (STARTTLS), smtps://HOST or smtp://127.0.0.1:25")


def optional(kind: Kind[T]) -> Kind[T | None]:
    """The same kind for a setting whose default is None; what is written must still be a value."""
    return kind


def _float(given: object) -> float | None:
    """Return a finite number, or None; true, false and spelled-out `nan` or `inf` are no numbers."""
    if isinstance(given, bool):
        return None
    if isinstance(given, str):
        given = float(given) if _NUMBER.match(given.strip()) else None
    if isinstance(given, (int, float)):
        try:
            value = float(given)
        except OverflowError:
            return None
        return value if math.isfinite(value) else None
    return None
