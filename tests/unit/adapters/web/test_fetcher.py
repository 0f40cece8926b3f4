"""Politeness: one request in flight per host, a second apart, eight in all."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections import defaultdict
from dataclasses import replace
from urllib.parse import quote

import pytest
from tests.unit.adapters.web.loopback import QUICK, VirtualClock, fetch, outcome, raw_server, redirecting, visitor

from corrobora.adapters.web.fetcher import PageFetcher, Politeness
from corrobora.adapters.web.network import AllowList
from corrobora.domain.errors import ReadError
from corrobora.domain.limits import LIMITS
from corrobora.testing.http_server import HttpServer, Request, Response
from corrobora.testing.web import LoopbackWeb, WebPage


async def test_safe_7_f20_fifty_hosts_and_two_thousand_pages_without_one_violation():
    clock = VirtualClock()
    turns = Politeness(clock)
    chance = random.Random(7)
    log: defaultdict[str, list[tuple[float, float]]] = defaultdict(list)
    flying = most = 0

    async def visit(host: str, seconds: float) -> None:
        nonlocal flying, most
        async with turns.take_turn(host):
            flying += 1
            most = max(most, flying)
            began = clock.now()
            await clock.sleep(seconds)
            log[host].append((began, clock.now()))
            flying -= 1

    pages = [(f"h{chance.randrange(50)}.example", chance.random() * 3) for _ in range(2_000)]
    await clock.run(_all([visit(host, seconds) for host, seconds in pages]))
    assert sum(len(visits) for visits in log.values()) == 2_000
    assert most == LIMITS.fetches_at_once
    for visits in log.values():
        for (began, ended), (following, _) in itertools.pairwise(visits):
            assert following >= ended, "one in flight"
            assert following >= began + LIMITS.host_pause_seconds, "a second apart"


async def _all(work: list) -> None:
    await asyncio.gather(*work)


async def test_f21_a_pause_is_waited_for_or_the_host_is_left_alone():
    clock = VirtualClock()
    turns = Politeness(clock)

    async def work() -> None:
        async with turns.take_turn("a.example"):
            turns.delay_host("a.example", 12.0)
        async with turns.take_turn("a.example"):
            assert clock.now() >= 12.0
            turns.delay_host("a.example", 3_600.0)
        with pytest.raises(ReadError) as caught:
            async with turns.take_turn("a.example"):
                pass
        assert caught.value.outcome == "skipped"
        async with turns.take_turn("b.example"):
            pass

    await clock.run(work())


async def test_a_site_may_ask_for_a_longer_pause():
    clock = VirtualClock()
    turns = Politeness(clock)

    async def work() -> None:
        for _ in range(3):
            async with turns.take_turn("a.example", pause=5.0):
                pass
        assert clock.now() == 10.0

    await clock.run(work())


async def test_a_cancelled_visit_frees_its_turn():
    clock = VirtualClock()
    turns = Politeness(clock, replace(LIMITS, host_pause_seconds=0.0))
    inside = asyncio.Event()

    async def stay() -> None:
        async with turns.take_turn("a.example"):
            inside.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(stay())
    await inside.wait()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    async with asyncio.timeout(300), turns.take_turn("a.example"):
        pass


async def test_a_waiting_host_does_not_hold_a_slot_of_the_others():
    """Twenty pages of one host wait for each other; another host goes at once."""
    clock = VirtualClock()
    turns = Politeness(clock)
    done: list[tuple[str, float]] = []

    async def visit(host: str) -> None:
        async with turns.take_turn(host):
            done.append((host, clock.now()))

    await clock.run(_all([*[visit("slow.example") for _ in range(20)], visit("other.example")]))
    assert dict(done)["other.example"] == 0.0


PAGE = WebPage.of_html("/page.html", "<title>T</title><p>text</p>")


@pytest.mark.parametrize(
    ("fault", "expected"),
    {
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
    }.items(),
)
async def test_f06_redirects_that_lead_nowhere_good(fault: str, expected: str):
    async with LoopbackWeb(faults={"/x*": fault}) as web:
        assert await outcome(_visitor(web), f"{web.url}/x") == expected


def _visitor(web: LoopbackWeb, **changes: float) -> PageFetcher:
    server = HttpServer(redirecting)
    server.port = web.port
    return visitor(server, limits=replace(QUICK, **changes))


@pytest.mark.parametrize(("hops", "expected"), [(0, "read"), (5, "read"), (6, "failed")])
async def test_f06_five_redirects_are_followed(hops: int, expected: str):
    async def respond(request: Request) -> Response:
        number = int(request.path[1:]) if request.path[1:].isdigit() else -1
        if number < 0:
            return Response(404)
        return Response(302, headers={"location": str(number - 1)}) if number else Response(200, b"x", "text/html")

    async with HttpServer(respond) as server:
        at = visitor(server)
        assert await outcome(at, f"{server.url}/{hops}") == expected
        if expected == "read":
            assert (await fetch(at, f"{server.url}/{hops}")).url == f"{server.url}/0"


@pytest.mark.parametrize("location", ["//{host}/page", "/page", "page", "?", "{url}/page#part", " {url}/page "])
async def test_f06_relative_and_protocol_relative_redirects(location: str):
    async with HttpServer(redirecting) as server:
        there = location.format(url=server.url, host=server.url[7:])
        found = await outcome(visitor(server), f"{server.url}/to?url={quote(there)}")
    assert found == ("read" if "page" in location else "failed")


async def test_an_allowed_endpoint_is_never_reached_by_a_redirect_nor_under_an_address_that_nobody_named():
    async with HttpServer(redirecting) as public, HttpServer(redirecting) as inner:
        at = visitor(public, inner)
        assert await outcome(at, f"{public.url}/to?url={quote(f'{inner.url}/page')}") == "refused"
        with pytest.raises(ReadError, match="neither you nor a search named"):
            await at.fetch_page(f"{inner.url}/page", lambda _: None, named=False)
    async with HttpServer(redirecting) as inner:
        assert await outcome(visitor(inner), f"{inner.url}/to?url={quote(f'{inner.url}/page')}") == "read"


@pytest.mark.parametrize(
    ("location", "path"),
    [("/a b", "/a%20b"), ("/\u00e4?q=\u00fc", "/%E4?q=%FC"), ("/\u00c3\u00a4", "/%C3%A4"), ("/%e4%zz", "/%e4%zz")],
)
async def test_a_redirect_that_is_not_escaped_leads_where_a_browser_goes(location: str, path: str):
    async def respond(request: Request) -> Response:
        moved = Response(302, headers={"location": location})  # its letters are bytes of the wire
        return moved if request.path == "/moved" else Response(200, request.path.encode(), "text/plain")

    async with HttpServer(respond) as server:
        assert (await fetch(visitor(server), f"{server.url}/moved")).body.decode() == path


async def test_f07_a_redirect_from_https_to_http_is_refused():
    from corrobora.adapters.web.fetcher import _next_hop

    with pytest.raises(ReadError, match="https to http") as caught:
        _next_hop("https://a.example/", "http://a.example/b")
    assert caught.value.outcome == "refused"
    assert _next_hop("http://a.example/", "https://b.example/") == "https://b.example/"


async def test_f06_a_redirect_without_location_is_no_redirect():
    async with raw_server(b"HTTP/1.1 302 Found\r\ncontent-length: 0\r\n\r\n") as port:
        server = HttpServer(redirecting)
        server.port = port
        assert (await fetch(visitor(server), f"http://127.0.0.1:{port}/")).status == 302


async def test_h21_a_disallowed_page_is_not_requested():
    async with LoopbackWeb([PAGE], robots="User-agent: *\nDisallow: /page\nAllow: /page.html$\n") as web:
        at = _visitor(web)
        assert await outcome(at, f"{web.url}/page.html") == "read"
        assert await outcome(at, f"{web.url}/pages/1") == "robots"
        assert [request.path for request in web.requests] == ["/robots.txt", "/page.html"]


async def test_h21_a_redirect_to_a_disallowed_page_is_not_followed():
    async def respond(request: Request) -> Response:
        asked.append(request.path)
        if request.path == "/robots.txt":
            return Response(200, b"User-agent: Corrobora\nDisallow: /secret", "text/plain")
        return Response(302, headers={"location": "/secret"})

    asked: list[str] = []
    async with HttpServer(respond) as server:
        assert await outcome(visitor(server), f"{server.url}/open") == "robots"
    assert asked == ["/robots.txt", "/open"]


@pytest.mark.parametrize(
    ("fault", "expected"),
    {
        "404": "read",
        "401": "read",
        "403": "read",
        "410": "read",
        "500": "robots",
        "503": "robots",
        "429": "robots",
        "hang": "timeout",
        "endless": "read",
        "image": "read",
        "cut": "failed",
        "chain": "failed",
        "to-private": "refused",
        "bomb": "too_large",
    }.items(),
)
async def test_h22_what_a_missing_or_broken_robots_file_means(fault: str, expected: str):
    changes = {"fetch_seconds": 0.4} if fault == "hang" else {}
    async with LoopbackWeb([PAGE], faults={"/robots.txt*": fault}) as web:
        assert await outcome(_visitor(web, **changes), f"{web.url}/page.html") == expected


@pytest.mark.parametrize("delay", ["86400", "60"])
async def test_h22_a_crawl_delay_beyond_patience_skips_the_second_page(delay: str):
    async with LoopbackWeb([PAGE], robots=f"\ufeffUser-agent: *\nCrawl-delay: {delay}\n") as web:
        at = _visitor(web)
        assert await outcome(at, f"{web.url}/page.html") == "read"
        assert await outcome(at, f"{web.url}/page.html") == "skipped"


@pytest.mark.parametrize(("fault", "status"), [("429", 429), ("503", 503)])
async def test_f21_a_busy_host_is_left_alone(fault: str, status: int):
    async with LoopbackWeb([PAGE], faults={"/busy": fault}) as web:
        at = _visitor(web)
        assert (await fetch(at, f"{web.url}/busy")).status == status
        assert await outcome(at, f"{web.url}/page.html") == "skipped"
        assert [request.path for request in web.requests] == ["/robots.txt", "/busy"]


async def test_robots_are_asked_once_for_many_pages():
    async with LoopbackWeb([PAGE], robots="User-agent: *\nAllow: /\n") as web:
        at = _visitor(web)
        for number in range(5):
            await fetch(at, f"{web.url}/page.html?{number}")
        assert [request.path for request in web.requests].count("/robots.txt") == 1


async def test_f20_the_pages_of_a_host_are_a_second_apart_and_the_first_follows_its_robots_file():
    """On a virtual clock this costs nothing."""
    async with LoopbackWeb([PAGE]) as web:
        clock = VirtualClock()
        at = PageFetcher(clock, allow=AllowList(endpoints=frozenset({web.endpoint})))

        async def work() -> None:
            for _ in range(3):
                await fetch(at, f"{web.url}/page.html")

        await clock.run(work())
        assert [request.path for request in web.requests] == ["/robots.txt", *["/page.html"] * 3]
        assert 2.0 <= clock.time < 3.0
