"""SearXNG, Brave, Wikipedia, Crossref, arXiv and PubMed, on their documented shapes and on the suite for providers."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from functools import partial
from html import escape
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from corrobora.adapters.pacing import SystemClock
from corrobora.adapters.search import KeyedProvider
from corrobora.adapters.search.open import ArXiv, Brave, Crossref, PubMed, SearXNG, Wikipedia
from corrobora.domain.errors import ProviderError, UserError
from corrobora.domain.evidence import Query
from corrobora.testing.http_server import HttpServer, Request, Response
from corrobora.testing.search_conformance import (
    SEARCH_CHECKS,
    SearchCase,
    SearchCheck,
    one_page_is_one_hit,
    unusable_addresses_are_dropped,
)

KEY = "open-canary-77a1"
Shape = Callable[[Mapping[str, Any]], object]


def make(kind: type[KeyedProvider], url: str, seconds: float = 30.0, key: str = KEY) -> Any:
    return kind(key, clock=SystemClock(), base_url=url, seconds=seconds, contact="me@lab.example")


def _shape(rows: object, shape: Shape, wrap: Callable[[object], object]) -> object:
    shaped = [shape(row) if isinstance(row, dict) else row for row in rows] if isinstance(rows, list) else rows
    return wrap(shaped)


def _searxng(row: Mapping[str, Any]) -> object:
    return {**row, "content": row.get("snippet"), "publishedDate": row.get("published"), "engines": ["x"]}


def _brave(row: Mapping[str, Any]) -> object:
    return {**row, "description": row.get("snippet"), "page_age": row.get("published")}


def _wikipedia(row: Mapping[str, Any]) -> object:
    dated = {"revisions": [{"timestamp": row.get("published")}]}
    return {"pageid": 1, "fullurl": row.get("url"), "title": row.get("title"), "extract": row.get("snippet"), **dated}


def _crossref(row: Mapping[str, Any]) -> object:
    text = row.get("published")
    day = re.match(r"(\d{4})-(\d\d)-(\d\d)", text) if isinstance(text, str) else None
    parts = [int(each) for each in day.groups()] if day else [text]
    shaped = {"URL": row.get("url"), "title": [row.get("title")], "abstract": row.get("snippet")}
    return {**shaped, "score": row.get("score"), "published": {"date-parts": [parts]}, "DOI": "10.1/x"}


SHAPES: list[tuple[type[KeyedProvider], Shape, Callable[[object], object], bool]] = [
    (SearXNG, _searxng, lambda rows: {"query": "q", "results": rows}, True),
    (Brave, _brave, lambda rows: {"type": "search", "web": {"results": rows}}, False),
    (Wikipedia, _wikipedia, lambda rows: {"batchcomplete": True, "query": {"pages": rows}}, False),
    (Crossref, _crossref, lambda rows: {"status": "ok", "message": {"items": rows}}, True),
]


@pytest.mark.parametrize("check", SEARCH_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize(("kind", "shape", "wrap", "ranked"), SHAPES, ids=lambda each: getattr(each, "name", ""))
async def test_conformance(
    kind: type[KeyedProvider], shape: Shape, wrap: Callable[[object], object], ranked: bool, check: SearchCheck
):
    await check(SearchCase(partial(make, kind), lambda rows: _shape(rows, shape, wrap), KEY, ranked=ranked))


_UNWRITABLE = re.compile(r"[^\t\n\r -\ud7ff\ue000-\ufffd]")  # what no XML may hold


def _arxiv(rows: object) -> bytes:
    """The results as an Atom feed; what is no list of results is no feed."""
    names = {"id": "url", "title": "title", "summary": "snippet", "published": "published"}
    if not isinstance(rows, list):
        return b"<other/>"

    def write(row: object) -> str:
        fields = [(tag, row.get(name) if isinstance(row, dict) else None) for tag, name in names.items()]
        texts = [
            (tag, re.sub(r"[^\t\n\r -\ud7ff\ue000-\ufffd]", " ", each)) for tag, each in fields if isinstance(each, str)
        ]
        return f"<entry>{''.join(f'<{tag}>{escape(text)}</{tag}>' for tag, text in texts)}</entry>"

    return f'<feed xmlns="http://www.w3.org/2005/Atom">{"".join(map(write, rows))}</feed>'.encode()


def _number(url: object) -> str:
    return str(int(hashlib.sha256(url.encode()).hexdigest()[:8], 16)) if isinstance(url, str) else ""


def _pubmed(rows: object) -> object:
    """Both answers in one: the numbers of the articles, and what is told of each."""
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        return {"esearchresult": {"idlist": rows}}
    told = [
        {
            "uid": _number(row.get("url")),
            "title": row.get("title"),
            "fulljournalname": row.get("snippet"),
            "sortpubdate": row.get("published"),
        }
        for row in rows
    ]
    return {
        "esearchresult": {"idlist": [each["uid"] for each in told]},
        "result": {each["uid"]: each for each in told},
    }


@pytest.mark.parametrize("check", SEARCH_CHECKS, ids=lambda check: check.__name__)
async def test_conformance_of_arxiv(check: SearchCheck):
    await check(SearchCase(partial(make, ArXiv), _arxiv, KEY, ranked=False))


@pytest.mark.parametrize(
    "check",
    [each for each in SEARCH_CHECKS if each not in (unusable_addresses_are_dropped, one_page_is_one_hit)],
    ids=lambda check: check.__name__,
)
async def test_conformance_of_pubmed(check: SearchCheck):
    """Its addresses are made of numbers, so that none can be unusable or spelled in two ways."""
    case = SearchCase(
        partial(make, PubMed),
        _pubmed,
        KEY,
        ranked=False,
        address=lambda url: f"https://pubmed.ncbi.nlm.nih.gov/{_number(url)}/",
    )
    await check(case)


async def ask(kind: type[KeyedProvider], *answers: bytes, text: str = "iron air battery") -> tuple[Any, list[Request]]:
    """Return the hits that the answers, given in turn, make, and what was sent."""
    sent: list[Request] = []

    async def respond(request: Request) -> Response:
        sent.append(request)
        return Response(body=answers[len(sent) - 1])

    async with HttpServer(respond) as server:
        return await make(kind, server.url).search(Query(text, site="example.org"), limit=5), sent


def params_of(request: Request) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(request.path).query).items()}


FEED = """<?xml version="1.0" encoding="UTF-8"?>
<feed xmlns="http://www.w3.org/2005/Atom" xmlns:arxiv="http://arxiv.org/schemas/atom">
  <title>ArXiv Query</title>
  <entry>
    <id>http://arxiv.org/abs/2401.01234v2</id>
    <published>2024-01-02T18:00:00Z</published>
    <title>Iron electrodes
      for air cells</title>
    <summary>  We measure iron electrodes. </summary>
    <author><name>Greta Lund</name></author>
    <author><name>Ole van der Berg</name></author>
    <arxiv:doi>10.1000/iron.1</arxiv:doi>
  </entry>
