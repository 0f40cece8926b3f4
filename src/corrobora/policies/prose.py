"""Prose: how a literal quote reads, as sentences one after another.

Knows lists under what leads them in, rows under the head of their table, headings and paragraphs. Adds colons,
semicolons and full stops where the layout of the source stood for them; never a word.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import Enum, auto
from functools import lru_cache

from corrobora.policies.markup import strip_markup
from corrobora.policies.sentences import Span, split_sentences
from corrobora.policies.tables import is_same_table, read_row, split_cells

LIST_ITEM = re.compile(r"(?:[-*+•‣◦–]|\(?\d{1,3}[.)]|\(?[a-z][.)])[ \t]+(?=\S)")
_NUMBERED = re.compile(r"^\s*\(\d{1,3}\)[ \t]+(?=\S)")
_SENTENCE_ENDS = ".!?…。！？"
_MAX_HEADING_CHARS = 120


class _Part(Enum):
    TEXT = auto()
    ITEM = auto()
    HEADING = auto()


@lru_cache(maxsize=4_000)  # a fact is read by every role
def quote_to_prose(quote: str, chosen: str = "") -> str:
    r"""Return a quote as one line of sentences.

    Of a table the rows are read that `chosen` holds as they read here; if it holds none of them, nothing tells that the
    first row has the heads, and all are read cell by cell.

    Example:
        >>> prose("Bring:\n\n- a lamp\n- two ropes")
        'Bring: a lamp; two ropes.'
        >>> prose("Name | Age\nAnn | 7\nBo | 9", "Name: Bo; Age: 9")
        'Name: Bo; Age: 9.'
    """
    if "\n" not in quote:
        return strip_markup(_NUMBERED.sub("", quote))
    spans = split_sentences(quote)
    said: list[str] = []
    before: _Part | None = None
    at = 0
    while at < len(spans):
        rows = _find_rows(quote, spans, at)
        if len(rows) > 1:
            said += _read_table(rows, chosen)
            before, at = None, at + len(rows)
            continue
        part, text = _classify_part(quote, spans, at)
        part = _Part.TEXT if part is _Part.HEADING and before is _Part.TEXT and said[-1][-1:] == ":" else part
        at += 1
        if not text:
            continue
        if part is _Part.ITEM and before is _Part.ITEM and said:
            said[-1] = (
                said[-1]
                if _ends_with_stop(quote, spans[at - 2]) or said[-1][-1:] == ":"
                else f"{said[-1].rstrip('.')};"
            )
        said.append(_close_sentence(text, part, quote, spans, at - 1))
        before = part
    return " ".join(said)


def read_table_rows(quote: str) -> tuple[str, ...]:
    """Return the rows of the first table of a quote as they read under its head; nothing if it has no table."""
    spans = split_sentences(quote)
    for at in range(len(spans)):
        rows = _find_rows(quote, spans, at)
        if len(rows) > 1:
            head = split_cells(rows[0])
            return tuple(strip_markup(read_row(head, split_cells(row))) for row in rows[1:])
    return ()


def _find_rows(quote: str, spans: Sequence[Span], at: int) -> list[str]:
    """Return the rows of one table from the span `at` on; fewer than two are no table."""
    found = [quote[spans[at].start : spans[at].end]]
    for one, other in zip(spans[at:], spans[at + 1 :], strict=False):
        below = quote[other.start : other.end]
        if quote[one.end : other.start].count("\n") != 1 or not is_same_table(found[-1], below):
            break
        found.append(below)
    return found


def _read_table(rows: Sequence[str], chosen: str) -> list[str]:
    head = split_cells(rows[0])
    read = [strip_markup(read_row(head, split_cells(row))) for row in rows[1:]]
    kept = [row for row in read if row in chosen] if chosen else read
    kept = kept or [strip_markup(read_row((), split_cells(row))) for row in rows]
    return [f"{row.rstrip('.;: ')}." for row in kept]


def _classify_part(quote: str, spans: Sequence[Span], at: int) -> tuple[_Part, str]:
    span = spans[at]
    raw = quote[span.start : span.end]
    mark = LIST_ITEM.match(raw)
    text = strip_markup(raw)
    alone = _opens_line(quote, span.start) and quote[span.end : span.end + 2] == "\n\n"
    if (
        alone
        and len(text) <= _MAX_HEADING_CHARS
        and text[-1:] not in _SENTENCE_ENDS + ":;,"
        and not _is_list_item(quote, spans, at)
    ):
        return _Part.HEADING, text
    if mark is not None and _opens_line(quote, span.start):
        kept = mark.group() if mark.group().strip()[-2:-1].isalpha() else ""  # "(a)" is part of what clauses say
        return _Part.ITEM, f"{kept}{strip_markup(raw[mark.end() :])}"
    return _Part.TEXT, text


def _is_list_item(quote: str, spans: Sequence[Span], at: int) -> bool:
    """True for an item that stands beside another one: a single numbered line is a heading."""
    near = [spans[n] for n in (at - 1, at + 1) if 0 <= n < len(spans)]
    return LIST_ITEM.match(quote, spans[at].start) is not None and any(
        LIST_ITEM.match(quote, span.start) for span in near
    )


def _opens_line(quote: str, start: int) -> bool:
    return start == 0 or quote[:start].rstrip(" \t")[-1:] in ("\n", "")


def _ends_with_stop(quote: str, span: Span) -> bool:
    """True if the source itself ends a span with a stop."""
    return quote[span.start : span.end].rstrip("\"'”’)]»* ")[-1:] in _SENTENCE_ENDS


def _close_sentence(text: str, part: _Part, quote: str, spans: Sequence[Span], at: int) -> str:
    """End a piece as it would be ended in running text."""
    if _ends_with_stop(quote, spans[at]) or text[-1:] in _SENTENCE_ENDS + ":":
        return text
    if part is _Part.HEADING and at + 1 < len(spans):
        return f"{text}:"
    if part is _Part.ITEM:
        return f"{text.rstrip(';,')}."
    last = at + 1 == len(spans)
    breaks = not last and "\n" in quote[spans[at].end : spans[at + 1].start]
    return f"{text}." if (breaks or last) and text[-1:] not in ";," else text
