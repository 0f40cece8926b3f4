"""A run: what was asked of the engine, and where it stands.

Knows the request as it is stored, so that any worker can take it up. Does not know the store.
"""

from __future__ import annotations

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
    thread_file: str = ""  # text of a THREAD.toml (S4)
    plan_file: str = ""  # text of a suggested plan (S0)
    scope: str = ""  # JSON of the queries that manager and user agreed on in a dialogue (S0)
    output: tuple[tuple[str, str], ...] = ()  # delivery targets (S1): ("folder", path), ...
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
