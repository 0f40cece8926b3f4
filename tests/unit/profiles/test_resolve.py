"""Resolve: names of a profile become the policies of that name, in order."""

from __future__ import annotations

import pytest

from corrobora.policies import stop
from corrobora.profiles import allowance_of, load_profile, numbers_of, profile_names, resolve_advance, resolve_rules


@pytest.mark.parametrize("name", profile_names())
def test_rules_keep_the_order_of_the_profile(name: str) -> None:
    profile = load_profile(name)
    assert resolve_rules(profile) == tuple((rule, getattr(stop, rule)) for rule in profile.stop)
    assert resolve_advance(profile) is getattr(stop, profile.advance)


def test_another_order_is_another_meaning() -> None:
    turned = load_profile("timed", [("stop", '["max_rounds", "no_gaps"]')])
    assert [name for name, _ in resolve_rules(turned)] == ["max_rounds", "no_gaps"]


def test_the_allowance_is_the_profiles_time_and_the_users_limits() -> None:
    found = allowance_of(load_profile("timed"), tokens=5, dollars=0.5, searches=3)
    assert (found.seconds, found.reserve_seconds) == (300.0, 90.0)
    assert (found.tokens, found.dollars, found.searches) == (5, 0.5, 3)
    assert allowance_of(load_profile("triplet")).seconds is None
    assert allowance_of(load_profile("rounds")).reserve_seconds == 150.0


def test_the_numbers_of_an_estimate_follow_the_profile() -> None:
    found = numbers_of(load_profile("angles"), models=False)
    assert (found.reviews, found.leaves_in_turn, found.minutes, found.models) == (3, False, None, False)
    timed = numbers_of(load_profile("timed"), models=True)
    assert (timed.reviews, timed.leaves_in_turn, timed.minutes, timed.models) == (0, True, 5.0, True)
    assert timed.course == load_profile("timed").course
