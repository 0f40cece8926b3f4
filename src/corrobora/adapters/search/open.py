"""Search without a paid key: SearXNG, Wikipedia, Crossref, arXiv and PubMed; and Brave, which has a free plan.

Knows their wire formats, the identifiers of works (DOI, arXiv, PMID), and what they ask of a program: how often it may
call, and a contact address in what it sends. Does not know profiles, budgets, the journal or the library.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from html import unescape
from typing import cast
from urllib.parse import urlencode
from xml.etree import ElementTree as ET

from corrobora.adapters.search import KeyedProvider, ResultRow, clean_line, is_mapping, read_fields
from corrobora.domain.errors import ProviderError, UserError
from corrobora.domain.evidence import Hit, Query
from corrobora.text.authors import MOST_AUTHORS, name_group, name_person
from corrobora.text.tokens import split_words, stem_word

_MOST = 20  # results that one call asks for
_BRAVE_CHARS, _BRAVE_WORDS = 400, 50  # of one query
_ARXIV_WORDS = 8
_SEARXNG_ROW = read_fields("url", "title", "content", "score", "publishedDate")
_TAG = re.compile(r"</?[A-Za-z][^<>]{0,200}>")
_ATOM = "{http://www.w3.org/2005/Atom}"
_ARXIV = "{http://arxiv.org/schemas/atom}"


def _plain(value: object) -> object:
    """Return marked-up text without its tags; other values as they are."""
    return unescape(_TAG.sub("", value)) if isinstance(value, str) else value


def _pick(value: object, *names: str) -> object:
    """Return what lies under some names in nested objects, None if something is missing."""
    for name in names:
        value = value.get(name) if is_mapping(value) else None
    return value


def _first(value: object) -> object:
    return cast("list[object]", value)[0] if isinstance(value, list) and value else None


class OpenProvider(KeyedProvider):
    """The base of providers that anybody may ask. A key is optional: it is sent as a bearer token."""

    needs_key = False
    wants_contact = True
    refused = "Set sources.contact, by which those who run it can tell this program from others."

    async def get_rows(self, path: str, params: Mapping[str, object], *names: str) -> object:
        """Return the list under `names` in the answer, None for another shape. Raises `ProviderError`."""
        return _pick(await self._get(path, params), *names)

    async def _get(self, path: str, params: Mapping[str, object], language: str = "") -> object:
        answer = await self._api.get_json(f"{path}?{urlencode(params)}", language=language)
        if not is_mapping(answer):
            raise ProviderError.bad_content(self.name, "the answer is not an object")
        return answer


def _count(limit: int) -> int:
    return max(1, min(limit, _MOST))


def _main_language(query: Query) -> str:
    """Return the language without its region, such as `pt` of `pt-BR`."""
    return query.language.partition("-")[0].lower()


def _with_site(query: Query) -> str:
    return f"{query.text} site:{query.site}" if query.site else query.text


class SearXNG(OpenProvider):
    """`SearchProvider` over an instance of SearXNG of one's own, with the format `json` switched on."""

    name = "searxng"
    calls_per_second = 2.0
    refused = "Its settings must list json under search.formats, and its limiter must let this machine through."

    def __init__(self, key: str, *, base_url: str = "", **more: object) -> None:
        if not base_url:
            raise UserError(
                "provider_address",
                "SearXNG is a server of your own, and its address is not set.",
                next_step="Set sources.searxng_url, such as http://127.0.0.1:8888.",
            )
        base_url = base_url.rstrip("/").removesuffix("/search")  # as a browser shows it
        super().__init__(key, base_url=base_url, **more)  # pyright: ignore[reportArgumentType]

    async def search(self, query: Query, /, *, limit: int) -> Sequence[Hit]:
        language = {"language": query.language} if query.language else {}
        answer = await self._get("/search", {"q": _with_site(query), "format": "json", **language})
        rows = _pick(answer, "results")
        silent = _pick(answer, "unresponsive_engines")
        if rows == [] and isinstance(silent, list) and silent:  # nobody was searched: the web is not empty
            pairs = [cast("list[object]", each) for each in cast("list[object]", silent) if isinstance(each, list)]
            why = "; ".join(": ".join(clean_line(str(part))[:60] for part in pair[:2]) for pair in pairs[:5])
            message = f"{self.name} found nothing, because its engines did not answer ({why})."
            raise ProviderError("provider_failed", message, provider=self.name)
        return self.list_hits(rows, _SEARXNG_ROW, query, limit)


