"""Operands: the numbers of cited quotes with their units and the words and years that stand with them.

Knows digits, number words and scales, and which numbers belong to names. Does not know what is computed from them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from corrobora.text.quantities import NUMBER_WORDS, SCALES, find_years
from corrobora.text.support import Evidence
from corrobora.text.tokens import fold_text, stem_text, stem_word


@dataclass(frozen=True, slots=True)
class CitedEvidence:
    """A piece of cited evidence with the identity of its source."""

    evidence: Evidence
    source: str
    publisher: str = ""


@dataclass(frozen=True, slots=True)
class Number:
    """A number as written: `place` is half of its last digit, `unit` the stems after it, "%" or a currency sign."""

    value: float
    unit: frozenset[str]
    text: str
    start: int
    end: int
    place: float = 0.0
    is_year: bool = False


@dataclass(frozen=True, slots=True)
class QuotedNumber:
    """A number of the evidence with the words and years that stand with it."""

    number: Number
    words: frozenset[str]
    years: frozenset[int]


_DIGITS = r"\d{1,15}(?:,\d{3})*(?:\.\d{1,9})?"
_WORDED = rf"(?:{'|'.join(list(NUMBER_WORDS)[1:])})(?:-(?:{'|'.join(list(NUMBER_WORDS)[:9])}))?"
_NUMBER = re.compile(
    rf"(?i)(?<![\w.,/-])(?<!\d[–-])([$€£]?)({_DIGITS}|{_WORDED})(?![\d])(?:[\s-]({'|'.join(SCALES)})\b)?"
    r"(\s?(?:%|percentage points?\b|per\s?cent\b))?(?![\w]|[./-]\d|,\d|-[A-Z])"
)
_NAMING = frozenset("revision version rev section table figure chapter release part level step page no sp".split())
_IN_YEAR = ("in", "since", "until", "during")
_NO_UNIT = frozenset("more fewer less higher lower longer shorter larger smaller greater times".split())
_CLAUSE = re.compile(r"(?:[,;:.](?=\s)|\b(?:and|while|whereas|but|against|versus)\b)")


def scan_numbers(text: str) -> tuple[Number, ...]:
    """Return the numbers of a text in order, without those that are part of a name ("Revision 3", "800-63")."""
    found: list[Number] = []
    for match in _NUMBER.finditer(text):
        sign, digits, scale, percent = match.groups()
        before = re.search(r"([^\W\d_][\w’'-]*)\.?\s$", text[max(0, match.start() - 30) : match.start()])
        word = before.group(1) if before else ""
        if fold_text(word) in _NAMING or (word[:1].isupper() and stem_word(fold_text(word)) and before.start() > 0):  # pyright: ignore[reportOptionalMemberAccess]
            continue
        spelled, _, rest = digits.lower().partition("-")
        plain = digits.replace(",", "")
        value = float(plain) if digits[0].isdigit() else NUMBER_WORDS[spelled] + NUMBER_WORDS.get(rest, 0)
        factor = SCALES[scale.lower()] if scale else 1.0
        unit = frozenset({sign} if sign else {"%"} if percent else _read_unit(text[match.end() : match.end() + 40]))
        year = digits.isdigit() and len(digits) == 4 and 1500 <= value < 2100 and not (sign or scale or percent)  # noqa: PLR2004 - years
        after = text[match.end() : match.end() + 1]
        dated = word.lower() in (_IN_YEAR if unit else (*_IN_YEAR, "from", "to", "of", "by", "and"))
        year = year and (dated or (not unit and after == ")" and text[match.start() - 1 : match.start()] == "("))
        half = 0.5 * 10 ** -len(plain.partition(".")[2]) * factor
        found.append(Number(value * factor, unit, match.group().strip(), match.start(), match.end(), half, year))
    return tuple(found)


def _read_unit(following: str) -> Iterator[str]:
    """Yield the stems of the one or two words directly after a number."""
    for word in re.match(r"(?:[\s-][A-Za-z]+){0,2}", following).group().replace("-", " ").split():  # pyright: ignore[reportOptionalMemberAccess]
        if fold_text(word) in _NO_UNIT or not stem_word(fold_text(word)):
            return
        yield stem_word(fold_text(word))


def share_unit(one: frozenset[str], other: frozenset[str]) -> bool:
    """True if two units may be the same: one is not stated, or they share a word."""
    return not one or not other or bool(one & other)


def list_quoted_numbers(cited: Sequence[CitedEvidence]) -> tuple[QuotedNumber, ...]:
    """Return the numbers of the quotes, each with the words of its clause and of its source's labels."""
    found: list[QuotedNumber] = []
    for piece in cited:
        told = piece.evidence
        label = f"{told.title} {told.version} {told.heading} {told.published} {piece.publisher}"
        edges = [0, *(match.start() for match in _CLAUSE.finditer(told.quote)), len(told.quote)]
        for number in scan_numbers(told.quote):
            begin = max(edge for edge in edges if edge <= number.start)
            end = min(edge for edge in edges if edge >= number.end)
            clause = told.quote[begin:end]
            years = find_years(clause) or find_years(told.quote) or find_years(f"{label} {told.before} {told.after}")
            words = name_words(f"{clause} {label}") | {str(year) for year in years}
            found.append(QuotedNumber(number, words, frozenset(years)))
    return tuple(found)


def list_texts(evidence: Evidence) -> tuple[str, ...]:
    """Return the quote, its neighbours and what its source says about itself."""
    told = evidence
    return told.quote, told.title, told.version, told.heading, told.published, told.before, told.after


def name_words(text: str) -> frozenset[str]:
    """Return the stems of a text and its identifiers ("800-63-4", "3")."""
    return frozenset((*stem_text(text), *re.findall(r"(?<!\w)[\w.-]*\d[\w-]*", fold_text(text))))
