"""Layout: the marks of citations and list items, and rows that name their heads, in plain text.

Does not know Markdown or what a citation means, and does not change what it reads.
"""

from __future__ import annotations

import re

CITATION_MARKER = re.compile(r"\[(S\d+:C\d+)\]")
LIST_ITEM = re.compile(r"(?:[-*+•‣◦–]|\(?\d{1,3}[.)]|\(?[a-z][.)])[ \t]+(?=\S)")
_ROW = re.compile(r"(?:[^;:\n]{1,120}: [^;\n]{1,2000}(?:; |\.$|$)){2,}")


def skip_item_mark(text: str, start: int) -> int:
    """Return where the words of a list item begin; a letter in brackets belongs to the text of a clause."""
    mark = LIST_ITEM.match(text, start)
    return start if mark is None or mark.group()[0] == "(" else mark.end()


def is_table_row(line: str) -> bool:
    """True for a row that names its heads, as readers write it: "Plan: Basic; Price: 5."."""
    return _ROW.fullmatch(line) is not None
