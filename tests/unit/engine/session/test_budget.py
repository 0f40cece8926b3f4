"""Budget: scopes that keep the writing time free, swallow only their own end, and count working time over attempts."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence

import pytest
from tests.fakes import FakeClock, LoopTime, run_virtually

from corrobora.domain.errors import LimitReached
from corrobora.domain.limits import Allowance, Usage
from corrobora.engine.session.budget import Budget, ScopeOver
from corrobora.policies.budget import make_allowance


def budget(seconds: float | None, reserve: float = 10.0, *, carried: float = 0.0) -> tuple[Budget, FakeClock]:
    clock = FakeClock()
    return Budget(Allowance(seconds=seconds, reserve_seconds=reserve), clock, carried_seconds=carried), clock


async def test_timed_1_no_call_starts_in_a_scope_whose_time_is_over() -> None:
    ledger, clock = budget(30.0)
    async with ledger.until_reserve() as window:
        await clock.sleep(20.0)
        ledger.check_scope()
        pytest.fail("the reserve was reached")
    assert window.cut
    assert ledger.until_deadline == pytest.approx(10.0)


async def test_a_scope_that_ends_in_time_is_not_cut() -> None:
    ledger, clock = budget(30.0)
    async with ledger.until_reserve() as window:
        await clock.sleep(5.0)
        ledger.check_scope()
    assert not window.cut


async def test_rounds_a_phase_has_its_own_minutes() -> None:
    ledger, clock = budget(None)
    async with ledger.until_reserve(3.0) as window:
        await clock.sleep(4.0)
        ledger.check_scope()
    assert window.cut


async def test_the_end_of_an_outer_scope_is_not_swallowed_by_an_inner_one() -> None:
    ledger, clock = budget(30.0)
    inner_cut = True
    async with ledger.until_reserve(5.0) as outer:
        async with ledger.until_reserve(50.0) as inner:
            await clock.sleep(6.0)
            ledger.check_scope()
        inner_cut = inner.cut
        ledger.check_scope()
    assert outer.cut or inner_cut


async def test_other_timeouts_pass() -> None:
    ledger, _ = budget(30.0)
    with pytest.raises(TimeoutError, match="mine"):
        async with ledger.until_reserve():
            raise TimeoutError("mine")


async def test_finish_ends_research_at_once() -> None:
    ledger, _ = budget(None)

    async def research() -> bool:
        async with ledger.until_reserve() as window:
            await asyncio.Event().wait()
        return window.cut

    task = asyncio.create_task(research())
    await asyncio.sleep(0)
    ledger.finish_research()
    assert await task
    async with ledger.until_reserve() as window:
        ledger.check_scope()
    assert window.cut


async def test_working_time_of_earlier_attempts_counts() -> None:
    ledger, clock = budget(100.0, carried=60.0)
    await clock.sleep(5.0)
    assert ledger.elapsed == pytest.approx(65.0)
    assert ledger.read_meter().remaining_seconds == pytest.approx(35.0)


async def test_patience_ends_with_the_writing_time() -> None:
    ledger, clock = budget(30.0)
    await clock.sleep(20.0)
    async with ledger.use_reserve():
        assert 0.0 < ledger.find_patience() < 10.0
        ledger.check_scope()  # writing is never refused
    assert ledger.find_patience() == pytest.approx(2.5)  # a quarter of the reserve


async def test_before_the_reserve_patience_leaves_half_of_the_research_to_the_next_analyst() -> None:
    ledger, clock = budget(100.0)
    assert ledger.find_patience() == pytest.approx(45.0)
    await clock.sleep(50.0)
    assert ledger.find_patience() == pytest.approx(20.0)


async def test_patience_shrinks_with_each_call_that_outlasts_it_and_comes_back_with_an_answer() -> None:
    ledger, clock = budget(1000.0)
    seen: list[float] = []
    for _ in range(5):
        await clock.sleep(1.0)
        ledger.record_timeout(1.0)
        seen.append(ledger.find_patience() / (990.0 - ledger.elapsed) / 0.5)
    assert seen == pytest.approx([1 / 2, 1 / 4, 1 / 8, 1 / 8, 1 / 8])
    ledger.record_answer(1.0)
    assert ledger.find_patience() == pytest.approx(0.5 * 985.0)


async def test_calls_that_were_in_flight_together_count_as_one_that_took_too_long_and_not_at_all_after_an_answer() -> (
    None
):
    ledger, clock = budget(1000.0)
    await clock.sleep(20.0)
    for _ in range(3):
        ledger.record_timeout(20.0)
    assert ledger.find_patience() == pytest.approx(0.25 * 970.0)
    await clock.sleep(20.0)
    ledger.record_answer(5.0)
    ledger.record_timeout(20.0)
    assert ledger.find_patience() == pytest.approx(0.5 * (960.0 - 26.0)), "who answers others does not hang"


async def test_the_writer_has_all_that_is_left_whatever_was_too_slow_before() -> None:
    ledger, clock = budget(100.0)
    for _ in range(5):
        await clock.sleep(1.0)
        ledger.record_timeout(1.0)
    await clock.sleep(85.0)
    async with ledger.use_reserve():
        assert ledger.find_patience(writer=True) == pytest.approx(9.0)
        assert ledger.find_patience() == pytest.approx(9.0 / 8)


async def test_slow_calls_enlarge_the_reserve_and_take_their_time_from_research() -> None:
    ledger, clock = budget(100.0)
    ledger.record_answer(4.0)
    assert ledger.reserve == pytest.approx(21.0)
    ledger.record_answer(40.0)
    assert ledger.reserve == pytest.approx(50.0), "at most half of the time"
    await clock.sleep(60.0)
    assert ledger.find_patience() == 0.0, "what the writer needs is taken by nobody else"
    assert ledger.read_meter().allowance.reserve_seconds == pytest.approx(50.0)


async def test_a_call_that_usual_ones_would_be_too_slow_for_is_not_begun() -> None:
    ledger, _ = budget(100.0)
    for seconds in (3.0, 5.0, 6.0):
        ledger.record_answer(seconds)
    async with ledger.until_reserve(4.5):
        assert ledger.find_patience() == 0.0
    async with ledger.until_reserve(8.0):
        assert ledger.find_patience() == pytest.approx(7.2), "up to twice the usual time of a call, but for the end"
    async with ledger.until_reserve(60.0):
        assert ledger.find_patience() == pytest.approx(30.0)


async def test_a_call_that_leaves_no_time_to_read_afterwards_is_not_begun() -> None:
    ledger, _ = budget(100.0)
    ledger.record_answer(5.0)
    async with ledger.until_reserve(9.0):
        assert ledger.find_patience() == pytest.approx(8.1), "who reads may take it"
        assert ledger.find_patience(then=1) == 0.0, "who words a query may not"
    async with ledger.until_reserve(12.0):
        assert ledger.find_patience(then=1) == pytest.approx(7.0)


async def wait_call(ledger: Budget, seconds: float) -> bool:
    """Make a call that takes so long; False if it was not begun or ran out of patience."""
    patience = ledger.find_patience()
    if patience <= 0:
        return False
    try:
        async with ledger.limit_call(patience):
            await asyncio.sleep(seconds)
    except TimeoutError:
        return False
    return True


async def count_answers(ledger: Budget, calls: Sequence[float]) -> int:
    async with ledger.until_reserve(60.0):
        return sum(await asyncio.gather(*(wait_call(ledger, seconds) for seconds in calls)))
    return 0


def test_who_waits_in_a_queue_that_moves_gets_new_patience_and_a_model_that_hangs_does_not() -> None:
    async def run() -> tuple[int, float, float, int]:
        ledger = Budget(make_allowance(minutes=10.0), LoopTime())
        answered = await count_answers(ledger, [10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0])
        alone, waited = ledger.call_seconds, ledger.elapsed
        return answered, waited, alone, await count_answers(ledger, [10.0 * place for place in range(1, 8)])

    answered, waited, alone, again = run_virtually(run())
    assert answered == 5, "half of the minute is not the end while others are answered"
    assert waited == pytest.approx(59.0), "the next analyst has the end of the round"
    assert alone == pytest.approx(10.0), "what a call waited for others says nothing of a call that is sent alone"
    assert again == 5

    async def hang() -> tuple[int, float]:
        ledger = Budget(make_allowance(minutes=10.0), LoopTime())
        return await count_answers(ledger, [1e6] * 7), ledger.elapsed

    assert run_virtually(hang()) == (0, pytest.approx(30.0))


async def test_without_a_limit_patience_is_without_end() -> None:
    ledger, _ = budget(None)
    assert math.isinf(ledger.find_patience())
    assert math.isinf(ledger.until_deadline)


async def test_usage_is_booked_in_all_open_ledgers() -> None:
    ledger, _ = budget(None)
    ledger.add_usage(Usage(input_tokens=1, calls=1))
    with ledger.track_usage() as own:
        ledger.add_usage(Usage(input_tokens=5, calls=1))
    assert own.usage.input_tokens == 5
    assert ledger.read_meter().usage.input_tokens == 6


def test_scope_over_names_its_scope() -> None:
    assert ScopeOver(3.0).ends == 3.0


def test_reading_leaves_a_part_of_the_tokens_of_a_task_to_who_judges_what_was_read() -> None:
    ledger, _ = budget(None)
    with ledger.track_usage(tokens=1_000, judged=True):
        with pytest.raises(LimitReached) as unread, ledger.reserve_tokens(800, reading=True):
            pytest.fail("a quarter is kept")
        assert unread.value.is_of_part
        with ledger.reserve_tokens(700, reading=True), ledger.reserve_tokens(250):
            pass
    with ledger.track_usage(tokens=1_000), ledger.reserve_tokens(800, reading=True):
        pass


async def test_a_call_waits_where_only_calls_in_flight_leave_a_task_too_few_tokens() -> None:
    """A call is reserved with its longest answer, and most take far less."""
    ledger, clock = budget(None)
    sent: list[str] = []

    async def call(name: str) -> None:
        await ledger.wait_tokens(600)
        with ledger.reserve_tokens(600):
            sent.append(name)
            async with ledger.limit_call(math.inf):
                await clock.sleep(1.0)
            ledger.add_usage(Usage(input_tokens=200, output_tokens=100, calls=1))

    with ledger.track_usage(tokens=1_000) as own:
        await asyncio.gather(call("first"), call("second"))
        assert (sent, own.used, own.calls) == (["first", "second"], 600, 0)
        with pytest.raises(LimitReached):
            await call("third")  # nothing is in flight: it would not fit
