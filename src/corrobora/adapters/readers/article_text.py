"""The text of an article: its blocks in the order of the page, under the headings of the page.

Knows the elements that the extractor of articles writes, items and definitions with what stands inside them, and where
a page has its headings. Does not know how an article is found. Runs in the parser's process.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from corrobora.adapters.readers import TextWriter
from corrobora.adapters.readers.declared import Element

HEADINGS = {f"h{level}": level for level in range(1, 7)}
# Signs of private use, for the extractor alone: where white space or the edge of a block parts words, and digits that
# make each repeated block another one, for it drops blocks that say the same.
EDGE = "\ue000"
REPEATS = "\uf8fe\uf8fd"
_NO_SIGNS = str.maketrans(dict.fromkeys(REPEATS) | {EDGE: " "})
SILENT = frozenset({"script", "style", "template", "noscript", "svg", "head"})
_BLOCKS = frozenset({"p", "list", "head", "table", "div", "quote"})
_SPACED = _BLOCKS | {"item", "row", "cell", "lb", "li", "ul", "ol", "br", "td", "tr"}
_PARAGRAPHS = frozenset({"p", "div", "quote"})  # of an item
_STOPPED = re.compile(r"[.!?:;…。！？：][\"'”’)\]»]*$")
_WORD = re.compile(r"\w+")
_TRIES = 200  # headings among which one is looked for
_PROBE = 60  # letters by which a block is found in its page
_REACH = 200_000  # letters behind the last block found in which the next one is looked for
_FEWEST = 12  # letters of a block that is looked for


class _Mark(NamedTuple):
    place: int
    level: int
    title: str


class Outline:
    """The headings of a page, each given out before the first block of text that it stands above."""

    def __init__(self, tree: Element) -> None:
        pieces: list[str] = []
        self._length = 0
        self._begins: set[int] = set()  # where a piece of text begins
        self._marks: list[_Mark] = []
        stack: list[tuple[Element, bool]] = [(tree, False)]
        while stack:
            element, ends = stack.pop()
            readable = isinstance(element.tag, str) and element.tag not in SILENT  # a comment's tag is a function
            if not ends:
                stack.append((element, True))
                if readable:
                    stack += [(child, False) for child in element][::-1]
                    self._mark_heading(element)
            if (text := element.tail if ends else element.text if readable else None) and not text.isspace():
                pieces.append(letters := _take_letters(text))
                self._begins.add(self._length)
                self._length += len(letters)
        self._letters = "".join(pieces)
        self._next = self._cursor = 0

    def _mark_heading(self, element: Element) -> None:
        level = HEADINGS.get(str(element.tag))
        if level is not None and (title := read_element(element)):
            self._marks.append(_Mark(self._length, level, title))

    def take_headings(self, block: str) -> list[_Mark]:
        """Return the headings above a block that were not given out, outer ones first; none if its place is unclear."""
        said = _take_letters(block)
        place = -1
        if len(said) >= _FEWEST:
            place = self._find_begin(said[:_PROBE])
        elif said and self._letters.startswith(said, at := self._skip_headings()):
            place = at  # a few letters say where they stand only if they come next
        if place < 0:
            return []
        self._cursor = place + len(said)
        end = self._next
        while end < len(self._marks) and self._marks[end].place <= place:
            end += 1
        return self._take_until(end)

    def _find_begin(self, probe: str) -> int:
        """Return where a piece of text begins with these letters, -1 if none does: they may stand in a heading, too."""
        end = self._cursor + _REACH
        place = self._letters.find(probe, self._cursor, end)
        while place >= 0 and place not in self._begins:
            place = self._letters.find(probe, place + 1, end)
        return place

    def _skip_headings(self) -> int:
        """Return where the next text stands that is no heading."""
        place = self._cursor
        for mark in self._marks[self._next : self._next + _TRIES]:
            if mark.place > place:
                break
            place = mark.place + len(_take_letters(mark.title))
        return place

    def take_heading(self, title: str, level: int) -> list[_Mark]:
        """Return a heading that the extractor kept, after those above it; itself as it is if the page has none such."""
        for at in range(self._next, min(len(self._marks), self._next + _TRIES)):
            if self._marks[at].title == title:
                return self._take_until(at + 1)
        return [_Mark(-1, level, title)]

    def _take_until(self, end: int) -> list[_Mark]:
        above: list[_Mark] = []
        for mark in self._marks[self._next : end]:
            while above and above[-1].level >= mark.level:
                above.pop()
            above.append(mark)
        self._next = end
        return above


def _take_letters(text: str) -> str:
    """Return the letters and digits of a text: how a page or the extractor cuts it into words does not matter."""
    return "".join(_WORD.findall(text)).lower()


class ArticleWriter:
    """Walks the article's elements."""

    def __init__(self, writer: TextWriter, outline: Outline) -> None:
        self._writer, self._outline = writer, outline
        self._terms: list[str] = []  # of a list of definitions, until their definition

    def write_body(self, body: Element) -> None:
        stack: list[Element] = list(body)[::-1]
        self._add_block(body.text)
        while stack:
            element = stack.pop()
            match element.tag:
                case "head":
                    level = HEADINGS.get(element.get("rend"), 2)
                    self._add_headings(self._outline.take_heading(read_element(element), level))
                case "table":
                    self._write_table(element)
                case "list":
                    self._write_list(element)
                case "code":
                    self._write_code(element)
                case "quote" if [child.tag for child in element] == ["code"] and not (element.text or "").strip():
                    stack.extend(element)  # a block of code
                case "div" | "quote" if any(child.tag in _BLOCKS for child in element):
                    self._add_block(element.text)
                    stack.extend(list(element)[::-1])
                case _:
                    self._add_block(read_element(element))
            self._add_block(element.tail)

    def _write_list(self, element: Element, depth: int = 0) -> None:
        for item in element:
            self._write_item(item, depth)
        self._end_terms(depth)

    def _write_item(self, item: Element, depth: int) -> None:
        """Write an item of a list, and a definition on one line with its terms: "-p: parse the file".

        What stands inside it follows in its order on lines of their own, indented.
        """
        last, kind = item.tail, item.get("rend", "")[:2]
        if kind == "dt":
            term = read_element(item).rstrip(":：,，、 ")
            self._terms += [term] if term else []
        else:
            self._write_parts(item, depth, goes_on=kind == "dd" and not self._terms and _follows_definition(item))
        self._add_block(last)

    def _write_parts(self, item: Element, depth: int, *, goes_on: bool) -> None:
        terms, self._terms = ", ".join(self._terms), []
        begins = f"{terms}{'' if terms[-1] in '.!?。！？' else ':'}" if terms else ""
        for part in _split_item(item):
            if isinstance(part, str):
                text = f"{begins} {part}".strip() if not goes_on else part
                self._add_block(text, bullet="" if goes_on else "- ", depth=depth + goes_on, tight=True)
            else:
                if begins and not goes_on:
                    self._add_block(begins, bullet="- ", depth=depth, tight=True)
                self._write_inner(part, depth + 1)
            goes_on = True

    def _write_inner(self, element: Element, depth: int) -> None:
        """Write a list, a table or code that stands in an item."""
        match element.tag:
            case "list":
                outer, self._terms = self._terms, []
                self._write_list(element, depth)
                self._terms = outer
            case "table":
                self._write_table(element)
            case _:
                self._write_code(element, depth)

    def _write_code(self, element: Element, depth: int = 0) -> None:
        self._add_headings(self._outline.take_headings(read_element(element)))
        self._writer.add_verbatim("".join(element.itertext()).replace(EDGE, "").translate(_NO_SIGNS), depth=depth)

    def _end_terms(self, depth: int) -> None:
        """Write terms without a definition."""
        terms, self._terms = self._terms, []
        for term in terms:
            self._add_block(term, bullet="- ", depth=depth, tight=True)

    def _add_headings(self, marks: Sequence[_Mark]) -> None:
        for mark in marks:
            self._writer.add_heading(mark.title, mark.level)

    def _add_block(self, text: str | None, *, bullet: str = "", depth: int = 0, tight: bool = False) -> None:
        marks = self._outline.take_headings(text) if text and text.strip() else []
        self._add_headings(marks)
        if text and text.strip() and not (marks and _take_letters(text) == _take_letters(marks[-1].title)):
            self._writer.add_block(bullet + text.translate(_NO_SIGNS).lstrip(), tight=tight, depth=depth)

    def _write_table(self, table: Element) -> None:
        rows = [list(row) for row in table]
        heads = bool(rows) and len(rows[0]) > 1 and all(cell.get("role") == "head" for cell in rows[0])
        cells = [
            [_read_cell(cell) for cell in row] or [read_element(each)] for row, each in zip(rows, table, strict=True)
        ]
        self._add_headings(self._outline.take_headings(" ".join(" ".join(row) for row in cells[:2])))
        self._writer.add_rows(cells[heads:], cells[0] if heads else ())


