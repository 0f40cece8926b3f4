"""Versions: put two dated or numbered editions in order.

Knows years, months and revision numbers as people write them. Does not know any document.
"""

from __future__ import annotations

import re

from corrobora.policies.mentions import find_years
from corrobora.policies.words import fold_text

_VERSION_NUMBER = re.compile(
    r"\b(?:revision|rev|version|ver|edition|release|v|draft|part|r)\.?\s?(\d{1,4})(?:\.(\d{1,4}))?"
)
_MONTH = re.compile(r"\b(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}\b")
_MONTHS: tuple[str, ...] = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_ISO = re.compile(r"^(\d{4})(?:-(\d{2}))?(?:-(\d{2}))?")

VersionKey = tuple[int, int, int, int, int]
UNKNOWN_VERSION: VersionKey = (0, 0, 0, 0, 0)


def make_version_key(version: str, published: str) -> VersionKey:
    """Return a key that rises with time: publication date, else the year (month) in the version, then its number.

    `UNKNOWN` if neither says anything.
    """
    folded = fold_text(version)
    numbered = _VERSION_NUMBER.search(folded)
    major, minor = (int(numbered.group(1)), int(numbered.group(2) or 0)) if numbered else (0, 0)
    iso = _ISO.match(published)
    if iso is not None:
        return int(iso.group(1)), int(iso.group(2) or 0), int(iso.group(3) or 0), major, minor
    stated = find_years(version)
    if stated:
        month = _MONTH.search(folded)
        return stated[0], _MONTHS.index(month.group(1)) + 1 if month else 0, 0, major, minor
    return 0, 0, 0, major, minor


def compare_versions(a: tuple[str, str], b: tuple[str, str]) -> int:
    """Compare two (version, published): -1 if `a` is older, 1 if newer, 0 if the order is unknown.

    Dates are compared only if both are known, numbers only if both are known.
    """
    first, second = make_version_key(*a), make_version_key(*b)
    for at, until in ((0, 3), (3, 5)):
        if first[at] and second[at] and first[at:until] != second[at:until]:
            return -1 if first[at:until] < second[at:until] else 1
    return 0


def label_version(version: str, published: str, title: str) -> str:
    """Name an edition for a reader: its version, else its date, else its title."""
    return version or published[:10] or title
