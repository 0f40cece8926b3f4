"""Numbering: the words of many texts at once, as numbers.

Knows bytes and runs of letters, and looks most words up in arrays, without an object for each. Does not know what the
numbers mean: whoever makes a table says how a word is numbered.

Tokens: from passages to posting blobs, and back to arrays.

Knows the term numbers, the two-byte code of a posting and its layout in bytes.
Does not know SQL, ranking or where the blobs lie.

Blobs: the postings of many terms at once, as arrays and as rows of a binary COPY.

Knows the bytes of a blob and of the rows of `lex_post`, one for a term, and of `lex_rare`, one for the rare terms of a
part of all term numbers. Does not know segments, tiers or who is alive.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from corrobora.domain.errors import JournalError
from corrobora.text.tokens import fold_to_ascii, split_words, stem_word

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
    """Raise `JournalError` `library_damaged` unless `n` postings of `each` bytes have this size (bad-input K12)."""
    if size != n * each:
        raise JournalError(
            "library_damaged",
            f"The index of the library is damaged: {size} bytes where {n} postings have {n * each}.",
            next_step="Build it again: corrobora library rm NAME, then corrobora library add NAME PATH.",
        )


def with_passage_ids(postings: PostingBatch, ids: Ints) -> PostingBatch:
    """Replace document indexes by passage ids; keeps (term, id) order because ids rise with the index."""
    return PostingBatch(ids[postings.docs], postings.terms, postings.codes, postings.lengths)


_UNIT = 2  # bytes; every part of a row and of a blob is a whole number of these
_DOC, _CODE = 2, 1  # units of a document's number and of its code
_HEAD = np.dtype(
    [("fields", ">i2")]
    + [part for name in ("space", "number", "seg", "n") for part in ((f"{name}_size", ">i4"), (name, ">i4"))]
    + [("post_size", ">i4")]
)
_HEAD_UNITS = _HEAD.itemsize // _UNIT
_POSTING = np.dtype([("term", "<i4"), ("doc", "<i4"), ("code", "<u2")])
_POSTING_UNITS = _POSTING.itemsize // _UNIT
_TERM_BITS = 30  # of a term's number
_PART_BITS = 6  # a part has 64 to 128 postings on average: few enough to be read for one of its terms
MIN_ROW_POSTINGS = 16  # a term with fewer postings in a segment has no row of its own
_START = b"PGCOPY\n\xff\r\n\0" + bytes(8)  # no flags, no extension
_END = b"\xff\xff"


RarePostings: TypeAlias = NDArray[np.void]  # postings with the fields `term`, `doc` and `code`


class TermLists(NamedTuple):
    """Postings by rising term: parallel arrays of documents and codes, `sizes[i]` of them for `terms[i]`."""

    terms: Ints
    sizes: Ints
    docs: Ints
    codes: Codes


class BlobArrays(NamedTuple):
    """What blobs hold: parallel arrays of documents (terms in the outbox) and codes."""

    docs: Ints
    codes: Codes


def split_blobs(sizes: Ints, blobs: bytes) -> BlobArrays:
    """Read blobs that were written one after the other, each with `sizes[i]` postings. Raises as `whole` does."""
    check_blob_size(len(blobs), int(sizes.sum()))
    units = np.frombuffer(blobs, "<u2")
    is_doc = _part_of_unit(sizes * _DOC, sizes * _CODE) == 0
    return BlobArrays(units[is_doc].view("<i4"), units[~is_doc])


def group_by_term(terms: Ints, docs: Ints, codes: Codes) -> TermLists:
    """Group parallel arrays that are sorted by term."""
    if not len(terms):
        return TermLists(terms, np.empty(0, np.int32), docs, codes)
    starts = np.flatnonzero(np.concatenate(([True], terms[1:] != terms[:-1])))
    return TermLists(terms[starts], np.diff(starts, append=len(terms)).astype(np.int32), docs, codes)


def encode_common_rows(space: int, seg: int, lists: TermLists) -> bytes:
    """Write the rows of a segment as PostgreSQL reads them: `copy lex_post (space, term, seg, n, post)`, binary."""
    heads = _row_headers(space, seg, lists.terms, lists.sizes, _DOC + _CODE)
    kinds = _part_of_unit(np.full(len(heads), _HEAD_UNITS), lists.sizes * _DOC, lists.sizes * _CODE)
    units = np.empty(len(kinds), "<u2")
    units[kinds == 0] = heads.view("<u2")
    units[kinds == 1] = np.ascontiguousarray(lists.docs, "<i4").view("<u2")
    units[kinds == 2] = lists.codes  # noqa: PLR2004 - the third part of a row
    return b"".join((_START, units.tobytes(), _END))


def separate_rare_terms(lists: TermLists) -> tuple[TermLists, RarePostings]:
    """Part the terms that have a row of their own from the rare ones."""
    rare = lists.sizes < MIN_ROW_POSTINGS
    of_rare = np.repeat(rare, lists.sizes)
    found = np.empty(int(lists.sizes[rare].sum()), _POSTING)
    found["term"] = np.repeat(lists.terms[rare], lists.sizes[rare])
    found["doc"], found["code"] = lists.docs[of_rare], lists.codes[of_rare]
    own = ~rare
    return TermLists(lists.terms[own], lists.sizes[own], lists.docs[~of_rare], lists.codes[~of_rare]), found


def part_shift(n: int) -> int:
    """Return by how many bits the numbers of terms are shifted to that of their part, if `n` postings are rare."""
    return _TERM_BITS - max(0, n.bit_length() - 1 - _PART_BITS)


def encode_rare_rows(space: int, seg: int, shift: int, rare: RarePostings) -> bytes:
    """Write rare postings, by rising term, as the rows of `copy lex_rare (space, part, seg, n, post)`, binary."""
    parts = rare["term"] >> shift
    starts = np.flatnonzero(np.concatenate(([True], parts[1:] != parts[:-1]))) if len(parts) else parts
    sizes = np.diff(starts, append=len(parts)).astype(np.int32)
    heads = _row_headers(space, seg, parts[starts], sizes, _POSTING_UNITS)
    kinds = _part_of_unit(np.full(len(heads), _HEAD_UNITS), sizes * _POSTING_UNITS)
    units = np.empty(len(kinds), "<u2")
    units[kinds == 0] = heads.view("<u2")
    units[kinds == 1] = rare.view("<u2")
    return b"".join((_START, units.tobytes(), _END))


def read_rare_blobs(sizes: Ints, blobs: bytes) -> RarePostings:
    """Read rows of rare postings that were written one after the other. Raises as `whole` does."""
    check_blob_size(len(blobs), int(sizes.sum()), _POSTING.itemsize)
    return np.frombuffer(blobs, _POSTING)


def _row_headers(space: int, seg: int, numbers: Ints, sizes: Ints, units: int) -> NDArray[np.void]:
    """Return what stands before the blob in each row: its first four fields, and the length of the blob."""
    heads = np.zeros(len(numbers), _HEAD)
    heads["fields"] = 5
    for name, value in (("space", space), ("number", numbers), ("seg", seg), ("n", sizes)):
        heads[f"{name}_size"] = 4
        heads[name] = value
    heads["post_size"] = sizes * units * _UNIT
    return heads


def _part_of_unit(*lengths: NDArray[np.integer]) -> NDArray[np.uint8]:
    """Say for every unit which part of its row it is, if row `i` has parts of `lengths[0][i]`, `lengths[1][i]`..."""
    parts = np.tile(np.arange(len(lengths), dtype=np.uint8), len(lengths[0]))
    return np.repeat(parts, np.stack(lengths, axis=1).ravel())
