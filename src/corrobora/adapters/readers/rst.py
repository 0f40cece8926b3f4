"""reStructuredText: headings, paragraphs, lists, roles and directives as readable text.

Knows the marks that documentation uses, line by line and in linear time. Does not know docutils' full grammar: what it
does not recognise stays as it was written.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from corrobora.adapters.readers.decoding import decode_text
from corrobora.adapters.readers.writing import TextWriter
from corrobora.domain.parsed import ParsedDocument

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


def read_rst(data: bytes, name: str = "") -> ParsedDocument:
    """Return the readable text of a reStructuredText file. Raises `ReadError` if the bytes are no text."""
    del name
    writer = TextWriter()
    _LineWriter(decode_text(data).expandtabs(8).split("\n"), writer).write_lines()
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
