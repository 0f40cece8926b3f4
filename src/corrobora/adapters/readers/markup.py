"""Markdown and reStructuredText: headings, paragraphs, lists, tables and embedded HTML as readable text.

Knows CommonMark with tables, the front matter of site generators, and the marks of reStructuredText that documentation
uses, line by line and in linear time. Words and punctuation stay as they are, so that quotes are literal in the result.
Does not know templates or the full grammar of docutils: what it does not recognize stays as it was written.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from markdown_it import MarkdownIt
from markdown_it.token import Token

from corrobora.adapters.readers.html import read_tags
from corrobora.adapters.readers.text import TextWriter, decode_text
from corrobora.domain.documents import ParsedDocument

_TAG = re.compile(r"</?[A-Za-z][^<>\n]{0,500}>")
_KRAMDOWN = re.compile(r" ?\{[:#.][^{}\n]{0,200}\}|\{%[^{}\n]{0,300}%\}|\[\[toc\]\]", re.IGNORECASE)
_LABELLED = re.compile(r"[*_]{0,3}[A-Z][\w '’/()-]{1,40}(?::[*_]{0,3}|[*_]{1,3}:) \S")
_FRONT = frozenset({"title", "date", "published", "version", "publisher", "site", "author"})


def read_markdown(data: bytes, charset: str = "") -> ParsedDocument:
    """Return the readable text of a Markdown file. Raises `ReadError` if the bytes are no text."""
    front, body = split_front_matter(decode_text(data, charset))
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


_ADORNMENT = frozenset("=-`:'\"~^_*+#<>.!$%&,/;?@|\\(){}[]")
_ROLE = re.compile(r":[A-Za-z][\w+.:-]{0,40}:`([^`\n]{1,400})`")
_LINK = re.compile(r"`([^`<\n]{1,300}?) ?<[^`>\n]{1,600}>`__?")
_REFERENCE = re.compile(r"`([^`\n]{1,300})`_{0,2}")
_CODE = re.compile(r"``([^`\n]{1,600})``")
_STRONG = re.compile(r"\*\*([^*\n]{1,400})\*\*|\*([^*\s][^*\n]{0,400})\*")
_TARGETED = re.compile(r"^[~!]?(.*?)(?: ?<[^>\n]{1,400}>)?$")
_DIRECTIVE = re.compile(r"^\.\. ([A-Za-z][\w:-]{0,60})::(?: (.*))?$")
_OPTION = re.compile(r"^\s+:[A-Za-z][\w-]{0,40}:(?: .*)?$")
_SKIPPED = frozenset(
    "image figure include toctree raw index contents highlight default-role currentmodule module meta "
    "only autoclass automodule autofunction automethod".split()
)
_BORDER = re.compile(r"^\s*(?:[=+-]{2,}[ =+-]*|\+[-=+]+\+)\s*$")


def read_rst(data: bytes, charset: str = "") -> ParsedDocument:
    """Return the readable text of a reStructuredText file. Raises `ReadError` if the bytes are no text."""
    writer = TextWriter()
    _LineWriter(decode_text(data, charset).expandtabs(8).split("\n"), writer).write_lines()
    return writer.build_parsed()


class _LineWriter:
    """Walks lines in order; every line is looked at once."""

    def __init__(self, lines: Sequence[str], writer: TextWriter) -> None:
        self._lines = lines
        self._writer = writer
        self._styles: list[str] = []  # adornments in order of first use: their levels

    def write_lines(self) -> None:
        """Write all lines."""
        at = 0
        while at < len(self._lines):
            at = self._write_next(at)

    def _write_next(self, at: int) -> int:
        line = self._lines[at]
        if not line.strip():
            return at + 1
        if title := self._write_title(at):
            return title
        if line.startswith(".. ") or line.strip() == "..":
            return self._write_explicit(at)
        return self._write_paragraph(at)

    def _write_title(self, at: int) -> int:
        """Write a heading if one starts here and return the line after it, else 0."""
        over = _is_adornment(self._lines[at]) and at + 2 < len(self._lines) and _is_adornment(self._lines[at + 2])
        first = at + 1 if over else at
        under = self._lines[first + 1] if first + 1 < len(self._lines) else ""
        text = self._lines[first].strip()
        if (
            not text
            or not _is_adornment(under)
            or _is_adornment(self._lines[first])
            or len(under.rstrip()) < min(len(text), 3)
        ):
            return 0
        if not over and (self._lines[first][:1].isspace() or len(under.rstrip()) < len(text) * 0.6):
            return 0
        style = ("o" if over else "u") + under[0]
        if style not in self._styles:
            self._styles.append(style)
        self._writer.add_heading(strip_inline(text), self._styles.index(style) + 1)
        return first + 2

    def _write_explicit(self, at: int) -> int:
        """Skip a comment or target; write what a directive holds."""
        match = _DIRECTIVE.match(self._lines[at])
        end = at + 1
        while end < len(self._lines) and (not self._lines[end].strip() or self._lines[end][:1].isspace()):
            end += 1
        if match is None or match[1].lower() in _SKIPPED:
            return end
        if match[2] and match[1].lower() not in {"code-block", "code", "sourcecode", "literalinclude"}:
            self._writer.add_block(strip_inline(match[2]))
        body = [line for line in self._lines[at + 1 : end] if not _OPTION.match(line)]
        if match[1].lower() in {"code-block", "code", "sourcecode"}:
            self._writer.add_verbatim("\n".join(body))
        else:
            _LineWriter(_outdent_lines(body), self._writer).write_flat()
        return end

    def write_flat(self) -> None:
        """Write the lines of a directive as paragraphs: headings and directives inside stay text."""
        at = 0
        while at < len(self._lines):
            at = self._write_paragraph(at) if self._lines[at].strip() else at + 1

    def _write_paragraph(self, at: int) -> int:
        end = at
        while end < len(self._lines) and self._lines[end].strip():
            end += 1
        rows: list[str] = []
        for line in self._lines[at:end]:
            if _BORDER.match(line):
                continue
            plain = line.strip()
            if plain.startswith("|") and plain.endswith("|") and len(plain) > 1:
                plain = " | ".join(cell for part in plain.strip("|").split("|") if (cell := part.strip()))
                rows.append(plain)
            elif rows and not _starts_item(plain):
                rows[-1] = f"{rows[-1]} {plain}"
            else:
                rows.append(plain)
        for row in rows:
            text = strip_inline(row)
            self._writer.add_block(text[:-1] if text.endswith("::") else text, tight=_starts_item(row) or " | " in row)
        return end


def _is_adornment(line: str) -> bool:
    plain = line.rstrip()
    return len(plain) >= 2 and plain[0] in _ADORNMENT and plain == plain[0] * len(plain)  # noqa: PLR2004


def _starts_item(line: str) -> bool:
    head, space, _ = line.partition(" ")
    return bool(space) and (head in {"-", "*", "+", "•", "#."} or (head[:-1].isdigit() and head[-1:] in ".)"))


def _outdent_lines(lines: Sequence[str]) -> list[str]:
    return [line.strip() for line in lines]


def strip_inline(text: str) -> str:
    """Drop inline marks: roles, links, literals and emphasis become what they say."""
    text = _CODE.sub(r"\1", text)
    if "`" in text:
        text = _ROLE.sub(lambda match: _TARGETED.sub(r"\1", match[1]), text)
        text = _LINK.sub(r"\1", text)
        text = _REFERENCE.sub(r"\1", text)
    return _STRONG.sub(lambda match: match[1] or match[2], text) if "*" in text else text
