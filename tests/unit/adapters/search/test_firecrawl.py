"""Firecrawl, on recorded answers and on the suite for every provider."""

from __future__ import annotations

import json

import pytest
from tests.unit.adapters.search.replay import Replay

from corrobora.adapters.pacing import SystemClock
from corrobora.adapters.search.keyed import Firecrawl
from corrobora.domain.errors import ProviderError
from corrobora.domain.evidence import Query
from corrobora.testing.http_server import HttpServer, Request, Response
from corrobora.testing.search_conformance import SEARCH_CHECKS, SearchCase, SearchCheck

KEY = "fc-canary-77aa"


class QuickClock(SystemClock):
    """Does not wait between two looks at a crawl."""

    async def sleep(self, seconds: float) -> None:
        del seconds


def _make(url: str, seconds: float = 30.0) -> Firecrawl:
    return Firecrawl(KEY, clock=QuickClock(), base_url=url, seconds=seconds)


def _answer(rows: object) -> object:
    names = {"snippet": "description", "published": "publishedDate"}
    if isinstance(rows, list):
        rows = [{names.get(k, k): v for k, v in row.items()} if isinstance(row, dict) else row for row in rows]
    return {"success": True, "data": {"web": rows}}


@pytest.mark.parametrize("check", SEARCH_CHECKS, ids=lambda check: check.__name__)
async def test_conformance(check: SearchCheck):
    await check(SearchCase(_make, _answer, KEY, ranked=False))


async def test_recorded_search():
    replay = Replay("firecrawl/test_firecrawl_search_tool_integration.yaml")
    async with HttpServer(replay) as server:
        hits = await _make(server.url).search(Query("firecrawl", site="firecrawl.dev"), limit=5)
    assert hits[0].url == "https://www.firecrawl.dev/"
    assert hits[0].title == "Firecrawl - The Web Data API for AI"
    assert hits[0].snippet.startswith("The web crawling, scraping, and search API for AI.")
    assert replay.asked[0] == ("/v2/search", {"query": "firecrawl site:firecrawl.dev", "limit": 5})


async def test_recorded_scrape():
    replay = Replay("firecrawl/test_firecrawl_scrape_tool_integration.yaml")
    async with HttpServer(replay) as server:
        page = await _make(server.url).scrape_page("https://firecrawl.dev")
    assert (page.title, page.status) == ("Firecrawl - The Web Data API for AI", 200)
    assert "Turn websites into" in page.text
    assert replay.asked[0][1]["skipTlsVerification"] is False, "certificates are checked for us as well (bad-input S18)"


async def test_recorded_crawl_waits_until_it_is_completed():
    replay = Replay("firecrawl/test_firecrawl_crawl_tool_integration.yaml")
    async with HttpServer(replay) as server:
        pages = await _make(server.url).crawl_site("https://firecrawl.dev", limit=2)
    assert len(pages) == 2
    assert all(page.text and page.url.startswith("https://") for page in pages)
    assert [path for path, _ in replay.asked][:2] == ["/v2/crawl", "/v2/crawl/9352ed1c-88bf-4258-a466-d29911ebcbe4"]


@pytest.mark.parametrize("last", ["http://evil.example/steal", "/v2/crawl/1?skip=1"], ids=["elsewhere", "itself"])
async def test_s21_the_next_page_of_a_crawl_is_asked_of_the_base_address_only_and_once(last: str):
    asked: list[str] = []
    page = {"markdown": "text", "metadata": {"sourceURL": "https://a.example/", "statusCode": 200}}
    done = {"success": True, "status": "completed", "data": [page]}
    next_ = "http://evil.example/v2/crawl/1?skip=1"
    answers = [{"success": True, "id": "1"}, {**done, "next": next_}, {**done, "next": last}]

    async def respond(request: Request) -> Response:
        asked.append(request.path)
        return Response(body=json.dumps(answers.pop(0)).encode())

    async with HttpServer(respond) as server:
        assert len(await _make(server.url).crawl_site("https://a.example/", limit=9)) == 2
    assert asked == ["/v2/crawl", "/v2/crawl/1", "/v2/crawl/1?skip=1"]


async def test_pages_of_a_crawl_that_came_stay_where_others_have_no_text_or_fail():
    page = {"markdown": "text", "metadata": {"sourceURL": "https://a.example/", "statusCode": 200}}
    done = {"success": True, "status": "completed", "data": [{"markdown": None}, page], "next": "/v2/crawl/1?skip=2"}
    answers = [{"success": True, "id": "1"}, done, {"success": False}]

    async def respond(_: Request) -> Response:
        return Response(body=json.dumps(answers.pop(0)).encode())

    async with HttpServer(respond) as server:
        assert len(await _make(server.url).crawl_site("https://a.example/", limit=9)) == 1


@pytest.mark.parametrize(
    "answers",
    [
        [{"success": False, "error": KEY}],
        [{"success": True, "id": "../../x"}],
        [{"success": True, "id": "1"}, {"success": True, "status": "failed", "data": []}],
        [{"success": True, "id": "1"}, {"success": True, "status": "completed", "data": None}],
        [{"success": True, "id": "1"}, {"success": True, "status": "completed", "data": [{"markdown": None}]}],
        [{"success": True, "id": "1"}, *[{"success": True, "status": "scraping"}] * 3],
    ],
    ids=["refused", "odd id", "failed", "no list", "no text", "never done"],
)
async def test_a_crawl_that_fails_is_an_error_without_the_key(answers: list[object]):
    waiting = list(answers)

    async def respond(_: Request) -> Response:
        return Response(body=json.dumps(waiting.pop(0) if len(waiting) > 1 else waiting[0]).encode())

    async with HttpServer(respond) as server:
        with pytest.raises(ProviderError) as caught:
            await _make(server.url).crawl_site("https://a.example/", limit=9, max_seconds=0.05)
    assert KEY not in str(caught.value)
