"""Wiring: what a run may touch, picked from settings and request: analysts, searches, readers, facts, and how much.

Knows which adapter stands for which name and where its key comes from, and refuses what cannot work before anything is
paid. Does not search or read.
"""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, TypeVar

from corrobora.adapters.library import LibraryReader, LibrarySearch
from corrobora.adapters.pacing import SystemClock
from corrobora.adapters.readers.parser import HTML, ParserProcess
from corrobora.app.models import (
    ModelPool,
    Targets,
    check_prices,
    check_servers,
    list_recipients,
    open_estimator,
    serve_in_turn,
)
from corrobora.config import Settings
from corrobora.domain.errors import UserError
from corrobora.domain.limits import LIMITS, Allowance, Limits
from corrobora.domain.plan import Plan
from corrobora.domain.run import Request, RequestOption
from corrobora.policies import Profile, derive_allowance
from corrobora.policies.budget import Estimate
from corrobora.policies.selection import SITE_SUFFIX
from corrobora.ports import Analyst, Clock, Library, Limiter, Reader, SearchProvider
from corrobora.registry import list_parts, load_part, refuse_name
from corrobora.reporting.report_format import read_frame
from corrobora.storage.postgres import Database
from corrobora.storage.queue.statements import RateLimiter

if TYPE_CHECKING:
    from corrobora.adapters.qdrant import QdrantFacts
    from corrobora.adapters.search import KeyedProvider
    from corrobora.adapters.web.fetcher import PageFetcher
    from corrobora.adapters.web.network import AllowList, Resolver

OpenLimiter = Callable[[str], Limiter]
FIRECRAWL_NAME = "firecrawl"
_MAX_PORT = 65_535
P = TypeVar("P", bound="KeyedProvider")


def provider_names(settings: Settings, request: Request) -> tuple[str, ...]:
    """Return the web search providers of a run, in order: the request's, else the settings'; none offline.

    Raises:
        UserError: an unknown name, or a provider asked for together with offline (bad-input C15, C17).
    """
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
        if name not in list_parts("search"):
            raise refuse_name("search", name)
    return names


def open_web_searches(
    settings: Settings, request: Request, limiter: OpenLimiter | None = None, *, clock: Clock
) -> Mapping[str, SearchProvider]:
    """Return the web search providers of a run by name, in order.

    Args:
        settings: keys, addresses, and the providers of every run.
        request: the providers of this run.
        limiter: opens the rate limit that all workers share for a provider.
        clock: for dates.

    Raises:
        UserError: as `provider_names`; or the key of a provider is not set, before any call is made.
    """
    names = provider_names(settings, request)
    return {name: _open_provider(load_part("search", name), settings, clock, limiter) for name in names}


def _open_provider(kind: type[P], settings: Settings, clock: Clock, limiter: OpenLimiter | None) -> P:
    """Open a provider at the operator's address with the operator's key. Raises `UserError` if that is not set."""
    own = settings.key(kind.name)
    make = partial(kind, contact=settings.contact or "") if kind.wants_contact else kind
    make = partial(make, command=settings.mcp_command or "") if kind.wants_command else make
    return make(
        own.reveal() if kind.needs_key or own.set else "",
        clock=clock,
        base_url=settings.provider_urls.get(kind.name, ""),
        limiter=limiter(kind.name) if limiter is not None else None,
    )


def _can_open(name: str, settings: Settings, clock: Clock) -> bool:
    try:
        _open_provider(load_part("search", name), settings, clock, None)
    except UserError:
        return False
    return True


def list_usable_searches(settings: Settings) -> tuple[str, ...]:
    """Return the names of the web searches that can be asked now: those that lack no key and no address."""
    names, clock = () if settings.offline else list_parts("search"), SystemClock()
    return tuple(name for name in names if _can_open(name, settings, clock))


def check_sources(settings: Settings, request: Request) -> None:
    """Refuse addresses that cannot be read first, before anything is paid.

    Raises:
        UserError: offline; what is no address of the web; a whole site without a reader that crawls.
    """
    if not request.sources:
        return
    from corrobora.adapters.web import BadUrl, normalize_url  # noqa: PLC0415 - as in `WebAccess`

    for source in request.sources:
        try:
            normalize_url(source)
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
        if source.endswith(SITE_SUFFIX) and settings.reader != FIRECRAWL_NAME:
            raise UserError(
                "source_site",
                f"The whole site {source[:80]} is asked for, but no reader here can crawl.",
                next_step='Set sources.reader = "firecrawl", or name single pages.',
            )


