"""What a run cost, over the wire: every request that the provider received is in the bill, whatever became of it.

Knows the server's log, which has every request. Prices are stated, so that a limit of dollars can be checked.
"""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from bench.model_server.faults import Fault
from bench.model_server.server import Latency, ModelServer
from tests.integration.harness import Ended, good, open_harness
from tests.integration.test_faults import PROFILES, QUICK, ROWS, SLOW, quick
from tests.profiles.research import make_run
from tests.unit.engine.test_session import GIVEN

from corrobora.adapters.models import parse_target
from corrobora.adapters.models.connection import ModelConnection
from corrobora.adapters.pacing import CallGate, Pace, SystemClock
from corrobora.analysts.extractive import ExtractiveAnalyst
from corrobora.analysts.language_model.analyst import LanguageModelAnalyst
from corrobora.app.runs import pause_after, rewind_run
from corrobora.domain.limits import Allowance, Price
from corrobora.domain.run import EventType, Stage
from corrobora.engine.session.budget import Budget
from corrobora.engine.session.journal import MOST_SENDS
from corrobora.roles.review import critique

UNANSWERED = {
    "most connections cut": [Fault("cut-connection", p=0.6)],
    "half of the calls never end": [Fault("slow", p=0.5, seconds=3_600)],
}
SLOWED = {**ROWS, **UNANSWERED}
UNUSABLE = ("bad-json", "cut-answer", "empty", "refusal")  # the model itself may fail at the report twice


def compare_bill(found: Ended, server: ModelServer) -> None:
    """Requests received are requests billed or refused, and their tokens are those of the bill."""
    assert found.report is not None
    usage = found.report.methodology.usage
    assert usage.calls + usage.refused == server.received > 0
    assert usage.input_tokens == pytest.approx(server.received_tokens, rel=0.05)
    refused = [call for call in server.calls if call.status != 200]
    assert usage.refused == len(refused)


@pytest.mark.parametrize("protocol", ["openai", pytest.param("anthropic", marks=SLOW)])
@pytest.mark.parametrize("profile", quick("timed", of=PROFILES))
@pytest.mark.parametrize("row", SLOWED)
async def test_calls_received_are_calls_billed(database_url: str, row: str, profile: str, protocol: str):
    limit = (("minutes", "0.2"),) if "never" in row else ()
    settings = {"ANTHROPIC_API_KEY": "sk-test"}
    async with (
        ModelServer(faults=SLOWED[row], latency=QUICK, seed=7) as server,
        open_harness(database_url, settings=settings) as harness,
    ):
        found = await harness.run(server, profile, protocol=protocol, overrides=limit)
        await good(found, harness)
    compare_bill(found, server)
    assert found.report is not None
    unfinished = [call for call in server.calls if call.fault == "cut-connection"]
    unanswered = server.received - len(server.calls) + len(unfinished)
    cut_late = 2 if limit else 0  # answered in the moment in which the deadline cut them: the answer was on its way
    assert 0 <= found.report.methodology.uncertain_calls - unanswered <= cut_late
    assert unanswered or row not in UNANSWERED, "the fault of this row did not strike"
    if row not in UNANSWERED and SLOWED[row][0].kind not in UNUSABLE:
        assert found.report.methodology.writer == "", "the model wrote it: there was time"


@pytest.mark.parametrize("kind", ["empty", "refusal", "bad-json"])
async def test_unusable_answers_count_in_the_spend(database_url: str, kind: str):
    async with ModelServer(faults=[Fault(kind, p=1.0)]) as server, open_harness(database_url) as harness:
        found = await harness.run(server, "timed")
        await good(found, harness)
    compare_bill(found, server)


@pytest.mark.parametrize("faults", [[], [Fault("cut-connection", p=0.3)], [Fault("bad-json", p=0.5)]])
@pytest.mark.parametrize("dollars", [0.1, 0.2, 1.0])
async def test_a_limit_of_dollars_is_not_passed_by_calls_at_once(dollars: float, faults: list[Fault]):
    price = 10.0  # dollars for a million tokens
    async with ModelServer(faults=faults, latency=Latency(0.02), seed=3) as server:
        target = parse_target(f"openai-compatible:scripted@{server.url}/v1", {})
        connection = ModelConnection(replace(target, price=Price(price, price)), CallGate("dollars"))
        made = await make_run(
            "angles",
            analysts=(LanguageModelAnalyst({"worker": connection}), ExtractiveAnalyst()),
            clock=SystemClock(),
            wire=False,
        )
        budget = made.session.budget = Budget(Allowance(seconds=120.0, dollars=dollars), SystemClock())
        report = await made.research()
        await connection.aclose()
    assert server.received > 0
    assert budget.read_meter().usage.dollars <= dollars + 1e-9  # a sum of floats
    assert server.received_tokens * price / 1e6 <= dollars
    assert report.methodology.usage.calls == budget.read_meter().usage.calls == server.received
    assert report.methodology.usage.dollars == pytest.approx(budget.read_meter().usage.dollars)
    said = "; ".join(report.methodology.limits_hit)
    assert dollars == 1.0 or "limit of money" in said or "tokens, money" in said


