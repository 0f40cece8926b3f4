"""Budget: the arithmetic of seconds, tokens, money and calls.

Knows allowances, meters and prices as values. Does not know the clock, the ledger that reserves, or who is billed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from corrobora.domain.declaration import MAX_MINUTES
from corrobora.domain.errors import UserError
from corrobora.domain.limits import Allowance, Meter, Usage
from corrobora.domain.plan import Gate, Plan, collect_leaves, walk_nodes
from corrobora.domain.thread import Course, Phase

RESERVE_MINUTES = 1.5  # also without a limit (TIMED-1)
RESERVE_SHARE = 0.3

# The declared order in which work is shed near a limit, with the used share of the tightest limit at which it goes.
# The report itself is not in this table: it is never shed (BUDGET-4).
SHED_THRESHOLDS: Mapping[str, float] = MappingProxyType(
    {"fewer_verifiers": 0.80, "fewer_leaves": 0.90, "shorter_report": 0.95}
)

# What one call of a role takes, as (low, high) tokens: the texts of the roles are bounded by the same numbers.
_INPUT_TOKENS = (800, 6_000)
_OUTPUT_TOKENS = (150, 1_200)
_CALL_SECONDS = (1.0, 20.0)
_SEARCH_SECONDS = (0.05, 3.0)
_READ_SECONDS = (0.05, 5.0)


def compute_reserve_seconds(minutes: float | None) -> float:
    """Return the time kept for writing: `min(1.5, 0.3 T)` minutes, 1.5 without a limit (TIMED-1)."""
    return 60.0 * (RESERVE_MINUTES if minutes is None else min(RESERVE_MINUTES, RESERVE_SHARE * minutes))


def make_allowance(  # noqa: PLR0913 - one keyword for each limit
    *,
    minutes: float | None,
    reserve_minutes: float | None = None,
    tokens: int | None = None,
    dollars: float | None = None,
    calls: int | None = None,
    searches: int | None = None,
) -> Allowance:
    """Make an allowance of a user's numbers; None is no limit.

    Raises:
        UserError: `bad_limit` for a number that is negative, not finite, or a time of 0 or over a week; a budget of
            0 calls or dollars is legal and means that nothing may be spent.
    """
    if minutes is not None and not (math.isfinite(minutes) and 0 < minutes <= MAX_MINUTES):
        raise _limit_error("minutes", minutes, f"a number over 0 and at most {MAX_MINUTES:g}, or unlimited")
    for name, value in (("tokens", tokens), ("dollars", dollars), ("calls", calls), ("searches", searches)):
        if value is not None and not (math.isfinite(value) and value >= 0):
            raise _limit_error(name, value, "a finite number of 0 or more")
    kept = compute_reserve_seconds(minutes) if reserve_minutes is None else 60.0 * reserve_minutes
    if not (math.isfinite(kept) and kept >= 0) or (minutes is not None and kept >= 60.0 * minutes):
        raise _limit_error("reserve_minutes", kept / 60.0, "0 or more, and less than the time limit")
    return Allowance(
        seconds=None if minutes is None else 60.0 * minutes,
        reserve_seconds=kept,
        tokens=tokens,
        dollars=dollars,
        calls=calls,
        searches=searches,
    )


def round_seconds(phase: Phase, meter: Meter) -> float | None:
    """Return how long the coming round may take, None without a limit; never negative, never into the reserve.

    Requirement: ROUNDS-28.
    """
    left = max(0.0, meter.remaining_seconds - meter.allowance.reserve_seconds)
    own = math.inf if phase.minutes is None else 60.0 * phase.minutes
    found = min(left, own)
    return None if math.isinf(found) else found


def round_deadline(phase: Phase, meter: Meter) -> float | None:
    """Return the elapsed time of the run at which the coming round is cut, None without a limit."""
    seconds = round_seconds(phase, meter)
    return None if seconds is None else meter.elapsed_seconds + seconds


def find_spent_limit(meter: Meter) -> str | None:
    """Name the first limit that leaves nothing for more research, or None."""
    if meter.remaining_seconds <= meter.allowance.reserve_seconds:
        return "time"
    return meter.exhausted_limit


def find_spent_phase_limit(gate: Gate, opened: Meter, now: Meter) -> str | None:
    """Name the limit that ends a phase: one of the run's, or the phase's own seconds or tokens (TREE-17).

    The phase's own budget counts from `opened`, the reading when it began.
    """
    tokens = _count_tokens(now) - _count_tokens(opened)
    if gate.budget_seconds is not None and now.elapsed_seconds - opened.elapsed_seconds >= gate.budget_seconds:
        return "phase_time"
    if gate.budget_tokens is not None and tokens >= gate.budget_tokens:
        return "phase_tokens"
    return find_spent_limit(now)


def _count_tokens(meter: Meter) -> int:
    return meter.usage.input_tokens + meter.usage.output_tokens


def used_share(meter: Meter) -> float:
    """Return the used share of the tightest limit, in [0, 1]; 0 without any limit."""
    limits = meter.allowance
    pairs = (
        (meter.elapsed_seconds, limits.seconds),
        (meter.usage.input_tokens + meter.usage.output_tokens, limits.tokens),
        (meter.usage.dollars, limits.dollars),
        (meter.usage.calls, limits.calls),
        (meter.searches, limits.searches),
    )
    shares = [1.0 if limit <= 0 else min(1.0, used / limit) for used, limit in pairs if limit is not None]
    return max(shares, default=0.0)


def select_shed_work(meter: Meter) -> tuple[str, ...]:
    """Return the work to be shed now, in the declared order; a later item never goes before an earlier one."""
    share = used_share(meter)
    return tuple(name for name, at in SHED_THRESHOLDS.items() if share >= at)


def is_affordable(usage: Usage, meter: Meter) -> bool:
    """True if a call of at most this usage fits what is left: its maximum is reserved before it is sent (BUDGET-1)."""
    limits = meter.allowance
    tokens = meter.usage.input_tokens + meter.usage.output_tokens + usage.input_tokens + usage.output_tokens
    return (
        (limits.tokens is None or tokens <= limits.tokens)
        and (limits.dollars is None or (usage.priced and meter.usage.dollars + usage.dollars <= limits.dollars))
        and (limits.calls is None or meter.usage.calls + usage.calls <= limits.calls)
    )


@dataclass(frozen=True, slots=True)
class Price:
    """What a model costs in dollars for a million tokens."""

    input: float
    output: float


@dataclass(frozen=True, slots=True)
class CostBound:
    """One end of an estimate. `dollars` is None where no price is known."""

    rounds: int
    searches: int
    reads: int
    calls: int
    input_tokens: int
    output_tokens: int
    dollars: float | None
    seconds: float


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a run may take, before it starts, as a range (BUDGET-7)."""

    low: CostBound
    high: CostBound


