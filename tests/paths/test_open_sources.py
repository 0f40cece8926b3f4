"""Sources that need no paid key, each asked through the command at its address, with what it asks of a program."""

from __future__ import annotations

import asyncio
import json
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
from tests.paths.starts import CLEAR
from tests.plugins.shell import Shell

from corrobora.app import Workspace
from corrobora.app.libraries import open_library
from corrobora.config import load_settings
from corrobora.domain.evidence import Query
from corrobora.domain.run import Request
from corrobora.registry import list_parts
from corrobora.testing.http_server import HttpServer, Response
from corrobora.testing.http_server import Request as HttpRequest

KEY = "a-key-of-the-test"
PAGE = (
    b"<title>The bridge at Arnholm</title><p>The bridge at Arnholm was opened in 1931. The bridge at Arnholm is 412 "
    b"metres long and was built of riveted steel by the Varde company, which had built three bridges before.</p>"
)
NOTHING: dict[str, Any] = {
    "type": "search",
    "batchcomplete": True,
    "results": [],
    "message": {"items": []},
    "esearchresult": {"idlist": []},
}
FEED = b'<feed xmlns="http://www.w3.org/2005/Atom"/>'


@pytest.mark.covers(
    "setting sources.arxiv_url", "setting keys.arxiv", "setting sources.brave_url", "setting keys.brave"
)
@pytest.mark.covers("setting sources.crossref_url", "setting keys.crossref", "setting sources.contact")
@pytest.mark.covers("setting sources.pubmed_url", "setting keys.pubmed", "setting sources.searxng_url")
@pytest.mark.covers("setting keys.searxng", "setting sources.wikipedia_url", "setting keys.wikipedia")
@pytest.mark.parametrize("name", ["arxiv", "brave", "crossref", "pubmed", "searxng", "wikipedia"])
def test_a_source_is_asked_at_its_address_with_contact_and_key(filled: Shell, serve: Any, name: str) -> None:
    asked: list[HttpRequest] = []

    async def respond(request: HttpRequest) -> Response:
        asked.append(request)
        return Response(body=FEED if name == "arxiv" else json.dumps(NOTHING).encode())

    server = serve(HttpServer(respond))
    filled.setenv(**{f"CORROBORA_SOURCES_{name.upper()}_URL": server.url, f"{name.upper()}_API_KEY": KEY})
    filled.setenv(CORROBORA_SOURCES_CONTACT="me@lab.example")
    result = filled(CLEAR, "--provider", name, "-s", "max_rounds=1", "-q", "--json")
    assert json.loads(result.out)["outcome"] == "no_evidence", result.err
    header = "x-subscription-token" if name == "brave" else "authorization"
    assert {KEY in request.headers[header] for request in asked} == {True}
    if name != "brave":
        assert {"me@lab.example" in request.headers["user-agent"] for request in asked} == {True}


def test_the_identifier_of_a_work_stands_in_its_citation(filled: Shell, serve: Any) -> None:
    item = {"DOI": "10.1000/Arn.1", "title": ["The bridge at Arnholm"], "score": 2.0}

    async def respond(request: HttpRequest) -> Response:
        path = urlsplit(request.path).path
        if path == "/works":
            url = f"http://{request.headers['host']}/bridge.html"
            return Response(body=json.dumps({"message": {"items": [{**item, "URL": url}]}}).encode())
        return Response(200, PAGE, "text/html") if path == "/bridge.html" else Response(404)

    server = serve(HttpServer(respond))
    filled.setenv(CORROBORA_SOURCES_CROSSREF_URL=server.url)
    filled.setenv(CORROBORA_SOURCES_ALLOWED_ENDPOINTS=f"127.0.0.1:{server.port}")
    result = filled(CLEAR, "--provider", "crossref", "-s", "max_rounds=1", "-q")
    assert (result.code, "412 metres" in result.out) == (0, True), result.err
    assert "(doi:10.1000/Arn.1)" in result.out


@pytest.mark.covers("setting sources.arxiv_rate", "setting sources.brave_rate", "setting sources.crossref_rate")
@pytest.mark.covers("setting sources.exa_rate", "setting sources.firecrawl_rate", "setting sources.pubmed_rate")
@pytest.mark.covers("setting sources.searxng_rate", "setting sources.tavily_rate", "setting sources.wikipedia_rate")
@pytest.mark.parametrize("name", list_parts("search"))
async def test_the_next_call_of_a_provider_waits_as_long_as_its_rate_says(
    served: Shell, database_url: str, name: str
) -> None:
    upper = name.upper()
    served.setenv(**{f"CORROBORA_SOURCES_{upper}_URL": "http://127.0.0.1:9", f"{upper}_API_KEY": KEY})
    served.setenv(**{f"CORROBORA_SOURCES_{upper}_RATE": "0.001"})  # one call in a thousand seconds; none is made here
    async with (
        Workspace.open(load_settings()) as workspace,
        await psycopg.AsyncConnection.connect(database_url, autocommit=True) as connection,
    ):
        await connection.execute("insert into rate_limit values (%s, now() + interval '1 day')", [name])
        library = open_library(workspace, ())
        provider = workspace.wiring.open_searches(Request("q", providers=(name,)), library)[name]
        search = asyncio.create_task(provider.search(Query("iron"), limit=1))
        reserved = "select 1 from rate_limit where tat > now() + interval '1 day 500 seconds'"
        try:
            async with asyncio.timeout(60):
                while await (await connection.execute(reserved)).fetchone() is None:
                    await connection.execute("select pg_sleep(0.01)")
        finally:
            search.cancel()


@pytest.mark.parametrize(
    ("name", "told"), [("searxng", "language=de"), ("brave", "search_lang=de"), ("wikipedia", "/de/w/api")]
)
def test_a_source_is_asked_in_the_language_of_the_run(filled: Shell, serve: Any, name: str, told: str) -> None:
    asked: list[str] = []

    async def respond(request: HttpRequest) -> Response:
        asked.append(request.path)
        return Response(body=json.dumps(NOTHING).encode())

    address = serve(HttpServer(respond)).url + ("/{language}" if name == "wikipedia" else "")
    filled.setenv(**{f"CORROBORA_SOURCES_{name.upper()}_URL": address, f"{name.upper()}_API_KEY": KEY})
    filled(CLEAR, "--provider", name, "-s", "max_rounds=1", "-q", "--json", "--language", "de")
    assert asked
    assert [path for path in asked if told not in path] == []