class Brave(OpenProvider):
    """`SearchProvider` over Brave's web search; its free plan wants a key and allows one call a second."""

    name = "brave"
    base_url = "https://api.search.brave.com"
    needs_key = True
    wants_contact = False

    def auth_headers(self, key: str) -> Mapping[str, str]:
        return {"X-Subscription-Token": key}

    async def search(self, query: Query, /, *, limit: int) -> Sequence[Hit]:
        text = " ".join(_with_site(query).split()[:_BRAVE_WORDS])[:_BRAVE_CHARS]
        language = {"search_lang": _main_language(query)} if query.language else {}
        answer = await self._get("/res/v1/web/search", {"q": text, "count": _count(limit), **language})
        empty = _pick(answer, "type") == "search" and _pick(answer, "web") is None  # then it has no part `web`
        return [] if empty else self.list_hits(_pick(answer, "web", "results"), _read_brave, query, limit)


def _read_brave(row: Mapping[str, object]) -> ResultRow:
    return ResultRow(
        row.get("url"), _plain(row.get("title")), _plain(row.get("description")), None, row.get("page_age")
    )


class Wikipedia(OpenProvider):
    """`SearchProvider` over the full-text search of Wikipedia; snippets are the first lines of the articles."""

    name = "wikipedia"
    base_url = "https://{language}.wikipedia.org"
    calls_per_second = 1.0  # calls one after the other

    async def search(self, query: Query, /, *, limit: int) -> Sequence[Hit]:
        params = {
            "action": "query",
            "format": "json",
            "formatversion": 2,
            "generator": "search",
            "gsrsearch": query.text[:300],
            "gsrlimit": _count(limit),
            "prop": "info|extracts|revisions",
            "inprop": "url",
            "rvprop": "timestamp",
            "exintro": 1,
            "explaintext": 1,
            "exlimit": "max",
        }
        answer = await self._get("/w/api.php", params, _main_language(query) or "en")
        rows = _pick(answer, "query", "pages")
        if rows is None and "query" not in cast("Mapping[str, object]", answer) and _pick(answer, "batchcomplete"):
            rows = []
        if isinstance(rows, list):
            rows = sorted(cast("list[object]", rows), key=_index_of_page)
        return self.list_hits(rows, _read_wikipedia, query, limit)


def _index_of_page(row: object) -> int:
    index = _pick(row, "index")
    return index if isinstance(index, int) else 0


def _read_wikipedia(row: Mapping[str, object]) -> ResultRow:
    changed = _pick(_first(row.get("revisions")), "timestamp")
    return ResultRow(row.get("fullurl"), row.get("title"), row.get("extract"), None, changed)


class Crossref(OpenProvider):
    """`SearchProvider` over Crossref's register of scholarly works; each has a DOI."""

    name = "crossref"
    base_url = "https://api.crossref.org"
    calls_per_second = 1.0

    async def search(self, query: Query, /, *, limit: int) -> Sequence[Hit]:
        contact = {"mailto": self.contact} if self.contact else {}
        params = {"query.bibliographic": query.text, "rows": _count(limit), **contact}
        rows = await self.get_rows("/works", params, "message", "items")
        return self.list_hits(rows, _read_crossref, query, limit)


def _read_crossref(row: Mapping[str, object]) -> ResultRow:
    doi = clean_line(row.get("DOI"))
    date = _write_date(_first(_pick(row.get("published"), "date-parts")))
    summary = _plain(row.get("abstract")) or _first(row.get("container-title"))
    named = f"doi:{doi}" if doi else ""
    title, authors = _plain(_first(row.get("title"))), _read_authors(row.get("author"), _name_crossref)
    return ResultRow(row.get("URL"), title, summary, row.get("score"), date, named, authors)


def _name_crossref(author: Mapping[str, object]) -> str:
    """Return the name of a person, or of a group, which has neither a family nor a given name."""
    family, given = clean_line(author.get("family")), clean_line(author.get("given"))
    if family and given:
        return name_person(f"{family}, {given}")
    return name_group(family or clean_line(author.get("name")))


def _read_authors(rows: object, read: Callable[[Mapping[str, object]], str]) -> list[str]:
    listed = cast("list[object]", rows)[:MOST_AUTHORS] if isinstance(rows, list) else []
    return [read(each) for each in listed if is_mapping(each)]


def _write_date(parts: object) -> str:
    """Return the date of `[2024, 2, 29]`, the year of `[2024, 2]`, "" for anything else."""
    numbers = [each for each in cast("list[object]", parts) if isinstance(each, int)] if isinstance(parts, list) else []
    if not numbers or not 999 < numbers[0] < 10_000:  # noqa: PLR2004 - four digits
        return ""
    return "{:04}-{:02}-{:02}".format(*numbers) if len(numbers) == 3 else str(numbers[0])  # noqa: PLR2004 - a day