@dataclass(frozen=True, slots=True)
class EstimateInputs:
    """The numbers of a profile that an estimate needs."""

    course: Course
    reviews: int = 0  # review roles that will be played: critique, revise, judge
    leaves_in_turn: bool = False
    minutes: float | None = None
    models: bool = True  # False: the extractive analyst alone, no tokens


def estimate_run(plan: Plan, numbers: EstimateInputs, price: Price | None) -> Estimate:
    """Estimate a run of this plan as a range; the high end never exceeds the caps of plan and profile."""
    return Estimate(_estimate_bound(plan, numbers, price, high=False), _estimate_bound(plan, numbers, price, high=True))


def _estimate_bound(plan: Plan, numbers: EstimateInputs, price: Price | None, *, high: bool) -> CostBound:
    at = 1 if high else 0
    threads = collect_leaves(plan.root)
    inner = sum(1 for node in walk_nodes(plan.root) if not node.is_leaf)
    iterations = (
        max((gate.max_iterations for node in walk_nodes(plan.root) for gate in node.gates), default=1) if high else 1
    )
    course = numbers.course
    per_leaf = [min(node.max_rounds or course.max_rounds, course.max_rounds) if high else 1 for node in threads]
    rounds = sum(per_leaf) * iterations
    phase_queries = [phase.max_queries if high else phase.min_queries for phase in course.phases]
    queries = max(phase_queries) if high else min(phase_queries)
    searches = rounds * queries
    reads = rounds * (course.reads_per_round if high else 1)
    calls = 3 + 2 * rounds + reads + len(threads) + inner * iterations + numbers.reviews  # clarify, plan, synthesize
    if not numbers.models:
        calls = 0
    tokens_in, tokens_out = calls * _INPUT_TOKENS[at], calls * _OUTPUT_TOKENS[at]
    dollars = None if price is None else (tokens_in * price.input + tokens_out * price.output) / 1e6
    work = searches * _SEARCH_SECONDS[at] + reads * _READ_SECONDS[at] + calls * _CALL_SECONDS[at]
    lanes = 1 if numbers.leaves_in_turn else max(1, len(threads))
    seconds = work / lanes
    if numbers.minutes is not None:
        seconds = min(seconds, 60.0 * numbers.minutes)
    return CostBound(rounds, searches, reads, calls, tokens_in, tokens_out, dollars, seconds)


def _limit_error(name: str, value: float, allowed: str) -> UserError:
    return UserError("bad_limit", f"{name} is {value:g}; allowed: {allowed}.", next_step=f"Give another {name}.")
