"""Budget: the reserve, deadlines of rounds, what is spent, what is shed, and estimates as ranges."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.policies.threads import meter

from corrobora.domain.errors import UserError
from corrobora.domain.limits import Allowance, Meter, Price, Usage
from corrobora.domain.plan import Gate, Node, Plan
from corrobora.domain.thread import Course, Phase
from corrobora.policies import Profile, fit_profile
from corrobora.policies.budget import (
    EstimateInputs,
    compute_reserve_seconds,
    estimate_run,
    find_spent_limit,
    find_spent_phase_limit,
    make_allowance,
    needs_short_report,
    used_share,
)


@pytest.mark.parametrize(("minutes", "reserve"), [(5, 1.5), (10, 1.5), (None, 1.5), (0.5, 0.15), (4, 1.2), (2, 0.6)])
def test_timed_1_reserve_is_the_smaller_of_a_minute_and_a_half_and_30_percent(minutes, reserve: float) -> None:
    assert compute_reserve_seconds(minutes) == pytest.approx(60 * reserve)


@given(st.floats(0.001, 10_000))
def test_timed_1_the_reserve_always_leaves_at_least_70_percent_for_research(minutes: float) -> None:
    assert 0 < compute_reserve_seconds(minutes) <= min(90.0, 0.3 * 60 * minutes) + 1e-9


def test_timed_1_rows_of_the_flag_table() -> None:
    five, ten, free = make_allowance(minutes=5), make_allowance(minutes=10), make_allowance(minutes=None)
    assert (five.seconds, five.reserve_seconds) == (300, 90)  # 3.5 minutes of research
    assert (ten.seconds, ten.reserve_seconds) == (600, 90)  # 8.5 minutes of research
    assert (free.seconds, free.reserve_seconds) == (None, 90)
    assert make_allowance(minutes=5, reserve_minutes=0).reserve_seconds == 0


@pytest.mark.parametrize(
    "wrong",
    [
        {"minutes": 0},
        {"minutes": -5},
        {"minutes": math.nan},
        {"minutes": math.inf},
        {"minutes": 1e9},
        {"minutes": 5, "dollars": -1},
        {"minutes": 5, "dollars": math.nan},
        {"minutes": 5, "tokens": -1},
        {"minutes": 5, "reserve_minutes": 5},
        {"minutes": 5, "reserve_minutes": -1},
    ],
)
def test_c04_wrong_limits_are_refused_with_what_is_allowed(wrong) -> None:
    with pytest.raises(UserError, match="allowed") as caught:
        make_allowance(**wrong)
    assert caught.value.code == "bad_limit"


def test_c10_a_budget_of_nothing_is_legal_and_already_spent() -> None:
    limits = make_allowance(minutes=None, dollars=0)
    assert limits.dollars == 0
    assert find_spent_limit(meter(seconds=None, dollars=0)) == "dollars"


def test_tree_a_gate_is_spent_by_its_own_budget_too() -> None:
    assert find_spent_limit(meter(100)) is None
    assert find_spent_limit(meter(210)) == "time"
    assert find_spent_limit(meter(seconds=None, searches=3, searched=3)) == "searches"
    slow = Gate("slow", budget_seconds=50)
    assert find_spent_phase_limit(slow, meter(50), meter(100)) == "phase_time"
    assert find_spent_phase_limit(slow, meter(51), meter(100)) is None
    assert find_spent_phase_limit(slow, meter(200), meter(210)) == "time"


def test_tree_the_tokens_of_a_phase_count_from_where_it_begins() -> None:
    began = replace(meter(10), usage=Usage(input_tokens=900, output_tokens=100))
    now = replace(meter(20), usage=Usage(input_tokens=1_300, output_tokens=150))
    assert find_spent_phase_limit(Gate("dear", budget_tokens=450), began, now) == "phase_tokens"
    assert find_spent_phase_limit(Gate("dear", budget_tokens=451), began, now) is None


def test_budget_4_near_a_limit_the_report_is_short_and_never_skipped() -> None:
    assert [needs_short_report(meter(t, seconds=100)) for t in (79, 94, 95, 1000)] == [False, False, True, True]
    assert not needs_short_report(meter(1e9, seconds=None))


@given(st.floats(0, 1e4), st.integers(0, 1000), st.integers(0, 100))
def test_the_used_share_only_grows_with_use(elapsed: float, tokens: int, more: int) -> None:
    less = meter(elapsed, seconds=1000, tokens=500, usage=Usage(input_tokens=tokens))
    used = meter(elapsed + more, seconds=1000, tokens=500, usage=Usage(input_tokens=tokens + more))
    assert 0.0 <= used_share(less) <= used_share(used) <= 1.0


def tree(n_leaves: int, iterations: int = 1) -> Plan:
    children = tuple(Node(f"root/{n}", f"T{n}", f"Find {n}") for n in range(1, n_leaves + 1))
    return Plan(Node("root", "All", "Find all", children, gates=(Gate(max_iterations=iterations),)))


def numbers(**more) -> EstimateInputs:
    course = Course((Phase("p", min_queries=1, max_queries=3),), max_rounds=3, reads_per_round=5)
    return EstimateInputs(course, **more)


def test_an_estimate_is_a_range_that_ends_at_the_caps() -> None:
    found = estimate_run(tree(4), numbers(), Price(3.0, 15.0))
    assert (found.low.rounds, found.high.rounds) == (4, 12)
    assert (found.low.searches, found.high.searches) == (4, 36)
    assert (found.low.reads, found.high.reads) == (4, 60)
    assert found.low.dollars is not None
    assert found.high.dollars is not None
    assert 0 < found.low.dollars < found.high.dollars


def test_an_estimate_knows_gates_reviews_and_the_time_limit() -> None:
    plain = estimate_run(tree(2), numbers(), None).high
    assert estimate_run(tree(2, iterations=3), numbers(), None).high.rounds == 3 * plain.rounds
    assert estimate_run(tree(2), numbers(reviews=3), None).high.calls == plain.calls + 3
    assert estimate_run(tree(2), numbers(minutes=1), None).high.seconds == 60
    assert estimate_run(tree(2), numbers(leaves_in_turn=True), None).high.seconds == 2 * plain.seconds
    assert plain.dollars is None


@given(st.integers(1, 12), st.integers(1, 5), st.integers(0, 3))
def test_the_low_end_is_never_over_the_high_end(n_leaves: int, iterations: int, reviews: int) -> None:
    found = estimate_run(tree(n_leaves, iterations), numbers(reviews=reviews), Price(1.0, 2.0))
    for name in ("rounds", "searches", "reads", "calls", "input_tokens", "output_tokens", "dollars", "seconds"):
        assert 0 <= getattr(found.low, name) <= getattr(found.high, name)


def test_slow_calls_take_leaves_and_rounds_from_the_plan_and_never_all_of_them() -> None:
    profile = Profile("p", max_leaves=7, max_rounds=3, leaves_in_turn=True, minutes=10.0)

    def fit(call_seconds: float, remaining: float = 600.0) -> tuple[int, int]:
        meter = Meter(Allowance(600.0, 60.0), 600.0 - remaining, call_seconds=call_seconds)
        found = fit_profile(profile, meter)
        assert bool(found.notes) == (found != profile)
        return found.max_rounds, found.max_leaves

    assert fit(0.0) == (3, 7), "nothing is known yet"
    assert fit(1.0) == (3, 7)
    assert fit(10.0) == (3, 5), "53 calls in turn: five leaves of nine calls"
    assert fit(30.0) == (3, 1), "who has no sibling may use all rounds that there is time for"
    assert fit(60.0, remaining=70.0) == (3, 1)
    assert fit_profile(replace(profile, minutes=None), Meter(Allowance(None), call_seconds=60.0)).notes == ()
