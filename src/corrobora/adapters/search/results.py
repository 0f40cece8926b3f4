"""Results: from the rows of a provider's answer to hits that the engine can trust in form.

Knows what a usable address, date, score and text is, and drops what is not. Does not know any provider's field names.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import TypeGuard, cast

from corrobora.adapters.web.urls import BadUrl, normalize_url, page_key
from corrobora.domain.errors import ProviderError
from corrobora.domain.evidence import Hit, Query

SNIPPET_MAX_CHARS = 4_000
TITLE_MAX_CHARS = 300
_FIRST_YEAR = 1500  # earlier dates of web pages are fillers, as is the epoch
_EPOCH = date(1970, 1, 1)
_YEAR = re.compile(r"[0-9]{4}\Z")
_UNWANTED = dict.fromkeys([*range(9), 11, 12, *range(14, 32), 127], " ")  # control characters but tab and line ends


@dataclass(frozen=True, slots=True)
class ResultRow:
    """One result in our words, still as the provider wrote it."""

    url: object
    title: object
    snippet: object = ""
    score: object = None
    published: object = None


def is_mapping(value: object) -> TypeGuard[Mapping[str, object]]:
    """True for a JSON object."""
    return isinstance(value, dict)


def build_hits(  # noqa: PLR0913 - the parts of one translation
    rows: object,
    read: Callable[[Mapping[str, object]], ResultRow],
    *,
    provider: str,
    query: Query,
    limit: int,
    now: str,
) -> list[Hit]:
    """Return at most `limit` hits in the provider's order, each page once.

    A row without a usable address is dropped. An empty list means that the provider found nothing.

    Raises:
        ProviderError: `rows` is no list, or not one of its rows has an address: the shape has changed (S02).
    """
    if not isinstance(rows, list):
        raise ProviderError.bad_content(provider, "its results are no list")
    given = cast("list[object]", rows)
    read_rows = [read(row) for row in given if is_mapping(row)]
    if given and not any(isinstance(row.url, str) and row.url for row in read_rows):
        raise ProviderError.bad_content(provider, "none of its results has an address")
    found: dict[str, Hit] = {}
    for row in read_rows:
        if len(found) >= limit:
            break
        hit = _build_hit(row, provider, query, now)
        if hit is not None:
            found.setdefault(page_key(hit.url), hit)
    return list(found.values())


def _build_hit(row: ResultRow, provider: str, query: Query, now: str) -> Hit | None:
    if not isinstance(row.url, str):
        return None
    try:
        url = normalize_url(row.url)
    except BadUrl:
        return None
    return Hit(
        url=url,
        title=clean_line(row.title)[:TITLE_MAX_CHARS] or url,
        snippet=clean_text(row.snippet)[:SNIPPET_MAX_CHARS],
        score=parse_score(row.score),
        provider=provider,
        query=query.text,
        published=parse_published(row.published, now),
    )


def clean_text(value: object) -> str:
    """Return text without control characters and half characters, which no database stores; "" for other values."""
    if not isinstance(value, str):
        return ""
    return value.translate(_UNWANTED).encode("utf-8", "replace").decode("utf-8").strip()


def clean_line(value: object) -> str:
    """Return text on one line."""
    return " ".join(clean_text(value).split())


def parse_score(value: object) -> float:
    """Return a finite score; 0 for anything else, so that the provider's order decides (S12)."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0.0
    try:
        number = float(value)
    except OverflowError:
        return 0.0
    return number if math.isfinite(number) else 0.0


def parse_published(value: object, now: str) -> str:
    """Return an ISO date or a year; "" for what is no date, lies in the future, or is a filler (S11, H28).

    `now` is the ISO time that "future" is measured from; a day is granted for time zones.
    """
    text = value.strip() if isinstance(value, str) else ""
    today = datetime.fromisoformat(now).date()
    if _YEAR.match(text):
        return text if _FIRST_YEAR <= int(text) <= today.year else ""
    day = _parse_day(text)
    if day is None or day.year < _FIRST_YEAR or day == _EPOCH or day > today + timedelta(days=1):
        return ""
    return day.isoformat()


def _parse_day(text: str) -> date | None:
    if not text or len(text) > 64:  # noqa: PLR2004 - no date is longer
        return None
    try:
        return datetime.fromisoformat(text).date()
    except ValueError:
        pass
    try:
        return parsedate_to_datetime(text).date()
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
