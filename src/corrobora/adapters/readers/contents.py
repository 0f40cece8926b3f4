"""Tables of contents of paged text: lines that name a heading and its page are left out.

Such a line says nothing that its heading does not say, and holds the words of every question. Knows leaders, Arabic and
Roman numbers of pages, and titles that go over two lines. Does not know links: `page_links` knows those.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

_PAGE = re.compile(r"(?<![^\s.…·])(?:\d{1,4}|[ivxl]{1,7})\Z")
_NAMED = re.compile(r"[^\W\d_]{2}")
_GAP = " \t\u00a0._…·"  # between a title and its page
_LEADER = re.compile(r"(?:\.\s?){3}|[…·]")
_NUMBERED = re.compile(
    r"(?:chapter|section|appendix|part|kapitel|teil)?\s*(?:[\dA-Z]{1,3}(?:\.\d+)*|[IVX]+)[.):]?\s+", re.IGNORECASE
)
_PAGE_CHARS = 8  # of a number of a page, with what stands before it
_FEWEST = 4  # entries
_LED_SHARE = 0.25  # of entries with leaders whose titles stand elsewhere as lines of their own
_PLACED_SHARE = 0.5  # of other entries whose titles stand on the pages that they name
_ENDS = (".", "!", "?", ":", ";")


class _Line(NamedTuple):
    page: int
    at: int
    title: str  # "" for a line that ends in no number of a page
    number: int
    led: bool = False  # a leader stands between title and number
    ends: bool = False  # it is no beginning of a title


def drop_contents(pages: Sequence[str]) -> list[str]:
    """Return pages without their tables of contents; a table of values, whose rows are no headings, stays."""
    split = [page.split("\n") for page in pages]
    lines = [
        _read_line(line, page, at) for page, own in enumerate(split) for at, line in enumerate(own) if line.strip()
    ]
    runs = list(_find_runs(lines))
    listed = {(line.page, line.at) for run in runs for line in run}
    if not listed:
        return list(pages)
    headings: dict[str, set[int]] = defaultdict(set)  # by what stands in a line of its own: the pages that have it
    for page, own in enumerate(split):
        for at, line in enumerate(own):
            if line.strip() and (page, at) not in listed:
                headings[_fold_title(line)].add(page)
    gone = {(line.page, line.at) for run in runs if _are_headings(run, headings) for line in run}
    return [
        "\n".join(line for at, line in enumerate(own) if (page, at) not in gone) if gone else pages[page]
        for page, own in enumerate(split)
    ]


def _read_line(line: str, page: int, at: int) -> _Line:
    line = line.strip()
    found = _PAGE.search(line, max(0, len(line) - _PAGE_CHARS))
    title = line[: found.start()].rstrip(_GAP) if found else ""
    if found is None or _NAMED.search(title) is None:
        return _Line(page, at, "", 0, ends=line.endswith(_ENDS))
    number = int(found[0]) if found[0].isdecimal() else 0
    led = _LEADER.search(line, len(title), found.start()) is not None
    return _Line(page, at, _fold_title(title), number, led=led)


def _fold_title(title: str) -> str:
    words = " ".join(title.split())
    return (words[len(found[0]) :] if (found := _NUMBERED.match(words)) else words).casefold()


def _find_runs(lines: Sequence[_Line]) -> Iterator[list[_Line]]:
    """Yield entries that follow one another, their numbers never falling, with the beginnings of their titles."""
    run: list[_Line] = []
    highest = 0
    for known, group in groupby(lines, key=lambda line: bool(line.title)):
        found = list(group)
        if not known and (len(found) > 1 or found[0].ends):
            yield from _close(run)
            run = []
        for line in found:
            if run and line.title and line.number < highest:
                yield from _close(run)
                run = []
            if run or line.title:
                highest = line.number if line.title else highest
                run.append(line)
    yield from _close(run)


def _close(run: list[_Line]) -> Iterator[list[_Line]]:
    while run and not run[-1].title:
        run.pop()
    if sum(bool(line.title) for line in run) >= _FEWEST:
        yield run


def _are_headings(run: Sequence[_Line], headings: Mapping[str, set[int]]) -> bool:
    """True if titles stand elsewhere as headings; without leaders, as far apart as the numbers say: on those pages."""
    entries = [line for line in run if line.title]
    if 2 * sum(line.led for line in entries) >= len(entries):
        return sum(line.title in headings for line in entries) >= _LED_SHARE * len(entries)
    shifts = Counter((page - line.number) for line in entries for page in headings.get(line.title, ()))
    spread = len({line.number for line in entries}) > 1  # else the shift of all is that of one place
    return spread and max(shifts.values(), default=0) >= _PLACED_SHARE * len(entries)
