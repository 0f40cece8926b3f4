r"""The signs in a text: marks of citations and list items, Markdown of one line, and characters that a terminal obeys.

Knows which characters CommonMark, its common extensions and citation markers give a meaning, escape sequences, C0, C1,
the overrides and isolates of text direction, and tag characters. Does not know blocks, tables, what a citation means,
or where a text comes from: readers, storage, reports and the terminal call it at their borders.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from corrobora.text.tokens import fold_whitespace

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

CITATION_MARKER = re.compile(r"\[(S\d+:C\d+)\]")
LIST_ITEM = re.compile(r"(?:[-*+•‣◦–]|\(?\d{1,3}[.)]|\(?[a-z][.)])[ \t]+(?=\S)")
_ROW = re.compile(r"(?:[^;:\n]{1,120}: [^;\n]{1,2000}(?:; |\.$|$)){2,}")


def skip_item_mark(text: str, start: int) -> int:
    """Return where the words of a list item begin; a letter in brackets belongs to the text of a clause."""
    mark = LIST_ITEM.match(text, start)
    return start if mark is None or mark.group()[0] == "(" else mark.end()


def is_table_row(line: str) -> bool:
    """True for a row that names its heads, as readers write it: "Plan: Basic; Price: 5."."""
    return _ROW.fullmatch(line) is not None


_PUNCTUATION = r"!-/:-@\[-`{-~"
_ACTIVE = re.compile(
    rf"\\(?=[{_PUNCTUATION}]|$)"  # an escape
    r"|[*`]|(?<![^\W_])_|_(?![^\W_])"  # emphasis and code; not the signs inside `snake_case`
    r"|\((?=\s*[Ss]\d)|\[(?=\s*\^?[Ss]?\d)|(?<=\])[(:\[]"  # a citation, a link
    r"|<(?=[A-Za-z/!?])|&(?=#|\w+;)|~(?=~)|(?<=~)~"  # HTML, an entity, struck-out text
    r"|^(?:#{1,6}(?=\s|$)|[-+>](?=\s|$)|[-=]{2,}$|>|\|)"  # a heading, an item, a quotation, a row
)
_NUMBERED = re.compile(r"^(\d{1,9})([.)])(?=\s|$)")
_CLOSING = re.compile(r"(\\\[[^\[\]]{0,60})\]")  # of what looks like a citation
_WIDE_MARKER = re.compile(r"(?<=［)(\s*)([Ss])(?=\d)")  # no backslash escapes this bracket
_READ = re.compile(r"[\\*_`&<~\[]")


def escape_text(text: str) -> str:
    r"""Return a source's text, on one line, as Markdown that shows the same characters.

    Example:
        >>> escape_text("**/cache/** of <name>, see [3] and snake_case")
        '\\*\\*/cache/\\*\\* of \\<name>, see \\[3\\] and snake_case'
    """
    line = _ACTIVE.sub(lambda match: "\\" + match.group(), fold_whitespace(text))
    line = _CLOSING.sub(r"\1\\]", _NUMBERED.sub(r"\1\\\2", line))
    return _WIDE_MARKER.sub(lambda match: f"{match[1]}&#{ord(match[2])};", line)


def read_inline(markdown: str) -> str:
    r"""Return the characters that a viewer shows for a line of Markdown: emphasis, code and escapes are read.

    Example:
        >>> read_inline("**Keep** `\\*.log` and \\*.tmp")
        'Keep \\*.log and *.tmp'
    """
    if _READ.search(markdown) is None:
        return markdown
    shown = {"softbreak": " ", "hardbreak": " "}
    (block,) = _load_parser().parseInline(markdown)
    return "".join(shown.get(token.type, token.content) for token in block.children or ())


@cache
def _load_parser() -> MarkdownIt:
    from markdown_it import MarkdownIt  # noqa: PLC0415 - 0.1 s that only text with signs of Markdown pays

    return MarkdownIt("commonmark", {"html": False})


_ESCAPE_SEQUENCES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # colours, cursor movement
    r"|\x1b[\]PX^_][^\x07\x1b\x9c]{0,4096}(?:\x07|\x1b\\|\x9c)"  # titles, hyperlinks, device control
    r"|\x1b[ -/]*[0-~]?"  # the short ones, and a lone ESC
)
_CONTROL_CHARACTERS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 without tab and line feed, DEL, C1
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff"  # text direction, byte order
    "\U000e0000-\U000e007f]"  # tag characters
)


_JSON_ESCAPE = re.compile(r"\\(?:\\|(u00(?:0[0-8b-f]|1[\da-f]|7f|[89][\da-f])|[bfr]))", re.IGNORECASE)


def sanitize_json(text: str) -> str:
    """Return a JSON document without control and direction characters in its strings, escaped ones included."""
    return sanitize_text(_JSON_ESCAPE.sub(lambda found: "" if found[1] else found[0], text))


def sanitize_text(text: str) -> str:
    """Return `text` without anything a terminal would obey: escape sequences, control and direction characters."""
    if _CONTROL_CHARACTERS.search(text) is None:
        return text
    return _CONTROL_CHARACTERS.sub("", _ESCAPE_SEQUENCES.sub("", text.replace("\r\n", "\n")))
