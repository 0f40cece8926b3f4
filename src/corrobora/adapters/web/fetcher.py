"""The page fetcher: from a URL to the bytes of a page, redirect by redirect, when its site allows it and not too fast.

Knows redirects, one request in flight per host, pauses between requests, a limit for all hosts together, and robots.txt
as RFC 9309 defines it: 4xx is permission, 5xx and silence are not. Every hop is checked like the first. Does not know
what a page contains or why it is wanted.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass
from urllib.parse import urljoin

from protego import Protego

from corrobora.adapters.http import parse_retry_after
from corrobora.adapters.web import DEFAULT_PORTS, check_url, host_of, origin_of, parse_url
from corrobora.adapters.web.network import AllowList, Resolver, VettedNetwork, resolve_host
from corrobora.adapters.web.transport import Bounds, ChooseBounds, PageReply, Transport
from corrobora.domain.errors import ReadError
from corrobora.domain.evidence import ReadOutcome
from corrobora.domain.limits import LIMITS, Limits
from corrobora.ports import Clock

_MANY_HOSTS = 10_000


class _HostState:
    __slots__ = ("lock", "next_start", "waiting")

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.next_start = 0.0
        self.waiting = 0


class Politeness:
    """The pacing of all page requests of a process: share one between runs (SAFE-7)."""

    def __init__(self, clock: Clock, limits: Limits = LIMITS) -> None:
        self._clock = clock
        self._limits = limits
        self._hosts: dict[str, _HostState] = {}
        self._all = asyncio.Semaphore(limits.fetches_at_once)

    @contextlib.asynccontextmanager
    async def take_turn(self, host: str, *, pause: float | None = 0.0) -> AsyncGenerator[None]:
        """Hold the turn of `host`; `pause` is the time between two pages that it asks for.

        With None the next page need not wait: robots.txt is asked for once a day, right before the first page.

        Raises:
            ReadError: `skipped`, if the host wants a longer pause than we wait.
        """
        state = self._host_state(host)
        state.waiting += 1
        try:
            async with state.lock:
                await self._wait_turn(host, state)
                async with self._all:
                    if pause is not None:
                        state.next_start = self._clock.now() + max(self._limits.host_pause_seconds, pause)
                    yield
        finally:
            state.waiting -= 1

    def delay_host(self, host: str, seconds: float) -> None:
        """Begin no request to `host` before `seconds` have passed, as it has asked (bad-input F21)."""
        state = self._host_state(host)
        state.next_start = max(state.next_start, self._clock.now() + seconds)

    async def _wait_turn(self, host: str, state: _HostState) -> None:
        while (left := state.next_start - self._clock.now()) > 0:
            if left > self._limits.host_max_pause_seconds:
                why = f"{host} asks for a pause of {left:.0f} s, more than this run waits for a host."
                raise ReadError(ReadOutcome.SKIPPED, why)
            await self._clock.sleep(left)

    def _host_state(self, host: str) -> _HostState:
        if len(self._hosts) > _MANY_HOSTS:
            now = self._clock.now()
            self._hosts = {name: each for name, each in self._hosts.items() if each.waiting or each.next_start > now}
        return self._hosts.setdefault(host, _HostState())


ROBOTS_AGENT = "Corrobora"
_MANY_SITES = 2_000
_OK, _ERRORS, _SERVER_ERRORS, _TOO_MANY = 200, 400, 500, 429
_RETRY_SECONDS = 600.0  # a site that did not answer is asked again sooner
_AFTER_TOKEN = re.compile(r"(user-?agent[ \t]*:[ \t]*[a-z_-]+)[^a-z_\r\n#-][^\r\n#]*", re.IGNORECASE)  # RFC 9309, 2.2.1


@dataclass(frozen=True, slots=True)
class RobotsVerdict:
    """Whether a URL may be fetched, why not, and the pause the site asks for between two requests.

    `outcome` says how a page ends that may not be fetched: a site that is down has not forbidden anything.
    """

    allowed: bool
    why: str = ""
    pause: float = 0.0
    outcome: ReadOutcome = ReadOutcome.ROBOTS


@dataclass(frozen=True, slots=True)
class _SiteRules:
    parsed: Protego | None  # None: one verdict for every page of the site
    otherwise: RobotsVerdict
    until: float


class RobotsCache:
    """The rules of all sites whose robots.txt was fetched. Share one between runs."""

    def __init__(
        self,
        fetch: Callable[[str], Awaitable[PageReply]],
        clock: Clock,
        limits: Limits = LIMITS,
    ) -> None:
        self._fetch = fetch
        self._clock = clock
        self._limits = limits
        self._sites: dict[str, _SiteRules] = {}
        self._asking: dict[str, asyncio.Lock] = {}

    async def check_url(self, url: str) -> RobotsVerdict:
        """Say whether a normalized `url` may be fetched; robots.txt is fetched once a day."""
        site = origin_of(url)
        async with self._asking.setdefault(site, asyncio.Lock()):
            rules = self._sites.get(site)
            if rules is None or rules.until <= self._clock.now():
                self._evict_rules()
                rules = self._sites[site] = await self._fetch_rules(site)
        if rules.parsed is None:
            return rules.otherwise
        if not rules.parsed.can_fetch(url, ROBOTS_AGENT):
            return RobotsVerdict(allowed=False, why="its robots.txt does not allow it")
        return RobotsVerdict(allowed=True, pause=max(0.0, rules.parsed.crawl_delay(ROBOTS_AGENT) or 0.0))

    async def _fetch_rules(self, site: str) -> _SiteRules:
        now = self._clock.now()
        later = now + self._limits.robots_cache_seconds
        try:
            reply = await self._fetch(f"{site}/robots.txt")
        except ReadError as error:
            if error.outcome == ReadOutcome.SKIPPED:
                raise
            refused = error.outcome == ReadOutcome.REFUSED
            why = error.message if refused else f"robots.txt comes first: {error.message}"
            verdict = RobotsVerdict(allowed=False, why=why.rstrip("."), outcome=ReadOutcome(error.outcome))
            return _SiteRules(None, verdict, now + _RETRY_SECONDS)
        if reply.status == _TOO_MANY or reply.status >= _SERVER_ERRORS:
            why = f"its robots.txt could not be read (HTTP {reply.status})"
            return _SiteRules(None, RobotsVerdict(allowed=False, why=why), now + _RETRY_SECONDS)
        if reply.status != _OK:
            return _SiteRules(None, RobotsVerdict(allowed=True), later)
        text = reply.body[: self._limits.robots_max_bytes].decode("utf-8-sig", "replace")
        return _SiteRules(Protego.parse(_AFTER_TOKEN.sub(r"\1", text)), RobotsVerdict(allowed=True), later)

    def _evict_rules(self) -> None:
        if len(self._sites) < _MANY_SITES:
            return
        now = self._clock.now()
        self._sites = {site: rules for site, rules in self._sites.items() if rules.until > now}
        while len(self._sites) >= _MANY_SITES:
            self._sites.pop(next(iter(self._sites)))
        self._asking = {site: lock for site, lock in self._asking.items() if lock.locked()}


_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_BUSY = frozenset({429, 503})
_PAGE_TYPES = "text/html,application/xhtml+xml,application/pdf;q=0.9,text/plain;q=0.8"
_ROBOTS_UNPACKED = 5_000_000


class PageFetcher:
    """Fetches pages for all runs of a process, with one pacing and one cache of robots.txt.

    Args:
        clock: times pauses and caches.
        allow: what the operator adds to the open web.
        resolve: how names become addresses.
        limits: times and sizes.
        tls: the certificates to trust in place of those of the public authorities.
    """

    def __init__(
        self,
        clock: Clock,
        *,
        allow: AllowList | None = None,
        resolve: Resolver = resolve_host,
        limits: Limits = LIMITS,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._endpoints = (allow or AllowList()).endpoints
        network = VettedNetwork(resolve=resolve, allow=allow, dns_seconds=limits.dns_seconds)
        self._transport = Transport(network, clock=clock, limits=limits, tls=tls)
        self._clock = clock
        self._limits = limits
        self._turns = Politeness(clock, limits)
        self._robots = RobotsCache(self._fetch_robots, clock, limits)

    async def fetch_page(self, url: str, wants: ChooseBounds, *, named: bool = True) -> PageReply:
        """Return the answer at the end of at most five redirects; its `url` is the normalized one of the last hop.

        The limit of time is for the network: waiting for a turn does not count. Endpoints that the operator added are
        reached only if a person or a search `named` the address, and never by a redirect from elsewhere.

        Raises:
            ReadError: `refused`, `robots`, `skipped`, `timeout`, `too_large`, `unsupported` or `failed`.
        """
        return await self._follow_redirects(url, wants, ask_robots=True, accept=_PAGE_TYPES, named=named)

    async def _fetch_robots(self, url: str) -> PageReply:
        bounds = Bounds(self._limits.robots_max_bytes, _ROBOTS_UNPACKED, truncate=True)
        reply = await self._follow_redirects(url, lambda head: bounds if head.status == _OK else None, ask_robots=False)
        if reply.truncated and len(reply.body) < bounds.wire:  # a rule may stand in what did not come
            raise ReadError(ReadOutcome.FAILED, "Its robots.txt ended early.")
        return reply

    async def _follow_redirects(
        self, url: str, wants: ChooseBounds, *, ask_robots: bool, accept: str = "*/*", named: bool = True
    ) -> PageReply:
        seen: set[str] = set()
        left = self._limits.fetch_seconds
        here = check_url(url)
        own = origin_of(here) if named else ""
        while True:
            if origin_of(here) != own and self._is_endpoint(here):
                raise ReadError(
                    ReadOutcome.REFUSED, "Not fetched: neither you nor a search named this private address."
                )
            if here in seen:
                raise ReadError(ReadOutcome.FAILED, "Its redirects form a loop.")
            if len(seen) > self._limits.redirects_max:
                raise ReadError(ReadOutcome.FAILED, f"It redirects more than {self._limits.redirects_max} times.")
            seen.add(here)
            pause = await self._check_robots(here) if ask_robots else None
            async with self._turns.take_turn(host_of(here), pause=pause):
                began = self._clock.now()
                reply = await self._transport.request_page(
                    here, lambda head: None if head.status in _REDIRECTS else wants(head), accept=accept, seconds=left
                )
                left -= self._clock.now() - began
            self._pause_busy_host(reply)
            if reply.status not in _REDIRECTS or not reply.get_header("location"):
                return reply
            here = _next_hop(here, reply.get_header("location"))
            if left <= 0:
                raise ReadError(ReadOutcome.TIMEOUT, f"No page within {self._limits.fetch_seconds:g} s.")

    def _is_endpoint(self, url: str) -> bool:
        target = parse_url(url)
        return (target.host, target.port or DEFAULT_PORTS[target.scheme]) in self._endpoints

    async def _check_robots(self, url: str) -> float:
        verdict = await self._robots.check_url(url)
        if not verdict.allowed:
            raise ReadError(verdict.outcome, f"Not fetched: {verdict.why}.")
        return verdict.pause

    def _pause_busy_host(self, reply: PageReply) -> None:
        """Leave a busy host alone for as long as it asks (bad-input F21)."""
        if reply.status in _BUSY:
            asked = parse_retry_after(reply.get_header("retry-after"), self._clock.utc_time())
            self._turns.delay_host(host_of(reply.url), asked if asked is not None else self._limits.host_pause_seconds)


def _next_hop(here: str, location: str) -> str:
    """Return where a redirect leads; one from https to http is refused (bad-input F07)."""
    try:
        there = check_url(urljoin(here, location))
    except ValueError as error:
        raise ReadError(ReadOutcome.REFUSED, "Not fetched (bad_url): its redirect is not a URL.") from error
    if here.startswith("https:") and there.startswith("http:"):
        raise ReadError(ReadOutcome.REFUSED, "Not fetched: it redirects from https to http.")
    return there
