"""Segments: tiers, tombstones, and readers who see every passage once."""

from __future__ import annotations

import asyncio

import numpy as np
from tests.unit.storage.index import shelves

from corrobora.storage.index import PostgresLibrary, posting_lists, segments
from corrobora.storage.index.segments import FAN, FOLD_AT, Segment, full_tier


async def counts(database):
    return await database.fetch_one(
        "select (select count(*) from lex_new), (select count(*) from lex_seg), (select coalesce(sum(docs), 0) from"
        " lex_seg), (select count(*) from passage)"
    )


def test_the_lowest_tier_with_eight_is_merged():
    small = [Segment(at, FOLD_AT) for at in range(9)]
    large = [Segment(100 + at, FOLD_AT * FAN) for at in range(8)]
    assert [each.seg for each in full_tier(large + small)] == list(range(8))
    assert [each.seg for each in full_tier(large + small[:7])] == [100 + at for at in range(8)]
    assert full_tier(small[:7]) == ()


async def test_upkeep_folds_at_256_and_merges_eight(database):
    catalog = await shelves.fill(database, [shelves.made(at) for at in range(255)], batch=51)
    space = await catalog.open("lib")
    await catalog.upkeep(space)
    assert (await counts(database))[:2] == (255, 0)
    await shelves.fill(database, [shelves.made(255)])
    await catalog.upkeep(space)
    assert (await counts(database))[:3] == (0, 1, 256)
    await shelves.fill(database, [shelves.made(at) for at in range(256, 256 * 8)], batch=256)
    assert (await counts(database))[1] == 8
    await catalog.upkeep(space)
    assert (await counts(database))[:3] == (0, 1, 2048)


async def test_deleted_passages_are_never_found_and_leave_the_index_at_the_forced_merge(database):
    items = [shelves.item(at, "", f"{shelves.WORDS[at % 16]} n{at}.", path=f"/f/{at}") for at in range(400)]
    catalog = await shelves.fill(database, items)
    space = await catalog.open("lib")
    library = PostgresLibrary(database, ["lib"])
    await catalog.retire(space, [f"/f/{at}" for at in range(150)])
    assert await library.hybrid_search("n17") == []
    assert (await library.hybrid_search("n317"))[0].url == "doc:317"
    await catalog.upkeep(space, deleted=True)
    assert (await counts(database))[1:] == (1, 250, 250)
    assert await library.hybrid_search("n17") == []
    assert (await library.hybrid_search("n317"))[0].url == "doc:317"


async def test_readers_beside_writer_fold_and_merge_see_every_old_passage_once(database):
    catalog = await shelves.fill(database, [shelves.made(at) for at in range(300)])
    space = await catalog.open("lib")
    done = asyncio.Event()

    async def write():
        for start in range(300, 1_500, 100):
            await shelves.fill(database, [shelves.made(at) for at in range(start, start + 100)])
            async with database.connection() as connection:
                await segments.fold_outbox(connection, space)
                await segments.merge_tier(connection, space, everything=True)
        done.set()

    async def read():
        library = PostgresLibrary(database, ["lib"])
        asked = 0
        while not done.is_set() or asked < 20:
            hits = await library.hybrid_search(f"n{asked % 300}", limit=50)
            assert [hit.url for hit in hits] == [f"doc:{asked % 300}"]
            asked += 1

    async with asyncio.TaskGroup() as group:
        group.create_task(write())
        group.create_task(read())


async def test_what_an_earlier_version_has_left_is_searched_merged_and_brought_up_to_date(database):
    items = [shelves.item(at, "", f"gold n{at}.", path=f"/{at}", publisher=f"Paper {at % 3}") for at in range(320)]
    catalog = await shelves.fill(database, items[:300], batch=300)
    await shelves.fill(database, items[300:])
    space = await catalog.open("lib")
    rows = await database.fetch_all("select n, post, seg from lex_rare")
    await database.execute("delete from lex_rare")  # as it was written before: every term has a row of its own
    for n, post, seg in rows:
        rare = posting_lists.read_rare_blobs(np.array([n], np.int32), post)
        for term in np.unique(rare["term"]).tolist():
            mine = rare[rare["term"] == term]
            blob = mine["doc"].tobytes() + mine["code"].tobytes()
            await database.execute(
                "insert into lex_post (space, term, seg, n, post) values (%s, %s, %s, %s, %b)",
                (space, term, seg, len(mine), blob),
            )
    await database.execute("update lex_seg set publishers = null, rare = null")
    await database.execute("update lex_new set publisher = null")

    async def found():
        library = PostgresLibrary(database, ["lib"])
        return [[hit.url for hit in await library.hybrid_search(f"n{at}")] for at in (0, 17, 299, 310)]

    wanted = [[f"doc:{at}"] for at in (0, 17, 299, 310)]
    assert await found() == wanted
    await catalog.upkeep(space)
    papers = ["Paper 0", "Paper 1", "Paper 2"]
    assert await database.fetch_one("select publishers from lex_seg") == (papers,)
    assert await database.fetch_one("select array_agg(distinct publisher order by publisher) from lex_new") == (papers,)
    assert await found() == wanted
    async with database.connection() as connection:
        await segments.merge_tier(connection, space, everything=True)
    assert await found() == wanted
    assert (await database.fetch_one("select count(*) from lex_rare"))[0] > 0
