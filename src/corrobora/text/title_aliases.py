"""Names: titles as names, and where a text mentions them.

Knows how a title becomes an alias and how a longest mention with a capital initial is found, in linear time.
Does not know which sources exist: the aliases that may be mentioned are given.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from corrobora.text.tokens import STOP_WORDS, fold_text, split_words

MAX_ALIAS_WORDS = 8
_MIN_CHARS = 3
_WORD = re.compile(r"([^\W_]+)(?:['’ʼ](?:s|t|d|m|re|ve|ll)(?![^\W_]))?")
_CAPITAL = re.compile(  # the capital before the look behind it: what begins with a set of characters is found faster
    r"([A-Z0-9\u00c0-\u00de\u0100-\u024f\u0370-\u03ff\u0400-\u052f](?<![^\W_].)[^\W_]*)"
    r"(?=(?:['’]s)?[\W_]{1,3}([^\W_]+)|)"
)

_ASCII_CAPITAL = re.compile(  # the same in a text without other letters, in two thirds of the time
    r"([A-Z0-9](?<![a-zA-Z0-9].)[a-zA-Z0-9]*)(?=(?:'s)?[^a-zA-Z0-9]{1,3}([a-zA-Z0-9]+)|)", re.ASCII
)


class AliasMention(NamedTuple):
    """An alias found in a text, with the characters where it stands."""

    alias: str
    start: int
    end: int


def make_alias(title: str) -> str:
    """Turn a title into the alias by which texts mention it; empty if it is no usable name.

    What stands in parentheses is dropped ("Theodred II (Bishop of Elmham)"); longer than eight words is a sentence.

    Example:
        >>> alias_of("Theodred II (Bishop of Elmham)")
        'theodred ii'
    """
    found = split_words(title.split(" (", 1)[0])
    alias = " ".join(found)
    if not 1 <= len(found) <= MAX_ALIAS_WORDS or len(alias) < _MIN_CHARS or alias.replace(" ", "").isdigit():
        return ""
    return "" if all(word in STOP_WORDS for word in found) else alias


def alias_prefix(alias: str) -> str:
    """Return the first two words of an alias: what an index of aliases is asked by."""
    return " ".join(alias.split(" ", 2)[:2])


def list_alias_prefixes(text: str) -> set[str]:
    """Return the heads of all aliases that `text` could mention: each capital word alone and with the next word."""
    found: set[str] = set()
    folded, pattern = (str.lower, _ASCII_CAPITAL) if text.isascii() else (fold_text, _CAPITAL)
    for first, second in pattern.findall(text):
        one = folded(first)
        found.add(one)
        if second:
            found.add(f"{one} {folded(second)}")
    return found


def group_by_prefix(aliases: Iterable[str]) -> dict[str, tuple[tuple[str, ...], ...]]:
    """Group aliases by head, the longest first."""
    grouped: dict[str, list[tuple[str, ...]]] = {}
    for alias in aliases:
        grouped.setdefault(alias_prefix(alias), []).append(tuple(alias.split(" ")))
    return {head: tuple(sorted(group, key=lambda parts: (-len(parts), parts))) for head, group in grouped.items()}


def find_alias_mentions(text: str, known: Mapping[str, tuple[tuple[str, ...], ...]]) -> tuple[AliasMention, ...]:
    """Find the aliases of `known` (see `by_head`) in `text`: longest match, capital initial, no overlap."""
    found: list[AliasMention] = []
    past = 0
    folded, pattern = (str.lower, _ASCII_CAPITAL) if text.isascii() else (fold_text, _CAPITAL)
    for match in pattern.finditer(text):
        first, second = match.groups()
        one = folded(first)
        candidates = (known.get(f"{one} {folded(second)}", ()) if second else ()) + known.get(one, ())
        if not candidates:
            continue
        start = match.start()
        if start < past or not (text[start].isupper() or text[start].isdigit()):
            continue
        for parts in candidates:
            end = _match_end(text, start, parts)
            if end:
                found.append(AliasMention(" ".join(parts), start, end))
                past = end
                break
    return tuple(found)


def _match_end(text: str, start: int, parts: tuple[str, ...]) -> int:
    """Return where the words `parts` end if they stand at `start`, else 0."""
    position = start
    for number, part in enumerate(parts):
        match = _WORD.search(text, position, position + 64)
        if match is None or (number and match.start() - position > 3) or fold_text(match.group(1)) != part:  # noqa: PLR2004
            return 0
        position = match.end()
    return position
