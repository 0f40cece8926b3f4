"""The library: stored documents and passages, the search over them, and what runs have learned from them.

Knows the spaces it was opened with, and caches what was read lately. The modules below are its index, which is loaded
with the first question to it. Does not know files, the web or who asks.
"""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Generic, LiteralString, NamedTuple, TypeVar

from corrobora.domain.errors import ReadError
from corrobora.domain.evidence import Fact, Hit, Insight, Passage, PassageId, ReadOutcome, Source, SourceId
from corrobora.domain.limits import LIMITS
from corrobora.ports import IngestItem
from corrobora.storage.index import facts
from corrobora.storage.index.catalog import Catalog
from corrobora.storage.index.terms import Tokenizer
from corrobora.storage.index.vectors import VectorIndex
from corrobora.text.phrases import format_count

if TYPE_CHECKING:
    from corrobora.ports import Embedder, Heading
    from corrobora.storage.index.queries import IndexReader
    from corrobora.storage.postgres import Database

K = TypeVar("K")
V = TypeVar("V")
_CACHED_CHARACTERS = 1_000_000  # of document texts
_CACHED_PASSAGES = 1_000
_TITLES_SHOWN = 5  # of a description


class LruCache(Generic[K, V]):
    """Holds the values that were used last, up to a sum of their sizes; for what never changes in the database."""

    def __init__(self, most: int, measure: Callable[[V], int] = lambda _: 1) -> None:
        self._most = most
        self._measure = measure
        self._size = 0
        self._values: OrderedDict[K, V] = OrderedDict()

    def get(self, key: K) -> V | None:
        found = self._values.get(key)
        if found is not None:
            self._values.move_to_end(key)
        return found

    def put(self, key: K, value: V) -> None:
        """Hold a value, unless it alone is larger than the cache."""
        if self.get(key) is not None or self._measure(value) > self._most:
            return
        self._values[key] = value
        self._size += self._measure(value)
        while self._size > self._most:
            self._size -= self._measure(self._values.popitem(last=False)[1])


class _Stored(NamedTuple):
    source: Source
    text: str
    passages: Sequence[Passage]


_DOCUMENTS: LiteralString = """select s.id, s.title, s.url, s.snapshot, s.origin, s.version, s.published, s.publisher,
  s.kind, s.official, s.authors, n.body, p.ids, p.starts, p.ends, p.headings
  from source s join snapshot n on n.sha = s.snapshot join space x on x.id = s.space cross join lateral (
    select array_agg(id order by place) ids, array_agg(starts order by place) starts,
      array_agg(ends order by place) ends, array_agg(heading order by place) headings from passage where source = s.id
  ) p where s.id = any(%s::int4[]) and x.name = any(%s)"""


