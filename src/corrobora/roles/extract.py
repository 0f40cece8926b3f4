"""Extract: from passages of one source to facts with literal quotes.

Knows one document and what is asked of it. Has no tools, sees no other source, and its quotes are checked by code.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

from pydantic import Field

from corrobora.domain.evidence import FollowUp, LinkedSource, Passage
from corrobora.domain.plan import Subject, SubQuestion
from corrobora.ports import Role
from corrobora.roles.forms import (
    PASSAGES,
    QUESTION,
    QUESTIONS,
    SOURCE,
    SUBJECTS,
    Ids,
    Names,
    Score,
    clean_texts,
    drop_duplicates,
    match_subjects,
)
from corrobora.roles.quoting import find_literal

_MAX_NEXT = 3  # sections and documents that one reader may ask for
_WEAK = 0.5  # below this, evidence for a key claim counts as weak


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
    guidance: str = ""  # the phase's reading prompt, filled
    spec: str = ""
    rubric: str = ""  # composed by code where no spec is given: scope, spans, target confidence
    discovery_intense: bool = False
    known_facts: tuple[str, ...] = ()
    terms: tuple[str, ...] = ()  # words learned from earlier rounds for what is asked
    publisher: str = ""
    host: str = ""  # of its address, "" for a stored document without one
    tasks: tuple[str, ...] = ()  # what the lines of research want that are served by this reading
    elsewhere: tuple[Passage, ...] = ()  # the first passage of each section of this source that is not shown


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
    """What one source gave. The optional insights are emitted under four triggers only: code enforces it."""

    quotes: tuple[Quote, ...]
    summary: str = ""
    relevant: bool = True
    follow_ups: tuple[FollowUp, ...] = ()
    gaps: tuple[str, ...] = ()
    linked: tuple[LinkedSource, ...] = ()
    contradicts_known: tuple[str, ...] = ()
    terms: tuple[str, ...] = ()  # the source's own words for what was asked
    read_next: tuple[str, ...] = ()  # ids of sections that were listed, else names of documents


@dataclass(frozen=True, slots=True)
class WireQuote:
    """One fact: words copied letter for letter from a passage, and what they say."""

    passage: Annotated[str, Field(description="Id as shown, like C12.")]
    quote: Annotated[str, Field(description="Copied letter for letter from that passage.")]
    claim: str
    confidence: Score
    answers: Ids = field(default_factory=list[str])
    subjects: Names = field(default_factory=list[str])


@dataclass(frozen=True, slots=True)
class WireFollowUp:
    """A question that the source raises."""

    question: str
    confidence: Score
    rationale: str


@dataclass(frozen=True, slots=True)
class WireLinked:
    """A document that the source names."""

    reference: Annotated[str, Field(description="As the source names it.")]
    context: str
    priority: Score = 0.5


@dataclass(frozen=True, slots=True)
class WireExtraction:
    """What one source gave."""

    relevant: bool
    quotes: list[WireQuote]
    summary: str = ""
    terms: list[str] = field(default_factory=list[str])
    read_next: list[str] = field(default_factory=list[str])
    contradicts_known: list[str] = field(default_factory=list[str])
    gaps: list[str] = field(default_factory=list[str])
    follow_ups: list[WireFollowUp] = field(default_factory=list[WireFollowUp])
    linked: list[WireLinked] = field(default_factory=list[WireLinked])


def convert_extraction(given: Excerpt, filled: WireExtraction) -> Extraction:
    """Give each quote the exact characters of its passage; pass optional insights on under a trigger only."""
    passages = {str(passage.id): passage for passage in given.passages}
    ids = {question.id for question in given.sub_questions}
    quotes: list[Quote] = []
    for found in filled.quotes:
        passage, text = _locate_quote(found, passages)
        answers = tuple(each for each in drop_duplicates(found.answers) if each in ids)
        subjects = match_subjects(found.subjects, given.subjects)
        quotes.append(Quote(passage, text, " ".join(found.claim.split()), found.confidence, answers, subjects))
    triggered = _allows_insights(given, filled)
    return Extraction(
        quotes=tuple(quotes),
        summary=filled.summary,
        relevant=filled.relevant and bool(quotes),
        follow_ups=tuple(FollowUp(f.question, f.confidence, f.rationale) for f in filled.follow_ups if triggered),
        gaps=clean_texts(filled.gaps) if triggered else (),
        linked=tuple(LinkedSource(x.reference, x.context, x.priority) for x in filled.linked if triggered),
        contradicts_known=clean_texts(filled.contradicts_known),
        terms=drop_duplicates(clean_texts(filled.terms)),
        read_next=drop_duplicates(clean_texts(filled.read_next))[:_MAX_NEXT],
    )


def _locate_quote(found: WireQuote, passages: Mapping[str, Passage]) -> tuple[str, str]:
    """Find the quote in its passage, else in another that was shown; one that is nowhere goes on, to be counted."""
    named = found.passage.strip().strip("[]").rpartition(":")[2]
    for each in sorted(passages, key=lambda each: each != named):
        text = find_literal(found.quote, passages[each].text)
        if text is not None:
            return each, text
    return named, found.quote


def _allows_insights(given: Excerpt, filled: WireExtraction) -> bool:
    """Tell whether a trigger holds: weak evidence, admitted limits, contradictions, discovery."""
    weak = not filled.quotes or max(quote.confidence for quote in filled.quotes) < _WEAK
    return weak or bool(filled.gaps) or bool(filled.contradicts_known) or given.discovery_intense


def _make_example() -> Excerpt:
    return Excerpt(
        "root/1",
        SOURCE.title,
        SOURCE.version,
        SOURCE.published,
        PASSAGES,
        QUESTION,
        QUESTIONS,
        SUBJECTS,
        "find figures",
        "questions: flow",
        "target confidence 0.7",
        discovery_intense=True,
        known_facts=("It is blue.",),
        terms=("displacement",),
        publisher="Pump makers",
        host="example.org",
        tasks=("Find the flow",),
        elsewhere=PASSAGES[1:],
    )


extract: Role[Excerpt, Extraction] = Role(
    "extract", Excerpt, Extraction, "extract", wire=WireExtraction, convert=convert_extraction, example=_make_example
)
