"""Passages: the pieces of about one size that a text is cut into for search and citation.

Knows headings, blank lines and a size in UTF-8 bytes, in linear time on any input. Does not know meaning, titles,
storage or ranking: a passage is a literal span, never rewritten.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING, NamedTuple

from corrobora.text.quantities import find_days, find_releases
from corrobora.text.segmentation import Span, split_sentences, trim_span
from corrobora.text.tokens import TERM_GAP

if TYPE_CHECKING:
    from corrobora.ports import Heading

_ENTRY = re.compile(rf"[^\n{TERM_GAP}]{{1,300}}{TERM_GAP}")  # whoever asks for a term finds it by its begin
PASSAGE_BYTES = 1_100  # about 256 tokens of English
_MIN_PASSAGE_BYTES = 350  # a shorter passage continues past the next heading
_MIN_REST_BYTES = 250  # a smaller remainder joins the previous passage


class PassageSpan(NamedTuple):
    """One passage: characters `start` to `end` of the text, and the path of headings above all of it."""

    start: int
    end: int
    heading: str


def segment_passages(
    text: str, headings: Sequence[Heading] = (), *, size: int = PASSAGE_BYTES
) -> tuple[PassageSpan, ...]:
    """Cut `text` at sentence boundaries into non-empty passages of about `size` bytes.

    Passages are in order, do not overlap, begin and end with a visible character, and omit white space only. A passage
    begins at a heading unless the text before it is very short, and always at one that names a release or a date: of
    what stands below it, the heading alone says when it was. So it does at a term that an entry defines, unless the
    text before it is very short. A question stands with what answers it. A sentence longer
    than `size` is cut at white space, or anywhere if it has none.
    """
    plain = text.isascii()
    if plain and not headings and len(text) <= size:
        end = len(text.rstrip())
        return (PassageSpan(len(text) - len(text.lstrip()), end, ""),) if end else ()
    found: list[PassageSpan] = []
    open_: list[Span] = []
    used = 0
    path = ""
    bare = True  # the open passage contains only headings
    starts = {heading.start for heading in headings}
    dated = {heading.start for heading in headings if find_releases(heading.title) or find_days(heading.title)}
    for begin, end, label in iterate_sections(text, headings):
        if used >= _MIN_PASSAGE_BYTES or not open_ or (begin in dated and not bare):
            _close_passage(found, open_, path)
            open_, used, path, bare = [], 0, label, True
        else:  # it goes on below another heading, and has the headings that stand above both
            path = label if bare else _find_common_path(path, label)
        first = len(found)
        for span in _iterate_units(text, begin, end, size):
            weight = span.end - span.start if plain else len(text[span.start : span.end].encode(errors="replace"))
            if open_ and (used + weight > size or (used >= _MIN_PASSAGE_BYTES and _ENTRY.match(text, span.start))):
                kept = _take_lead_in(text, open_, size - weight)
                _close_passage(found, open_, path)
                open_, path, bare = kept, label, not kept
                used = sum(len(text[each.start : each.end].encode(errors="replace")) + 1 for each in kept)
            open_.append(span)
            used += weight + 1
            bare = bare and span.start in starts and "\n" not in text[span.start : span.end]
        if 0 < used < _MIN_REST_BYTES and len(found) > first:
            last = found.pop()
            open_, used, path = [Span(last.start, last.end), *open_], size, last.heading
    _close_passage(found, open_, path)
    return tuple(found)


def _take_lead_in(text: str, spans: list[Span], room: int) -> list[Span]:
    """Take from the end of a passage what asks, leads in or names what the next one says, if both fit."""
    last = spans[-1]
    opens = text[last.end - 1] in "?:" or TERM_GAP in text[last.start : last.end]
    leads = opens and len(text[last.start : last.end].encode(errors="replace")) < room
    return [spans.pop()] if leads and len(spans) > 1 else []


def _find_common_path(one: str, other: str) -> str:
    pairs = takewhile(lambda pair: pair[0] == pair[1], zip(one.split(" > "), other.split(" > "), strict=False))
    return " > ".join(part for part, _ in pairs)


def _close_passage(found: list[PassageSpan], spans: list[Span], path: str) -> None:
    if spans:
        found.append(PassageSpan(spans[0].start, spans[-1].end, path))


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


def _iterate_units(text: str, begin: int, end: int, size: int) -> Iterator[Span]:
    """Yield a section that fits as a whole, else its short blocks, sentences, or pieces of long sentences."""
    if end - begin <= size and (text.isascii() or len(text[begin:end].encode(errors="replace")) <= size):
        yield from trim_span(text, begin, end)
        return
    while begin < end:
        border = text.find("\n\n", begin, end)
        border = end if border < 0 else border
        block = text[begin:border]
        if len(block) <= size // 2 and (block.isascii() or len(block) <= size // 6):
            yield from trim_span(text, begin, border)
        else:
            for span in split_sentences(block):
                start, stop = span.start + begin, span.end + begin
                if stop - start <= size // 4 or len(text[start:stop].encode(errors="replace")) <= size:
                    yield Span(start, stop)
                else:
                    yield from _split_long_span(text, start, stop, size)
        begin = border + 2


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
