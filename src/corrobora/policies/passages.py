"""Passages: where a text is cut for search and citation.

Knows sentences, headings and a size in bytes of UTF-8 (about 256 tokens in any script), in linear time.
Does not know titles, storage or ranking.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from corrobora.domain.parsed import Heading
from corrobora.policies.sentences import Span, split_sentences

PASSAGE_BYTES = 1_100  # about 256 tokens of English
_MIN_PASSAGE_BYTES = 350  # below this a passage goes on past the next heading
_MIN_REST_BYTES = 250  # a rest smaller than this joins the passage before it


class PassageSpan(NamedTuple):
    """One passage: characters `start` to `end` of the text, and the headings above it."""

    start: int
    end: int
    heading: str


def segment_passages(
    text: str, headings: Sequence[Heading] = (), *, size: int = PASSAGE_BYTES
) -> tuple[PassageSpan, ...]:
    """Cut `text` at sentence borders into passages of about `size` bytes; never an empty one.

    Passages are in order, do not overlap, begin and end with a visible character, and leave out white space only.
    A passage begins at a heading unless the text before it is very short. A sentence longer than `size` is cut at
    white space, or anywhere if it has none.
    """
    plain = text.isascii()
    if plain and not headings and len(text) <= size:
        end = len(text.rstrip())
        return (PassageSpan(len(text) - len(text.lstrip()), end, ""),) if end else ()
    found: list[PassageSpan] = []
    open_: list[Span] = []
    used = 0
    path = ""
    bare = True  # the open passage holds nothing but heading lines
    starts = {heading.start for heading in headings}
    for begin, end, label in _iterate_sections(text, headings):
        if used >= _MIN_PASSAGE_BYTES or not open_:
            _close_passage(found, open_, path)
            open_, used, path, bare = [], 0, label, True
        elif bare:
            path = label
        first = len(found)
        for span in _iterate_units(text, begin, end, size):
            weight = span.end - span.start if plain else len(text[span.start : span.end].encode(errors="replace"))
            if open_ and used + weight > size:
                _close_passage(found, open_, path)
                open_, used, path, bare = [], 0, label, True
            open_.append(span)
            used += weight + 1
            bare = bare and span.start in starts and "\n" not in text[span.start : span.end]
        if 0 < used < _MIN_REST_BYTES and len(found) > first:
            last = found.pop()
            open_, used, path = [Span(last.start, last.end), *open_], size, last.heading
    _close_passage(found, open_, path)
    return tuple(found)


def _close_passage(found: list[PassageSpan], spans: list[Span], path: str) -> None:
    if spans:
        found.append(PassageSpan(spans[0].start, spans[-1].end, path))


def _iterate_sections(text: str, headings: Sequence[Heading]) -> Iterator[tuple[int, int, str]]:
    """Yield (start, end, path of headings) for the text before the first heading and after each."""
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
    """Yield a section that fits whole, else short blocks whole, longer ones by sentences, those too long in pieces."""
    if end - begin <= size and (text.isascii() or len(text[begin:end].encode(errors="replace")) <= size):
        part = text[begin:end]
        if part.strip():
            yield Span(begin + len(part) - len(part.lstrip()), begin + len(part.rstrip()))
        return
    while begin < end:
        border = text.find("\n\n", begin, end)
        border = end if border < 0 else border
        block = text[begin:border]
        if len(block) <= size // 2 and (block.isascii() or len(block) <= size // 6):
            if block.strip():
                yield Span(begin + len(block) - len(block.lstrip()), begin + len(block.rstrip()))
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
        tail = end
        while tail > start and text[tail - 1].isspace():
            tail -= 1
        if tail > start:
            yield Span(start, tail)
        start = end
        while start < stop and text[start].isspace():
            start += 1


def _fit_bytes(text: str, start: int, stop: int, size: int) -> int:
    """Return the largest end such that `text[start:end]` has at most `size` bytes (and at least one character)."""
    piece = text[start : min(stop, start + size)]
    while len(piece) > 1 and len(piece.encode(errors="replace")) > size:
        piece = piece[: max(1, len(piece) * size // len(piece.encode(errors="replace")))]
    return start + len(piece)
