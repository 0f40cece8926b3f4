"""Retry: how often a target is tried, how long to wait, and what to try differently.

Knows counts and waiting times as values. Does not sleep, does not draw random numbers, does not know providers.

Schedule: which providers answer which query, and which queries run together.

Knows the rotation that a phase asks for. Does not know providers beyond their names, nor how long to wait.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from corrobora.domain.limits import LIMITS
from corrobora.domain.plan import SubQuestion, SubQuestionStatus
from corrobora.domain.thread import Phase

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
    negative or not a number is ignored (bad-input S15). A wait that would not leave time for the answer is a give-up.
    """
    if attempt >= MAX_SENDS:
        return None
    share = min(1.0, max(0.0, jitter))
    own = min(LIMITS.retry_after_max_seconds, BASE_SECONDS * 2.0 ** max(0, attempt)) * (0.5 + 0.5 * share)
    asked = retry_after is not None and math.isfinite(retry_after) and retry_after >= 0
    wait = min(retry_after, LIMITS.retry_after_max_seconds) if asked and retry_after is not None else own
    return wait if wait < remaining else None


def attempt_number(sub_question: SubQuestion) -> int:
    """Return the number of the coming attempt, from 1, as a sub-agent reports it (TIMED-16)."""
    return sub_question.attempts + 1


def is_exhausted(sub_question: SubQuestion, attempts: int) -> bool:
    """True if a sub-question has failed as often as the profile allows (TIMED-14: 3)."""
    return sub_question.attempts >= attempts


def may_try(sub_question: SubQuestion, attempts: int) -> bool:
    """True if a sub-question may be targeted again: neither answered nor given up."""
    settled = sub_question.standing in (SubQuestionStatus.ANSWERED, SubQuestionStatus.EXHAUSTED)
    return not settled and not is_exhausted(sub_question, attempts)


def choose_strategy(failed_attempts: int) -> Strategy:
    """Say what the coming attempt does differently after so many failures (TIMED-15)."""
    return FALLBACK_STRATEGIES[min(max(0, failed_attempts), len(FALLBACK_STRATEGIES) - 1)]


LIBRARY_PROVIDER = "library"  # the name of what the user brought, beside the web


def choose_providers(phase: Phase, query_index: int, available: tuple[str, ...]) -> tuple[str, ...]:
    """Return the providers that answer one query of a phase, in order.

    `all`: each of them. `alternate`: one, in turn by the query's index (ROUNDS-13). `fixed`: the first of the
    phase's order that the run has. A phase whose providers the run lacks takes what the run has: a missing key must
    not end the research (ROUNDS-12). A phase that names web providers chooses among these alone:
    the library that a user brought is asked beside them, or naming it would do nothing.
    """
    order = _order_providers(phase, available)
    if not order:
        return ()
    beside = (LIBRARY_PROVIDER,) if LIBRARY_PROVIDER in available and LIBRARY_PROVIDER not in order else ()
    match phase.rotation:
        case "alternate":
            return (order[query_index % len(order)], *beside)
        case "fixed":
            return (*order[:1], *beside)
        case _:
            return (*order, *beside)


def list_other_providers(phase: Phase, used: tuple[str, ...], available: tuple[str, ...]) -> tuple[str, ...]:
    """Return the providers that a failed query may still be sent to, the phase's own first (TIMED-19)."""
    order = tuple(dict.fromkeys((*_order_providers(phase, available), *available)))
    return tuple(name for name in order if name not in used)


def group_waves(n_queries: int, *, in_turn: bool) -> tuple[tuple[int, ...], ...]:
    """Return the groups of query indices that run together: one after another, or all at once (ROUNDS-11)."""
    every = tuple(range(max(0, n_queries)))
    if not every:
        return ()
    return tuple((index,) for index in every) if in_turn else (every,)


def _order_providers(phase: Phase, available: tuple[str, ...]) -> tuple[str, ...]:
    wanted = tuple(name for name in phase.providers if name in available)
    return wanted or available
