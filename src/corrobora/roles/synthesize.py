"""Synthesize: from facts or findings to text with markers: a thread's summary, a node's gathering, or the report.

Knows facts by their markers. Never sees page text and never writes a URL.
"""

from __future__ import annotations

from dataclasses import dataclass

from corrobora.domain.evidence import Contradiction, Fact
from corrobora.domain.plan import SubQuestion
from corrobora.domain.report import Draft
from corrobora.domain.thread import Gap
from corrobora.ports import Role


@dataclass(frozen=True, slots=True)
class Part:
    """One part to be synthesized: what a child found, or what a thread found."""

    path: str
    title: str
    summary: str
    facts: tuple[Fact, ...]
    gaps: tuple[str, ...] = ()
    failed: str = ""
    angle: str = ""


@dataclass(frozen=True, slots=True)
class Material:
    """What a writer is given. `purpose` is summary (a thread), gathering (a node) or report (the root)."""

    path: str
    purpose: str
    question: str
    title: str
    parts: tuple[Part, ...]
    sub_questions: tuple[SubQuestion, ...]
    contradictions: tuple[Contradiction, ...]
    gaps: tuple[Gap, ...]
    layout: str = "questions"  # questions | angles | words | completion (the profile's report form)
    words_min: int = 0
    words_max: int = 1_500
    uncovered: tuple[str, ...] = ()
    output_format: str = ""


synthesize: Role[Material, Draft] = Role("synthesize", Material, Draft, "synthesize", tier="lead")
summarize: Role[Material, Draft] = Role("synthesize", Material, Draft, "summarize")
