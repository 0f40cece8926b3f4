"""Dates of documents: which dates in a page belong to the page itself, and how new a change log is.

Knows where pages mark dates, spans of years, and headings of releases. Does not know how a date is declared or read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from corrobora.ports import Heading
from corrobora.text.quantities import find_dates

_ISO_DATE = re.compile(  # and releases such as 1.1.18, which are no days
    r"(?<!\d)\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?)?|(?<![\d.])\d{1,2}\.\d{1,2}\.\d\d(?![\d])"
)
_DATED = frozenset({"head", "script", "time", "abbr", "footer", "address"})  # where a date is one of the page
_CLAIMED = frozenset({"footer", "div", "p", "small", "span", "address"})  # where copyright is claimed
_TEXTS = "//text()[not(parent::script or parent::style or parent::title)]"
_MAYBE = re.compile(r"\d\s?[-–—.]")  # begins with what `re` finds fast
_MARKED = re.compile(
    r"(?i)(?<![a-z])(?:date|time|publi|post(?:ed)?-?(?:on|info|meta)|byline|updated|created|modified|meta)"
)
_SPAN = re.compile(r"(?<!\d)(?:19|20)\d\d\s?[-–—]\s?(?:(?:19|20)\d\d|present|now|today)(?!\d)")
_RELEASE = re.compile(r"(?i)(?:^|\W)(?:(?:version|release)\s+|v)?\d{1,4}(?:\.\d{1,4})+")
_LEAST_RELEASES = 2  # headings that name a release and its day make a change log


class Element(Protocol):
    """What is used of an element of lxml, which has no types."""

    tag: object
    text: str | None
    tail: str | None

    def get(self, key: str, default: str = "") -> str: ...

    def __iter__(self) -> Iterator[Element]: ...

    def itertext(self) -> Iterator[str]: ...

    def iter(self, *tags: str) -> Iterator[Element]: ...

    def findtext(self, path: str) -> str | None: ...

    def xpath(self, path: str) -> Any: ...

    def iterancestors(self) -> Iterator[Element]: ...

    def drop_tag(self) -> None: ...

    def drop_tree(self) -> None: ...


def trim_date(date: str, html: str) -> str:
    """Return the date, or only its year if its day is written nowhere in the page.

    The extractor completes "January 2024" by the current day; a report would print a day that nobody stated.
    """
    if date.count("-") < 2:  # noqa: PLR2004 - no day
        return date
    year, month, day = (int(part) for part in date.split("-"))
    numbers = rf"{year}[-/.]?0?{month}[-/.]?0?{day}|0?{day}[-/.]0?{month}[-/.]|0?{month}[-/.]0?{day}[-/.]"
    words = rf"0?{day}(?:st|nd|rd|th)?[.,]?\s(?:\w\w\s)?[^\W\d_]{{3,12}}|[^\W\d_]{{3,12}}\.?\s0?{day}"
    return date if re.search(rf"(?<!\d)(?:{numbers}|{words})(?!\d)", html) else str(year)


def drop_quoted_dates(tree: Element) -> None:
    """Take dates out of the text of a page, except where it is marked as a date: there they belong to examples.

    The extractor would date a manual by the first time stamp that one of its listings shows, and a page by the middle
    of the years for which its copyright is claimed.
    """
    for text in filter(_MAYBE.search, tree.xpath(_TEXTS)):
        holder = text.getparent() if text.is_text else text.getparent().getparent()
        plain = _SPAN.sub("", text) if holder.tag in _CLAIMED else text
        if _ISO_DATE.search(plain) and not any(map(_is_dated, (holder, *holder.iterancestors()))):
            plain = _ISO_DATE.sub("", plain)
        if plain != text:
            setattr(text.getparent(), "text" if text.is_text else "tail", plain)


def _is_dated(element: Element) -> bool:
    """True for a place where a date is one of the page."""
    named = _MARKED.search(f"{element.get('class') or ''} {element.get('id') or ''}")
    return element.tag in _DATED or named is not None


def date_by_releases(headings: Sequence[Heading], published: str = "") -> str:
    """Return when a document was published: a change log is at least as new as its newest release.

    Example:
        >>> log = [Heading(0, 2, "Version 1.2.4 (2023-03-24)"), Heading(9, 2, "Version 1.2.3 (2022-12-24)")]
        >>> date_by_releases(log, "2018-01-01")
        '2023-03-24'
    """
    days: list[str] = []
    for heading in headings:
        dates, rest = find_dates(heading.title)
        if _RELEASE.search(rest):
            days += [f"{d.year}-{d.month:02d}-{d.day:02d}" for d in dates if d.year and d.month and d.day]
    return max([published, *days]) if len(days) >= _LEAST_RELEASES else published
