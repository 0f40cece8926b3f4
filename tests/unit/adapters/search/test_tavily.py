"""Tavily, on recorded answers and on the suite for every provider."""

from __future__ import annotations

import pytest
from tests.unit.adapters.search.replay import Replay

from corrobora.adapters.pacing import SystemClock
from corrobora.adapters.search.keyed import Tavily
from corrobora.domain.errors import ProviderError
from corrobora.domain.evidence import Query
from corrobora.testing.http_server import HttpServer, Request, Response
from corrobora.testing.search_conformance import SEARCH_CHECKS, SearchCase, SearchCheck

KEY = "tvly-canary-8f3b"


def _make(url: str, seconds: float = 30.0) -> Tavily:
    return Tavily(KEY, clock=SystemClock(), base_url=url, seconds=seconds)


def _answer(rows: object) -> object:
    if not isinstance(rows, list):
        return {"query": "q", "results": rows}
    names = {"snippet": "content", "published": "published_date"}
    shaped = [{names.get(k, k): v for k, v in row.items()} if isinstance(row, dict) else row for row in rows]
    return {"query": "q", "answer": None, "images": [], "results": shaped, "response_time": 0.1}


@pytest.mark.parametrize("check", SEARCH_CHECKS, ids=lambda check: check.__name__)
async def test_conformance(check: SearchCheck):
    await check(SearchCase(_make, _answer, KEY))


async def test_recorded_search_gives_its_results_in_order():
    replay = Replay("tavily/test_basic_search.yaml")
    async with HttpServer(replay) as server:
        hits = await _make(server.url).search(Query("What is Pydantic AI?"), limit=10)
    assert [hit.url for hit in hits][:2] == [
        "https://medium.com/ai-agent-insider/pydantic-ai-agent-framework-02b138e8db71",
        "https://ai.pydantic.dev/",
    ]
    assert hits[1].title == "Pydantic AI - Pydantic AI"
    assert hits[1].score == pytest.approx(0.99997807)
    assert hits[1].snippet.startswith("Pydantic AI is a Python agent framework")
    sent = replay.asked[0][1]
    assert sent["query"] == "What is Pydantic AI?"
    assert set(replay.recorded[0]) <= set(sent), "what the recorded client sent, we send"


async def test_recorded_site_restriction_is_sent_as_a_domain():
    replay = Replay("tavily/test_search_with_include_domains.yaml")
    async with HttpServer(replay) as server:
        hits = await _make(server.url).search(Query("transformer architectures", site="arxiv.org"), limit=10)
    assert replay.asked[0][1]["include_domains"] == ["arxiv.org"] == replay.recorded[0]["include_domains"]
    assert hits
    assert all("arxiv.org" in hit.url for hit in hits)


async def test_a_top_level_domain_is_sent_as_a_pattern():
    sent: list[bytes] = []

    async def respond(request: Request) -> Response:
        sent.append(request.body)
        return Response(body=b'{"results": []}')

    async with HttpServer(respond) as server:
        assert not await _make(server.url).search(Query("x", site="gov"), limit=3)
    assert b'"*.gov"' in sent[0]


async def test_s14_tavilys_own_statuses_for_limits_are_quota():
    async def respond(_: Request) -> Response:
        return Response(432)

    async with HttpServer(respond) as server:
        with pytest.raises(ProviderError, match="quota") as caught:
            await _make(server.url).search(Query("x"), limit=3)
    assert caught.value.code == "provider_quota"
