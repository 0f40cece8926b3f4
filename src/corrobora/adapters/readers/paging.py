"""Pages of text: lines that recur at their edges are left out, and what a page cut is joined.

Knows form feeds, running heads and feet, and the numbers of pages. Does not know PDF, headings, or what a text says.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

from corrobora.text.entries import measure_indent
from corrobora.text.letterheads import ENDS_SENTENCE, find_full_date

_RUNNING_SPAN = 4  # pages from the first to the third at whose edge a line stands that is no part of the text
_RUNNING_LINES = 2  # at each edge of a page: a title and a rule, or a note and the number


def drop_running_lines(pages: Sequence[str]) -> list[str]:
    """Leave out the first and last lines that stand on three of five pages: titles, authors and page numbers.

    A number alone is one of a page if it counts on with the pages. Pages lose the blank lines at their edges.
    """
    found = [_trim_page(page) for page in pages]
    for _ in range(_RUNNING_LINES):
        found = _drop_edges(found)
    return found


def _trim_page(page: str) -> str:
    """Return a page without the blank lines at its edges; the first line stays as far indented as it is."""
    body = page.rstrip()
    return body[body.rfind("\n", 0, len(body) - len(body.lstrip())) + 1 :]


def _drop_edges(pages: Sequence[str]) -> list[str]:
    split = [page.split("\n") if page else [] for page in pages]
    ends = [[_name_edge(lines[n], at) for n in (0, -1)] if len(lines) > 1 else [] for at, lines in enumerate(split)]
    places: dict[str, list[int]] = defaultdict(list)
    for at, own in enumerate(ends):
        for key in frozenset[str]().union(*own):
            places[key].append(at)
    runs = {key for key, at in places.items() if any(b - a <= _RUNNING_SPAN for a, b in zip(at, at[2:], strict=False))}
    kept: list[str] = []
    for page, lines, own in zip(pages, split, ends, strict=True):
        first, last = (bool(runs & keys) for keys in own) if own else (False, False)
        rest = "\n".join(lines[first : len(lines) - last])
        kept.append(_trim_page(rest) if first or last else page)
    return kept


def _name_edge(line: str, page: int) -> frozenset[str]:
    """Return a line as it is, and with its first or last number as how far it is from that of its page."""
    text = " ".join(line.split()).casefold()
    numbers = list(re.finditer(r"\d{1,4}", text))
    found = {f"{text[: n.start()]}{int(n[0]) - page:+}{text[n.end() :]}" for n in (*numbers[:1], *numbers[-1:])}
    return frozenset(found if text.isdecimal() else {text, *found})


def join_pages(pages: Sequence[str]) -> tuple[str, str]:
    """Return the text of pages without running lines, and the date that their running head states, "" for none.

    A sentence or list that goes on has no blank line within it. Pages at whose edges nothing recurs are parts that form
    feeds set apart, and stay as they are.
    """
    plain = drop_running_lines(pages)
    if all(_trim_page(page) == rest for page, rest in zip(pages, plain, strict=True)):
        return "\n".join(pages), ""
    written, dated = "", ""
    for page, rest in zip(pages, plain, strict=True):
        whole = _trim_page(page)
        dated = dated or find_full_date(whole[: whole.find(rest)])
    for page in filter(None, plain):
        last = written[written.rfind("\n") + 1 :]
        gap = "" if not written else "\n" if _goes_on(last, page.split("\n", 1)[0]) else "\n\n"
        written += gap + page
    return written, dated


def _goes_on(last: str, first: str) -> bool:
    """True if the first line of a page goes on with what the last line of the page before it says."""
    if last.rstrip().endswith(ENDS_SENTENCE):
        return False
    return first.lstrip()[:1].islower() or measure_indent(last) == measure_indent(first)
