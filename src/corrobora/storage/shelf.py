"""A shelf: the documents and passages that one library object has read lately, so that they are not read again.

Knows how much it may hold, and drops what was not asked for longest. Does not know the database. What it holds never
changes: a source and its snapshot are stored once, and a removed one stays readable for those who have cited it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence

from corrobora.domain.evidence import Passage, PassageId, Source, SourceId

MAX_CACHED_CHARACTERS = 1_000_000  # of document texts
MAX_CACHED_PASSAGES = 1_000


class DocumentCache:
    """Documents up to so many characters in all, and so many passages."""

    def __init__(self, *, characters: int = MAX_CACHED_CHARACTERS, passages: int = MAX_CACHED_PASSAGES) -> None:
        self._characters = characters
        self._most_passages = passages
        self._held = 0
        self._documents: OrderedDict[SourceId, tuple[Source, str]] = OrderedDict()
        self._passages: OrderedDict[PassageId, Passage] = OrderedDict()

    def put_document(self, source: Source, text: str) -> None:
        """Keep a document, if it is not larger than the shelf."""
        if source.id in self._documents or len(text) > self._characters:
            return
        self._documents[source.id] = (source, text)
        self._held += len(text)
        while self._held > self._characters:
            _, (_, dropped) = self._documents.popitem(last=False)
            self._held -= len(dropped)

    def get_document(self, source: SourceId) -> tuple[Source, str] | None:
        """Return a kept document."""
        found = self._documents.get(source)
        if found is not None:
            self._documents.move_to_end(source)
        return found

    def put_passages(self, passages: Iterable[Passage]) -> None:
        """Keep passages."""
        for passage in passages:
            self._passages[passage.id] = passage
            self._passages.move_to_end(passage.id)
        while len(self._passages) > self._most_passages:
            self._passages.popitem(last=False)

    def get_passages(self, ids: Sequence[PassageId]) -> list[Passage] | None:
        """Return these passages in this order if all of them are kept."""
        found = [self._passages[each] for each in ids if each in self._passages]
        return found if len(found) == len(ids) else None