@pytest.mark.parametrize("tokens", [15_000, 20_000])
async def test_a_limit_of_tokens_is_not_passed_by_calls_at_once(tokens: int):
    async with ModelServer(latency=Latency(0.02), seed=3) as server:
        target = parse_target(f"openai-compatible:scripted@{server.url}/v1", {})
        connection = ModelConnection(target, CallGate("tokens"))
        made = await make_run(
            "angles",
            analysts=(LanguageModelAnalyst({"worker": connection}), ExtractiveAnalyst()),
            clock=SystemClock(),
            wire=False,
        )
        budget = made.session.budget = Budget(Allowance(seconds=120.0, tokens=tokens), SystemClock())
        report = await made.research()
        await connection.aclose()
    usage = budget.read_meter().usage
    assert server.received > 0
    assert tokens / 4 < usage.input_tokens + usage.output_tokens <= tokens
    assert server.received_tokens <= tokens
    said = "; ".join(report.methodology.limits_hit)
    assert "limit of tokens" in said


@pytest.mark.parametrize("stage", [Stage.INVESTIGATE, Stage.SYNTHESIZE])
async def test_what_a_stage_cost_that_is_run_again_counts_in_bill_and_limits(database_url: str, stage: Stage):
    async with ModelServer() as server, open_harness(database_url) as harness:
        first = await harness.run(server, "timed")
        before = server.received
        await rewind_run(harness.workspace, first.row.id, stage)
        again = await harness.work(first.row.id)
        assert server.received > before
        compare_bill(again, server)
        await rewind_run(harness.workspace, first.row.id, stage)  # nothing is counted twice
        thrice = await harness.work(first.row.id)
        compare_bill(thrice, server)
        reports = [each.report.methodology for each in (first, thrice) if each.report is not None]
        limit = (("max_tokens", str(reports[0].usage.input_tokens + reports[0].usage.output_tokens)),)
        await harness.workspace.database.execute(
            "UPDATE runs SET request = jsonb_set(request::jsonb, '{metadata}', %s::jsonb)::text WHERE id = %s",
            [json.dumps(limit), first.row.id],
        )
        sent = server.received
        await rewind_run(harness.workspace, first.row.id, stage)
        await harness.work(first.row.id)
        assert server.received == sent, "its tokens are spent"
    if stage is Stage.INVESTIGATE:
        assert reports[1].searches == 3 * reports[0].searches > 0


async def test_the_cost_of_an_earlier_attempt_counts_in_the_next_one(database_url: str):
    """Replaced answers as well: they are journaled beside the answers."""
    async with (
        ModelServer(faults=[Fault("bad-json", p=0.5)], latency=QUICK, seed=2) as server,
        open_harness(database_url) as harness,
    ):
        run = await harness.submit(server, "timed")
        await pause_after(harness.workspace, run, "investigate")
        await harness.work(run)
        first = server.received
        await pause_after(harness.workspace, run, "")
        found = await harness.work(run)
        await good(found, harness)
    assert 0 < first < server.received
    compare_bill(found, server)


async def test_each_tier_thinks_as_hard_as_its_setting_says(database_url: str):
    effort = {"CORROBORA_EFFORT_LEAD": "high", "CORROBORA_EFFORT_WORKER": "low"}
    async with ModelServer() as server, open_harness(database_url, settings=effort) as harness:
        await good(await harness.run(server, "angles"), harness)
    asked = {
        (call.role, each.body.get("reasoning_effort")) for call, each in zip(server.calls, server.asked, strict=True)
    }
    levels = {"plan": "high", "synthesize": "high", "extract": "low", "reflect": "low", "judge": None}
    assert {(role, level) for role, level in asked if role in levels} == set(levels.items())


async def test_a_prompt_is_sent_a_bounded_number_of_times_whatever_happens():
    """The gate would wait for ever: the bound of one prompt ends it."""
    async with ModelServer(faults=[Fault("500", p=1.0)]) as server:
        target = parse_target(f"openai-compatible:scripted@{server.url}/v1", {})
        for_ever = Pace(probe_seconds=0.001, patience_seconds=1e9, first_patience_seconds=1e9)
        connection = ModelConnection(target, CallGate("sends", for_ever))
        made = await make_run(
            "timed", analysts=(LanguageModelAnalyst({"worker": connection}), ExtractiveAnalyst()), wire=False
        )
        await made.session.call(critique, GIVEN)
        await connection.aclose()
    assert server.received == MOST_SENDS
    told = [event.data for event in made.journal.events if event.type is EventType.RETRY]
    assert [each["attempt_number"] for each in told] == list(range(2, MOST_SENDS + 1))
    assert {each["role"] for each in told} == {"critique"}
