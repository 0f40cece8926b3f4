"""Markup: from marked-up text to the plain words a reader would read.

Knows the marks of Markdown and HTML, in linear time on any input. Does not know what is quoted: a quote stays as it
stands in its source, only its reading goes through here.
"""

from __future__ import annotations

import html
import re

_TAG = re.compile(r"<!--|-->|</?[a-zA-Z!][^<>]*>")
_LINK = re.compile(r"!?\[(\[[^\[\]]*\]|[^\[\]]*)\]\([^()]*\)")
_ATTRIBUTES = re.compile(r"\{[#:][^{}]*\}")
_OPENING = re.compile(r"(?<![^\W_])[*_]{1,3}(?=[^\s*_])")
_CLOSING = re.compile(r"(?<=[^\s*_])[*_]{1,3}(?![^\W_])")
_LINE_MARK = re.compile(r"(?m)^[ \t]{0,12}(?:#{1,6}|[-*+•>]|\d{1,3}[.)])[ \t]+")
_MARKER = re.compile(r"\[(S\d+:C\d+)\]")
_SCHEME = re.compile(r"(?i)\b(?:(?:https?|ftp|file)://(?=[\w\[%])|https?:(?=\w)|javascript:|data:(?=\w+/))")
_RULE = re.compile(r"(?<!\S)[-=~_+*#]{4,}(?!\S)|(?<=\w)¶")  # a line drawn with signs, and the mark beside a heading
_SPACE = re.compile(r"\s+")
_PASSES = 3  # marks inside marks; what is left after that is made harmless, not read


def strip_markup(text: str) -> str:
    """Return `text` as one line without marks, links, tags, addresses' schemes or forged citation markers.

    Never fails; words keep their order and case. What cannot be read as text (an unclosed tag) is made harmless.

    Example:
        >>> plain("Verifiers **SHALL NOT** use [Sec. 4](sec4.md#a) <i>alone</i>.")
        'Verifiers SHALL NOT use Sec. 4 alone.'
    """
    read = html.unescape(text) if "&" in text else text
    if "<" in read or "](" in read or "{" in read:
        for _ in range(_PASSES):
            before = read
            read = _ATTRIBUTES.sub("", _LINK.sub(r"\1", _TAG.sub("", read)))
            if read == before:
                break
    read = _RULE.sub("", _LINE_MARK.sub("", read))
    if "*" in read or "_" in read:
        read = _CLOSING.sub("", _OPENING.sub("", read))
    read = _SCHEME.sub("", read.replace("`", ""))
    read = _MARKER.sub(r"(\1)", read)
    return _SPACE.sub(" ", _defuse_markup(read)).strip()


def _defuse_markup(text: str) -> str:
    """Break what a renderer could still take for a tag, an image or a link."""
    if "<" in text:
        text = re.sub(r"<(?=[a-zA-Z/!?])", "‹", text)
    return text.replace("](", "] (").replace("![", "! [").replace("](", "] (")