class WebAccess:
    """What the page reads of one process share: the pacing of hosts, the memory of robots, the parser's process.

    Open one per workspace and close it at the end. The HTTP library is loaded with the first reader: that takes 0.1
    CPU-s, and a run over a library reads no page.
    """

    def __init__(
        self, settings: Settings, clock: Clock, *, resolve: Resolver | None = None, limits: Limits = LIMITS
    ) -> None:
        self.clock = clock
        self._settings = settings
        self._resolve = resolve
        self._limits = limits
        self._child: ParserProcess | None = None
        self._started: asyncio.Future[None] | None = None

    def open_reader(self, library: Library, space: str, named: Sequence[str] = ()) -> Reader:
        """Return the page reader of one run."""
        from corrobora.adapters.readers.pages import WebReader  # noqa: PLC0415 - as said above

        if self._child is None:
            self._child = ParserProcess(loads=("trafilatura", HTML.read.partition(":")[0]))
            self._started = asyncio.ensure_future(self._child.start())  # it imports while the question is planned
        return WebReader(self._fetcher, self._child, library, space, clock=self.clock, limits=self._limits, named=named)

    @cached_property
    def _fetcher(self) -> PageFetcher:
        from corrobora.adapters.web.fetcher import PageFetcher  # noqa: PLC0415 - as said above
        from corrobora.adapters.web.network import resolve_host  # noqa: PLC0415 - as said above

        allow = parse_endpoints(self._settings)
        return PageFetcher(self.clock, allow=allow, resolve=self._resolve or resolve_host, limits=self._limits)

    async def close(self) -> None:
        """End the parser's process."""
        if self._child is not None and self._started is not None:
            await asyncio.wait([self._started])
            await self._child.close()


def open_web_readers(  # noqa: PLR0913 - the parts of the readers
    settings: Settings,
    request: Request,
    web: WebAccess,
    library: Library,
    space: str,
    *,
    limiter: OpenLimiter | None = None,
) -> Sequence[Reader]:
    """Return the readers of pages of a run, in order: none where nothing may come from the web.

    With `sources.reader = "firecrawl"` pages are fetched by Firecrawl; a page that it fails at is tried directly where
    the profile allows a second attempt.

    Raises:
        UserError: Firecrawl is to read and its key is not set, before any call is made.
    """
    if settings.offline or not (provider_names(settings, request) or request.sources):
        return ()
    direct = web.open_reader(library, space, (*request.sources, request.question, *request.plans))
    own = _open_mcp_reader(settings, request, library, space, web.clock, limiter)
    if settings.reader != FIRECRAWL_NAME:
        return (*own, direct)
    from corrobora.adapters.readers.pages import FirecrawlReader  # noqa: PLC0415 - as in `WebAccess`
    from corrobora.adapters.search.keyed import Firecrawl  # noqa: PLC0415

    return (*own, FirecrawlReader(_open_provider(Firecrawl, settings, web.clock, limiter), library, space), direct)


def _open_mcp_reader(  # noqa: PLR0913, PLR0917 - as `open_web_readers`
    settings: Settings, request: Request, library: Library, space: str, clock: Clock, limiter: OpenLimiter | None
) -> tuple[Reader, ...]:
    """Return the reader of documents that the MCP server of the operator has, if it searches in this run."""
    if "mcp" not in provider_names(settings, request):
        return ()
    from corrobora.adapters.readers.pages import McpReader  # noqa: PLC0415 - as in `WebAccess`
    from corrobora.adapters.search.mcp_server import McpSearch  # noqa: PLC0415

    return (McpReader(_open_provider(McpSearch, settings, clock, limiter), library, space),)


def parse_endpoints(settings: Settings) -> AllowList:
    """Return what the operator adds to the open web. Raises `UserError` for an entry that is no HOST:PORT."""
    from corrobora.adapters.web import check_host  # noqa: PLC0415 - as in `WebAccess`
    from corrobora.adapters.web.network import AllowList  # noqa: PLC0415 - as in `WebAccess`

    endpoints: set[tuple[str, int]] = set()
    for text in settings.allowed_endpoints:
        host, _, port = text.strip().lower().rpartition(":")
        try:
            number = int(port)
            named = bool(host.strip("0123456789.[]:")) and ":" not in host
            address = host if named else str(ipaddress.ip_address(host.strip("[]")))
            check_host(address)
        except ValueError:
            number, address = 0, ""
        if not 0 < number <= _MAX_PORT:
            raise UserError(
                "config_value",
                f"sources.allowed_endpoints holds {text[:60]!r}, which is not a host with a port.",
                next_step="Write it as 127.0.0.1:8098, [::1]:8098 or wiki.internal:443.",
            )
        endpoints.add((address, number))
    return AllowList(endpoints=frozenset(endpoints))


def open_analysts(settings: Settings, request: Request, profile: Profile, models: ModelPool) -> tuple[Analyst, ...]:
    """Return the analysts in order: those of other packages, the models, and the extractive one, which always answers.

    Raises:
        UserError: a model cannot be used; or none may be without a price, and nobody accepted it (BUDGET-3; bad-input
        C16).
    """
    wishes = {**settings.models, **dict(request.models)}
    accepted = settings.accept_unknown_price or request.get_option(RequestOption.ACCEPT_UNKNOWN_PRICE)
    if request.get_option(RequestOption.MAX_USD) and not accepted:
        check_prices(models.choose_targets(wishes, thinking=profile.lead_thinking))
    named = request.get_option(RequestOption.LANGUAGE)
    language = read_frame(request).language if named else ""
    model = models.get_analyst(wishes, thinking=profile.lead_thinking, language=language)
    added = [load_part("analysts", name)() for name in settings.analysts]
    last = load_part("analysts", "extractive")()
    return (*added, last) if model is None else (*added, model, last)


