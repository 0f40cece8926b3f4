"""Integrity: the digest that stands beside every answer, and its check.

Knows that a flipped bit must be found and never used silently. Does not know where answers are stored.
"""

from __future__ import annotations

from hashlib import blake2b

from corrobora.domain.errors import JournalError
from corrobora.ports import Entry


def entry_digest(entry: Entry) -> bytes:
    """Return 8 bytes that change with any bit of the entry. Raises `JournalError` for text no database can hold."""
    text = f"{entry.key}\x1f{entry.meta}\x1f{entry.out}"
    try:
        return blake2b(text.encode(), digest_size=8).digest()
    except UnicodeEncodeError as error:
        raise JournalError(
            "journal_text",
            f"The answer to {entry.key!r} holds half of a character pair (position {error.start}).",
            next_step="Write answers as JSON with escapes.",
        ) from error


def require_storable(entry: Entry) -> Entry:
    """Return the entry if PostgreSQL can hold its text; raise `JournalError` for zero bytes and broken characters."""
    if "\x00" in entry.key or "\x00" in entry.meta or "\x00" in entry.out:
        raise JournalError(
            "journal_text",
            f"The answer to {entry.key!r} holds a zero byte.",
            next_step="Write answers as JSON with escapes.",
        )
    return entry


def verify_entry(run: str, entry: Entry, stored: bytes) -> Entry:
    """Return the entry if its digest is the stored one; raise `JournalError` that names the key if not."""
    if entry_digest(entry) != bytes(stored):
        raise JournalError(
            "journal_damaged",
            f"The stored answer to {entry.key!r} of run {run} is damaged: its checksum does not match.",
            next_step=f"Restore the database from a copy, or start the run anew; run {run} is not used as it is.",
        )
    return entry
