"""The brief: what is asked, in parts, and what lies outside it.

Knows sub-questions, subjects and scope. Does not know how they will be researched.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from corrobora.domain.evidence import FactId, Grade


class SubQuestionStatus(StrEnum):
    """How far a sub-question is answered. EXHAUSTED carries the tag `#RETRY_EXHAUSTED` (S2 FR-4)."""

    OPEN = "OPEN"
    PARTIAL = "PARTIAL"
    ANSWERED = "ANSWERED"
    EXHAUSTED = "EXHAUSTED"


@dataclass(frozen=True, slots=True)
class SubQuestion:
    """One part of the question. Only PLAUSIBLE or better answers it."""

    id: str  # "sq-1"; unique in the run
    text: str
    standing: SubQuestionStatus = SubQuestionStatus.OPEN
    grade: Grade | None = None
    finding: str = ""
    evidence: tuple[FactId, ...] = ()
    attempts: int = 0  # failed attempts to gather evidence


class Coverage(StrEnum):
    """How far a subject is covered (S4, subject registry)."""

    UNCOVERED = "UNCOVERED"
    PARTIAL = "PARTIAL"
    COVERED = "COVERED"


@dataclass(frozen=True, slots=True)
class Subject:
    """A person, place, thing or theme that must be covered. `rounds` counts rounds dedicated to it."""

    name: str
    aliases: tuple[str, ...] = ()
    rounds: int = 0
    coverage: Coverage = Coverage.UNCOVERED
    finding: str = ""


@dataclass(frozen=True, slots=True)
class Focus:
    """What is inside the research: places, years, domains. Empty parts do not restrict (S4, drift detection)."""

    places: tuple[str, ...] = ()
    since: int | None = None
    until: int | None = None
    domains: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Brief:
    """What is asked, and what is already known about it."""

    question: str
    sub_questions: tuple[SubQuestion, ...] = ()
    subjects: tuple[Subject, ...] = ()
    disambiguation: tuple[str, ...] = ()  # terms that tell the meant thing from its namesakes
    known_facts: tuple[str, ...] = ()
    focus: Focus = Focus()
    suggested_plan: str = ""  # JSON of a plan that the planner may take, adapt or ignore (S0)
