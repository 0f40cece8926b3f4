"""A scripted search provider and a scripted reader: documents by their words, from a table, without any network.

Knows hits and documents that a test gives it. Does not rank like a search engine: it counts shared words.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from corrobora.domain.errors import ProviderError, ReadError
from corrobora.domain.evidence import Document, Hit, Passage, PassageId, Query, ReadOutcome, Source, SourceId
from corrobora.policies.words import stem_text

_PASSAGE_CHARS = 1_200


@dataclass(slots=True)
class ScriptedSearch:
    """Answers a query with the pages (URL -> text) that share most words with it; `down` makes all searches fail.

    The first `fail_first` searches fail, as with a provider that has a hiccup. `asked` lists the queries.
    """

    pages: Mapping[str, str]
    name: str = "scripted"
    down: bool = False
    fail_first: int = 0
    asked: list[Query] = field(default_factory=list[Query])

    async def search(self, query: Query, /, *, limit: int) -> Sequence[Hit]:
        """Return at most `limit` hits, best first."""
        self.asked.append(query)
        if self.down or len(self.asked) <= self.fail_first:
            raise ProviderError.request_failed(self.name, status=503)
        wanted = set(stem_text(query.text))
        ranked = sorted(
            ((len(wanted & set(stem_text(text))), url) for url, text in self.pages.items()), key=lambda r: (-r[0], r[1])
        )
        return [
            Hit(url, _first_line(self.pages[url]), self.pages[url][:200], float(score), self.name, query.text)
            for score, url in ranked[:limit]
            if score
        ]


@dataclass(slots=True)
class ScriptedReader:
    """Reads the pages of a table (URL -> text); an outcome in place of a text makes reading end in it."""

    pages: Mapping[str, str | ReadOutcome]
    read_urls: list[str] = field(default_factory=list[str])

    def accepts(self, hit: Hit) -> bool:
        """True for every URL of the table."""
        return hit.url in self.pages

    async def read(self, hit: Hit) -> Document:
        """Return the page as a document with passages, or raise `ReadError` with its outcome."""
        self.read_urls.append(hit.url)
        page = self.pages.get(hit.url, ReadOutcome.NOT_FOUND)
        if isinstance(page, ReadOutcome):
            raise ReadError(page.value, f"{hit.url}: {page.value}.")
        number = sorted(self.pages).index(hit.url) + 1
        digest = hashlib.sha256(page.encode()).hexdigest()
        source = Source(SourceId(f"S{number}"), _first_line(page), hit.url, digest, origin=digest, kind="web")
        return Document(source, page, _split_passages(source.id, number, page))


def _split_passages(source: SourceId, number: int, text: str) -> tuple[Passage, ...]:
    spans = [(at, min(at + _PASSAGE_CHARS, len(text))) for at in range(0, len(text), _PASSAGE_CHARS)]
    return tuple(
        Passage(PassageId(f"C{number * 1_000 + at}"), source, text[start:end], start, end)
        for at, (start, end) in enumerate(spans)
    )


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0].lstrip("# ")[:100]
