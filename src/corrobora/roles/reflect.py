"""Reflect: from what a thread has learned to what it still lacks.

Knows one thread, as a digest. Does not know whether it may go on: policies decide that.
"""

from __future__ import annotations

from dataclasses import dataclass

from corrobora.domain.evidence import Contradiction, Fact
from corrobora.domain.plan import Subject, SubQuestion
from corrobora.domain.thread import Proposal
from corrobora.ports import Role


@dataclass(frozen=True, slots=True)
class Learned:
    """What a thread has learned so far: the input of `reflect`. Facts are listed best first."""

    path: str
    question: str
    objective: str
    round: int
    sub_questions: tuple[SubQuestion, ...]
    subjects: tuple[Subject, ...]
    facts: tuple[Fact, ...]
    contradictions: tuple[Contradiction, ...]
    past_queries: tuple[str, ...]
    terms: tuple[str, ...]
    new_facts: int
    output_format: str = ""


reflect: Role[Learned, Proposal] = Role("reflect", Learned, Proposal, "reflect")