def _follows_definition(item: Element) -> bool:
    before = item.getprevious()
    return before is not None and before.get("rend", "")[:2] == "dd"


def _split_item(item: Element) -> Iterator[str | Element]:
    """Yield in their order the lines of an item, and the lists, tables and blocks of code inside it.

    Paragraphs that end like sentences share a line; the name of a note stands on one of its own.
    """
    line = ""
    for part in _walk_item(item):
        said = part if isinstance(part, str) else ""
        if line and not (said and _STOPPED.search(line) and _STOPPED.search(said)):
            yield line
            line = ""
        if isinstance(part, str):
            line = f"{line} {said}".strip()
        else:
            yield part
    if line:
        yield line


def _walk_item(item: Element) -> Iterator[str | Element]:
    """Yield the paragraphs of an item, and the elements inside it that are none."""
    pieces = [item.text or ""]
    for child in item:
        paragraph = child.tag in _PARAGRAPHS
        if paragraph or _is_inner(child):
            yield from _join_pieces(pieces)
            pieces = []
            if paragraph:
                yield from _walk_item(child)
            else:
                yield child
        else:
            space = " " if child.tag in _SPACED else ""
            pieces += [space, *_list_pieces(child), space]
        pieces.append(child.tail or "")
    yield from _join_pieces(pieces)


