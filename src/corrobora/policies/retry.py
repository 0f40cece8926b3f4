"""Retry: how often a target is tried, how long to wait, and what to try differently.

Knows counts and waiting times as values. Does not sleep, does not draw random numbers, does not know providers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from corrobora.domain.brief import SubQuestion, SubQuestionStatus
from corrobora.domain.limits import LIMITS

MAX_SENDS = 3  # transport: a call is sent at most so often; these are not attempts of a sub-question
BASE_SECONDS = 0.5

RETRY_EXHAUSTED = "#RETRY_EXHAUSTED"
RA_TAGS: Mapping[str, str] = MappingProxyType(
    {
        RETRY_EXHAUSTED: "a sub-question or address was given up after its last attempt; the methodology names it",
        "#PATH_DECISION": "one of several ways was chosen, with the reason",
        "#COMPLETION_DRIVE": "an assumption was made to finish, with its risk",
    }
)

Strategy = Literal["as_asked", "broaden", "synonyms", "other_provider"]
FALLBACK_STRATEGIES: tuple[Strategy, ...] = ("as_asked", "broaden", "synonyms", "other_provider")


def compute_backoff(attempt: int, retry_after: float | None, remaining: float, *, jitter: float) -> float | None:
    """Return the seconds to wait before a call is sent again, or None to give up.

    `attempt` is the number of times it was sent; `remaining` the seconds left (`inf` without a limit); `jitter` a
    random number in [0, 1] drawn by the caller. What the provider asked for is honoured up to a minute; what is
    negative or not a number is ignored (safety S15). A wait that would not leave time for the answer is a give-up.
    """
    if attempt >= MAX_SENDS:
        return None
    share = min(1.0, max(0.0, jitter))
    own = min(LIMITS.retry_after_max_seconds, BASE_SECONDS * 2.0 ** max(0, attempt)) * (0.5 + 0.5 * share)
    asked = retry_after is not None and math.isfinite(retry_after) and retry_after >= 0
    wait = min(retry_after, LIMITS.retry_after_max_seconds) if asked and retry_after is not None else own
    return wait if wait < remaining else None


def attempt_number(sub_question: SubQuestion) -> int:
    """Return the number of the coming attempt, from 1, as a sub-agent reports it (S2 TR-3)."""
    return sub_question.attempts + 1


def is_exhausted(sub_question: SubQuestion, attempts: int) -> bool:
    """True if a sub-question has failed as often as the profile allows (S2 FR-4: 3)."""
    return sub_question.attempts >= attempts


def may_try(sub_question: SubQuestion, attempts: int) -> bool:
    """True if a sub-question may be targeted again: neither answered nor given up."""
    settled = sub_question.standing in (SubQuestionStatus.ANSWERED, SubQuestionStatus.EXHAUSTED)
    return not settled and not is_exhausted(sub_question, attempts)


def choose_strategy(failed_attempts: int) -> Strategy:
    """Say what the coming attempt does differently after so many failures (S2 TR-2, "fallback strategy")."""
    return FALLBACK_STRATEGIES[min(max(0, failed_attempts), len(FALLBACK_STRATEGIES) - 1)]
