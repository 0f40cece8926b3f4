"""The library as provider and reader, over a real one."""

from __future__ import annotations

import pytest
from tests.unit.storage.index import shelves

from corrobora.adapters.library import LibraryReader, LibrarySearch
from corrobora.domain.errors import ReadError
from corrobora.domain.evidence import Hit, Query, Source, SourceId
from corrobora.storage.index import PostgresLibrary


async def test_a_hit_is_read_with_its_neighbours_and_quotes_are_literal(database):
    library = PostgresLibrary(database, ["lib"])
    text = "\n\n".join(f"Part {at} speaks of the river. " * 40 for at in range(4))
    source, passages = await library.store(Source(SourceId(""), "Rivers", "r.md", ""), text, space="lib")
    (hit,) = await LibrarySearch(library).search(Query("part 2 river"), limit=1)
    assert (hit.provider, hit.query, hit.source) == ("library", "part 2 river", source.id)
    reader = LibraryReader(library)
    assert reader.accepts(hit)
    assert not reader.accepts(Hit("http://x", "x"))
    document = await reader.read(hit)
    assert hit.passage in [each.id for each in document.passages]
    assert 2 <= len(document.passages) <= 3
    assert set(document.passages) <= set(passages)
    assert all(document.text[each.start : each.end] == each.text for each in document.passages)


async def test_a_file_of_two_libraries_is_found_once(database):
    files = [shelves.item(number, f"Crane {number}", f"It lifts {number} tonnes.") for number in range(30)]
    await shelves.fill(database, files, space="all")
    await shelves.fill(database, files[:20], space="some")
    search = LibrarySearch(PostgresLibrary(database, ["all", "some"]))
    for limit in (3, 10, 25, 60):
        hits = await search.search(Query("How many tonnes does a crane lift?"), limit=limit)
        assert len({hit.url for hit in hits}) == len(hits) == min(limit, 30)


async def test_copies_at_other_addresses_and_repeated_passages_of_one_document_are_found_each(database):
    for name, address in (("one", "https://a.example/"), ("two", "https://b.example/")):
        await shelves.fill(database, [shelves.item(1, "Crane", "It holds eight tonnes.", url=address)], space=name)
    twice = "The gate is lifted by a chain. " * 80
    await shelves.fill(database, [shelves.item(2, "Gate", twice)], space="one")
    search = LibrarySearch(PostgresLibrary(database, ["one", "two"]))
    found = await search.search(Query("How many tonnes does the crane hold?"), limit=9)
    assert {hit.url for hit in found} >= {"https://a.example/", "https://b.example/"}
    said = [hit.snippet for hit in await search.search(Query("By what is the gate lifted?"), limit=9)]
    assert len(said) > len(set(said))


async def test_a_passage_that_many_documents_repeat_is_found_in_two_of_them(database):
    pages = [shelves.item(at, f"Page {at}", "The size of a pack is printed in bytes.") for at in range(12)]
    answer = shelves.item(20, "Tuning", "A pack has sixteen bytes unless the size is set.")
    await shelves.fill(database, [*pages, answer], space="lib")
    hits = await LibrarySearch(PostgresLibrary(database, ["lib"])).search(Query("size of a pack in bytes"), limit=3)
    assert [hit.title for hit in hits].count("Tuning") == 1
    assert len(hits) == 3


async def test_a_source_that_is_named_without_a_passage_is_read_where_it_speaks_of_the_query(database):
    library = PostgresLibrary(database, ["lib"])
    text = "\n\n".join(f"Part {at} speaks of the {word}. " * 40 for at, word in enumerate(["river", "sea", "lake"] * 5))
    source, passages = await library.store(Source(SourceId(""), "Waters", "w.md", ""), text, space="lib")
    named = Hit(source.id, source.id, provider="given", query="the sea", source=source.id)
    document = await LibraryReader(library).read(named)
    assert document.passages
    assert len(document.passages) < len(passages)
    assert all("sea" in each.text for each in document.passages)


async def test_a_document_that_is_gone_is_a_read_error(database):
    with pytest.raises(ReadError):
        await LibraryReader(PostgresLibrary(database, ["lib"])).read(Hit("x", "x", source=SourceId("S1")))
