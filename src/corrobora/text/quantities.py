"""Dates, clock times, version numbers and the words for numbers of a text.

Knows months, number words and version numbers by their spelling, in linear time. Does not know amounts and units
(`measures`), which day it is, nor any product: a decimal with its unit is no version.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from corrobora.text.tokens import fold_text

MONTH_NAMES = tuple("january february march april may june july august september october november december".split())
WEEKDAYS = tuple("monday tuesday wednesday thursday friday saturday sunday".split())
MONTHS: dict[str, int] = {
    "sept": 9, **{form: number for number, name in enumerate(MONTH_NAMES, start=1) for form in (name, name[:3])}
}  # fmt: skip
_YEAR = re.compile(r"(?<![\d.,/-])(1[0-9]\d\d|20\d\d)(?![\d])(?!\.\d|,\d)")
SCALES = {"hundred": 1e2, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
SMALL_NUMBERS: dict[str, int] = {
    word: number
    for number, word in enumerate(
        "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
        "eighteen nineteen".split(),
        start=1,
    )
}
TENS: dict[str, int] = {
    word: 10 * number
    for number, word in enumerate("twenty thirty forty fifty sixty seventy eighty ninety".split(), start=2)
}
_GERMAN_NUMBERS = {
    word: number for number, word in enumerate("zwei drei vier fünf sechs sieben acht neun zehn".split(), start=2)
}
NUMBER_WORDS = SMALL_NUMBERS | _GERMAN_NUMBERS | TENS


def is_calendar_name(name: str) -> bool:
    """True for "November 6", "March" and "Sundays": dates have many spellings, so they name nothing."""
    word, _, rest = fold_text(name).partition(" ")
    return (word in MONTHS or word.removesuffix("s") in WEEKDAYS) and (not rest or rest.replace(" ", "").isdigit())


def find_years(text: str) -> tuple[int, ...]:
    """Return the distinct years from 1000 to 2099 in `text`, ascending."""
    return tuple(sorted({int(match.group(1)) for match in _YEAR.finditer(text)}))


class Date(NamedTuple):
    """A date with 0 for what is not said."""

    year: int
    month: int
    day: int
    text: str


_MONTH = (  # whole names: "Marketing 12" and "Decade 2020" are no dates
    r"(Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?"
    r"|Nov(?:ember)?|Dec(?:ember)?)\b\.?"
)
_D, _M = r"0?[1-9]|[12]\d|3[01]", r"0?[1-9]|1[0-2]"  # of a calendar, in digits
_SURE = r"1[3-9]|2\d|3[01]"  # a day that is no month
_Y = r"(?:19|20)\d\d"
_FORMS = (
    rf"(?<!\d)(?P<y1>\d{{4}})-(?P<m1>\d\d)(?:-(?P<d1>\d\d))?(?!\d)"
    rf"|(?<![\d./-])(?:(?P<y7>{_Y})/(?P<m7>{_M})/(?P<d7>{_D})|(?P<d8>{_D})\.(?P<m8>{_M})\.(?P<y8>{_Y})"
    rf"|(?P<m9>{_M})/(?P<d9>{_SURE})/(?P<y9>{_Y})|(?P<d0>{_SURE})/(?P<m0>{_M})/(?P<y0>{_Y}))(?![\d/-]|\.\d)"
    rf"|\b(?P<d2>\d{{1,2}})(?:st|nd|rd|th)? (?:of )?(?P<m2>{_MONTH})(?:,? (?P<y2>\d{{4}}))?\b"
    rf"|\b(?P<m3>{_MONTH}) (?P<d3>\d{{1,2}})(?:st|nd|rd|th)?(?!\d)(?:,? (?P<y3>\d{{4}}))?\b"
    rf"|\b(?P<m4>{_MONTH}),? (?:of )?(?P<y4>\d{{4}})\b"
    rf"|(?<=\b[io]n )(?P<m5>{_MONTH})(?=[ ,.;:!?]|$)|(?<=(?:late|ince|arly|ntil|d of) )(?P<m6>{_MONTH})(?=[ ,.;:!?]|$)"
)
_EITHER_ORDER = re.compile(rf"(?<![\d./-])({_M})/({_M})/({_Y})(?![\d/-]|\.\d)")  # a day or a month comes first
_DATES, _ANY_CASE = re.compile(_FORMS), re.compile(_FORMS, re.IGNORECASE)  # "may" without a year is a verb


@lru_cache(maxsize=2_000)  # what surrounds a quote is read for each sentence that cites it
def find_dates(text: str) -> tuple[tuple[Date, ...], str]:
    """Return the dates of a text and the text without them, so that their digits are no numbers."""
    matches = list(_DATES.finditer(text))
    return tuple(map(_read_date, matches)), _DATES.sub(lambda match: "~" * len(match.group()), text)


def _read_date(match: re.Match[str]) -> Date:
    parts = {name[0]: value for name, value in match.groupdict().items() if value}
    month = parts.get("m", "0")
    number = int(month) if month.isdigit() else MONTHS.get(month[:3].lower(), 0)
    return Date(int(parts.get("y", 0)), number, int(parts.get("d", 0)), match.group())


def read_date(text: str) -> str:
    """Return the first date of a text that says its year, as ISO day, month or year; "" for none.

    Example:
        >>> read_date("10 July 2024"), read_date("July 2024"), read_date("in 2024"), read_date("---")
        ('2024-07-10', '2024-07', '2024', '')
    """
    dated = next((each for each in map(_read_date, _ANY_CASE.finditer(text)) if each.year), None)
    possible = dated is not None and dated.month <= 12 and dated.day <= 31  # noqa: PLR2004 - of a calendar
    year = _YEAR.search(text)
    return "-".join(f"{part:02}" for part in dated[:3] if part) if dated and possible else year[0] if year else ""


def find_days(text: str) -> tuple[str, ...]:
    """Return the distinct full dates of `text` as ISO dates, in order; impossible dates are left out."""
    found = (_read_date(match) for match in _ANY_CASE.finditer(text))
    days = (f"{y}-{m:02d}-{d:02d}" for y, m, d, _ in found if y and 1 <= m <= 12 and 1 <= d <= 31)  # noqa: PLR2004 - a calendar
    return tuple(dict.fromkeys(days))


def find_date_prefixes(text: str, *, bare: bool = False) -> tuple[str, ...]:
    """Return the days and months that `text` names as sorted ISO prefixes ("2023-10"), with `bare` as "-10" as well.

    "5/2/2019" may be a day of May or of February: both are returned.
    """
    dates = [_read_date(match) for match in _ANY_CASE.finditer(text)]
    days = {f"{y}-{m:02d}-{d:02d}" for y, m, d, _ in dates if y and m and d}
    either = [(int(one), int(other), year) for one, other, year in _EITHER_ORDER.findall(text)]
    days |= {f"{y}-{m:02d}-{d:02d}" for a, b, y in either for m, d in ((a, b), (b, a))}
    months = {f"{y or ''}-{m:02d}" for y, m, d, _ in dates if (y or bare) and m and not d}
    months |= {f"-{m:02d}-{d:02d}" for y, m, d, _ in dates if bare and m and d and not y}
    return tuple(sorted(days | {each for each in months if not any(day.startswith(each) for day in days)}))


def find_told_dates(question: str, text: str) -> str:
    """Return the dates of a question, as it spells them, if a text names one of them in any spelling.

    Example:
        >>> find_told_dates("What was decided in June 2019?", "Minutes > 6/13/2019")
        'June 2019'
    """
    asked, said = find_date_prefixes(question, bare=True), find_date_prefixes(text)
    told = any(holds_date(day, each) for each in asked for day in said)
    return " ".join(match.group() for match in _ANY_CASE.finditer(question)) if told else ""


def holds_date(day: str, prefix: str) -> bool:
    """True if a day lies in what a prefix of `find_date_prefixes` names: "2019-06-13" in "2019-06" and in "-06"."""
    return day.find(prefix) in (0, 4)


_VERSION_NUMBER = re.compile(
    r"(?i)(?:(?<![\w.,/$€£-])|(?<=[a-z]-))v?(\d{1,4}(?:\.\d{1,4}){1,3}(?:[-.]?(?:alpha|beta|dev|post|rc|a|b|p)[-.]?\d{0,4}|_\d{1,3})?)(?![\w%]|[.,]\d)"
)
_MEASURED = re.compile(r"\s?(?:%|[°€$£]|percent\b|per cent\b|[a-z]+(?:s|meters?|metres?|grams?)\b|[kmcg]?[mgbl]\b)")
_NOT_MEASURED = re.compile(r"(?i)\s?(?:is|was|has|does|vs|as|this|series|releases?|changes?)\b")
_SECTION = re.compile(r"(?i)(?:§|\b(?:section|sec\.?|chapter|clause|table|figure|fig\.?|appendix|page|part))\s*$")
_OPENS_PART = re.compile(r"(?:^|> )$")  # of a path of headings: "4.3. Clocks" is a section
_RANGE = re.compile(r"(?i)\b(?:between|from|since|after)\b")
_DOTS_OF_DATE = 2
_PARTS = re.compile(r"\d+|[a-z]+")


@dataclass(frozen=True, slots=True)
class Releases:
    """The version numbers a question names; with `between`, everything after the first up to the last."""

    numbers: tuple[str, ...] = ()
    between: bool = False

    def __bool__(self) -> bool:
        return bool(self.numbers)

    def is_named_in(self, text: str) -> bool:
        """True if a text names one of the releases or one in their range; "2.31" does not name 2.3."""
        held = find_releases(text)
        if any(number in self.numbers for number in held):
            return True
        if not self.between:
            return False
        low, high = sorted((_release_key(self.numbers[0]), _release_key(self.numbers[-1])))
        return any(low < _release_key(number) <= high for number in held)


@lru_cache(maxsize=10_000)
def find_releases(text: str) -> tuple[str, ...]:
    """Return the distinct version numbers of a text in order, without "v"; measures and section numbers are none."""
    found: dict[str, None] = {}
    for match in _VERSION_NUMBER.finditer(text):
        after = text[match.end() : match.end() + 20]
        dots = match.group(1).count(".")
        measured = dots == 1 and _MEASURED.match(after) and not _NOT_MEASURED.match(after)
        section = _SECTION.search(text[max(0, match.start() - 12) : match.start()])
        dated = dots == _DOTS_OF_DATE and _DATES.fullmatch(match.group(1))
        if not (measured or section or dated or (after[:2] == ". " and _OPENS_PART.search(text, 0, match.start()))):
            found[match.group(1).lower()] = None
    return tuple(found)


@lru_cache(maxsize=1_000)
def find_asked_releases(question: str) -> Releases:
    """Return the releases a question asks about: "between 1.2 and 1.4" means after 1.2, up to 1.4."""
    numbers = find_releases(question)
    return Releases(numbers, 0 < len(numbers) <= 2 and _RANGE.search(question) is not None)  # noqa: PLR2004 - two ends


_NUMBERED_PART = (
    r"(?i)(?:§§?|\b(?:sections?|sec\.|chapters?|clause|article|paragraph|abschnitt|kapitel|artikel|ziffer))\s*"
    r"(\d{1,4}(?:\.\d{1,4})*)(?![\w.]*\d)"
)
_ASKED_SECTION = re.compile(_NUMBERED_PART)
_HEADED = re.compile(rf"{_NUMBERED_PART}|(\d{{1,4}}(?:\.\d{{1,4}})*)[.)]?(?:\s|$)")


def find_asked_sections(question: str) -> tuple[str, ...]:
    """Return the numbers of the sections that a question names."""
    return tuple(dict.fromkeys(_ASKED_SECTION.findall(question)))


@lru_cache(maxsize=10_000)
def is_in_section(place: str, number: str) -> bool:
    """True if a path of headings lies in the section of a number: "49. Bells > 2. Ropes" is section 49.2."""
    path = ""
    for part in place.split(" > "):
        found = _HEADED.match(part)
        if found is not None:
            own = found[1] or found[2]
            path = own if not path or own.startswith(f"{path}.") else f"{path}.{own}"
    return f"{path}.".startswith(f"{number}.")


def remove_known_series(question: str, text: str) -> str:
    """Return a question without its releases if a text names one of their series: a manual of 2.3.1 is one of 2.3."""
    asked, held = find_asked_releases(question).numbers, find_releases(text)
    return remove_releases(question) if any(h.startswith(f"{a}.") for a in asked for h in held) else question


def remove_releases(text: str) -> str:
    """Remove version numbers from a text: their digits would match unrelated sentences."""
    named = find_releases(text)
    return (
        _VERSION_NUMBER.sub(lambda match: " " if match.group(1).lower() in named else match.group(), text)
        if named
        else text
    )


def _release_key(number: str) -> tuple[tuple[int, str], ...]:
    return tuple((int(part), "") if part.isdigit() else (-1, part) for part in _PARTS.findall(number))


HALF_DAY = 43_200  # seconds


class ClockTime(NamedTuple):
    """A time of day: its seconds, the number as written, its place, and whether it may be of either half day."""

    seconds: float
    number: float
    start: int
    end: int
    vague: bool


_DIGITS = re.compile(
    r"(?i)(?<![\w:.])([01]?\d|2[0-4])(?::([0-5]\d)(?![\w:]))?(?(2)(?:\s?([ap])\.?m\b)?|\s?([ap])\.?m\b)"
)
_HOURS = {word: NUMBER_WORDS[word] for word in list(NUMBER_WORDS)[:12]}
_MINUTES = {"half": 30, "a quarter": 15, "quarter": 15, "five": 5, "ten": 10, "twenty": 20, "twenty-five": 25}
_WORDS = re.compile(
    rf"(?i)\b(?:({'|'.join(sorted(_MINUTES, key=len, reverse=True))}) (past|to) ({'|'.join(_HOURS)}|1[0-2]|[1-9])"
    r"|(noon|midday)|(midnight))\b(?! (?:percent|per cent|times)\b)"
)


def find_clocks(text: str) -> Iterator[ClockTime]:
    """Yield the times of day of a text; without a. m. or p. m., an hour up to twelve may be either."""
    for match in _DIGITS.finditer(text):
        hour, minute, half, other = match.groups()
        half = (half or other or "").lower()
        value = 3600.0 * (int(hour) % 12 + 12 * (half == "p") if half else int(hour)) + 60 * int(minute or 0)
        vague = not half and int(hour) <= 12  # noqa: PLR2004 - hours of a half day
        yield ClockTime(value, value if minute else float(hour), *match.span(), vague)  # "at seven" may be "at 7 pm"
    for match in _WORDS.finditer(text):
        minutes, side, hour, noon, midnight = match.groups()
        if noon or midnight:
            value = 0.0 if midnight else float(HALF_DAY)
            yield ClockTime(value, value, *match.span(), vague=False)
        elif (
            minutes.lower() in ("half", "a quarter", "quarter") or side.lower() == "past"
        ):  # "ten to twelve" is a range
            past = _MINUTES[minutes.lower()] * (1 if side.lower() == "past" else -1)
            value = 3600.0 * (_HOURS.get(hour.lower()) or int(hour)) + 60 * past
            yield ClockTime(value, value, *match.span(), vague=True)
