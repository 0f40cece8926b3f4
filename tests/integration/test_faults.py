"""Runs through the workspace while something is broken: a good report or an honest outcome, never a false success.

Knows the fault rows that other programs were measured with, shortened to seconds; the long ones are marked slow.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from bench.model_server.faults import Fault
from bench.model_server.server import Latency, ModelServer
from tests.integration.harness import DOCUMENTS, Ended, Harness, good, open_harness

from corrobora.app.wiring import WebAccess
from corrobora.domain.limits import LIMITS
from corrobora.domain.report import Outcome
from corrobora.domain.run import RunStatus
from corrobora.storage.journal.events import list_events
from corrobora.testing.web import LoopbackWeb, WebPage

MOST_SECONDS = 900.0  # a run that is not over by then hangs
QUICK = Latency(0.01)
ROWS: dict[str, Sequence[Fault]] = {
    "429 on 20 %": [Fault("429", p=0.2, retry_after=0.1)],
    "429 above 4 in flight": [Fault("limit", k=4, retry_after=0.1)],
    "bad JSON 20 %": [Fault("bad-json", p=0.2)],
    "cut answers 20 %": [Fault("cut-answer", p=0.2)],
    "connections cut 20 %": [Fault("cut-connection", p=0.2)],
    "503 for 2 s": [Fault("outage", seconds=2.0)],
    "500 on 60 %": [Fault("500", p=0.6)],
    "wrong citations 30 %": [Fault("wrong-citations", p=0.3)],
    "empty answers 20 %": [Fault("empty", p=0.2)],
    "refusals 20 %": [Fault("refusal", p=0.2)],
}


SLOW = pytest.mark.slow
PROFILES = ("timed", "rounds", "angles", "tree", "triplet", "full")
HASTY = replace(LIMITS, host_pause_seconds=0.01, fetch_seconds=1.5, fetch_idle_seconds=1.0)


def quick(*names: str, of: Sequence[str]) -> list[object]:
    """Parameters of which all but some are marked slow."""
    return [name if name in names else pytest.param(name, marks=SLOW) for name in of]


async def run(harness: Harness, server: ModelServer | None, profile: str = "timed", **request: Any) -> Ended:
    async with asyncio.timeout(MOST_SECONDS):
        return await harness.run(server, profile, **request)


@pytest.mark.parametrize("profile", quick("timed", of=PROFILES))
@pytest.mark.parametrize("row", ROWS)
async def test_a_faulty_provider_ends_in_a_good_report(database_url: str, row: str, profile: str):
    async with ModelServer(faults=ROWS[row], latency=QUICK, seed=7) as server, open_harness(database_url) as harness:
        found = await run(harness, server, profile)
        await good(found, harness)
    assert any(call.status != 200 for call in server.calls) or ROWS[row][0].kind not in ("500", "outage")


async def test_a_provider_that_allows_four_calls_at_once_refuses_few(database_url: str):
    four = [Fault("limit", k=4, retry_after=0.1)]
    async with ModelServer(faults=four, latency=Latency(0.03)) as server, open_harness(database_url) as harness:
        await good(await run(harness, server, "angles"), harness)
        await good(await run(harness, server, "tree"), harness)
    refused = sum(call.status == 429 for call in server.calls)
    answered = sum(call.status == 200 for call in server.calls)
    assert refused <= answered / 2, f"{refused} refused, {answered} answered: the first burst finds the limit"


@pytest.mark.parametrize("profile", ["timed", "angles"])
async def test_wrong_addresses_and_numbers_of_a_model_do_not_reach_the_report(database_url: str, profile: str):
    async with (
        ModelServer(faults=[Fault("wrong-citations", p=0.6)], seed=2) as server,
        open_harness(database_url) as harness,
    ):
        found = await run(harness, server, profile)
        await good(found, harness)
    assert server.forged
    known = " ".join(" ".join(text.split()) for text in DOCUMENTS.values())
    body = re.sub(r"\*\[.*?sentences? withheld: .*?\]\*", "", found.markdown.partition("\n## Methodology")[0])
    assert "http" not in body
    figures = set(re.findall(r"\d+(?:\.\d+)?", re.sub(r"\[\d+\]|^#+ \d+\.", "", body, flags=re.MULTILINE)))
    status = set(re.findall(r"\d+(?:\.\d+)?", body.partition("*Status:")[2].partition("\n")[0]))
    wrong = {number for number in figures - status if number not in known}
    assert not wrong, body


@SLOW
@pytest.mark.parametrize("share", [0.1, 0.5, 1.0])
@pytest.mark.parametrize("profile", ["timed", "rounds", "angles", "full"])
async def test_slow_calls_are_not_waited_for(database_url: str, share: float, profile: str):
    """The deadline to the second is `tests/profiles/test_slow_models.py`, in virtual time."""
    slow = [Fault("slow", p=share, seconds=3_600)]
    async with ModelServer(faults=slow, latency=QUICK, seed=5) as server, open_harness(database_url) as harness:
        await good(await run(harness, server, profile, overrides=(("minutes", "0.5"),)), harness)
    assert not [call for call in server.calls if call.fault == "slow"], "none was answered"


@pytest.mark.parametrize("fault", quick("html", "error", of=("html", "error", "500", "401", "hang")))
async def test_with_search_down_there_is_no_report_and_the_exit_code_says_so(database_url: str, fault: str):
    pages = [WebPage.of_html(f"/{name}", text) for name, text in DOCUMENTS.items()]
    async with ModelServer() as server, LoopbackWeb(pages, api_faults=[fault] * 500) as web:
        settings = {"TAVILY_API_KEY": "tvly-test", "CORROBORA_SOURCES_TAVILY_URL": web.url}
        async with open_harness(database_url, settings=settings) as harness:
            limit = (("minutes", "0.2" if fault == "hang" else "5"),)
            found = await run(harness, server, "timed", libraries=(), providers=("tavily",), overrides=limit)
    assert found.row.status is RunStatus.FAILED
    assert found.report is not None
    assert found.report.outcome is Outcome.PROVIDER_DOWN
    assert found.report.markdown == ""
    assert found.code == 7
    assert found.report.methodology.failed_searches == len(set(web.searches)), "each once"
    assert "failed, none gave a result: tavily " in found.row.reason, "a person reads why"


@SLOW
@pytest.mark.parametrize("profile", ["timed", "angles"])
async def test_an_outage_of_twenty_seconds_leaves_the_report_whole(database_url: str, profile: str):
    outage = [Fault("outage", seconds=20.0)]
    async with ModelServer(faults=outage, latency=Latency(0.05)) as server, open_harness(database_url) as harness:
        found = await run(harness, server, profile)
        await good(found, harness)
    assert found.report is not None
    assert "extractive" not in found.report.methodology.analyst
    refused = sum(call.status == 503 for call in server.calls)
    assert refused <= 20 / 2 + 3, "the first call of the run, sent three times, then a probe in 2 s"


async def test_without_the_provider_the_extractive_analyst_writes_and_the_report_says_so(database_url: str):
    async with ModelServer() as server:
        pass
    async with open_harness(database_url) as harness:
        found = await run(harness, server, "timed")
        await good(found, harness)
    assert found.report is not None
    assert "extractive" in found.report.methodology.analyst
    assert "extractive" in found.markdown.partition("Written by: ")[2].partition("\n")[0]


WHY: dict[str, tuple[Sequence[Fault], str]] = {
    "cut": ([Fault("cut-connection")], "the provider gave no whole answer"),
    "failing": ([Fault("500")], "the provider failed"),
    "slow": ([Fault("slow", seconds=120.0)], "the model was too slow"),
}


@pytest.mark.parametrize("row", quick("cut", of=list(WHY)))
async def test_a_provider_that_never_answers_well_is_not_said_to_be_slow(database_url: str, row: str):
    faults, why = WHY[row]
    async with ModelServer(faults=faults, latency=QUICK) as server, open_harness(database_url) as harness:
        found = await run(harness, server, "timed", overrides=(("minutes", "0.4"),))
        await good(found, harness)
    assert found.report is not None
    assert "instead" in " ".join(found.report.methodology.notes)
    told = [note.partition(": ")[2] for note in found.report.methodology.notes if " instead" in note]
    assert {*told} <= {why, "too little time was left for a call of the model"}, told
    assert why in found.markdown.partition("Written by: ")[2].partition("\n")[0]


@pytest.mark.parametrize("fault", quick("hang", of=("hang", "drip", "junk", "large", "404")))
async def test_pages_that_hang_or_hold_nothing_are_counted_and_the_others_carry_the_report(
    database_url: str, fault: str
):
    pages = [WebPage.of_html(f"/{name}.html", _page(text)) for name, text in DOCUMENTS.items()]
    faulty = {f"/{name}.html": fault for name in ("history.md", "flood.md")}
    async with ModelServer() as server, LoopbackWeb(pages, faults=faulty) as web:
        settings = {
            "TAVILY_API_KEY": "tvly-test",
            "CORROBORA_SOURCES_TAVILY_URL": web.url,
            "CORROBORA_SOURCES_ALLOWED_ENDPOINTS": f"127.0.0.1:{web.port}",
        }
        async with open_harness(database_url, settings=settings, web=partial(WebAccess, limits=HASTY)) as harness:
            found = await run(harness, server, "timed", libraries=(), providers=("tavily",))
            await good(found, harness)
    assert found.report is not None
    outcomes = dict(found.report.methodology.outcomes)
    assert outcomes["read"] >= 2
    assert sum(count for name, count in outcomes.items() if name not in ("read", "skipped")) >= 1
    assert sum(outcomes.values()) == found.report.methodology.hits
    asked = Counter(request.path for request in web.requests if fault == "hang" and request.path in faulty)
    assert all(count == 1 for count in asked.values()), "who is silent gets one attempt"


async def test_what_arrived_of_a_page_is_used_and_the_report_says_that_it_is_not_whole(database_url: str):
    pages = [WebPage.of_html(f"/{name}.html", _page(text)) for name, text in DOCUMENTS.items()]
    pages = [replace(page, cut_after=len(page.body) - 40) if "2021" in page.path else page for page in pages]
    async with LoopbackWeb(pages) as web:
        settings = {
            "TAVILY_API_KEY": "tvly-test",
            "CORROBORA_SOURCES_TAVILY_URL": web.url,
            "CORROBORA_SOURCES_ALLOWED_ENDPOINTS": f"127.0.0.1:{web.port}",
        }
        async with open_harness(database_url, settings=settings, web=partial(WebAccess, limits=HASTY)) as harness:
            found = await run(harness, None, "timed", libraries=(), providers=("tavily",))
            events = await list_events(harness.workspace.database, found.row.id)
    assert "1 source not read to the end" in found.markdown
    told = [event.data for event in events if event.data.get("note") == "only its beginning was read"]
    assert [(data["outcome"], data["title"]) for data in told] == [("read", "Rules of the Orrin tide mill, 2021")]


def _page(markdown: str) -> str:
    """A page of a text: its headings and paragraphs."""
    parts = [part.strip() for part in markdown.split("\n\n")]
    body = "".join(f"<h2>{p.lstrip('# ')}</h2>" if p.startswith("#") else f"<p>{p}</p>" for p in parts)
    return f"<html><head><title>{parts[0].lstrip('# ')}</title></head><body><article>{body}</article></body></html>"
