"""The profile: every field that makes one method behave as one of five systems.

Knows fields and what follows from them. Does not know TOML (`load` does) and does not run anything.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from corrobora.domain.thread import Course, Phase
from corrobora.policies import budget
from corrobora.roles.plan import Split


@dataclass(frozen=True, slots=True)
class Review:
    """What happens to a draft before it is delivered (ANGLES-29, ANGLES-30)."""

    critique: bool = False
    revise: bool = False
    judge: bool = False
    min_score: float = 0.70


@dataclass(frozen=True, slots=True)
class Profile:
    """One research system as data (ENGINE-1). Every field has a test that fails if it is ignored."""

    name: str
    summary: str = ""
    split: Split = "questions"
    max_depth: int = 3
    max_leaves: int = 7
    dynamic_angles: bool = False
    discovery: bool = False  # the planner adds a discovery leaf (TREE-20)
    authorize: Literal["human", "auto"] = "auto"
    phrase: str = ""  # exact words that authorize, typed by a human (TREE-5)
    pause_between_rounds: bool = False  # optional (ROUNDS-27)
    phases: tuple[Phase, ...] = field(default=(Phase("research"),))
    advance: Literal["each_round", "on_saturation", "stay"] = "each_round"
    leaves_in_turn: bool = False
    queries_in_turn: bool = False
    pause_seconds: float = 0.0
    max_concurrency: int = 7
    reads_per_round: int = 5
    hits_per_query: int = 10
    whole_documents: bool = False  # results of a library are documents not found before, not passages (ROUNDS-30)
    stop: tuple[str, ...] = ("no_gaps", "reserve_reached", "all_exhausted", "max_rounds")
    max_rounds: int = 3
    deep_rounds: int = 7
    attempts: int = 3
    exhaust: bool = True  # give a sub-question up after `attempts` failures (TIMED-14)
    drift: bool = False
    escapes: bool = False
    coverage: bool = False  # force rounds for subjects without one (TRIPLET-16)
    minutes: float | None = None  # None: no time limit
    reserve_minutes: float | None = None  # None: min(1.5, 0.3 T)
    share_facts: bool = False
    recall_facts: bool = False  # re-use stored facts of earlier runs (TREE-31)
    review: Review = Review()
    layout: Literal["questions", "angles", "words", "completion"] = "questions"
    words_min: int = 0
    words_max: int = 1_500
    artifacts: tuple[str, ...] = ()  # plan | subagents | micro_reports | completion | phase_state | rounds
    lead_thinking: bool = False  # extended thinking for the lead model, where it can
    notes: tuple[str, ...] = ()  # what the loader changed in what was asked for, and why

    @property
    def course(self) -> Course:
        """What a thread is given of this profile."""
        return Course(
            phases=self.phases,
            max_rounds=self.max_rounds,
            attempts=self.attempts,
            reads_per_round=self.reads_per_round,
            hits_per_query=self.hits_per_query,
            whole_documents=self.whole_documents,
            queries_in_turn=self.queries_in_turn,
            pause_seconds=self.pause_seconds,
            drift=self.drift,
            escapes=self.escapes,
            coverage=self.coverage,
            exhaust=self.exhaust,
        )

    @property
    def reserve_seconds(self) -> float:
        """Time kept for writing: `min(1.5, 0.3 T)` minutes, 1.5 without a limit (TIMED-1)."""
        if self.reserve_minutes is not None:
            return 60.0 * self.reserve_minutes
        return budget.compute_reserve_seconds(self.minutes)
