"""Numbering: the words of many texts at once, as numbers.

Knows bytes and runs of letters, and looks most words up in arrays, without an object for each. Does not know what the
numbers mean: whoever makes a table says how a word is numbered.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_BITS = 19  # of a slot's number: a library has some hundred thousand words
_STEP = 65_536  # words looked up together: those of one step are found in the next
_HALF = 8  # bytes that are compared at once; a word has two halves, a longer one is looked up by itself
_MIX = (np.uint64(0x9E37_79B9_7F4A_7C15), np.uint64(0xC2B2_AE3D_27D4_EB4F))
_SHIFT = np.uint64(64 - _BITS)
_MASKS = np.array([(1 << 8 * n) - 1 for n in range(_HALF + 1)], np.uint64)
_IN_WORD = bytes(chr(byte) in "abcdefghijklmnopqrstuvwxyz0123456789" for byte in range(256))


class NumberedWords(NamedTuple):
    """The words of a text: where each starts, rising, and its number."""

    starts: NDArray[np.int64]
    numbers: NDArray[np.int32]


class WordTable:
    """A table of words already numbered. It never answers for a word that it only resembles."""

    def __init__(self, number: Callable[[str], int]) -> None:
        self._number = number
        self._halves = np.zeros((2, 1 << _BITS), np.uint64)  # the letters of the word in each slot
        self._numbers = np.zeros(1 << _BITS, np.int32)

    def number_words(self, text: str) -> NumberedWords:
        """Number every run of a-z and 0-9 of an ASCII text, in order."""
        data = text.encode("ascii")
        padded = b"\0%b%b" % (data, bytes(2 * _HALF))
        inside = np.frombuffer(padded.translate(_IN_WORD), np.uint8)  # a third of the time of an array's `take`
        borders = np.flatnonzero(inside[1:] != inside[:-1])
        starts, lengths = borders[::2], borders[1::2] - borders[::2]
        letters = np.ndarray((len(padded) - _HALF,), "<u8", padded, offset=1, strides=(1,))  # eight from every place
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
        slots = ((first * _MIX[0]) ^ (second * _MIX[1])) >> _SHIFT
        numbers = self._numbers[slots]
        here = (self._halves[0][slots] == first) & (self._halves[1][slots] == second) & (lengths <= 2 * _HALF)
        new = np.flatnonzero(~here)
        spans = zip(starts[new].tolist(), (starts[new] + lengths[new]).tolist(), strict=True)
        numbers[new] = [self._number(data[start:end].decode("ascii")) for start, end in spans]
        new = new[(self._halves[0][slots[new]] == 0) & (lengths[new] <= 2 * _HALF)]
        slot = slots[new]  # who came first stays: common words come early
        self._halves[0][slot], self._halves[1][slot], self._numbers[slot] = first[new], second[new], numbers[new]
        return numbers
