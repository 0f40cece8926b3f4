"""Markdown: headings, paragraphs, lists, tables, definitions and embedded HTML as readable text.

Knows CommonMark with tables, the lists of definitions that many add to it, and the front matter of site generators.
Words and punctuation stay as they are, so that quotes are literal in the result. Does not know templates.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import escape

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from corrobora.adapters.readers import TextWriter, decode_text
from corrobora.adapters.readers.html import is_element, read_tags
from corrobora.adapters.readers.rst import BOLD_LINE
from corrobora.ports import ParsedDocument
from corrobora.text.authors import read_byline
from corrobora.text.quantities import read_date

_DEFINITION = re.compile(r"[^\n]{1,100}[^\n.!?;]\n:[ \t]+\S")  # a term, and below it a colon with what it means
_DEFINED = re.compile(r"\s+:\s+")
_TAG = re.compile(r"</?[A-Za-z][^<>\n]{0,500}>")
_TEMPLATE = re.compile(
    r"(?:(?<=\S)|^)\{:[^{}\n]{0,200}\}| *\{:[^{}\n]{0,200}\}$|\{%[^{}\n]{0,300}%\}|^\[\[toc\]\]$", re.IGNORECASE
)
_ANCHOR = re.compile(r"\s*\{[:#.][^{}\n]{0,200}\}$")  # of a heading
_LABELLED = re.compile(r"(?:[*_]{0,3}[A-Z][\w '’/()-]{1,40}(?::[*_]{0,3}|[*_]{1,3}:)|\[\^[^\]\s]{1,40}\]:) +\S")
_NOTE = re.compile(r"^ {0,3}\[\^([^\]\s]{1,40})\]:", re.MULTILINE)  # defines a footnote
_MARK = re.compile(  # of a footnote, a label for references, and the attributes of the picture or link before it
    r"\[\^(?P<note>[^\]\s]{1,40})\](?::[ \t]*)?|\\label\{[^{}\n]{1,100}\}"
    r"|(?P<about>\{\s*(?:[.#][\w-]|[\w-]{1,40}=)[^{}]{0,200}\})"
)
_LABEL = re.compile(r"[ \t]*\\label\{[^{}\n]{1,100}\}")
_BOXES = {"[ ] ": "☐ ", "[x] ": "☑ ", "[X] ": "☑ "}  # of a task
_FORMULA = re.compile(r"\$\$|\\begin\{(equation|align|alignat|gather|multline|eqnarray|displaymath)(\*?)\}")
_FORMULA_CHARS = 5_000
_LISTS = frozenset({"bullet_list_open", "ordered_list_open"})
_FRAMES = frozenset(
    f"{part}_{end}" for part in ("bullet_list", "ordered_list", "list_item", "paragraph") for end in ("open", "close")
)
_LEAST_LINKS = 3  # in a list that repeats the headings of its page
_FRONT = frozenset({"title", "date", "published", "version", "publisher", "site", "author", "authors"})
_FLOW_ITEM = re.compile(r"""\s*(?:"[^"]*"|'[^']*'|[^,]+)""")  # of a list in brackets; a quoted one may hold commas
_LISTED = re.compile(r"\s*-\s+(?:name\s*:\s*)?(.+)")  # an item of a list of names


def read_markdown(data: bytes, charset: str = "") -> ParsedDocument:
    """Return the readable text of a Markdown file. Raises `ReadError` if the bytes are no text."""
    front, body = split_front_matter(decode_text(data, charset))
    writer = TextWriter()
    write_markdown(body, writer)
    return writer.build_parsed(
        front.get("title", ""),
        published=read_date(front.get("date") or front.get("published") or ""),
        version=front.get("version", ""),
        publisher=front.get("publisher", front.get("site", "")),
        authors=read_byline(front.get("authors") or front.get("author") or ""),
    )


def write_markdown(text: str, writer: TextWriter) -> None:
    """Write the readable text of Markdown without front matter."""
    parser = MarkdownIt("commonmark", {"maxNesting": 40}).enable("table")
    ends = ["paragraph", "reference", "blockquote", "list"]
    parser.block.ruler.before("fence", "formula", _read_formula, {"alt": ends})
    parser.inline.ruler.before("escape", "mark", _skip_mark)
    _BlockWriter(writer).write_tokens(parser.parse(text, {"notes": set(_NOTE.findall(text))}))


