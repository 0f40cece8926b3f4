"""Firecrawl: queries to hits, and addresses to pages that it has fetched and cleaned itself.

Knows the wire format of search, scrape and crawl. Does not know profiles, budgets, the journal or the library.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast
from urllib.parse import urlsplit

from corrobora.adapters.search.api import Keyed
from corrobora.adapters.search.results import Row, clean, hits, is_mapping, line, published
from corrobora.domain.errors import ProviderError
from corrobora.domain.evidence import Hit, Query

_MOST = 100
_POLL_SECONDS = 2.0
_PAGES = {"formats": ["markdown"], "onlyMainContent": True, "removeBase64Images": True, "skipTlsVerification": False}


@dataclass(frozen=True, slots=True)
class Page:
    """A page as Firecrawl cleaned it. `status` is the page's own; `text` is Markdown."""

    url: str
    title: str
    text: str
    status: int
    published: str = ""
    publisher: str = ""


class Firecrawl(Keyed):
    """`SearchProvider` over Firecrawl's search; also scrape and crawl (S1, S3)."""

    name = "firecrawl"
    base_url = "https://api.firecrawl.dev"
    setting = "FIRECRAWL_API_KEY"
    seconds = 60.0  # it may render a page before it answers

    async def search(self, query: Query, /, *, limit: int) -> Sequence[Hit]:
        """Return at most `limit` hits, best first; an empty list means the provider answered "nothing"."""
        text = f"{query.text} site:{query.site}" if query.site else query.text
        data = await self._data("/v2/search", {"query": text, "limit": max(1, min(limit, _MOST))})
        now = self._api.clock.wall()
        return hits(data.get("web"), _row, provider=self.name, query=query, limit=limit, now=now)

    async def scrape(self, url: str) -> Page:
        """Return one page. Raises `ProviderError`; a page that says 404 is a page with that status."""
        return self._page(await self._data("/v2/scrape", {"url": url, **_PAGES}), url)

    async def crawl(self, url: str, *, limit: int, max_seconds: float = 180.0) -> Sequence[Page]:
        """Return at most `limit` pages reached from `url` on its own site.

        Raises:
            ProviderError: refused, failed, cancelled there, or not done within `max_seconds`.
        """
        started = await self._answer("POST", "/v2/crawl", {"url": url, "limit": limit, "scrapeOptions": _PAGES})
        id_ = started.get("id")
        if not isinstance(id_, str) or not id_.replace("-", "").isalnum():
            raise ProviderError.bad_content(self.name, "a crawl without an id")
        deadline = self._api.clock.now() + max_seconds
        answer = await self._answer("GET", f"/v2/crawl/{id_}")
        while answer.get("status") == "scraping":
            if self._api.clock.now() >= deadline:
                raise ProviderError.failed(self.name, why=f"the crawl was not done within {max_seconds:g} s")
            await self._api.clock.sleep(_POLL_SECONDS)
            answer = await self._answer("GET", f"/v2/crawl/{id_}")
        if answer.get("status") != "completed":
            raise ProviderError.failed(self.name, why="the crawl did not complete")
        pages = self._pages(answer, url)
        while (further := _next_path(answer)) and len(pages) < limit:
            answer = await self._answer("GET", further)
            more = self._pages(answer, url)
            if not more:
                break
            pages += more
        return pages[:limit]

    async def _answer(self, method: str, path: str, body: Mapping[str, object] | None = None) -> Mapping[str, object]:
        answer = await (self._api.get(path) if method == "GET" else self._api.post(path, body or {}))
        if not is_mapping(answer):
            raise ProviderError.bad_content(self.name, "the answer is no object")
        if answer.get("success") is not True:
            raise ProviderError.failed(self.name, why="it says that the call did not succeed")
        return answer

    async def _data(self, path: str, body: Mapping[str, object]) -> Mapping[str, object]:
        data = (await self._answer("POST", path, body)).get("data")
        if not is_mapping(data):
            raise ProviderError.bad_content(self.name, "the answer has no data")
        return data

    def _pages(self, answer: Mapping[str, object], url: str) -> list[Page]:
        data = answer.get("data")
        if not isinstance(data, list):
            raise ProviderError.bad_content(self.name, "the pages of a crawl are no list")
        return [self._page(row, url) for row in cast("list[object]", data) if is_mapping(row)]

    def _page(self, data: Mapping[str, object], url: str) -> Page:
        given = data.get("metadata")
        about: Mapping[str, object] = given if is_mapping(given) else {}
        text, status = data.get("markdown"), about.get("statusCode")
        if not isinstance(text, str):
            raise ProviderError.bad_content(self.name, "a page without text")
        return Page(
            url=line(about.get("sourceURL")) or line(about.get("url")) or url,
            title=line(about.get("title")),
            text=clean(text),
            status=status if isinstance(status, int) else 200,
            published=published(about.get("publishedTime"), self._api.clock.wall()),
            publisher=line(about.get("ogSiteName")),
        )


def _row(row: Mapping[str, object]) -> Row:
    """Read one result. It has no score: its order is the ranking."""
    return Row(row.get("url"), row.get("title"), row.get("description"), None, row.get("publishedDate"))


def _next_path(answer: Mapping[str, object]) -> str:
    """Return the path of the next page of a crawl; its host is not taken, the key goes to the base address only."""
    given = answer.get("next")
    parts = urlsplit(given) if isinstance(given, str) else None
    if parts is None or not parts.path.startswith(("/v1/crawl/", "/v2/crawl/")):
        return ""
    return f"{parts.path}?{parts.query}" if parts.query else parts.path
