"""Loop decision: S2's documents, with exactly the field names of the seed.

Knows decisions, sub-questions and an allowance. Does not decide: what the model wrote is replaced by what code decided
and what the clock said (safety M11 to M13).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

from corrobora.domain.brief import SubQuestion, SubQuestionStatus
from corrobora.domain.limits import Allowance
from corrobora.domain.thread import Decision, Round


class LoopDecision(TypedDict):
    """S2 FR-3: the field names are the seed's, letter by letter."""

    iteration: int
    summary: str
    gaps: list[str]
    shouldContinue: bool
    nextSearchTopic: str | None
    urlToSearch: str | None
    timeRemainingMinutes: float | None


def write_loop_decision(decision: Decision) -> LoopDecision:
    """Write a decision as S2's loop decision JSON (FR-3). `timeRemainingMinutes` is None without a time limit."""
    proposal = decision.proposal
    left = decision.remaining_seconds
    return {
        "iteration": decision.iteration,
        "summary": proposal.summary,
        "gaps": [gap.text for gap in proposal.gaps],
        "shouldContinue": decision.stop is None,
        "nextSearchTopic": proposal.next_topic or None,
        "urlToSearch": proposal.url or None,
        "timeRemainingMinutes": None if left is None else round(left / 60.0, 2),
    }


def write_retry_tracking(sub_questions: Sequence[SubQuestion], rounds: Sequence[Round]) -> dict[str, object]:
    """Write S2's retry tracking (TR-2): attempts and status of each sub-question, and how many are exhausted.

    `attempts` counts the rounds that tried to gather evidence for it.
    """
    table = {
        each.id: {
            "attempts": max(each.attempts, sum(1 for done in rounds if each.id in done.intent.targets)),
            "status": _STATUS[each.standing],
        }
        for each in sub_questions
    }
    exhausted = sum(1 for each in sub_questions if each.standing is SubQuestionStatus.EXHAUSTED)
    return {"subquestions": table, "total_exhausted": exhausted}


def write_phase_state(
    rounds: Sequence[Round],
    sub_questions: Sequence[SubQuestion],
    *,
    max_iterations: int,
    allowance: Allowance,
    started_at: str,
) -> dict[str, object]:
    """Write S2's `phase_state` document (TR-4), `research` at its top; the loop decision is that of the last round."""
    decided = [done.decision for done in rounds if done.decision is not None]
    seconds = allowance.seconds
    return {
        "research": {
            "time_budget": {
                "total_minutes": None if seconds is None else round(seconds / 60.0, 4),
                "synthesis_reserve_minutes": round(allowance.reserve_seconds / 60.0, 4),
                "started_at": started_at,
            },
            "iteration": {"current": max((done.number for done in rounds), default=0), "max": max_iterations},
            "retry_tracking": write_retry_tracking(sub_questions, rounds),
            "gap_analysis": {"loop_decision": write_loop_decision(decided[-1]) if decided else None},
        }
    }


_STATUS = {
    SubQuestionStatus.OPEN: "pending",
    SubQuestionStatus.PARTIAL: "pending",
    SubQuestionStatus.ANSWERED: "complete",
    SubQuestionStatus.EXHAUSTED: "exhausted",
}
