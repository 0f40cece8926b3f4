"""Faults of search and pages, and of a model that is slow or away for long, under every profile and both protocols.

A report by the model with checked citations, or an honest failure; and every request is in the bill.
"""

from __future__ import annotations

from functools import partial

import pytest
from bench.model_server.faults import Fault
from bench.model_server.server import ModelServer
from tests.integration.harness import good, name_web, open_harness, write_pages
from tests.integration.test_faults import HASTY, PROFILES, QUICK, SLOW
from tests.integration.test_spend import compare_bill

from corrobora.app.wiring import WebAccess
from corrobora.domain.report import Outcome
from corrobora.testing.web import LoopbackWeb

pytestmark = [
    SLOW,
    pytest.mark.parametrize("profile", PROFILES),
    pytest.mark.parametrize("protocol", ["openai", "anthropic"]),
]
HOSTS = tuple(f"127.0.4.{number}" for number in range(1, 9))
PAGES = {"binary junk 30 %": "junk", "5 MB pages 30 %": "large", "pages hang 30 %": "hang"}
CALLS = {"503 for 20 s": Fault("outage", seconds=20.0), "10 % of calls +30 s": Fault("slow", p=0.1, seconds=30.0)}
KEY = {"ANTHROPIC_API_KEY": "sk-test"}


@pytest.mark.parametrize("row", PAGES)
async def test_faulty_pages_end_in_a_good_report_by_the_model(database_url: str, row: str, profile: str, protocol: str):
    pages = write_pages()
    faults = {page.path: PAGES[row] for page in pages[::3]}
    hasty = partial(WebAccess, limits=HASTY)
    async with (
        ModelServer(latency=QUICK) as server,
        LoopbackWeb(pages, faults=faults, hosts=HOSTS) as web,
        open_harness(database_url, settings=KEY | name_web(web), web=hasty) as harness,
    ):
        found = await harness.run(server, profile, protocol=protocol, libraries=(), providers=("tavily",))
        await good(found, harness)
    compare_bill(found, server)
    assert found.report is not None
    assert found.report.methodology.writer == ""
    assert any(request.path in faults for request in web.requests), "no page of the fault was asked for"


@pytest.mark.parametrize("row", CALLS)
async def test_a_model_that_was_slow_or_away_writes_the_report(
    database_url: str, row: str, profile: str, protocol: str
):
    async with (
        ModelServer(faults=[CALLS[row]], latency=QUICK, seed=7) as server,
        open_harness(database_url, settings=KEY) as harness,
    ):
        found = await harness.run(server, profile, protocol=protocol, overrides=(("minutes", "10"),))
        await good(found, harness)
    compare_bill(found, server)
    assert found.report is not None
    assert found.report.methodology.writer == ""


async def test_search_down_is_an_honest_failure(database_url: str, profile: str, protocol: str):
    async with (
        ModelServer(latency=QUICK) as server,
        LoopbackWeb(write_pages(), api_faults=["500"] * 500, hosts=HOSTS) as web,
        open_harness(database_url, settings=KEY | name_web(web)) as harness,
    ):
        found = await harness.run(server, profile, protocol=protocol, libraries=(), providers=("tavily",))
    compare_bill(found, server)
    assert found.report is not None
    assert (found.report.outcome, found.report.markdown, found.code) == (Outcome.PROVIDER_DOWN, "", 7)
    assert web.searches
