"""Links: adding documents one by one gives the same links as adding them together."""

from __future__ import annotations

import pytest
from tests.unit.storage.index import shelves

from corrobora.storage.index import PostgresLibrary
from corrobora.storage.index.links import may_mention

LOTHAIR = "Lothair II was king of Lotharingia. He was a son of Ermengarde of Tours and Lothair I."
ERMENGARDE = "Ermengarde of Tours was an empress. She died on 20 March 851."
REGION = "The kingdom is named after Lothair II of Lotharingia, not after Lothair I."


def documents():
    return [
        shelves.item(1, "Lothair II (king)", LOTHAIR, path="/1"),
        shelves.item(2, "Ermengarde of Tours", ERMENGARDE, path="/2"),
        shelves.item(3, "Lotharingia", REGION, path="/3"),
        shelves.item(4, "Lothair II of Lotharingia", "A page about the same king.", path="/4"),
        shelves.item(5, "Tours", "Tours is a city.", path="/5"),
    ]


async def mentions(database):
    rows = await database.fetch_all(
        "select s.url, m.alias, m.sent from mention m join passage p on p.id = m.src join source s on s.id = p.source"
    )
    return sorted(rows)


@pytest.mark.parametrize("order", [[0, 1, 2, 3, 4], [4, 3, 2, 1, 0], [3, 0, 4, 2, 1]])
async def test_incremental_equals_bulk(database, order):
    items = documents()
    await shelves.fill(database, items, space="bulk")
    bulk = await mentions(database)
    await database.execute("delete from mention")
    await shelves.fill(database, [items[at] for at in order], batch=1)
    assert await mentions(database) == bulk
    assert ("doc:1", "ermengarde of tours", "He was a son of Ermengarde of Tours and Lothair I.") in bulk
    assert [alias for url, alias, _ in bulk if url == "doc:3"] == ["lothair ii of lotharingia"]


async def test_a_removed_title_gives_way_to_the_shorter_one(database):
    items = documents()
    catalog = await shelves.fill(database, items)
    await catalog.retire(await catalog.open("lib"), ["/4"])
    assert [alias for url, alias, _ in await mentions(database) if url == "doc:3"] == ["lothair ii", "lotharingia"]


async def test_a_removed_passage_takes_its_mentions_along(database):
    catalog = await shelves.fill(database, documents())
    await catalog.retire(await catalog.open("lib"), ["/1", "/3"])
    assert {url for url, _, _ in await mentions(database)} <= {"doc:2", "doc:4", "doc:5"}


async def test_one_hop_finds_what_shares_no_word_with_the_question(database):
    filler = [shelves.made(at) for at in range(20, 60)]
    await shelves.fill(database, [*documents(), *filler])
    hits = await PostgresLibrary(database, ["lib"]).hybrid_search("Who was the mother of Lothair II?", limit=8)
    found = {hit.url: hit.linked_from for hit in hits}
    assert found["doc:2"] == "ermengarde of tours"


def test_the_cheap_test_never_misses_words_that_stand_together():
    assert may_mention("He met Ermengarde, of Tours.", ["ermengarde of tours"])
    assert may_mention("Jean-Paul", ["nobody", "jean paul"])
    assert not may_mention("Ermengarde was in the town of Tours.", ["ermengarde of tours"])
