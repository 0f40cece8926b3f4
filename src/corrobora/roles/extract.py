"""Extract: from passages of one source to facts with literal quotes (TREE-29).

Knows one document and what is asked of it. Has no tools, sees no other source, and its quotes are checked by code.
"""

from __future__ import annotations

from dataclasses import dataclass

from corrobora.domain.evidence import FollowUp, LinkedSource, Passage
from corrobora.domain.plan import Subject, SubQuestion
from corrobora.ports import Role


@dataclass(frozen=True, slots=True)
class Excerpt:
    """What an extractor reads: passages of one source, and the questions. `spec` is a planner's task spec, verbatim."""

    path: str
    title: str
    version: str
    published: str
    passages: tuple[Passage, ...]
    question: str
    sub_questions: tuple[SubQuestion, ...]
    subjects: tuple[Subject, ...] = ()
    guidance: str = ""  # the phase's reading prompt, filled (TRIPLET-20)
    spec: str = ""
    rubric: str = ""  # composed by code where no spec is given: scope, spans, target confidence (TREE-25)
    discovery_intense: bool = False
    known_facts: tuple[str, ...] = ()
    terms: tuple[str, ...] = ()  # words learned from earlier rounds for what is asked


@dataclass(frozen=True, slots=True)
class Quote:
    """One fact as extracted: a claim and the words of the passage that carry it."""

    passage: str  # "C12"
    quote: str
    claim: str
    confidence: float
    answers: tuple[str, ...] = ()
    subjects: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Extraction:
    """What one source gave. Insights appear only under the four conditions of TREE-30, which code enforces."""

    quotes: tuple[Quote, ...]
    summary: str = ""
    relevant: bool = True
    follow_ups: tuple[FollowUp, ...] = ()
    gaps: tuple[str, ...] = ()
    linked: tuple[LinkedSource, ...] = ()
    contradicts_known: tuple[str, ...] = ()
    terms: tuple[str, ...] = ()  # the source's own words for what was asked


extract: Role[Excerpt, Extraction] = Role("extract", Excerpt, Extraction, "extract")
