"""Mentions: the names, identifiers, numbers, dates and quoted strings of a text.

Knows spelling only: capitals, digits, quotation marks, months. Does not know who or what is meant, nor any list of
names; the same text always gives the same mentions, in linear time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from corrobora.text.tokens import STOP_WORDS, fold_text, stem_text, stem_word


class MentionKind(StrEnum):
    """What a mention looks like."""

    NAME = "name"  # "Ermengarde of Tours", "The Verge"
    ACRONYM = "acronym"  # "SMS"
    IDENTIFIER = "identifier"  # "SP 800-63B", "RFC 2119", "AAL3"
    QUOTED = "quoted"  # a string in quotation marks


@dataclass(frozen=True, slots=True)
class Mention:
    """One mention as it stands in the text."""

    text: str
    kind: MentionKind
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number with the stem of the noun after it ("8 characters" is 8 of "charact"); "%" and currencies are units."""

    value: float
    unit: str
    text: str


_TOKEN = re.compile(r"[^\W_]+(?:[-'’./&+][^\W_]+)*\.?")
_QUOTED = re.compile(
    r"[\"“]([^\"“”\n]{2,120})[\"”]|(?<![^\W_])['‘]([^'‘’\n]{2,80}(?:['’]s [^'‘’\n]{2,80})?)['’](?![^\W_])"
)
_CONNECTORS = frozenset("of the de la le du des van von der den del di da dos das al bin ibn for and".split())
_NOT_JOINED = frozenset(("and", "for", "the"))  # may follow another connector, but never join two names by itself
_SENTENCE_OPENERS = frozenset(
    "how what when where who whom whose which why is are was were do does did has have had can could should would will "
    "shall may might must if in on at by for from to of and or but after before between considering given based "
    "according during since while although though because despite among under over about regarding compare "
    "describe explain list name tell give summarize discuss analyze analyse assess evaluate examine explore "
    "investigate identify outline determine summarise the a an this that these those it its he she they we you "
    "his her their our my your one two three some many most all each every any no not there here however also both "
    "then thus so as with without yes please note see using for example e.g i.e within across per".split()
)
_CAPITALIZED_KEYWORDS = frozenset(
    "shall must may should can not no and or the required recommended optional only all note".split()
)
MONTHS: dict[str, int] = {
    name: number
    for number, names in enumerate(
        (
            "january jan", "february feb", "march mar", "april apr", "may", "june jun", "july jul", "august aug",
            "september sep sept", "october oct", "november nov", "december dec",
        ),
        start=1,
    )
    for name in names.split()
}  # fmt: skip
_YEAR = re.compile(r"(?<![\d.,/-])(1[0-9]\d\d|20\d\d)(?![\d])(?!\.\d|,\d)")
_DATE = re.compile(
    r"\b(\d{4})-(\d{2})-(\d{2})\b|\b(\d{1,2})(?:st|nd|rd|th)? ([A-Za-z]{3,9})\.?,? (\d{4})\b"
    r"|\b([A-Za-z]{3,9})\.? (\d{1,2})(?:st|nd|rd|th)?,? (\d{4})\b"
)
_NUMBER = re.compile(
    r"(?<![\w.,-])([$€£]?)(\d{1,15}(?:,\d{3}){0,4}(?:\.\d{1,6})?)\s?(%|percent\b|per cent\b)?"
    r"(?:[\s-](thousand|million|billion|trillion|hundred)\b)?(?:[\s-]([A-Za-z]{1,20}))?(?![\w-])"
)
_SHORT_NUMBER = re.compile(r"(?<![\w.])\d{1,2}(?![\w.])")
_SCALE = {"hundred": 1e2, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
_ONES: dict[str, int] = dict(zip("one two three four five six seven eight nine".split(), range(1, 10), strict=True))
_TEENS: dict[str, int] = dict(
    zip(
        "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split(),
        range(10, 20),
        strict=True,
    )
)
_TENS: dict[str, int] = dict(
    zip("twenty thirty forty fifty sixty seventy eighty ninety".split(), range(20, 100, 10), strict=True)
)
_WORD_NUMBER = re.compile(
    rf"(?i)\b(?:({'|'.join(_TENS)})(?:[\s-]({'|'.join(_ONES)}))?|({'|'.join([*list(_ONES)[1:], *_TEENS])}))"
    r"[\s-]([A-Za-z]{3,20})\b"
)


def find_mentions(text: str) -> tuple[Mention, ...]:
    """Return the mentions of `text` in order, quoted strings included; mentions of one kind never overlap."""
    found = [*_find_quoted(text), *_find_capitalized(text)]
    return tuple(sorted(found, key=lambda mention: (mention.start, mention.end, mention.kind)))


def _find_quoted(text: str) -> Iterable[Mention]:
    for match in _QUOTED.finditer(text):
        inner = 1 if match.group(1) is not None else 2
        yield Mention(match.group(inner), MentionKind.QUOTED, match.start(inner), match.end(inner))


def _find_capitalized(text: str) -> list[Mention]:
    tokens = [(match.group().rstrip("."), match.start(), match.end()) for match in _TOKEN.finditer(text)]
    found: list[Mention] = []
    at = 0
    while at < len(tokens):
        if not _opens_mention(text, tokens, at):
            at += 1
            continue
        stop = at + 1
        while stop < len(tokens) and (step := _count_joined(text, tokens, stop)):
            stop += step
        found.append(_make_mention(text, tokens[at:stop]))
        at = stop
    return found


def _opens_mention(text: str, tokens: list[tuple[str, int, int]], at: int) -> bool:
    word, start, _ = tokens[at]
    if any(c.isdigit() for c in word):
        return (any(c.isalpha() for c in word) and not word[:-2].isdigit()) or (word.count("-") > 0 and len(word) > 4)  # noqa: PLR2004 - "3rd", "1-2"
    if not word[0].isupper():
        return False
    if len(word) > 1 and word.isupper():
        return fold_text(word) not in _CAPITALIZED_KEYWORDS
    folded = fold_text(word)
    if folded in _SENTENCE_OPENERS or folded in STOP_WORDS:
        follows = (
            at + 1 < len(tokens) and tokens[at + 1][0][0].isupper() and text[tokens[at][2] : tokens[at + 1][1]] == " "
        )
        return folded == "the" and follows and _is_inside_sentence(text, start)
    return len(word) > 1


def _is_inside_sentence(text: str, start: int) -> bool:
    """True if the word at `start` does not open a sentence."""
    before = text[max(0, start - 3) : start].rstrip(" \"'“‘(")
    return bool(before) and before[-1] not in ".!?:\n"


def _count_joined(text: str, tokens: list[tuple[str, int, int]], at: int) -> int:
    """Return how many tokens from `at` belong to the mention before them: 0, 1, or a connector and what follows."""
    word, start, _ = tokens[at]
    gap = text[tokens[at - 1][2] : start]
    if tokens[at - 1][0].endswith(("'s", "’s")) and fold_text(word) not in STOP_WORDS and word[0].isupper():
        return 1 if gap == " " else 0
    if gap not in (" ", " & ", "/"):
        return 0
    if word[0].isupper() and (fold_text(word) not in _SENTENCE_OPENERS or _capital_follows(text, tokens, at)):
        return 1
    if word[0].isdigit() and not tokens[at - 1][0][0].isdigit():
        return 1 if len(word) <= 12 else 0  # noqa: PLR2004 - longer is no part of a name
    for step in (1, 2):
        if at + step >= len(tokens) or fold_text(tokens[at + step - 1][0]) not in _CONNECTORS:
            return 0
        if text[tokens[at + step - 1][2] : tokens[at + step][1]] != " ":
            return 0
        ahead = tokens[at + step][0]
        if ahead[0].isupper() and fold_text(ahead) not in _SENTENCE_OPENERS:
            return 0 if fold_text(word) in _NOT_JOINED else step + 1
    return 0


def _capital_follows(text: str, tokens: list[tuple[str, int, int]], at: int) -> bool:
    """True inside a title in capitals ("Walking On The Water"): capitalised words follow up to one that carries it."""
    for ahead in range(at + 1, min(at + 4, len(tokens))):
        if text[tokens[ahead - 1][2] : tokens[ahead][1]] != " " or not tokens[ahead][0][0].isupper():
            return False
        if fold_text(tokens[ahead][0]) not in _SENTENCE_OPENERS:
            return True
    return False


def _make_mention(text: str, tokens: list[tuple[str, int, int]]) -> Mention:
    start = tokens[0][1]
    last, _, end = tokens[-1]
    end = start + len(text[start:end].rstrip("."))
    for ending in ("'s", "’s"):
        if last.endswith(ending):
            end -= len(ending)
    literal = text[start:end]
    kind = MentionKind.NAME
    if any(c.isdigit() for c in literal) and (literal.upper() == literal or any(c.isdigit() for c in tokens[0][0])):
        kind = MentionKind.IDENTIFIER
    elif len(tokens) == 1 and literal.isupper() and len(literal) > 1:
        kind = MentionKind.ACRONYM
    return Mention(literal, kind, start, end)


def find_names(text: str) -> tuple[str, ...]:
    """Return the distinct names, acronyms and identifiers of `text` in order of first use, quoted strings excluded."""
    return tuple(dict.fromkeys(m.text for m in find_mentions(text) if m.kind is not MentionKind.QUOTED))


def is_calendar_name(name: str) -> bool:
    """True for "November 6" and "March": dates are written in many ways, so they name nothing."""
    word, _, rest = name.partition(" ")
    return bool(MONTHS.get(fold_text(word))) and (not rest or rest.replace(" ", "").isdigit())


def find_years(text: str) -> tuple[int, ...]:
    """Return the distinct years 1000 to 2099 of `text`, rising."""
    return tuple(sorted({int(match.group(1)) for match in _YEAR.finditer(text)}))


def find_dates(text: str) -> tuple[str, ...]:
    """Return the distinct full dates of `text` as ISO dates, in order; impossible ones are left out."""
    found: list[str] = []
    for match in _DATE.finditer(text):
        year, month, day, day2, month2, year2, month3, day3, year3 = match.groups()
        name = month2 or month3
        number = int(month) if month else MONTHS.get(fold_text(name), 0)
        of_month = int(day or day2 or day3)
        if 1 <= number <= 12 and 1 <= of_month <= 31:  # noqa: PLR2004 - a calendar
            found.append(f"{year or year2 or year3}-{number:02d}-{of_month:02d}")
    return tuple(dict.fromkeys(found))


def find_quantities(text: str) -> tuple[Quantity, ...]:
    """Return the numbers of `text` with their units, in order; bare numbers, years and identifiers have no unit ""."""
    found: list[tuple[int, Quantity]] = []
    for match in _NUMBER.finditer(text):
        currency, digits, percent, scale, noun = match.groups()
        unit = "%" if percent else currency or (stem_word(fold_text(noun)) if noun else "")
        value = float(digits.replace(",", "")) * _SCALE.get(scale or "", 1.0)
        if (unit or scale) and not (noun and fold_text(noun) in MONTHS):
            named = noun and stem_word(fold_text(noun))  # "12 million in" names no unit
            told = text[
                match.start() : match.end(3) if percent else match.end() if named else match.end(4 if scale else 2)
            ]
            found.append((match.start(), Quantity(value, unit, told.strip())))
    for match in _WORD_NUMBER.finditer(text):
        tens, ones, alone, noun = match.groups()
        unit = stem_word(fold_text(noun))
        if unit:
            small = {**_ONES, **_TEENS}
            value = _TENS[fold_text(tens)] + small.get(fold_text(ones or ""), 0) if tens else small[fold_text(alone)]
            found.append((match.start(), Quantity(float(value), unit, match.group())))
    return tuple(quantity for _, quantity in sorted(found, key=lambda pair: pair[0]))


def mentions_name(text_stems: frozenset[str], squashed: str, name: str) -> bool:
    """True if a text, given as stems and as `squash`ed characters, mentions `name`, spacing and order ignored.

    Of an identifier the numbered part is enough: "NIST SP 800-63B" is named by "SP800-63B".
    """
    wanted = stem_text(name)
    small = strip_to_alphanumeric(name)
    if wanted and all(part in text_stems for part in wanted) and (not _SHORT_NUMBER.search(name) or small in squashed):
        return True  # a short number stands in any text: it must follow its name
    if len(small) > 3 and small in squashed:  # noqa: PLR2004 - shorter strings stand in any text
        return True
    numbered = [part for part in name.split() if any(c.isdigit() for c in part)]
    return (
        bool(numbered)
        and len(numbered) < len(name.split())
        and all(
            len(strip_to_alphanumeric(part)) > 3 and strip_to_alphanumeric(part) in squashed  # noqa: PLR2004 - as above
            for part in numbered
        )
    )


def strip_to_alphanumeric(text: str) -> str:
    """Return the letters and digits of `text` alone, folded: "SP 800-63B" and "sp800-63b" are one."""
    return "".join(c for c in fold_text(text) if c.isalnum())
