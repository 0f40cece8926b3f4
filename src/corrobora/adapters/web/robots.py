"""Robots: what a site asks of programs that read it.

Knows robots.txt as RFC 9309 says: 4xx is permission, 5xx and silence are not; 500 KiB are read; kept for a day.
Does not know how it is fetched: through the same gate as pages.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from protego import Protego

from corrobora.adapters.web.transport import Reply
from corrobora.adapters.web.urls import origin_of
from corrobora.domain.errors import ReadError
from corrobora.domain.evidence import ReadOutcome
from corrobora.domain.limits import LIMITS, Limits
from corrobora.ports import Clock

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
    """The rules of all sites that were asked. Share one between runs."""

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
        """Say whether the canonical `url` may be fetched; asks its site once a day."""
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
