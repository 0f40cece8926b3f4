"""Blobs: the postings of many terms at once, as arrays and as rows of a binary COPY.

Knows the bytes of a blob and of a row of `lex_post`. Does not know segments, tiers or who is alive.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corrobora.storage.tokens import Codes, Ints, whole

_UNIT = 2  # bytes; every part of a row and of a blob is a whole number of these
_DOC, _CODE = 2, 1  # units of a document's number and of its code
_HEAD = np.dtype(
    [("fields", ">i2")]
    + [part for name in ("space", "term", "seg", "n") for part in ((f"{name}_size", ">i4"), (name, ">i4"))]
    + [("post_size", ">i4")]
)
_HEAD_UNITS = _HEAD.itemsize // _UNIT
_START = b"PGCOPY\n\xff\r\n\0" + bytes(8)  # no flags, no extension
_END = b"\xff\xff"


class Lists(NamedTuple):
    """Postings by rising term: parallel arrays of documents and codes, `sizes[i]` of them for `terms[i]`."""

    terms: Ints
    sizes: Ints
    docs: Ints
    codes: Codes


class Parts(NamedTuple):
    """What blobs hold: parallel arrays of documents (terms in the outbox) and codes."""

    docs: Ints
    codes: Codes


def split(sizes: Ints, blobs: bytes) -> Parts:
    """Read blobs that were written one after the other, each with `sizes[i]` postings. Raises as `whole` does."""
    whole(len(blobs), int(sizes.sum()))
    units = np.frombuffer(blobs, "<u2")
    is_doc = _kinds(sizes * _DOC, sizes * _CODE) == 0
    return Parts(units[is_doc].view("<i4"), units[~is_doc])


def grouped(terms: Ints, docs: Ints, codes: Codes) -> Lists:
    """Group parallel arrays that are sorted by term."""
    if not len(terms):
        return Lists(terms, np.empty(0, np.int32), docs, codes)
    starts = np.flatnonzero(np.concatenate(([True], terms[1:] != terms[:-1])))
    return Lists(terms[starts], np.diff(starts, append=len(terms)).astype(np.int32), docs, codes)


def copy_stream(space: int, seg: int, lists: Lists) -> bytes:
    """Write the rows of a segment as PostgreSQL reads them: `copy lex_post (space, term, seg, n, post)`, binary."""
    heads = np.zeros(len(lists.terms), _HEAD)
    heads["fields"] = 5
    for name, value in (("space", space), ("term", lists.terms), ("seg", seg), ("n", lists.sizes)):
        heads[f"{name}_size"] = 4
        heads[name] = value
    heads["post_size"] = lists.sizes * (_DOC + _CODE) * _UNIT
    kinds = _kinds(np.full(len(heads), _HEAD_UNITS), lists.sizes * _DOC, lists.sizes * _CODE)
    units = np.empty(len(kinds), "<u2")
    units[kinds == 0] = heads.view("<u2")
    units[kinds == 1] = np.ascontiguousarray(lists.docs, "<i4").view("<u2")
    units[kinds == 2] = lists.codes  # noqa: PLR2004 - the third part of a row
    return b"".join((_START, units.tobytes(), _END))


def _kinds(*lengths: NDArray[np.integer]) -> NDArray[np.uint8]:
    """Say for every unit which part of its row it is, if row `i` has parts of `lengths[0][i]`, `lengths[1][i]`..."""
    parts = np.tile(np.arange(len(lengths), dtype=np.uint8), len(lengths[0]))
    return np.repeat(parts, np.stack(lengths, axis=1).ravel())
