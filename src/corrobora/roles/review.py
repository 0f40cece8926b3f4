"""Critique, revise, judge: three roles that look at a draft (ANGLES-29, ANGLES-30), whatever its sections are called.

Knows a draft and the facts behind it. The judge may lower a status, never raise one.
"""

from __future__ import annotations

from dataclasses import dataclass

from corrobora.domain.evidence import Fact
from corrobora.domain.report import Critique, Draft, Verdict
from corrobora.ports import Role


@dataclass(frozen=True, slots=True)
class Reviewing:
    """A draft with the question and the facts it may use."""

    path: str
    question: str
    draft: Draft
    facts: tuple[Fact, ...]
    words_min: int = 0
    words_max: int = 1_500


@dataclass(frozen=True, slots=True)
class Revising:
    """A draft to be revised after a critique."""

    path: str
    question: str
    draft: Draft
    critique: Critique
    facts: tuple[Fact, ...]
    words_min: int = 0
    words_max: int = 1_500


critique: Role[Reviewing, Critique] = Role("critique", Reviewing, Critique, "critique", tier="fast")
revise: Role[Revising, Draft] = Role("revise", Revising, Draft, "revise", tier="lead")
judge: Role[Reviewing, Verdict] = Role("judge", Reviewing, Verdict, "judge", tier="judge")
