"""Sites: whole sites that a thread was given are crawled once in a run and searched with the queries of its rounds.

Knows crawlers, and what stands in for one that fails. Does not know which queries a round has, nor how hits are read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from corrobora.domain.errors import ProviderError, ReadError
from corrobora.domain.evidence import Hit, Query
from corrobora.domain.run import EventType
from corrobora.domain.thread import Intent, ThreadState
from corrobora.engine.session import Session
from corrobora.engine.session.egress import STAYS
from corrobora.engine.session.journal import CallMeta, SearchResults, decode, encode, hash_parts
from corrobora.policies.selection import GIVEN_PROVIDER, SITE_SUFFIX, list_given_sites
from corrobora.ports import Crawler, Entry

SITE_PAGES = 50  # of one site; a crawl is billed by the page
_SEARCH_DEPTH = 200  # passages of the library looked through for those of the sites


async def search_sites(intent: Intent, thread: ThreadState, run: Session) -> SearchResults:
    """Search the sites that a thread was given with the queries of one round (TREE-38).

    A site is crawled once in a run, by the first thread that has it. Where no passage of it matches, its pages are
    results in the order of the crawl. A site that cannot be crawled is a failure, and its first page is read alone.
    """
    pages: list[Hit] = []
    failures: list[str] = []
    for url in list_given_sites(thread):
        found = await _crawl_site(url, thread, run)
        pages += [replace(hit, query=thread.objective) for hit in found.hits]
        failures += found.failures
    if not pages and not failures:
        return SearchResults(())
    stored = tuple(hit for hit in pages if hit.source is not None)
    asked = intent.queries if stored else ()
    hits = [hit for query in asked for hit in await _search_pages(stored, query, thread, run)]
    unstored = [hit for hit in pages if hit.source is None]
    most = thread.course.hits_per_query
    return SearchResults((*unstored, *(hits or stored[:most])), tuple(failures), ("site",))


async def _crawl_site(url: str, thread: ThreadState, run: Session) -> SearchResults:
    """The pages of a site, each a stored source; or its first page as a result to be read, and why."""
    first = Hit(url, url, provider=GIVEN_PROVIDER)
    crawler = next((reader for reader in run.outside.readers if isinstance(reader, Crawler)), None)
    key = f"crawl#{hash_parts(url, str(SITE_PAGES))}"
    if crawler is None or not run.egress.may_request(url):
        why = STAYS if crawler else "no reader can crawl"
        return SearchResults((first,), _emit_crawl_failure(key, url, why, thread, run))
    failed = None if run.retry_failures else run.journal.get(f"{key}!failed")
    if failed is not None and run.journal.get(key) is None:
        return SearchResults((first,), _emit_crawl_failure(key, url, failed.out, thread, run))
    try:
        out = await run.call_once(key, lambda: _call_crawler(crawler, url, run), paid=True)
    except (ProviderError, ReadError) as error:
        await run.journal.put(Entry(f"{key}!failed", error.message))
        return SearchResults((first,), _emit_crawl_failure(key, url, error.message, thread, run))
    hits = decode(tuple[Hit, ...], out, key=key)
    run.egress.open_hits(hits)
    data = {"query": f"{url}*", "provider": "site", "hits": len(hits)}
    run.emit(EventType.SEARCH, thread.round_path, data, number=thread.number + 1, part=key)
    return SearchResults(hits)


async def _call_crawler(crawler: Crawler, url: str, run: Session) -> tuple[str, CallMeta]:
    if run.budget.read_meter().exhausted_limit == "searches":
        raise ProviderError("search_limit", "The search limit of this run is reached.", provider="site")
    run.budget.count_search()
    hits = await run.call_with_retries(lambda: crawler.crawl(url, limit=SITE_PAGES))
    return encode(tuple[Hit, ...], tuple(hits)[:SITE_PAGES]), CallMeta(provider="site", searches=1)


async def _search_pages(pages: Sequence[Hit], query: Query, thread: ThreadState, run: Session) -> tuple[Hit, ...]:
    """The passages of some stored pages that a query finds."""
    own = {hit.source for hit in pages}
    most = thread.course.hits_per_query
    key = f"search/site#{hash_parts(query.text, str(most), *sorted(str(each) for each in own))}"

    async def search_library() -> tuple[str, CallMeta]:
        hits = await run.library.hybrid_search(query.text, limit=_SEARCH_DEPTH)
        kept = [replace(hit, provider="site", query=query.text) for hit in hits if hit.source in own]
        return encode(tuple[Hit, ...], tuple(kept)[:most]), CallMeta(provider="site")

    return decode(tuple[Hit, ...], await run.call_once(key, search_library, paid=False), key=key)


def _emit_crawl_failure(key: str, url: str, why: str, thread: ThreadState, run: Session) -> tuple[str, ...]:
    """Tell once that a site was not crawled; it is a failure of the round that asked for it first."""
    reason = f"site: {url}{SITE_SUFFIX[1:]} was not crawled, its first page is read alone: {why}"
    data = {"query": f"{url}*", "provider": "site", "failed": reason}
    run.emit(EventType.WARNING, thread.round_path, data, number=thread.number + 1, part=f"{key}!failed")
    return (reason,) if thread.number == 0 else ()
