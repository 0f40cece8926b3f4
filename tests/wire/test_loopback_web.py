"""Whole runs over a hostile web: settings, database, search engines and pages over HTTP, with faults among the pages.

Knows an imaginary harbour on a web of several hosts. Canaries listen where no page fetch may ever arrive.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import pytest
from tests.unit.adapters.web.certificates import Key, serving, showing
from tests.unit.adapters.web.loopback import Canary, resolver

from corrobora.app import Workspace
from corrobora.app.attempts import run_here
from corrobora.app.runs import load_report, submit_run
from corrobora.app.verification import verify_report
from corrobora.app.wiring import WebAccess
from corrobora.config import Settings, load_settings
from corrobora.domain.evidence import Hit
from corrobora.domain.limits import LIMITS, Limits
from corrobora.domain.report import Outcome, Report
from corrobora.domain.run import Request
from corrobora.engine.session.journal import decode
from corrobora.testing.web import LoopbackWeb, WebPage

QUESTION = "How often must the harbour cranes of Brenhaven be inspected, and what load may a crane of class B lift?"
HOSTS = ("port.example", "gazette.example", "cranes.example", "archive.example", "union.example", "127.0.0.1")
SELF_SIGNED = "vault.example"
QUICK = replace(LIMITS, host_pause_seconds=0.01, host_max_pause_seconds=0.2, fetch_seconds=5.0, pages_per_host=200)
STATEMENTS = (
    "Harbour cranes of Brenhaven must be inspected every 12 months, and the record must be kept for 10 years.",
    "Before 2019 the harbour cranes of Brenhaven were inspected every 24 months by the port authority.",
    "The load that a crane of class B may lift in Brenhaven was lowered to 35 tonnes in 2019.",
    "A crane of class B in the harbour of Brenhaven may lift a load of at most 35 tonnes in calm weather.",
    "Three harbour cranes of Brenhaven failed between 2012 and 2018 because of worn brakes.",
    "Inspectors of the harbour cranes check brakes, ropes and hooks before a load is lifted in Brenhaven.",
    "A crane of class A in the harbour of Brenhaven may lift a load of 12 tonnes and is inspected every 12 months.",
    "The harbour of Brenhaven was dug in 1874, and its steam cranes could lift a load of 5 tonnes.",
)
FAULTS = {
    "/f/gone.html": "404",
    "/f/hang.html": "hang",
    "/f/drip.html": "drip",
    "/f/large.html": "large",
    "/f/endless.html": "endless",
    "/f/junk.html": "junk",
    "/f/zip.html": "zip-as-html",
    "/f/program.html": "program",
    "/f/bomb.html": "bomb",
    "/f/short.html": "short-gzip",
    "/f/broken.pdf": "broken-pdf",
    "/f/metadata.html": "to-metadata",
    "/f/private.html": "to-private",
    "/f/file.html": "to-file",
    "/f/loop.html": "to-self",
    "/f/busy.html": "503",
    "/f/login.html": "login",
    "/f/blank.html": "blank",
}
TO_CANARY = ("/f/canary.html", "/f/canary-v6.html", "/f/canary-port.html", "/f/canary-name.html")
SLOW = pytest.mark.slow
ONCE = (("max_rounds", "1"), ("attempts", "1"))
THREAD = f"""
round_budget = 4

[thread]
name = "Cranes"
subjects = ["inspection", "class B", "load"]

[[thread.sub_questions]]
question = "How often must the harbour cranes of Brenhaven be inspected?"

[[thread.sub_questions]]
question = "What load may a crane of class B lift in Brenhaven?"

