"""Entries: lists that define terms, which sentences stand below which term, and the cells of rows.

Knows the marks of items, the gap that readers put behind a term, and columns. Does not know manuals or any form of
markup, nor what a term means.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from corrobora.text.tokens import LIST_ITEM, TERM_GAP, is_table_row, skip_item_mark

_TERM = re.compile(  # a row of two cells without heads names a thing and says what it is, as an entry does
    rf"(\S[^\n{TERM_GAP}]{{0,299}}(?={TERM_GAP})|\S[^\n{TERM_GAP}|]{{0,299}}(?= \| [^\n|]+(?:\n|\Z)))"
)
_ITEM_TERM = re.compile(r"([^\s:](?:(?![.!?] )[^\n:]){0,59}?)(?:: | [-–—] )(?=\S)")


_PARENT = re.compile(r"[^\n]{1,99}[^\n.!?:;,](?=\n( +))")


def find_term(text: str, start: int) -> int:
    """Return where the term ends that an entry of a list defines, if one begins at `start`; else `start`.

    An item that is no sentence names what is listed below it.

    Example:
        >>> find_term("- depth: levels of folders. It is 12.", 0)
        7
    """
    mark = LIST_ITEM.match(text, start)
    found = _ITEM_TERM.match(text, mark.end()) if mark else _TERM.match(text, start)
    if mark is None or found is not None:
        return found.end(1) if found else start
    parent = _PARENT.match(text, mark.end())
    deeper = parent is not None and len(parent[1]) > measure_depth(text, start)
    return parent.end() if parent and deeper and LIST_ITEM.match(text, parent.end(1)) else start


def is_numbered_heading(text: str, start: int, end: int) -> bool:
    r"""True for a line "1. Scope" between blank lines that no other item follows: a heading, and not an item of a list.

    Example:
        >>> is_numbered_heading("1. Scope\n\nIt holds for all.", 0, 8)
        True
    """
    mark, after = LIST_ITEM.match(text, start), text[end : end + 3]
    if mark is None or not text[start].isdigit() or "\n" in text[start:end] or text[end - 1] in ".!?:;,":
        return False
    alone = text[max(0, start - 2) : start] in ("", "\n\n") and after[:2] == "\n\n" and not after[2:].isspace()
    return alone and LIST_ITEM.match(text, end + 2) is None


def find_item_mark(text: str, start: int) -> int:
    """Return where the mark stands of the item or comment whose words begin at `start`, or `start` if it has none."""
    line = text.rfind("\n", 0, start) + 1
    begin = start - len(text[line:start].lstrip())
    return begin if skip_item_mark(text, begin) == start else start


def read_terms(text: str, spans: Sequence[tuple[int, int]]) -> list[str]:
    """Return for each sentence the term that it defines or below which it stands, "" for none."""
    opens = [spans[at if entry < 0 else entry][0] for at, entry in enumerate(find_entries(text, spans))]
    return [text[start : find_term(text, start)] for start in opens]


def find_entries(text: str, spans: Sequence[tuple[int, int]]) -> list[int]:
    """Return for each sentence the one that opens the entry below whose term it stands, -1 for none.

    An entry goes on as long as its line, and with the lines that are indented deeper than it begins.
    """
    found: list[int] = []
    around: list[tuple[int, int]] = []  # the column from which text belongs to an entry, and its first sentence
    last = 0
    for at, (start, end) in enumerate(spans):
        if "\n" in text[last:start]:
            column = measure_depth(text, start)
            around = [each for each in around if each[0] <= column]
        found.append(around[-1][1] if around else -1)
        if find_term(text, start) > start:
            inner = measure_depth(text, start) + 1 if at else _find_inner_column(text, spans)
            around.append((inner, at))
        last = end
    return found


def _find_inner_column(text: str, spans: Sequence[tuple[int, int]]) -> int:
    """Return the column from which text belongs to the entry that opens a text, cut out without its indentation."""
    lines = text.split("\n\n", 1)[0].split("\n")[1:2]
    below = [line for line in lines if not LIST_ITEM.match(line) and find_term(line, 0) == 0]
    others = [measure_depth(text, start) + 1 for start, _ in spans[1:] if find_term(text, start) > start]
    return measure_depth(below[0], len(below[0]) - len(below[0].lstrip())) if below else min(others, default=1)


def read_row(line: str) -> list[tuple[str, str]]:
    """Return the heads of a row with their cells, none of any other line."""
    cells = line.rstrip(".").split("; ") if is_table_row(line) else ()
    return [(head, cell) for head, _, cell in (each.partition(": ") for each in cells)]


def measure_indent(line: str) -> int:
    """Return by how many characters a line is indented."""
    return len(line) - len(line.lstrip())


def measure_depth(text: str, start: int) -> int:
    """Return by how many columns the line that begins at `start` is indented."""
    line = text.rfind("\n", 0, start) + 1
    return len(text[line:start].expandtabs())
