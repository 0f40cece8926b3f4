"""Recipients: who outside this machine is sent what in a run, in words for people.

Knows the settings and the request, so that `doctor`, the plan and the report say the same. Does not send anything.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit

from corrobora.config import Settings
from corrobora.domain.run import Request, RequestOption
from corrobora.engine.session.egress import has_private_libraries
from corrobora.registry import load_part

_HERE = ("localhost", "127.0.0.1", "::1")


def list_recipients(
    settings: Settings, request: Request, servers: Mapping[str, str], providers: tuple[str, ...]
) -> tuple[str, ...]:
    """Say for each recipient of a run what it is sent; empty if all stays on this machine.

    Args:
        settings: addresses of providers, embedder and stores.
        request: the libraries, pages and deliveries of the run.
        servers: the address of each model by its name.
        providers: the web search providers of the run.
    """
    return tuple(dict.fromkeys(_iter_recipients(settings, request, servers, providers)))


def _iter_recipients(
    settings: Settings, request: Request, servers: Mapping[str, str], providers: tuple[str, ...]
) -> Iterator[str]:
    words = _describe_words(request)
    for name in providers:
        address = settings.provider_urls.get(name, "") or load_part("search", name).base_url
        yield f"search provider {name} ({_host_of(address)}) gets queries{words}"
    if not settings.offline and (providers or request.sources):
        reader = "Firecrawl, which reads them, get" if settings.reader == "firecrawl" else "sites get"
        yield f"{reader} requests for pages that a search, a page or you named"
    if settings.allowed_endpoints and not settings.offline:
        named = ", ".join(settings.allowed_endpoints)
        yield f"sources.allowed_endpoints is on: pages at these private addresses may be read: {named}"
    private = ", private documents among them" if has_private_libraries(request) else ""
    for name, address in servers.items():
        if _leaves(address):
            yield f"model {name} ({_host_of(address)}) gets the question and every passage it reads{private}"
    if settings.embedder_url is not None and _leaves(settings.embedder_url):
        where = _host_of(settings.embedder_url)
        yield f"the embedder at {where} gets every text of the libraries and every search of them{private}"
    if settings.qdrant_url is not None and _leaves(settings.qdrant_url):
        yield f"the store of facts at {_host_of(settings.qdrant_url)} gets the facts of every run with their quotes"
    for name, target in request.output:
        if name != "folder":
            yield f"the {name} delivery ({target or 'as set'}) gets the finished report with its quotes"


def _describe_words(request: Request) -> str:
    if not has_private_libraries(request):
        return ""
    if request.get_option(RequestOption.ALLOW_EGRESS):
        return ", with words of private documents too (--allow-egress)"
    return " in words of the question, the plan, the web and the common language, none of private documents alone"


def _leaves(address: str) -> bool:
    return bool(address) and _host_of(address) not in _HERE


def _host_of(address: str) -> str:
    return urlsplit(address).hostname or address
