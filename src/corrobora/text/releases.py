"""Releases: the version numbers that a question names, and which texts speak of them.

Knows dotted numbers with and without a "v", and ranges between two of them. Does not know any product: a decimal with
its unit is no version.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

_NUMBER = re.compile(
    r"(?i)(?<![\w.,/$€£-])v?(\d{1,4}(?:\.\d{1,4}){1,3}(?:[-.]?(?:alpha|beta|dev|post|rc|a|b|p)[-.]?\d{0,4})?)(?![\w%]|[.,]\d)"
)
_MEASURED = re.compile(r"\s?(?:%|[°€$£]|percent\b|per cent\b|[a-z]+(?:s|meters?|metres?|grams?)\b|[kmcg]?[mgbl]\b)")
_NOT_MEASURED = re.compile(r"(?i)\s?(?:is|was|has|does|vs|as|this|series|releases?|changes?)\b")
_SECTION = re.compile(r"(?i)(?:§|\b(?:section|sec\.?|chapter|clause|table|figure|fig\.?|appendix|page|part))\s*$")
_RANGE = re.compile(r"(?i)\b(?:between|from|since|after)\b")
_PARTS = re.compile(r"\d+|[a-z]+")
_BELOW_ITS_NAME, _OF_IT, _OF_NONE, _OF_ANOTHER = 12.0, 2.0, 0.7, 0.3


@dataclass(frozen=True, slots=True)
class Releases:
    """The numbers that are named, and whether everything between the first and the last is meant."""

    numbers: tuple[str, ...] = ()
    between: bool = False

    def __bool__(self) -> bool:
        return bool(self.numbers)

    def is_named_in(self, text: str) -> bool:
        """True if a text names one of the releases, or one between them.

        Example:
            >>> asked = asked_releases("What changed in 2.3?")
            >>> asked.told_by("## v2.3 (May)"), asked.told_by("2.31")
            (True, False)
        """
        held = find_releases(text)
        if any(number in self.numbers for number in held):
            return True
        if not self.between:
            return False
        low, high = sorted((_release_key(self.numbers[0]), _release_key(self.numbers[-1])))
        return any(low < _release_key(number) <= high for number in held)


@lru_cache(maxsize=10_000)
def find_releases(text: str) -> tuple[str, ...]:
    """Return the version numbers of a text in order, each once, without their "v".

    Example:
        >>> releases_of("v2.3.0 weighs 1.5 kg less than 2.2.1"), releases_of("Section 4.2")
        (('2.3.0', '2.2.1'), ())
    """
    found: dict[str, None] = {}
    for match in _NUMBER.finditer(text):
        after = text[match.end() : match.end() + 20]
        dots = match.group(1).count(".")
        measured = dots == 1 and _MEASURED.match(after) and not _NOT_MEASURED.match(after)
        if not measured and not _SECTION.search(text[max(0, match.start() - 12) : match.start()]):
            found[match.group(1).lower()] = None
    return tuple(found)


@lru_cache(maxsize=1_000)
def find_asked_releases(question: str) -> Releases:
    """Return the releases that a question is about: "between 1.2 and 1.4" means what came after 1.2, up to 1.4."""
    numbers = find_releases(question)
    return Releases(numbers, len(numbers) == 2 and _RANGE.search(question) is not None)  # noqa: PLR2004 - two ends


def remove_releases(text: str) -> str:
    """Return a text without its version numbers: their digits stand in any sentence."""
    named = find_releases(text)
    return _NUMBER.sub(lambda match: " " if match.group(1).lower() in named else match.group(), text) if named else text


def score_release_match(asked: Releases, placed: Sequence[str], *, every: bool = False) -> float:
    """Return the factor of a statement for a question about releases; 1.0 where none is asked for.

    The first text that names any release decides: the statement, then what stands above it. Where `every` change of a
    release is asked for, what stands under its name tells more than a mention elsewhere.

    Example:
        >>> of_release(asked_releases("Is 2.3 fast?"), ("Faster.", "v2.3")), of_release(Releases(), ("Faster.",))
        (2.0, 1.0)
    """
    if not asked:
        return 1.0
    naming = next((at for at, text in enumerate(placed) if find_releases(text)), -1)
    if naming < 0:
        return _OF_NONE
    if every and any(asked.is_named_in(text) for text in placed[1:]):
        return _BELOW_ITS_NAME
    return _OF_IT if asked.is_named_in(placed[naming]) else _OF_ANOTHER


def _release_key(number: str) -> tuple[tuple[int, str], ...]:
    return tuple((int(part), "") if part.isdigit() else (-1, part) for part in _PARTS.findall(number))
