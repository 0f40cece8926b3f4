"""What the forms of several roles share: field types, and cleaning of what a model filled in.

Knows texts, names of subjects and addresses. Does not know any role.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Annotated, Any

from pydantic import BeforeValidator, ConfigDict, Field

from corrobora.domain.limits import LIMITS
from corrobora.domain.plan import Subject

_PERCENT_FROM, _PERCENT = 10, 100  # 8 may be of ten: it is refused


def _read_percent(value: Any) -> Any:
    """Read 90 as .9; what may mean something else is left to be refused."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value / _PERCENT if is_number and _PERCENT_FROM < value <= _PERCENT else value


Score = Annotated[float, Field(ge=0.0, le=1.0), BeforeValidator(_read_percent)]
Ids = Annotated[list[str], Field(description="Ids exactly as shown.")]
Names = Annotated[list[str], Field(description="Names exactly as shown.")]

_URL = re.compile(r"https?://[^\s<>\"'\])}]{1,2000}")


STRICT = ConfigDict(extra="forbid")  # of a form whose fields take effect: one that is unknown is refused, not dropped


class UnusableAnswer(ValueError):
    """What a model filled in breaks a rule; the message goes into the one repair call."""


def clean_texts(values: Iterable[str]) -> tuple[str, ...]:
    """Fold white space and drop empty texts."""
    return tuple(text for value in values if (text := " ".join(value.split())))


def drop_duplicates(values: Iterable[str]) -> tuple[str, ...]:
    """Return each value once, in the order of its first occurrence."""
    return tuple(dict.fromkeys(values))


def clean_query(text: str) -> str:
    """Return a query without addresses: a model names no place to go to."""
    return " ".join(_URL.sub(" ", text).split())[: LIMITS.query_max_chars]


def match_subjects(names: Iterable[str], subjects: Sequence[Subject]) -> tuple[str, ...]:
    """Give subjects their own names, whatever alias or case the model used; unknown names are dropped."""
    known = {alias.casefold(): s.name for s in reversed(subjects) for alias in (*s.aliases, s.name)}
    return drop_duplicates(known[name.strip().casefold()] for name in names if name.strip().casefold() in known)
