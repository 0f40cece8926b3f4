"""Questions to the index: what was stored since the last one is indexed with the next."""

from __future__ import annotations

from tests.unit.storage.index import shelves

from corrobora.storage.index.catalog import Catalog
from corrobora.storage.index.queries import IndexReader
from corrobora.storage.index.terms import Tokenizer


async def test_a_question_finds_what_was_stored_since_the_last_one(database):
    tokenizer = Tokenizer()
    catalog = Catalog(database, tokenizer)
    reader = IndexReader(database, catalog, ["lib"], tokenizer, None)
    terms = tokenizer.query_terms("crane lifts")
    for number, said in enumerate(("The crane lifts ten tonnes.", "Another crane lifts twelve tonnes."), start=1):
        await catalog.store_unindexed("lib", shelves.item(number, f"Crane {number}", said))
        found = await reader.find_hits("crane lifts", terms, 10)
        assert {hit.title for hit in found} == {f"Crane {each}" for each in range(1, number + 1)}
    held = await reader.find_held_terms([*terms, *tokenizer.query_terms("bridge")])
    assert set(held) == set(terms)
