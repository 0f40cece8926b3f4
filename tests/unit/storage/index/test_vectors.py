"""Vectors: exact neighbours, bad vectors refused, one embedder for a database."""

from __future__ import annotations

import hashlib
import importlib.util
import math
from pathlib import Path

import pytest

from corrobora.domain.errors import UserError
from corrobora.storage.index import retrieval
from corrobora.storage.index.library import PostgresLibrary

_spec = importlib.util.spec_from_file_location("shelves", Path(__file__).with_name("shelves.py"))
assert _spec is not None
assert _spec.loader is not None
shelves = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(shelves)


class Buckets:
    """An embedder that hashes words into sixteen buckets."""

    name = "buckets"
    dimensions = 16

    async def embed(self, texts):
        return [self._one(text) for text in texts]

    def _one(self, text):
        found = [0.01] * self.dimensions
        for word in text.lower().split():
            found[hashlib.sha256(word[:3].encode()).digest()[0] % self.dimensions] += 1.0
        length = math.sqrt(sum(x * x for x in found))
        return [x / length for x in found]


async def test_vectors_join_the_ranking_and_find_what_words_do_not(database):
    library = PostgresLibrary(database, ["lib"], Buckets())
    await shelves.fill(database, [shelves.made(at) for at in range(30)])
    await shelves.fill(database, [shelves.item(90, "", "zzzabc zzzdef zzzghi")])
    assert await library.embed_missing() == 31
    assert await library.embed_missing() == 0
    hits = await library.hybrid_search("zzzother zzzword king", limit=20)
    assert "doc:90" in [hit.url for hit in hits]
    plain = await PostgresLibrary(database, ["lib"]).hybrid_search("zzzother zzzword king", limit=20)
    assert "doc:90" not in [hit.url for hit in plain]


async def test_nearest_is_exact_below_the_limit_of_the_index(database):
    embedder = Buckets()
    library = PostgresLibrary(database, ["lib"], embedder)
    catalog = await shelves.fill(database, [shelves.made(at) for at in range(60)])
    await library.embed_missing()
    (asked,) = await embedder.embed(["king rome gold"])
    rows = await database.fetch_all("select id, body from passage order by id")
    near = {row[0]: sum(a * b for a, b in zip(asked, embedder._one(row[1]), strict=True)) for row in rows}
    async with database.connection() as connection:
        found = await retrieval.find_nearest(connection, [await catalog.open("lib")], asked, 10)
        assert not await retrieval.build_index(connection)
    assert [near[each] for each in found] == pytest.approx(sorted(near.values(), reverse=True)[:10], abs=2e-3)


@pytest.mark.parametrize("vector", [[1.0] * 3, [math.nan] * 16, [0.0] * 16, [1.0] * 16])
def test_k11_a_bad_vector_is_refused_with_its_passage(vector):
    with pytest.raises(UserError, match="C7"):
        retrieval.check_vector(vector, 16, "C7")


async def test_another_embedder_is_refused(database):
    async with database.connection() as connection:
        await retrieval.prepare_table(connection, "one", 16)
        await retrieval.prepare_table(connection, "one", 16)
        with pytest.raises(UserError, match="one/16"):
            await retrieval.prepare_table(connection, "two", 16)
