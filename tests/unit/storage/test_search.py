"""Search: the same order for the same content; named sources and dates; clauses."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from corrobora.storage.library import PostgresLibrary

_spec = importlib.util.spec_from_file_location("shelves", Path(__file__).with_name("shelves.py"))
assert _spec is not None
assert _spec.loader is not None
shelves = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(shelves)


async def test_the_order_does_not_depend_on_how_documents_came(database):
    items = [shelves.made(at) for at in range(600)]
    await shelves.fill(database, items, space="bulk", batch=600)
    await shelves.fill(database, items, space="steps", batch=50)
    for question in ("king of rome", "war peace", "gold judge n17"):
        one, two = [
            [(hit.url, hit.score) for hit in await PostgresLibrary(database, [space]).hybrid_search(question, limit=30)]
            for space in ("bulk", "steps")
        ]
        assert one == two
        again = await PostgresLibrary(database, ["bulk"]).hybrid_search(question, limit=30)
        assert [(hit.url, hit.score) for hit in again] == one


async def test_a_source_that_the_question_names_comes_first(database):
    about = "The court decided on the merger of the two harbour companies."
    items = [
        shelves.item(1, "News", about, publisher="The Verge", published="2023-10-07"),
        shelves.item(2, "News", about, publisher="TechCrunch", published="2023-10-08"),
    ]
    await shelves.fill(database, [*items, *[shelves.made(at) for at in range(10, 40)]])
    library = PostgresLibrary(database, ["lib"])
    for question, first in (
        ("What did TechCrunch say of the merger?", "doc:2"),
        ("merger on October 7, 2023", "doc:1"),
    ):
        assert (await library.hybrid_search(question))[0].url == first


async def test_each_clause_of_a_long_question_finds_its_document(database):
    items = [
        shelves.item(1, "", "The harbour was built of stone."),
        shelves.item(2, "", "A judge of the court liked gold."),
        *[shelves.item(10 + at, "", "War and peace, peace and war, crown and war.") for at in range(8)],
    ]
    await shelves.fill(database, [*items, *[shelves.made(at) for at in range(30, 60)]])
    question = "Who fought the war for the crown, which judge liked court gold, and was the harbour built of stone?"
    hits = await PostgresLibrary(database, ["lib"]).hybrid_search(question, limit=4)
    assert {"doc:1", "doc:2"} <= {hit.url for hit in hits}
