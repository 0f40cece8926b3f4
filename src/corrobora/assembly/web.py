"""The web of a run: search providers by name, and the readers of pages, built from settings and request.

Knows which adapter stands for which provider and where its key comes from; refuses what cannot work before anything is
paid. Does not search or read.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from corrobora.adapters.readers.child import ParserChild
from corrobora.adapters.readers.firecrawl import FirecrawlReader
from corrobora.adapters.readers.web import WebReader
from corrobora.adapters.search.api import Keyed
from corrobora.adapters.search.exa import Exa
from corrobora.adapters.search.firecrawl import Firecrawl
from corrobora.adapters.search.tavily import Tavily
from corrobora.adapters.web.addresses import Allow
from corrobora.adapters.web.network import Resolve, system_resolve
from corrobora.adapters.web.urls import BadUrl, canonical
from corrobora.adapters.web.visit import Visitor
from corrobora.config import Settings
from corrobora.domain.errors import UserError
from corrobora.domain.limits import LIMITS, Limits
from corrobora.domain.run import Request
from corrobora.policies.selection import SITE
from corrobora.ports import Clock, Library, Limiter, Reader, SearchProvider

LimiterOf = Callable[[str], Limiter]
RATES: Mapping[str, float] = {"tavily": 1.6, "exa": 5.0, "firecrawl": 1.0}  # calls a second, over all workers
_PROVIDERS = {each.name: each for each in (Tavily, Exa, Firecrawl)}
FIRECRAWL = Firecrawl.name
_MAX_PORT = 65_535
P = TypeVar("P", bound=Keyed)


def provider_names(settings: Settings, request: Request) -> tuple[str, ...]:
    """Return the web search providers of a run, in order: the request's, else the settings'; none offline.

    Raises:
        UserError: an unknown name, or a provider asked for together with offline (safety C15, C17).
    """
    known = ", ".join(_PROVIDERS)
    if settings.offline:
        if request.providers:
            raise UserError(
                "config_contradiction",
                f"The run is offline, but {', '.join(request.providers)} is asked for.",
                next_step="Leave out --offline or --provider.",
            )
        return ()
    names = tuple(dict.fromkeys(request.providers or settings.providers))
    for name in names:
        if name not in _PROVIDERS:
            raise UserError(
                "provider_unknown", f"There is no search provider {name[:40]!r}.", next_step=f"Name one of: {known}."
            )
    return names


def web_searches(
    settings: Settings, request: Request, limiter: LimiterOf | None = None, *, clock: Clock
) -> Mapping[str, SearchProvider]:
    """Return the web search providers of a run by name, in order.

    Args:
        settings: keys, addresses, and the providers of every run.
        request: the providers of this run.
        limiter: gives the rate limit that all workers share for a provider; see `RATES`.
        clock: for dates.

    Raises:
        UserError: as `provider_names`; or the key of a provider is not set, before any call is made.
    """
    names = provider_names(settings, request)
    return {name: _opened(_PROVIDERS[name], settings, clock, limiter) for name in names}


def _opened(kind: type[P], settings: Settings, clock: Clock, limiter: LimiterOf | None) -> P:
    """Open a provider at the operator's address with the operator's key. Raises `UserError` if that is not set."""
    return kind(
        settings.key(kind.name).reveal(),
        clock=clock,
        base_url=settings.provider_urls.get(kind.name, ""),
        limiter=limiter(kind.name) if limiter is not None else None,
    )


def check_sources(settings: Settings, request: Request) -> None:
    """Refuse addresses that cannot be read first, before anything is paid.

    Raises:
        UserError: offline; what is no address of the web; a whole site without a reader that crawls.
    """
    for source in request.sources:
        try:
            canonical(source)
        except BadUrl as error:
            raise UserError(
                "source_address",
                f"The source {source[:80]!r} cannot be read: {error}.",
                next_step="Give a web address.",
            ) from error
        if settings.offline:
            raise UserError(
                "config_contradiction",
                f"The run is offline, but {source[:80]} is on the web.",
                next_step="Leave out one.",
            )
        if source.endswith(SITE) and settings.reader != FIRECRAWL:
            raise UserError(
                "source_site",
                f"The whole site {source[:80]} is asked for, and nothing here can crawl.",
                next_step='Set sources.reader = "firecrawl", or name single pages.',
            )


class Web:
    """What the page reads of one process share: the pacing of hosts, the memory of robots, the parser's process.

    Open one per workspace and close it at the end.
    """

    def __init__(
        self, settings: Settings, clock: Clock, *, resolve: Resolve = system_resolve, limits: Limits = LIMITS
    ) -> None:
        self.clock = clock
        self._limits = limits
        self._visitor = Visitor(clock, allow=allowed(settings), resolve=resolve, limits=limits)
        self._child = ParserChild()

    def reader(self, library: Library, space: str) -> Reader:
        """Return the page reader of one run."""
        return WebReader(self._visitor, self._child, library, space, clock=self.clock, limits=self._limits)

    async def close(self) -> None:
        """End the parser's process."""
        await self._child.close()


def web_readers(  # noqa: PLR0913 - the parts of the readers
    settings: Settings, request: Request, web: Web, library: Library, space: str, *, limiter: LimiterOf | None = None
) -> Sequence[Reader]:
    """Return the readers of pages of a run, in order: none where nothing may come from the web.

    With `sources.reader = "firecrawl"` pages are fetched by Firecrawl; a page that it fails at is tried directly where
    the profile allows a second attempt.

    Raises:
        UserError: Firecrawl is to read and its key is not set, before any call is made.
    """
    if settings.offline or not (provider_names(settings, request) or request.sources):
        return ()
    direct = web.reader(library, space)
    if settings.reader != FIRECRAWL:
        return (direct,)
    return (FirecrawlReader(_opened(Firecrawl, settings, web.clock, limiter), library, space), direct)


def allowed(settings: Settings) -> Allow:
    """Return what the operator adds to the open web. Raises `UserError` for an entry that is no ADDRESS:PORT."""
    endpoints: set[tuple[str, int]] = set()
    for text in settings.allowed_endpoints:
        host, _, port = text.rpartition(":")
        try:
            address = ipaddress.ip_address(host.strip("[]"))
            number = int(port)
        except ValueError:
            number = 0
            address = None
        if address is None or not 0 < number <= _MAX_PORT:
            raise UserError(
                "config_value",
                f"sources.allowed_endpoints holds {text[:60]!r}, which is no address with a port.",
                next_step="Write it as 127.0.0.1:8098 or [::1]:8098.",
            )
        endpoints.add((str(address), number))
    return Allow(endpoints=frozenset(endpoints))
