"""Whole runs over the wire: engine, analyst and a scripted provider with faults, without database and web.

Knows an imaginary harbour. Every run checks that each citation stands literally in its source.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import pytest
from bench.model_server.faults import Fault
from bench.model_server.server import Latency, ModelServer
from tests.fakes import MemoryFiles, MemoryJournal, MemoryLibrary

from corrobora.adapters.models import parse_target
from corrobora.adapters.models.connection import ModelConnection
from corrobora.adapters.pacing import CallGate, LoopClock, Pace
from corrobora.analysts.extractive import ExtractiveAnalyst
from corrobora.analysts.language_model.analyst import LanguageModelAnalyst
from corrobora.config.profiles import load_profile
from corrobora.domain.evidence import locate_quote
from corrobora.domain.plan import Brief, Plan
from corrobora.domain.report import Outcome, Report
from corrobora.domain.run import Request, RunId
from corrobora.engine.research import research
from corrobora.engine.session import RunPorts, Session
from corrobora.engine.session.budget import Budget
from corrobora.policies import derive_allowance, resolve_advance, resolve_rules
from corrobora.ports import Clock
from corrobora.reporting.thread_json import render_round_files

HURRY = 20.0
QUESTION = "How often must the harbour cranes of Brenhaven be inspected, and what load may they lift?"
DOCUMENTS = {
    "rules-2011.md": """# Crane rules of Brenhaven, 2011

Harbour cranes of Brenhaven shall be inspected every 24 months.

A crane of class B may lift a load of at most 40 tonnes in calm weather.""",
    "rules-2019.md": """# Crane rules of Brenhaven, 2019

Harbour cranes of Brenhaven must be inspected every 12 months, and the record must be kept for 10 years.

The load that a crane of class B may lift was lowered to 35 tonnes.""",
    "history.md": """# The harbour of Brenhaven

The harbour of Brenhaven was dug in 1874.

