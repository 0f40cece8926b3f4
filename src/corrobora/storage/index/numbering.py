"""Numbering: the words of many texts numbered at once, vectorised.

Knows runs of letters and digits of ASCII texts, and a hash table from words to numbers. Does not know stems, fields or
postings: how one word is numbered, it is told.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corrobora.text.tokens import fold_to_ascii

_BITS = 16  # of a slot's number at first
_MOST_BITS = 19  # a library has some hundred thousand words
_STEP = 65_536  # words looked up together; what one step adds to the table is found by the next
_HALF = 8  # bytes compared at once; a word has two halves, and a longer word is looked up by itself
_MIX = (np.uint64(0x9E37_79B9_7F4A_7C15), np.uint64(0xC2B2_AE3D_27D4_EB4F))
_MASKS = np.array([(1 << 8 * n) - 1 for n in range(_HALF + 1)], np.uint64)
_IN_WORD = bytes(chr(byte) in "abcdefghijklmnopqrstuvwxyz0123456789" for byte in range(256))


class NumberedWords(NamedTuple):
    """The words of a text: where each starts, rising, and its number."""

    starts: NDArray[np.int64]
    numbers: NDArray[np.int32]


class WordTable:
    """A hash table from words to numbers, vectorised, that grows. A collision is never taken for a match."""

    def __init__(self, number: Callable[[str], int]) -> None:
        self._number = number
        self._bits, self._held = _BITS, 0
        self._halves = np.zeros((2, 1 << _BITS), np.uint64)  # the letters of the word in each slot
        self._numbers = np.zeros(1 << _BITS, np.int32)

    def number_words(self, text: str) -> NumberedWords:
        """Number every run of a-z and 0-9 of an ASCII text, in order."""
        data = text.encode("ascii")
        padded = b"\0%b%b" % (data, bytes(2 * _HALF))
        inside = np.frombuffer(padded.translate(_IN_WORD), np.uint8)  # three times as fast as `take` of an array
        borders = np.flatnonzero(inside[1:] != inside[:-1])
        starts, lengths = borders[::2], borders[1::2] - borders[::2]
        letters = np.ndarray(
            (len(padded) - _HALF,), "<u8", padded, offset=1, strides=(1,)
        )  # the eight bytes from each position
        numbers = np.empty(len(starts), np.int32)
        for at in range(0, len(starts), _STEP):
            part = slice(at, at + _STEP)
            numbers[part] = self._look_up(data, letters, starts[part], lengths[part])
        return NumberedWords(starts, numbers)

    def _look_up(
        self, data: bytes, letters: NDArray[np.uint64], starts: NDArray[np.int64], lengths: NDArray[np.int64]
    ) -> NDArray[np.int32]:
        first = letters[starts] & _MASKS[np.minimum(lengths, _HALF)]
        second = np.zeros(len(starts), np.uint64)
        longer = np.flatnonzero(lengths > _HALF)
        second[longer] = letters[starts[longer] + _HALF] & _MASKS[np.minimum(lengths[longer] - _HALF, _HALF)]
        slots = self._find_slots(first, second)
        numbers = self._numbers[slots]
        here = (self._halves[0][slots] == first) & (self._halves[1][slots] == second) & (lengths <= 2 * _HALF)
        new = np.flatnonzero(~here)
        spans = zip(starts[new].tolist(), (starts[new] + lengths[new]).tolist(), strict=True)
        numbers[new] = [self._number(data[start:end].decode("ascii")) for start, end in spans]
        new = new[(self._halves[0][slots[new]] == 0) & (lengths[new] <= 2 * _HALF)]
        slot = slots[new]  # the first word keeps the slot: common words come early
        self._halves[0][slot], self._halves[1][slot], self._numbers[slot] = first[new], second[new], numbers[new]
        self._held += len(slot)
        if self._bits < _MOST_BITS and 2 * self._held > len(self._numbers):
            self._grow()
        return numbers

    def _find_slots(self, first: NDArray[np.uint64], second: NDArray[np.uint64]) -> NDArray[np.uint64]:
        return ((first * _MIX[0]) ^ (second * _MIX[1])) >> np.uint64(64 - self._bits)

    def _grow(self) -> None:
        """Double the table; no two words of it meet in one slot, because a slot becomes two."""
        held = np.flatnonzero(self._halves[0])
        halves, numbers = self._halves[:, held], self._numbers[held]
        self._bits += 1
        slots = self._find_slots(halves[0], halves[1])
        self._halves, self._numbers = np.zeros((2, 1 << self._bits), np.uint64), np.zeros(1 << self._bits, np.int32)
        self._halves[:, slots], self._numbers[slots] = halves, numbers


class NumberedTexts(NamedTuple):
    """The words of texts in spans: the number of each word, and of each span its text and how many words it has."""

    numbers: NDArray[np.int32]
    texts: NDArray[np.int64]
    sizes: NDArray[np.int64]


class BatchNumbering:
    """Numbers the words of many texts at once.

    Args:
        number: gives the number of one folded word.
        number_words: numbers the words of a text that is not ASCII, in order.
    """

    def __init__(self, number: Callable[[str], int], number_words: Callable[[str], list[int]]) -> None:
        self._number_words = number_words
        self._table = WordTable(number)

    def number_texts(self, texts: Sequence[str]) -> NumberedTexts:
        """Number the words of all texts; a text that is not ASCII has its span at the end."""
        ready = [fold_to_ascii(text) for text in texts]
        others = {
            at: self._number_words(text)
            for at, (text, as_is) in enumerate(zip(texts, ready, strict=True))
            if as_is is None
        }
        found = self._table.number_words("\n".join([as_is or "" for as_is in ready]))
        ends = np.cumsum(np.array([len(as_is or "") + 1 for as_is in ready], np.int64))
        sizes = np.diff(np.searchsorted(found.starts, ends), prepend=0)
        places = np.arange(len(texts))
        if not others:
            return NumberedTexts(found.numbers, places, sizes)
        terms = np.concatenate((found.numbers, np.array([term for each in others.values() for term in each], np.int32)))
        places = np.concatenate((places, np.array(list(others), np.int64)))
        return NumberedTexts(terms, places, np.concatenate((sizes, [*map(len, others.values())])))
