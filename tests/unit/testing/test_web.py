"""The loopback web: pages, search engines and faults are what the adapters meet outside."""

from __future__ import annotations

from pathlib import Path

import pytest

from corrobora.adapters.pacing import SystemClock
from corrobora.adapters.search.keyed import Exa, Firecrawl, Tavily
from corrobora.domain.errors import ProviderError
from corrobora.domain.evidence import Query
from corrobora.testing.conformance import check_search
from corrobora.testing.web import LoopbackWeb, WebPage

PROVIDERS = (Tavily, Exa, Firecrawl)
PAGES = [
    WebPage.of_html("/aar.html", "<title>The Aar</title><p>A river with a bridge, and a bridge again.</p>"),
    WebPage.of_html("/rhine.html", "<title>The Rhine</title><p>A longer river.</p>", published="2024-02-29"),
    WebPage.of_html("/bread.html", "<title>Bread</title><p>Flour and water.</p><script>river bridge</script>"),
]


@pytest.mark.parametrize("make", PROVIDERS)
async def test_each_search_engine_keeps_the_contract(make: type[Tavily | Exa | Firecrawl]):
    async with LoopbackWeb(PAGES, key="good") as web:
        provider = make("good", clock=SystemClock(), base_url=web.url)
        broken = make("bad", clock=SystemClock(), base_url=web.url)
        await check_search(provider, finds="river bridge", broken=broken)
        hits = await provider.search(Query("river bridge", site="gov"), limit=5)
        assert [hit.url for hit in hits] == [f"{web.url}/aar.html", f"{web.url}/rhine.html"]
        assert hits[0].title == "The Aar"
        assert hits[1].published == ("" if make is Firecrawl else "2024-02-29")


@pytest.mark.parametrize("make", PROVIDERS)
@pytest.mark.parametrize(
    ("fault", "code", "retryable"),
    [
        ("401", "provider_refused", False),
        ("402", "provider_quota", False),
        ("429", "provider_failed", True),
        ("429-date", "provider_failed", True),
        ("500", "provider_failed", True),
        ("503", "provider_failed", True),
        ("html", "provider_bad_content", False),
        ("null", "provider_bad_content", False),
        ("missing", "provider_bad_content", False),
        ("string", "provider_bad_content", False),
        ("large", "provider_bad_content", False),
        ("cut", "provider_failed", True),
        ("redirect", "provider_failed", False),
        ("hang", "provider_timeout", False),
    ],
)
async def test_api_faults_strike_once_and_are_told(
    make: type[Tavily | Exa | Firecrawl], fault: str, code: str, retryable: bool
):
    async with LoopbackWeb(PAGES, api_faults=[fault]) as web:
        provider = make("k", clock=SystemClock(), base_url=web.url, seconds=0.4 if fault == "hang" else 30.0)
        with pytest.raises(ProviderError) as caught:
            await provider.search(Query("river"), limit=3)
        assert (caught.value.code, caught.value.retryable) == (code, retryable)
        again = make("k", clock=SystemClock(), base_url=web.url)
        assert len(await again.search(Query("river"), limit=3)) == 2
        assert len(web.searches) == 2


async def test_nothing_found_is_no_fault():
    async with LoopbackWeb(PAGES, api_faults=["none"]) as web:
        assert not await Tavily("k", clock=SystemClock(), base_url=web.url).search(Query("river"), limit=3)


async def test_a_folder_is_a_web(tmp_path: Path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "aar.md").write_text("# The Aar\n\nA river.")
    (tmp_path / "index.html").write_text("<title>Home</title><p>Rivers</p>")
    (tmp_path / "data.bin").write_bytes(b"\0\1")
    async with LoopbackWeb.of_folder(tmp_path, extra_results=["http://10.0.0.1/x"]) as web:
        hits = await Exa("k", clock=SystemClock(), base_url=web.url).search(Query("river"), limit=5)
        assert [hit.url for hit in hits] == [
            "http://10.0.0.1/x",
            f"{web.url}/index.html",
            f"{web.url}/notes/aar.md",
        ] or [hit.url for hit in hits] == ["http://10.0.0.1/x", f"{web.url}/notes/aar.md", f"{web.url}/index.html"]
        page = await Firecrawl("k", clock=SystemClock(), base_url=web.url).scrape_page(f"{web.url}/notes/aar.md")
        assert "A river." in page.text


async def test_a_misspelt_fault_is_refused():
    with pytest.raises(ValueError, match="unknown faults: hangs"):
        await LoopbackWeb(faults={"/x": "hangs"}).__aenter__()
