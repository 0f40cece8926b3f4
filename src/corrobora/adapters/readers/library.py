"""The library as a search provider and as a reader: hits of stored passages, read with their neighbours.

Knows ports.Library. Does not know where it is stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from corrobora.adapters.readers.snapshot import select_passages
from corrobora.domain.evidence import Document, Hit, Query
from corrobora.ports import Library

NEIGHBOURS = 1  # passages before and after a hit that are read with it


class LibrarySearch:
    """`SearchProvider` over a library."""

    name = "library"

    def __init__(self, library: Library) -> None:
        self._library = library

    async def search(self, query: Query, /, *, limit: int) -> Sequence[Hit]:
        """Return the best passages, best first. A site hint means nothing in a library."""
        hits = await self._library.hybrid_search(query.text, limit=limit)
        return [replace(hit, provider=self.name, query=query.text) for hit in hits]


class LibraryReader:
    """`Reader` of stored documents."""

    def __init__(self, library: Library) -> None:
        self._library = library

    def accepts(self, hit: Hit) -> bool:
        """True for a hit that names a stored source."""
        return hit.source is not None

    async def read(self, hit: Hit) -> Document:
        """Return the document with the hit passage and its neighbours; without a passage, with those worth reading.

        Raises `ReadError` if it is gone.
        """
        if hit.source is None:
            raise ValueError("accepts() was not asked")
        source, text = await self._library.document(hit.source)
        if hit.passage is None:  # a source that a plan or a scout named
            passages = select_passages(await self._library.source_passages(hit.source), hit.query, hit.snippet)
        else:
            passages = await self._library.neighbour_passages(hit.passage, before=NEIGHBOURS, after=NEIGHBOURS)
        return Document(source, text, tuple(passages))
