"""Source code: its definitions become headings, its comments prose, and all other lines blocks of code.

Knows how three families of languages write comments, and the words that open a definition in common ones. Does not
parse a language: a definition without such a word, as of a function in C, is no heading. Nothing is executed.
"""

from __future__ import annotations

import re
from dataclasses import replace
from textwrap import dedent
from typing import NamedTuple

from corrobora.adapters.readers import TextWriter, decode_text
from corrobora.ports import ParsedDocument

_DEFINITION = re.compile(
    r"([ \t]*)(?:(?:export|default|public|private|protected|internal|static|abstract|final|async|unsafe|virtual"
    r"|override|pub(?:\([^)\n]{0,20}\))?|open|sealed|data|partial|local)[ \t]+){0,4}"
    r"(?:class|def|function\*?|func|fun|fn|struct|type|interface|enum|trait|impl|module|namespace|record|protocol|sub"
    r"|create (?:or replace )?(?:table|view|function|procedure))[ \t]+"
    r"(?:\([^)\n]{0,80}\)[ \t]*)?([A-Za-z_$](?:[\w$]|(?:::|\.)(?=\w))*)",
    re.IGNORECASE,
)
_ATTACHED = ("@", "#[")  # a decorator or an attribute of what is defined below it
_END = re.compile(r"[ \t]*(?:\"{3}|'{3}|\*+/|=end)[ \t]*\Z")


class _Comments(NamedTuple):
    line: re.Pattern[str]  # begins a line that is a comment
    opens: re.Pattern[str]  # begins a line that opens a comment of several lines
    closes: re.Pattern[str]
    marks: re.Pattern[str]  # what stands before the words of each line


_SLASH = _Comments(
    re.compile(r"\s*//"),
    re.compile(r"\s*/\*"),
    re.compile(r"\*/"),
    re.compile(r"\A[ \t]*(?:/\*+!?|//+!?|\*(?![*/]))?[ \t]?"),
)
_HASH = _Comments(
    re.compile(r"\s*#(?!!|\[)"),
    re.compile(r"\s*[rRuU]?(?:\"{3}|'{3})"),
    re.compile(r"\"{3}|'{3}"),
    re.compile(r"\A[ \t]*(?:[rRuU]?(?:\"{3}|'{3})|#+)?[ \t]?"),
)
_DASH = _SLASH._replace(line=re.compile(r"\s*--"), marks=re.compile(r"\A[ \t]*(?:/\*+!?|--+|\*(?![*/]))?[ \t]?"))


def read_hash_source(data: bytes, charset: str = "") -> ParsedDocument:
    """Return the text of a program whose comments begin with "#". Raises `ReadError` if the bytes are no text."""
    return _read_source(_HASH, data, charset)


def read_slash_source(data: bytes, charset: str = "") -> ParsedDocument:
    """The same for comments as C and C++ have them."""
    return _read_source(_SLASH, data, charset)


def read_dash_source(data: bytes, charset: str = "") -> ParsedDocument:
    """The same for comments that begin with "--", as in SQL."""
    return _read_source(_DASH, data, charset)


def _read_source(comments: _Comments, data: bytes, charset: str) -> ParsedDocument:
    writer = _SourceWriter(comments)
    inside = held = False  # in a comment of several lines; in a string of several lines
    for line in decode_text(data, charset).split("\n"):
        opens = None if inside or held else comments.opens.match(line)
        comment = not held and comments.line.match(line) is not None and not writer.is_within(line)
        said = inside or opens is not None or comment
        if opens is not None or inside:
            inside = comments.closes.search(line, opens.end() if opens else 0) is None
        elif comments is _HASH and not comment:
            held ^= len(comments.closes.findall(line)) % 2 == 1
        writer.add_line(line, said=said)
    return writer.finish()


class _SourceWriter:
    """Collects runs of lines that are comments, or code."""

    def __init__(self, comments: _Comments) -> None:
        self._comments = comments
        self._writer = TextWriter()
        self._lines: list[str] = []
        self._said = False
        self._around: list[int] = []  # the columns of the definitions that a line stands inside of

    def add_line(self, line: str, *, said: bool) -> None:
        found = None if said else _DEFINITION.match(line)
        if found is not None:
            attached = self._take_attached()
            self._end_run()
            self._open_definition(len(found[1].expandtabs()), found[2])
            self._lines, self._said = [each for each, _ in attached], bool(attached) and attached[0][1]
        if said is not self._said and any(map(str.strip, self._lines)):
            self._end_run()
        self._said = said
        self._lines.append(line)

    def is_within(self, line: str) -> bool:
        """True for a line inside of a definition, below code of it: a comment there is a part of the code."""
        column = len(line.expandtabs()) - len(line.expandtabs().lstrip())
        below = not self._said and any(map(str.strip, self._lines))
        return below and bool(self._around) and column > self._around[-1]

    def _take_attached(self) -> list[tuple[str, bool]]:
        """Take from the end of what was collected what belongs to the definition below: comments, or decorators."""
        at = len(self._lines)
        while at and self._lines[at - 1].strip() and (self._said or self._lines[at - 1].lstrip().startswith(_ATTACHED)):
            at -= 1
        taken = [(line, self._said) for line in self._lines[at:]]
        del self._lines[at:]
        return taken

    def _open_definition(self, column: int, name: str) -> None:
        self._around = [each for each in self._around if each < column]
        self._writer.add_heading(name, len(self._around) + 1)
        self._around.append(column)

    def _end_run(self) -> None:
        lines, self._lines = self._lines, []
        if not self._said:
            self._writer.add_verbatim(dedent("\n".join(lines)), code=True)
            return
        said = (_END.sub("", self._comments.marks.sub("", line, count=1)) for line in lines)
        for block in "\n".join(said).split("\n\n"):
            self._writer.add_block(block)

    def finish(self) -> ParsedDocument:
        """Return what was written, without a title: a program is called as its file is."""
        self._end_run()
        return replace(self._writer.build_parsed(), title="")
