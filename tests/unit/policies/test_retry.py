"""Retry: waiting times within bounds, attempts that end, strategies in order."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.policies.threads import asked

from corrobora.domain.plan import SubQuestionStatus
from corrobora.policies.retry import (
    FALLBACK_STRATEGIES,
    MAX_SENDS,
    RA_TAGS,
    RETRY_EXHAUSTED,
    attempt_number,
    choose_strategy,
    compute_backoff,
    is_exhausted,
    may_try,
)


@pytest.mark.parametrize(
    ("attempt", "retry_after", "remaining", "wait"),
    [
        (1, 7.0, 100.0, 7.0),  # bad-input S15: what the provider asked for
        (1, 0.0, 100.0, 0.0),
        (1, 1e9, math.inf, 60.0),  # bad-input S15: honoured up to a minute
        (1, -3.0, 100.0, 1.0),  # bad-input S15: nonsense, own backoff
        (1, math.nan, 100.0, 1.0),
        (1, math.inf, 100.0, 1.0),
        (1, 30.0, 20.0, None),  # would not leave time for the answer
        (1, None, 100.0, 1.0),
        (2, None, 100.0, 2.0),
        (MAX_SENDS, None, 100.0, None),
        (1, None, 0.0, None),
    ],
)
def test_waiting_before_a_call_is_sent_again(attempt: int, retry_after, remaining: float, wait) -> None:
    assert compute_backoff(attempt, retry_after, remaining, jitter=1.0) == wait


@given(
    st.integers(0, 10),
    st.none() | st.floats(allow_nan=True, allow_infinity=True),
    st.floats(0, allow_infinity=True, allow_nan=False),
    st.floats(0, 1),
)
def test_a_wait_is_bounded_by_a_minute_and_by_the_deadline(
    attempt: int, after, remaining: float, jitter: float
) -> None:
    wait = compute_backoff(attempt, after, remaining, jitter=jitter)
    assert wait is None or (0 <= wait <= 60 and wait < remaining and attempt < MAX_SENDS)


@given(st.floats(-5, 5))
def test_jitter_spreads_own_waits_over_half_of_them(jitter: float) -> None:
    wait = compute_backoff(1, None, math.inf, jitter=jitter)
    assert wait is not None
    assert 0.5 <= wait <= 1.0


def test_timed_14_three_attempts_and_no_fourth() -> None:
    assert [is_exhausted(asked(1, attempts=n), 3) for n in range(5)] == [False, False, False, True, True]
    assert [may_try(asked(1, attempts=n), 3) for n in range(4)] == [True, True, True, False]
    assert not may_try(asked(1, SubQuestionStatus.ANSWERED), 3)
    assert not may_try(asked(1, SubQuestionStatus.EXHAUSTED), 3)


def test_timed_16_attempt_numbers_start_at_one() -> None:
    assert attempt_number(asked(1, attempts=0)) == 1
    assert attempt_number(asked(1, attempts=2)) == 3


def test_timed_15_each_retry_has_another_fallback_strategy() -> None:
    assert [choose_strategy(n) for n in range(4)] == ["as_asked", "broaden", "synonyms", "other_provider"]
    assert choose_strategy(99) == FALLBACK_STRATEGIES[-1]
    assert choose_strategy(-1) == FALLBACK_STRATEGIES[0]


def test_timed_22_the_tag_is_in_the_vocabulary() -> None:
    assert RETRY_EXHAUSTED == "#RETRY_EXHAUSTED"
    assert set(RA_TAGS) == {"#RETRY_EXHAUSTED", "#PATH_DECISION", "#COMPLETION_DRIVE"}
