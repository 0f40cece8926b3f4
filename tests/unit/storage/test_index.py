"""The library: deterministic search, hostile queries, spaces, neighbours, boosts."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.storage.index import shelves

from corrobora.adapters.library import LibraryReader
from corrobora.domain.errors import ReadError
from corrobora.domain.evidence import PassageId, Source, SourceId
from corrobora.storage.index import PostgresLibrary


@pytest.mark.parametrize(
    "text",
    [
        "'; drop table passage;--",
        '"king" OR *',
        "%_%",
        "king NEAR/2 queen",
        "\\",
        "(((",
        "a:b^2",
        "\0",
        "",
        "of the",
        "{}",
    ],
)
async def test_k13_query_syntax_means_nothing(database, text):
    await shelves.fill(database, [shelves.made(at) for at in range(20)])
    hits = await PostgresLibrary(database, ["lib"]).hybrid_search(text)
    assert len(hits) <= 10
    assert (await database.fetch_one("select count(*) from passage"))[0] == 20


async def test_a_library_sees_its_own_spaces_only(database):
    await shelves.fill(database, [shelves.item(1, "A", "A private king.")], space="mine")
    await shelves.fill(database, [shelves.item(2, "B", "A public king.")], space="ours")
    ours = PostgresLibrary(database, ["ours"])
    (hit,) = await ours.hybrid_search("king")
    assert hit.url == "doc:2"
    (other,) = await PostgresLibrary(database, ["mine"]).hybrid_search("king")
    assert other.passage is not None
    assert other.source is not None
    assert await ours.passages([other.passage]) == []
    assert await ours.source_passages(other.source) == ()
    with pytest.raises(ReadError, match="not in the library"):
        await ours.document(other.source)
    assert len(await PostgresLibrary(database, ["mine", "ours"]).hybrid_search("king")) == 2
    assert await PostgresLibrary(database, ["none"]).hybrid_search("king") == []


async def test_a_stored_document_is_found_at_once_and_read_with_its_neighbours(database):
    library = PostgresLibrary(database, ["web"])
    text = "\n\n".join(f"Part {at} speaks of the river. " * 30 for at in range(5))
    source, passages = await library.store(Source(SourceId(""), "Rivers", "http://x", ""), text, space="web")
    assert len(passages) == 4
    hit = (await library.hybrid_search("part 3 river", limit=1))[0]
    assert hit.source == source.id
    around = (await LibraryReader(library).read(replace(hit, passage=passages[2].id))).passages
    assert around == passages[1:4]
    _, stored = await library.document(source.id)
    assert all(stored[each.start : each.end] == each.text for each in passages)
    wanted = [passages[3].id, PassageId("C999999"), passages[0].id]
    assert [each.id for each in await library.passages(wanted)] == [passages[3].id, passages[0].id]


@pytest.mark.parametrize("bad", ["", "S", "Sx", "S99999999999", "C-1"])
async def test_a_number_that_is_none_is_not_found(database, bad):
    library = PostgresLibrary(database, ["lib"])
    with pytest.raises(ReadError):
        await library.document(SourceId(bad))
    assert await library.passages([PassageId(bad)]) == []


async def test_stored_pages_are_indexed_together_when_their_space_is_next_searched(database):
    writer = PostgresLibrary(database, ["web"])
    for at in range(3):
        text = f"Part {at} speaks of the river. The ferry of Lake {at} sails."
        await writer.store(Source(SourceId(""), f"River {at}", f"http://x/{at}", ""), text, space="web")
    assert (await database.fetch_one("select count(*) from lex_new"))[0] == 0, "no page pays for an index by itself"
    other = PostgresLibrary(database, ["web"])  # as another process would, after the first was killed
    assert {hit.url for hit in await other.hybrid_search("which ferry sails on the river")} == {
        "http://x/0",
        "http://x/1",
        "http://x/2",
    }
    assert (await database.fetch_one("select count(*) from source where not indexed"))[0] == 0
    source, _ = await writer.store(
        Source(SourceId(""), "Mill", "http://x/mill", ""), "The mill of River 1 grinds.", space="web"
    )
    (first, *_) = await other.hybrid_search("mill")
    assert first.source == source.id
    rows = await database.fetch_all("select alias from mention")
    assert ("river 1",) in rows, "a page that is indexed later names the sources that were indexed before"


async def test_a_page_that_is_stored_again_keeps_its_number(database):
    library = PostgresLibrary(database, ["web"])
    page = Source(SourceId(""), "River", "http://x", "")
    (source, passages), (again, same) = [await library.store(page, "The ferry sails.", space="web") for _ in range(2)]
    assert (again, [each.id for each in same]) == (source, [each.id for each in passages])
    assert await library.catalog.remove_space("web")
    new, _ = await library.store(page, "The ferry sails.", space="web")
    assert new.id != source.id, "a space that was removed is made again"
    assert len(await library.hybrid_search("ferry")) == 1
