"""Waits: how long a server asks to be left alone.

Knows Retry-After in seconds and as a date. Does not know who waits.
"""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from corrobora.domain.limits import LIMITS


def parse_retry_after(value: str, now: str) -> float | None:
    """Return the seconds that a Retry-After header asks for, at most 60; None for none or nonsense (S15).

    `now` is the ISO time that a date is compared with.
    """
    text = value.strip()
    if text.isascii() and text.isdigit():
        return min(float(text[:9]), LIMITS.retry_after_max_seconds)
    try:
        at = parsedate_to_datetime(text)
        here = datetime.fromisoformat(now)
        seconds = (at if at.tzinfo else at.replace(tzinfo=UTC)) - (here if here.tzinfo else here.replace(tzinfo=UTC))
    except (ValueError, TypeError, OverflowError):
        return None
    wait = seconds.total_seconds()
    return min(wait, LIMITS.retry_after_max_seconds) if wait > 0 else None
