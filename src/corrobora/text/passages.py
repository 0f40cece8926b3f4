"""Passages: the parts into which a text is cut for search and citation.

Knows headings, blocks, entries of lists and a size in UTF-8 bytes, in linear time on any input. A passage is a literal
span, never rewritten. Does not know meaning, titles, storage or ranking.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING, NamedTuple

from corrobora.text.entries import find_term
from corrobora.text.quantities import find_days, find_releases
from corrobora.text.segmentation import Span, split_sentences, trim_span
from corrobora.text.tokens import CODE_GAP, LIST_ITEM, TERM_GAP, skip_item_mark

if TYPE_CHECKING:
    from corrobora.ports import Heading

_PAGES = re.compile(r"pp?\. (\d+)(?:–(\d+))?")  # what readers of paged documents write in place of a heading
_ENTRY = re.compile(rf"[^\n{TERM_GAP}]{{1,300}}{TERM_GAP}")  # whoever asks for a term finds it by its begin
_INDENTED = re.compile(rf"{CODE_GAP}? +(?=\S)")  # goes on with what a line before it began
_ITEM = re.compile(rf"(?m)^(?={LIST_ITEM.pattern}|[^\s{TERM_GAP}][^\n{TERM_GAP}]{{0,299}}{TERM_GAP})")
PASSAGE_BYTES = 1_100  # about 256 tokens of English
_MIN_PASSAGE_BYTES = 350  # a shorter passage continues past the next heading
_MIN_REST_BYTES = 250  # a smaller remainder joins the previous passage


class PassageSpan(NamedTuple):
    """One passage: characters `start` to `end` of the text, and the path of headings above all of it."""

    start: int
    end: int
    heading: str


class _Unit(NamedTuple):
    """What is not cut: a sentence, a block or an entry; or a part of an entry that does not begin with its `term`."""

    start: int
    end: int
    term: str = ""


def segment_passages(
    text: str, headings: Sequence[Heading] = (), *, size: int = PASSAGE_BYTES
) -> tuple[PassageSpan, ...]:
    """Cut `text` at sentence boundaries into non-empty passages of about `size` bytes.

    Passages are in order, do not overlap, begin and end with a visible character, and omit white space only. A passage
    begins at a heading unless the text before it is very short, and always at one that names a release or a date: of
    what stands below it, the heading alone says when it was. So it does at a term that an entry defines, unless the
    text before it is very short. An entry that fits is not cut, and the term of one that is cut is a heading above its
    further passages, which hold nothing else. A question stands with what answers it. A sentence longer than `size` is
    cut at white space, or anywhere if it has none.
    """
    if text.isascii() and not headings and len(text) <= size:
        end = len(text.rstrip())
        return (PassageSpan(len(text) - len(text.lstrip()), end, ""),) if end else ()
    packer = _Packer(text, headings, size)
    for section in iterate_sections(text, headings):
        packer.add_section(*section)
    packer.close_passage()
    return tuple(packer.found)


class _Packer:
    """Packs the units of a text into passages, section by section."""

    def __init__(self, text: str, headings: Sequence[Heading], size: int) -> None:
        self._text, self._size, self._plain = text, size, text.isascii()
        self._starts = {each.start for each in headings if not _PAGES.fullmatch(each.title)}
        self._dated = {each.start for each in headings if find_releases(each.title) or find_days(each.title)}
        self._open: list[_Unit] = []
        self._used = 0
        self._path = ""
        self._bare = True  # the open passage contains only headings
        self._last_term = ""  # below which the passage before the open one begins
        self._own = 0  # passages before the first one that was closed within the section
        self.found: list[PassageSpan] = []

    def add_section(self, begin: int, end: int, label: str) -> None:
        """Add the units between two headings below the path `label`."""
        if self._used >= _MIN_PASSAGE_BYTES or not self._open or (begin in self._dated and not self._bare):
            self.close_passage()
            self._path = label
        else:  # it goes on below another heading, and has the headings that stand above both
            self._path = label if self._bare else _find_common_path(self._path, label)
        self._own = len(self.found)
        for at, unit in enumerate(_iterate_units(self._text, begin, end, self._size)):
            self._add_unit(unit, label)
            self._own = self._own if at else len(self.found)
        self._join_rest()

    def _add_unit(self, unit: _Unit, label: str) -> None:
        weight = self._weigh(unit)
        if self._open and not self._bare and self._is_full(unit, weight):
            if self._open[0].term:
                self._join_rest()
            kept = _take_lead_in(self._text, self._open, self._size - weight)
            self.close_passage()
            self._open, self._bare = kept, not kept
            self._path = _add_term(label, (kept or [unit])[0].term)
            self._used = sum(self._weigh(each) + 1 for each in kept)
        self._open.append(unit)
        self._used += weight + 1
        self._bare = self._bare and unit.start in self._starts and "\n" not in self._text[unit.start : unit.end]

    def _is_full(self, unit: _Unit, weight: int) -> bool:
        """True if a unit begins a passage: there is no room, it defines a term, or what was cut ends before it."""
        defines = self._used >= _MIN_PASSAGE_BYTES and _ENTRY.match(self._text, unit.start)
        return self._used + weight > self._size or bool(defines) or (self._open[0].term not in ("", unit.term))

    def _weigh(self, unit: _Unit) -> int:
        return _count_bytes(self._text, unit.start, unit.end, plain=self._plain)

    def _join_rest(self) -> None:
        """Let a short rest go on in the passage before it, unless that is of another section or below another term."""
        short = 0 < self._used < _MIN_REST_BYTES and len(self.found) > self._own
        if not short or self._last_term not in ("", self._open[0].term):
            return
        last = self.found.pop()
        self._open, self._used, self._path = (
            [_Unit(last.start, last.end, self._last_term), *self._open],
            self._size,
            last.heading,
        )

    def close_passage(self) -> None:
        """Write what is open as a passage."""
        if self._open:
            self._last_term = self._open[0].term
            self.found.append(PassageSpan(self._open[0].start, self._open[-1].end, self._path))
        self._open, self._used, self._bare = [], 0, True


def _count_bytes(text: str, start: int, end: int, *, plain: bool = False) -> int:
    return end - start if plain else len(text[start:end].encode(errors="replace"))


def _add_term(path: str, term: str) -> str:
    return " > ".join(filter(None, (path, term)))


def _take_lead_in(text: str, units: list[_Unit], room: int) -> list[_Unit]:
    """Take from the end of a passage what asks, leads in or names what the next one says, if both fit."""
    last = units[-1]
    opens = text[last.end - 1] in "?:" or TERM_GAP in text[last.start : last.end]
    leads = opens and len(text[last.start : last.end].encode(errors="replace")) < room
    return [units.pop()] if leads and len(units) > 1 else []


def _find_common_path(one: str, other: str) -> str:
    """Return the headings above both paths, or the range of pages if each is a page."""
    first, last = _PAGES.fullmatch(one), _PAGES.fullmatch(other)
    if first and last:
        return f"pp. {first[1]}–{last[2] or last[1]}"
    pairs = takewhile(lambda pair: pair[0] == pair[1], zip(one.split(" > "), other.split(" > "), strict=False))
    return " > ".join(part for part, _ in pairs)


def iterate_sections(text: str, headings: Sequence[Heading]) -> Iterator[tuple[int, int, str]]:
    """Yield (start, end, path of headings) for the text before the first heading and after each heading."""
    stack: list[Heading] = []
    begin, path = 0, ""
    for heading in headings:
        if heading.start > begin:
            yield begin, heading.start, path
        while stack and stack[-1].level >= heading.level:
            stack.pop()
        stack.append(heading)
        begin, path = heading.start, " > ".join(part.title for part in stack[-6:])
    if begin < len(text):
        yield begin, len(text), path


def _iterate_units(text: str, begin: int, end: int, size: int) -> Iterator[_Unit]:
    """Yield a section that fits as a whole, else its short blocks, entries, sentences, or pieces of long sentences."""
    if end - begin <= size and _count_bytes(text, begin, end) <= size:
        yield from _trim_unit(text, begin, end)
        return
    for start, border in _iterate_groups(text, begin, end):
        if border - start <= size // 2 and (text[start:border].isascii() or border - start <= size // 6):
            yield from _trim_unit(text, start, border)
        else:
            for first, last in _iterate_entries(text, start, border):
                yield from _split_entry(text, first, last, size)


def _trim_unit(text: str, start: int, end: int, term: str = "") -> Iterator[_Unit]:
    for span in trim_span(text, start, end):
        yield _Unit(*span, term)


def _iterate_groups(text: str, begin: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the blocks between blank lines; what is indented below an item goes on in the block of the item."""
    start = begin
    while begin < end:
        border = text.find("\n\n", begin, end)
        stop, begin = (border, border + 2) if border >= 0 else (end, end)
        if begin >= end or not _INDENTED.match(text, begin) or not _begins_entry(text, start):
            yield start, stop
            start = begin