[brief]
question = "{QUESTION}"
"""


def _page(path: str, *numbers: int) -> WebPage:
    said = " ".join(STATEMENTS[number % len(STATEMENTS)] for number in numbers)
    name = path.rpartition("/")[2].partition(".")[0]
    rest = f"The note {name} was written for people who work in the harbour of Brenhaven and its cranes. " * 3
    return WebPage.of_html(
        path,
        f"<html><head><title>Harbour cranes of Brenhaven: {name}</title></head><body><article><h1>Cranes, {name}</h1>"
        f"<p>{said}</p><p>{rest}</p></article></body></html>",
    )


def _pages() -> list[WebPage]:
    good = [_page(f"/p/{number}.html", number, number * 3 + 1) for number in range(14)]
    closed = [_page(f"/closed/{number}.html", number, number + 1) for number in range(2)]
    whole = _page("/p/long.html", 0, 2, 4)
    long = whole.body.replace(b"</body>", b"<p>%s</p></body>" % (b"Brenhaven harbour words without end. " * 130_000))
    faulty = [_page(path, at, at + 2) for at, path in enumerate((*FAULTS, *TO_CANARY))]
    return [*good, *closed, replace(whole, body=long), *faulty]


@dataclass
class HostileWeb:
    """A web, its canaries, and a workspace whose settings point at it."""

    web: LoopbackWeb
    workspace: Workspace
    canaries: Sequence[Canary]
    hostile: list[str]
    self_signed: str

    async def research(self, profile: str, **more: object) -> tuple[Report, Counter[str]]:
        """Run to the end; return the report and how often each result was found, by the journal."""
        request = Request(QUESTION, profile, authorized="policy", **more)  # pyright: ignore[reportArgumentType]
        run = await submit_run(self.workspace, request, deferred=False)
        await run_here(self.workspace, run)
        report = await load_report(self.workspace, run)
        assert report is not None, (await self.workspace.runs.get(run)).reason
        rows = await self.workspace.database.fetch_all(
            "SELECT key, out FROM journal WHERE run = %s AND key LIKE 'search/%%' AND key NOT LIKE '%%!failed'",
            [run],
            where="a test",
        )
        found = Counter(hit.url for key, out in rows for hit in decode(tuple[Hit, ...], out, key=key))
        return report, found

    def asked(self) -> list[tuple[str, str]]:
        """The searches that reached the web, as (engine, query)."""
        return [
            ("exa" if "x-api-key" in request.headers else "tavily", json.loads(request.body)["query"])
            for request in self.web.requests
            if request.method == "POST"
        ]


def _settings(folder: Path, database_url: str, web: LoopbackWeb, *ports: int) -> Settings:
    env = {
        "CORROBORA_HOME": str(folder / "home"),
        "CORROBORA_DATABASE_URL": database_url,
        "CORROBORA_SOURCES_PROVIDERS": "tavily,exa",
        "CORROBORA_SOURCES_TAVILY_URL": web.url,
        "CORROBORA_SOURCES_EXA_URL": web.url,
        "CORROBORA_SOURCES_ALLOWED_ENDPOINTS": ",".join(
            f"{host}:{port}" for host in ("127.0.0.1", *HOSTS, SELF_SIGNED) for port in (web.port, *ports)
        ),
        "TAVILY_API_KEY": web.key,
        "EXA_API_KEY": web.key,
    }
    return load_settings({}, env=env, folder=folder, user_file=folder / "none.toml")


@pytest.fixture
async def hostile_web(request: pytest.FixtureRequest, tmp_path: Path, database_url: str) -> AsyncIterator[HostileWeb]:
    limits: Limits = getattr(request, "param", QUICK)
    names = {host: ["127.0.0.1"] for host in (*HOSTS, SELF_SIGNED)} | {
        "rebound.example": ["127.0.0.2"],
        "six.example": ["::1"],
    }
    redirects: dict[str, str] = {}
    hostile: list[str] = []
    async with AsyncExitStack() as stack:
        web = LoopbackWeb(
            _pages(),
            faults=FAULTS,
            robots="User-agent: *\nDisallow: /closed/\n",
            key="web-key",
            extra_results=hostile,
            hosts=HOSTS,
            redirects=redirects,
        )
        await stack.enter_async_context(web)
        near = await stack.enter_async_context(Canary(("127.0.0.2", "::1"), web.port))  # only the address is refused
        site = Key("A site that nobody vouches for")
        shown = showing(site.certificate(site, SELF_SIGNED), site)
        secure = await stack.enter_async_context(serving(shown, _page("/cranes.html", 0, 2).body))
        far = await stack.enter_async_context(Canary())
        redirects |= dict(
            zip(
                TO_CANARY,
                (
                    f"http://127.0.0.2:{web.port}/",
                    f"http://[::1]:{web.port}/",
                    f"http://127.0.0.1:{far.port}/",
                    f"http://rebound.example:{web.port}/",
                ),
                strict=True,
            )
        )
        hostile += [
            f"http://127.0.0.2:{web.port}/a",
            f"http://[::1]:{web.port}/b",
            f"http://six.example:{web.port}/c",
            f"http://[::ffff:127.0.0.2]:{web.port}/d",
            "file:///etc/passwd",
            "javascript:alert(1)",
        ]
        settings = _settings(tmp_path, database_url, web, secure)
        opened = Workspace.open(settings, web=partial(WebAccess, resolve=resolver(names), limits=limits))
        workspace = await stack.enter_async_context(opened)
        yield HostileWeb(web, workspace, (near, far), hostile, f"https://{SELF_SIGNED}:{secure}/cranes.html")


async def holds(hostile_web: HostileWeb, report: Report, found: Counter[str]) -> None:
    """What must be true of every run over this web that can answer."""
    done = report.methodology
    outcomes = dict(done.outcomes)
    assert done.hits == len(found), "every result that a search gave is counted once"
    assert sum(outcomes.values()) == len(found), "and ends in exactly one outcome"
    assert outcomes["read"] >= 3
    assert outcomes["refused"] >= 3
    assert [canary.connections for canary in hostile_web.canaries] == [0, 0]

    assert report.outcome in (Outcome.COMPLETE, Outcome.PARTIAL, Outcome.LIMIT_REACHED)
    assert report.citations
    assert all(citation.url.startswith("http://") for citation in report.citations)
    assert not [c.url for c in report.citations if "/f/" in c.url or "/closed/" in c.url]
    checked = await verify_report(hostile_web.workspace, report.markdown)
    assert {str(each) for statement in checked.statements for each in statement.found} == {"verified"}
    assert {name for name, _ in hostile_web.asked()} == {"tavily", "exa"}
    assert not [request.path for request in hostile_web.web.requests if request.path.startswith("/closed/")]


@pytest.mark.parametrize(
    "profile",
    ["timed", "angles", "triplet", pytest.param("tree", marks=SLOW), pytest.param("full", marks=SLOW)],
)
async def test_a_run_over_a_hostile_web_accounts_for_every_result(hostile_web: HostileWeb, profile: str):
    report, found = await hostile_web.research(profile, thread_file=THREAD if profile == "triplet" else "")

    await holds(hostile_web, report, found)


async def test_rounds_12_one_and_three_ask_tavily_and_two_alternates(hostile_web: HostileWeb):
    report, found = await hostile_web.research("rounds")
    await holds(hostile_web, report, found)
    rounds = report.findings.rounds
    assert [each.phase for each in rounds] == ["orient", "deepen", "validate"]
    turns = (("tavily",), ("tavily", "exa"), ("tavily",))
    expected = [
        (names[at % len(names)], query.text)
        for names, each in zip(turns, rounds, strict=True)
        for at, query in enumerate(each.intent.queries)
    ]
    assert hostile_web.asked() == list(dict.fromkeys(expected)), "in this order, and no query twice to the same engine"
    assert sum(name == "exa" for name, _ in hostile_web.asked()) >= 1


@pytest.mark.parametrize("hostile_web", [replace(QUICK, fetch_seconds=15.0)], indirect=True)
async def test_every_kind_of_page_has_its_outcome(hostile_web: HostileWeb):
    """One round reads all there is; the faults of the web are told apart."""
    wide = (*ONCE, ("reads_per_round", "60"), ("hits_per_query", "60"), ("drift", "false"))
    hostile_web.hostile.append(hostile_web.self_signed)
    report, found = await hostile_web.research("timed", overrides=wide)
    outcomes = dict(report.methodology.outcomes)
    assert sum(outcomes.values()) == len(found) == report.methodology.hits
    assert outcomes["robots"] == 2
    told = {
        reading.hit.url: (reading.outcome, reading.note)
        for done in report.findings.rounds
        for reading in done.readings
        if reading.hit.url == hostile_web.self_signed
    }
    ((outcome, why),) = told.values()
    assert outcome == "failed"
    assert "certificate is not valid: self-signed certificate" in why
    assert {"read", "not_found", "timeout", "too_large", "unsupported", "refused", "failed"} <= set(outcomes)
    assert [canary.connections for canary in hostile_web.canaries] == [0, 0]


async def test_engines_that_refuse_the_key_are_not_taken_for_a_web_without_sources(hostile_web: HostileWeb):
    hostile_web.web.key = "another"
    report, found = await hostile_web.research("timed", overrides=ONCE)
    assert report.outcome is Outcome.PROVIDER_DOWN
    assert (report.markdown, sum(found.values()), report.methodology.outcomes) == ("", 0, ())


async def test_pages_that_cannot_be_read_are_not_taken_for_missing_evidence(hostile_web: HostileWeb):
    hostile_web.web.faults = {"/p/*": "404", **FAULTS}
    report, found = await hostile_web.research("timed", overrides=ONCE)
    assert report.outcome is Outcome.INACCESSIBLE
    assert report.markdown == ""
    assert sum(count for _, count in report.methodology.outcomes) == len(found)


async def test_a_web_that_says_nothing_of_it_gives_no_evidence(hostile_web: HostileWeb):
    hostile_web.web.pages = ()
    hostile_web.hostile.clear()
    hostile_web.web.api_faults = ["none"] * 100
    report, _ = await hostile_web.research("timed", overrides=ONCE)
    assert report.outcome is Outcome.NO_EVIDENCE
    assert report.methodology.failed_searches == 0
