"""Dates: the days, months and years that a text names, as values that compare.

Knows numeric dates and English months. Does not know which day it is.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from corrobora.text.quantities import MONTHS


class Date(NamedTuple):
    """A date with 0 for what is not said."""

    year: int
    month: int
    day: int
    text: str


_MONTH = r"(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)[a-z]{0,6}\.?"
_DATES = re.compile(
    rf"(?<!\d)(?P<y1>\d{{4}})-(?P<m1>\d\d)(?:-(?P<d1>\d\d))?(?!\d)"
    rf"|\b(?P<d2>\d{{1,2}})(?:st|nd|rd|th)? (?:of )?(?P<m2>{_MONTH})(?:,? (?P<y2>\d{{4}}))?\b"
    rf"|\b(?P<m3>{_MONTH}) (?P<d3>\d{{1,2}})(?:st|nd|rd|th)?(?!\d)(?:,? (?P<y3>\d{{4}}))?\b"
    rf"|\b(?P<m4>{_MONTH}),? (?:of )?(?P<y4>\d{{4}})\b"
    rf"|(?<=\b[io]n )(?P<m5>{_MONTH})(?=[ ,.;]|$)|(?<=(?:late|ince|arly|ntil|d of) )(?P<m6>{_MONTH})(?=[ ,.;]|$)"
)


def find_dates(text: str) -> tuple[list[Date], str]:
    """Return the dates of a text and the text without them, so that their digits are no numbers."""
    found: list[Date] = []

    def note(match: re.Match[str]) -> str:
        parts = {name[0]: value for name, value in match.groupdict().items() if value}
        month = parts.get("m", "0")
        number = int(month) if month.isdigit() else MONTHS.get(month[:3].lower(), 0)
        found.append(Date(int(parts.get("y", 0)), number, int(parts.get("d", 0)), match.group()))
        return "~" * len(match.group())

    rest = _DATES.sub(note, text)
    return found, rest