def run_allowance(request: Request, profile: Profile) -> Allowance:
    """What a run may use: the time of its profile, and the tokens, dollars and searches of its request."""
    names = (RequestOption.MAX_TOKENS, RequestOption.MAX_USD, RequestOption.MAX_SEARCHES)
    tokens, dollars, searched = map(request.get_option, names)
    return derive_allowance(
        profile,
        tokens=int(tokens) if tokens else None,
        dollars=float(dollars) if dollars else None,
        searches=int(searched) if searched else None,
    )


def open_searches(
    settings: Settings, request: Request, library: Library, limiter: OpenLimiter, clock: Clock
) -> Mapping[str, SearchProvider]:
    """The search providers of a run, by name: the libraries as one, and the web where providers are named."""
    found: dict[str, SearchProvider] = dict(open_web_searches(settings, request, limiter, clock=clock))
    if request.libraries or not found:
        found = {LibrarySearch.name: LibrarySearch(library), **found}
    return found


def open_fact_store(settings: Settings) -> QdrantFacts | None:
    """Return the store of facts outside the database, None if none is named. Raises `UserError` without the extra."""
    if settings.qdrant_url is None:
        return None
    if find_spec("qdrant_client") is None:
        raise UserError(
            "facts_extra",
            "The setting facts.qdrant_url needs the client of Qdrant, which is not installed.",
            next_step="In a checkout of Corrobora: pip install '.[qdrant]'",
        )
    from corrobora.adapters.qdrant import QdrantFacts  # noqa: PLC0415 - heavy, and an option

    secret = settings.key("qdrant")
    return QdrantFacts.from_url(settings.qdrant_url, secret.reveal() if secret.set else "")


class Wiring:
    """The adapters that all runs of one process share, and from which the ports of each run are made."""

    def __init__(
        self,
        settings: Settings,
        database: Database,
        open_web: Callable[[Settings, Clock], WebAccess] | None = None,
    ) -> None:
        self.clock = SystemClock()
        self._settings = settings
        self._database = database
        self._models = ModelPool(settings)
        self._web = (open_web or WebAccess)(settings, self.clock)
        self.facts = open_fact_store(settings)

    def open_analysts(self, request: Request, profile: Profile) -> tuple[Analyst, ...]:
        """The chain of analysts of a request. Raises `UserError` as the function does."""
        return open_analysts(self._settings, request, profile, self._models)

    def open_estimator(self, request: Request, profile: Profile) -> Callable[[Plan], Estimate] | None:
        """Return what estimates the plans of a run, or None if none of its models costs anything."""
        return open_estimator(request, profile, self._choose_models(request, profile))

    def list_recipients(self, request: Request, profile: Profile) -> tuple[str, ...]:
        """Say who outside this machine is sent what in a run."""
        targets = self._choose_models(request, profile)
        return list_recipients(self._settings, request, targets, provider_names(self._settings, request))

    def asks_in_turn(self, request: Request, profile: Profile) -> bool:
        """True if the models of a request are likely to serve one call after the other."""
        return serve_in_turn(self._choose_models(request, profile))

    def _choose_models(self, request: Request, profile: Profile) -> Targets:
        """Return the models of a run by tier: those of the settings, and over them those of the request."""
        wishes = {**self._settings.models, **dict(request.models)}
        return self._models.choose_targets(wishes, thinking=profile.lead_thinking)

    def check_request(self, request: Request, profile: Profile) -> None:
        """Refuse models, providers, sources, proxies and certificates that cannot be used. Raises `UserError`."""
        self.open_analysts(request, profile)
        open_web_searches(self._settings, request, clock=self.clock)
        check_sources(self._settings, request)
        self.list_recipients(request, profile)

    async def check_model_servers(self, request: Request, profile: Profile) -> None:
        """Refuse a model that was named for this run if nobody listens at its address. Raises `ModelSilent`."""
        if request.get_option(RequestOption.MODEL_REQUIRED):
            await check_servers(self._choose_models(request, profile))

    def open_searches(self, request: Request, library: Library) -> Mapping[str, SearchProvider]:
        return open_searches(self._settings, request, library, self._open_limiter, self.clock)

    def open_readers(self, request: Request, library: Library, space: str) -> tuple[Reader, ...]:
        """The readers of a run; what they read is stored in `space` of the library."""
        pages = open_web_readers(self._settings, request, self._web, library, space, limiter=self._open_limiter)
        return (LibraryReader(library), *pages)

    def open_page_reader(self, library: Library, space: str) -> Reader:
        """The reader of web pages outside of a run; what it reads is stored in `space` of the library."""
        return self._web.open_reader(library, space)

    def _open_limiter(self, provider: str) -> Limiter:
        own = self._settings.provider_rates.get(provider)
        return RateLimiter(self._database, provider, rate=own or load_part("search", provider).calls_per_second)

    async def close(self) -> None:
        """Close connections and end the parser's process."""
        await self._models.close()
        if self.facts is not None:
            await self.facts.close()
        await self._web.close()
