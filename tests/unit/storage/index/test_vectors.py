"""Vectors: exact neighbours, one model for a database, and a model that fails costs the vectors only."""

from __future__ import annotations

import asyncio
import hashlib
import math

import pytest
from tests.unit.storage.index import shelves

from corrobora.domain.errors import ProviderError
from corrobora.storage.index import PostgresLibrary, vectors
from corrobora.storage.index.vectors import VectorIndex


class Buckets:
    """An embedder that hashes words into sixteen buckets."""

    def __init__(self, name="buckets", dimensions=16, answer=lambda found: found):
        self.name = name
        self.dimensions = dimensions
        self.calls = 0
        self._answer = answer

    async def embed(self, texts):
        self.calls += 1
        found = self._answer([self._one(text) for text in texts])
        return await found if asyncio.iscoroutine(found) else found

    def _one(self, text):
        found = [0.01] * self.dimensions
        for word in text.lower().split():
            found[hashlib.sha256(word[:3].encode()).digest()[0] % self.dimensions] += 1.0
        length = math.sqrt(sum(x * x for x in found))
        return [x / length for x in found]


async def embed_all(database, catalog, embedder, **options):
    index = VectorIndex(database, embedder, **options)
    return await index.embed_missing(await catalog.open("lib")), index.problem


async def test_vectors_join_the_ranking_and_find_what_words_do_not(database):
    library = PostgresLibrary(database, ["lib"], Buckets())
    await shelves.fill(database, [shelves.made(at) for at in range(30)])
    catalog = await shelves.fill(database, [shelves.item(90, "", "zzzabc zzzdef zzzghi")])
    assert await embed_all(database, catalog, Buckets()) == (31, "")
    assert await embed_all(database, catalog, Buckets()) == (0, "")
    hits = await library.hybrid_search("zzzother zzzword king", limit=20)
    assert "doc:90" in [hit.url for hit in hits]
    assert library.vector_problem == ""
    plain = await PostgresLibrary(database, ["lib"]).hybrid_search("zzzother zzzword king", limit=20)
    assert "doc:90" not in [hit.url for hit in plain]


async def test_a_page_that_a_run_stores_has_its_vector_at_the_next_search(database):
    library = PostgresLibrary(database, ["web"], Buckets())
    await library.store(shelves.item(1, "", "").source, "zzzabc zzzdef", space="web")
    assert [hit.url for hit in await library.hybrid_search("zzzother", limit=5)] == ["doc:1"]


async def test_nearest_is_exact_below_the_limit_of_the_index(database):
    embedder = Buckets()
    catalog = await shelves.fill(database, [shelves.made(at) for at in range(60)])
    await embed_all(database, catalog, embedder)
    (asked,) = await embedder.embed(["king rome gold"])
    rows = await database.fetch_all("select id, body from passage order by id")
    near = {row[0]: sum(a * b for a, b in zip(asked, embedder._one(row[1]), strict=True)) for row in rows}
    found = await VectorIndex(database, embedder).find_nearest("king rome gold", [await catalog.open("lib")], 10)
    async with database.connection() as connection:
        assert not await vectors.build_index(connection, 16)
    assert found is not None
    assert found.mean == pytest.approx(sum(near.values()) / len(near), abs=2e-3)
    assert [near[each] for each in found.cosines] == pytest.approx(sorted(near.values(), reverse=True)[:10], abs=2e-3)


def _narrow(found):
    """Vectors of a model whose cosines all lie near 1."""
    return [[0.3 * x for x in vector] + [math.sqrt(1 - 0.09)] for vector in found]


async def test_another_scale_of_cosines_changes_no_order(database):
    catalog = await shelves.fill(database, [shelves.made(at) for at in range(60)])
    asked = ("king rome gold", "zzzother kinsman goldsmith", "paris", "riverside parish bridges")
    orders = []
    for embedder in (Buckets(), Buckets("narrow", 17, _narrow)):
        embedder._one = lambda text: Buckets()._one(text)
        assert await embed_all(database, catalog, embedder, may_replace=True) == (60, "")
        library = PostgresLibrary(database, ["lib"], embedder)
        orders.append([[hit.url for hit in await library.hybrid_search(text, limit=5)] for text in asked])
    assert orders[0] == orders[1]
    plain = PostgresLibrary(database, ["lib"])
    assert orders[0] != [[hit.url for hit in await plain.hybrid_search(text, limit=5)] for text in asked]


async def _never(_):
    await asyncio.sleep(60)


def _crash(_):
    raise RuntimeError("out of memory")


