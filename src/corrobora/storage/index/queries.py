"""Questions to the index: ranked passages, how likely a question is answered, and which words it contains.

Knows the spaces of one library, joins words, links, boosts and vectors into one ranked list, and indexes what was
stored since the last question. Does not know whole documents, or who asks.

How likely a question is answered is judged by the words of passages: how well they cover it, against how well the same
library covers questions that it cannot answer (words of one of its sentences, with the source of that sentence left
out). Only the distance between the two is rated, so that one set of weights serves libraries of any size and kind. The
weights lie in `corrobora/data/abstention.json`; `python -m bench.fit_abstention --data DIR` fits them.
"""

from __future__ import annotations

import contextlib
import math
import random
from collections.abc import Awaitable, Callable, Collection, Generator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from corrobora.domain.evidence import Hit, PassageId, SourceId
from corrobora.domain.limits import read_table
from corrobora.storage.index.bm25 import QueryPostings, Scorer
from corrobora.storage.index.posting_cache import PostingCache
from corrobora.storage.index.search import FoundPassage, Search
from corrobora.storage.index.terms import Tokenizer, term_id
from corrobora.storage.postgres import array_literal
from corrobora.text.questions import weigh_terms
from corrobora.text.segmentation import list_sentences

if TYPE_CHECKING:
    from corrobora.storage.index.catalog import Catalog
    from corrobora.storage.index.vectors import VectorIndex
    from corrobora.storage.postgres import Connection, Database

T = TypeVar("T")
DEPTH = 100  # passages ranked before boosts and links
_SNIPPET_CHARS = 1_200


class IndexReader:
    """Answers the questions of one library, and keeps what it has read of the index."""

    def __init__(
        self,
        database: Database,
        catalog: Catalog,
        spaces: Sequence[str],
        tokenizer: Tokenizer,
        vectors: VectorIndex | None,
    ) -> None:
        self._database = database
        self._catalog = catalog
        self._spaces = tuple(spaces)
        self._tokenizer = tokenizer
        self._vectors = vectors
        self._scorers: list[Scorer] = []
        self._postings = PostingCache(spaces)
        self._coverage = CoverageRater(spaces, self._postings, tokenizer)

    async def find_hits(self, text: str, terms: Sequence[int], limit: int) -> Sequence[Hit]:
        """Return the best passages for a question that has these terms."""
        return await self._catch_up(lambda: self._search(text, terms, limit))

    async def rate_question(self, text: str) -> float | None:
        """Return how likely the spaces answer a question, 0 to 1; None if they are too small to tell."""
        return await self._catch_up(lambda: self._rate(text))

    async def find_held_terms(self, terms: Sequence[int]) -> Collection[int]:
        """Return those of some terms that the spaces contain."""
        async with self._database.connection("looking for words") as connection:
            return (await self._postings.read(connection, terms)).postings.frequencies

    async def _search(self, text: str, terms: Sequence[int], limit: int) -> Sequence[Hit]:
        near = None
        if self._vectors is not None:
            await self._catalog.index_pending(self._spaces)  # else a page that was just stored would have no vector
            near = await self._vectors.find_nearest(text, await self._catalog.space_numbers(self._spaces), DEPTH)
        async with self._database.connection("searching the library") as connection:
            with self._lend_scorer() as scorer:
                search = Search(connection, self._postings, text, scorer, self._tokenizer)
                search.near = near
                found = await search.find_passages(terms, max(DEPTH, 2 * limit), limit)
            bodies = await search.read_bodies([each.row.id for each in found])
        return [_make_hit(each, bodies.get(each.row.id, ""), text) for each in found]

    async def _rate(self, text: str) -> float | None:
        async with self._database.connection("rating a question") as connection:
            return await self._coverage.rate(connection, text)

    async def _catch_up(self, ask: Callable[[], Awaitable[T]]) -> T:
        """Ask the index; if it missed what is stored, index that and ask again."""
        await self._catalog.adopt_tokenizer()
        found = await ask()
        if self._postings.behind:
            await self._catalog.index_pending(self._spaces)
            found = await ask()
        return found

    @contextlib.contextmanager
    def _lend_scorer(self) -> Generator[Scorer]:
        """Lend a scorer, whose buffers serve one question at a time."""
        scorer = self._scorers.pop() if self._scorers else Scorer()
        try:
            yield scorer
        finally:
            self._scorers.append(scorer)


