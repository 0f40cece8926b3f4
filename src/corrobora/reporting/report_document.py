"""A report as a document of blocks, for formats that are no Markdown: headings, paragraphs, lists, tables, quotes.

Knows how the Markdown of a report is read, and which numbers in brackets lead to which source. Does not know any
format.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from corrobora.text.tokens import sanitize_text

if TYPE_CHECKING:
    from markdown_it.token import Token

BlockKind = Literal["heading", "paragraph", "item", "quote", "code", "table", "rule"]
_CITATION = re.compile(r"\[(\d{1,5})\]")
_REFERENCE = re.compile(r"\[(\d{1,5})\] .*`sha256:[0-9a-f]{2,64}`")  # an entry of the list of sources
_INVALID = re.compile("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff\ufffe\uffff]")  # in XML


@dataclass(frozen=True, slots=True)
class Run:
    """A piece of text in one style; `href` is a web address, `source` the number of the source that it leads to."""

    text: str
    bold: bool = False
    italic: bool = False
    code: bool = False
    href: str = ""
    source: int = 0


@dataclass(frozen=True, slots=True)
class TextBlock:
    """One block. `level` is that of a heading; `number` of an item of an ordered list; `source` the entry it begins."""

    kind: BlockKind
    runs: tuple[Run, ...] = ()
    level: int = 0
    number: int = 0
    source: int = 0
    rows: tuple[tuple[tuple[Run, ...], ...], ...] = ()  # of a table, the head first


@dataclass
class _Reading:
    """Where the reading of a report stands."""

    sources: frozenset[int]
    quoted: int = 0
    numbers: list[int] = field(default_factory=list[int])  # of the open lists: the next number, 0 without numbers
    first: bool = False  # the next paragraph begins an item


def strip_invalid(text: str) -> str:
    """Return a text without characters that no document may hold."""
    return _INVALID.sub("", sanitize_text(text))


def read_document(markdown: str, numbers: Sequence[int]) -> tuple[TextBlock, ...]:
    """Return the blocks of a report; `numbers` are those of its citations."""
    from markdown_it import MarkdownIt  # noqa: PLC0415 - only an export needs it, and the import is slow

    parser = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
    tokens = parser.parse(strip_invalid(markdown))
    return tuple(_iter_blocks(tokens, _Reading(frozenset(numbers))))


def _iter_blocks(tokens: Sequence[Token], reading: _Reading) -> Iterator[TextBlock]:
    at = 0
    while at < len(tokens):
        token = tokens[at]
        match token.type:
            case "heading_open":
                yield TextBlock("heading", _read_inline(tokens[at + 1], reading), level=int(token.tag[1]))
                at += 2
            case "paragraph_open":
                yield _make_paragraph(tokens[at + 1], reading)
                at += 2
            case "fence" | "code_block":
                yield TextBlock("code", (Run(token.content.rstrip("\n"), code=True),))
            case "hr":
                yield TextBlock("rule")
            case "table_open":
                end = next(n for n in range(at, len(tokens)) if tokens[n].type == "table_close")
                yield TextBlock("table", rows=_read_rows(tokens[at:end], reading))
                at = end
            case _:
                _follow_nesting(token, reading)
        at += 1


def _follow_nesting(token: Token, reading: _Reading) -> None:
    match token.type:
        case "blockquote_open":
            reading.quoted += 1
        case "blockquote_close":
            reading.quoted -= 1
        case "bullet_list_open":
            reading.numbers.append(0)
        case "ordered_list_open":
            reading.numbers.append(int(token.attrGet("start") or 1))
        case "bullet_list_close" | "ordered_list_close":
            reading.numbers.pop()
        case "list_item_open":
            reading.first = True
        case _:
            pass


def _make_paragraph(inline: Token, reading: _Reading) -> TextBlock:
    found = None if reading.quoted else _REFERENCE.fullmatch(inline.content)
    number = int(found.group(1)) if found else 0
    if number in reading.sources:
        return TextBlock("paragraph", _read_inline(inline, _Reading(frozenset())), source=number)
    if reading.quoted:  # what a source says cites nothing of this report
        return TextBlock("quote", _read_inline(inline, _Reading(frozenset())))
    runs = _read_inline(inline, reading)
    if reading.numbers and reading.first:
        reading.first = False
        at = reading.numbers[-1]
        reading.numbers[-1] += bool(at)
        return TextBlock("item", runs, number=at)
    return TextBlock("paragraph", runs)


def _read_rows(tokens: Sequence[Token], reading: _Reading) -> tuple[tuple[tuple[Run, ...], ...], ...]:
    rows: list[list[tuple[Run, ...]]] = []
    for token in tokens:
        if token.type == "tr_open":
            rows.append([])
        elif token.type == "inline":
            rows[-1].append(_read_inline(token, reading))
    return tuple(tuple(row) for row in rows)


def _read_inline(inline: Token, reading: _Reading) -> tuple[Run, ...]:
    runs: list[Run] = []
    bold = italic = 0
    href = ""
    for child in inline.children or ():
        match child.type:
            case "strong_open" | "strong_close":
                bold += child.nesting
            case "em_open" | "em_close":
                italic += child.nesting
            case "link_open":
                href = str(child.attrGet("href") or "")
            case "link_close":
                href = ""
            case "code_inline":
                runs.append(Run(child.content, code=True))
            case "softbreak" | "hardbreak":
                runs.append(Run(" "))
            case _:
                plain = Run(child.content, bold=bold > 0, italic=italic > 0, href=href)
                runs += _split_citations(plain, reading.sources)
    return tuple(run for run in runs if run.text)


def _split_citations(run: Run, sources: frozenset[int]) -> Iterator[Run]:
    """Yield a run in pieces, each `[n]` that leads to a source as a piece of its own."""
    at = 0
    for found in _CITATION.finditer(run.text if not run.href else ""):
        if int(found.group(1)) in sources:
            yield Run(run.text[at : found.start()], run.bold, run.italic)
            yield Run(found.group(), run.bold, run.italic, source=int(found.group(1)))
            at = found.end()
    yield Run(run.text[at:], run.bold, run.italic, href=run.href)
