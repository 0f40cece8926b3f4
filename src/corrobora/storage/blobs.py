"""Blobs: the postings of many terms at once, as arrays and as rows of a binary COPY.

Knows the bytes of a blob and of the rows of `lex_post`, one for a term, and of `lex_rare`, one for the rare terms of a
part of all term numbers. Does not know segments, tiers or who is alive.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from corrobora.storage.tokens import Codes, Ints, check_blob_size

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