def _make_hit(found: FoundPassage, body: str, query: str) -> Hit:
    row = found.row
    return Hit(
        url=row.url,
        title=row.title,
        snippet=body[:_SNIPPET_CHARS],
        score=found.score,
        provider="library",
        query=query,
        published=row.published,
        source=SourceId(f"S{row.source}"),
        passage=PassageId(f"C{row.id}"),
        linked_from=found.linked_from,
    )


Floats = NDArray[np.float64]

FEATURES = (  # of a question, each 0 to 1
    "first",  # rarity-weighted share of its words in the passage that holds most
    "second",  # in the passage that holds second most
    "both",  # in the first passage and the one that adds most to it
    "fifth",  # in the fifth passage, relative to the first
)
_RANKED = 5
_NOWHERE = np.empty(0, np.intp)
SAMPLES = 80  # passages of which unanswerable questions are made
SIZES = (3, 5, 8, 12, 18)  # words of these
COPIED = 0.8  # rarity-weighted share of a sentence
_LEAST = 12  # passages below which a library has no distribution to speak of
_DRIFT = 0.1  # change in the number of passages from which the sample is drawn anew
_WIDTH = 0.25  # of the kernel over the logarithm of a question's words
_SMOOTH = 0.05
_LOWEST, _HIGHEST = -4.0, 8.0
_MOST_CELLS = 40_000_000  # passages times questions: large libraries are sampled more thinly


@dataclass(frozen=True, slots=True)
class Sample:
    """How a library covers questions that it can not answer: the number of words and the features of each."""

    n_docs: int
    sizes: Floats
    features: Floats

    def normalize(self, found: Floats, size: int) -> Floats:
        """Return how far features lie above those of unanswerable questions of about this size, in deviations."""
        near = np.exp(-0.5 * (np.log(self.sizes / max(size, 1)) / _WIDTH) ** 2) + 1e-9
        near /= near.sum()
        mean = near @ self.features
        spread = np.sqrt(near @ (self.features - mean) ** 2)
        return np.clip((found - mean) / (spread + _SMOOTH), _LOWEST, _HIGHEST)


class TermPlaces:
    """The passages of each term in one snapshot of a library, as offsets from the first passage."""

    def __init__(self, postings: QueryPostings) -> None:
        self.n_docs = postings.n_docs
        self.lowest = postings.lowest
        self.size = postings.highest - postings.lowest + 1
        self._places: dict[int, NDArray[Any]] = {}
        for blob in postings.blobs:
            own, more = self._places.get(blob.term), blob.docs - self.lowest
            self._places[blob.term] = more if own is None else np.concatenate((own, more))

    def find_places(self, term: int) -> NDArray[Any]:
        return self._places.get(term, _NOWHERE)

    def weigh_rarity(self, term: int) -> float:
        count = len(self.find_places(term))
        return max(_SMOOTH, math.log(1 + max(0.0, self.n_docs - count + 0.5) / (count + 0.5)))


def measure_coverage(places: TermPlaces, asked: Mapping[int, float], without: NDArray[Any] | None = None) -> Floats:
    """Return the features of weighted terms in the order of `FEATURES`, as if the passages `without` were gone."""
    gone = _NOWHERE if without is None else without - places.lowest
    weights = [weight * places.weigh_rarity(term) for term, weight in asked.items()]
    lists = [places.find_places(term) for term in asked]
    at, owner = np.concatenate((_NOWHERE, *lists)), np.repeat(np.arange(len(lists)), [len(each) for each in lists])
    each = np.array(weights)[owner]
    held = np.bincount(at, each, max(places.size, _RANKED))
    held[gone] = 0.0
    left = np.ones(len(lists), np.bool_)
    left[owner[at == held.argmax()]] = False
    rest = left[owner]
    added = np.bincount(at[rest], each[rest], places.size)
    added[gone] = 0.0
    total = sum(weights) or 1.0
    top = np.sort(np.partition(held, -_RANKED)[-_RANKED:])[::-1]
    both = top[0] + (added.max() if len(added) else 0.0)
    return np.array((top[0] / total, top[1] / total, both / total, top[-1] / (top[0] or 1.0)))


@lru_cache(maxsize=1)
def read_weights() -> tuple[float, Floats]:
    """Return the fitted intercept and the weights of `FEATURES`."""
    stored = read_table("abstention.json")
    return stored["intercept"], np.array([stored["weights"][name] for name in FEATURES])


