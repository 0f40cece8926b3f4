"""The library: deterministic search, hostile queries, spaces, neighbours, boosts."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from corrobora.domain.errors import ReadError
from corrobora.domain.evidence import PassageId, Source, SourceId
from corrobora.storage.index.library import PostgresLibrary

_spec = importlib.util.spec_from_file_location("shelves", Path(__file__).with_name("shelves.py"))
assert _spec is not None
assert _spec.loader is not None
shelves = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(shelves)


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
    assert await ours.neighbour_passages(other.passage) == []
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
    around = await library.neighbour_passages(passages[2].id)
    assert [each.id for each in around] == [each.id for each in passages[1:4]]
    _, stored = await library.document(source.id)
    assert all(stored[each.start : each.end] == each.text for each in passages)
    wanted = [passages[3].id, PassageId("C999999"), passages[0].id]
    assert [each.id for each in await library.passages(wanted)] == [passages[3].id, passages[0].id]
    await library.close()


@pytest.mark.parametrize("bad", ["", "S", "Sx", "S99999999999", "C-1"])
async def test_a_number_that_is_none_is_not_found(database, bad):
    library = PostgresLibrary(database, ["lib"])
    with pytest.raises(ReadError):
        await library.document(SourceId(bad))
    assert await library.passages([PassageId(bad)]) == []