class ArXiv(OpenProvider):
    """`SearchProvider` over arXiv; it answers in Atom and asks for at most one call in three seconds."""

    name = "arxiv"
    base_url = "https://export.arxiv.org"
    calls_per_second = 1 / 3

    async def search(self, query: Query, /, *, limit: int) -> Sequence[Hit]:
        words = list(dict.fromkeys(word for word in split_words(query.text) if stem_word(word)))[:_ARXIV_WORDS]
        asked = " OR ".join(f"all:{word}" for word in words)
        params = {"search_query": asked, "max_results": _count(limit), "sortBy": "relevance"}
        data = await self._api.get_bytes(f"/api/query?{urlencode(params)}")
        return self.list_hits([_read_entry(entry) for entry in self._parse_feed(data)], _read_arxiv, query, limit)

    def _parse_feed(self, data: bytes) -> list[ET.Element]:
        """Return the entries. A document type is refused: an Atom feed has none, and entities are made there."""
        try:
            root = None if b"<!DOCTYPE" in data else ET.fromstring(data)  # noqa: S314 - no entities, size is bounded
        except ET.ParseError as error:
            if data.strip() and not data.lstrip().startswith(b"<"):
                raise ProviderError.bad_content(self.name, "the answer is not XML") from error
            raise ProviderError.request_failed(self.name, why="the answer was cut off or is not XML") from error
        if root is None or root.tag != f"{_ATOM}feed":
            raise ProviderError.bad_content(self.name, "the answer is not an Atom feed")
        return root.findall(f"{_ATOM}entry")


def _read_entry(entry: ET.Element) -> Mapping[str, object]:
    names = {"id": _ATOM, "title": _ATOM, "summary": _ATOM, "published": _ATOM, "doi": _ARXIV}
    texts = {name: (entry.findtext(f"{space}{name}") or "").strip() for name, space in names.items()}
    listed = entry.findall(f"{_ATOM}author/{_ATOM}name")[:MOST_AUTHORS]
    return {**texts, "authors": [name_person(each.text or "") for each in listed]}


def _read_arxiv(row: Mapping[str, object]) -> ResultRow:
    url = str(row["id"]).replace("http://", "https://", 1)
    number = url.rpartition("/abs/")[2] if "/abs/" in url else ""
    named = "; ".join(filter(None, (f"arXiv:{number}" if number else "", f"doi:{row['doi']}" if row["doi"] else "")))
    authors = cast("list[str]", row["authors"])
    return ResultRow(url, row["title"], " ".join(str(row["summary"]).split()), None, row["published"], named, authors)


class PubMed(OpenProvider):
    """`SearchProvider` over PubMed: one call finds the numbers of articles, another one describes them."""

    name = "pubmed"
    base_url = "https://eutils.ncbi.nlm.nih.gov"
    calls_per_second = 2.5  # three a second are allowed without a key

    async def search(self, query: Query, /, *, limit: int) -> Sequence[Hit]:
        whose = {"db": "pubmed", "retmode": "json", "tool": "corrobora"} | (
            {"email": self.contact} if self.contact else {}
        )
        params = {**whose, "term": query.text, "retmax": _count(limit), "sort": "relevance"}
        ids = await self.get_rows("/entrez/eutils/esearch.fcgi", params, "esearchresult", "idlist")
        if not isinstance(ids, list):
            raise ProviderError.bad_content(self.name, "its results are not a list")
        numbers = [each for each in cast("list[object]", ids) if isinstance(each, str) and each.isdigit()][:_MOST]
        if ids and not numbers:
            raise ProviderError.bad_content(self.name, "its results are not article numbers")
        if not numbers:
            return []
        found = await self.get_rows("/entrez/eutils/esummary.fcgi", {**whose, "id": ",".join(numbers)}, "result")
        rows = [_pick(found, number) for number in numbers] if is_mapping(found) else None
        return self.list_hits(rows, _read_pubmed, query, limit)


def _read_pubmed(row: Mapping[str, object]) -> ResultRow:
    number = clean_line(row.get("uid"))
    listed = row.get("articleids")
    ids = cast("list[object]", listed) if isinstance(listed, list) else []
    doi = next((clean_line(_pick(each, "value")) for each in ids if _pick(each, "idtype") == "doi"), "")
    date = clean_line(row.get("sortpubdate")).partition(" ")[0].replace("/", "-")
    named = "; ".join(filter(None, (f"PMID {number}", f"doi:{doi}" if doi else "")))
    url = f"https://pubmed.ncbi.nlm.nih.gov/{number}/" if number.isdigit() else None
    authors = _read_authors(row.get("authors"), _name_pubmed)
    return ResultRow(url, _plain(row.get("title")), row.get("fulljournalname"), None, date, named, authors)


def _name_pubmed(author: Mapping[str, object]) -> str:
    """Return a name such as "Lund GA", family name first, as one of a person; that of a group as it is."""
    name = clean_line(author.get("name"))
    family, _, initials = name.rpartition(" ")
    person = author.get("authtype") == "Author" and initials.isupper() and family
    return name_person(f"{family}, {initials}") if person else name_group(name)
