"""Exa, on its published shapes and on the suite for every provider."""

from __future__ import annotations

import json

import pytest

from corrobora.adapters.pacing import SystemClock
from corrobora.adapters.search.keyed import Exa
from corrobora.domain.evidence import Query
from corrobora.testing.http_server import HttpServer, Request, Response
from corrobora.testing.search_conformance import SEARCH_CHECKS, SearchCase, SearchCheck

KEY = "exa-canary-51c0"
PUBLISHED = {  # the shape of the provider's API reference
    "requestId": "b5947044c4b78efa9552a7c89b306d95",
    "resolvedSearchType": "neural",
    "results": [
        {
            "title": "A Comprehensive Overview of Large Language Models",
            "url": "https://arxiv.org/pdf/2307.06435.pdf",
            "publishedDate": "2023-11-16T01:36:32.547Z",
            "author": "Humza Naveed, University of Engineering and Technology",
            "score": 0.4600165784358978,
            "id": "https://arxiv.org/abs/2307.06435",
            "image": "https://arxiv.org/pdf/2307.06435.pdf/page_1.png",
            "favicon": "https://arxiv.org/favicon.ico",
            "text": "Abstract. Large Language Models have recently demonstrated remarkable capabilities.",
            "highlights": ["Such requirements have limited their adoption", "they perform many tasks"],
            "highlightScores": [0.4600165784358978, 0.2],
        },
        {
            "title": None,
            "url": "https://example.org/b",
            "publishedDate": None,
            "author": None,
            "id": "b",
            "text": "Only text.",
        },
    ],
    "costDollars": {"total": 0.005},
}


def _make(url: str, seconds: float = 30.0) -> Exa:
    return Exa(KEY, clock=SystemClock(), base_url=url, seconds=seconds)


def _answer(rows: object) -> object:
    if not isinstance(rows, list):
        return {"requestId": "r", "results": rows}
    names = {"snippet": "text", "published": "publishedDate"}
    shaped = [{names.get(k, k): v for k, v in row.items()} if isinstance(row, dict) else row for row in rows]
    return {"requestId": "r", "results": shaped, "resolvedSearchType": "neural"}


@pytest.mark.parametrize("check", SEARCH_CHECKS, ids=lambda check: check.__name__)
async def test_conformance(check: SearchCheck):
    await check(SearchCase(_make, _answer, KEY))


async def test_published_shape_and_request():
    sent: list[Request] = []

    async def respond(request: Request) -> Response:
        sent.append(request)
        return Response(body=json.dumps(PUBLISHED).encode())

    async with HttpServer(respond) as server:
        hits = await _make(server.url).search(Query("large language models", site="arxiv.org"), limit=5)
    assert hits[0].snippet == "Such requirements have limited their adoption … they perform many tasks"
    assert hits[0].published == "2023-11-16"
    assert (hits[1].title, hits[1].snippet, hits[1].score) == ("https://example.org/b", "Only text.", 0.0)
    assert (sent[0].method, sent[0].path, sent[0].headers["x-api-key"]) == ("POST", "/search", KEY)
    body = json.loads(sent[0].body)
    assert (body["query"], body["numResults"], body["includeDomains"]) == ("large language models", 5, ["arxiv.org"])
    assert "text" in body["contents"]


async def test_a_top_level_domain_is_a_hint_in_the_query():
    sent: list[Request] = []

    async def respond(request: Request) -> Response:
        sent.append(request)
        return Response(body=b'{"results": []}')

    async with HttpServer(respond) as server:
        await _make(server.url).search(Query("rivers", site="gov"), limit=5)
    body = json.loads(sent[0].body)
    assert body["query"] == "rivers site:gov"
    assert "includeDomains" not in body