Its cranes were steam cranes until 1931, and each could lift a load of 5 tonnes.""",
    "fish.md": "# Fish market\n\nThe market opens at 5 in the morning and sells herring and cod.",
}


class Nobody:
    """A person who agrees to everything."""

    async def authorize(self, plan: Plan) -> bool:
        return bool(plan.root.path)

    async def between_rounds(self, path: str, number: int) -> str:
        return ""

    async def before_searches(self, path: str, number: int, queries: Sequence[str]) -> str:
        return ""


class HurriedClock(LoopClock):
    """A clock on which twenty seconds take one."""

    def now(self) -> float:
        return HURRY * super().now()

    async def sleep(self, seconds: float) -> None:
        await super().sleep(seconds / HURRY)


async def run(
    server: ModelServer, profile: str = "timed", *, pace: Pace | None = None, clock: Clock | None = None
) -> Report:
    clock = clock or LoopClock()
    gate = CallGate("p", pace, clock)
    connection = ModelConnection(parse_target(f"openai-compatible:scripted@{server.url}/v1", {}), gate)
    library = await MemoryLibrary.of(DOCUMENTS)
    chosen = replace(load_profile(profile, (("minutes", '"unlimited"'),)), authorize="auto")
    journal = MemoryJournal()
    files = MemoryFiles(journal)
    session = Session(
        run=RunId("r_test"),
        request=Request(QUESTION, profile),
        profile=chosen,
        stop=resolve_rules(chosen),
        advance=resolve_advance(chosen),
        outside=RunPorts(
            analysts=(LanguageModelAnalyst({"worker": connection}), ExtractiveAnalyst()),
            searches={"library": library},
            readers=(library,),
            library=library,
            journal=journal,
            clock=clock,
            human=Nobody(),
            write=files.write,
            seal=files.seal,
            read=files.read,
            render_round=render_round_files,
        ),
        budget=Budget(derive_allowance(chosen), clock),
    )
    try:
        async with asyncio.timeout(600):  # of a test that hangs
            report = await research(Brief(QUESTION), session)
    finally:
        await connection.aclose()
    for citation in report.citations:
        _, text = await library.document(citation.source)  # type: ignore[arg-type] - the id of a stored source
        assert citation.quotes
        assert all(locate_quote(quote, text) is not None for quote in citation.quotes)
    return report


def good(report: Report) -> None:
    """A report that says something, and whose citations (checked above) carry it."""
    assert report.outcome in (Outcome.COMPLETE, Outcome.PARTIAL, Outcome.LIMIT_REACHED)
    assert "months" in report.markdown or "tonnes" in report.markdown
    assert report.citations


@pytest.mark.parametrize("profile", ["tree", "angles", "timed", "rounds", "triplet", "full"])
async def test_every_profile_runs_over_the_wire_to_a_report_whose_citations_hold(profile: str):
    async with ModelServer() as server:
        report = await run(server, profile)
    good(report)
    assert {call.role for call in server.calls} >= {"extract", "reflect"}
    assert "extractive" not in report.methodology.analyst
    prompts = [asked.user for asked in server.asked]
    assert len(set(prompts)) == len(prompts), "no prompt is sent twice"


async def test_rounds_planning_analysing_and_writing_take_at_most_ten_calls():
    """Only the first round, and one after a round that showed no new fact, is scoped by a call of its own."""
    async with ModelServer() as server:
        await run(server, "rounds")
    called = Counter(call.role for call in server.calls)
    assert called["reflect"] > 1
    assert called["scope"] <= 2
    assert called.total() - called["extract"] <= 10


FAULTS: dict[str, Sequence[Fault]] = {
    "429 on 20 %": [Fault("429", p=0.2, retry_after=0.05)],
    "4 at once": [Fault("limit", k=4, retry_after=0.05)],
    "bad JSON 20 %": [Fault("bad-json", p=0.2)],
    "bad JSON always": [Fault("bad-json")],
    "cut answers 20 %": [Fault("cut-answer", p=0.2)],
    "empty answers 30 %": [Fault("empty", p=0.3)],
    "cut connections 20 %": [Fault("cut-connection", p=0.2)],
    "outage": [Fault("outage", start=0.05, seconds=1.5)],
    "slow calls": [Fault("slow", p=0.1, seconds=0.5)],
    "500 on 60 %": [Fault("500", p=0.6)],
    "refusals": [Fault("refusal", p=0.5)],
    "lying usage": [Fault("usage")],
}


@pytest.mark.parametrize("name", FAULTS)
async def test_every_fault_of_the_provider_ends_in_a_good_report(name: str):
    pace = Pace(probe_seconds=0.2)
    async with ModelServer(faults=FAULTS[name], latency=Latency(0.005), seed=3) as server:
        report = await run(server, pace=pace)
    good(report)


async def test_wrong_citations_of_the_model_do_not_reach_the_report():
    forged, written = 0, 0
    for seed in range(4):  # which calls are struck depends on their order: all quotes of a run may be forged
        async with ModelServer(faults=[Fault("wrong-citations", p=0.5)], seed=seed) as server:
            report = await run(server)
        wrong = [each for each in server.forged if not each.isdigit()]
        assert not [each for each in wrong if each in report.markdown]
        forged += len(wrong)
        if report.outcome is not Outcome.NO_EVIDENCE:
            good(report)
            written += 1
    assert forged
    assert written


OUTAGE_SECONDS = 20.0
PROBES = OUTAGE_SECONDS / Pace().probe_seconds  # the first goes out as long after the third failure


async def test_a_lone_caller_waits_for_the_end_of_an_outage_of_twenty_seconds_with_one_probe_in_two():
    """The provider is down from the first call on, which nobody but its caller can notice."""
    outage = Fault("outage", start=0.0, seconds=OUTAGE_SECONDS / HURRY)
    async with ModelServer(faults=[outage]) as server:
        report = await run(server, clock=HurriedClock())
    good(report)
    assert "extractive" not in report.methodology.analyst
    refused = [call for call in server.calls if call.status == 503]
    assert {call.in_flight for call in refused} == {1}
    assert {call.role for call in refused} == {server.calls[0].role}
    assert Pace().down_after < len(refused) <= Pace().down_after + PROBES


async def test_an_outage_of_twenty_seconds_is_waited_for_with_one_probe_in_two_seconds():
    """Beside the probes only those may be refused who had a place before the outage was known.

    They are as many as have places, and who takes the places of the failures that tell of the outage. Each call that
    the server was answering when it began may, at worst, overtake a refused one, and open the gate once more.
    """
    pace = Pace(most=4)
    outage = Fault("outage", start=0.05, seconds=OUTAGE_SECONDS / HURRY)
    async with ModelServer(faults=[outage], latency=Latency(0.02)) as server:
        report = await run(server, pace=pace, clock=HurriedClock())
    good(report)
    assert "extractive" not in report.methodology.analyst
    refused = [call for call in server.calls if call.status == 503]
    in_flight = sum(call.in_flight - 1 for call in refused[:1])
    before = pace.most + pace.down_after - 1
    assert len(refused) <= PROBES + (1 + in_flight) * before


async def test_without_a_provider_the_extractive_analyst_writes_and_the_report_says_so():
    async with ModelServer() as server:
        pass
    report = await run(server, pace=Pace(probe_seconds=0.2, first_patience_seconds=0.5))
    good(report)
    assert "extractive" in report.methodology.analyst
