"""Readers of web pages: from a hit with a URL to a stored document, fetched by this machine or by Firecrawl.

Know which answers are content, how many pages of one host a run may read, and that a private address is not passed on
to Firecrawl, which may run in the same network. Do not know addresses, redirects or robots (the fetcher does), formats
(the parser does), or what a page is needed for.
"""

from __future__ import annotations

import ipaddress
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from corrobora.adapters.http import parse_published
from corrobora.adapters.library import store_page
from corrobora.adapters.readers.parser import TEXT, ParserProcess, map_types
from corrobora.adapters.search.keyed import Firecrawl, ScrapedPage
from corrobora.adapters.search.mcp_server import IDENTIFIER, NAME, McpSearch
from corrobora.adapters.web import BadUrl, check_url, host_of, normalize_url
from corrobora.adapters.web.fetcher import PageFetcher
from corrobora.adapters.web.network import blocked_reason
from corrobora.adapters.web.transport import USER_AGENT, Bounds, PageReply
from corrobora.domain.errors import ReadError
from corrobora.domain.evidence import Document, Hit, ReadOutcome, SourceId
from corrobora.domain.limits import LIMITS, Limits
from corrobora.policies.selection import ASKED_PROVIDER, GIVEN_PROVIDER
from corrobora.ports import Clock, Library, ParsedDocument

_UNSEARCHED = (GIVEN_PROVIDER, ASKED_PROVIDER)  # what a plan, a page or a model named
_READ = frozenset({200, 203})
_GONE = frozenset({404, 410})
_CLOSED = frozenset({401, 402, 403, 407, 451})
_NOTHING = frozenset({204, 205})
_CHARSET = re.compile(r"charset\s*=\s*[\"']?([A-Za-z0-9_.:-]{1,40})", re.IGNORECASE)
_UNTYPED = re.compile(r"(?:application|binary|unknown)/(?:octet-stream|(?:x-|force-)?download|unknown)")
_TYPE = re.compile(r"[\w.+-]+/[\w.+-]+")
_PROGRAMS = ("text/css", "text/javascript", "text/ecmascript")
_NO_AI = re.compile(r"(?:^|[\s,:])noai(?:$|[\s,])", re.IGNORECASE)
_ROBOT = re.compile(r"\s*([^\s:,]+)\s*:(?=\s*(?:no|all|index|follow|max-|unavailable))", re.IGNORECASE)
_OUR_NAME = USER_AGENT.partition("/")[0].lower()
_META = re.compile(rb"<meta[^>]{0,200}name\s*=\s*[\"']?robots[\"']?[^>]{0,200}>", re.IGNORECASE)
_META_BYTES = 50_000


