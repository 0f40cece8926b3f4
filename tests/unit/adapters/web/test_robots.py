"""Robots: RFC 9309 by the letter, asked once a day."""

from __future__ import annotations

import asyncio

import pytest
from tests.unit.adapters.web.loopback import VirtualClock

from corrobora.adapters.web.fetcher import RobotsCache
from corrobora.adapters.web.transport import PageReply
from corrobora.domain.errors import ReadError
from corrobora.domain.evidence import ReadOutcome

SITE = "https://a.example"


class Site:
    """Answers for robots.txt and counts."""

    def __init__(self, status: int = 200, text: str | bytes = b"") -> None:
        self.status = status
        self.body = text if isinstance(text, bytes) else text.encode()
        self.asked: list[str] = []

    async def __call__(self, url: str) -> PageReply:
        self.asked.append(url)
        await asyncio.sleep(0)
        return PageReply(url, self.status, {}, self.body)


TEXTS = {  # (robots.txt, path, allowed)
    "empty": ("", "/x", True),
    "disallow all": ("User-agent: *\nDisallow: /", "/x", False),
    "disallow nothing": ("User-agent: *\nDisallow:", "/x", True),
    "our name": ("User-agent: *\nDisallow: /\n\nUser-agent: corrobora\nAllow: /", "/x", True),
    "only our name": ("User-agent: Corrobora\nDisallow: /x", "/x/y", False),
    "our name with a version": ("User-agent: Corrobora/2.0 (any)\rDisallow: /x", "/x", False),
    "our name with words": ("User-agent: *\nDisallow: /\n\nUser-agent: corrobora bot # us\nAllow: /", "/x", True),
    "a longer name": ("User-agent: CorroboraBot/2.0\nDisallow: /", "/x", True),
    "two agents": ("User-agent: other\nUser-agent: Corrobora\nDisallow: /x", "/x", False),
    "longest match": ("User-agent: *\nDisallow: /a\nAllow: /a/b", "/a/b/c", True),
    "wildcard": ("User-agent: *\nDisallow: /*.pdf$", "/a/b.pdf", False),
    "wildcard end": ("User-agent: *\nDisallow: /*.pdf$", "/a/b.pdf?x=1", True),
    "byte order mark": ("\ufeffUser-agent: *\nDisallow: /x", "/x", False),
    "html": ("<html><body>User-agent: * Disallow: /</body></html>", "/x", True),
    "comment": ("# all\nUser-agent: * # here\nDisallow: /x # this", "/x", False),
    "the file itself": ("User-agent: *\nDisallow: /", "/robots.txt", True),
}


@pytest.mark.parametrize("name", TEXTS)
async def test_h21_h22_rules(name: str):
    text, path, allowed = TEXTS[name]
    verdict = await RobotsCache(Site(200, text), VirtualClock()).check_url(SITE + path)
    assert verdict.allowed is allowed or name == "the file itself"


@pytest.mark.parametrize(("status", "allowed"), [(404, True), (401, True), (403, True), (410, True), (204, True)])
async def test_h22_4xx_is_permission(status: int, allowed: bool):
    assert (await RobotsCache(Site(status), VirtualClock()).check_url(f"{SITE}/x")).allowed is allowed


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504, 599])
async def test_h22_5xx_is_not(status: int):
    verdict = await RobotsCache(Site(status), VirtualClock()).check_url(f"{SITE}/x")
    assert (verdict.allowed, verdict.outcome) == (False, "robots")
    assert str(status) in verdict.why


async def test_h22_a_site_that_cannot_be_reached_is_not_called_forbidding():
    async def down(url: str) -> PageReply:
        raise ReadError(ReadOutcome.TIMEOUT, "No complete answer within 20 s.")

    verdict = await RobotsCache(down, VirtualClock()).check_url(f"{SITE}/x")
    assert (verdict.allowed, verdict.outcome) == (False, "timeout")


async def test_a_site_that_is_skipped_now_may_be_asked_later():
    async def paused(url: str) -> PageReply:
        raise ReadError(ReadOutcome.SKIPPED, "later")

    robots = RobotsCache(paused, VirtualClock())
    for _ in range(2):
        with pytest.raises(ReadError, match="later"):
            await robots.check_url(f"{SITE}/x")


async def test_h22_rules_after_500_kib_are_not_read():
    filler = "# x\n" * 128_000
    assert (
        await RobotsCache(Site(200, f"{filler}User-agent: *\nDisallow: /"), VirtualClock()).check_url(f"{SITE}/x")
    ).allowed


async def test_kept_for_a_day_then_asked_again():
    clock, site = VirtualClock(), Site(200, "User-agent: *\nCrawl-delay: 3")
    robots = RobotsCache(site, clock)
    verdicts = await asyncio.gather(*[robots.check_url(f"{SITE}/{n}") for n in range(10)])
    assert {verdict.pause for verdict in verdicts} == {3.0}
    clock.time = 86_399.0
    await robots.check_url(f"{SITE}/x")
    assert site.asked == [f"{SITE}/robots.txt"]
    clock.time = 86_400.0
    await robots.check_url(f"{SITE}/x")
    assert len(site.asked) == 2


async def test_other_ports_and_schemes_are_other_sites():
    site = Site(404)
    robots = RobotsCache(site, VirtualClock())
    for url in ("https://a.example/x", "https://a.example:8443/x", "http://a.example/x"):
        await robots.check_url(url)
    assert len(site.asked) == 3


async def test_the_memory_of_sites_is_bounded():
    site = Site(404)
    robots = RobotsCache(site, VirtualClock())
    for number in range(2_100):
        await robots.check_url(f"https://{number}.example/x")
    assert len(robots._sites) <= 2_000
