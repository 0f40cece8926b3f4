"""Holders: those of all terms of a name, wherever their postings lie."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.storage.index import shelves

from corrobora.storage.index import links
from corrobora.storage.index.terms import Tokenizer
from corrobora.text.tokens import split_words


@given(
    st.dictionaries(st.integers(0, 20), st.sets(st.integers(0, 30)), max_size=8),
    st.lists(st.lists(st.integers(0, 20), min_size=1, max_size=4, unique=True), max_size=6),
)
def test_an_intersection_is_that_of_sets(postings, wanted):
    keys = np.array(sorted(term << 32 | doc for term, docs in postings.items() for doc in docs), np.int64)
    owner = np.array([at for at, terms in enumerate(wanted) for _ in terms], np.intp)
    found = links.intersect_postings(owner, np.array([term for terms in wanted for term in terms], np.int64), keys)
    assert sorted(zip(*(each.tolist() for each in found), strict=True)) == [
        (at, doc)
        for at, terms in enumerate(wanted)
        for doc in sorted(set.intersection(*[postings.get(term, set()) for term in terms]))
    ]


async def test_short_blobs_long_blobs_and_the_outbox_are_all_looked_at(database):
    items = [shelves.made(at) for at in range(420)]  # sixteen words, so that some blobs are long
    catalog = await shelves.fill(database, items[:300])
    await shelves.fill(database, items[300:], batch=40)
    tokenizer = Tokenizer()
    names = ["king rome", "war peace river stone", "n17", "gold n301", "n17 n18", "nobody king", "ship n299"]
    async with database.connection() as connection:
        space = await catalog.open("lib")
        found = await links.find_phrase_matches(
            connection, space, {name: tokenizer.query_terms(name) for name in names}
        )
        cursor = await connection.execute("select id, title || ' ' || body from passage")
        texts = {id_: set(split_words(text)) for id_, text in await cursor.fetchall()}
    for name in names:
        holding = {id_ for id_, text in texts.items() if set(name.split()) <= text}
        assert {id_ for id_, held in found.items() if name in held} == holding
    assert any("war peace river stone" in held for held in found.values())
