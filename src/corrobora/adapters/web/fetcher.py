"""The page fetcher: from a URL to the bytes of a page, redirect by redirect.

Knows redirects, robots and turns: every hop is checked like the first. Does not know what a page contains or why it is
wanted.
"""

from __future__ import annotations

import ssl
from urllib.parse import urljoin

from corrobora.adapters.http import parse_retry_after
from corrobora.adapters.web.network import AllowList, Resolver, VettedNetwork, resolve_host
from corrobora.adapters.web.politeness import Politeness, RobotsCache
from corrobora.adapters.web.transport import USER_AGENT, Bounds, ChooseBounds, Reply, Transport
from corrobora.adapters.web.urls import check_url, host_of
from corrobora.domain.errors import ReadError
from corrobora.domain.evidence import ReadOutcome
from corrobora.domain.limits import LIMITS, Limits
from corrobora.ports import Clock

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_BUSY = frozenset({429, 503})
_OK = 200
_PAGE_TYPES = "text/html,application/xhtml+xml,application/pdf;q=0.9,text/plain;q=0.8"
_ROBOTS_UNPACKED = 5_000_000


class PageFetcher:
    """Fetches pages for all runs of a process, with one pacing and one cache of robots.txt.

    Args:
        clock: times pauses and caches.
        allow: what the operator adds to the open web.
        resolve: how names become addresses.
        limits: times and sizes.
        user_agent: names the program; an operator may add an address for complaints.
        tls: the certificates to trust in place of those of the public authorities.
    """

    def __init__(  # noqa: PLR0913 - what an operator may set
        self,
        clock: Clock,
        *,
        allow: AllowList | None = None,
        resolve: Resolver = resolve_host,
        limits: Limits = LIMITS,
        user_agent: str = USER_AGENT,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        network = VettedNetwork(resolve=resolve, allow=allow, dns_seconds=limits.dns_seconds)
        self._transport = Transport(network, clock=clock, limits=limits, user_agent=user_agent, tls=tls)
        self._clock = clock
        self._limits = limits
        self._turns = Politeness(clock, limits)
        self._robots = RobotsCache(self._fetch_robots, clock, limits)

    async def fetch_page(self, url: str, wants: ChooseBounds) -> Reply:
        """Return the answer at the end of at most five redirects; its `url` is the normalized one of the last hop.

        The limit of time is for the network: waiting for a turn does not count.

        Raises:
            ReadError: `refused`, `robots`, `skipped`, `timeout`, `too_large`, `unsupported` or `failed`.
        """
        return await self._follow_redirects(url, wants, ask_robots=True, accept=_PAGE_TYPES)

    async def _fetch_robots(self, url: str) -> Reply:
        bounds = Bounds(self._limits.robots_max_bytes, _ROBOTS_UNPACKED, truncate=True)
        return await self._follow_redirects(url, lambda head: bounds if head.status == _OK else None, ask_robots=False)

    async def _follow_redirects(self, url: str, wants: ChooseBounds, *, ask_robots: bool, accept: str = "*/*") -> Reply:
        seen: set[str] = set()
        left = self._limits.fetch_seconds
        here = check_url(url)
        while True:
            if here in seen:
                raise ReadError(ReadOutcome.FAILED, "Its redirects lead in a circle.")
            if len(seen) > self._limits.redirects_max:
                raise ReadError(ReadOutcome.FAILED, f"It redirects more than {self._limits.redirects_max} times.")
            seen.add(here)
            pause = await self._check_robots(here) if ask_robots else 0.0
            async with self._turns.take_turn(host_of(here), pause=pause):
                began = self._clock.now()
                reply = await self._transport.request_page(
                    here, _skip_redirect_body(wants), accept=accept, seconds=left
                )
                left -= self._clock.now() - began
            self._pause_busy_host(reply)
            if reply.status not in _REDIRECTS or not reply.get_header("location"):
                return reply
            here = _next_hop(here, reply.get_header("location"))
            if left <= 0:
                raise ReadError(ReadOutcome.TIMEOUT, f"No page within {self._limits.fetch_seconds:g} s.")

    async def _check_robots(self, url: str) -> float:
        verdict = await self._robots.check_url(url)
        if not verdict.allowed:
            raise ReadError(verdict.outcome, f"Not fetched: {verdict.why}.")
        return verdict.pause

    def _pause_busy_host(self, reply: Reply) -> None:
        """Leave a busy host alone for as long as it asks (bad-input F21)."""
        if reply.status in _BUSY:
            asked = parse_retry_after(reply.get_header("retry-after"), self._clock.utc_time())
            self._turns.delay_host(host_of(reply.url), asked if asked is not None else self._limits.host_pause_seconds)


def _skip_redirect_body(wants: ChooseBounds) -> ChooseBounds:
    return lambda head: None if head.status in _REDIRECTS else wants(head)


def _next_hop(here: str, location: str) -> str:
    """Return where a redirect leads; one from https to http is refused (bad-input F07)."""
    try:
        there = check_url(urljoin(here, location))
    except ValueError as error:
        raise ReadError(ReadOutcome.REFUSED, "Not fetched (bad_url): its redirect is no URL.") from error
    if here.startswith("https:") and there.startswith("http:"):
        raise ReadError(ReadOutcome.REFUSED, "Not fetched: it redirects from https to http.")
    return there