def _read_formula(state: StateBlock, line: int, end: int, silent: bool) -> bool:  # noqa: FBT001 - called by the parser
    """Take the lines of a formula that is set apart as one block, as TeX and the processors of papers write them."""
    begin = state.bMarks[line] + state.tShift[line]
    opening = _FORMULA.match(state.src, begin, state.eMarks[line])
    if opening is None:
        return False
    closing = f"\\end{{{opening[1]}{opening[2]}}}" if opening[1] else "$$"
    at = state.src.find(closing, opening.end(), min(state.eMarks[end - 1], begin + _FORMULA_CHARS))
    last = line + state.src.count("\n", begin, at)
    if at < 0 or any(map(str.isalnum, state.src[at + len(closing) : state.eMarks[last]])):
        return False
    if not silent:
        state.push("fence", "", 0).content = _LABEL.sub("", state.src[begin : state.eMarks[last]])
        state.line = last + 1
    return True


def _skip_mark(state: StateInline, silent: bool) -> bool:  # noqa: FBT001 - called by the parser
    """Leave out marks that a processor of papers obeys and does not print."""
    mark = _MARK.match(state.src, state.pos)
    if mark is None or (mark["note"] and mark["note"] not in state.env["notes"]):
        return False
    if mark["about"] and (state.pending or not state.tokens or state.tokens[-1].type not in ("image", "link_close")):
        return False
    state.pos = mark.end()
    state.pending = state.pending if silent else state.pending.rstrip()
    return True


def split_front_matter(text: str) -> tuple[dict[str, str], str]:
    """Split off `key: value` lines between two lines of three dashes.

    Nested values are left out, but for a list of authors, which is joined by semicolons.
    """
    if not text.startswith("---\n"):
        return {}, text
    end = text.find("\n---", 3)
    if end < 0 or end > 20_000:  # noqa: PLR2004 - no front matter is that long
        return {}, text
    found: dict[str, str] = {}
    last = ""
    for line in text[4:end].split("\n"):
        key, colon, value = line.partition(":")
        item = _LISTED.fullmatch(line)
        if item is not None and last in ("author", "authors"):
            found[last] = "; ".join(filter(None, (found.get(last, ""), item[1].strip().strip("\"'"))))
        elif colon and key[:1].strip():
            last = key.strip().lower()
            found |= {last: _read_value(value)} if last in _FRONT else {}
    after = text.find("\n", end + 1)
    return found, text[after + 1 :] if after >= 0 else ""


def _read_value(text: str) -> str:
    """Return a value without its quotation marks; a list in brackets is joined by semicolons."""
    plain = text.strip()
    if plain.startswith("[") and plain.endswith("]"):
        return "; ".join(filter(None, (each.strip().strip("\"'") for each in _FLOW_ITEM.findall(plain[1:-1]))))
    return plain.strip("\"'")


