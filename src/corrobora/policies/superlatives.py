"""Superlatives: which row of a table has the most or the least of what a question asks for.

Knows English superlatives, the nouns of their adjectives, and numbers in cells. Does not know tables: it is given rows
that are told by the heads of their columns.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from corrobora.policies.words import fold_text, split_words, stem_text, stem_word

_ADJECTIVE_NOUNS = {  # of the adjective in a question whose column is named otherwise
    "high": "height elevation altitude",
    "tall": "height",
    "low": "height level",
    "long": "length duration",
    "short": "length duration",
    "wide": "width",
    "deep": "depth",
    "heavy": "weight mass",
    "light": "weight mass",
    "old": "age year date built founded opened",
    "young": "age year date built founded opened",
    "new": "year date built founded opened",
    "late": "year date built founded opened",
    "early": "year date built founded opened",
    "fast": "speed time",
    "slow": "speed time",
    "strong": "strength power",
    "large": "size area volume capacity",
    "big": "size area volume capacity",
    "small": "size area volume capacity",
    "expensive": "price cost fee",
    "cheap": "price cost fee",
    "hot": "temperature",
    "cold": "temperature",
}
_LEAST_WORDS = frozenset(
    "least fewest smallest lowest shortest cheapest lightest slowest coldest earliest youngest".split()
)
_AGE_WORDS = frozenset("oldest youngest".split())
_SUPERLATIVE = re.compile(r"\b(?:(most|least)(?: (expensive))?|([a-z]{2,9}est|best|worst))\b")
_NO_SUPERLATIVE = frozenset("test rest nest west forest interest request harvest guest quest honest modest".split())
_NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?")
_YEARS = (1000, 2100)


@dataclass(frozen=True, slots=True)
class Extreme:
    """The most (`sign` 1) or the least (-1) of a column that is headed by one of these words."""

    sign: int
    heads: frozenset[str]
    aged: bool = False  # the oldest is of the most years, or of the first year


@lru_cache(maxsize=1_000)
def find_extreme(question: str) -> Extreme | None:
    """Return what extreme a question asks for, None if it asks for none.

    Example:
        >>> found = extreme("Which hall has the fewest doors?")
        >>> found.sign, sorted(found.heads)
        (-1, ['door'])
    """
    said = " ".join(split_words(question))
    for match in _SUPERLATIVE.finditer(said):
        degree, adjective, ending = match.groups()
        word = degree or ending
        if word in _NO_SUPERLATIVE:
            continue
        base = adjective or _base_adjective(word)
        after = [stem_word(each) for each in said[match.end() :].split()[:3]]
        heads = frozenset(each for each in after if each) | frozenset(
            map(stem_word, _ADJECTIVE_NOUNS.get(base, "").split())
        )
        if heads:
            return Extreme(-1 if word in _LEAST_WORDS or (degree == "least") else 1, heads, word in _AGE_WORDS)
    return None


def read_value(row: str, wanted: Extreme) -> float | None:
    """Return the number of a row, told as "Head: cell; Head: cell", in the column that is asked for; None without.

    Example:
        >>> value("Hall: Arden; Doors: 12", extreme("Which hall has the fewest doors?"))
        12.0
    """
    for cell in row.rstrip(".").split("; "):
        head, colon, text = cell.rpartition(": ")
        number = _NUMBER.search(text)
        if colon and number is not None and wanted.heads & frozenset(stem_text(head)):
            return float(number.group().replace(",", ""))
    return None


def find_foremost_rows(rows: Sequence[str], wanted: Extreme) -> frozenset[int]:
    """Return the places of the rows that have the extreme; nothing if fewer than two rows have a number there."""
    found = {at: number for at, row in enumerate(rows) if (number := read_value(row, wanted)) is not None}
    if len(found) < 2:  # noqa: PLR2004 - nothing to compare
        return frozenset()
    sign = wanted.sign
    if wanted.aged and all(_YEARS[0] <= number <= _YEARS[1] for number in found.values()):
        sign = -sign
    best = max(sign * number for number in found.values())
    return frozenset(at for at, number in found.items() if sign * number == best)


def _base_adjective(word: str) -> str:
    """Return the adjective of a superlative: "highest" is of "high", "biggest" of "big", "heaviest" of "heavy"."""
    root = fold_text(word).removesuffix("est")
    for base in (root, f"{root}e", root[:-1], f"{root[:-1]}y"):
        if base in _ADJECTIVE_NOUNS:
            return base
    return root
