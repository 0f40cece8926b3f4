"""Reflect: from what a thread has learned to what it still lacks.

Knows one thread, as a digest. Does not know whether it may go on: policies decide that.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import Field

from corrobora.domain.evidence import Contradiction, Fact, FactId, Relation, Severity
from corrobora.domain.plan import Record, Subject, SubQuestion
from corrobora.domain.thread import Gap, Proposal
from corrobora.ports import Role
from corrobora.roles.forms import (
    CONFLICT,
    FACTS,
    QUESTION,
    QUESTIONS,
    RECORD,
    SUBJECTS,
    Ids,
    choose_from,
    clean_query,
    clean_texts,
    drop_duplicates,
)


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
    unread: tuple[tuple[str, str], ...] = ()  # address and title of what was found or named and not read yet
    record: Record = field(default_factory=Record)

    @property
    def targets(self) -> tuple[str, ...]:
        """What a gap may belong to: a sub-question, a subject or neither."""
        return (*(asked.id for asked in self.sub_questions), *(each.name for each in self.subjects), "")


@dataclass(frozen=True, slots=True)
class WireGap:
    """Something that is missing, and the sub-question or subject it belongs to."""

    text: str
    target: Annotated[str, choose_from("targets")] = ""


@dataclass(frozen=True, slots=True)
class WireContradiction:
    """Two facts, by their ids, that do not fit together."""

    a: Annotated[str, Field(description="Id of a fact, like F0123456789ab.")]
    b: str
    claim: str
    relation: Literal["supports", "contradicts", "qualifies", "supersedes"] = "contradicts"
    severity: Literal["low", "medium", "high"] = "medium"
    difference: str = ""
    scope: str = ""
    resolved: bool = False


@dataclass(frozen=True, slots=True)
class WireProposal:
    """What the line of research knows and lacks, and what is advised."""

    summary: str
    reasoning: str
    answered: Ids
    gaps: list[WireGap]
    done: bool
    should_continue: bool
    next_topic: str = ""
    url: str = ""
    contradictions: list[WireContradiction] = field(default_factory=list[WireContradiction])
    new_sub_questions: list[str] = field(default_factory=list[str])
    terms: list[str] = field(default_factory=list[str])


def convert_proposal(given: Learned, filled: WireProposal) -> Proposal:
    """Take ids that were shown, and an address only if it was shown or stands in the question."""
    ids = {question.id for question in given.sub_questions}
    shown = (*given.facts, *given.record.recalled, *(fact for done in given.record.rounds for fact in done.facts))
    facts = {str(fact.id) for fact in shown}
    contradictions = tuple(
        _make_contradiction(each) for each in filled.contradictions if {each.a, each.b} <= facts and each.a != each.b
    )
    url = filled.url.strip()
    return Proposal(
        summary=filled.summary,
        gaps=tuple(Gap(gap.text.strip(), gap.target.strip()) for gap in filled.gaps if gap.text.strip()),
        done=filled.done,
        next_topic=clean_query(filled.next_topic),
        url=url if url and (url in given.question or url in dict(given.unread)) else "",
        should_continue=filled.should_continue,
        reasoning=filled.reasoning,
        contradictions=contradictions,
        answered=tuple(each for each in drop_duplicates(filled.answered) if each in ids),
        judged=True,
        new_sub_questions=drop_duplicates(clean_texts(filled.new_sub_questions)),
        terms=drop_duplicates(clean_texts(filled.terms)),
    )


def _make_contradiction(filled: WireContradiction) -> Contradiction:
    return Contradiction(
        claim=filled.claim,
        a=FactId(filled.a),
        b=FactId(filled.b),
        relation=Relation(filled.relation),
        severity=Severity(filled.severity),
        resolved=filled.resolved,
        difference=filled.difference,
        scope=filled.scope,
    )


def _make_example() -> Learned:
    known = (QUESTIONS, SUBJECTS, FACTS, (CONFLICT,), ("pump flow",), ("displacement",))
    unread = (("https://a.example/b", "Manual"),)
    return Learned("root/1", QUESTION, "Find the flow", 2, *known, 2, "a table", unread, RECORD)


reflect: Role[Learned, Proposal] = Role(
    "reflect", Learned, Proposal, "reflect", wire=WireProposal, convert=convert_proposal, example=_make_example
)