def _begins_entry(text: str, at: int) -> bool:
    return not text[at].isdigit() and (LIST_ITEM.match(text, at) is not None or find_term(text, at) > at)


def _iterate_entries(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the entries of a block with what is indented below each, and what stands above the first."""
    for mark in _ITEM.finditer(text, start + 1, end):
        yield start, mark.start()
        start = mark.start()
    yield start, end


def _split_entry(text: str, start: int, end: int, size: int) -> Iterator[_Unit]:
    """Yield an entry that fits, else its sentences, of which all but the first stand below its term."""
    named = find_term(text, start)
    if named > start and end - start <= size and _count_bytes(text, start, end) <= size:
        yield from _trim_unit(text, start, end)
        return
    term = text[skip_item_mark(text, start) : named].strip()
    for span in split_sentences(text[start:end]):
        first, last = span.start + start, span.end + start
        below = term if first > start and " > " not in term else ""
        if last - first <= size // 4 or _count_bytes(text, first, last) <= size:
            yield _Unit(first, last, below)
        else:
            for at, piece in enumerate(_split_long_span(text, first, last, size)):
                yield _Unit(*piece, term if at else below)


def _split_long_span(text: str, start: int, stop: int, size: int) -> Iterator[Span]:
    while start < stop:
        end = _fit_bytes(text, start, stop, size)
        if end < stop:
            at = end
            low = start + (end - start) // 2
            while at > low and not text[at].isspace():
                at -= 1
            end = at if at > low else end
        yield from trim_span(text, start, end)
        start = end
        while start < stop and text[start].isspace():
            start += 1


def _fit_bytes(text: str, start: int, stop: int, size: int) -> int:
    """Return the largest end such that `text[start:end]` has at most `size` bytes and at least one character."""
    piece = text[start : min(stop, start + size)]
    while len(piece) > 1 and len(piece.encode(errors="replace")) > size:
        piece = piece[: max(1, len(piece) * size // len(piece.encode(errors="replace")))]
    return start + len(piece)