class WebReader:
    """`Reader` of pages for one run.

    Every read ends in a document or in a `ReadError` with one of the outcomes. What a page says is data: nothing in it
    is followed or run.

    Args:
        fetcher: fetches; shared between runs, so that hosts are paced for all of them.
        parser: parses; killed when a page takes too long.
        library: keeps the snapshots, in the space `space`.
        clock: says which dates lie in the future.
        limits: sizes, and pages of one host in one run.
        named: texts of the person, whose addresses may lead to endpoints that the operator added.
    """

    def __init__(  # noqa: PLR0913 - the parts of one reader
        self,
        fetcher: PageFetcher,
        parser: ParserProcess,
        library: Library,
        space: str,
        *,
        clock: Clock,
        limits: Limits = LIMITS,
        named: Sequence[str] = (),
    ) -> None:
        self._fetcher = fetcher
        self._named = named
        self._parser = parser
        self._library = library
        self._space = space
        self._clock = clock
        self._limits = limits
        self._of_host: Counter[str] = Counter()

    def accepts(self, hit: Hit) -> bool:
        """True for a hit that is not in the library; an address that is not of the web is then refused by name."""
        return hit.source is None

    async def read(self, hit: Hit) -> Document:
        """Fetch, parse and store the page of `hit`; return it with the passages worth reading. Raises `ReadError`."""
        self._count_page(hit.url)
        named = hit.provider not in _UNSEARCHED or any(hit.url in text for text in self._named)
        reply = await self._fetcher.fetch_page(hit.url, self._choose_bounds, named=named)
        _check_status(reply)
        _check_front_page(hit.url, reply.url)
        if _forbids_ai(reply):
            raise ReadError(ReadOutcome.ROBOTS, "The page asks not to be read by programs of this kind (noai).")
        charset = _CHARSET.search(reply.get_header("content-type"))
        parsed = await self._parser.parse_document(
            reply.body,
            name=reply.url.partition("?")[0],
            content_type=_type_of(reply) or "text/html",
            charset=charset[1] if charset else "",
        )
        now = self._clock.utc_time()
        date = parse_published(parsed.published, now) or parse_published(hit.published, now)
        parsed = replace(parsed, truncated=parsed.truncated or reply.truncated)
        document = await store_page(
            parsed, hit, url=reply.url, published=date, library=self._library, space=self._space
        )
        if not document.passages:
            raise ReadError(ReadOutcome.EMPTY, "The page has no readable passage.")
        return document

    def _count_page(self, url: str) -> None:
        """Count a page of its host, and refuse the one that would be too many."""
        host = host_of(check_url(url))
        if self._of_host[host] >= self._limits.pages_per_host:
            raise ReadError(
                ReadOutcome.SKIPPED, f"This run has read {self._limits.pages_per_host} pages of {host}, its limit."
            )
        self._of_host[host] += 1

    def _choose_bounds(self, head: PageReply) -> Bounds | None:
        """Decide from status and type whether the body is read at all (bad-input H03, H05)."""
        if head.status not in _READ:
            return None
        type_ = _type_of(head)
        reader = map_types().get(type_ or "text/html")
        if reader is None and type_.startswith("text/") and type_ not in _PROGRAMS:
            reader = TEXT
        if reader is None and _UNTYPED.fullmatch(type_):
            reader = map_types().get(PurePosixPath(head.url.partition("?")[0].lower()).suffix)
        if reader is None:
            raise ReadError(ReadOutcome.UNSUPPORTED, f"Its type is {type_[:80]}, which no reader supports.")
        if reader.whole:
            return Bounds(self._limits.pdf_wire_bytes, self._limits.pdf_decoded_bytes)
        return Bounds(self._limits.page_wire_bytes, self._limits.page_decoded_bytes, truncate=True)


def _type_of(reply: PageReply) -> str:
    """Return the media type, "" for none and for what is none, such as "html": then the page is taken for HTML."""
    found = reply.get_header("content-type").partition(";")[0].partition(",")[0].strip().lower()
    return found if _TYPE.fullmatch(found) else ""


def _check_status(reply: PageReply) -> None:
    """Turn every status but success into its outcome (bad-input F17)."""
    status = reply.status
    if status in _READ:
        return
    if status in _GONE:
        raise ReadError(ReadOutcome.NOT_FOUND, f"The page is not there (HTTP {status}).")
    if status in _CLOSED:
        raise ReadError(ReadOutcome.NOT_CONTENT, f"The page is not open to everybody (HTTP {status}).")
    if status in _NOTHING:
        raise ReadError(ReadOutcome.EMPTY, f"The page is empty (HTTP {status}).")
    raise ReadError(ReadOutcome.FAILED, f"The site answered with HTTP {status}.")


def _check_front_page(asked: str, got: str) -> None:
    """Refuse a page that led to the front page of its own site: it is gone, whatever the status.

    Requirement: bad-input H20.
    """
    wanted = normalize_url(asked)
    if _url_path(wanted) != "/" and _url_path(got) == "/" and _site_name(wanted) == _site_name(got):
        raise ReadError(ReadOutcome.NOT_CONTENT, "The page redirects to the front page of its site, so it is gone.")


def _url_path(url: str) -> str:
    return "/" + url.partition("://")[2].partition("/")[2]


def _site_name(url: str) -> str:
    return host_of(url).removeprefix("www.")


def _forbids_ai(reply: PageReply) -> bool:
    """True if header or head of the page say `noai` (bad-input H21)."""
    if any(_NO_AI.search(line) for line in _list_directives(reply.get_header("x-robots-tag"))):
        return True
    metas = _META.findall(reply.body[:_META_BYTES])
    return any(_NO_AI.search(meta.decode("latin-1").replace('"', " ").replace("'", " ")) for meta in metas)


