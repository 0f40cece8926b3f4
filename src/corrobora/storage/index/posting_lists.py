"""Postings: from the terms of passages to posting blobs and back to arrays.

Knows how often terms stand in fields, the two-byte code of a posting, and the layout of the blobs in `lex_post` (one
row for a term) and `lex_rare` (one row for the rare terms of a range of term numbers). Does not know SQL, segments or
scores.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from corrobora.domain.errors import JournalError
from corrobora.storage.index.terms import TITLE_WEIGHT

if TYPE_CHECKING:
    from corrobora.storage.index.terms import Fields, Tokenizer

Ints = NDArray[np.int32]
Codes = NDArray[np.uint16]

_MAX_TF = 255
_FIELDS = 3
_WEIGHT_BITS = 2
POSTING_BYTES = 6  # a document number and its code


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


def index_batch(tokenizer: Tokenizer, batch: Sequence[Fields]) -> PostingBatch:
    """Index a batch: term frequencies with the title's weight, capped at 255, and length codes."""
    numbered = tokenizer.number_batch([text for fields in batch for text in fields])
    sizes = np.fromiter(map(len, numbered), np.int64, len(numbered))
    return _count_terms(np.fromiter(chain.from_iterable(numbered), np.int32, sizes.sum()), sizes, len(batch))


def _count_terms(terms: Ints, sizes: NDArray[np.int64], n_docs: int) -> PostingBatch:
    """Count the terms of fields, three for each document: `sizes[i]` of them are in the field `i`."""
    fields = np.arange(len(sizes))
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
    """Round lengths to one byte in steps of 2.9 %: the inverse of `bm25.LENGTHS`."""
    return np.minimum(255, np.rint(24 * np.log2(1 + lengths / 8))).astype(np.int64)


def unpack_blob(blob: bytes | memoryview, n: int) -> tuple[Ints, Codes]:
    """Split a blob into its numbers (documents or terms) and codes, without copying. Raises as `check_blob_size`."""
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
_PART_BITS = 6  # a part has 64 to 128 postings on average, few enough to read for one term
MIN_ROW_POSTINGS = 16  # a term with fewer postings in a segment gets no row of its own
_START = b"PGCOPY\n\xff\r\n\0" + bytes(8)  # no flags, no extension
_END = b"\xff\xff"


RarePostings: TypeAlias = NDArray[np.void]  # postings with the fields `term`, `doc` and `code`


class TermLists(NamedTuple):
    """Postings sorted by term: parallel arrays of documents and codes, `sizes[i]` of them for `terms[i]`."""

    terms: Ints
    sizes: Ints
    docs: Ints
    codes: Codes


class BlobArrays(NamedTuple):
    """What blobs hold: parallel arrays of documents (terms in the outbox) and codes."""

    docs: Ints
    codes: Codes


def split_blobs(sizes: Ints, blobs: bytes) -> BlobArrays:
    """Read concatenated blobs of `sizes[i]` postings each. Raises as `check_blob_size`."""
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
    """Separate the terms that get a row of their own from the rare ones."""
    rare = lists.sizes < MIN_ROW_POSTINGS
    of_rare = np.repeat(rare, lists.sizes)
    found = np.empty(int(lists.sizes[rare].sum()), _POSTING)
    found["term"] = np.repeat(lists.terms[rare], lists.sizes[rare])
    found["doc"], found["code"] = lists.docs[of_rare], lists.codes[of_rare]
    own = ~rare
    return TermLists(lists.terms[own], lists.sizes[own], lists.docs[~of_rare], lists.codes[~of_rare]), found


def part_shift(n: int) -> int:
    """Return by how many bits a term number is shifted to get the number of its part, for `n` rare postings."""
    return _TERM_BITS - max(0, n.bit_length() - 1 - _PART_BITS)


def encode_rare_rows(space: int, seg: int, shift: int, rare: RarePostings) -> bytes:
    """Write rare postings, sorted by term, as the rows of `copy lex_rare (space, part, seg, n, post)`, binary."""
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
    """Read concatenated rows of rare postings. Raises as `check_blob_size`."""
    check_blob_size(len(blobs), int(sizes.sum()), _POSTING.itemsize)
    return np.frombuffer(blobs, _POSTING)


def _row_headers(space: int, seg: int, numbers: Ints, sizes: Ints, units: int) -> NDArray[np.void]:
    """Return the header of each row: its first four fields, and the length of the blob."""
    heads = np.zeros(len(numbers), _HEAD)
    heads["fields"] = 5
    for name, value in (("space", space), ("number", numbers), ("seg", seg), ("n", sizes)):
        heads[f"{name}_size"] = 4
        heads[name] = value
    heads["post_size"] = sizes * units * _UNIT
    return heads


def _part_of_unit(*lengths: NDArray[np.integer]) -> NDArray[np.uint8]:
    """Return for every unit the part of its row, if row `i` has parts of `lengths[0][i]`, `lengths[1][i]`..."""
    parts = np.tile(np.arange(len(lengths), dtype=np.uint8), len(lengths[0]))
    return np.repeat(parts, np.stack(lengths, axis=1).ravel())
