"""Lexical search: equal to BM25 by the book, whatever the segments are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.storage.index import shelves

from corrobora.storage.index import segments
from corrobora.storage.index.bm25 import Blob, QueryPostings, Scorer
from corrobora.storage.index.posting_cache import PostingCache
from corrobora.storage.index.terms import Tokenizer

QUESTIONS = ["king of rome", "war and peace at the river", "gold n17", "judge court law", "nothing known"]


async def ranked(database, question, limit=50):
    async with database.connection() as connection:
        read = await PostingCache(["lib"]).read(connection, Tokenizer().query_terms(question))
        found = Scorer().rank(read.postings, limit=limit)
        cursor = await connection.execute("select p.id, s.url from passage p join source s on s.id = p.source")
        urls = dict(await cursor.fetchall())
        return [(urls[id_], score) for id_, score in found.as_pairs()]


@pytest.mark.parametrize("batch", [1_000, 37])
async def test_scores_equal_bm25_by_the_book(database, batch):
    items = [shelves.made(number) for number in range(300)]
    await shelves.fill(database, items, batch=batch)
    for question in QUESTIONS:
        book = shelves.bm25(items, question)
        found = await ranked(database, question)
        assert [score for _, score in found] == pytest.approx(sorted(book.values(), reverse=True)[:50], rel=1e-4)
        assert dict(found) == pytest.approx({url: book[url] for url, _ in found}, rel=1e-4)


async def test_outbox_fold_and_merge_change_no_bit(database):
    catalog = await shelves.fill(database, [shelves.made(number) for number in range(290)], batch=29)
    before = [await ranked(database, question) for question in QUESTIONS]
    space = await catalog.open("lib")
    async with database.connection() as connection:
        assert await segments.fold_outbox(connection, space) == 290
        folded = [await ranked(database, question) for question in QUESTIONS]
        assert await segments.merge_tier(connection, space, everything=True) == 1
    assert before == folded == [await ranked(database, question) for question in QUESTIONS]


@given(
    st.lists(st.dictionaries(st.integers(0, 60), st.integers(1, 6), min_size=1), min_size=1, max_size=5),
    st.integers(1, 20),
)
def test_selection_by_the_floor_loses_nothing(terms, limit):
    blobs = []
    for term, counts in enumerate(terms):
        docs = sorted(counts)
        codes = [counts[doc] << 8 | 60 for doc in docs]
        half = len(docs) // 2
        blobs += [
            Blob(term, np.array(docs[part], np.int32), np.array(codes[part], np.uint16))
            for part in (slice(0, half), slice(half, None))
            if docs[part]
        ]
    postings = QueryPostings(tuple(blobs), 100, 4_000, 0, 60)
    everything = Scorer().rank(postings, limit=1_000)
    best = Scorer().rank(postings, limit=limit)
    assert best.as_pairs() == everything.as_pairs()[:limit]
    assert sorted(everything.as_pairs(), key=lambda pair: (-pair[1], pair[0])) == everything.as_pairs()


def test_a_scorer_forgets_the_question_before():
    scorer = Scorer()
    one = QueryPostings((Blob(1, np.array([3], np.int32), np.array([1 << 8], np.uint16)),), 10, 100, 0, 5)
    two = QueryPostings((Blob(2, np.array([4], np.int32), np.array([1 << 8], np.uint16)),), 10, 100, 0, 5)
    scorer.rank(one, limit=5)
    assert [id_ for id_, _ in scorer.rank(two, limit=5).as_pairs()] == [4]
    assert scorer.last_scores([3, 4, 9_999])[0] == 0.0
