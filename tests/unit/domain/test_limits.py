"""The meter: what is left, and which limit is used up first."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corrobora.domain.limits import LIMITS, Allowance, Meter, Usage

COUNTS = st.integers(0, 10**9)
USAGES = st.builds(Usage, COUNTS, COUNTS, COUNTS, st.integers(0, 10**6).map(float), COUNTS, st.booleans())
SECONDS = st.floats(0, 1e9)


@given(USAGES, USAGES, USAGES)
def test_usage_adds_up_in_any_order(one: Usage, two: Usage, three: Usage) -> None:
    assert one + two == two + one
    assert (one + two) + three == one + (two + three)
    assert one + Usage() == one


def test_one_unpriced_call_makes_the_sum_unpriced() -> None:
    assert (Usage(dollars=0.5) + Usage(priced=False)).priced is False
    assert (Usage(dollars=0.5) + Usage(dollars=0.25)).dollars == 0.75


@given(SECONDS, SECONDS)
def test_remaining_time_is_never_negative(seconds: float, elapsed: float) -> None:
    meter = Meter(Allowance(seconds), elapsed)
    assert meter.remaining_seconds == max(0.0, seconds - elapsed)


@given(SECONDS)
def test_without_a_limit_time_never_ends(elapsed: float) -> None:
    assert Meter(Allowance(None), elapsed).remaining_seconds == math.inf


@pytest.mark.parametrize(
    ("allowance", "usage", "searches", "name"),
    [
        (Allowance(tokens=10), Usage(4, 6), 0, "tokens"),
        (Allowance(tokens=11), Usage(4, 6), 0, None),
        (Allowance(dollars=0.5), Usage(dollars=0.5), 0, "dollars"),
        (Allowance(dollars=0.5), Usage(dollars=0.49), 0, None),
        (Allowance(searches=3), Usage(), 3, "searches"),
        (Allowance(searches=3), Usage(), 2, None),
        (Allowance(tokens=1, dollars=0.1, searches=1), Usage(1, 1, 0, 1.0, 1), 0, "tokens"),
        (Allowance(dollars=0.0), Usage(), 0, "dollars"),
        (Allowance(), Usage(10**9, 10**9, 0, 1e6, 10**6), 10**6, None),
        (Allowance(seconds=1), Usage(), 0, None),
    ],
)
def test_the_first_exhausted_limit_is_named(
    allowance: Allowance, usage: Usage, searches: int, name: str | None
) -> None:
    assert Meter(allowance, 5.0, usage, searches).exhausted_limit == name


@given(USAGES, st.integers(1, 10**9))
def test_more_usage_never_frees_a_limit(usage: Usage, tokens: int) -> None:
    allowance = Allowance(tokens=tokens)
    if Meter(allowance, usage=usage).exhausted_limit:
        assert Meter(allowance, usage=usage + Usage(1)).exhausted_limit == "tokens"


def test_the_default_reserve_is_a_minute_and_a_half() -> None:
    assert Allowance().reserve_seconds == 90.0  # TIMED-1


def test_tree_and_angles_limits_stand_in_the_table() -> None:
    assert LIMITS.plan_max_depth == 3
    assert LIMITS.sub_agents_max == 7
    assert LIMITS.question_max_chars == 20_000
