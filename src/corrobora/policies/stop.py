"""Stop rules: when a thread ends, and why.

Knows one thread and one reading of the meter; each reason has a name and the first rule that fires is recorded.
Does not know the clock or any model: a model proposes gaps, it can never extend a run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from corrobora.domain.limits import Meter
from corrobora.domain.plan import Coverage, SubQuestionStatus
from corrobora.domain.thread import Gap, Proposal, StopReason, StopRule, ThreadState
from corrobora.policies import coverage
from corrobora.policies.plateau import PlateauLevel, signal_level
from corrobora.registry import list_parts, load_part


def no_gaps(thread: ThreadState, meter: Meter) -> StopReason | None:  # noqa: ARG001 - one signature for all rules
    """Stop when the last reflection found no gap, whatever the model wished (TIMED-7).

    Where a sub-question was given up, what is left is not nothing: then all that remains is exhausted (TIMED-10).
    """
    proposal = _find_proposal(thread)
    if proposal is None or proposal.gaps:
        return None
    given_up = any(each.standing is SubQuestionStatus.EXHAUSTED for each in thread.sub_questions)
    return StopReason.ALL_EXHAUSTED if given_up else StopReason.GAPS_EMPTY


def reserve_reached(thread: ThreadState, meter: Meter) -> StopReason | None:
    """Stop when only the writing time is left (TIMED-9), or when the last round was cut by it."""
    cut = thread.last is not None and thread.last.cut
    return StopReason.TIME_RESERVE if cut or meter.remaining_seconds < meter.allowance.reserve_seconds else None


def all_exhausted(thread: ThreadState, meter: Meter) -> StopReason | None:  # noqa: ARG001 - one signature
    """Stop when every remaining gap belongs to a sub-question marked `#RETRY_EXHAUSTED` (TIMED-10)."""
    gaps = thread.gaps
    return StopReason.ALL_EXHAUSTED if gaps and all(_is_given_up(gap, thread) for gap in gaps) else None


def max_rounds(thread: ThreadState, meter: Meter) -> StopReason | None:  # noqa: ARG001 - one signature
    """Stop when the course's rounds are used, even if gaps remain (ANGLES-13, TIMED-4, ROUNDS-4, TRIPLET-3)."""
    return StopReason.ITERATION_CAP if thread.number >= thread.course.max_rounds else None


def model_done(thread: ThreadState, meter: Meter) -> StopReason | None:  # noqa: ARG001 - one signature
    """Stop when the evaluation finds nothing to refine, once every phase had its least rounds (ANGLES-14).

    The wide search and at least one narrow one are a property of the loop, not of the model's mood.
    """
    proposal = _find_proposal(thread)
    least = sum(phase.min_rounds for phase in thread.course.phases)
    return StopReason.MODEL_DONE if proposal is not None and proposal.done and thread.number >= least else None


def converged(thread: ThreadState, meter: Meter) -> StopReason | None:  # noqa: ARG001 - one signature
    """Stop when the thread has converged on its criteria (TRIPLET-41)."""
    return StopReason.CRITERIA_MET if coverage.meets_criteria(thread) else None


def criteria_met(thread: ThreadState, meter: Meter) -> StopReason | None:  # noqa: ARG001 - one signature
    """Stop when all sub-questions are answered and all subjects covered, without a round of their own (TREE-18)."""
    asked = bool(thread.sub_questions or thread.subjects)
    answered = all(each.standing is SubQuestionStatus.ANSWERED for each in thread.sub_questions)
    covered = all(each.coverage is Coverage.COVERED for each in thread.subjects)
    quiet = not any(each.blocking for each in thread.contradictions)
    return StopReason.CRITERIA_MET if asked and answered and covered and quiet else None


def plateau(thread: ThreadState, meter: Meter) -> StopReason | None:  # noqa: ARG001 - one signature
    """Stop at plateau level 3: both signals in one round, or no escape left (TRIPLET-34, TRIPLET-36)."""
    return StopReason.PLATEAU if signal_level(thread) is PlateauLevel.STOP else None


def limit_spent(thread: ThreadState, meter: Meter) -> StopReason | None:  # noqa: ARG001 - one signature
    """Stop when tokens, money, calls or searches are used up (BUDGET-2)."""
    return StopReason.LIMIT if meter.exhausted_limit is not None else None


STOP_RULES: Mapping[str, StopRule] = MappingProxyType(
    {
        rule.__name__: rule
        for rule in (
            no_gaps,
            reserve_reached,
            all_exhausted,
            max_rounds,
            model_done,
            converged,
            criteria_met,
            plateau,
            limit_spent,
        )
    }
)


@dataclass(frozen=True, slots=True)
class NumberedRule:
    """A stop rule with a number, which a profile writes as `NAME:NUMBER`. Packages add it as `corrobora.rules`."""

    check: Callable[[ThreadState, Meter, int], StopReason | None]
    least: int = 1
    most: int = 100


@cache
def find_rule(text: str) -> StopRule | None:
    """Return the stop rule that a profile names as `NAME` or `NAME:NUMBER`, None if there is none of this form."""
    name, colon, number = text.partition(":")
    if not colon and name in STOP_RULES:
        return STOP_RULES[name]
    if name not in list_parts("rules"):
        return None
    rule: NumberedRule | StopRule = load_part("rules", name)
    if not isinstance(rule, NumberedRule):
        return None if colon else rule
    if not number.isdecimal() or not rule.least <= int(number[:9]) <= rule.most:
        return None
    check, limit = rule.check, int(number)
    return lambda thread, meter: check(thread, meter, limit)


def find_first_stop(
    rules: Sequence[tuple[str, StopRule]], thread: ThreadState, meter: Meter
) -> tuple[StopReason | None, str]:
    """Return the reason and the name of the first rule that fires, or `(None, "")`. Order is meaning."""
    for name, rule in rules:
        reason = rule(thread, meter)
        if reason is not None:
            return reason, name
    return None, ""


def _find_proposal(thread: ThreadState) -> Proposal | None:
    last = thread.last
    return last.decision.proposal if last is not None and last.decision is not None else None


def _is_given_up(gap: Gap, thread: ThreadState) -> bool:
    """A gap is given up with its sub-question; one that names none, only with all of them."""
    standings = {each.id: each.standing for each in thread.sub_questions}
    if gap.target in standings:
        return standings[gap.target] is SubQuestionStatus.EXHAUSTED
    open_subject = any(each.name == gap.target for each in thread.subjects)
    return not open_subject and bool(standings) and set(standings.values()) == {SubQuestionStatus.EXHAUSTED}
