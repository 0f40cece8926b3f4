"""Wire: what a model is asked to fill in, role by role, where the domain's type is awkward for a model.

Knows shapes that a JSON schema says well: flat lists, ids that were shown, no paths, no addresses. Does not know how
they become domain values (`revive.py`) nor how they are asked for. The schema a model sees is made from these types.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import Field

Score = Annotated[float, Field(ge=0.0, le=1.0)]
Ids = Annotated[list[str], Field(description="Ids exactly as shown.")]
Names = Annotated[list[str], Field(description="Names exactly as shown.")]


@dataclass(frozen=True, slots=True)
class WireSubject:
    """A subject with the other names that sources use for it."""

    name: str
    aliases: list[str] = field(default_factory=list[str])


@dataclass(frozen=True, slots=True)
class WireQuery:
    """One feasible query."""

    question: str
    sub_questions: list[str]
    subjects: list[WireSubject] = field(default_factory=list[WireSubject])
    disambiguation: list[str] = field(default_factory=list[str])


@dataclass(frozen=True, slots=True)
class WireScoping:
    """Whether the question is feasible; the queries, or the reasons and narrower questions."""

    feasible: bool
    complexity: Literal["simple", "moderate", "complex"]
    queries: list[WireQuery]
    reasons: list[str] = field(default_factory=list[str])
    narrower: list[str] = field(default_factory=list[str])
    questions: Annotated[list[str], Field(description="What to ask the person back.")] = field(
        default_factory=list[str]
    )


@dataclass(frozen=True, slots=True)
class WireSpec:
    """A specification for those who read the sources of a task."""

    questions: list[str]
    expected_format: str = ""
    acceptance_criteria: str = ""
    priority: Annotated[int, Field(ge=1, le=10)] = 1
    budget: str = ""
    discovery_intense: bool = False


@dataclass(frozen=True, slots=True)
class WireGate:
    """When a topic is done."""

    name: str = "gather"
    corroboration: Annotated[int, Field(ge=1, le=10, description="Independent sources for each answer.")] = 1
    themes: list[str] = field(default_factory=list[str])
    contradictions_resolved: bool = False
    minimum_confidence: Score = 0.0
    max_iterations: Annotated[int, Field(ge=1)] = 1


@dataclass(frozen=True, slots=True)
class WireTask:
    """A task, or a topic if other tasks name it as their parent."""

    key: Annotated[str, Field(description="Short name, unique in the plan.")]
    title: str
    objective: str
    queries: Annotated[list[str], Field(description="The broad one first.")]
    sub_questions: Annotated[list[str], Field(description="Ids as shown, or new questions in words.")]
    parent: Annotated[str, Field(description="Key of its topic, or empty.")] = ""
    angle: Annotated[str, Field(description="Slug of its angle, or empty.")] = ""
    subjects: Names = field(default_factory=list[str])
    output_format: str = ""
    out_of_scope: str = ""
    discovery: bool = False
    max_rounds: Annotated[int | None, Field(ge=1)] = None
    specs: list[WireSpec] = field(default_factory=list[WireSpec])
    gate: WireGate | None = None


@dataclass(frozen=True, slots=True)
class WirePlan:
    """A plan as a flat list of tasks."""

    tier: Literal["simple", "moderate", "complex"]
    tasks: list[WireTask]
    rationale: str = ""


@dataclass(frozen=True, slots=True)
class WireChange:
    """New queries and sources for one task."""

    task: Annotated[str, Field(description="Id of the task as shown, like root/1.")]
    queries: list[str]
    sources: Annotated[list[str], Field(description="Labels of listed links, like L2.")] = field(
        default_factory=list[str]
    )


@dataclass(frozen=True, slots=True)
class WireRefinement:
    """Changes to tasks, and why."""

    changes: list[WireChange]
    why: str


@dataclass(frozen=True, slots=True)
class WireSearch:
    """One query. `site` is one of the phase's hints, or empty."""

    text: str
    site: str = ""


@dataclass(frozen=True, slots=True)
class WireIntent:
    """What the round looks for and why, then the queries."""

    reasoning: str
    goal: str
    queries: list[WireSearch]
    targets: Ids = field(default_factory=list[str])
    subjects: Names = field(default_factory=list[str])


@dataclass(frozen=True, slots=True)
class WireChoice:
    """One chosen candidate."""

    candidate: Annotated[str, Field(description="Label as shown, like K3.")]
    authority: Score
    recency: Score
    coverage: Score
    diversity: Score
    rationale: str
    balance: list[str] = field(default_factory=list[str])


@dataclass(frozen=True, slots=True)
class WireExcluded:
    """One candidate that was left out, and why."""

    candidate: str
    reason: str


@dataclass(frozen=True, slots=True)
class WireShortlist:
    """The chosen candidates, best first."""

    sources: list[WireChoice]
    excluded: list[WireExcluded] = field(default_factory=list[WireExcluded])
    balance: str = ""


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
    contradicts_known: list[str] = field(default_factory=list[str])
    gaps: list[str] = field(default_factory=list[str])
    follow_ups: list[WireFollowUp] = field(default_factory=list[WireFollowUp])
    linked: list[WireLinked] = field(default_factory=list[WireLinked])


@dataclass(frozen=True, slots=True)
class WireGap:
    """Something that is missing, and the sub-question or subject it belongs to."""

    text: str
    target: str = ""


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


@dataclass(frozen=True, slots=True)
class WireDraft:
    """A text in Markdown with markers like [S3:C2]."""

    title: Annotated[str, Field(min_length=1)]
    body: Annotated[str, Field(min_length=1)]


@dataclass(frozen=True, slots=True)
class WireCritique:
    """What is wrong with a draft, most serious first."""

    problems: list[str]
    summary: str


@dataclass(frozen=True, slots=True)
class WireVerdict:
    """Five scores and why."""

    factual_accuracy: Score
    citation_accuracy: Score
    completeness: Score
    source_quality: Score
    source_diversity: Score
    rationale: str


WIRE: dict[str, type] = {
    "clarify": WireScoping,
    "plan": WirePlan,
    "refine": WireRefinement,
    "scope": WireIntent,
    "scout": WireShortlist,
    "extract": WireExtraction,
    "reflect": WireProposal,
    "synthesize": WireDraft,
    "summarize": WireDraft,
    "critique": WireCritique,
    "revise": WireDraft,
    "judge": WireVerdict,
}