</feed>"""


async def test_arxiv_answers_in_atom_and_the_number_of_the_paper_is_kept():
    (hit,), sent = await ask(ArXiv, FEED.encode(), text="How do iron air batteries age?")
    assert (hit.url, hit.title) == ("https://arxiv.org/abs/2401.01234v2", "Iron electrodes for air cells")
    assert (hit.published, hit.identifier) == ("2024-01-02", "arXiv:2401.01234v2; doi:10.1000/iron.1")
    assert hit.authors == ("Lund, Greta", "van der Berg, Ole")
    assert params_of(sent[0])["search_query"] == "all:iron OR all:air OR all:batteries OR all:age"
    assert "me@lab.example" in sent[0].headers["user-agent"]
    assert ArXiv.calls_per_second <= 1 / 3


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (b"<html>busy</html>", "provider_bad_content"),
        (b"{}", "provider_bad_content"),
        (FEED.encode()[:-30], "provider_failed"),
        (b'<!DOCTYPE a [<!ENTITY b "c">]><feed xmlns="http://www.w3.org/2005/Atom"/>', "provider_bad_content"),
    ],
)
async def test_arxiv_tells_another_answer_from_nothing(answer: bytes, code: str):
    with pytest.raises(ProviderError) as caught:
        await ask(ArXiv, answer)
    assert caught.value.code == code
    assert (await ask(ArXiv, b'<feed xmlns="http://www.w3.org/2005/Atom"/>'))[0] == []


async def test_pubmed_finds_numbers_and_describes_them():
    found = {"header": {"type": "esearch"}, "esearchresult": {"count": "1", "idlist": ["38000001"]}}
    row = {
        "uid": "38000001",
        "title": "Iron <i>in vivo</i>.",
        "sortpubdate": "2023/12/05 00:00",
        "pubdate": "2023 Dec 5",
    }
    ids = [{"idtype": "pubmed", "value": "38000001"}, {"idtype": "doi", "value": "10.1000/fe"}]
    row |= {
        "authors": [{"name": "Lund GA", "authtype": "Author"}, {"name": "Iron, Group", "authtype": "CollectiveName"}]
    }
    told = {"result": {"uids": ["38000001"], "38000001": {**row, "fulljournalname": "Iron", "articleids": ids}}}
    (hit,), sent = await ask(PubMed, json.dumps(found).encode(), json.dumps(told).encode())
    assert (hit.url, hit.title) == ("https://pubmed.ncbi.nlm.nih.gov/38000001/", "Iron in vivo.")
    assert (hit.published, hit.identifier) == ("2023-12-05", "PMID 38000001; doi:10.1000/fe")
    assert hit.authors == ("Lund, GA", "Iron Group")
    assert [urlsplit(each.path).path.rpartition("/")[2] for each in sent] == ["esearch.fcgi", "esummary.fcgi"]
    assert {(params_of(each)["tool"], params_of(each)["email"]) for each in sent} == {("corrobora", "me@lab.example")}
    assert PubMed.calls_per_second < 3
    assert (await ask(PubMed, b'{"esearchresult": {"idlist": []}}'))[0] == []
    for wrong in (b"{}", b'{"esearchresult": {}}', b'{"esearchresult": {"ERROR": "x"}}'):
        with pytest.raises(ProviderError):
            await ask(PubMed, wrong)


async def test_crossref_keeps_the_doi_and_sends_the_contact():
    item = {"DOI": "10.1000/XyZ", "URL": "https://doi.org/10.1000/xyz", "title": ["Iron &amp; air"], "score": 12.5}
    item |= {"abstract": "<jats:p>We measure.</jats:p>", "published": {"date-parts": [[2021, 3]]}}
    item |= {"author": [{"given": "Greta", "family": "Lund"}, {"name": "The Iron, Group"}, "odd", {"family": 7}]}
    (hit,), sent = await ask(Crossref, json.dumps({"message": {"items": [item]}}).encode())
    assert (hit.title, hit.snippet, hit.published) == ("Iron & air", "We measure.", "2021")
    assert hit.identifier == "doi:10.1000/XyZ"
    assert hit.authors == ("Lund, Greta", "The Iron Group")
    assert params_of(sent[0])["mailto"] == "me@lab.example"


async def test_wikipedia_is_read_in_its_own_order_and_may_find_nothing():
    pages = [
        {"pageid": n, "index": 3 - n, "title": f"T{n}", "fullurl": f"https://en.wikipedia.org/wiki/T{n}"}
        for n in (1, 2)
    ]
    hits, _ = await ask(Wikipedia, json.dumps({"batchcomplete": True, "query": {"pages": pages}}).encode())
    assert [hit.title for hit in hits] == ["T2", "T1"]
    assert (await ask(Wikipedia, b'{"batchcomplete": true}'))[0] == []


async def test_brave_is_asked_within_its_limits_and_may_find_nothing():
    hits, sent = await ask(Brave, b'{"type": "search", "query": {}}', text="iron " * 200)
    assert hits == []
    assert len(params_of(sent[0])["q"].split()) == 50
    assert sent[0].headers["x-subscription-token"] == KEY
    _, sent = await ask(Brave, b'{"type": "search", "query": {}}')
    assert params_of(sent[0])["q"] == "iron air battery site:example.org"


async def test_a_searxng_none_of_whose_engines_answers_has_failed():
    silent = b'{"results": [], "unresponsive_engines": [["google", "access denied"], ["bing", "timeout"]]}'
    with pytest.raises(ProviderError, match=r"google: access denied; bing: timeout"):
        await ask(SearXNG, silent)
    assert (await ask(SearXNG, b'{"results": [], "unresponsive_engines": []}'))[0] == []


async def test_the_address_of_searxng_may_be_that_of_its_search_page():
    sent: list[str] = []

    async def respond(request: Request) -> Response:
        sent.append(urlsplit(request.path).path)
        return Response(body=b'{"results": []}')

    async with HttpServer(respond) as server:
        for path in ("", "/", "/search", "/search/"):
            assert await make(SearXNG, server.url + path).search(Query("iron"), limit=5) == []
    assert set(sent) == {"/search"}


async def test_results_that_stand_beside_an_error_are_kept():
    row = {"url": "https://a.example/1", "title": "Iron"}
    for kind, found in ((SearXNG, {"results": [row]}), (Brave, {"web": {"results": [row]}})):
        (hit,), _ = await ask(
            kind, json.dumps({**found, "errors": [{"engine": "x", "url": "y"}], "error": "x"}).encode()
        )
        assert hit.url == row["url"]
        with pytest.raises(ProviderError, match="answered with an error"):
            await ask(kind, b'{"error": "x", "results": [], "errors": [{"url": "y"}]}')


@pytest.mark.parametrize("kind", [SearXNG, Wikipedia, ArXiv], ids=lambda kind: kind.name)
async def test_a_refusal_where_no_key_was_sent_is_not_told_as_one_of_a_key(kind: type[KeyedProvider]):
    async def refuse(_: Request) -> Response:
        return Response(403)

    async with HttpServer(refuse) as server:
        with pytest.raises(ProviderError, match="search.formats" if kind is SearXNG else r"sources\.contact") as caught:
            await make(kind, server.url, key="").search(Query("iron"), limit=5)
    assert (caught.value.code, "key" in str(caught.value)) == ("provider_refused", False)


async def test_pubmed_describes_no_more_articles_than_it_was_asked_for():
    found = json.dumps({"esearchresult": {"idlist": [str(n) for n in range(5_000)]}}).encode()
    told = json.dumps({"result": {str(n): {"uid": str(n), "title": "T"} for n in range(20)}}).encode()
    hits, sent = await ask(PubMed, found, told)
    assert len(hits) == 5
    assert len(sent[1].path) < 500


def test_searxng_needs_an_address_and_others_no_key():
    with pytest.raises(UserError, match="address is not set"):
        make(SearXNG, "")
    assert [kind.needs_key for kind in (SearXNG, Wikipedia, Crossref, ArXiv, PubMed, Brave)] == [False] * 5 + [True]
