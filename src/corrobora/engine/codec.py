"""Codec: frozen values to JSON text and back, and the digests of journal keys.

Knows the types of the domain and of the roles. Does not know the journal; revives values only, never objects.
"""

from __future__ import annotations

import functools
import hashlib
from dataclasses import dataclass
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from corrobora.domain.errors import JournalError
from corrobora.domain.limits import Usage
from corrobora.ports import Entry

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class CallMeta:
    """What is known of a journaled call beside its answer: cost, who played it, and the working time it ended at."""

    elapsed: float = 0.0
    usage: Usage | None = None
    role: str = ""
    analyst: str = ""
    model: str = ""
    fallback: str = ""  # why an earlier analyst of the chain did not answer
    provider: str = ""
    searches: int = 0


@functools.cache
def get_type_adapter(kind: type[T]) -> TypeAdapter[T]:
    """Return the validator of a type, built once."""
    return TypeAdapter(kind)


def encode(kind: type[T], value: T) -> str:
    """Return `value` as JSON text with a stable order of fields."""
    return get_type_adapter(kind).dump_json(value).decode()


def decode(kind: type[T], text: str, *, key: str) -> T:
    """Return the value in `text`.

    Raises:
        JournalError: `journal_damaged`, if the text is not a value of this type.
    """
    try:
        return get_type_adapter(kind).validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        raise JournalError(
            "journal_damaged",
            f"The journal entry {key} does not hold a {kind.__name__} ({first['msg']}).",
            next_step="Start a new run, or remove this one with: corrobora runs rm RUN",
        ) from error


def hash_parts(*parts: str) -> str:
    """Return 16 hex digits that name the parts; part of a journal key."""
    joined = "\0".join(parts).encode("utf-8", "surrogatepass")
    return hashlib.sha256(joined).hexdigest()[:16]


def decode_meta(entry: Entry) -> CallMeta:
    """Return the meta of an entry. Raises `JournalError` if it is damaged."""
    return decode(CallMeta, entry.meta, key=entry.key)
