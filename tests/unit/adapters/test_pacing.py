"""Pacing: a provider's limit is learned, an outage is waited for, on a clock that the test moves."""

from __future__ import annotations

import asyncio

import pytest
from bench.model_server.faults import Fault
from bench.model_server.server import Latency, ModelServer
from tests.fakes import FakeClock, run_virtually
from tests.unit.adapters.models.conftest import asking, sample

from corrobora.adapters.pacing import CallGate, LoopClock, Pace
from corrobora.domain.errors import ProviderError
from corrobora.domain.limits import LIMITS


class Provider:
    """A provider that allows `allowed` calls at once, on a clock of its own."""

    def __init__(self, allowed: int, clock: FakeClock, *, seconds: float = 1.0) -> None:
        self.allowed, self.clock, self.seconds = allowed, clock, seconds
        self.now = self.most = self.good = self.refused = 0

    async def call(self, gate: CallGate) -> bool:
        async with gate.take_slot() as slot:
            self.now += 1
            self.most = max(self.most, self.now)
            try:
                if self.now > self.allowed:
                    await self.clock.sleep(0.001)
                    self.refused += 1
                    slot.report_refusal(0.5)
                    return False
                await self.clock.sleep(self.seconds)
                self.good += 1
                slot.report_answer()
                return True
            finally:
                self.now -= 1


async def run(clock: FakeClock, *work, seconds: float = 1_000.0):
    tasks = [asyncio.create_task(each) for each in work]
    for _ in range(int(seconds / 0.5)):
        if all(task.done() for task in tasks):
            break
        await clock.advance(0.5)
    return await asyncio.gather(*tasks)


@pytest.mark.parametrize("allowed", [1, 4, 7, 20])
async def test_the_limit_of_a_provider_is_learned_with_few_refusals(allowed: int):
    clock = FakeClock(auto=False)
    gate = CallGate("p", clock=clock)
    provider = Provider(allowed, clock)

    async def worker() -> None:
        for _ in range(15):
            while not await provider.call(gate):
                await clock.sleep(0.5)

    await run(clock, *(worker() for _ in range(30)))
    assert provider.good == 450
    assert provider.refused <= 0.1 * provider.good
    assert provider.most >= allowed


async def test_without_refusals_the_limit_grows_to_what_is_needed():
    clock = FakeClock(auto=False)
    gate = CallGate("p", clock=clock)
    provider = Provider(10_000, clock)

    async def worker() -> None:
        for _ in range(5):
            await provider.call(gate)

    await run(clock, *(worker() for _ in range(200)))
    assert provider.most >= 150
    assert gate.limit > 200


async def test_refusals_by_chance_do_not_starve_the_run():
    clock = FakeClock(auto=False)
    gate = CallGate("p", clock=clock)
    number = iter(range(10_000))

    async def call() -> None:
        async with gate.take_slot() as slot:
            await clock.sleep(0.3)
            slot.report_refusal(1.0) if next(number) % 5 == 4 else slot.report_answer()

    async def worker() -> None:
        for _ in range(20):
            await call()

    await run(clock, *(worker() for _ in range(10)))
    assert gate.limit >= 5


async def test_while_down_one_probe_in_two_seconds_goes_out_and_the_others_wait():
    clock = FakeClock(auto=False)
    gate = CallGate("p", clock=clock)
    sent: list[float] = []

    async def call() -> str:
        while True:
            async with gate.take_slot() as slot:
                sent.append(clock.now())
                await clock.sleep(0.05)
                if 1.0 <= clock.now() < 21.0:
                    slot.report_failure()
                else:
                    slot.report_answer()
                    return "ok"

    async def later() -> str:
        await clock.sleep(1.0)
        return await call()

    assert await run(clock, call(), *(later() for _ in range(20))) == ["ok"] * 21
    down = [at for at in sent if 1.5 < at < 21.0]
    assert len(down) <= 11
    assert clock.now() < 25


def test_calls_in_flight_when_an_outage_begins_do_not_end_it_by_their_answers():
    """Calls take 10 s, the outage lasts from 5 to 25: who was sent at 3 is answered at 13, in the middle of it.

    The first call's connection is cut when it begins, so that calls sent later than a failed one are answered, too.
    """
    sent: list[float] = []

    async def call(gate: CallGate, begin: float) -> str:
        clock = LoopClock()
        await clock.sleep(begin)
        while True:
            async with gate.take_slot() as slot:
                sent.append(clock.now())
                if clock.now() == 0:
                    await clock.sleep(5)
                    slot.report_failure()
                elif 5 <= clock.now() < 25:
                    slot.report_failure()
                else:
                    await clock.sleep(10)
                    slot.report_answer()
                    return "ok"

    async def all_calls() -> list[str]:
        gate = CallGate("p", Pace(start=40))
        begins = (*range(5), *(5 + number / 10 for number in range(20)))
        return await asyncio.gather(*(call(gate, begin) for begin in begins))

    assert run_virtually(all_calls()) == ["ok"] * 25
    failed = [at for at in sent if 5 <= at < 25]
    assert len(failed) <= Pace().down_after + 20 / Pace().probe_seconds


