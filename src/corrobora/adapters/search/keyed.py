"""Search APIs that want a key: Exa, Firecrawl and Tavily, from queries to hits and, with Firecrawl, to fetched pages.

Knows their wire formats of search, scrape and crawl. Does not know profiles, budgets, the journal or the library.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast
from urllib.parse import urlsplit

from corrobora.adapters.http import parse_published
from corrobora.adapters.search import (
    KeyedProvider,
    ResultRow,
    clean_line,
    clean_text,
    is_mapping,
    read_fields,
)
from corrobora.domain.errors import ProviderError
from corrobora.domain.evidence import Hit, Query

_TEXT_CHARS = 1_000


class Exa(KeyedProvider):
    """`SearchProvider` over Exa's search (ROUNDS-12)."""

    name = "exa"
    base_url = "https://api.exa.ai"
    calls_per_second = 5.0

    def auth_headers(self, key: str) -> Mapping[str, str]:
        return {"x-api-key": key}

    async def search(self, query: Query, /, *, limit: int) -> Sequence[Hit]:
        body: dict[str, object] = {
            "query": query.text,
            "type": "auto",
            "numResults": max(1, min(limit, _MOST)),
            "contents": {"text": {"maxCharacters": _TEXT_CHARS}, "highlights": True},
        }
        if "." in query.site:
            body["includeDomains"] = [query.site]
        elif query.site:
            body["query"] = f"{query.text} site:{query.site}"  # a whole top-level domain is a hint, not a domain
        return await self.post_search("/search", body, "results", _read_exa_row, query=query, limit=limit)


def _read_exa_row(row: Mapping[str, object]) -> ResultRow:
    """Read one result: its highlights are the snippet, else the beginning of its text."""
    marked = row.get("highlights")
    parts = cast("list[object]", marked) if isinstance(marked, list) else []
    snippet = " … ".join(text for part in parts if (text := clean_text(part))) or row.get("text") or row.get("summary")
    return ResultRow(row.get("url"), row.get("title"), snippet, row.get("score"), row.get("publishedDate"))


_MOST = 100  # results that one call of Exa or Firecrawl may ask for
_POLL_SECONDS = 2.0
_FIRECRAWL_ROW = read_fields("url", "title", "description", "", "publishedDate")  # no score: its order is the ranking
_PAGES = {"formats": ["markdown"], "onlyMainContent": True, "removeBase64Images": True, "skipTlsVerification": False}


@dataclass(frozen=True, slots=True)
class ScrapedPage:
    """A page as Firecrawl cleaned it. `status` is the page's own; `text` is Markdown."""

    url: str
    title: str
    text: str
    status: int
    published: str = ""
    publisher: str = ""


