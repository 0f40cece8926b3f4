"""Events: the one log that every listener folds.

Knows the vocabulary. Does not know who listens or where the log lies.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class EventType(StrEnum):
    """Types of events; S3's four are `thought`, `search`, `read`, `complete`."""

    RUN_STARTED = "run.started"  # carries the resolved profile: always the first event
    RUN_FINISHED = "run.finished"
    STAGE = "stage"
    PLAN_PROPOSED = "plan.proposed"
    PLAN_AUTHORIZED = "plan.authorized"
    PLAN_REFUSED = "plan.refused"
    ROUND_STARTED = "round.started"
    ROUND_FINISHED = "round.finished"
    THOUGHT = "thought"
    SEARCH = "search"
    READ = "read"
    FACT = "fact"
    DRIFT = "drift"
    PLATEAU = "plateau"
    ESCAPE = "escape"
    CONTRADICTION = "contradiction"
    DECISION = "decision"
    RETRY = "retry"
    EXHAUSTED = "exhausted"
    BUDGET = "budget"
    MICRO_REPORT = "micro_report"
    FALLBACK = "fallback"  # another analyst played a role, and why
    REPORT = "report"  # draft, revised, final
    VERIFY = "verify"
    JUDGE = "judge"
    LEAF_FAILED = "leaf.failed"
    WARNING = "warning"
    COMPLETE = "complete"


@dataclass(frozen=True, slots=True)
class Event:
    """One event. `key` is unique in its run, so that a resumed run does not tell a thing twice."""

    type: EventType
    key: str
    path: str  # node or thread it belongs to
    round: int | None
    data: Mapping[str, object]
    seq: int = 0  # given by the store
    at: str = ""  # ISO time, given by the store
