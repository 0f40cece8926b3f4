r"""Markdown of one line: text of a source written so that every viewer shows its characters, and read back.

Knows which characters CommonMark, its common extensions and citation markers give a meaning. Does not know blocks,
tables or what a citation means.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from corrobora.text.tokens import fold_whitespace

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

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
