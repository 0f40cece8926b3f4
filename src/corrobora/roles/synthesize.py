"""Synthesize: from facts or findings to text with markers: a thread's summary, a node's synthesis, or the report.

Knows facts by their markers. Never sees page text and never writes a URL.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Annotated

from pydantic import Field

from corrobora.domain.evidence import Contradiction, Fact
from corrobora.domain.plan import SubQuestion
from corrobora.domain.report import Draft
from corrobora.domain.thread import Gap
from corrobora.ports import Role
from corrobora.roles.forms import CONFLICT, FACTS, GAPS, QUESTION, QUESTIONS, UnusableAnswer

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
    """A text in Markdown with markers like [S3:C2], after its outline."""

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
    flow = Part("root/1", "Flow", "It moves [S3:C7].", FACTS, ("date",), angle="background")
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
