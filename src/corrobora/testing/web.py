"""A web on loopback: a folder of real pages over HTTP, and three search engines over them.

Knows how to serve files, to rank them by their words, to answer in the shapes of Tavily, Exa and Firecrawl, and to do
wrong where a test asks for it (`http_server.py`). Does not know the adapters that are tested with it.
`python -m corrobora.testing.web FOLDER --port 8098 --fault "/slow=hang"` serves until it is stopped.
"""

from __future__ import annotations

import argparse
import asyncio
import html
import json
import math
import mimetypes
import re
import sys
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self
from urllib.parse import unquote, urlsplit

from corrobora.testing.http_server import (
    API_FAULTS,
    PAGE_FAULTS,
    HttpServer,
    Request,
    Response,
    api_answer,
    page_answer,
)
from corrobora.text.tokens import stem_text

_TITLE = re.compile(r"<title[^>]{0,200}>([^<]{0,400})", re.IGNORECASE)
_HIDDEN = re.compile(r"<(script|style)\b.{0,200000}?</\1>", re.IGNORECASE | re.DOTALL)
_TAG = re.compile(r"<[^<>]{0,2000}>")
_SNIPPET = 300
_SUFFIXES = {".md": "text/markdown; charset=utf-8", ".txt": "text/plain; charset=utf-8"}


@dataclass(frozen=True, slots=True)
class WebPage:
    """One page: its path, its bytes and type, and its words for the search engine.

    With `cut_after`, the connection is closed after so many bytes, though more were promised.
    """

    path: str
    body: bytes
    content_type: str
    title: str = ""
    text: str = ""
    published: str = ""
    cut_after: int | None = None

    @classmethod
    def of_html(cls, path: str, markup: str, *, published: str = "") -> WebPage:
        found = _TITLE.search(markup)
        text = html.unescape(_TAG.sub(" ", _HIDDEN.sub(" ", markup)))
        title = html.unescape(found[1]).strip() if found else path
        return cls(path, markup.encode(), "text/html; charset=utf-8", title, " ".join(text.split()), published)

    @classmethod
    def of_file(cls, folder: Path, file: Path) -> WebPage:
        """A page from a file; its path is the file's place in the folder."""
        path = "/" + file.relative_to(folder).as_posix()
        body = file.read_bytes()
        type_ = _SUFFIXES.get(file.suffix.lower()) or mimetypes.guess_type(file.name)[0] or "application/octet-stream"
        if type_ == "text/html":
            return cls.of_html(path, body.decode("utf-8", "replace"))
        text = body.decode("utf-8", "replace") if type_.startswith("text/") else file.stem.replace("-", " ")
        return cls(path, body, type_, file.stem.replace("-", " "), " ".join(text.split()))


