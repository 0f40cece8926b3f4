"""Heads: the beginnings of the names that many texts may mention, found in all of them at once.

Knows runs of letters and where a capital begins one: the same answer as `policies.names.heads` text by text, without a
step of its own for each word. Does not know which names exist.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corrobora.policies import names

_BETWEEN = "\n\n\n\n"  # more than may stand between the two words of a head
_REACH = 3
_OTHER, _IN_WORD, _INITIAL = range(3)  # what a byte is; an initial is in a word as well
_KINDS = bytes(
    (_IN_WORD if chr(byte).islower() else _INITIAL) if chr(byte).isascii() and chr(byte).isalnum() else _OTHER
    for byte in range(256)
)


class AliasPrefixes(NamedTuple):
    """Heads of many texts, each as often as it stands there; `texts[i]` is the place of the text of `heads[i]`."""

    texts: Sequence[int]
    heads: Sequence[str]


def find_alias_prefixes(texts: Sequence[str]) -> AliasPrefixes:
    """Return the heads of all aliases that each of `texts` could mention."""
    ready = [text if text.isascii() else "" for text in texts]
    joined = _BETWEEN.join(ready)
    padded = f"\0{joined}\0\0".encode("ascii")
    data = np.frombuffer(padded, np.uint8)
    kinds = np.frombuffer(padded.translate(_KINDS), np.uint8)
    inside = kinds != _OTHER
    borders = np.flatnonzero(inside[1:] != inside[:-1])
    starts, ends = borders[::2], borders[1::2]
    first = np.flatnonzero(kinds[starts + 1] == _INITIAL)
    second, reached = _next_words(data, starts, ends, first)
    low = joined.lower()
    begin, end = starts[first].tolist(), ends[first].tolist()
    ones = [low[at:to] for at, to in zip(begin, end, strict=True)]
    pairs = [
        f"{ones[at]} {low[start:to]}"
        for at, start, to in zip(
            np.flatnonzero(reached).tolist(),
            starts[second[reached]].tolist(),
            ends[second[reached]].tolist(),
            strict=True,
        )
    ]
    borders = np.cumsum([len(text) + len(_BETWEEN) for text in ready])
    owner = np.searchsorted(borders, starts[first], side="right")
    others = [
        (at, head) for at, text in enumerate(texts) if not text.isascii() for head in names.list_alias_prefixes(text)
    ]
    return AliasPrefixes(
        [*owner.tolist(), *owner[reached].tolist(), *(at for at, _ in others)],
        [*ones, *pairs, *(head for _, head in others)],
    )


def _next_words(
    data: NDArray[np.uint8], starts: NDArray[np.intp], ends: NDArray[np.intp], first: NDArray[np.intp]
) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Return the word after each of the words `first`, the possessive "s" passed over, and whether it is near enough.

    `data` has one byte more before the text than `starts` and `ends` count.
    """
    last = len(starts) - 1
    second = np.minimum(first + 1, last)
    gap = starts[second] - ends[first]
    third = np.minimum(second + 1, last)
    beyond = starts[third] - ends[second]
    owned = (data[ends[first] + 1] == ord("'")) & (gap == 1) & (ends[second] - starts[second] == 1)
    owned &= (data[starts[second] + 1] == ord("s")) & (beyond >= 1) & (beyond <= _REACH)
    return np.where(owned, third, second), owned | ((gap >= 1) & (gap <= _REACH))
