"""The web reader on a real database, a real parser process and a real (loopback) web: every URL in one outcome."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from tests.unit.adapters.readers.test_pdf import made

from corrobora.adapters.pacing import SystemClock
from corrobora.adapters.readers.pages import WebReader
from corrobora.adapters.readers.parser import ParserProcess
from corrobora.adapters.web.fetcher import PageFetcher
from corrobora.adapters.web.network import AllowList
from corrobora.domain.errors import ReadError
from corrobora.domain.evidence import Document, Hit, ReadOutcome, SourceId
from corrobora.domain.limits import LIMITS, Limits
from corrobora.policies.selection import GIVEN_PROVIDER
from corrobora.storage.index import PostgresLibrary
from corrobora.storage.postgres import Database
from corrobora.testing.http_server import PAGE_FAULTS, HttpServer, Request, Response
from corrobora.testing.web import LoopbackWeb, WebPage

QUICK = replace(LIMITS, host_pause_seconds=0.0, host_max_pause_seconds=1.0, pages_per_host=1_000)
SPACE = "web"
RIVER = "".join(
    f"<h2>Part {n}</h2><p>The river Aar passes village number {n} and its old mill. Boats are seldom seen there and "
    f"the water is cold in every month of the year. People speak of it often.</p>"
    for n in range(40)
)
BRIDGE = "<p>The stone bridge of Weil was opened by mayor Anna Roth on 4 May 1824 after six years of work.</p>"
ARTICLE = (
    f"<html><head><title>The Aar</title></head><body><article><h1>The Aar</h1>{RIVER}{BRIDGE}</article></body></html>"
)
PAGES = [WebPage.of_html("/aar.html", ARTICLE), WebPage.of_html("/index.html", ARTICLE)]


@pytest.fixture
async def library(database: Database) -> PostgresLibrary:
    return PostgresLibrary(database, [SPACE])


@pytest.fixture
async def parser() -> AsyncIterator[ParserProcess]:
    async with ParserProcess() as child:
        yield child


def _reader(
    web: LoopbackWeb | HttpServer, parser: ParserProcess, library: PostgresLibrary, limits: Limits = QUICK
) -> WebReader:
    allow = AllowList(endpoints=frozenset({("127.0.0.1", web.port)}))
    visitor = PageFetcher(SystemClock(), allow=allow, limits=limits)
    return WebReader(visitor, parser, library, SPACE, clock=SystemClock(), limits=limits)


async def _outcome(reader: WebReader, url: str) -> str:
    try:
        document = await reader.read(Hit(url=url, title="t", query="bridge"))
    except ReadError as error:
        return ReadOutcome(error.outcome).value
    assert document.passages
    return "read"


async def test_a_private_page_that_only_a_plan_or_a_model_named_is_not_requested(
    library: PostgresLibrary, parser: ParserProcess
):
    async with LoopbackWeb(PAGES) as web:
        url = f"{web.url}/aar.html"
        given = Hit(url=url, title="t", query="bridge", provider=GIVEN_PROVIDER)
        with pytest.raises(ReadError, match="neither you nor a search"):
            await _reader(web, parser, library).read(given)
        assert not web.requests
        allow = AllowList(endpoints=frozenset({("127.0.0.1", web.port)}))
        fetcher = PageFetcher(SystemClock(), allow=allow, limits=QUICK)
        named = WebReader(fetcher, parser, library, SPACE, clock=SystemClock(), limits=QUICK, named=[f"see {url}"])
        assert (await named.read(given)).passages


async def test_a_page_becomes_a_stored_source_with_the_passages_worth_reading(
    library: PostgresLibrary, parser: ParserProcess
):
    async with LoopbackWeb(PAGES) as web:
        hit = Hit(
            url=f"{web.url}/aar.html?utm_source=x#bridge",
            title="Aar",
            snippet="opened by mayor Anna Roth",
            query="When was the stone bridge of Weil opened?",
            published="2023-05-06",
        )
        document = await _reader(web, parser, library).read(hit)
    source = document.source
    assert (source.title, source.kind, source.publisher) == ("The Aar", "web", "127.0.0.1")
    assert source.url == f"{web.url}/aar.html"
    assert source.published == "2023-05-06"
    assert not source.primary
    assert "4 May 1824" in document.passages[-1].text
    assert len(document.passages) <= 8
    assert all(document.text[p.start : p.end] == p.text for p in document.passages)
    again, text = await library.document(source.id)
    assert (again.url, text) == (source.url, document.text)
    assert [hit.source for hit in await library.hybrid_search("mayor Anna Roth bridge", limit=1)] == [source.id]


async def test_h26_the_snapshot_stays_when_the_page_changes(library: PostgresLibrary, parser: ParserProcess):
    versions = [ARTICLE, ARTICLE.replace("1824", "1925")]

    async def respond(request: Request) -> Response:
        return Response(404) if request.path == "/robots.txt" else Response(200, versions.pop(0).encode(), "text/html")

    async with HttpServer(respond) as server:
        reader = _reader(server, parser, library)
        first = await reader.read(Hit(url=f"{server.url}/a", title="t", query="bridge"))
        second = await reader.read(Hit(url=f"{server.url}/a", title="t", query="bridge"))
    assert "1824" in (await library.document(first.source.id))[1]
    assert "1925" in (await library.document(second.source.id))[1]


EXPECTED = {
    "404": "not_found",
    "410": "not_found",
    "401": "not_content",
    "402": "not_content",
    "403": "not_content",
    "451": "not_content",
    "429": "failed",
    "500": "failed",
    "503": "failed",
    "999": "failed",
    "204": "empty",
    "hang": "timeout",
    "drip": "timeout",
    "cut": "read",
    "empty": "empty",  # bad-input H01
    "blank": "empty",
    "large": "read",  # bad-input H05: cut and marked, whatever its length says
    "endless": "read",  # bad-input H06: cut and marked
    "bomb": "too_large",  # bad-input H09
    "double-gzip": "read",
    "brotli": "unsupported",
    "damaged-gzip": "unsupported",
    "short-gzip": "read",
    "junk": "unsupported",
    "image": "unsupported",  # bad-input H03
    "image-as-html": "unsupported",  # bad-input H02
    "zip-as-html": "unsupported",
    "program": "unsupported",
    "broken-pdf": "broken",
    "wall": "not_content",  # bad-input H20
    "login": "not_content",
    "soft-404": "not_content",
    "front-page": "not_content",
    "noai": "robots",  # bad-input H21
    "to-private": "refused",
    "to-loopback": "refused",
    "to-loopback-v6": "refused",
    "to-metadata": "refused",
    "to-file": "refused",
    "to-nowhere": "refused",
    "to-user-data": "refused",
    "to-self": "failed",
    "loop": "failed",
    "chain": "failed",
    "upgrade": "failed",
    "refresh": "read",  # bad-input H18: what the page wants to lead to is not fetched
}


HASTY = {"hang": {"fetch_seconds": 2.0}, "drip": {"connect_seconds": 1.0}}  # how long the page itself is waited for


def test_every_fault_of_the_loopback_web_has_its_outcome():
    assert set(EXPECTED) == set(PAGE_FAULTS)


@pytest.mark.parametrize("fault", EXPECTED)
async def test_h_each_fault_ends_in_its_outcome(fault: str, library: PostgresLibrary, parser: ParserProcess):
    limits = replace(QUICK, **HASTY.get(fault, {}))
    async with LoopbackWeb(PAGES, faults={"/x*": fault}) as web:
        assert await _outcome(_reader(web, parser, library, limits), f"{web.url}/x") == EXPECTED[fault]
        assert all(request.method == "GET" for request in web.requests)


async def test_h06_a_cut_page_says_so(library: PostgresLibrary, parser: ParserProcess):
    async with LoopbackWeb(faults={"/x": "endless"}) as web:
        document = await _reader(web, parser, library).read(Hit(url=f"{web.url}/x", title="t", query="words"))
    assert document.truncated


@pytest.mark.parametrize("type_", ["application/pdf", "application/pdf; charset=binary", "text/html"])
async def test_a_pdf_is_read_as_pdf_whatever_its_type_says(type_: str, library: PostgresLibrary, parser: ParserProcess):
    body = made("The stone bridge of Weil was opened on 4 May 1824.")

    async def respond(request: Request) -> Response:
        return Response(404) if request.path == "/robots.txt" else Response(200, body, type_)

    async with HttpServer(respond) as server:
        document = await _reader(server, parser, library).read(Hit(url=f"{server.url}/b", title="t", query="bridge"))
    assert "opened on 4 May 1824" in document.text


@pytest.mark.parametrize(
    ("type_", "body", "text"),
    [
        ("text/html; charset=utf-7", "<p>+AGEAYQBh grüße from the river</p>".encode(), "grüße from the river"),
        ("text/html; charset=windows-1252", "<p>Grüße from the river</p>".encode("cp1252"), "Grüße from the river"),
        ("text/html; charset=koi8-r", "<p>Река и мост</p>".encode("koi8-r"), "Река и мост"),
        ("text/html; charset=utf-8", "<meta charset = 'koi8-r'><p>Река и мост</p>".encode("koi8-r"), "Река и мост"),
        ("text/html", '<?xml version="1.0" encoding="koi8-r"?><p>Река и мост</p>'.encode("koi8-r"), "Река и мост"),
        ("text/plain", b"Plain text about the river.\n", "Plain text about the river."),
        ("application/json", b'{"river": {"name": "The Aar"}}', "name: The Aar"),
        ("text/x-org", b"Plain text about the river.\n", "Plain text about the river."),
        ("html", b"<html><body><p>No type that is one, but a river.</p></body></html>", "but a river."),
        ("", b"<html><body><p>No type at all, but a river.</p></body></html>", "No type at all, but a river."),
    ],
    ids=[
        "H04 utf-7 refused",
        "H04 windows-1252",
        "H04 koi8-r",
        "own set",
        "own set as XML",
        "plain text",
        "json",
        "any text",
        "no such type",
        "H04 no type",
    ],
)
async def test_h04_types_and_character_sets(
    type_: str, body: bytes, text: str, library: PostgresLibrary, parser: ParserProcess
):
    async def respond(request: Request) -> Response:
        return Response(404) if request.path == "/robots.txt" else Response(200, body, type_)

    async with HttpServer(respond) as server:
        document = await _reader(server, parser, library).read(Hit(url=f"{server.url}/b", title="t", query="river"))
    assert text in document.text


@pytest.mark.parametrize("type_", ["application/octet-stream", "binary/octet-stream", "application/x-download"])
async def test_a_file_of_no_type_is_read_by_its_name_or_not_at_all(
    type_: str, library: PostgresLibrary, parser: ParserProcess
):
    async def respond(request: Request) -> Response:
        return Response(404) if request.path == "/robots.txt" else Response(200, BRIDGE.encode(), type_)

    async with HttpServer(respond) as server:
        reader = _reader(server, parser, library)
        names = ("/b.html?download=1", "/b", "/b.exe")
        assert [await _outcome(reader, f"{server.url}{name}") for name in names] == ["read", *["unsupported"] * 2]


@pytest.mark.parametrize("coding", ["none", "UTF-8", "binary"])
async def test_words_that_are_no_codings_keep_no_page_from_being_read(
    coding: str, library: PostgresLibrary, parser: ParserProcess
):
    async def respond(request: Request) -> Response:
        coded = {"content-encoding": coding}
        return Response(404) if request.path == "/robots.txt" else Response(200, BRIDGE.encode(), "text/html", coded)

    async with HttpServer(respond) as server:
        assert await _outcome(_reader(server, parser, library), f"{server.url}/b") == "read"


async def test_h21_noai_in_the_page_itself_is_heeded(library: PostgresLibrary, parser: ParserProcess):
    markup = '<html><head><meta content="index, noai" name="robots"><title>N</title></head><body><p>text here</p>'
    async with LoopbackWeb([WebPage.of_html("/n.html", markup)]) as web:
        assert await _outcome(_reader(web, parser, library), f"{web.url}/n.html") == "robots"


@pytest.mark.parametrize(
    ("said", "outcome"),
    [
        (["otherbot: noai"], "read"),
        (["otherbot: noindex, noai", "max-snippet: 5"], "read"),
        (["otherbot: noindex, corrobora: noai"], "robots"),
        (["*: noai"], "robots"),
        (["otherbot: none", "noai"], "robots"),
        (["unavailable_after: 25 Jun 2030 15:00:00 PST, noai"], "robots"),
    ],
)
async def test_h21_a_header_for_another_robot_is_not_for_this_one(
    said: list[str], outcome: str, library: PostgresLibrary, parser: ParserProcess
):
    names: tuple[str, ...] = ("x-robots-tag", "X-Robots-Tag")  # each a line of its own
    lines = dict[str, str](zip(names, said, strict=False))

    async def respond(request: Request) -> Response:
        return Response(404) if request.path == "/robots.txt" else Response(200, BRIDGE.encode(), "text/html", lines)

    async with HttpServer(respond) as server:
        assert await _outcome(_reader(server, parser, library), f"{server.url}/b") == outcome


@pytest.mark.parametrize(
    "url", ["file:///etc/passwd", "ftp://a.example/", "http://user@a.example/", "x", "", "http://[::1"]
)
async def test_f02_what_is_no_web_address_is_refused(url: str, library: PostgresLibrary, parser: ParserProcess):
    async with LoopbackWeb() as web:
        reader = _reader(web, parser, library)
        assert reader.accepts(Hit(url=url, title=""))
        assert await _outcome(reader, url) == "refused"


async def test_a_library_hit_is_left_to_the_library_s_reader(library: PostgresLibrary, parser: ParserProcess):
    async with LoopbackWeb() as web:
        assert not _reader(web, parser, library).accepts(Hit(url="x", title="", source=SourceId("S1")))


async def test_safe_7_twenty_pages_of_one_host_in_one_run(library: PostgresLibrary, parser: ParserProcess):
    limits = replace(QUICK, pages_per_host=3)
    async with LoopbackWeb(faults={"/x*": "404"}) as web:
        reader = _reader(web, parser, library, limits)
        found = [await _outcome(reader, f"{web.url}/x{n}") for n in range(5)]
        assert found == ["not_found"] * 3 + ["skipped"] * 2
        assert len(web.requests) == 4, "robots.txt and three pages"


async def test_truth_5_conservation_every_url_of_a_hostile_list_ends_in_exactly_one_outcome(
    library: PostgresLibrary, parser: ParserProcess
):
    """Good pages, all faults and unusable addresses at once, eight in flight."""
    chance = random.Random(11)
    quick = [fault for fault in PAGE_FAULTS if fault not in {"hang", "drip", "429", "503", "endless"}]
    async with LoopbackWeb(PAGES, faults={f"/{fault}/*": fault for fault in quick}) as web:
        urls = [f"{web.url}/{chance.choice(quick)}/{n}" for n in range(60)]
        urls += [f"{web.url}/aar.html?{n}" for n in range(10)]
        urls += ["http://10.0.0.1/", "http://localhost/", "file:///x", "", "http://0x7f.1/", "https://[fe80::1]/"]
        reader = _reader(web, parser, library)
        outcomes = await asyncio.gather(*[_outcome(reader, url) for url in urls])
    counted = Counter(outcomes)
    assert counted.total() == len(urls)
    assert set(counted) <= {outcome.value for outcome in ReadOutcome}
    assert counted["read"] >= 10


async def test_h11_a_page_that_hangs_the_parser_ends_and_the_next_one_is_read(library: PostgresLibrary):
    """100,000 nested elements: whatever the parser makes of them, the reader goes on."""
    deep = b"<html><body>" + b"<div>" * 100_000 + b"text of the deep page"

    async def respond(request: Request) -> Response:
        if request.path == "/deep":
            return Response(200, deep, "text/html")
        return Response(404) if request.path == "/robots.txt" else Response(200, ARTICLE.encode(), "text/html")

    async with HttpServer(respond) as server, ParserProcess() as parser:
        reader = _reader(server, parser, library)
        assert await _outcome(reader, f"{server.url}/deep") in {"read", "timeout", "broken", "too_large", "empty"}
        assert await _outcome(reader, f"{server.url}/next") == "read"


async def test_a_cancelled_read_leaves_the_reader_usable(library: PostgresLibrary, parser: ParserProcess):
    asked = asyncio.Event()

    async def respond(request: Request) -> Response:
        if request.path == "/x":
            asked.set()
            await asyncio.Event().wait()
        return Response(404) if request.path == "/robots.txt" else Response(200, ARTICLE.encode(), "text/html")

    async with HttpServer(respond) as server:
        reader = _reader(server, parser, library)
        task: asyncio.Task[Document] = asyncio.create_task(reader.read(Hit(url=f"{server.url}/x", title="", query="")))
        await asked.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert await _outcome(reader, f"{server.url}/aar.html") == "read"