class _BlockWriter:
    """Walks block tokens in order."""

    def __init__(self, writer: TextWriter) -> None:
        self._writer = writer
        self._heading = 0
        self._level = 0  # of the last heading that is marked as one
        self._cells: list[str] | None = None
        self._rows: list[list[str]] = []
        self._items: list[str] = []  # "-" or the number, for each open list
        self._open_item = False
        self._quotes = 0  # how many quotations are open
        self._defines = False  # the block before is a definition

    def write_tokens(self, tokens: Sequence[Token]) -> None:
        for token in iterate_text(tokens):
            match token.type:
                case "inline":
                    self._defines = False
                    self._write_inline(token)
                case "fence":
                    code = True if token.info.strip() else None
                    self._writer.add_verbatim(token.content, code=code, depth=len(self._items))
                case "code_block":
                    self._write_code(token.content)
                case "html_block":
                    read_tags(_escape_names(token.content), self._writer)
                case _:
                    self._track_structure(token)

    def _track_structure(self, token: Token) -> None:
        """Note where in headings, lists and tables the next words stand."""
        match token.type:
            case "blockquote_open" | "blockquote_close":
                self._quotes += token.nesting
            case "heading_open" if not self._quotes:  # what is quoted is no part of the page's own outline
                self._heading = int(token.tag[1:])
            case "heading_close":
                self._heading = 0
            case "bullet_list_open" | "ordered_list_open":
                self._items.append("-" if token.type[0] == "b" else ".")
            case "bullet_list_close" | "ordered_list_close":
                self._items.pop()
            case "list_item_open":
                self._open_item = True
                self._items[-1] = f"{token.info}." if token.info else "-"
            case "tr_open":
                self._cells = []
            case "tr_close":
                self._rows.append(self._cells or [])
                self._cells = None
            case "table_close":
                head, *rows = self._rows
                self._writer.add_rows(rows, head)
                self._rows = []
            case _:
                pass

    def _write_code(self, text: str) -> None:
        """An indented block that begins with a tag is HTML which a blank line has cut from its beginning."""
        if self._defines:  # a further paragraph of a definition
            self._writer.add_block(" ".join(text.split()), depth=2)
        elif (tag := _TAG.match(text.lstrip())) is not None and is_element(tag.group()):
            read_tags(text, self._writer)
        else:
            self._writer.add_verbatim(text, depth=len(self._items))

    def _write_inline(self, token: Token) -> None:
        breaks = "\n" if all(_LABELLED.match(line) for line in token.content.split("\n")) else " "  # no running text
        text = inline_text(token.children or (), breaks)
        bold = self._level > 0 and BOLD_LINE.fullmatch(token.content) is not None
        bold = bold and not self._items and not self._quotes
        if self._heading or (bold and self._cells is None):
            self._level = self._heading or self._level
            self._writer.add_heading(_ANCHOR.sub("", text), self._heading or self._level + 1)
        elif self._cells is not None:
            self._cells.append(" ".join(text.split()))
        elif self._open_item:
            text = _BOXES.get(text[:4], text[:4]) + text[4:]
            marked = f"{self._items[-1]} {text}" if self._items else text
            self._writer.add_block(marked, tight=True, depth=max(0, len(self._items) - 1))
            self._open_item = False
        elif _DEFINITION.match(token.content):
            self._writer.add_block("- " + _DEFINED.sub(": ", text, count=1))
            self._defines = True
        else:
            self._writer.add_block(text, tight=bool(self._items), depth=len(self._items))


def iterate_text(tokens: Sequence[Token]) -> Iterator[Token]:
    """Leave out lists of nothing but links to places of the page itself, which repeat its headings.

    One that words lead in is part of a text.
    """
    at = 0
    while at < len(tokens):
        token = tokens[at]
        if token.type in _LISTS and (at == 0 or tokens[at - 1].type != "paragraph_close"):
            end = next((n for n in range(at, len(tokens)) if tokens[n].level == token.level and n > at), at)
            said = [each for each in tokens[at:end] if each.type not in _FRAMES]
            if len(said) >= _LEAST_LINKS and all(map(_leads_within, said)):
                at = end + 1
                continue
        yield token
        at += 1


def _leads_within(token: Token) -> bool:
    """True for a line that is one link to a place of its own page."""
    inside: list[Token] = [each for each in token.children or () if each.type != "text" or each.content.strip()]
    linked = len(inside) > 1 and inside[0].type == "link_open" and inside[-1].type == "link_close"
    alone = linked and sum(each.type == "link_open" for each in inside) == 1
    return alone and str(inside[0].attrGet("href") or "").startswith("#")


def _escape_names(markup: str) -> str:
    """Escape what stands in angle brackets and is no element of HTML: `<name>` is text."""
    return _TAG.sub(lambda tag: tag.group() if is_element(tag.group()) else escape(tag.group()), markup)


def inline_text(children: Sequence[Token], breaks: str = " ") -> str:
    """Return the words of inline tokens: emphasis, links and tags become what they hold; lines end in `breaks`."""
    parts: list[str] = []
    for child in children:
        match child.type:
            case "text":
                parts.append(_TEMPLATE.sub("", child.content))
            case "image":
                parts.append(inline_text(child.children or ()))
            case "code_inline":
                parts.append(child.content)
            case "softbreak":
                parts.append(breaks)
            case "hardbreak":
                parts.append("\n")
            case "html_inline" if child.content[:3].lower() == "<br":
                parts.append("\n")
            case "html_inline" if not is_element(child.content):
                parts.append(child.content)
            case _:
                pass
    return "".join(parts)