class CoverageRater:
    """Rates questions to some spaces; keeps the sample of unanswerable questions while the library stays alike."""

    def __init__(self, spaces: Sequence[str], postings: PostingCache, tokenizer: Tokenizer) -> None:
        self._spaces = list(spaces)
        self._postings = postings
        self._tokenizer = tokenizer
        self._sample: Sample | None = None

    async def rate(self, connection: Connection, question: str) -> float | None:
        """Return how likely the library answers a question, 0 to 1; None if it is too small to tell."""
        normal = await self.measure(connection, question)
        if normal is None:
            return None
        intercept, weights = read_weights()
        return 1 / (1 + math.exp(-(intercept + float(weights @ normal))))

    async def measure(self, connection: Connection, question: str) -> Floats | None:
        """Return the normalised features of a question."""
        asked = {term_id(stem): weight for stem, weight in weigh_terms(question).weights.items()}
        postings = (await self._postings.read(connection, list(asked))).postings
        if postings.n_docs < _LEAST or not asked:
            return None
        found = measure_coverage(TermPlaces(postings), asked)
        known = self._sample
        if known is None or abs(known.n_docs - postings.n_docs) > _DRIFT * known.n_docs:
            known = self._sample = await self._draw_sample(connection, postings)
        return known.normalize(found, len(asked)) if len(known.sizes) else None

    async def _draw_sample(self, connection: Connection, postings: QueryPostings) -> Sample:
        """Make unanswerable questions of random sentences and measure them without the sources of these."""
        chance = random.Random(postings.n_docs)  # noqa: S311 - a sample, no secret
        span = range(postings.lowest, postings.highest + 1)
        wanted = chance.sample(span, min(len(span), 8 * SAMPLES))
        rows = await _read_rows(connection, _BODIES, wanted, self._spaces)
        place = {id_: at for at, id_ in enumerate(wanted)}
        drawn = sorted(rows, key=lambda row: place[row[0]])[:SAMPLES]
        siblings: dict[int, list[int]] = {}
        for id_, source in await _read_rows(connection, _SIBLINGS, [row[1] for row in drawn], self._spaces):
            siblings.setdefault(source, []).append(id_)
        asked: list[tuple[list[int], NDArray[Any]]] = []
        for id_, source, body in drawn:
            own = siblings[source] if 2 * len(siblings[source]) < postings.n_docs else [id_]
            numbered = map(self._tokenizer.query_terms, list_sentences(body))
            said = [terms for terms in numbered if len(terms) >= SIZES[0]]
            if said:
                asked.append((chance.choice(said), np.array(own)))
        terms = sorted({term for said, _ in asked for term in said})
        places = TermPlaces((await self._postings.read(connection, terms)).postings)
        asked = [(said, own) for said, own in asked if not _is_copied(places, said, own)]
        pairs = [(said, own, size) for said, own in asked for size in SIZES if size <= len(said)]
        chance.shuffle(pairs)
        pairs = pairs[: max(10, _MOST_CELLS // max(1, len(span)))]
        features = [
            measure_coverage(places, dict.fromkeys(chance.sample(said, size), 1.0), own) for said, own, size in pairs
        ]
        return Sample(postings.n_docs, np.array([float(size) for _, _, size in pairs]), np.array(features))


def _is_copied(places: TermPlaces, terms: Sequence[int], own: NDArray[Any]) -> bool:
    """True if another source says nearly all of a sentence: that is a copy or another edition, which answers it."""
    return measure_coverage(places, dict.fromkeys(terms, 1.0), own)[0] > COPIED


_BODIES = """select p.id, p.source, p.body from passage p join space x on x.id = p.space
  where p.id = any((select %(ids)s::int4[])::int4[]) and x.name = any((select %(spaces)s::text[])::text[])"""
_SIBLINGS = """select p.id, p.source from passage p join space x on x.id = p.space
  where p.source = any((select %(ids)s::int4[])::int4[]) and x.name = any((select %(spaces)s::text[])::text[])"""


async def _read_rows(connection: Connection, statement: Any, ids: Sequence[int], spaces: list[str]) -> list[Any]:
    async with connection.cursor(binary=True) as cursor:
        await cursor.execute(statement, {"ids": array_literal(ids), "spaces": spaces})
        return await cursor.fetchall()
