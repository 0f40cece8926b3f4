"""Politeness and robots: when a request to a host may begin, and what a site allows programs to read.

Knows one request in flight per host, pauses between requests, a limit for all hosts together, and robots.txt as RFC
9309 defines it: 4xx is permission, 5xx and silence are not. Does not know what is requested. Time comes from the
injected clock.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass

from protego import Protego

from corrobora.adapters.web.transport import Reply
from corrobora.adapters.web.urls import origin_of
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
    async def take_turn(self, host: str, *, pause: float = 0.0) -> AsyncGenerator[None]:
        """Hold the turn of `host`; `pause` is the time between two requests that it asks for.

        Raises:
            ReadError: `skipped`, if the host wants a longer pause than we wait.
        """
        state = self._host_state(host)
        state.waiting += 1
        try:
            async with state.lock:
                await self._wait_turn(host, state)
                async with self._all:
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
                raise ReadError(
                    ReadOutcome.SKIPPED, f"{host} wants a pause of {left:.0f} s, more than this run waits for a host."
                )
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
        self, fetch: Callable[[str], Awaitable[Reply]], clock: Clock, limits: Limits = LIMITS, agent: str = ROBOTS_AGENT
    ) -> None:
        self._fetch = fetch
        self._clock = clock
        self._limits = limits
        self._agent = agent
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
        if not rules.parsed.can_fetch(url, self._agent):
            return RobotsVerdict(allowed=False, why="its robots.txt does not allow it")
        return RobotsVerdict(allowed=True, pause=max(0.0, rules.parsed.crawl_delay(self._agent) or 0.0))

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
        return _SiteRules(Protego.parse(text), RobotsVerdict(allowed=True), later)

    def _evict_rules(self) -> None:
        if len(self._sites) < _MANY_SITES:
            return
        now = self._clock.now()
        self._sites = {site: rules for site, rules in self._sites.items() if rules.until > now}
        while len(self._sites) >= _MANY_SITES:
            self._sites.pop(next(iter(self._sites)))
        self._asking = {site: lock for site, lock in self._asking.items() if lock.locked()}
