"""The cache: what was put there comes back as it was, and it never holds more than it may."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from corrobora.domain.evidence import Source, SourceId
from corrobora.storage.index import LruCache, PostgresLibrary
from corrobora.storage.postgres import Database


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 30)), max_size=60))
def test_it_holds_at_most_its_size_and_always_the_last_value_that_fits(puts: list[tuple[int, int]]) -> None:
    cache, last = LruCache[int, str](40, len), dict[int, str]()
    for key, size in puts:
        value = last.setdefault(key, "x" * size)  # a stored text never changes
        cache.put(key, value)
        assert cache.get(key) == value
        assert sum(len(cache.get(each) or "") for each in range(10)) <= 40


def test_what_was_asked_for_lately_stays_and_the_rest_goes():
    cache = LruCache[int, str](10, len)
    for key in (1, 2):
        cache.put(key, "x" * 5)
    assert cache.get(1)
    cache.put(3, "x" * 5)
    assert [bool(cache.get(key)) for key in (1, 2, 3)] == [True, False, True]
    cache.put(4, "x" * 11)
    assert cache.get(4) is None
    cache.put(1, "x" * 5)
    cache.put(5, "x" * 5)
    assert [bool(cache.get(key)) for key in (1, 3, 5)] == [True, False, True]


async def test_a_library_reads_a_document_once_and_a_new_one_sees_what_is_gone(database: Database):
    library = PostgresLibrary(database, ["lib"])
    stored, passages = await library.store(Source(SourceId(""), "Dam", "doc:dam", ""), "The dam is high.", space="lib")
    ids = [each.id for each in passages]
    again = PostgresLibrary(database, ["lib"])
    first = (await again.document(stored.id), await again.passages(ids))
    await database.execute("update passage set body = 'changed'")
    assert (await again.document(stored.id), await again.passages(ids)) == first
    assert (await PostgresLibrary(database, ["lib"]).passages(ids))[0].text == "changed"


async def test_the_passages_of_a_document_are_read_once_and_held(database: Database):
    library = PostgresLibrary(database, ["lib"])
    stored, _ = await library.store(Source(SourceId(""), "Dam", "doc:dam", ""), "The dam is high.", space="lib")
    first = await library.source_passages(stored.id)
    assert [each.text for each in first] == ["The dam is high."]
    assert await library.source_passages(stored.id) is first
