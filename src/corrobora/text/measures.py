"""Measures: the numbers of a text with unit, counted noun and bound, comparable across spellings.

Knows digits, number words, units and words such as "at least". Does not know what is measured. A unit library was
weighed: pint costs 3.7 MB and 2.3 s before the first conversion, and reads "in" as a unit.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

from corrobora.domain.limits import read_table
from corrobora.text.quantities import HALF_DAY, MONTHS, NUMBER_WORDS, SCALES, find_clocks
from corrobora.text.tokens import fold_text, stem_text, stem_word


class Unit(NamedTuple):
    """What a unit measures and how many base units it is; months and days do not convert into each other."""

    dimension: str
    factor: float


@dataclass(frozen=True, slots=True)
class Measure:
    """One number: its value in base units, its dimension ("" for a count), and how it is said."""

    value: float
    number: float  # as written, before its unit
    dimension: str
    text: str
    start: int
    end: int
    nouns: frozenset[str] = frozenset()  # stems of the words after it: what is counted
    bound: str = ""  # ">=", ">", "<=", "<"
    approximate: bool = False
    spelled: bool = False  # in words
    vague: bool = False  # part of a name ("SHP-2", "BRCA 1"), or said roughly ("a third", "several hundred")
    unit_at: int = 0  # where its unit begins, 0 without one

    @property
    def units(self) -> frozenset[str]:
        """The stems of its unit and of what it counts, "%" or a currency sign."""
        own = self.dimension if self.dimension in _CURRENCIES else "%" if self.dimension in ("ratio", "points") else ""
        letters = stem_text("" if self.spelled and not self.dimension else re.sub(r"[^A-Za-z°]+", " ", self.text))
        return self.nouns.union(letters, (own,) if own else ()) - _SCALE_STEMS

    def equals(self, other: Measure) -> bool:
        """True if both say the same amount; a bare number may be the fraction that a percentage is."""
        dimensions = {self.dimension, other.dimension}
        if dimensions == {"£", "mass"}:  # "four thousand pounds"
            return self.number == other.number and "pound" in f"{self.text} {other.text}"
        if dimensions == {"time", "length"}:  # settings write "15m" for 15 minutes
            minutes = {self.value, other.value} == {self.number, 60 * self.number} and self.number == other.number
            return minutes and any(_METRES.search(each.text) for each in (self, other))
        if dimensions == {"clock"} and (self.vague or other.vague):  # "7:40" may be said of the evening
            return (self.value - other.value) % HALF_DAY == 0
        same = len(dimensions) == 1 or dimensions <= {"", "ratio"}
        return same and abs(self.value - other.value) <= 1e-6 * max(abs(self.value), abs(other.value))


_METRES = re.compile(r"\d ?m\Z")  # or minutes
_SCALES = {**SCALES, "bn": 1e9, "mn": 1e6, "dozen": 12.0, "dozens": 12.0}
_SMALL_WORDS = {"zero": 0, **NUMBER_WORDS}
_PARTS = {"half": 2, "halves": 2, "third": 3, "thirds": 3, "quarter": 4, "quarters": 4, "fifth": 5, "fifths": 5,
          "tenth": 10, "tenths": 10}  # fmt: skip
_SMALL = "|".join(sorted((*_SMALL_WORDS, "hundred", "thousand", "million", "billion", "dozen"), key=len, reverse=True))
_SPELLED = re.compile(
    rf"(?i)(?<![\w-])(?:(half)(?: (?:of|an?|the)\b)?|(an?|one|two|three|four|five|seven|nine)[\s-]({'|'.join(_PARTS)})"
    rf"|(?:an? (?=(?:hundred|thousand|million|billion|dozen)\b))?(?!one (?:{_SMALL})s\b)"
    rf"((?:{_SMALL})(?:(?:[\s-]|(?:(?<=hundred)|(?<=thousand)|(?<=[mb]illion))\sand\s)(?:{_SMALL}))*s?))(?!\w|-in-)"
)
_DIGITS = re.compile(
    r"(?<![\w.])((?<!/)[-−+])?([$€£¥])?"
    r"[   ]?(\d{1,3}(?:[,   ’']\d{3})+(?:\.\d+)?|\d+,\d{1,2}(?!\d)|\d+(?:[.·]\d+)?|\.\d+)"
    r"(?:[\s-]?(bn|mn)\b|[\s-]?(hundred|thousand|million|billion|trillion|dozen)\b|(?(2)([mk])\b|(?!)))?(?![\d²³¹⁰-⁹])"
)
_IDENTIFIER = re.compile(  # "loop_wait/2 seconds" are no 2 seconds
    r"(?:(?<!\w)[^\W\d_]\w*_\w+/\d+|(?<![\w.])[^\W\d_]{1,20}(?:[-.]?\d[\w.-]*\w|-?\d)|"
    r"(?<![\w.-])\d+(?:(?:\.\d+){2,}|-\d+[A-Z]\w*|[A-Z]\d\w*))(?!\w)"
)
_UNIT_WORD = re.compile(r"([%‰$€£¥]|°\s?[CFcf]\b|(?:[^\W\d_]|µ)+(?:[²³]|[23](?!\w))?)")
_SHAPE = re.compile(r"(?i)(square|sq\.?|cubic|degrees?|per ?cent\b|percentage(?=[\s-]points?\b))[\s-]?")
_PER = re.compile(r"\s?/\s?|\s(?:per|an?|each|every)\s")
_NOUN = re.compile(r"[^\W\d_]+(?:[-'’][^\W\d_]+)*")
_CURRENCIES = frozenset("$€£¥")
_SCALE_STEMS = frozenset(map(stem_word, (*_SCALES, *_SMALL_WORDS)))
_MORE = "more greater higher longer larger older bigger later over above"
_LESS = "less fewer lower shorter smaller younger earlier under below"


def _compile_bound(pattern: str) -> re.Pattern[str]:
    """Compile a bound: MORE and LESS stand for the comparatives, "_" for white space."""
    more, less = ("(?:" + words.replace(" ", "|") + ")" for words in (_MORE, _LESS))
    return re.compile("(?i)" + pattern.replace("MORE", more).replace("LESS", less).replace("_", r"\s+"))


_FILL = r"\s*(?:an?|the|of|to|about|than)?\s*$"
_DENIED, _STATED = r"(?:no|not|never|cannot)(?:_\w+){0,2}?", r"(?:(?:_\w+)?_(?:of|is|are|was))?"
_BEFORE = tuple(
    (sign, _compile_bound(rf"(?:{words}){_FILL}"))
    for sign, words in (
        (">=", rf"\b(?:at_least|{_DENIED}_LESS(?:_than)?|minimum{_STATED}|starting_(?:at|from))|≥|>="),
        ("<=", rf"\b(?:at_most|{_DENIED}_MORE(?:_than)?|not_exceed(?:ing)?|up_to|as_(?:many|much)_as|limited_to)|≤|<="),
        ("<=", rf"\b(?:max\.|maximum){_STATED}"),
        (">", r"\b(?:MORE_than|over|above|exceed(?:s|ed|ing)?|upwards?_of)|>"),
        ("<", r"\b(?:LESS_than|under|below)|<"),
    )
)
_AFTER = (
    (">=", _compile_bound(r"\s*(?:\w+ ){0,2}(?:or|and)_MORE\b|\s*\w* (?:minimum|upwards?|onwards?)\b")),
    ("<=", _compile_bound(r"\s*(?:\w+ ){0,2}(?:or|and)_LESS\b|\s*\w* maximum\b")),
)
_ABOUT = re.compile(
    r"(?i)(?:\b(?:about|around|approximately|roughly|nearly|almost|circa|ca\.|some|close to|just (?:over|under)"
    r"|estimated|well over)|[~≈±])\s*(?:an?)?\s*$"
)
_VAGUE = re.compile(r"(?i)\b(?:several|a few|many|some)\s*$")
_DIFFERENCE = re.compile(r"\s(?:fewer|more|less|higher|lower|greater|longer|shorter)\b")  # of two numbers elsewhere
_NAMED = re.compile(r"[^\W\d_]\w*[-/+]$|(?:^|\W)\+$|(?<![^\W_])([A-Z][A-Z0-9-]+|[A-Z][a-z]+)\s$")  # before its digits
_ORDINAL = re.compile(r"(?:st|nd|rd|th)\b|(?<=\d0)s\b")
_OF_UNIT = re.compile(r"\s+of\s+an?\s+([^\W\d_]+)\b")
_SHARE = re.compile(r"(?i)\s(?:in|out of)(?: every)?\s")
_WHOLE = re.compile(r"(?i)\b(?:an?|one)\s([^\W\d_]{1,20})\sand\s\Z")
_YEARS = (1000, 2100)
_WINDOW = 28  # characters before a number in which its bound stands


@lru_cache(maxsize=1)
def _units() -> dict[str, Unit]:
    table: dict[str, dict[str, Any]] = read_table("units.toml")
    long_names = table["prefixes"]["names"]
    factors = table["prefixes"]["symbols"] | long_names
    found: dict[str, Unit] = {}
    for dimension, factor, names, prefixes in table["metric"]["units"]:
        for name in names.split():
            long = len(name) > 2 and name.islower() and name not in ("sec", "mol", "cal", "bit", "amp")  # noqa: PLR2004 - a symbol
            found[name] = Unit(dimension, factor)
            for prefix in long_names if long or name == "bit" else prefixes:
                found[prefix + name] = Unit(dimension, factor * factors[prefix])
    found |= {f"{prefix}B": Unit("data", 8 * factor) for prefix, factor in table["prefixes"]["binary"].items()}
    for dimension, rows in table["other"].items():
        waiting: list[str] = []  # names before the factor that they share
        for word in rows.split():
            name, _, factor = word.partition("=")
            waiting.append(name)
            if factor:
                found.update((each, Unit(dimension, float(factor))) for each in waiting)
                waiting = []
    return found


def find_unit(word: str) -> Unit | None:
    """Return the unit of a symbol or name, in the singular or plural; None if the word is no unit."""
    units = _units()
    plain = word.replace("° ", "°")
    low = plain.lower()
    shape = {"²": "2", "2": "2", "³": "3", "3": "3"}.get(plain[-1:], "")
    if shape and (base := units.get(plain[:-1])) is not None and base.dimension == "length":
        return Unit(base.dimension + shape, base.factor ** int(shape))
    for each in (plain, low, low.removesuffix("s")):
        if each in units and not (each != plain and len(each) < 3 and each not in ("h", "kb", "mb", "gb", "°c", "°f")):  # noqa: PLR2004 - "M" is no "m"
            return units[each]
    return {"kb": units["kB"], "mb": units["MB"], "gb": units["GB"], "tb": units["TB"]}.get(low)


def is_named_apart(measure: Measure, held: Sequence[Measure], text: str) -> bool:
    """True for "30 seconds" if one of the amounts `held` is a bare 30000 and the text says milliseconds elsewhere."""
    words = (word for word in re.findall(r"[^\W\d_]{4,}", text) if measure.dimension)  # "m" may be anything
    factors = {unit.factor for word in words if (unit := find_unit(word)) and unit.dimension == measure.dimension}
    bare = (each.number * factor for each in held if not each.dimension for factor in factors)
    return any(abs(value - measure.value) <= 1e-6 * abs(value) for value in bare)


@lru_cache(maxsize=4_000)  # as `find_measures`
def find_identifiers(text: str) -> tuple[str, ...]:
    """Return what joins letters and digits: "COVID-19", "800-63B", "v1.2.3"; their digits are no numbers."""
    found = [match.group() for match in _IDENTIFIER.finditer(text)]
    return tuple(each for each in found if find_unit(each) is None)


_COMPACT = re.compile(r"[sd](?![\w'’])")
_MAY_BE_DECADE = re.compile(r"(?:1[3-9]|20)?\d0")


@lru_cache(maxsize=4_000)  # every sentence is compared with the same quotes
def find_measures(text: str) -> tuple[Measure, ...]:
    """Return the numbers of a text in order; those inside identifiers are none."""
    clocks = list(find_clocks(text))
    if not clocks and not re.search(r"\d", text) and not _SPELLED.search(text):
        return ()
    taken = [match.span() for match in _IDENTIFIER.finditer(text)] + [(each.start, each.end) for each in clocks]
    spans = [(each, each.start, each.end) for each in clocks]
    found = [Measure(c.seconds, c.number, "clock", text[at:end], at, end, vague=c.vague) for c, at, end in spans]
    found += [
        _read_digits(text, match)
        for match in _DIGITS.finditer(text)
        if not any(start <= match.start(3) < end for start, end in taken)
    ]
    for match in _SPELLED.finditer(text):
        if any(each.start < match.end() and match.start() < each.end for each in found):
            continue  # the "million" of "4.2 million"
        if (read := _read_words(text, match)) is not None:
            found.append(read)
    found.sort(key=lambda each: each.start)
    return tuple(_share_units(_join_halves(found, text), text))


def _join_halves(found: list[Measure], text: str) -> list[Measure]:
    """Join a half to the whole before it: "two and a half hours", "an hour and a half"."""
    for at in range(len(found) - 1, -1, -1):
        half, one = found[at], found[at - 1] if at else None
        if not half.spelled or half.number != 0.5 or not half.text.lower().endswith("half"):  # noqa: PLR2004 - a half
            continue
        if one and text[one.end : half.start].strip().lower() == "and" and not one.dimension:
            found[at - 1 : at + 1] = [_finish(text, one.number + 0.5, one.start, half.end, "", spelled=one.spelled)]
        elif (whole := _WHOLE.search(text, 0, half.start)) and (unit := find_unit(whole.group(1))) is not None:
            value, begin = 1.5 * unit.factor, whole.start()
            found[at] = Measure(value, 1.5, unit.dimension, text[begin : half.end], begin, half.end, spelled=True)
    return found


def find_quantities(text: str) -> tuple[Measure, ...]:
    """Return the numbers of a text that have a unit, a scale or a noun, each shown with its noun; dates are none."""
    found: list[Measure] = []
    for each in find_measures(text):
        scaled = each.text.rpartition(" ")[2].lower() in _SCALES
        loose = each.vague and (not each.unit_at or each.number == 1)  # "one day", not "twenty percent"
        if loose or each.dimension in ("clock", "rank", "decade") or not (each.dimension or each.nouns or scaled):
            continue
        noun = None if each.dimension or not each.nouns else _NOUN.match(text, each.end + 1)
        if noun is None or not MONTHS.get(noun.group().lower()):
            found.append(replace(each, text=text[each.start : noun.end() if noun else each.end].strip()))
    return tuple(found)


def _read_digits(text: str, match: re.Match[str]) -> Measure:
    sign, currency, digits, short, scale, letter = match.groups()
    plain = digits.replace(",", ".") if re.fullmatch(r"\d+,\d\d?", digits) else re.sub(r"[,    ’']", "", digits)
    value = float(plain.replace("·", ".")) * _SCALES.get((short or scale or "").lower(), 1.0)
    value *= {"m": 1e6, "k": 1e3}.get(letter or "", 1.0)
    negative = sign in ("-", "−") and not (text[: match.start()][-1:].isalnum() or text[match.end(1)].isspace())
    return _finish(text, -value if negative else value, match.start(2 if currency else 3), match.end(), currency or "")


def _read_words(text: str, match: re.Match[str]) -> Measure | None:
    half, count, part, words = match.groups()
    if half:
        unit_follows = match.group().lower().endswith((" a", " an"))
        return _finish(text, 0.5, match.start(), match.end(), "" if unit_follows else "ratio", spelled=True)
    if part:
        value, end = _SMALL_WORDS.get(count.lower(), 1) / _PARTS[part.lower()], match.end()
        if (of_unit := _OF_UNIT.match(text, end)) and find_unit(of_unit.group(1)):  # "a quarter of a litre"
            return _finish(text, value, match.start(), of_unit.start(1) - 1, "", spelled=True)
        return _finish(text, value, match.start(), end, "ratio", spelled=True)
    share = _SHARE.match(text, match.end())
    if words.lower() == "one" and _read_unit(text, match.end())[0] is not None:
        return replace(_finish(text, 1.0, match.start(), match.end(), "", spelled=True), vague=True)  # or "one day"
    bounded = any(pattern.search(text, max(0, match.start() - _WINDOW), match.start()) for _, pattern in _BEFORE)
    pronoun = words.lower() == "one" and not (bounded or (share and _SPELLED.match(text, share.end())))
    if pronoun or words.lower().endswith(("ones", "ss")):
        return None  # more often a pronoun than a number
    total = current = 0.0
    for word in re.split(r"[\s-]+", words.lower().removesuffix("s")):
        if word in _SCALES:
            current = (current or 1.0) * _SCALES[word]
            if _SCALES[word] > 100:  # noqa: PLR2004 - "two hundred thousand"
                total, current = total + current, 0.0
        elif word != "and":
            current += _SMALL_WORDS.get(word, 0)
    return _finish(text, total + current, match.start(), match.end(), "", spelled=True)


def _finish(text: str, value: float, start: int, end: int, dimension: str, *, spelled: bool = False) -> Measure:  # noqa: PLR0913 - what was read so far
    """Read unit, nouns, bound and approximation around a number."""
    number_end, number = end, value
    compact = _COMPACT.match(text, end)  # of a parameter: "300s", "5d"
    if compact is not None and (compact.group() == "d" or not _MAY_BE_DECADE.fullmatch(text[start:end])):
        dimension, value, end = "time", value * (1 if compact.group() == "s" else 86_400), compact.end()
    elif ordinal := _ORDINAL.match(text, end):
        dimension, end = ("decade" if ordinal.group() == "s" else "rank"), ordinal.end()
    if not dimension:
        unit, end = _read_unit(text, end)
        if unit is not None:
            dimension, value = unit.dimension, value * unit.factor
    if dimension == "fahrenheit":
        dimension, value = "temperature", (value - 32) / 1.8
    before = text[max(0, start - _WINDOW) : start]
    about = _ABOUT.search(before) is not None
    if about:
        before = _ABOUT.sub("", before)
    bound = next((sign for sign, pattern in _BEFORE if pattern.search(before)), "")
    if dimension in ("time", "month") and re.search(r"(?i)\bover(?: an?| the)? ?$", before):
        bound = ""  # "over two decades" says how long something went on
    bound = bound or next((sign for sign, pattern in _AFTER if pattern.match(text, number_end)), "")
    nouns = _read_nouns(text, end)
    vague = spelled and (dimension == "ratio" or _VAGUE.search(before) is not None)
    vague = vague or _DIFFERENCE.match(text, end) is not None
    vague = vague or (not dimension and (text[end : end + 1].isalpha() or (not bound and _is_named(before, text, end))))
    said, unit_at = text[start:end].strip(), number_end if end > number_end else 0
    return Measure(value, number, dimension, said, start, end, nouns, bound, about, spelled, vague, unit_at)


def _is_named(before: str, text: str, end: int) -> bool:
    """True if digits that end at `end` are part of a name: "OCT3/4", "BRCA 1 carriers", "Level 2."."""
    match = _NAMED.search(before)
    if match is None or not (word := match.group(1)):
        return match is not None
    following = text[end : end + 2].strip()[:1]
    return not following.islower() if word[1:].islower() else find_unit(word) is None


def _read_unit(text: str, at: int) -> tuple[Unit | None, int]:
    """Return the unit that begins at `at` and where it ends; (None, at) without one."""
    begin = at
    if text[at : at + 1] in (" ", "-", " ", " "):
        begin += 1
    shape = _SHAPE.match(text, begin)
    word = shape.group(1).lower() if shape else ""
    if word in ("per cent", "percent"):
        return Unit("ratio", 0.01), begin + len(shape.group(1) if shape else "")
    if word == "percentage":
        return Unit("points", 1.0), text.find("point", begin) + 5
    match = _UNIT_WORD.match(text, shape.end() if shape else begin)
    if match is None or (unit := find_unit(match.group())) is None or match.group() in ("A", "a", "in"):
        return None, at
    end = match.end()
    if text[at : at + 1] == " " and unit.dimension in ("time", "month") and re.match(r"-[a-z]", text[end : end + 2]):
        return None, at  # "-03 year-round"
    if word.startswith(("sq", "cubic")) and unit.dimension == "length":
        power = 3 if word == "cubic" else 2
        unit = Unit(f"length{power}", unit.factor**power)
    per = _PER.match(text, end)
    below = _UNIT_WORD.match(text, per.end()) if per else None
    under = find_unit(below.group()) if below else None
    if below is not None and under is not None and unit.dimension not in ("ratio", "month"):
        return Unit(f"{unit.dimension}/{under.dimension}", unit.factor / under.factor), below.end()
    return unit, end


def _read_nouns(text: str, at: int) -> frozenset[str]:
    """Return the stems of the noun phrase after a number, at most four words; "of the" is skipped."""
    found: list[str] = []
    of: tuple[str, ...] = ("of",)
    for match in _NOUN.finditer(text, at, at + 60):
        gap, word = text[at : match.start()], match.group().lower()
        stem = stem_word(fold_text(match.group()))
        if gap.strip() not in ("", "-") or len(found) > 3 or (not stem and (found or word not in of)):  # noqa: PLR2004 - a phrase
            break
        at, of = match.end(), ("the", "these", "those", "all", "its", "their")
        if stem:
            found.append(stem)
    return frozenset(found)


def _share_units(found: list[Measure], text: str) -> list[Measure]:
    """Give the first number of a range the unit of the second ("8 to 12 mg"), "1 in 5" its share, "9/3 s" its value."""
    shares: list[Measure] = []
    listed = False
    for at in range(len(found) - 2, -1, -1):
        if at + 1 >= len(found):
            continue
        one, other = found[at], found[at + 1]
        gap = text[one.end : other.start]
        year = other.text.isdigit() and _YEARS[0] <= other.number < _YEARS[1]  # "twelve in 2022"
        if _SHARE.fullmatch(gap) and not year and 0 < one.number < other.number and not one.dimension + other.dimension:
            value = one.number / other.number
            said, end = text[one.start : other.end], other.end
            shares.append(Measure(value, value, "ratio", said, one.start, end, other.nouns, one.bound, one.approximate))
            found[at : at + 2] = [] if one.spelled else [one, other]  # "one in five" is no number five
            continue
        if gap == "/" and other.dimension and not one.dimension and other.number and one.number > other.number:
            value = one.number * other.value / other.number**2  # one reading: another is both, as of "64/32 bits"
            shares.append(replace(other, value=value, text=text[one.start : other.end], start=one.start))
        joined = gap.strip(" ,").lower()
        listed = joined in ("and", "or") or (listed and gap.strip() == ",")  # "353, 354, or 355 days"
        shared = listed or joined in ("-", "–", "—", "to")
        dated = _YEARS[0] <= one.number < _YEARS[1] and gap.strip() == ","  # "In 2017, 5 or 6 days"
        if dated or not shared or one.dimension or not (other.dimension or other.nouns):
            continue
        factor = other.value / other.number if other.number and other.dimension != "temperature" else 1.0
        found[at] = replace(one, value=one.value * factor, dimension=other.dimension, nouns=one.nouns or other.nouns)
    return found + shares
