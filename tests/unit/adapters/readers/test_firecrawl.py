"""The Firecrawl reader: scraped and crawled pages become stored documents."""

from __future__ import annotations

import json

import pytest

from corrobora.adapters.pacing import SystemClock
from corrobora.adapters.readers.pages import FirecrawlReader
from corrobora.adapters.search.keyed import Firecrawl
from corrobora.domain.errors import ReadError
from corrobora.domain.evidence import Hit, SourceId
from corrobora.storage.index import PostgresLibrary
from corrobora.storage.postgres import Database
from corrobora.testing.http_server import HttpServer, Request, Response

SITE = "https://rivers.example"
TEXT = "# The Aar\n\nThe stone bridge of Weil was opened by mayor Anna Roth on 4 May 1824."


@pytest.fixture
async def library(database: Database) -> PostgresLibrary:
    return PostgresLibrary(database, ["web"])


def _page(text: str, status: int = 200, url: str = f"{SITE}/aar") -> dict[str, object]:
    return {"markdown": text, "metadata": {"title": "The Aar", "sourceURL": url, "statusCode": status}}


def _reader(server: HttpServer, library: PostgresLibrary) -> FirecrawlReader:
    return FirecrawlReader(Firecrawl("key", clock=SystemClock(), base_url=server.url), library, "web")


async def test_a_scraped_page_is_stored(library: PostgresLibrary):
    async def respond(request: Request) -> Response:
        asked.append(json.loads(request.body)["url"])
        return Response(body=json.dumps({"success": True, "data": _page(TEXT)}).encode())

    asked: list[str] = []
    async with HttpServer(respond) as server:
        reader = _reader(server, library)
        hit = Hit(url=f"{SITE}/aar?utm_source=x", title="t", query="bridge of Weil")
        document = await reader.read(hit)
        assert reader.accepts(hit)
        assert not reader.accepts(Hit(url="", title="", source=SourceId("S1")))
    assert asked == [f"{SITE}/aar"]
    assert (document.source.title, document.source.url) == ("The Aar", f"{SITE}/aar")
    assert "4 May 1824" in document.passages[0].text


@pytest.mark.parametrize(
    ("page", "outcome"),
    [(_page("x", 404), "not_found"), (_page("x", 503), "failed"), (_page("  "), "empty")],
    ids=["404", "503", "no text"],
)
async def test_pages_that_are_none(page: dict[str, object], outcome: str, library: PostgresLibrary):
    async def respond(_: Request) -> Response:
        return Response(body=json.dumps({"success": True, "data": page}).encode())

    async with HttpServer(respond) as server:
        with pytest.raises(ReadError) as caught:
            await _reader(server, library).read(Hit(url=f"{SITE}/aar", title="t"))
    assert caught.value.outcome == outcome


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/",
        "http://[::1]/",
        "http://169.254.169.254/",
        "http://localhost/",
        "http://db.internal/",
        "file:///x",
    ],
)
async def test_safe_2_private_addresses_are_not_passed_on(url: str, library: PostgresLibrary):
    async def respond(_: Request) -> Response:
        raise AssertionError("nothing may be asked")

    async with HttpServer(respond) as server:
        reader = _reader(server, library)
        with pytest.raises(ReadError) as caught:
            await reader.read(Hit(url=url, title="t"))
        assert caught.value.outcome == "refused"
        with pytest.raises(ReadError):
            await reader.crawl(url, limit=3)


async def test_a_crawled_site_is_stored_without_the_pages_that_are_none(library: PostgresLibrary):
    pages = [_page(TEXT), _page("gone", 404, f"{SITE}/b"), _page(TEXT.replace("1824", "1825"), 200, f"{SITE}/c")]
    answers = [{"success": True, "id": "1"}, {"success": True, "status": "completed", "data": pages}]

    async def respond(_: Request) -> Response:
        return Response(body=json.dumps(answers.pop(0)).encode())

    async with HttpServer(respond) as server:
        hits = await _reader(server, library).crawl(SITE, limit=10)
    assert [(hit.url, hit.title, hit.provider) for hit in hits] == [
        (f"{SITE}/aar", "The Aar", "firecrawl"),
        (f"{SITE}/c", "The Aar", "firecrawl"),
    ]
    assert hits[1].source is not None
    assert "1825" in (await library.document(hits[1].source))[1]
