"""Kept: what was read before is used again, and never once it is wrong."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.storage.index import shelves

from corrobora.storage.index import PostgresLibrary, segments
from corrobora.storage.index.bm25 import Scorer
from corrobora.storage.index.posting_cache import PostingCache, PublisherNames
from corrobora.storage.index.terms import Tokenizer
from corrobora.text.ranking import names_publisher
from corrobora.text.tokens import split_words

QUESTIONS = ["king of rome", "war and peace at the river", "gold n17", "judge court law", "nothing known"]


async def ranked(database, kept, question):
    async with database.connection() as connection:
        read = await kept.read(connection, Tokenizer().query_terms(question))
    return Scorer().rank(read.postings, limit=50).as_pairs()


async def test_what_is_kept_gives_what_a_first_reading_gives_after_every_change(database):
    catalog = await shelves.fill(database, [shelves.made(at) for at in range(300)], batch=300)
    space = await catalog.open("lib")
    kept = {limit: PostingCache(["lib"], limit) for limit in (0, 2_000, 32_000_000)}

    async def same_as_fresh():
        for question in (*QUESTIONS, *QUESTIONS):
            fresh = await ranked(database, PostingCache(["lib"]), question)
            assert [await ranked(database, each, question) for each in kept.values()] == [fresh] * len(kept)
        return fresh

    async def change(number):
        await shelves.fill(database, [shelves.item(number, "", f"gold n17 x{number}.", path=f"/{number}")])

    await same_as_fresh()
    for number in range(1_000, 1_005):
        await change(number)
        await same_as_fresh()
    await catalog.retire(space, ["/1003"])
    await same_as_fresh()
    async with database.connection() as connection:
        assert await segments.fold_outbox(connection, space) == 4
        await same_as_fresh()
        assert await segments.merge_tier(connection, space, everything=True) == 2
        await same_as_fresh()
    await catalog.remove_space("lib")
    assert await same_as_fresh() == []
    await shelves.fill(database, [shelves.made(at) for at in range(17, 20)])
    await same_as_fresh()
    assert await ranked(database, kept[0], "n17")


async def test_postings_are_read_once_while_the_segments_are_the_same(database):
    await shelves.fill(database, [shelves.made(at) for at in range(300)], batch=300)
    roomy, narrow = PostingCache(["lib"]), PostingCache(["lib"], 1_800)
    before = {question: await ranked(database, roomy, question) for question in ("king", "n17", "queen")}
    for question, found in before.items():
        assert await ranked(database, narrow, question) == found != []
    for table in ("lex_post", "lex_rare"):
        await database.execute(f"delete from {table}")  # what no program does: only what is kept can be found now
    assert {question: await ranked(database, roomy, question) for question in before} == before
    assert await ranked(database, narrow, "queen") == before["queen"]
    assert await ranked(database, narrow, "king") == []


async def test_an_outbox_is_read_once_and_a_row_that_goes_is_noticed(database):
    catalog = await shelves.fill(database, [shelves.item(at, "", f"gold n{at}.", path=f"/{at}") for at in range(9)])
    kept = PostingCache(["lib"])
    before = await ranked(database, kept, "gold")
    await database.execute("update lex_new set post = ''")  # what no program does either
    assert await ranked(database, kept, "gold") == before
    await catalog.retire(await catalog.open("lib"), ["/3"])
    assert len(await ranked(database, kept, "gold")) == len(before) - 1 == 8


async def test_readers_who_share_what_is_kept_do_not_disturb_each_other(database):
    catalog = await shelves.fill(database, [shelves.made(at) for at in range(300)])
    space = await catalog.open("lib")
    library = PostgresLibrary(database, ["lib"])
    done = asyncio.Event()

    async def write():
        for start in range(300, 900, 60):
            await shelves.fill(database, [shelves.made(at) for at in range(start, start + 60)])
            async with database.connection() as connection:
                await segments.fold_outbox(connection, space)
                await segments.merge_tier(connection, space, everything=start % 120 == 0)
        done.set()

    async def read(first):
        asked = first
        while not done.is_set():
            hits = await library.hybrid_search(f"n{asked % 300} n{(asked + 1) % 300}", limit=50)
            assert {hit.url for hit in hits} == {f"doc:{asked % 300}", f"doc:{(asked + 1) % 300}"}
            asked += 1

    async with asyncio.TaskGroup() as group:
        group.create_task(write())
        for first in (0, 100, 200):
            group.create_task(read(first))


@pytest.mark.parametrize("publishers", [["The Verge", "", "The Verge"], [f"p{at}" for at in range(1_001)]])
async def test_the_publishers_of_what_is_indexed_are_known_unless_they_are_too_many(database, publishers):
    items = [shelves.item(at, "", f"gold n{at}.", publisher=name) for at, name in enumerate(publishers)]
    catalog = await shelves.fill(database, items, batch=1_001)
    space = await catalog.open("lib")
    kept = PostingCache(["lib"])
    few = len(publishers) < 1_000

    async def known():
        async with database.connection() as connection:
            return (await kept.read(connection, [])).publishers

    async with database.connection() as connection:
        for _ in range(3):
            names = await known()
            assert (names is not None) == few
            assert names is None or (names.any_in(" say verge of ") and not names.any_in(" say verges of "))
            await segments.fold_outbox(connection, space)
            await shelves.fill(database, [shelves.item(5_000, "", "One more."), shelves.item(5_001, "", "And more.")])
            await segments.fold_outbox(connection, space)
            await segments.merge_tier(connection, space, everything=True)
        await database.execute("update lex_seg set publishers = null")  # they are not known
        kept = PostingCache(["lib"])
        assert await known() is None
        await segments.merge_tier(connection, space, everything=True)
    assert await known() is None


parts = st.lists(st.sampled_from(["the", "verge", "tech", "crunch", "a b", "|", "x", "news: daily"]), max_size=4)


@given(st.lists(parts.map(" ".join), max_size=5), parts.map(" ".join))
def test_names_know_exactly_the_publishers_that_a_question_names(publishers, question):
    joined = f" {' '.join(split_words(question))} "
    assert PublisherNames(publishers).any_in(joined) == any(names_publisher(joined, each) for each in publishers)


async def test_further_postings_of_one_question_are_those_of_a_first_reading_and_kept_ones_need_no_trip(database):
    await shelves.fill(database, [shelves.made(at) for at in range(300)], batch=300)
    await shelves.fill(database, [shelves.item(1_000, "", "gold n17 was here.", path="/1000")])
    terms = Tokenizer().query_terms("gold n17")
    kept = PostingCache(["lib"])
    async with database.connection() as connection:
        await kept.read(connection, Tokenizer().query_terms("king of rome"))
        asked = await kept.read_more(connection, terms)
        whole = (await PostingCache(["lib"]).read(connection, terms)).postings
    again = await kept.read_more(connection, terms)  # the connection was given back: nothing may be asked of it
    scorer = Scorer()
    assert scorer.rank(asked, limit=50).as_pairs() == scorer.rank(whole, limit=50).as_pairs()
    assert scorer.rank(again, limit=50).as_pairs() == scorer.rank(whole, limit=50).as_pairs()
    ids = [id_ for id_, _ in scorer.rank(whole, limit=50).as_pairs()]
    weights = dict.fromkeys(terms, 2.0)
    assert scorer.weighted_sums(whole, weights, ids) == pytest.approx([2 * each for each in scorer.last_scores(ids)])