def test_fast_failures_among_slow_answers_are_no_outage():
    async def call(gate: CallGate, number: int) -> bool:
        async with gate.take_slot() as slot:
            if number % 5 == 0:
                await asyncio.sleep(0.1)
                slot.report_failure()
            else:
                await asyncio.sleep(10)
                slot.report_answer()
            return gate.down

    async def all_calls() -> list[bool]:
        gate = CallGate("p", Pace(start=40))
        return await asyncio.gather(*(call(gate, number) for number in range(40)))

    assert not any(run_virtually(all_calls()))


def test_a_lone_caller_who_is_refused_again_and_again_waits_with_probes_as_well():
    """An overloaded provider (529) that says no time: three refusals alone are no matter of calls at once."""
    sent: list[float] = []

    async def call(gate: CallGate) -> None:
        while True:
            async with gate.take_slot() as slot:
                sent.append(LoopClock().now())
                if LoopClock().now() >= 20:
                    slot.report_answer()
                    return
                slot.report_refusal(None)
            if not gate.down:
                await asyncio.sleep(1)

    run_virtually(call(CallGate("p")))
    assert 20 <= sent[-1] < 25
    assert len(sent) <= Pace().down_after + 20 / Pace().probe_seconds + 1


def test_a_refusal_that_asks_for_an_hour_is_heeded_for_a_minute():
    async def call() -> float:
        gate = CallGate("p")
        async with gate.take_slot() as slot:
            slot.report_answer()
        for _ in range(2):
            async with gate.take_slot() as slot:
                slot.report_refusal(3_600.0)
        async with gate.take_slot() as slot:
            slot.report_answer()
        return LoopClock().now()

    assert run_virtually(call()) == LIMITS.retry_after_max_seconds


def test_a_probe_on_its_way_is_waited_for_beyond_the_patience():
    """An outage of 20 s, a model that takes 60: the others must not give up while the first is being answered."""

    async def call(gate: CallGate) -> str:
        while True:
            async with gate.take_slot() as slot:
                if LoopClock().now() < 20:
                    slot.report_failure()
                else:
                    await asyncio.sleep(60)
                    slot.report_answer()
                    return "ok"

    async def all_calls() -> list[str]:
        gate = CallGate("p")
        return await asyncio.gather(*(call(gate) for _ in range(5)))

    assert run_virtually(all_calls()) == ["ok"] * 5


async def test_a_provider_that_stays_down_is_given_up():
    clock = FakeClock(auto=False)
    gate = CallGate("p", Pace(first_patience_seconds=6), clock)

    async def call() -> None:
        while True:
            async with gate.take_slot() as slot:
                slot.report_failure(reached=False)

    with pytest.raises(ProviderError) as raised:
        await run(clock, call(), seconds=60)
    assert (raised.value.code, raised.value.retryable) == ("provider_down", False)
    assert 5 < clock.now() < 12


async def test_a_caller_who_leaves_does_not_take_a_place_with_him():
    gate = CallGate("p", Pace(start=1))
    entered = asyncio.Event()

    async def hold(seconds: float) -> None:
        async with gate.take_slot() as slot:
            entered.set()
            await asyncio.sleep(seconds)
            slot.report_answer()

    first = asyncio.create_task(hold(0.05))
    await entered.wait()
    gone, last = asyncio.create_task(hold(0)), asyncio.create_task(hold(0))
    await asyncio.sleep(0)
    gone.cancel()
    await asyncio.gather(first, last)
    assert gate.in_flight == 0


async def test_over_the_wire_a_provider_that_allows_four_at_once_is_met_with_few_refusals():
    server = ModelServer(faults=[Fault("limit", k=4, retry_after=0.05)], latency=Latency(0.02))
    codes: set[str] = set()
    async with server, asking(server) as analyst:

        async def one() -> None:
            while True:
                try:
                    await analyst.play(*sample("critique"))
                except ProviderError as error:
                    codes.add(error.code)
                    await asyncio.sleep(error.retry_after_seconds or 0)
                else:
                    return

        await asyncio.gather(*(one() for _ in range(150)))
    assert codes <= {"provider_busy"}
    good = sum(call.status == 200 for call in server.calls)
    assert good == 150
    assert len(server.calls) - good <= good / 2, "without the gate the first wave alone has 146 refusals"