class PostgresLibrary:
    """A `Library` over some spaces of one database.

    Without an embedder, which is the default, it ranks by words and links alone. Libraries may share a tokenizer, whose
    memory of words takes some megabytes.
    """

    def __init__(
        self,
        database: Database,
        spaces: Sequence[str],
        embedder: Embedder | None = None,
        tokenizer: Tokenizer | None = None,
    ) -> None:
        self._database = database
        self.spaces = tuple(spaces)
        self._tokenizer = tokenizer or Tokenizer()
        self._vectors = VectorIndex(database, embedder) if embedder is not None else None
        self.catalog = Catalog(database, self._tokenizer, vectors=self._vectors)
        self._documents = LruCache[SourceId, _Stored](_CACHED_CHARACTERS, lambda each: len(each.text))
        self._passages = LruCache[PassageId, Passage](_CACHED_PASSAGES)
        self._wanted: set[SourceId] = set()
        self._reading = asyncio.Lock()

    @cached_property
    def _index(self) -> IndexReader:
        from corrobora.storage.index.queries import IndexReader  # noqa: PLC0415 - numpy: a run over the web asks nothing

        return IndexReader(self._database, self.catalog, self.spaces, self._tokenizer, self._vectors)

    async def hybrid_search(self, text: str, *, limit: int = 10) -> Sequence[Hit]:
        """Return the best passages for `text`: BM25, boosts for sources and dates it names, links, vectors if any.

        The order is the same for the same content, however it was added. A hybrid search (ANGLES-13).
        """
        text = text[: LIMITS.question_max_chars]
        terms = self._tokenizer.query_terms(text)
        return await self._index.find_hits(text, terms, limit) if terms and limit >= 1 else ()

    async def rate_question(self, text: str) -> float | None:
        """Return how likely these spaces answer `text`, 0 to 1; None if they are too small to tell."""
        return await self._index.rate_question(text[: LIMITS.question_max_chars])

    async def find_words(self, words: Sequence[str]) -> frozenset[str]:
        """Return those of the folded words that these spaces contain: in texts, headings, titles or addresses."""
        terms = {word: self._tokenizer.query_terms(word) for word in words}
        held = await self._index.find_held_terms(sorted({term for own in terms.values() for term in own}))
        rows = await self._database.fetch_all(
            "select w from unnest(%s::text[]) w where exists (select from source s join space x on x.id = s.space"
            " where x.name = any(%s) and strpos(lower(s.title || ' ' || s.url), w) > 0)",
            (list(words), list(self.spaces)),
        )
        named = {word for (word,) in rows}
        return frozenset(word for word, own in terms.items() if word in named or any(term in held for term in own))

    @property
    def vector_problem(self) -> str:
        """Why vectors are not used, for people; "" if they are, or if no embedder is configured."""
        return self._vectors.problem if self._vectors is not None else ""

    async def document(self, source: SourceId) -> tuple[Source, str]:
        """Return a source and the text of its snapshot, also if it is no longer in search.

        Raises:
            ReadError: no such source in the spaces of this library.
        """
        held = await self._open(source)
        if held is None:
            raise ReadError(
                ReadOutcome.NOT_FOUND,
                f"The source {source} is not in the library ({', '.join(self.spaces)}).",
                next_step="List the sources with: corrobora library show NAME.",
            )
        return held.source, held.text

    async def _open(self, source: SourceId) -> _Stored | None:
        """Return a document with its passages. All that are wanted while others are read are read together."""
        held = self._documents.get(source)
        if held is None:
            self._wanted.add(source)
            async with self._reading:
                held = self._documents.get(source)
                if held is None:
                    wanted, self._wanted = {source, *self._wanted}, set()
                    held = (await self._read_documents(wanted)).get(source)
        return held

    async def _read_documents(self, sources: Iterable[SourceId]) -> dict[SourceId, _Stored]:
        async with self._database.connection("reading documents") as connection:
            numbers = [_parse_number(each) for each in sources]
            cursor = await connection.execute(_DOCUMENTS, (numbers, list(self.spaces)), binary=True)
            rows = await cursor.fetchall()
        found: dict[SourceId, _Stored] = {}
        for number, *fields, authors, text, ids, starts, ends, headings in rows:
            id_ = SourceId(f"S{number}")
            cuts = zip(ids or (), starts or (), ends or (), headings or (), strict=True)  # none if it was replaced
            passages = tuple(
                Passage(PassageId(f"C{at}"), id_, text[start:end], start, end, heading)
                for at, start, end, heading in cuts
            )
            found[id_] = _Stored(Source(id_, *fields, authors=tuple(authors)), text, passages)
            self._hold(found[id_])
        return found

    def _hold(self, stored: _Stored) -> None:
        self._documents.put(stored.source.id, stored)
        for each in stored.passages:
            self._passages.put(each.id, each)

    async def describe(self) -> str:
        """Say what is stored: each library with its number of documents, and titles from all over them."""
        rows = await self._database.fetch_all(
            "select x.name, s.title from source s join space x on x.id = s.space"
            " where s.gone is null and x.name = any(%s) and x.name not like 'run:%%' order by x.name, s.id",
            (list(self.spaces),),
        )
        count = Counter(name for name, _ in rows)
        titles = dict.fromkeys(title for _, title in rows[:: max(1, len(rows) // _TITLES_SHOWN)])
        held = ", ".join(f"{name} ({format_count(number, 'document')})" for name, number in count.items())
        return f"{held}, such as: {'; '.join(list(titles)[:_TITLES_SHOWN])}" if rows else ""

    async def passages(self, ids: Sequence[PassageId]) -> Sequence[Passage]:
        cached = [each for id_ in ids if (each := self._passages.get(id_)) is not None]
        if len(cached) == len(ids):
            return cached
        rows = await self._database.fetch_all(
            "select p.id, p.source, p.body, p.starts, p.ends, p.heading from passage p join space x on x.id = p.space"
            " where p.id = any(%s) and x.name = any(%s)",
            ([_parse_number(each) for each in ids], list(self.spaces)),
        )
        found = {each[0]: Passage(PassageId(f"C{each[0]}"), SourceId(f"S{each[1]}"), *each[2:]) for each in rows}
        for each in found.values():
            self._passages.put(each.id, each)
        return [found[number] for each in ids if (number := _parse_number(each)) in found]

    async def source_passages(self, source: SourceId) -> Sequence[Passage]:
        held = await self._open(source)
        return held.passages if held is not None else ()

    async def store(
        self, source: Source, text: str, *, space: str, headings: Sequence[Heading] = ()
    ) -> tuple[Source, Sequence[Passage]]:
        """Store a document once and return it with its number and its passages; the next search indexes it."""
        stored = await self.catalog.store_unindexed(space, IngestItem(source, text, tuple(headings)))
        self._hold(held := _Stored(stored.source, text, stored.passages))  # a page is read right after it was stored
        return held.source, held.passages

    async def remember(self, facts_: Sequence[Fact], *, run: str) -> int:
        """Store facts for later runs; a near-duplicate from the same origin is merged. Returns how many were new."""
        async with self._database.connection("storing facts") as connection:
            return await facts.insert_facts(connection, self._tokenizer, facts_, run=run)

    async def recall(self, text: str, *, limit: int = 20) -> Sequence[Fact]:
        """Return stored facts that share words with `text`, best first, from sources of the spaces of this library."""
        await self.catalog.adopt_tokenizer()
        spaces = await self.catalog.space_numbers(self.spaces)
        async with self._database.connection("recalling facts") as connection:
            return await facts.query_facts(connection, self._tokenizer, spaces, text, limit=limit)

    async def remember_insights(self, insights_: Sequence[Insight], *, run: str) -> int:
        """Store what sources mention beside what was asked, once for each source. Returns how many were new."""
        async with self._database.connection("storing insights") as connection:
            return await facts.insert_insights(connection, self._tokenizer, insights_, run=run)

    async def recall_insights(self, text: str, *, limit: int = 20) -> Sequence[Insight]:
        await self.catalog.adopt_tokenizer()
        spaces = await self.catalog.space_numbers(self.spaces)
        async with self._database.connection("looking for insights") as connection:
            return await facts.query_insights(connection, self._tokenizer, spaces, text, limit=limit)


def _parse_number(id_: str) -> int:
    digits = id_[1:]
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 10 else -1  # noqa: PLR2004 - int4
