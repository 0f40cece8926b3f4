"""The web of a run, from settings and request: what cannot work is refused before anything is paid."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from tests.plugins.shell import QUESTION, Shell

from corrobora.adapters.pacing import SystemClock
from corrobora.app.wiring import (
    WebAccess,
    check_sources,
    open_web_readers,
    open_web_searches,
    parse_endpoints,
    provider_names,
)
from corrobora.config import Settings, load_settings
from corrobora.domain.errors import ReadError, UserError
from corrobora.domain.evidence import Hit, Query
from corrobora.domain.limits import LIMITS
from corrobora.domain.run import Request
from corrobora.ports import Limiter
from corrobora.registry import list_parts
from corrobora.storage.index import PostgresLibrary
from corrobora.storage.postgres import Database
from corrobora.testing.web import LoopbackWeb, WebPage

KEYS = {"TAVILY_API_KEY": "t-canary", "EXA_API_KEY": "e-canary", "FIRECRAWL_API_KEY": "f-canary"}
PAGE = WebPage.of_html(
    "/aar.html", "<title>The Aar</title><article><p>A stone bridge over the river Aar.</p></article>"
)
QUICK = replace(LIMITS, host_pause_seconds=0.0)


def _settings(folder: Path, **env: str) -> Settings:
    return load_settings({}, env={**KEYS, **env}, folder=folder, user_file=folder / "none.toml")


def _request(*providers: str) -> Request:
    return Request("what?", providers=providers)


class Free:
    async def acquire(self) -> None:
        self.taken = True


@pytest.fixture
async def library(database: Database) -> PostgresLibrary:
    return PostgresLibrary(database, ["web"])


def test_providers_come_from_the_request_else_from_settings(tmp_path: Path):
    settings = _settings(tmp_path, CORROBORA_SOURCES_PROVIDERS="exa,tavily")
    assert provider_names(settings, _request()) == ("exa", "tavily")
    assert provider_names(settings, _request("firecrawl", "firecrawl")) == ("firecrawl",)
    assert provider_names(_settings(tmp_path), _request()) == ()


def test_c15_an_unknown_provider_is_named_with_the_known_ones(tmp_path: Path):
    with pytest.raises(UserError, match="exa, firecrawl, mcp, pubmed"):
        provider_names(_settings(tmp_path), _request("gooogle"))


def test_c17_offline_and_a_provider_contradict_each_other(tmp_path: Path):
    settings = _settings(tmp_path, CORROBORA_OFFLINE="true", CORROBORA_SOURCES_PROVIDERS="exa")
    assert open_web_searches(settings, _request(), clock=SystemClock()) == {}
    with pytest.raises(UserError, match="offline"):
        open_web_searches(settings, _request("exa"), clock=SystemClock())


def test_a_missing_key_is_told_before_the_first_call(tmp_path: Path):
    settings = load_settings({}, env={}, folder=tmp_path, user_file=tmp_path / "none.toml")
    with pytest.raises(UserError, match="EXA_API_KEY") as caught:
        open_web_searches(settings, _request("exa"), clock=SystemClock())
    assert caught.value.code == "secret_missing"


async def test_searches_ask_the_configured_address_with_the_configured_key(tmp_path: Path):
    slots: Mapping[str, Free] = {name: Free() for name in ("exa", "tavily", "firecrawl")}
    limiter: Mapping[str, Limiter] = slots
    async with LoopbackWeb([PAGE]) as web:
        urls = {f"CORROBORA_SOURCES_{name.upper()}_URL": web.url for name in list_parts("search")}
        found = open_web_searches(
            _settings(tmp_path, **urls),
            _request("exa", "tavily", "firecrawl"),
            limiter.__getitem__,
            clock=SystemClock(),
        )
        assert list(found) == ["exa", "tavily", "firecrawl"]
        for provider in found.values():
            (hit,) = await provider.search(Query("stone bridge"), limit=3)
            assert hit.url == f"{web.url}/aar.html"
        sent = [request.headers.get("x-api-key") or request.headers["authorization"] for request in web.requests]
    assert sent == ["e-canary", "Bearer t-canary", "Bearer f-canary"]
    assert all(slot.taken for slot in slots.values())


async def test_pages_of_an_allowed_endpoint_are_read_and_no_other(tmp_path: Path, library: PostgresLibrary):
    async with LoopbackWeb([PAGE]) as site, LoopbackWeb([PAGE]) as other:
        settings = _settings(tmp_path, CORROBORA_SOURCES_ALLOWED_ENDPOINTS=f"127.0.0.1:{site.port}")
        web = WebAccess(settings, SystemClock(), limits=QUICK)
        try:
            (reader,) = open_web_readers(settings, _request("exa"), web, library, "web")
            document = await reader.read(Hit(url=f"{site.url}/aar.html", title="", query="bridge"))
            assert document.source.title == "The Aar"
            with pytest.raises(ReadError) as caught:
                await reader.read(Hit(url=f"{other.url}/aar.html", title=""))
            assert caught.value.outcome == "refused"
            assert not other.requests
        finally:
            await web.close()


async def test_without_a_provider_no_page_is_read(tmp_path: Path, library: PostgresLibrary):
    settings = _settings(tmp_path)
    web = WebAccess(settings, SystemClock())
    assert not open_web_readers(settings, _request(), web, library, "web")
    await web.close()


@pytest.mark.parametrize(
    "entry", ["127.0.0.1", "wiki .internal:80", "127.0.0.1:0", "127.0.0.1:99999", "x:y", "10.0.0.0/8:80"]
)
def test_an_allowed_endpoint_is_a_host_with_a_port(entry: str, tmp_path: Path):
    with pytest.raises(UserError, match="not a host with a port"):
        parse_endpoints(_settings(tmp_path, CORROBORA_SOURCES_ALLOWED_ENDPOINTS=entry))


def test_allowed_endpoints_may_be_of_both_families(tmp_path: Path):
    entries = "[::1]:8098, 127.0.0.1:8098, Wiki.internal:443"
    found = parse_endpoints(_settings(tmp_path, CORROBORA_SOURCES_ALLOWED_ENDPOINTS=entries))
    assert found.endpoints == {("::1", 8098), ("127.0.0.1", 8098), ("wiki.internal", 443)}


@pytest.mark.parametrize(
    "line",
    ['tavily_url = "http://evil.example"', 'firecrawl_url = "http://e.example"', 'allowed_endpoints = ["10.0.0.1:80"]'],
)
def test_safe_2_safe_5_a_project_file_may_neither_move_a_provider_nor_open_the_network(line: str, tmp_path: Path):
    (tmp_path / "corrobora.toml").write_text(f"[sources]\n{line}\n")
    with pytest.raises(UserError, match="may not be set by a project file") as caught:
        _settings(tmp_path)
    assert caught.value.code == "config_operator_only"
    (tmp_path / "user.toml").write_text(f"[sources]\n{line}\n")
    (tmp_path / "corrobora.toml").unlink()
    load_settings({}, env=KEYS, folder=tmp_path, user_file=tmp_path / "user.toml")


async def test_pages_are_fetched_by_firecrawl_where_the_setting_says_so(tmp_path: Path, library: PostgresLibrary):
    page = WebPage.of_html("https://pages.example/aar", PAGE.body.decode())
    async with LoopbackWeb([page]) as web:
        env = {"CORROBORA_SOURCES_FIRECRAWL_URL": web.url, "CORROBORA_SOURCES_READER": "firecrawl"}
        settings = _settings(tmp_path, **env)
        opened = WebAccess(settings, SystemClock(), limits=QUICK)
        slots: Mapping[str, Free] = {"firecrawl": Free()}
        try:
            readers = open_web_readers(settings, _request("exa"), opened, library, "web", limiter=slots.__getitem__)
            assert len(readers) == 2, "a second attempt goes to the page itself"
            document = await readers[0].read(Hit(url=page.path, title="", query="bridge"))
        finally:
            await opened.close()
        assert document.source.url == page.path
        assert [request.path for request in web.requests] == ["/v2/scrape"]
        assert slots["firecrawl"].taken


async def test_firecrawl_as_reader_needs_its_key_before_the_first_call(tmp_path: Path, library: PostgresLibrary):
    env = {"EXA_API_KEY": "e-canary", "CORROBORA_SOURCES_READER": "firecrawl"}
    settings = load_settings({}, env=env, folder=tmp_path, user_file=tmp_path / "none.toml")
    web = WebAccess(settings, SystemClock())
    with pytest.raises(UserError, match="FIRECRAWL_API_KEY"):
        open_web_readers(settings, _request("exa"), web, library, "web")
    await web.close()


@pytest.mark.parametrize(
    ("source", "env", "code"),
    [
        ("file:///etc/passwd", {}, "source_address"),
        ("no address", {}, "source_address"),
        ("https://a.example/", {"CORROBORA_OFFLINE": "true"}, "config_contradiction"),
        ("https://a.example/*", {}, "source_site"),
    ],
)
def test_a_source_that_cannot_be_read_is_refused_before_a_run_is_made(
    source: str, env: Mapping[str, str], code: str, tmp_path: Path
):
    with pytest.raises(UserError) as caught:
        check_sources(_settings(tmp_path, **env), Request("what?", sources=(source,)))
    assert caught.value.code == code


def test_a_page_and_with_firecrawl_a_whole_site_may_be_sources(tmp_path: Path):
    check_sources(_settings(tmp_path), Request("what?", sources=("https://a.example/x",)))
    settings = _settings(tmp_path, CORROBORA_SOURCES_READER="firecrawl")
    check_sources(settings, Request("what?", sources=("https://a.example/*",)))


async def test_named_sources_are_read_although_no_provider_is_named(tmp_path: Path, library: PostgresLibrary):
    settings = _settings(tmp_path)
    web = WebAccess(settings, SystemClock())
    assert len(open_web_readers(settings, Request("what?", sources=("https://a.example/x",)), web, library, "web")) == 1
    await web.close()


def test_what_a_run_over_the_web_imports_needs_no_arrays() -> None:
    """The library of a web run is only stored into: numpy comes with the first search."""
    code = (
        "import sys, corrobora.app.attempts, corrobora.app.wiring, corrobora.adapters.readers.pages\n"
        "sys.exit('numpy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_run_over_a_library_loads_no_http_library(filled: Shell) -> None:
    """Loading it takes 0.1 CPU-s of every command, and nothing of such a run leaves the machine."""
    code = (
        "import sys; from corrobora.faces.cli import run_command_line\n"
        f"print(run_command_line({(QUESTION, '-l', 'docs', '-q')!r}))\n"
        "print(sorted({'httpx2', 'httpcore2', 'smtplib'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.splitlines()[-2:] == ["0", "[]"]