class Firecrawl(KeyedProvider):
    """`SearchProvider` over Firecrawl's search; also scrape and crawl (TREE-38)."""

    name = "firecrawl"
    base_url = "https://api.firecrawl.dev"
    calls_per_second = 1.0
    seconds = 60.0  # it may render a page before it answers

    async def search(self, query: Query, /, *, limit: int) -> Sequence[Hit]:
        text = f"{query.text} site:{query.site}" if query.site else query.text
        data = await self._request_data("/v2/search", {"query": text, "limit": max(1, min(limit, _MOST))})
        return self.list_hits(data.get("web"), _FIRECRAWL_ROW, query, limit)

    async def scrape_page(self, url: str) -> ScrapedPage:
        """Return one page. Raises `ProviderError`; a page that says 404 is a page with that status."""
        return self._read_page(await self._request_data("/v2/scrape", {"url": url, **_PAGES}), url)

    async def crawl_site(self, url: str, *, limit: int, max_seconds: float = 180.0) -> Sequence[ScrapedPage]:
        """Return at most `limit` pages with text reached from `url` on its own site, as far as they came.

        Raises:
            ProviderError: refused, failed, cancelled there, or not done within `max_seconds`.
        """
        started = await self._request_object("POST", "/v2/crawl", {"url": url, "limit": limit, "scrapeOptions": _PAGES})
        id_ = started.get("id")
        if not isinstance(id_, str) or not id_.replace("-", "").isalnum():
            raise ProviderError.bad_content(self.name, "a crawl without an id")
        deadline = self._api.clock.now() + max_seconds
        answer = await self._request_object("GET", f"/v2/crawl/{id_}")
        while answer.get("status") == "scraping":
            if self._api.clock.now() >= deadline:
                raise ProviderError.request_failed(self.name, why=f"the crawl was not done within {max_seconds:g} s")
            await self._api.clock.sleep(_POLL_SECONDS)
            answer = await self._request_object("GET", f"/v2/crawl/{id_}")
        if answer.get("status") != "completed":
            raise ProviderError.request_failed(self.name, why="the crawl did not complete")
        pages, seen = self._read_pages(answer, url), {""}
        while (further := _next_path(answer)) not in seen and len(pages) < limit:
            seen.add(further)
            try:
                answer = await self._request_object("GET", further)
                more = self._read_pages(answer, url)
            except ProviderError:
                if not pages:
                    raise
                break  # the pages that came are paid for
            if not more:
                break
            pages += more
        return pages[:limit]

    async def _request_object(
        self, method: str, path: str, body: Mapping[str, object] | None = None
    ) -> Mapping[str, object]:
        answer = await (self._api.get_json(path) if method == "GET" else self._api.post_json(path, body or {}))
        if not is_mapping(answer):
            raise ProviderError.bad_content(self.name, "the answer is not an object")
        if answer.get("success") is not True:
            raise ProviderError.request_failed(self.name, why="it says that the call did not succeed")
        return answer

    async def _request_data(self, path: str, body: Mapping[str, object]) -> Mapping[str, object]:
        data = (await self._request_object("POST", path, body)).get("data")
        if not is_mapping(data):
            raise ProviderError.bad_content(self.name, "the answer has no data")
        return data

    def _read_pages(self, answer: Mapping[str, object], url: str) -> list[ScrapedPage]:
        data = answer.get("data")
        if not isinstance(data, list):
            raise ProviderError.bad_content(self.name, "the pages of a crawl are not a list")
        rows = [row for row in cast("list[object]", data) if is_mapping(row)]
        return [self._read_page(row, url) for row in [row for row in rows if row.get("markdown")] or rows]

    def _read_page(self, data: Mapping[str, object], url: str) -> ScrapedPage:
        given = data.get("metadata")
        about: Mapping[str, object] = given if is_mapping(given) else {}
        text, status = data.get("markdown"), about.get("statusCode")
        if not isinstance(text, str):
            raise ProviderError.bad_content(self.name, "a page without text")
        return ScrapedPage(
            url=clean_line(about.get("sourceURL")) or clean_line(about.get("url")) or url,
            title=clean_line(about.get("title")),
            text=clean_text(text),
            status=status if isinstance(status, int) else 200,
            published=parse_published(about.get("publishedTime"), self._api.clock.utc_time()),
            publisher=clean_line(about.get("ogSiteName")),
        )


def _next_path(answer: Mapping[str, object]) -> str:
    """Return the path of the next page of a crawl; its host is not taken, the key goes to the base address only."""
    given = answer.get("next")
    parts = urlsplit(given) if isinstance(given, str) else None
    if parts is None or not parts.path.startswith(("/v1/crawl/", "/v2/crawl/")):
        return ""
    return f"{parts.path}?{parts.query}" if parts.query else parts.path


_MOST_OF_TAVILY = 20
_TAVILY_ROW = read_fields("url", "title", "content", "score", "published_date")


class Tavily(KeyedProvider):
    """`SearchProvider` over Tavily's search (ROUNDS-12)."""

    name = "tavily"
    base_url = "https://api.tavily.com"
    calls_per_second = 1.6

    async def search(self, query: Query, /, *, limit: int) -> Sequence[Hit]:
        body: dict[str, object] = {
            "query": query.text,
            "search_depth": "basic",
            "topic": "general",
            "max_results": max(1, min(limit, _MOST_OF_TAVILY)),
        }
        if query.site:
            body["include_domains"] = [query.site if "." in query.site else f"*.{query.site}"]
        return await self.post_search("/search", body, "results", _TAVILY_ROW, query=query, limit=limit)
