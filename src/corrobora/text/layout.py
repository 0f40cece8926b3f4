"""Layout: rows of tables and items of lists, as plain text writes them.

Knows rows separated by bars, tabs, commas or semicolons, and the marks of list items. Does not change what it reads.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

CITATION_MARKER = re.compile(r"\[(S\d+:C\d+)\]")
LIST_ITEM = re.compile(r"(?:[-*+•‣◦–]|\(?\d{1,3}[.)]|\(?[a-z][.)])[ \t]+(?=\S)")
_MIN_CELLS = 3  # of a row separated by commas or semicolons; fewer are ordinary prose
_MAX_ROW_CHARS = 1_000


def skip_item_mark(text: str, start: int) -> int:
    """Return where the words of a list item begin; a letter in brackets belongs to the text of a clause."""
    mark = LIST_ITEM.match(text, start)
    return start if mark is None or mark.group()[0] == "(" else mark.end()


_ROW = re.compile(r"(?:[^;:\n]{1,120}: [^;\n]{1,2000}(?:; |\.$|$)){2,}")


def read_heads(line: str) -> tuple[str, ...]:
    """Return the heads of a row that names them, as readers write it: "Plan: Basic; Price: 5."; () for other lines."""
    if _ROW.fullmatch(line) is None:
        return ()
    return tuple(cell.partition(": ")[0] for cell in line.split("; ") if ": " in cell)


def split_cells(line: str) -> tuple[str, ...]:
    """Return the cells of a line that looks like a table row, or nothing.

    Commas and semicolons separate cells only if no space follows any of them, as in a file of values.
    """
    text = line.strip()
    if "\n" in text or len(text) > _MAX_ROW_CHARS:
        return ()
    if " | " in text:
        return tuple(part.strip() for part in text.strip("| ").split("|"))
    if "\t" in text:
        return tuple(part.strip() for part in text.split("\t"))
    for mark in ",;":
        parts = text.split(mark)
        if len(parts) >= _MIN_CELLS and not text.endswith(".") and not any(part[:1].isspace() for part in parts[1:]):
            return tuple(part.strip() for part in parts)
    return ()


def is_same_table(above: str, below: str) -> bool:
    """True if two consecutive lines are rows of one table.

    Rows with bars may have lost an empty cell; other rows must have the same number of cells.
    """
    one, other = split_cells(above), split_cells(below)
    if not one or not other:
        return False
    return len(one) == len(other) or (" | " in above and " | " in below)


def read_row(head: Sequence[str], row: Sequence[str]) -> str:
    """Write a row on one line, each cell after its column heading; without headings if their number does not fit.

    Headings ("Low", "High") and the row ("Price", "2", "3") give "Price: Low 2; High 3".
    """
    if len(head) == len(row):
        return "; ".join(f"{name}: {cell}" if name else cell for name, cell in zip(head, row, strict=True) if cell)
    if len(head) == len(row) - 1:  # the first column has no heading
        return f"{row[0]}: " + "; ".join(f"{name} {cell}" for name, cell in zip(head, row[1:], strict=True) if cell)
    return "; ".join(cell for cell in row if cell)
