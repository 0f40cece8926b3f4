"""Blobs: what is written as a stream of rows is read back, and rows are as PostgreSQL lays them out."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corrobora.storage.index import posting_lists
from corrobora.storage.index.posting_lists import unpack_blob

_POSTINGS = st.dictionaries(st.integers(0, 999_999_999), st.sets(st.integers(1, 2**31 - 1), min_size=1, max_size=5))


def arrays(postings):
    terms = [term for term in sorted(postings) for _ in postings[term]]
    docs = [doc for term in sorted(postings) for doc in sorted(postings[term])]
    docs = np.array(docs, np.int32)
    return np.array(terms, np.int32), docs, (docs % 60_000).astype(np.uint16)


def rows_of(stream):
    """Read a binary COPY by its documentation: five fields a row, each with its length."""
    assert stream.startswith(b"PGCOPY\n\xff\r\n\0" + bytes(8))
    at = 19
    while (fields := struct.unpack_from(">h", stream, at)[0]) != -1:
        at += 2
        row = []
        for _ in range(fields):
            (size,) = struct.unpack_from(">i", stream, at)
            row.append(stream[at + 4 : at + 4 + size])
            at += 4 + size
        yield [int.from_bytes(field, "big") for field in row[:4]], row[4]
    assert at + 2 == len(stream)


@given(_POSTINGS)
def test_a_stream_holds_each_term_once_with_its_blob(postings):
    terms, docs, codes = arrays(postings)
    found = {}
    for (space, term, seg, n), post in rows_of(
        posting_lists.encode_common_rows(3, 70_000, posting_lists.group_by_term(terms, docs, codes))
    ):
        assert (space, seg) == (3, 70_000)
        found[term] = [part.tolist() for part in unpack_blob(post, n)]
    assert found == {
        term: [sorted(ids), [doc % 60_000 for doc in sorted(ids)]] for term, ids in sorted(postings.items())
    }


@given(_POSTINGS)
def test_blobs_written_one_after_the_other_are_split_again(postings):
    terms, docs, codes = arrays(postings)
    lists = posting_lists.group_by_term(terms, docs, codes)
    stream = [post for _, post in rows_of(posting_lists.encode_common_rows(1, 1, lists))]
    again = posting_lists.split_blobs(lists.sizes, b"".join(stream))
    assert [part.tolist() for part in again] == [docs.tolist(), codes.tolist()]


@given(_POSTINGS)
def test_rare_terms_share_rows_by_parts_of_their_numbers_and_are_read_again(postings):
    terms, docs, codes = arrays(postings)
    common, rare = posting_lists.separate_rare_terms(posting_lists.group_by_term(terms, docs, codes))
    assert not len(common.terms), "none of them has sixteen postings"
    shift = 27
    found = list(rows_of(posting_lists.encode_rare_rows(3, 70_000, shift, rare)))
    assert [part for (_, part, _, _), _ in found] == sorted({term >> shift for term in postings})
    for (space, part, seg, n), post in found:
        assert (space, seg) == (3, 70_000)
        read = posting_lists.read_rare_blobs(np.array([n], np.int32), post)
        assert read.tolist() == [
            (term, doc, doc % 60_000)
            for term, doc in zip(terms.tolist(), docs.tolist(), strict=True)
            if term >> shift == part
        ]


def test_a_term_with_sixteen_postings_has_a_row_of_its_own():
    terms = np.repeat(np.array([5, 6], np.int32), [15, 16])
    docs = np.concatenate((np.arange(15), np.arange(16))).astype(np.int32)
    common, rare = posting_lists.separate_rare_terms(posting_lists.group_by_term(terms, docs, docs.astype(np.uint16)))
    assert (common.terms.tolist(), common.docs.tolist()) == ([6], list(range(16)))
    assert rare["term"].tolist() == [5] * 15


@pytest.mark.parametrize("n", [0, 1, 127, 128, 100_000, 30_000_000])
def test_parts_hold_some_dozen_postings_on_average_and_number_every_term(n):
    shift = posting_lists.part_shift(n)
    parts = 1 << (30 - shift)
    assert n < 128 or 64 <= n / parts < 128
    assert 999_999_999 >> shift < parts
