"""The shelf: what was put there comes back as it was, and it never holds more than it may."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from corrobora.domain.evidence import Passage, PassageId, Source, SourceId
from corrobora.storage.index import DocumentCache, PostgresLibrary
from corrobora.storage.postgres import Database


def source(number: int) -> Source:
    return Source(SourceId(f"S{number}"), f"t{number}", f"doc:{number}", "sha")


def passage(number: int) -> Passage:
    return Passage(PassageId(f"C{number}"), SourceId("S1"), f"text {number}", 0, 4)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 30)), max_size=60))
def test_it_holds_at_most_its_characters_and_always_the_last_document_that_fits(puts: list[tuple[int, int]]) -> None:
    shelf, last = DocumentCache(characters=40), dict[int, str]()
    for number, size in puts:
        text = last.setdefault(number, "x" * size)  # a stored source never changes
        shelf.put_document(source(number), text)
        assert shelf.get_document(SourceId(f"S{number}")) == (source(number), text)
        held = [shelf.get_document(SourceId(f"S{each}")) for each in range(10)]
        assert sum(len(each[1]) for each in held if each) <= 40


def test_what_was_asked_for_lately_stays_and_the_rest_goes():
    shelf = DocumentCache(characters=10, passages=2)
    for number in (1, 2):
        shelf.put_document(source(number), "x" * 5)
    assert shelf.get_document(SourceId("S1"))
    shelf.put_document(source(3), "x" * 5)
    assert [bool(shelf.get_document(SourceId(f"S{n}"))) for n in (1, 2, 3)] == [True, False, True]
    shelf.put_document(source(4), "x" * 11)
    assert shelf.get_document(SourceId("S4")) is None
    shelf.put_passages(map(passage, (1, 2, 3)))
    assert shelf.get_passages([PassageId("C3"), PassageId("C2")]) == [passage(3), passage(2)]
    assert shelf.get_passages([PassageId("C1"), PassageId("C2")]) is None


async def test_a_library_reads_a_document_once_and_a_new_one_sees_what_is_gone(database: Database):
    library = PostgresLibrary(database, ["lib"])
    stored, passages = await library.store(Source(SourceId(""), "Dam", "doc:dam", ""), "The dam is high.", space="lib")
    ids = [each.id for each in passages]
    again = PostgresLibrary(database, ["lib"])
    first = (await again.document(stored.id), await again.passages(ids))
    await database.execute("update passage set body = 'changed'")
    assert (await again.document(stored.id), await again.passages(ids)) == first
    assert (await PostgresLibrary(database, ["lib"]).passages(ids))[0].text == "changed"


async def test_the_passages_of_a_document_are_read_once_and_those_of_few_documents_are_held(database: Database):
    library = PostgresLibrary(database, ["lib"])
    stored, _ = await library.store(Source(SourceId(""), "Dam", "doc:dam", ""), "The dam is high.", space="lib")
    first = await library.source_passages(stored.id)
    assert [each.text for each in first] == ["The dam is high."]
    assert await library.source_passages(stored.id) is first
    shelf = DocumentCache(passages=2)
    shelf.put_whole(SourceId("S1"), [passage(1), passage(2)])
    shelf.put_whole(SourceId("S2"), [passage(3)])
    assert shelf.get_whole(SourceId("S1")) is None
    assert shelf.get_whole(SourceId("S2")) == [passage(3)]
