"""Markdown: front matter, headings, paragraphs, lists, tables and embedded HTML as readable text.

Knows CommonMark with tables, and the front matter of site generators. Does not know templates: what a generator would
insert is not there. Markup goes, words and punctuation stay, so that quotes are literal in the result.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from markdown_it import MarkdownIt
from markdown_it.token import Token

from corrobora.adapters.readers.decoding import decode_text
from corrobora.adapters.readers.tags import read_tags
from corrobora.adapters.readers.writing import TextWriter
from corrobora.domain.parsed import ParsedDocument

_TAG = re.compile(r"</?[A-Za-z][^<>\n]{0,500}>")
_KRAMDOWN = re.compile(r" ?\{[:#.][^{}\n]{0,200}\}|\{%[^{}\n]{0,300}%\}|\[\[toc\]\]", re.IGNORECASE)
_LABELLED = re.compile(r"[*_]{0,3}[A-Z][\w '’/()-]{1,40}(?::[*_]{0,3}|[*_]{1,3}:) \S")
_FRONT = frozenset({"title", "date", "published", "version", "publisher", "site", "author"})


def read_markdown(data: bytes, name: str = "") -> ParsedDocument:
    """Return the readable text of a Markdown file. Raises `ReadError` if the bytes are no text."""
    del name
    front, body = split_front_matter(decode_text(data))
    writer = TextWriter()
    _BlockWriter(writer).write_tokens(
        MarkdownIt("commonmark", {"maxNesting": 40}).enable("table").parse(_strip_templates(body))
    )
    return writer.build_parsed(
        front.get("title", ""),
        published=front.get("date", front.get("published", ""))[:10],
        version=front.get("version", ""),
        publisher=front.get("publisher", front.get("site", "")),
    )


def split_front_matter(text: str) -> tuple[dict[str, str], str]:
    """Split off `key: value` lines between two lines of three dashes; nested values are left out."""
    if not text.startswith("---\n"):
        return {}, text
    end = text.find("\n---", 3)
    if end < 0 or end > 20_000:  # noqa: PLR2004 - no front matter is that long
        return {}, text
    found: dict[str, str] = {}
    for line in text[4:end].split("\n"):
        key, colon, value = line.partition(":")
        if colon and key.strip().lower() in _FRONT and key[:1].strip():
            found[key.strip().lower()] = value.strip().strip("\"'")
    after = text.find("\n", end + 1)
    return found, text[after + 1 :] if after >= 0 else ""


def _strip_templates(text: str) -> str:
    return _KRAMDOWN.sub("", text) if "{" in text or "[[" in text else text


class _BlockWriter:
    """Walks block tokens in order."""

    def __init__(self, writer: TextWriter) -> None:
        self._writer = writer
        self._heading = 0
        self._cells: list[str] | None = None
        self._items: list[str] = []  # "-" or the number, for each open list
        self._open_item = False

    def write_tokens(self, tokens: Sequence[Token]) -> None:
        """Write all tokens."""
        for token in tokens:
            match token.type:
                case "inline":
                    self._write_inline(token)
                case "fence":
                    self._writer.add_verbatim(token.content)
                case "code_block":
                    self._write_code(token.content)
                case "html_block":
                    read_tags(token.content, self._writer)
                case _:
                    self._track_structure(token)

    def _track_structure(self, token: Token) -> None:
        """Note where in headings, lists and tables the next words stand."""
        match token.type:
            case "heading_open":
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
                self._writer.add_block(" | ".join(cell for cell in self._cells or () if cell), tight=True)
                self._cells = None
            case _:
                pass

    def _write_code(self, text: str) -> None:
        """An indented block that holds tags is HTML which a blank line has cut from its beginning."""
        if _TAG.search(text):
            read_tags(text, self._writer)
        else:
            self._writer.add_verbatim(text)

    def _write_inline(self, token: Token) -> None:
        breaks = "\n" if all(_LABELLED.match(line) for line in token.content.split("\n")) else " "  # no running text
        text = inline_text(token.children or (), breaks)
        if self._heading:
            self._writer.add_heading(text, self._heading)
        elif self._cells is not None:
            self._cells.append(" ".join(text.split()))
        elif self._open_item:
            self._writer.add_block(f"{self._items[-1]} {text}" if self._items else text, tight=True)
            self._open_item = False
        else:
            self._writer.add_block(text, tight=bool(self._items))


def inline_text(children: Sequence[Token], breaks: str = " ") -> str:
    """Return the words of inline tokens: emphasis, links and tags become what they hold; lines end in `breaks`."""
    parts: list[str] = []
    for child in children:
        match child.type:
            case "text" | "code_inline":
                parts.append(child.content)
            case "softbreak":
                parts.append(breaks)
            case "hardbreak":
                parts.append("\n")
            case "image":
                parts.append(child.content)
            case "html_inline" if child.content[:3].lower() == "<br":
                parts.append("\n")
            case _:
                pass
    return "".join(parts)