def _down(_):
    raise ProviderError.request_failed("buckets", status=500)


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (_down, "HTTP 500"),
        (_crash, "out of memory"),
        (_never, "did not answer within"),
        (lambda found: found[1:], "0 vectors for 1 text"),
        (lambda found: [[1.0] * 3 for _ in found], "3 dimensions"),
        (lambda found: [[math.nan] * 16 for _ in found], "length nan"),
        (lambda found: [[0.0] * 16 for _ in found], "length 0"),
        (lambda found: [[1.0] * 16 for _ in found], "length 4"),
    ],
)
async def test_k11_a_model_that_answers_badly_costs_the_vectors_only(database, monkeypatch, answer, why):
    monkeypatch.setattr(vectors, "QUESTION_SECONDS", 0.1)
    monkeypatch.setattr(vectors, "BATCH_SECONDS", 0.1)
    catalog = await shelves.fill(database, [shelves.item(1, "King", "A king of stone.")])
    done, problem = await embed_all(database, catalog, Buckets(answer=answer))
    assert done == 0
    assert why in problem
    assert "library add" in problem
    assert await embed_all(database, catalog, Buckets()) == (1, "")
    broken = Buckets(answer=answer)
    library = PostgresLibrary(database, ["lib"], broken)
    for _ in range(2):
        assert [hit.url for hit in await library.hybrid_search("king")] == ["doc:1"]
    assert why in library.vector_problem
    assert "words alone" in library.vector_problem
    assert broken.calls == 1
    await library.store(shelves.item(2, "", "").source, "A queen.", space="lib")


async def test_what_was_stored_before_a_failure_stays(database, monkeypatch):
    monkeypatch.setattr(vectors, "_BATCH", 10)
    catalog = await shelves.fill(database, [shelves.made(at) for at in range(30)])
    embedder = Buckets()
    embedder._answer = lambda found: found if embedder.calls < 3 else _down(found)
    done, problem = await embed_all(database, catalog, embedder)
    assert (done, "HTTP 500" in problem) == (20, True)
    assert await embed_all(database, catalog, Buckets()) == (10, "")


async def test_a_library_without_vectors_is_searched_without_asking_the_model(database):
    embedder = Buckets()
    library = PostgresLibrary(database, ["lib"], embedder)
    assert await library.hybrid_search("king") == []
    assert library.vector_problem == ""
    await shelves.fill(database, [shelves.item(1, "King", "A king of stone.")])
    assert len(await library.hybrid_search("king")) == 1
    assert library.vector_problem.startswith("The library has no vectors yet.")
    assert embedder.calls == 0


async def test_vectors_of_another_model_are_replaced_where_that_is_allowed_and_never_mixed(database):
    catalog = await shelves.fill(database, [shelves.made(at) for at in range(5)])
    assert await embed_all(database, catalog, Buckets()) == (5, "")
    other = Buckets("other", 8)
    done, problem = await embed_all(database, catalog, other)
    assert (done, "model buckets, not of other" in problem) == (0, True)
    library = PostgresLibrary(database, ["lib"], other)
    assert await library.hybrid_search("king rome gold paris peace")
    assert "model buckets, not of other" in library.vector_problem
    assert await embed_all(database, catalog, other, may_replace=True) == (5, "")
    assert (await database.fetch_one("select count(*) from passage_vector"))[0] == 5
    fresh = PostgresLibrary(database, ["lib"], other)
    assert await fresh.hybrid_search("king")
    assert fresh.vector_problem == ""


async def test_other_dimensions_of_the_same_model_are_a_fault_until_the_libraries_are_gone(database):
    catalog = await shelves.fill(database, [shelves.made(at) for at in range(5)])
    await embed_all(database, catalog, Buckets())
    await shelves.fill(database, [shelves.item(9, "King", "A king.")])
    done, problem = await embed_all(database, catalog, Buckets(dimensions=8), may_replace=True)
    assert done == 0
    assert "have 16 dimensions" in problem
    library = PostgresLibrary(database, ["lib"], Buckets(dimensions=8))
    assert await library.hybrid_search("king")
    assert "have 16 dimensions" in library.vector_problem
    await catalog.remove_space("lib")
    await shelves.fill(database, [shelves.item(9, "King", "A king.")])
    assert await embed_all(database, catalog, Buckets(dimensions=8)) == (1, "")


async def test_processes_that_replace_vectors_at_once_and_search_do_not_block_each_other(database):
    catalog = await shelves.fill(database, [shelves.made(at) for at in range(60)])
    await embed_all(database, catalog, Buckets())

    async def search():
        library = PostgresLibrary(database, ["lib"], Buckets("other", 8))
        return [len(await library.hybrid_search("king rome gold")) for _ in range(10)]

    adding = [embed_all(database, catalog, Buckets("other", 8), may_replace=True) for _ in range(3)]
    added, *searched = await asyncio.gather(asyncio.gather(*adding), search(), search())
    assert [problem for _, problem in added] == [""] * 3
    assert searched == [[10] * 10] * 2
    assert (await database.fetch_one("select count(*), max(vector_dims(emb::vector)) from passage_vector")) == (60, 8)
