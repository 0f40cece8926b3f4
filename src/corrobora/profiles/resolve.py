"""Resolve: from the names in a profile to the policies they name.

Knows the tables of policies. Does not know how they are used.
"""

from __future__ import annotations

from corrobora.domain.limits import Allowance
from corrobora.domain.thread import AdvanceRule, StopRule
from corrobora.policies import budget
from corrobora.policies.stop import ADVANCE_RULES, STOP_RULES
from corrobora.profiles.profile import Profile


def resolve_rules(profile: Profile) -> tuple[tuple[str, StopRule], ...]:
    """Return the stop rules with their names, in the profile's order; names were checked when it was loaded."""
    return tuple((name, STOP_RULES[name]) for name in profile.stop)


def resolve_advance(profile: Profile) -> AdvanceRule:
    """Return how the profile takes phases."""
    return ADVANCE_RULES[profile.advance]


def allowance_of(
    profile: Profile, *, tokens: int | None = None, dollars: float | None = None, searches: int | None = None
) -> Allowance:
    """Return what a run of this profile may use: the profile's time and the user's other limits."""
    return budget.make_allowance(
        minutes=profile.minutes,
        reserve_minutes=profile.reserve_minutes,
        tokens=tokens,
        dollars=dollars,
        searches=searches,
    )


def numbers_of(profile: Profile, *, models: bool) -> budget.EstimateInputs:
    """Return the numbers of a profile that an estimate needs."""
    review = profile.review
    return budget.EstimateInputs(
        course=profile.course,
        reviews=sum((review.critique, review.revise, review.judge)),
        leaves_in_turn=profile.leaves_in_turn,
        minutes=profile.minutes,
        models=models,
    )
