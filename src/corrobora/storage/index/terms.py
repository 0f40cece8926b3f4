"""Terms: the words of a passage and of a question as numbers.

Knows how one word is stemmed and numbered, and the fields in which words count; keeps what it numbered. Does not know
documents or postings.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import NamedTuple

from corrobora.text.tokens import append_names, split_words, stem_word

_MEMO_WORDS = 500_000
STOP_WORD = -1
TITLE_WEIGHT = 2  # of a word of a title, as often as it stood twice


class Fields(NamedTuple):
    """The indexed fields of a passage. `title` weighs more than `body`, and `meta` as much as the body."""

    title: str
    body: str
    meta: str = ""


class _Memo(dict[str, int]):
    """Folded word to term number, filled on demand, emptied when it grows too large."""

    def __missing__(self, word: str) -> int:
        if len(self) > _MEMO_WORDS:
            self.clear()
        found = stem_word(word)
        self[word] = number = term_id(found) if found else STOP_WORD
        return number


def term_id(stemmed: str) -> int:
    """Number a stem by a checksum, so that no vocabulary is stored (about 80 colliding pairs at 400,000 stems)."""
    return zlib.crc32(stemmed.encode()) % 1_000_000_000


class Tokenizer:
    """Turns text into term numbers. Its only state is a cache; two tokenizers always agree."""

    def __init__(self) -> None:
        self._memo = _Memo()

    def number_terms(self, text: str) -> list[int]:
        """Return the term number of every word in order, `STOP_WORD` for stop words; those of whole names last."""
        return list(map(self._memo.__getitem__, split_words(append_names(text))))

    def number_batch(self, texts: Sequence[str]) -> list[list[int]]:
        return [self.number_terms(text) for text in texts]

    def query_terms(self, text: str) -> list[int]:
        """Return the distinct terms of a question in order of first use, stop words dropped."""
        return [term for term in dict.fromkeys(self.number_terms(text)) if term != STOP_WORD]


def make_fields(title: str, body: str, heading: str, meta: str) -> Fields:
    """Return the fields of a passage: its heading counts as what is known of its document."""
    return Fields(title, body, f"{heading} {meta}" if heading else meta)
