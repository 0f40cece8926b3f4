"""Reflect and synthesize: from what a thread has learned to what it still lacks, and to text with markers.

The text is a thread's summary, a node's synthesis, or the report. Knows one thread as a digest, and facts by their
markers. Never sees page text, never writes a URL, and does not know whether a thread may go on: policies decide that.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Annotated, Literal

from pydantic import Field

from corrobora.domain.evidence import Contradiction, Fact, FactId, Relation, Severity
from corrobora.domain.plan import Record, Subject, SubQuestion
from corrobora.domain.report import Draft
from corrobora.domain.thread import Gap, Proposal, ScopeInput
from corrobora.ports import Role
from corrobora.roles.forms import (
    CONFLICT,
    FACTS,
    GAPS,
    QUESTION,
    QUESTIONS,
    RECORD,
    SUBJECTS,
    UnusableAnswer,
    choose_from,
    clean_query,
    clean_texts,
    drop_duplicates,
)
from corrobora.roles.scope import WireNext, make_intent, make_scope_example


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
    coming: ScopeInput | None = None  # what the next round would be scoped from; None if it is scoped apart
    rounds_left: int = 0  # of which the reflection words the first one
    closing: bool = False  # the answer may be the last one, and then sums up what was found for the writer
    several: bool = False  # lines of research, of which each is summed up so
    run_questions: tuple[str, ...] = ()  # ids of those of the whole run: all its reflections have one form
    run_subjects: tuple[str, ...] = ()  # names

    @property
    def own_targets(self) -> tuple[str, ...]:
        """What a gap may belong to: a sub-question, a subject or neither."""
        return (*(each.id for each in self.sub_questions), *(each.name for each in self.subjects), "")

    @property
    def ids(self) -> tuple[str, ...]:
        """What the form offers for sub-questions."""
        return drop_duplicates((*self.run_questions, *(each.id for each in self.sub_questions)))

    @property
    def names(self) -> tuple[str, ...]:
        """What the form offers for subjects."""
        return drop_duplicates((*self.run_subjects, *(each.name for each in self.subjects)))

    @property
    def targets(self) -> tuple[str, ...]:
        """What the form offers for what a gap belongs to."""
        return (*self.ids, *self.names, "")


@dataclass(frozen=True, slots=True)
class WireGap:
    """Something that is missing, and the sub-question or subject it belongs to."""

    text: str
    target: Annotated[str, choose_from("targets")] = ""


@dataclass(frozen=True, slots=True)
class WireAnswered:
    """A sub-question that is answered, and the facts that answer it together, by their ids."""

    question: Annotated[str, choose_from("ids")]
    facts: list[str] = field(default_factory=list[str])


@dataclass(frozen=True, slots=True)
class WireContradiction:
    """Two facts, by their ids, that do not fit together."""

    a: str
    b: str
    claim: str = ""
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
    answered: list[WireAnswered]
    gaps: list[WireGap]
    done: bool = False
    next_topic: str = ""
    url: str = ""
    contradictions: list[WireContradiction] = field(default_factory=list[WireContradiction])
    new_sub_questions: list[str] = field(default_factory=list[str])
    terms: list[str] = field(default_factory=list[str])
    next: WireNext = field(default_factory=WireNext)
    findings: str = ""
    first_hand: list[str] = field(default_factory=list[str])


def convert_proposal(given: Learned, filled: WireProposal) -> Proposal:
    """Take ids that were shown, and an address only if it was shown or stands in the question."""
    ids = {question.id for question in given.sub_questions}
    shown = (*given.facts, *given.record.facts)
    facts = {str(fact.id) for fact in shown}
    contradictions = tuple(
        _make_contradiction(each) for each in filled.contradictions if {each.a, each.b} <= facts and each.a != each.b
    )
    url = filled.url.strip()
    made = None
    if given.coming is not None and given.rounds_left:  # what it does not count as answered may be its target
        coming = replace(given.coming, open_questions=given.sub_questions)
        made = make_intent(coming, filled.next, filled.reasoning)
    return Proposal(
        summary=filled.summary,
        gaps=tuple(_make_gap(given, gap) for gap in filled.gaps if gap.text.strip()),
        done=filled.done,
        next_topic=clean_query(filled.next_topic),
        url=url if url and (url in given.question or url in dict(given.unread)) else "",
        reasoning=filled.reasoning,
        contradictions=contradictions,
        answered=drop_duplicates(each.question for each in filled.answered if each.question in ids),
        judged=True,
        new_sub_questions=drop_duplicates(clean_texts(filled.new_sub_questions)),
        terms=drop_duplicates(clean_texts(filled.terms)),
        next=made if made is not None and made.queries else None,
        first_hand=tuple(each for each in drop_duplicates(filled.first_hand) if each in {f.source for f in shown}),
        findings=filled.findings.strip() if given.closing else "",
        answered_by=tuple(
            (each.question, tuple(fact for fact in drop_duplicates(each.facts) if fact in facts))
            for each in filled.answered
            if each.facts and each.question in ids
        ),
    )


def _make_gap(given: Learned, filled: WireGap) -> Gap:
    """Take a gap; what belongs to another line of research belongs to nothing here."""
    target = filled.target.strip()
    return Gap(filled.text.strip(), target if target in given.own_targets else "")


def _make_contradiction(filled: WireContradiction) -> Contradiction:
    return Contradiction(
        claim=filled.claim or filled.difference,
        a=FactId(filled.a),
        b=FactId(filled.b),
        relation=Relation(filled.relation),
        severity=Severity(filled.severity),
        resolved=filled.resolved,
        difference=filled.difference,
        scope=filled.scope,
    )


def _make_reflect_example() -> Learned:
    known = (QUESTIONS, SUBJECTS, FACTS, (CONFLICT,), ("pump flow",), ("displacement",))
    unread = (("https://a.example/b", "Manual"),)
    coming = make_scope_example()
    shown = ("a table", unread, RECORD, coming, 2)
    return Learned("root/1", QUESTION, "Find the flow", 2, *known, 2, *shown, closing=True, several=True)


reflect: Role[Learned, Proposal] = Role(
    "reflect", Learned, Proposal, "reflect", wire=WireProposal, convert=convert_proposal, example=_make_reflect_example
)


_CITED = re.compile(r"\b(S\d{1,9})\s{0,2}[:：,]?\s{0,2}(C\d{1,9})\b", re.IGNORECASE)


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
    weak: tuple[str, ...] = ()  # questions that only sources of unknown standing answer
    more: int = 0  # facts that are not shown
    failures: tuple[str, ...] = ()  # searches that failed, with the reason
    searched: tuple[str, ...] = ()  # what a part without facts was looked for with


PLAIN_LAYOUTS = ("questions", "words")  # reports that answer questions one by one, without a form of their own


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
    today: str = ""
    whole: str = ""  # the question of the whole research, where `question` is what one part of it asks
    read: int = 0  # documents, those without a fact among them
    failed: int = 0  # documents that could not be read
    unread: int = 0  # documents that were found and not opened
    nearest: tuple[Fact, ...] = ()  # whole passages that were found first for what is open


@dataclass(frozen=True, slots=True)
class WireDraft:
    """A text in Markdown with markers like [S3:C2]."""

    title: Annotated[str, Field(min_length=1)]
    body: Annotated[str, Field(min_length=1)]


@dataclass(frozen=True, slots=True)
class WireOutline:
    """What is going to be written."""

    answer_type: Annotated[str, Field(description="What answers the question: a number, a comparison, a list ...")]
    components: Annotated[list[str], Field(description="What the text must hold, in order.")]
    disagreements: Annotated[list[str], Field(description="Who disagrees with whom, and about what.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class WireReport:
    """A text in Markdown with markers like [S3:C2], after its outline, which is dropped where it has another shape."""

    outline: WireOutline | None = None
    title: Annotated[str, Field(min_length=1)]
    body: Annotated[str, Field(min_length=1)]


def convert_draft(_given: object, filled: WireDraft | WireReport) -> Draft:
    """Take title and body; a title repeated as the first heading of the body is dropped."""
    title = " ".join(filled.title.split()).lstrip("# ").strip()
    body = filled.body.strip()
    first, _, rest = body.partition("\n")
    if first.startswith("# ") and first[2:].strip().casefold() == title.casefold():
        body = rest.strip()
    if not title or not body:
        raise UnusableAnswer("`title` and `body` must not be empty.")
    return Draft(title, body)


def convert_report(given: Material, filled: WireReport) -> Draft:
    """Take a draft; one that cites none of the facts it was given is no report, however well it reads."""
    made = convert_draft(given, filled)
    if (plan := filled.outline) is not None:
        parts = (plan.answer_type, *plan.components, *(f"Disagreement: {each}" for each in plan.disagreements))
        made = replace(made, outline=tuple(" ".join(part.split()) for part in parts if part.strip()))
    known = {(fact.source.upper(), fact.passage.upper()) for part in given.parts for fact in part.facts}
    cited = {(source.upper(), passage.upper()) for source, passage in _CITED.findall(made.body)}
    if given.purpose == "report" and known and not known & cited:
        raise UnusableAnswer("No sentence of `body` cites a fact: its marker, such as [S1:C2], follows each sentence.")
    return made


def _make_example() -> Material:
    flow = Part("root/1", "Flow", "It moves [S3:C7].", FACTS, ("date",), angle="background", weak=("price",))
    return Material(
        "root",
        "report",
        QUESTION,
        "The pump",
        (flow, Part("root/2", "Price", "", (), failed="search down")),
        QUESTIONS,
        (CONFLICT,),
        GAPS,
        words_min=100,
        uncovered=("risks",),
        output_format="a report",
        today="2026-05-04",
        whole="How do pumps work?",
    )


synthesize: Role[Material, Draft] = Role(
    "synthesize",
    Material,
    Draft,
    "synthesize",
    tier="lead",
    wire=WireReport,
    convert=convert_report,
    example=_make_example,
)
summarize: Role[Material, Draft] = Role(
    "synthesize", Material, Draft, "summarize", wire=WireDraft, convert=convert_draft, example=_make_example
)
