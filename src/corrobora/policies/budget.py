"""Budget: the limits of a run, and estimates before it starts.

Knows allowances, meters and prices as values. Does not know the clock, the ledger that reserves, or who is billed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from corrobora.domain.errors import UserError
from corrobora.domain.limits import MAX_MINUTES, Allowance, Meter, Price
from corrobora.domain.plan import Gate, Plan, collect_leaves, walk_nodes
from corrobora.domain.thread import Course

RESERVE_MINUTES = 1.5  # also without a limit (TIMED-1)
RESERVE_SHARE = 0.3
MOST_RESERVE_SHARE = 0.5  # of the run's time, however slow its calls are
WRITER_CALLS = 5.0  # how many usual calls the writing of a report takes at most
WRITE_MARGIN_SECONDS = 1.0  # kept at the very end for rendering and writing files
LEAST_CALLS = 2  # model calls in a row without which a round gives nothing: what to look for, and reading it
CALLS_OF_A_ROUND = 3  # in turn: what to look for, reading, and what is still missing

SHORT_REPORT_SHARE = 0.95  # used share of the tightest limit from which a report is short: it is never skipped

# The cost of one call, as (low, high); the inputs and outputs of roles are bounded by the same numbers.
_INPUT_TOKENS = (800, 6_000)
_OUTPUT_TOKENS = (150, 1_200)
_CALL_SECONDS = (1.0, 20.0)
_SEARCH_SECONDS = (0.05, 3.0)
_READ_SECONDS = (0.05, 5.0)


@dataclass(slots=True)
class CallTimes:
    """What the calls of a model took: one alone, and how much longer behind each other one that was in flight.

    A provider that serves one call after the other, as most on a machine of one's own do, answers the fifth of five
    after five times as long; that says nothing of a call that is sent alone.
    """

    in_turn: bool = False  # whether it is taken to serve in turn until calls that were in flight together are answered
    _seen: list[tuple[int, float]] = field(default_factory=list[tuple[int, float]])
    queueing: float = 0.0  # seconds that each call in flight makes the next one wait

    def add(self, seconds: float, ahead: int) -> None:
        """Add a call that was answered after so long, with so many in flight before it."""
        self._seen.append((ahead, seconds))
        count = len(self._seen)
        places, times = sum(place for place, _ in self._seen) / count, sum(time for _, time in self._seen) / count
        spread = sum((place - places) ** 2 for place, _ in self._seen)
        common = sum((place - places) * (time - times) for place, time in self._seen)
        self.queueing = max(0.0, common / spread) if spread else self.in_turn * self.find_quantile(0.5)

    def find_quantile(self, share: float) -> float:
        """Return the seconds alone that this share of the calls took at most; 0 without any."""
        alone = sorted(max(0.0, time - self.queueing * place) for place, time in self._seen)
        return alone[round(share * (len(alone) - 1))] if alone else 0.0


def compute_reserve_seconds(minutes: float | None) -> float:
    """Return the time reserved for writing: `min(1.5, 0.3 T)` minutes, 1.5 without a limit (TIMED-1)."""
    return 60.0 * (RESERVE_MINUTES if minutes is None else min(RESERVE_MINUTES, RESERVE_SHARE * minutes))


def make_allowance(
    *,
    minutes: float | None,
    reserve_minutes: float | None = None,
    tokens: int | None = None,
    dollars: float | None = None,
    searches: int | None = None,
) -> Allowance:
    """Make an allowance from a user's numbers; None means no limit.

    A budget of 0 dollars is legal and means that nothing may be spent. Raises `UserError` `bad_limit` for a
    number that is negative or not finite, and for a time of 0 or over a week.
    """
    if minutes is not None and not (math.isfinite(minutes) and 0 < minutes <= MAX_MINUTES):
        raise _limit_error("minutes", minutes, f"a number over 0 and at most {MAX_MINUTES:g}, or unlimited")
    for name, value in (("tokens", tokens), ("dollars", dollars), ("searches", searches)):
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
        searches=searches,
    )


def fit_reserve(allowance: Allowance, call_seconds: float) -> float:
    """Return the seconds to keep for writing: more than was asked for where calls are slow, at most half of the time.

    A report is the longest answer of a run: it takes some three to five times as long as other calls.
    """
    if allowance.seconds is None:
        return allowance.reserve_seconds
    writing = estimate_writing_seconds(call_seconds)
    return max(allowance.reserve_seconds, min(writing, MOST_RESERVE_SHARE * allowance.seconds))


def estimate_writing_seconds(call_seconds: float) -> float:
    """Return how long the writing of a report takes at most where usual calls take so long; 0 where none is known."""
    return WRITER_CALLS * call_seconds + WRITE_MARGIN_SECONDS if call_seconds else 0.0


def count_calls_in_turn(meter: Meter) -> int | None:
    """Return how many calls, one after the other, the research time has room for; None if nothing limits them."""
    if meter.allowance.seconds is None or not meter.call_seconds:
        return None
    left = (
        meter.remaining_seconds - meter.allowance.reserve_seconds - meter.call_seconds
    )  # the planner is still to come
    return max(0, int(left / meter.call_seconds))


def compute_round_end(meter: Meter) -> float:
    """Return the seconds that must be left when a round begins: less would cut it before a model has read anything."""
    return meter.allowance.reserve_seconds + LEAST_CALLS * meter.call_seconds


def find_spent_limit(meter: Meter) -> str | None:
    """Return the name of the first limit that leaves nothing for more research, or None."""
    if meter.remaining_seconds <= compute_round_end(meter):
        return "time"
    return meter.exhausted_limit


def find_spent_phase_limit(gate: Gate, opened: Meter, now: Meter) -> str | None:
    """Return the name of the limit that ends a phase: one of the run's, or the phase's own (TREE-17).

    The phase's own budget counts from `opened`, the reading of the meter when it began.
    """
    tokens = now.tokens - opened.tokens
    if gate.budget_seconds is not None and now.elapsed_seconds - opened.elapsed_seconds >= gate.budget_seconds:
        return "phase_time"
    if gate.budget_tokens is not None and tokens >= gate.budget_tokens:
        return "phase_tokens"
    return find_spent_limit(now)


def used_share(meter: Meter) -> float:
    """Return the used share of the tightest limit, in [0, 1]; 0 without any limit."""
    pairs = [(used, limit) for _, used, limit in meter.limits]
    if meter.allowance.seconds is not None:
        pairs.append((meter.elapsed_seconds, meter.allowance.seconds))
    return max((1.0 if limit <= 0 else min(1.0, used / limit) for used, limit in pairs), default=0.0)


def needs_short_report(meter: Meter) -> bool:
    """True if so little is left that the report must be short (BUDGET-4)."""
    return used_share(meter) >= SHORT_REPORT_SHARE


@dataclass(frozen=True, slots=True)
class CostBound:
    """One end of an estimate. `dollars` is None if no price is known."""

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
    """What a run may take, before it starts, as a range (BUDGET-7), and what the range is based on."""

    low: CostBound
    high: CostBound
    models: tuple[str, ...] = ()
    unpriced: tuple[str, ...] = ()  # models without a known price: nothing can be said about dollars then
    ask_above: float | None = None  # dollars above which a person must agree

    @property
    def needs_yes(self) -> bool:
        """True if the run may cost more than what is spent without asking."""
        return self.ask_above is not None and self.high.dollars is not None and self.high.dollars > self.ask_above


@dataclass(frozen=True, slots=True)
class EstimateInputs:
    """The numbers of a profile that an estimate needs."""

    course: Course
    reviews: int = 0  # review roles that will be played: critique, revise, judge
    leaves_in_turn: bool = False
    minutes: float | None = None


def estimate_run(
    plan: Plan, numbers: EstimateInputs, price: Price | None, highest_price: Price | None = None
) -> Estimate:
    """Estimate a run of this plan as a range; the high end never exceeds the caps of plan and profile.

    With several models `price` is that of the cheapest and `highest_price` that of the most expensive one.
    """
    low = _estimate_bound(plan, numbers, price, high=False)
    return Estimate(low, _estimate_bound(plan, numbers, highest_price or price, high=True))


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
