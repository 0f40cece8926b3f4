"""Tables: the cells of rows, and how a row reads under the head of its table.

Knows rows with bars, tabs, commas and semicolons between the cells. Does not know columns that are only lined up by
spaces, nor what a table is about.
"""

from __future__ import annotations

from collections.abc import Sequence

_MIN_CELLS = 3  # cells of a row that is parted by commas or semicolons: fewer are words of a sentence
_MAX_ROW_CHARS = 1_000


def split_cells(line: str) -> tuple[str, ...]:
    r"""Return the cells of a line that looks like a row of a table, or nothing.

    Commas and semicolons part cells only where no space follows any of them, as in a file of values.

    Example:
        >>> cells("Alder Bridge | 0 | 372"), cells("a,b,c"), cells("first, second, and third")
        (('Alder Bridge', '0', '372'), ('a', 'b', 'c'), ())
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
    """True if two lines that follow each other are rows of one table.

    Rows with bars may have lost an empty cell; others have as many cells as one another.
    """
    one, other = split_cells(above), split_cells(below)
    if not one or not other:
        return False
    return len(one) == len(other) or (" | " in above and " | " in below)


def read_row(head: Sequence[str], row: Sequence[str]) -> str:
    """Read a row as one line: each cell after the head of its column; without heads where these do not fit.

    Example:
        >>> told(("Station", "Level"), ("Old Ferry", "548")), told(("Low", "High"), ("Price", "2", "3"))
        ('Station: Old Ferry; Level: 548', 'Price: Low 2; High 3')
    """
    if len(head) == len(row):
        return "; ".join(f"{name}: {cell}" if name else cell for name, cell in zip(head, row, strict=True) if cell)
    if len(head) == len(row) - 1:  # the column of the names has no head
        return f"{row[0]}: " + "; ".join(f"{name} {cell}" for name, cell in zip(head, row[1:], strict=True) if cell)
    return "; ".join(cell for cell in row if cell)
