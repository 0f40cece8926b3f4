"""Tokens: from passages to posting blobs, and back to arrays.

Knows the term numbers, the two-byte code of a posting and its layout in bytes.
Does not know SQL, ranking or where the blobs lie.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corrobora.domain.errors import JournalError
from corrobora.policies.words import fold_to_ascii, split_words, stem_word
from corrobora.storage.numbering import WordTable

Ints = NDArray[np.int32]
Codes = NDArray[np.uint16]

TITLE_WEIGHT = 2
_MAX_TF = 255
_MEMO_WORDS = 500_000
STOP_WORD = -1
_FIELDS = 3
_WEIGHT_BITS = 2
POSTING_BYTES = 6  # a number and its code


class Fields(NamedTuple):
    """What of one passage is indexed. `title` weighs more than `body`; `meta` as much as the body."""

    title: str
    body: str
    meta: str = ""


@dataclass(frozen=True, slots=True)
class PostingBatch:
    """Postings of a batch: parallel arrays sorted by (term, doc), and the length of every document."""

    docs: Ints
    terms: Ints
    codes: Codes
    lengths: Ints

    def by_doc(self) -> Iterator[tuple[int, int, int, bytes]]:
        """Yield (index of the document, its length, number of terms, blob of terms and codes) for each document."""
        order = np.lexsort((self.terms, self.docs))
        docs, terms, codes = self.docs[order], self.terms[order], self.codes[order]
        bounds = np.searchsorted(docs, np.arange(len(self.lengths) + 1)).tolist()
        for doc, length in enumerate(self.lengths.tolist()):
            start, end = bounds[doc], bounds[doc + 1]
            yield doc, length, end - start, terms[start:end].tobytes() + codes[start:end].tobytes()


class _Memo(dict[str, int]):
    """Folded word to term number, filled on demand, emptied when it grows too large."""

    def __missing__(self, word: str) -> int:
        if len(self) > _MEMO_WORDS:
            self.clear()
        found = stem_word(word)
        self[word] = number = term_id(found) if found else STOP_WORD
        return number


def term_id(stemmed: str) -> int:
    """Number a stem: a checksum, so that no vocabulary has to be kept (about 80 colliding pairs at 400,000 stems)."""
    return zlib.crc32(stemmed.encode()) % 1_000_000_000


class Tokenizer:
    """Turns text into term numbers. Holds a memo only; two tokenizers always agree."""

    def __init__(self) -> None:
        self._memo = _Memo()
        self._numbering = WordTable(self._memo.__getitem__)

    def number_terms(self, text: str) -> list[int]:
        """Return the term number of every word in order, `STOP` for stop words."""
        return list(map(self._memo.__getitem__, split_words(text)))

    def query_terms(self, text: str) -> list[int]:
        """Return the distinct terms of a question in order of first use, stop words dropped."""
        return [term for term in dict.fromkeys(self.number_terms(text)) if term != STOP_WORD]

    def index_batch(self, batch: Sequence[Fields]) -> PostingBatch:
        """Index a batch: term frequencies with the title's weight, capped at 255, and length codes."""
        return _count_terms(*self._number_batch([text for fields in batch for text in fields]), len(batch))

    def query_terms_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Return for each text what `query` does, in a fraction of the time if they are many."""
        terms, places, sizes = self._number_batch(texts)
        ends = np.cumsum(sizes).tolist()
        found: list[list[int]] = [[] for _ in texts]
        numbers = terms.tolist()
        for place, start, end in zip(places.tolist(), [0, *ends], ends, strict=False):
            found[place] += dict.fromkeys(term for term in numbers[start:end] if term != STOP_WORD)
        return found

    def _number_batch(self, texts: Sequence[str]) -> tuple[Ints, NDArray[np.int64], NDArray[np.int64]]:
        """Return the terms of all texts in spans, which text each span is of, and how many terms it has."""
        ready = [fold_to_ascii(text) for text in texts]
        others = {
            at: self.number_terms(text)
            for at, (text, as_is) in enumerate(zip(texts, ready, strict=True))
            if as_is is None
        }
        found = self._numbering.number_words("\n".join([as_is or "" for as_is in ready]))
        ends = np.cumsum(np.array([len(as_is or "") + 1 for as_is in ready], np.int64))
        sizes = np.diff(np.searchsorted(found.starts, ends), prepend=0)
        places = np.arange(len(texts))
        if not others:
            return found.numbers, places, sizes
        terms = np.concatenate((found.numbers, np.array([term for each in others.values() for term in each], np.int32)))
        places = np.concatenate((places, np.array(list(others), np.int64)))
        return terms, places, np.concatenate((sizes, [*map(len, others.values())]))


def _count_terms(terms: Ints, fields: NDArray[np.int64], sizes: NDArray[np.int64], n_docs: int) -> PostingBatch:
    """Count the terms of fields, three a document: `sizes[i]` of them stand in the field `fields[i]`."""
    docs = fields // _FIELDS
    lengths = np.bincount(docs, sizes, n_docs).astype(np.int32)
    weight = np.where(fields % _FIELDS == 0, TITLE_WEIGHT, 1)
    keys = (terms.astype(np.int64) << 32) | np.repeat((docs << _WEIGHT_BITS) | weight, sizes)
    keys = np.sort(keys[terms >= 0])  # one sort of numbers, no index
    if not len(keys):
        none = np.empty(0, np.int32)
        return PostingBatch(none, none, np.empty(0, np.uint16), lengths)
    weight, keys = keys & (2**_WEIGHT_BITS - 1), keys >> _WEIGHT_BITS
    starts = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1])))
    frequency = np.minimum(np.add.reduceat(weight, starts), _MAX_TF)
    keys = keys[starts]
    found = (keys & (2 ** (32 - _WEIGHT_BITS) - 1)).astype(np.int32)
    codes = ((frequency << 8) | length_codes(lengths)[found]).astype(np.uint16)
    return PostingBatch(found, (keys >> (32 - _WEIGHT_BITS)).astype(np.int32), codes, lengths)


def length_codes(lengths: Ints) -> NDArray[np.int64]:
    """Round lengths to one byte in steps of 2.9 %: the inverse of `LENGTHS`."""
    return np.minimum(255, np.rint(24 * np.log2(1 + lengths / 8))).astype(np.int64)


LENGTHS: NDArray[np.float64] = 8 * (np.exp2(np.arange(256) / 24) - 1)


def unpack_blob(blob: bytes | memoryview, n: int) -> tuple[Ints, Codes]:
    """Split a blob into its numbers (documents or terms) and codes, without copying. Raises as `whole` does."""
    check_blob_size(len(blob), n)
    return (
        np.frombuffer(blob, dtype="<i4", count=n),
        np.frombuffer(blob, dtype="<u2", count=n, offset=4 * n),
    )


def check_blob_size(size: int, n: int, each: int = POSTING_BYTES) -> None:
    """Raise `JournalError` `library_damaged` unless `n` postings of `each` bytes have this size (safety K12)."""
    if size != n * each:
        raise JournalError(
            "library_damaged",
            f"The index of the library is damaged: {size} bytes where {n} postings have {n * each}.",
            next_step="Build it again: corrobora library rm NAME, then corrobora library add NAME PATH.",
        )


def with_passage_ids(postings: PostingBatch, ids: Ints) -> PostingBatch:
    """Replace document indexes by passage ids; keeps (term, id) order because ids rise with the index."""
    return PostingBatch(ids[postings.docs], postings.terms, postings.codes, postings.lengths)
