"""Critique: from a draft and the facts behind it to what is wrong with the draft.

Knows a draft and its facts, whatever its sections are called. Changes nothing itself.
"""

from __future__ import annotations

from dataclasses import dataclass

from corrobora.domain.evidence import Fact
from corrobora.domain.report import Critique, Draft
from corrobora.ports import Role
from corrobora.roles.forms import CHECKS, DRAFT, FACTS, QUESTION, clean_texts


@dataclass(frozen=True, slots=True)
class Reviewing:
    """A draft with the question and the facts it may use."""

    path: str
    question: str
    draft: Draft
    facts: tuple[Fact, ...]
    words_min: int = 0
    words_max: int = 1_500
    checks: tuple[str, ...] = ()  # sentences that code did not pass, each with its reason


@dataclass(frozen=True, slots=True)
class WireCritique:
    """What is wrong with a draft, most serious first."""

    problems: list[str]
    summary: str


critique: Role[Reviewing, Critique] = Role(
    "critique",
    Reviewing,
    Critique,
    "critique",
    tier="fast",
    wire=WireCritique,
    convert=lambda _given, filled: Critique(clean_texts(filled.problems), filled.summary),
    example=lambda: Reviewing("root", QUESTION, DRAFT, FACTS, 100, checks=CHECKS),
)
