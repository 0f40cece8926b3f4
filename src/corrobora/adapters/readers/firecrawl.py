"""The Firecrawl reader: pages that Firecrawl fetches and cleans, stored like any other page.

Knows how its pages become documents. Does not fetch anything itself: addresses that are plainly private are not passed
on, since a server of one's own would reach them.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from dataclasses import replace

from corrobora.adapters.readers.markdown import read_markdown
from corrobora.adapters.readers.snapshot import store_page
from corrobora.adapters.search.firecrawl import Firecrawl, ScrapedPage
from corrobora.adapters.web.addresses import blocked_reason
from corrobora.adapters.web.urls import BadUrl, host_of, normalize_url
from corrobora.domain.errors import ReadError
from corrobora.domain.evidence import Document, Hit, ReadOutcome, SourceId
from corrobora.ports import Library

_MISSING = frozenset({404, 410})
_FIRST_ERROR = 400


class FirecrawlReader:
    """`Reader` over Firecrawl's scrape, for pages that need a browser; `Crawler` of whole small sites."""

    def __init__(self, firecrawl: Firecrawl, library: Library, space: str) -> None:
        self._firecrawl = firecrawl
        self._library = library
        self._space = space

    def accepts(self, hit: Hit) -> bool:
        """True for a hit that is not in the library."""
        return hit.source is None

    async def read(self, hit: Hit) -> Document:
        """Scrape and store one page. Raises `ReadError`, or `ProviderError` if Firecrawl itself failed."""
        page = await self._firecrawl.scrape_page(_check_public(hit.url))
        return await self._store_page(page, hit)

    async def crawl(self, url: str, *, limit: int) -> Sequence[Hit]:
        """Store at most `limit` pages of one site; pages that say nothing are left out."""
        found: dict[SourceId, Hit] = {}
        for page in await self._firecrawl.crawl_site(_check_public(url), limit=limit):
            try:
                source = (await self._store_page(page, Hit(url=page.url, title=page.title))).source
            except ReadError:
                continue  # one page of a site that is not there is not a failure of the crawl
            hit = Hit(source.url, source.title, provider=self._firecrawl.name, published=source.published)
            found.setdefault(source.id, replace(hit, source=source.id))
        return tuple(found.values())

    async def _store_page(self, page: ScrapedPage, hit: Hit) -> Document:
        if page.status >= _FIRST_ERROR:
            outcome = ReadOutcome.NOT_FOUND if page.status in _MISSING else ReadOutcome.FAILED
            raise ReadError(outcome, f"The page answered Firecrawl with HTTP {page.status}.")
        if not page.text.strip():
            raise ReadError(ReadOutcome.EMPTY, "Firecrawl found no text on the page.")
        try:
            url = normalize_url(page.url)
        except BadUrl:
            url = normalize_url(hit.url)
        parsed = read_markdown(page.text.encode(), url)
        parsed = replace(parsed, title=page.title or parsed.title)
        date = page.published or hit.published
        return await store_page(parsed, hit, url=url, published=date, library=self._library, space=self._space)


def _check_public(url: str) -> str:
    """Return the canonical URL. Raises `ReadError` `refused` for a bad one, or a private address as a number."""
    try:
        checked = normalize_url(url)
    except BadUrl as error:
        raise ReadError(ReadOutcome.REFUSED, f"Not fetched ({error.code}): {error}.") from error
    try:
        why = blocked_reason(ipaddress.ip_address(host_of(checked)))
    except ValueError:
        why = "this machine" if host_of(checked).rpartition(".")[2] in {"localhost", "local", "internal"} else None
    if why is not None:
        raise ReadError(ReadOutcome.REFUSED, f"Not fetched: {why}.")
    return checked
