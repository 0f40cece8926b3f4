"""Clock times: "15:00", "3 pm", "half past ten", "noon", as seconds of a day.

Knows digits, English words and a. m. and p. m. Does not know durations.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from corrobora.text.quantities import NUMBER_WORDS

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