@dataclass(slots=True)
class LoopbackWeb:
    """Serves while its context is open.

    Args:
        pages: what lies on this web; `LoopbackWeb.of_folder` takes a folder.
        faults: paths or beginnings of paths (ending in `*`), each with the name of a fault of `PAGE_FAULTS`.
        api_faults: for each search call in turn, a fault of `API_FAULTS` or ""; later calls are answered well.
        robots: text of robots.txt; None: there is none.
        key: the only key that the search engines accept; "" accepts all.
        extra_results: addresses that every search returns before its own results, as hostile as you like.
        hosts: what pages are spread over: addresses of loopback (127.x.y.z), each served, or names; whoever reads
            those must resolve them to 127.0.0.1.
        redirects: paths, each with the address that it redirects to; may be filled while the web is open.
    """

    pages: Sequence[WebPage] = ()
    faults: Mapping[str, str] = field(default_factory=dict[str, str])
    api_faults: Sequence[str] = ()
    robots: str | None = None
    key: str = ""
    extra_results: Sequence[str] = ()
    hosts: Sequence[str] = ("127.0.0.1",)
    redirects: Mapping[str, str] = field(default_factory=dict[str, str])
    port: int = 0
    requests: list[Request] = field(default_factory=list[Request])
    searches: list[str] = field(default_factory=list[str])
    _servers: Sequence[HttpServer] = ()
    _ranking: _Ranking | None = None

    @classmethod
    def of_folder(cls, folder: Path, **options: object) -> LoopbackWeb:
        files = sorted(file for file in folder.rglob("*") if file.is_file())
        return cls([WebPage.of_file(folder, file) for file in files], **options)  # pyright: ignore[reportArgumentType]

    @property
    def url(self) -> str:
        """Address of pages and search engines alike: give it to the adapters as `base_url`."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def endpoint(self) -> tuple[str, int]:
        """The address and port that a reader must be allowed to reach."""
        return ("127.0.0.1", self.port)

    async def __aenter__(self) -> Self:
        unknown = ({*self.faults.values()} - set(PAGE_FAULTS)) | ({*self.api_faults} - set(API_FAULTS) - {""})
        if unknown:
            message = f"unknown faults: {', '.join(sorted(unknown))}"
            raise ValueError(message)
        self._ranking = _Ranking(self.pages)
        first = await HttpServer(self._handle_request, port=self.port).__aenter__()
        self.port = first.port
        others = [host for host in self.hosts if host.startswith("127.") and host != "127.0.0.1"]
        servers = [HttpServer(self._handle_request, port=self.port, host=host) for host in others]
        self._servers = [first, *[await each.__aenter__() for each in servers]]
        return self

    async def __aexit__(self, *_: object) -> None:
        for each in self._servers:
            await each.__aexit__()

    async def _handle_request(self, request: Request) -> Response:
        self.requests.append(request)
        path = urlsplit(request.path).path
        if request.method == "POST" and path in {"/search", "/v2/search", "/v2/scrape"}:
            return await self._serve_api(path, request)
        if path in self.redirects:
            return Response(302, headers={"location": self.redirects[path]})
        fault = self._find_fault(path)
        if fault:
            return await page_answer(fault, request)
        if path == "/robots.txt":
            return Response(404) if self.robots is None else Response(200, self.robots.encode(), "text/plain")
        return self._serve_page(unquote(path))

    def _find_fault(self, path: str) -> str:
        for place, fault in self.faults.items():
            if path == place or (place.endswith("*") and path.startswith(place[:-1])):
                return fault
        return ""

    def _serve_page(self, path: str) -> Response:
        for page in self.pages:
            if path in {page.path, page.path.removesuffix("index.html")}:
                return Response(200, page.body, page.content_type, cut_after=page.cut_after)
        return Response(404, b"<html><title>Not found</title><p>There is no such page.</html>", "text/html")

    async def _serve_api(self, path: str, request: Request) -> Response:
        number = len(self.searches)
        asked = json.loads(request.body or b"{}")
        self.searches.append(str(asked.get("query", asked.get("url", ""))))
        fault = self.api_faults[number] if number < len(self.api_faults) else ""
        if fault:
            return await api_answer(fault)
        given = request.headers.get("authorization", "").removeprefix("Bearer ") or request.headers.get("x-api-key", "")
        if self.key and given != self.key:
            return Response(401, b'{"error": "unknown key"}')
        return Response(body=json.dumps(self._search_answer(path, request, asked)).encode())

    def _search_answer(self, path: str, request: Request, asked: Mapping[str, object]) -> object:
        if path == "/v2/scrape":
            return self._scrape_answer(str(asked.get("url", "")))
        limit = asked.get("max_results") or asked.get("numResults") or asked.get("limit") or 5
        query = re.sub(r"\bsite:\S+", "", str(asked.get("query", "")))
        assert self._ranking is not None
        ranked = self._ranking.rank_pages(query, int(str(limit)))
        extra = [(WebPage(url, b"", "", title=url), 1.0) for url in self.extra_results]
        found = [(page, score, self._page_url(page)) for page, score in [*extra, *ranked]]
        if path == "/v2/search":
            return {"success": True, "data": {"web": [_firecrawl_row(*each) for each in found]}}
        if "x-api-key" in request.headers:
            return {"requestId": "loopback", "results": [_exa_row(*each) for each in found]}
        return {"query": query, "results": [_tavily_row(*each) for each in found], "response_time": 0.01}

    def _page_url(self, page: WebPage) -> str:
        if "://" in page.path:
            return page.path
        return f"http://{self.hosts[zlib.crc32(page.path.encode()) % len(self.hosts)]}:{self.port}{page.path}"

    def _scrape_answer(self, url: str) -> object:
        page = next((page for page in self.pages if self._page_url(page) == url), None)
        about = {"title": page.title if page else "", "sourceURL": url, "statusCode": 200 if page else 404}
        return {"success": True, "data": {"markdown": page.text if page else "", "metadata": about}}


def _tavily_row(page: WebPage, score: float, url: str) -> object:
    row = {"url": url, "title": page.title, "content": page.text[:_SNIPPET], "score": score, "raw_content": None}
    return {**row, "published_date": page.published} if page.published else row


def _exa_row(page: WebPage, score: float, url: str) -> object:
    row = {"id": url, "url": url, "title": page.title, "score": score, "author": None}
    return {**row, "text": page.text[:_SNIPPET], "publishedDate": page.published or None}


def _firecrawl_row(page: WebPage, score: float, url: str) -> object:
    del score
    return {"url": url, "title": page.title, "description": page.text[:_SNIPPET]}


class _Ranking:
    """BM25 over whole pages."""

    def __init__(self, pages: Sequence[WebPage]) -> None:
        self._pages = pages
        self._words = [Counter(stem_text(f"{page.title} {page.title} {page.text}")) for page in pages]
        self._spread = Counter(word for words in self._words for word in words)
        self._mean = max(1.0, sum(words.total() for words in self._words) / max(1, len(pages)))

    def rank_pages(self, query: str, limit: int) -> list[tuple[WebPage, float]]:
        wanted = set(stem_text(query))
        scored = [(self._score_page(words, wanted), at) for at, words in enumerate(self._words)]
        best = sorted(((score, at) for score, at in scored if score > 0), key=lambda each: (-each[0], each[1]))[:limit]
        top = best[0][0] if best else 1.0
        return [(self._pages[at], round(score / top, 6)) for score, at in best]

    def _score_page(self, words: Counter[str], wanted: set[str]) -> float:
        n = len(self._pages)
        length = 0.25 + 0.75 * words.total() / self._mean
        return sum(
            math.log(1 + (n - self._spread[word] + 0.5) / (self._spread[word] + 0.5))
            * words[word]
            / (words[word] + 1.2 * length)
            for word in wanted
            if words[word]
        )


async def _serve_forever(web: LoopbackWeb) -> None:
    async with web:
        print(f"Pages and search at {web.url} ({len(web.pages)} pages). Stop with Ctrl+C.", file=sys.stderr)  # noqa: T201
        await asyncio.Event().wait()


def main(arguments: Sequence[str]) -> int:
    """Serve a folder from the command line."""
    parser = argparse.ArgumentParser(prog="python -m corrobora.testing.web", description="A web on loopback.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--robots", type=Path, help="a file to serve as robots.txt")
    parser.add_argument("--fault", action="append", default=[], metavar="PATH=NAME", help=", ".join(PAGE_FAULTS))
    given = parser.parse_args(arguments)
    faults = dict(text.split("=", 1) for text in given.fault)
    robots = given.robots.read_text() if given.robots else None
    try:
        asyncio.run(_serve_forever(LoopbackWeb.of_folder(given.folder, port=given.port, faults=faults, robots=robots)))
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
