"""The library as a search provider and as a reader, and snapshots of web pages stored in it.

Knows the library port, and chooses the passages of a page worth reading by the rare words that they share with what was
searched for. Does not know where a library is stored or how a page was fetched.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from corrobora.adapters.web import host_of
from corrobora.domain.evidence import Document, Hit, Passage, PassageId, Query, Source, SourceId
from corrobora.domain.limits import LIMITS
from corrobora.policies.grading import is_official
from corrobora.policies.queries import EVIDENCE_PROVIDER, LIBRARY_PROVIDER
from corrobora.policies.selection import score_passages
from corrobora.ports import Library, ParsedDocument, QuestionRater
from corrobora.text.tokens import split_words

_WIDER = 10  # results of a library for each one that may lie in given sources
_OPENING = 3  # passages of a page in which no word of the query occurs


async def store_page(  # noqa: PLR0913 - the parts of one snapshot
    parsed: ParsedDocument, hit: Hit, *, url: str, published: str, library: Library, space: str
) -> Document:
    """Store a page under `url` and return it with the passages worth reading, in reading order."""
    host = host_of(url)
    source = Source(
        id=SourceId(""),
        title=_name_site(parsed.title, parsed.publisher, host) or hit.title or url,
        url=url,
        snapshot="",
        version="; ".join(filter(None, (parsed.version, hit.identifier))),
        published=published,
        publisher=host,
        kind="web",
        primary=is_official(url),
        authors=hit.authors or parsed.authors,  # a register of works knows better than a page
    )
    stored, passages = await library.store(source, parsed.text, space=space, headings=parsed.headings)
    chosen = select_passages(passages, hit.query, hit.snippet)
    return Document(stored, parsed.text, chosen, truncated=parsed.truncated)


def _name_site(title: str, site: str, host: str) -> str:
    """Add the name of its site to a title such as "Introduction", which does not say what it introduces.

    A site whose name is that of its host is told by the host; a release ("restic 0.14.0 documentation") never is.
    """
    release = any(letter.isdigit() for letter in site)
    called = any(len(word) > 2 and word in host for word in split_words(site))  # noqa: PLR2004 - not "of"
    return f"{title} — {site}" if title and site and site not in title and (release or not called) else title


def select_passages(
    passages: Sequence[Passage], query: str, snippet: str, *, most: int = LIMITS.page_passages
) -> tuple[Passage, ...]:
    """Return at most `most` passages that share the rarest words with query and snippet, in reading order.

    A page without such a word is opened at its beginning: it may still be what a title or a link promised.
    """
    if len(passages) <= most and len(passages) <= _OPENING:
        return tuple(passages)
    scores = score_passages(passages, query, snippet)
    ranked = sorted((at for at, score in enumerate(scores) if score > 0), key=lambda at: (-scores[at], at))[:most]
    return tuple(passages[at] for at in sorted(ranked)) or tuple(passages[: min(most, _OPENING)])


def list_neighbours(passages: Sequence[Passage], middle: PassageId, most: int) -> Sequence[Passage]:
    """Return a passage of a source with `most` before and after it; nothing if it is none of them."""
    at = next((number for number, each in enumerate(passages) if each.id == middle), None)
    return passages[max(0, at - most) : at + most + 1] if at is not None else ()


_ALIKE = 2  # sources of one text that a search shows
NEIGHBOURS = 1  # passages before and after a hit that are read with it


class LibrarySearch:
    """`SearchProvider` over a library."""

    name = LIBRARY_PROVIDER

    def __init__(self, library: Library) -> None:
        self._library = library

    async def search(self, query: Query, /, *, limit: int) -> Sequence[Hit]:
        """Return the best passages, best first; of one file in several libraries each once. Site hints mean nothing."""
        most = limit
        while True:
            hits = await self._library.hybrid_search(query.text, limit=most)
            distinct = _drop_copies(hits)
            if len(distinct) >= limit or len(hits) < most:
                return [replace(hit, provider=self.name, query=query.text) for hit in distinct[:limit]]
            most *= 2

    async def rate_question(self, text: str) -> float | None:
        """Return how likely the library answers a question, if it can tell."""
        return await self._library.rate_question(text) if isinstance(self._library, QuestionRater) else None


class EvidenceSearch(LibrarySearch):
    """`SearchProvider` over the sources that an earlier run has read, and no others."""

    name = EVIDENCE_PROVIDER

    def __init__(self, library: Library, sources: frozenset[SourceId]) -> None:
        super().__init__(library)
        self._sources = sources

    async def search(self, query: Query, /, *, limit: int) -> Sequence[Hit]:
        """Return the best passages of these sources, best first."""
        hits = await self._library.hybrid_search(query.text, limit=limit * _WIDER)
        ours = [replace(hit, provider=self.name, query=query.text) for hit in hits if hit.source in self._sources]
        return ours[:limit]


def _drop_copies(hits: Sequence[Hit]) -> list[Hit]:
    """Drop passages that another stored source of the same address has, too, or that two other sources have.

    Pages of one manual repeat whole sections, and would fill a search with them. A source may repeat itself, and two
    editions are compared by what they say alike.
    """
    first: dict[tuple[str, str], SourceId | None] = {}
    bearers: dict[str, dict[SourceId | None, None]] = {}
    kept: list[Hit] = []
    for hit in hits:
        if first.setdefault((hit.url, hit.snippet), hit.source) != hit.source:
            continue
        said_by = bearers.setdefault(hit.snippet, {})
        if hit.source in said_by or len(said_by) < _ALIKE:
            said_by[hit.source] = None
            kept.append(hit)
    return kept


class LibraryReader:
    """`Reader` of stored documents."""

    def __init__(self, library: Library) -> None:
        self._library = library

    def accepts(self, hit: Hit) -> bool:
        return hit.source is not None

    async def read(self, hit: Hit) -> Document:
        """Return the document with the hit passage and its neighbours; without a passage, with those worth reading.

        Raises `ReadError` if it is gone.
        """
        if hit.source is None:
            raise ValueError("accepts() was not asked")
        source, text = await self._library.document(hit.source)
        passages = await self._library.source_passages(hit.source)
        if hit.passage is None:  # a source that a plan or a scout named
            passages = select_passages(passages, hit.query, hit.snippet)
        else:
            passages = list_neighbours(passages, hit.passage, NEIGHBOURS)
        return Document(source, text, tuple(passages))
