"""Convergence: whether a thread has learned what it was asked.

Knows S4's formula over one thread. Does not know who stops the thread: `stop` does.
"""

from __future__ import annotations

from corrobora.domain.brief import SubQuestion, SubQuestionStatus
from corrobora.domain.evidence import Grade
from corrobora.domain.thread import StopReason, ThreadState
from corrobora.policies.plateau import PlateauLevel, plateau_level


def meets_criteria(thread: ThreadState) -> bool:
    """Return the first term of the formula.

    All sub-questions ANSWERED with PLAUSIBLE or better, every subject with a round of its own, no open contradiction
    above MEDIUM. A thread that was asked nothing has nothing to meet, so it never converges on its criteria.
    """
    if not thread.sub_questions and not thread.subjects:
        return False
    return (
        all(is_answered(each) for each in thread.sub_questions)
        and all(each.rounds >= 1 for each in thread.subjects)
        and not any(each.blocking for each in thread.contradictions)
    )


def has_converged(thread: ThreadState) -> bool:
    """Return S4's whole formula: criteria met, or the budget of rounds used, or plateau level 3."""
    return (
        meets_criteria(thread)
        or plateau_level(thread) >= PlateauLevel.STOP
        or thread.plateau_level >= PlateauLevel.STOP
    )


def is_answered(sub_question: SubQuestion) -> bool:
    """True if it is ANSWERED with PLAUSIBLE or better; an UNVERIFIED one never is (S4, FORBIDDEN)."""
    return sub_question.standing is SubQuestionStatus.ANSWERED and sub_question.grade in (
        Grade.PLAUSIBLE,
        Grade.VERIFIED,
    )


def name_completion_reason(stop: StopReason) -> str:
    """Return S4's word for the completion report, or our own where S4 has none (time, money, cancel)."""
    match stop:
        case StopReason.CRITERIA_MET:
            return "CRITERIA_MET"
        case StopReason.ITERATION_CAP:
            return "BUDGET_EXHAUSTED"
        case StopReason.PLATEAU:
            return "PLATEAU_STOPPED"
        case _:
            return stop.value.upper()
