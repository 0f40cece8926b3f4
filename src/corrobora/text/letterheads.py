"""The letterhead of a memo or report in plain text: who sends it, to the left and right, with the title below.

Knows the columns in which its lines are set. Does not know what they say.
"""

from __future__ import annotations

import re

from corrobora.text.entries import measure_indent
from corrobora.text.quantities import find_dates, read_date

_CELLS = re.compile(r"(?<=\S) {3,}(?=\S)")
_MOST_LINES, _MOST_CHARS = 12, 1_500
_RIGHT = 24  # columns by which a line is indented that is set to the right
_TITLE_LINES, _TITLE_CHARS = 3, 150
ENDS_SENTENCE = tuple(".!?:;")


def find_letterhead(text: str) -> int:
    r"""Return where the letterhead ends that opens a text, 0 if none does: lines of two cells, or set to the right.

    Example:
        >>> find_letterhead("Harbour Board          O. Brandt\nNote 12             9 May 1984\n\nThe cranes")
        63
    """
    start = len(text) - len(text.lstrip())
    block = text[start : start + _MOST_CHARS].split("\n\n", 1)[0]
    lines = block.split("\n")
    apart = sum(_CELLS.search(line) is not None or measure_indent(line) >= _RIGHT for line in lines)
    opens = 1 < len(lines) <= _MOST_LINES and 2 * apart >= len(lines)
    return start + len(block) if opens else 0


def read_letterhead(text: str) -> tuple[str, str]:
    """Return title and date of a text that opens with a letterhead, "" for what is not found.

    The title is the short block below it that ends like no sentence.
    """
    end = find_letterhead(text)
    if not end:
        return "", ""
    below = text[end : end + _MOST_CHARS].strip("\n").split("\n\n", 1)[0]
    title = " ".join(below.split())
    named = 0 < len(title) <= _TITLE_CHARS and below.count("\n") < _TITLE_LINES and not title.endswith(ENDS_SENTENCE)
    return title if named else "", find_full_date(text[:end])


def find_full_date(text: str) -> str:
    """Return the first day or month of a text with its year; a number alone may count anything."""
    return next((read_date(each.text) for each in find_dates(text)[0] if each.year and each.month), "")
