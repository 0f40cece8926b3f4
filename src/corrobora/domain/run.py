"""A run: what was asked of the engine, and where it stands.

Knows the request as it is stored, so that any worker can take it up. Does not know the store.

Events: the one log that every listener folds.

Knows the vocabulary. Does not know who listens or where the log lies.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NewType

RunId = NewType("RunId", str)  # "r_" + 26 lower-case base32 characters: 128 random bits


class RunStatus(StrEnum):
    """Where a run stands. Final: done, failed, cancelled."""

    QUEUED = "queued"
    RUNNING = "running"
    AWAITING = "awaiting_authorization"
    PAUSED = "paused"
    INTERRUPTED = "interrupted"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def final(self) -> bool:
        """True if the run will not go on by itself."""
        return self in (RunStatus.DONE, RunStatus.FAILED, RunStatus.CANCELLED)

    @property
    def waits(self) -> bool:
        """True if the run goes on only after a person decided."""
        return self in (RunStatus.AWAITING, RunStatus.PAUSED)


class Stage(StrEnum):
    """The stages of a run, in order."""

    CLARIFY = "clarify"
    PLAN = "plan"
    INVESTIGATE = "investigate"
    SYNTHESIZE = "synthesize"
    REVIEW = "review"
    VERIFY = "verify"
    DELIVER = "deliver"


@dataclass(frozen=True, slots=True)
class Request:
    """What a user asked for; stored with the run. Holds names and numbers, never a secret."""

    question: str
    profile: str = "timed"
    overrides: tuple[tuple[str, str], ...] = ()  # profile fields set by flags, as (field, TOML value)
    libraries: tuple[str, ...] = ()
    providers: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()  # addresses that are read first; one that ends in /* names a whole site
    models: tuple[tuple[str, str], ...] = ()  # (lead | worker | fast | judge, "provider:model")
    authorized: str = ""  # who authorized the plan: "" | "policy" | "human"
    thread_file: str = ""  # text of a THREAD.toml (TRIPLET-1)
    plan_file: str = ""  # text of a suggested plan (TREE-10)
    scope: str = ""  # JSON of the queries that manager and user agreed on in a dialogue (TREE-7)
    output: tuple[tuple[str, str], ...] = ()  # delivery targets (ANGLES-36 to ANGLES-38): ("folder", path), ...
    previous: str = ""  # run whose evidence may be re-used
    strict: bool = False
    metadata: tuple[tuple[str, str], ...] = field(default=())


@dataclass(frozen=True, slots=True)
class RunRow:
    """One run as the store shows it."""

    id: RunId
    status: RunStatus
    epoch: int
    request: Request
    created_at: str
    updated_at: str
    outcome: str = ""
    reason: str = ""
    elapsed_seconds: float = 0.0


class EventType(StrEnum):
    """Types of events; those of ROUNDS-22 are `thought`, `search`, `read`, `complete`."""

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
