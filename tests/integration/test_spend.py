"""What a run cost, over the wire: answers that could not be used and calls that were not waited for are in the bill.

Knows the server's log, which has every request. Does not know prices.
"""

from __future__ import annotations

import pytest
from tests.integration.harness import good, open_harness

from corrobora.testing import Fault
from corrobora.testing.server import Latency, ModelServer


@pytest.mark.parametrize("kind", ["empty", "refusal"])
async def test_unusable_answers_count_in_the_spend(database_url: str, kind: str):
    async with ModelServer(faults=[Fault(kind, p=1.0)]) as server, open_harness(database_url) as harness:
        found = await harness.run(server, "timed")
        await good(found, harness)
    assert found.report is not None
    usage = found.report.methodology.usage
    sent = sum(len(asked.system) + len(asked.user) for asked in server.asked)
    assert usage.calls == len(server.calls) > 0
    assert usage.input_tokens >= sent // 5


async def test_calls_that_were_not_waited_for_count_in_the_spend(database_url: str):
    slow = [Fault("slow", p=0.5, seconds=3_600)]
    async with ModelServer(faults=slow, latency=Latency(0.01), seed=5) as server, open_harness(database_url) as harness:
        found = await harness.run(server, "timed", overrides=(("minutes", "0.4"),))
        await good(found, harness)
    assert found.report is not None
    answered = [call for call in server.calls if call.status == 200]
    assert found.report.methodology.usage.calls > len(answered)
