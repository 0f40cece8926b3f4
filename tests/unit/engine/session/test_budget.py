"""Budget: scopes that keep the writing time free, swallow only their own end, and count working time over attempts."""

from __future__ import annotations

import asyncio
import math

import pytest

from corrobora.domain.limits import Allowance, Usage
from corrobora.engine.session.budget import Budget, ScopeOver
from corrobora.testing import FakeClock


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
    ledger, _ = budget(100.0)
    seen: list[float] = []
    for _ in range(5):
        ledger.record_timeout(ledger.find_patience())
        seen.append(ledger.find_patience())
    assert seen == pytest.approx([22.5, 11.25, 5.625, 5.625, 5.625])
    ledger.record_answer(1.0)
    assert ledger.find_patience() == pytest.approx(45.0)


async def test_the_writer_has_all_that_is_left_whatever_was_too_slow_before() -> None:
    ledger, clock = budget(100.0)
    for _ in range(5):
        ledger.record_timeout(ledger.find_patience())
    await clock.sleep(90.0)
    async with ledger.use_reserve():
        assert ledger.find_patience(writer=True) == pytest.approx(9.0)
        assert ledger.find_patience() == pytest.approx(9.0 / 8)


async def test_slow_calls_enlarge_the_reserve_and_take_their_time_from_research() -> None:
    ledger, clock = budget(100.0)
    ledger.record_answer(10.0)
    assert ledger.reserve == pytest.approx(30.0)
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
        assert ledger.find_patience() == pytest.approx(8.0), "up to twice the usual time of a call"
    async with ledger.until_reserve(60.0):
        assert ledger.find_patience() == pytest.approx(30.0)


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
