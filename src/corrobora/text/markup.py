"""Markup, tables and lists: from marked-up text to the plain words a reader sees.

Knows the marks of Markdown and HTML, rows separated by bars, tabs, commas or semicolons, and lists under a lead-in, in
linear time. Adds only punctuation that the layout stood for, never a word. Does not know columns aligned by spaces or
what is quoted: a quote keeps its source's form, and only its reading passes through here.
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from enum import Enum, auto
from functools import lru_cache

from corrobora.text.segmentation import Span, split_sentences

_TAG = re.compile(r"<!--|-->|</?[a-zA-Z!][^<>]*>")
_LINK = re.compile(r"!?\[(\[[^\[\]]*\]|[^\[\]]*)\]\([^()]*\)")
_ATTRIBUTES = re.compile(r"\{[#:][^{}]*\}")
_OPENING = re.compile(r"(?<![^\W_])[*_]{1,3}(?=[^\s*_])")
_CLOSING = re.compile(r"(?<=[^\s*_])[*_]{1,3}(?![^\W_])")
_LINE_MARK = re.compile(r"(?m)^[ \t]{0,12}(?:#{1,6}|[-*+•>]|\d{1,3}[.)])[ \t]+")
CITATION_MARKER = re.compile(r"\[(S\d+:C\d+)\]")
_SCHEME = re.compile(r"(?i)\b(?:(?:https?|ftp|file)://(?=[\w\[%])|https?:(?=\w)|javascript:|data:(?=\w+/))")
_RULE = re.compile(
    r"(?<!\S)[-=~_+*#]{4,}(?!\S)|(?<=\w)¶"
)  # a ruler made of signs, and the permalink mark after a heading
_SPACE = re.compile(r"\s+")
_PASSES = 3  # nested marks; anything deeper is defused, not parsed


def strip_markup(text: str) -> str:
    """Return `text` on one line without marks, links, tags, address schemes or forged citation markers.

    Never fails and keeps the order and case of words. What cannot be parsed (an unclosed tag) is defused.
    """
    read = html.unescape(text) if "&" in text else text
    if "<" in read or "](" in read or "{" in read:
        for _ in range(_PASSES):
            before = read
            read = _ATTRIBUTES.sub("", _LINK.sub(r"\1", _TAG.sub("", read)))
            if read == before:
                break
    read = _RULE.sub("", _LINE_MARK.sub("", read))
    if "*" in read or "_" in read:
        read = _CLOSING.sub("", _OPENING.sub("", read))
    read = _SCHEME.sub("", read.replace("`", ""))
    read = CITATION_MARKER.sub(r"(\1)", read)
    return _SPACE.sub(" ", _defuse_markup(read)).strip()


def _defuse_markup(text: str) -> str:
    """Break anything a renderer could still take for a tag, an image or a link."""
    if "<" in text:
        text = re.sub(r"<(?=[a-zA-Z/!?])", "‹", text)
    return text.replace("](", "] (").replace("![", "! [").replace("](", "] (")


_MIN_CELLS = 3  # of a row separated by commas or semicolons; fewer are ordinary prose
_MAX_ROW_CHARS = 1_000


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


LIST_ITEM = re.compile(r"(?:[-*+•‣◦–]|\(?\d{1,3}[.)]|\(?[a-z][.)])[ \t]+(?=\S)")
_NUMBERED = re.compile(r"^\s*\(\d{1,3}\)[ \t]+(?=\S)")
_SENTENCE_ENDS = ".!?…。！？"
_MAX_HEADING_CHARS = 120


class _Part(Enum):
    TEXT = auto()
    ITEM = auto()
    HEADING = auto()


@lru_cache(maxsize=4_000)  # every role reads every fact
def quote_to_prose(quote: str, chosen: str = "") -> str:
    """Return a quote as sentences on one line.

    Of a table, only the rows that `chosen` contains are kept. If it contains none, the first row may not be a header,
    and all rows are written cell by cell.
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
    """Return the rows of a quote's first table, each written under its headings; empty without a table."""
    spans = split_sentences(quote)
    for at in range(len(spans)):
        rows = _find_rows(quote, spans, at)
        if len(rows) > 1:
            head = split_cells(rows[0])
            return tuple(strip_markup(read_row(head, split_cells(row))) for row in rows[1:])
    return ()


def _find_rows(quote: str, spans: Sequence[Span], at: int) -> list[str]:
    """Return the rows of the table that begins at span `at`; fewer than two rows are not a table."""
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
        kept = mark.group() if mark.group().strip()[-2:-1].isalpha() else ""  # "(a)" belongs to the text of a clause
        return _Part.ITEM, f"{kept}{strip_markup(raw[mark.end() :])}"
    return _Part.TEXT, text


def _is_list_item(quote: str, spans: Sequence[Span], at: int) -> bool:
    """True for an item next to another one: a single numbered line is a heading."""
    near = [spans[n] for n in (at - 1, at + 1) if 0 <= n < len(spans)]
    return LIST_ITEM.match(quote, spans[at].start) is not None and any(
        LIST_ITEM.match(quote, span.start) for span in near
    )


def _opens_line(quote: str, start: int) -> bool:
    return start == 0 or quote[:start].rstrip(" \t")[-1:] in ("\n", "")


def _ends_with_stop(quote: str, span: Span) -> bool:
    """True if the source itself ends a span with a full stop or the like."""
    return quote[span.start : span.end].rstrip("\"'”’)]»* ")[-1:] in _SENTENCE_ENDS


def _close_sentence(text: str, part: _Part, quote: str, spans: Sequence[Span], at: int) -> str:
    """End a part with the punctuation it would have in running text."""
    if _ends_with_stop(quote, spans[at]) or text[-1:] in _SENTENCE_ENDS + ":":
        return text
    if part is _Part.HEADING and at + 1 < len(spans):
        return f"{text}:"
    if part is _Part.ITEM:
        return f"{text.rstrip(';,')}."
    last = at + 1 == len(spans)
    breaks = not last and "\n" in quote[spans[at].end : spans[at + 1].start]
    return f"{text}." if (breaks or last) and text[-1:] not in ";," else text
