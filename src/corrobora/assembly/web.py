"""The web of a run: search providers by name, and the readers of pages, built from settings and request.

Knows which adapter stands for which provider and where its key comes from; refuses what cannot work before anything is
paid. Does not search or read.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Mapping, Sequence

from corrobora.adapters.readers.child import ParserChild
from corrobora.adapters.readers.firecrawl import FirecrawlReader
from corrobora.adapters.readers.web import WebReader
from corrobora.adapters.search import exa, firecrawl, tavily
from corrobora.adapters.web.addresses import Allow
from corrobora.adapters.web.network import Resolve, system_resolve
from corrobora.adapters.web.visit import Visitor
from corrobora.domain.errors import UserError
from corrobora.domain.limits import LIMITS, Limits
from corrobora.domain.run import Request
from corrobora.ports import Clock, Library, Limiter, Reader, SearchProvider
from corrobora.settings import Settings

LimiterOf = Callable[[str], Limiter]
RATES: Mapping[str, float] = {"tavily": 1.6, "exa": 5.0, "firecrawl": 1.0}  # calls a second, over all workers
_PROVIDERS = {
    "tavily": (tavily.Tavily, tavily.BASE_URL),
    "exa": (exa.Exa, exa.BASE_URL),
    "firecrawl": (firecrawl.Firecrawl, firecrawl.BASE_URL),
}
_MAX_PORT = 65_535


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
    found: dict[str, SearchProvider] = {}
    for name in provider_names(settings, request):
        make, usual = _PROVIDERS[name]
        found[name] = make(
            settings.key(name).reveal(),
            clock=clock,
            base_url=settings.provider_urls.get(name, usual),
            limiter=limiter(name) if limiter is not None else None,
        )
    return found


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
    if not provider_names(settings, request):
        return ()
    direct = web.reader(library, space)
    if settings.reader != "firecrawl":
        return (direct,)
    service = firecrawl.Firecrawl(
        settings.key("firecrawl").reveal(),
        clock=web.clock,
        base_url=settings.provider_urls.get("firecrawl", firecrawl.BASE_URL),
        limiter=limiter("firecrawl") if limiter is not None else None,
    )
    return (FirecrawlReader(service, library, space), direct)


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