def _is_inner(element: Element) -> bool:
    """True for what stands in an item on lines of its own."""
    return element.tag in ("list", "table") or (element.tag == "code" and "\n" in "".join(element.itertext()))


def _read_cell(cell: Element) -> str:
    """Return the text of a cell on one line; semicolons part paragraphs and items that end like no sentence."""
    text = ""
    for said in _list_lines(cell):
        text += f"{'' if not text else ' ' if _STOPPED.search(text) else '; '}{said}"
    return text


def _list_lines(element: Element) -> Iterator[str]:
    for part in _walk_item(element):
        if isinstance(part, str):
            yield part
        elif part.tag == "list":
            for item in part:
                yield from _list_lines(item)
        elif said := read_element(part):
            yield said


def _join_pieces(pieces: Sequence[str]) -> Iterator[str]:
    if said := " ".join("".join(pieces).translate(_NO_SIGNS).split()):
        yield said


def read_element(element: Element) -> str:
    """Return the text of an element on one line."""
    return " ".join("".join(_list_pieces(element)).translate(_NO_SIGNS).split())


def _list_pieces(element: Element) -> Iterator[str]:
    """Return the pieces of an element's text, with a space around every block, so that words do not stick together."""
    yield element.text or ""
    for child in element:
        space = " " if child.tag in _SPACED else ""
        yield space
        yield from _list_pieces(child)
        yield space
        yield child.tail or ""
