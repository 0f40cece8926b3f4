"""Sites: a whole site given as a source is crawled once in a run, and searched like a library."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from tests.fakes import MemoryLibrary
from tests.profiles.research import LibraryRun, make_run
from tests.unit.adapters.search.replay import Replay
from tests.unit.adapters.search.test_firecrawl import QuickClock

from corrobora.adapters.readers.pages import FirecrawlReader
from corrobora.adapters.search.keyed import Firecrawl
from corrobora.domain.errors import ProviderError
from corrobora.domain.evidence import Document, Hit, Query, ReadOutcome, Source, SourceId
from corrobora.domain.plan import Node
from corrobora.domain.run import EventType
from corrobora.domain.thread import Intent, ThreadState
from corrobora.engine.discover import sweep_sources
from corrobora.engine.sections import SITE_PAGES, search_sites
from corrobora.ports import Entry
from corrobora.testing.http_server import HttpServer

SITE = "https://port.example/*"
PAGES = {
    "https://port.example/cranes": "# Cranes\n\nHarbour cranes of Brenhaven must be inspected every 12 months.",
    "https://port.example/fish": "# Fish\n\nThe market sells herring.",
}
INTENT = Intent("cranes", (Query("inspected harbour cranes"),))


@dataclass
class Crawling:
    """A reader that crawls the pages above into a library."""

    library: MemoryLibrary
    down: bool = False
    asked: list[tuple[str, int]] = field(default_factory=list)

    def accepts(self, hit: Hit) -> bool:
        del hit
        return False

    async def read(self, hit: Hit) -> Document:
        raise AssertionError(hit)

    async def crawl(self, url: str, *, limit: int) -> Sequence[Hit]:
        self.asked.append((url, limit))
        if self.down:
            raise ProviderError.key_refused("firecrawl", setting="FIRECRAWL_API_KEY")
        found = []
        for address, text in PAGES.items():
            source, _ = await self.library.store(Source(SourceId(""), address, address, ""), text, space="x")
            found.append(Hit(address, address, source=source.id))
        return found


async def made(*, down: bool = False) -> tuple[LibraryRun, Crawling, ThreadState]:
    run = await make_run("timed")
    crawling = Crawling(run.library, down)
    run.session.outside = replace(run.session.outside, readers=(run.library, crawling))
    node = Node("root", "Cranes", "inspection of cranes", sources=(SITE,))
    return run, crawling, ThreadState.open_thread(node, run.session.brief, run.session.profile.course)


async def test_tree_a_site_is_crawled_once_in_a_run_and_searched_in_every_round() -> None:
    run, crawling, thread = await made()
    found = await search_sites(INTENT, thread, run.session)
    again = await search_sites(replace(INTENT, queries=(Query("herring"),)), thread, run.session)
    assert crawling.asked == [("https://port.example/", SITE_PAGES)]
    assert {hit.url for hit in found.hits} == {"https://port.example/cranes"}, "documents beside the site are left out"
    assert {hit.url for hit in again.hits} == {"https://port.example/fish"}
    assert (found.providers, found.failures) == (("site",), ())
    assert {hit.provider for hit in (*found.hits, *again.hits)} == {"site"}


async def test_a_query_that_no_page_of_a_site_matches_gives_its_pages_as_they_were_crawled() -> None:
    run, _, thread = await made()
    found = await search_sites(replace(INTENT, queries=(Query("zeppelin"),)), thread, run.session)
    assert [hit.url for hit in found.hits] == list(PAGES)


async def test_a_site_that_cannot_be_crawled_is_a_failure_and_its_first_page_is_read_alone() -> None:
    run, crawling, thread = await made(down=True)
    found = await search_sites(INTENT, thread, run.session)
    assert [(hit.url, hit.provider) for hit in found.hits] == [("https://port.example/", "given")]
    assert "https://port.example/* was not crawled" in found.failures[0]
    await search_sites(INTENT, thread, run.session)
    assert len(crawling.asked) == 1, "a failure is kept for the run"


async def test_without_a_reader_that_crawls_a_site_is_told_to_be_one_page() -> None:
    run, _, thread = await made()
    run.session.outside = replace(run.session.outside, readers=(run.library,))
    found = await search_sites(INTENT, thread, run.session)
    assert [hit.url for hit in found.hits] == ["https://port.example/"]
    assert "no reader can crawl" in found.failures[0]


async def test_a_thread_without_sites_asks_nothing() -> None:
    run, crawling, thread = await made()
    found = await search_sites(INTENT, replace(thread, sources=("https://port.example/cranes",)), run.session)
    assert (found.hits, found.providers, crawling.asked) == ((), (), [])


async def test_tree_scout_crawls_the_site_of_a_discovery_leaf_on_recorded_answers() -> None:
    replay = Replay("firecrawl/test_firecrawl_crawl_tool_integration.yaml")
    async with HttpServer(replay) as server:
        run = await make_run("tree", question="How does Firecrawl turn websites into LLM-ready data?", documents={})
        service = Firecrawl("key", clock=QuickClock(), base_url=server.url)
        crawling = FirecrawlReader(service, run.library, "web")
        run.session.outside = replace(run.session.outside, readers=(run.library, crawling))
        node = Node("root/1", "Sweep", "LLM-ready data", discovery=True, sources=("https://firecrawl.dev/*",))
        await run.journal.put(Entry("root/1/round/1/scope#0", "{}"))
        found = await sweep_sources(node, run.session)
    assert [path for path, _ in replay.asked if path == "/v2/crawl"] == ["/v2/crawl"]
    sources = {source.id: source.url for source, _ in run.library._sources.values()}
    assert {sources[SourceId(link.reference)] for link in found.linked} == set(sources.values())
    assert "https://firecrawl.dev/" in sources.values()
    reads = [event for event in run.journal.events if event.type is EventType.READ]
    assert reads
    assert {event.data["outcome"] for event in reads} == {ReadOutcome.READ}
