"""The catalog: stored once, replaced, retired; a snapshot outlives its passages."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from tests.unit.storage.index import shelves

from corrobora.domain.errors import JournalError, UserError
from corrobora.domain.evidence import SourceId
from corrobora.storage.index import PostgresLibrary
from corrobora.storage.index.catalog import PASSAGES_A_STEP, Catalog, lock_space
from corrobora.storage.index.documents import clean_text
from corrobora.storage.index.terms import Fields, Tokenizer
from corrobora.text.tokens import tokenizer_fingerprint


async def test_the_same_text_under_the_same_address_is_stored_once(database):
    catalog = Catalog(database)
    space = await catalog.open("lib")
    (one,) = await catalog.store(space, [shelves.item(1, "Title", "Some text.")])
    (two,) = await catalog.store(space, [shelves.item(1, "Title", "Some text.")])
    assert (one.new, two.new) == (True, False)
    assert (one.source, one.passages) == (two.source, two.passages)
    (info,) = await catalog.list_spaces()
    assert (info.name, info.sources, info.passages) == ("lib", 1, 1)


async def test_a_document_of_two_libraries_has_its_text_stored_once(database):
    """Passages and postings are each library's own: its statistics, its removal and its rights must not be others'."""
    files = [shelves.item(number, "Crane", f"Crane {number} lifts.", path=f"/{number}") for number in range(30)]
    catalog = Catalog(database)
    await catalog.store(await catalog.open("all"), files)
    await catalog.store(await catalog.open("some"), files[:20])
    assert await database.fetch_one("select count(*) from snapshot") == (30,)
    assert await database.fetch_one("select count(*) from passage") == (50,)
    await catalog.remove_space("all")
    assert await database.fetch_one("select count(*) from snapshot") == (20,)
    assert len(await PostgresLibrary(database, ["some"]).hybrid_search("Which crane lifts?", limit=60)) == 20


async def test_the_passages_of_a_long_document_are_indexed_in_steps(database):
    """Counted, not timed: of a document of any size the words of so many passages are in memory and no more."""
    steps: list[int] = []

    class CountingTokenizer(Tokenizer):
        def number_batch(self, texts):
            steps.append(len(texts) // len(Fields._fields))
            return super().number_batch(texts)

    text = "\n\n".join(f"Note {at} says that Crane {at} lifts the load of ship {at}. " * 8 for at in range(8_600))
    catalog = Catalog(database, CountingTokenizer())
    space = await catalog.open("lib")
    await catalog.store(space, [shelves.item(1, "Crane 650", "One of the cranes.")])
    (stored,) = await catalog.store(space, [shelves.item(2, "Notes", text)])
    assert steps == [1, PASSAGES_A_STEP, len(stored.ids) - PASSAGES_A_STEP]
    library = PostgresLibrary(database, ["lib"])
    for at in (2, 4_300, 8_599):
        (found, *_) = await library.hybrid_search(f"ship {at}")
        assert f"ship {at}." in found.snippet


async def test_k09_copies_under_other_addresses_share_one_origin(database):
    catalog = Catalog(database)
    found = await catalog.store(
        await catalog.open("lib"), [shelves.item(1, "A", "Same text."), shelves.item(2, "B", "Same text.")]
    )
    assert found[0].source.id != found[1].source.id
    assert found[0].source.origin == found[1].source.origin


async def test_a_changed_file_replaces_its_passages_and_keeps_the_old_snapshot(database):
    catalog = Catalog(database)
    space = await catalog.open("lib")
    (old,) = await catalog.store(space, [shelves.item(1, "A", "The length is eight.", path="/a")])
    (new,) = await catalog.store(space, [shelves.item(1, "A", "The length is twelve.", path="/a")])
    library = PostgresLibrary(database, ["lib"])
    assert [hit.source for hit in await library.hybrid_search("length")] == [new.source.id]
    _, text = await library.document(old.source.id)
    assert text == "The length is eight."
    assert await library.passages([old.passages[0].id]) == []


async def test_what_a_database_cannot_hold_is_dropped_and_spans_stay_exact(database):
    catalog = Catalog(database)
    (stored,) = await catalog.store(
        await catalog.open("lib"), [shelves.item(1, "A\0B", "One\0 two. \ud800 Three.", url="x\udcff")]
    )
    source, text = await PostgresLibrary(database, ["lib"]).document(stored.source.id)
    assert source.title == "AB"
    for passage in stored.passages:
        assert text[passage.start : passage.end] == passage.text
    assert clean_text("a\0") == "a"


async def test_an_empty_text_is_refused(database):
    catalog = Catalog(database)
    with pytest.raises(UserError, match="no text"):
        await catalog.store(await catalog.open("lib"), [shelves.item(1, "A", " ")])


async def test_a_removed_space_leaves_nothing_behind(database):
    catalog = await shelves.fill(database, [shelves.made(at) for at in range(300)])
    assert await catalog.remove_space("lib")
    assert not await catalog.remove_space("lib")
    for table in ("source", "snapshot", "passage", "lex_post", "lex_rare", "lex_new", "lex_seg", "alias", "mention"):
        row = await database.fetch_one(f"select count(*) from {table}")
        assert row[0] == 0, table


async def test_k12_an_index_of_another_tokenizer_is_made_anew_when_it_is_next_searched(database):
    catalog = await shelves.fill(database, [shelves.made(at) for at in range(300)])
    await catalog.upkeep(await catalog.open("lib"))
    library = PostgresLibrary(database, ["lib"])
    before = [hit.passage for hit in await library.hybrid_search("king n17")]
    await database.execute("update library_setting set value = 'porter-0-other' where name = 'tokenizer'")
    await database.execute("delete from lex_post")
    await database.execute("delete from lex_rare")
    assert [hit.passage for hit in await PostgresLibrary(database, ["lib"]).hybrid_search("king n17")] == before
    row = await database.fetch_one("select value from library_setting where name = 'tokenizer'")
    assert row[0] == tokenizer_fingerprint()


@pytest.mark.parametrize(("table", "word"), [("lex_post", "king"), ("lex_rare", "n17")])
@pytest.mark.parametrize(
    "damage", ["post = substr(post, 1, length(post) - 1)", "post = substr(post, 7)", "post = ''", "n = n + 1"]
)
async def test_k12_a_damaged_index_is_refused_with_the_command_that_builds_it_again(database, damage, table, word):
    catalog = await shelves.fill(database, [shelves.made(at) for at in range(300)])
    await catalog.upkeep(await catalog.open("lib"))
    assert await database.execute(f"UPDATE {table} SET {damage}") > 0
    library = PostgresLibrary(database, ["lib"])
    with pytest.raises(JournalError, match="index of the library is damaged") as caught:
        await library.hybrid_search(word)
    assert caught.value.code == "library_damaged"
    assert "corrobora library rm NAME" in caught.value.next_step
    await catalog.remove_space("lib")
    await shelves.fill(database, [shelves.made(at) for at in range(300)])
    assert await PostgresLibrary(database, ["lib"]).hybrid_search("king"), "built again, it answers"


async def test_numbers_are_those_of_the_library(database):
    (stored,) = await Catalog(database).store(await Catalog(database).open("lib"), [shelves.item(1, "A", "Text.")])
    assert stored.source.id == SourceId(f"S{int(stored.source.id[1:])}")
    assert stored.passages[0].id.startswith("C")


async def test_a_file_whose_description_alone_has_changed_replaces_itself(database):
    catalog = Catalog(database)
    space = await catalog.open("lib")
    for digest in ("first", "second"):
        await catalog.store(space, [replace(shelves.item(1, digest, "One text.", path="/a"), digest=digest)])
    assert [hit.title for hit in await PostgresLibrary(database, ["lib"]).hybrid_search("text")] == ["second"]
    assert await catalog.files(space) == {"/a": "second"}


async def test_nothing_is_stored_in_a_library_that_was_removed(database):
    catalog = Catalog(database)
    space = await catalog.open("lib")
    await catalog.remove_space("lib")
    with pytest.raises(UserError, match="was removed"):
        await catalog.store(space, [shelves.item(1, "A", "Text.")])
    assert await database.fetch_one("select (select count(*) from source), (select count(*) from snapshot)") == (0, 0)


async def test_a_removal_leaves_the_snapshots_that_others_are_about_to_name(database):
    catalog = Catalog(database)
    (stored,) = await catalog.store(await catalog.open("one"), [shelves.item(1, "A", "One text.")])
    two = await catalog.open("two")
    waiting = "select 1 from pg_locks where locktype = 'advisory' and not granted"
    async with database.connection() as other:
        async with other.transaction():
            await lock_space(other, two)  # as a store does that is to name the same text
            removal = asyncio.create_task(catalog.remove_space("one"))
            while not await database.fetch_all(waiting):  # noqa: ASYNC110 - the server tells nobody
                await asyncio.sleep(0.01)
            await other.execute(
                "insert into source (space, snapshot, url, title) values (%s, %s, 'doc:2', 'B')",
                (two, stored.source.snapshot),
            )
        assert await removal
    assert await database.fetch_one("select count(*) from source s join snapshot n on n.sha = s.snapshot") == (1,)
