"""reStructuredText: headings, paragraphs, lists, tables, definitions and directives as readable text.

Knows the marks that documentation uses, line by line and in linear time. Words and punctuation stay as they are, so
that quotes are literal in the result. Does not know the full grammar of docutils: what it does not recognize stays as
it was written.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from textwrap import dedent

from corrobora.adapters.readers import TextWriter, decode_text
from corrobora.ports import ParsedDocument
from corrobora.text.entries import find_term, measure_indent

BOLD_LINE = re.compile(r"(\*\*|__)(?! )[^*_\n]{1,99}[^*_\n .:!?]\1")  # a paragraph of its own: a heading
_ADORNMENT = frozenset("=-`:'\"~^_*+#<>.!$%&,/;?@|\\(){}[]")
_ROLE = re.compile(r":[A-Za-z][\w+.:-]{0,40}:`([^`\n]{1,400})`")
_LINK = re.compile(r"`([^`<\n]{1,300}?) ?<[^`>\n]{1,600}>`__?")
_REFERENCE = re.compile(r"`([^`\n]{1,300})`_{0,2}")
_CODE = re.compile(r"``([^`\n]{1,600})``")
_STRONG = re.compile(r"(?<![\w*\\])(\*\*|\*)(?=[^*\s])([^*\n]{0,400}[^*\s\\])\1(?![\w*])")
_CITED = re.compile(r"(\[[\w#*.-]{1,60}\])_(?!\w)")
_EMPTY = re.compile(r"\\\s+")  # parts marks from letters and is not shown
_BACKSLASH = re.compile(r"\\([^\w\s])")
_TARGETED = re.compile(r"^[~!]?(?:\.(?=[A-Z]))?(.*?)(?: ?<[^>\n]{1,400}>)?$")  # Sphinx shows no point before a class
_DIRECTIVE = re.compile(r"^\.\. ([A-Za-z][\w:-]{0,60})::(?: (.*))?$")
_NOTE = re.compile(r"^\.\. (\[[^\]\s]{1,60}\])(?: +(.*)|()$)")
_FIELD = re.compile(r":[A-Za-z][\w -]{0,40}:(?: |$)")
_PARAMETER = re.compile(
    r":(?:(?:param|parameter|arg|argument|key|keyword|ivar|cvar|var|type) (?:(\w\S*) )?(?=\S+:)"
    r"|(?=(?:returns?|rtype|raises?)\b))([^:]+): *(?=\S)"
)
_OPTION = re.compile(r"^\s+:[A-Za-z][\w-]{0,40}:(?: .*)?$")
_CODE_BLOCKS = frozenset(
    "code-block code sourcecode literalinclude parsed-literal testcode testoutput doctest prompt ipython "
    "productionlist".split()
)
_SKIPPED = frozenset(
    "image figure include toctree raw index contents highlight default-role currentmodule module meta "
    "only autoclass automodule autofunction automethod".split()
)
_CALLED = frozenset(("function", "class", "method", "classmethod", "staticmethod", "exception", "macro", "decorator"))
_LISTED_OPTION = re.compile(r"((?:--?|/)\w\S*(?:,? \S+){0,5}?) {2,}(?=\S)")
_BORDER = re.compile(r"^\s*(?:[=+-]{2,}[ =+-]*|\+[-=+]+\+)\s*$")


def read_rst(data: bytes, charset: str = "") -> ParsedDocument:
    """Return the readable text of a reStructuredText file. Raises `ReadError` if the bytes are no text."""
    writer = TextWriter()
    _LineWriter(decode_text(data, charset).expandtabs(8).split("\n"), writer).write_lines()
    return writer.build_parsed()


class _LineWriter:
    """Walks lines in order; every line is looked at once."""

    def __init__(self, lines: Sequence[str], writer: TextWriter, level: int = 0) -> None:
        self._lines = lines
        self._writer = writer
        self._styles: list[str] = []  # adornments in order of first use: their levels
        self._level = level  # of the last heading that is marked as one
        self._term_depth = -1  # of the term whose definition goes on while lines are indented deeper; -1: none

    def write_lines(self) -> None:
        at = 0
        while at < len(self._lines):
            at = self._write_next(at)

    def _write_next(self, at: int) -> int:
        line = self._lines[at]
        if not line.strip():
            return at + 1
        if title := self._write_title(at):
            return title
        return self._write_explicit(at) if _is_explicit(line) else self._write_paragraph(at)

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
        self._level = self._styles.index(style) + 1
        self._writer.add_heading(strip_inline(text), self._level)
        return first + 2

    def _write_explicit(self, at: int) -> int:
        """Skip a comment or target; write what a directive or note holds. An empty comment ends before what follows."""
        line = self._lines[at].strip()
        match = _DIRECTIVE.match(line)
        end = at + 1
        if line == ".." and not "".join(self._lines[end : end + 1]).strip():
            return end
        end = self._find_outside(end, measure_indent(self._lines[at]))
        if note := _NOTE.match(line):
            text = " ".join([note[2] or "", *_outdent_lines(self._lines[at + 1 : end])])
            self._writer.add_block(strip_inline(f"{note[1]} {text}"))
        if match is None or match[1].lower() in _SKIPPED:
            return end
        first = next((n for n in range(at + 1, end) if not self._lines[n].strip()), end)
        options = [line for line in self._lines[at + 1 : first] if not _OPTION.match(line)]
        body = [*options, *self._lines[first:end]]
        if match[1].lower() in _CODE_BLOCKS:
            self._writer.add_verbatim(dedent("\n".join(body)), code=True)
            return end
        if _defines_term(match[2] or "", body):
            _LineWriter([match[2], *body[1:]], self._writer).write_flat()
            return end
        inner = _LineWriter(dedent("\n".join(body)).split("\n"), self._writer, self._level)
        if match[2]:
            if self._level and (":" in match[1] or match[1] in _CALLED) and "(" in match[2]:
                inner.open_section(match[2].partition("(")[0])
            self._writer.add_block(strip_inline(match[2]))
        inner.write_flat()
        return end

    def open_section(self, name: str) -> None:
        """Write the name of what a directive describes as a heading: what is said below does not repeat it."""
        self._level += 1
        self._writer.add_heading(strip_inline(name.strip()), self._level)

    def _find_outside(self, at: int, depth: int = 0) -> int:
        """Return the first line from `at` on that is neither blank nor indented by more than `depth`."""
        while at < len(self._lines) and (not self._lines[at].strip() or measure_indent(self._lines[at]) > depth):
            at += 1
        return at

    def write_flat(self) -> None:
        """Write the lines of a directive as paragraphs: headings inside stay text."""
        at = 0
        while at < len(self._lines):
            line = self._lines[at]
            write = self._write_explicit if _is_explicit(line) else self._write_paragraph
            at = write(at) if line.strip() else at + 1

    def _write_paragraph(self, at: int) -> int:
        end = at
        while end < len(self._lines) and self._lines[end].strip():
            end += 1
        block = self._lines[at:end]
        if self._level and len(block) == 1 and BOLD_LINE.fullmatch(block[0].rstrip()):
            self._writer.add_heading(strip_inline(block[0].strip()), self._level + 1)
            return end
        if _BORDER.match(block[0]) and len(block) > 2:  # noqa: PLR2004 - a border above and below
            rows, heads = _split_grid(block) if block[0].lstrip()[0] == "+" else _split_columns(block)
            rows = [[strip_inline(cell) for cell in row] for row in rows]
            self._writer.add_rows(rows[heads:], rows[0] if heads == 1 else ())
            return end
        deeper = 0 <= self._term_depth < measure_indent(block[0])
        listed, items = _starts_item(block[0].strip()), _join_items(block)
        for item in items:
            text = strip_inline(item)
            said = text[:-1] if text.endswith("::") else text
            self._writer.add_block(said, tight=listed and _starts_item(item), depth=2 * deeper)
        if not deeper:
            self._term_depth = measure_indent(block[0]) if find_term(items[-1], 0) else -1
        literal = self._find_outside(end, measure_indent(block[0])) if block[-1].rstrip().endswith("::") else end
        self._writer.add_verbatim(dedent("\n".join(self._lines[end:literal])))
        return literal


def _join_items(block: Sequence[str]) -> list[str]:
    """Join the lines of a paragraph, of each item of a list, and of each term with its indented definition."""
    items: list[list[str]] = []
    depth, inner = measure_indent(block[0]), False
    for line in block:
        plain, before = line.strip(), inner
        inner = measure_indent(line) > depth
        option = _LISTED_OPTION.match(plain)
        if option is not None:
            items.append([f"- {option[1]}: {plain[option.end() :]}"])
        elif not items or _starts_item(plain) or (before and not inner):
            items.append([_name_field(plain)])
        else:
            said = items[-1]
            if inner and not before and said[-1][-1] not in ".:!?,;" and not _starts_item(" ".join(said[:2])):
                items[-1] = said = [f"- {' '.join(said)}:"]
            said.append(plain)
    return [" ".join(said) for said in items]


def _name_field(line: str) -> str:
    """Return a field of a function as it is shown: ":param int trays: How many." is "- trays (int): How many."."""
    named = _PARAMETER.match(line)
    return f"- {named[2]}{f' ({named[1]})' if named[1] else ''}: {line[named.end() :]}" if named else line


def _defines_term(argument: str, body: Sequence[str]) -> bool:
    """True for a directive that names a thing above the paragraphs that describe it, and not a function."""
    if len(body) < 2 or body[0].strip() or not argument or argument[-1] in ".:!?,;)":  # noqa: PLR2004 - a blank line and one more
        return False
    below = body[1].strip()
    return bool(below) and not (_BORDER.match(below) or _starts_item(below) or below.startswith(".. "))


def _is_explicit(line: str) -> bool:
    """True for the first line of a directive, comment or target, which may stand in an item of a list."""
    return line.lstrip().startswith(".. ") or line.strip() == ".."


def _split_grid(lines: Sequence[str]) -> tuple[list[list[str]], int]:
    """Return the rows of a table drawn with bars, and how many of them are its head."""
    rows: list[list[str]] = []
    heads, fresh = 0, True
    for line in lines:
        if line.lstrip().startswith("+"):
            heads, fresh = len(rows) if "=" in line else heads, True
            continue
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if fresh or len(cells) != len(rows[-1]):
            rows.append(cells)
        else:
            rows[-1] = [f"{above} {cell}".strip() for above, cell in zip(rows[-1], cells, strict=True)]
        fresh = False
    return rows, heads


def _split_columns(lines: Sequence[str]) -> tuple[list[list[str]], int]:
    """Return the rows of a table whose border marks its columns, and how many of them are its head."""
    starts = [match.start() for match in re.finditer(r"[=-]+", lines[0])]
    ends = [*starts[1:], None]
    rows: list[list[str]] = []
    heads = 0
    for line in lines[1:]:
        if _BORDER.match(line):
            heads = heads or (len(rows) if line.lstrip()[0] == "=" and line is not lines[-1] else 0)
            continue
        cells = [line[start:end].strip() for start, end in zip(starts, ends, strict=True)]
        if rows and not cells[0]:
            rows[-1] = [f"{above} {cell}".strip() for above, cell in zip(rows[-1], cells, strict=True)]
        else:
            rows.append(cells)
    return rows, heads


def _is_adornment(line: str) -> bool:
    plain = line.rstrip()
    return len(plain) >= 2 and plain[0] in _ADORNMENT and plain == plain[0] * len(plain)  # noqa: PLR2004


def _starts_item(line: str) -> bool:
    head, space, _ = line.partition(" ")
    if _FIELD.match(line):
        return True
    return bool(space) and (head in {"-", "*", "+", "•", "#."} or (head[:-1].isdigit() and head[-1:] in ".)"))


def _outdent_lines(lines: Sequence[str]) -> list[str]:
    return [line.strip() for line in lines]


def strip_inline(text: str) -> str:
    """Drop inline marks: roles, links, literals and emphasis become what they say; a literal stays as it is."""
    parts = _CODE.split(text)
    return "".join(part if at % 2 else _strip_marks(part) for at, part in enumerate(parts))


def _strip_marks(text: str) -> str:
    if "`" in text:
        text = _ROLE.sub(lambda match: _TARGETED.sub(r"\1", match[1]), text)
        text = _LINK.sub(r"\1", text)
        text = _REFERENCE.sub(lambda match: _TARGETED.sub(r"\1", match[1]), text)
    text = _CITED.sub(r"\1", text)
    return _BACKSLASH.sub(r"\1", _EMPTY.sub("", _STRONG.sub(r"\2", text)))
