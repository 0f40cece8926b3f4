"""Questions to the index: ranked passages, how likely a question is answered, and which words stand in it.

Knows the spaces of one library, joins words, links, boosts and vectors into one ranked list, and indexes what was
stored since the last question. Does not know whole documents, or who asks.
"""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Collection, Generator, Sequence
from typing import TYPE_CHECKING, TypeVar

from corrobora.domain.evidence import Hit, PassageId, SourceId
from corrobora.storage.index.bm25 import Scorer
from corrobora.storage.index.coverage import CoverageRater
from corrobora.storage.index.posting_cache import PostingCache
from corrobora.storage.index.search import FoundPassage, Search

if TYPE_CHECKING:
    from corrobora.storage.index.catalog import Catalog
    from corrobora.storage.index.tokenizer import Tokenizer
    from corrobora.storage.index.vectors import VectorIndex
    from corrobora.storage.postgres import Database

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
        """Return those of some terms that stand in the spaces."""
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