def _list_directives(header: str) -> Iterator[str]:
    """Yield what a header says to every robot or to ours; a name holds to the end of its line, or to the next name."""
    for line in header.splitlines():
        ours = True
        for part in line.split(","):
            if (named := _ROBOT.match(part)) is not None:
                ours = named[1].lower() in ("*", _OUR_NAME)
            if ours:
                yield part


_FIRST_ERROR = 400


class FirecrawlReader:
    """`Reader` over Firecrawl's scrape, for pages that need a browser; `Crawler` of whole small sites."""

    def __init__(self, firecrawl: Firecrawl, library: Library, space: str) -> None:
        self._firecrawl = firecrawl
        self._library = library
        self._space = space

    def accepts(self, hit: Hit) -> bool:
        return hit.source is None

    async def read(self, hit: Hit) -> Document:
        """Scrape and store one page. Raises `ReadError`, or `ProviderError` if Firecrawl itself failed."""
        page = await self._firecrawl.scrape_page(_check_public(hit.url))
        return await self._store_page(page, hit)

    async def crawl(self, url: str, *, limit: int) -> Sequence[Hit]:
        """Store at most `limit` pages of one site; pages that say nothing are left out."""
        found: dict[SourceId, Hit] = {}
        for page in await self._firecrawl.crawl_site(_check_public(url), limit=limit):
            try:
                source = (await self._store_page(page, Hit(url=page.url, title=page.title))).source
            except ReadError:
                continue  # one page of a site that is not there is not a failure of the crawl
            hit = Hit(source.url, source.title, provider=self._firecrawl.name, published=source.published)
            found.setdefault(source.id, replace(hit, source=source.id))
        return tuple(found.values())

    async def _store_page(self, page: ScrapedPage, hit: Hit) -> Document:
        if page.status >= _FIRST_ERROR:
            outcome = ReadOutcome.NOT_FOUND if page.status in _GONE else ReadOutcome.FAILED
            raise ReadError(outcome, f"The page answered Firecrawl with HTTP {page.status}.")
        if not page.text.strip():
            raise ReadError(ReadOutcome.EMPTY, "Firecrawl found no text on the page.")
        try:
            url = normalize_url(page.url)
        except BadUrl:
            url = normalize_url(hit.url)
        parsed = _parse_markdown(page.text)
        parsed = replace(parsed, title=page.title or parsed.title)
        date = page.published or hit.published
        return await store_page(parsed, hit, url=url, published=date, library=self._library, space=self._space)


def _check_public(url: str) -> str:
    """Return the normalized URL. Raises `ReadError` `refused` for a bad one, or a private address as a number."""
    checked = check_url(url)
    try:
        why = blocked_reason(ipaddress.ip_address(host_of(checked)))
    except ValueError:
        why = "this machine" if host_of(checked).rpartition(".")[2] in {"localhost", "local", "internal"} else None
    if why is not None:
        raise ReadError(ReadOutcome.REFUSED, f"Not fetched: {why}.")
    return checked


def _parse_markdown(text: str) -> ParsedDocument:
    from corrobora.adapters.readers.markup import read_markdown  # noqa: PLC0415 - a page is read by the parser

    return read_markdown(text.encode())


class McpReader:
    """`Reader` of the hits of an MCP server that name a document of it."""

    def __init__(self, server: McpSearch, library: Library, space: str) -> None:
        self._server = server
        self._library = library
        self._space = space

    def accepts(self, hit: Hit) -> bool:
        return hit.source is None and hit.provider == NAME and hit.identifier.startswith(IDENTIFIER)

    async def read(self, hit: Hit) -> Document:
        """Fetch and store one document. Raises `ReadError`, or `ProviderError` if the server itself failed."""
        title, text = await self._server.fetch_document(hit.identifier.removeprefix(IDENTIFIER))
        if not text:
            raise ReadError(ReadOutcome.EMPTY, "The MCP server has no text of the document.")
        parsed = _parse_markdown(text)
        parsed = replace(parsed, title=title or hit.title or parsed.title)
        shown = replace(hit, identifier="")
        return await store_page(
            parsed, shown, url=hit.url, published=hit.published, library=self._library, space=self._space
        )
