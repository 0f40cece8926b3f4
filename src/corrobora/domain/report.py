"""Findings, drafts, verdicts and the report.

Knows what a report may say about itself: outcomes, citations, checks, methodology. Does not render and does not check.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from corrobora.domain.evidence import Contradiction, Fact, FollowUp, LinkedSource
from corrobora.domain.limits import Usage
from corrobora.domain.plan import Subject, SubQuestion
from corrobora.domain.thread import Gap, Round, StopReason


class Outcome(StrEnum):
    """How a run ended, honestly (TRUTH-5)."""

    COMPLETE = "complete"
    PARTIAL = "partial"
    NO_EVIDENCE = "no_evidence"  # looked, and found nothing sufficient
    INACCESSIBLE = "evidence_inaccessible"  # found, but could not be read
    LIMIT_REACHED = "limit_reached"
    PROVIDER_DOWN = "provider_down"  # could not look
    AWAITING = "awaiting_authorization"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class Findings:
    """What a node hands to its parent. A failed leaf is a sentinel with `failed` set, never an exception.

    Requirement: ANGLES-23.
    """

    path: str
    title: str
    summary: str = ""  # markdown with markers
    facts: tuple[Fact, ...] = ()
    contradictions: tuple[Contradiction, ...] = ()
    sub_questions: tuple[SubQuestion, ...] = ()
    subjects: tuple[Subject, ...] = ()
    gaps: tuple[Gap, ...] = ()
    rounds: tuple[Round, ...] = ()
    max_rounds: int = 0  # the thread's own cap of rounds; 0: it was no thread
    stop: StopReason | None = None
    failed: str = ""
    angle: str = ""
    follow_ups: tuple[FollowUp, ...] = ()
    linked: tuple[LinkedSource, ...] = ()
    delta: tuple[str, ...] = ()  # what changed in each iteration of a gate, and why (TREE-26)
    children: tuple[Findings, ...] = ()
    # parts of iterations that improved nothing: counted, not written from (TREE-26)
    left_out: tuple[Findings, ...] = ()
    notes: tuple[str, ...] = ()
    usage: Usage = Usage()
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Draft:
    """A report in Markdown with `[S3:C2]` markers; no URLs, no source titles: code inserts them."""

    title: str
    body: str


@dataclass(frozen=True, slots=True)
class Critique:
    """What is wrong with a draft, section by section, whatever the sections are called (ANGLES-29)."""

    problems: tuple[str, ...] = ()
    summary: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The judge's five scores in [0, 1] (ANGLES-30). `passed` is computed by code at the profile's threshold."""

    factual_accuracy: float
    citation_accuracy: float
    completeness: float
    source_quality: float
    source_diversity: float
    rationale: str = ""

    @property
    def overall(self) -> float:
        """Mean of the five criteria."""
        scores = (
            self.factual_accuracy,
            self.citation_accuracy,
            self.completeness,
            self.source_quality,
            self.source_diversity,
        )
        return sum(scores) / len(scores)

    @property
    def suspicious(self) -> str:
        """Why the scores say little, "" if nothing is odd: full marks for everything without a reason.

        Requirement: bad-input M10.
        """
        odd = self.overall == 1.0 and not self.rationale.strip()
        return "the judge gave full marks for everything and no reason" if odd else ""


class Support(StrEnum):
    """What code says of one sentence against its cited quotes."""

    SUPPORTED = "supported"
    PARTLY = "partly"
    UNSUPPORTED = "unsupported"
    CONTRADICTED = "contradicted"
    UNCITED = "uncited"


@dataclass(frozen=True, slots=True)
class SentenceCheck:
    """One checked sentence: its citations, its status, and why."""

    sentence: str
    facts: tuple[str, ...]
    support: Support
    overlap: float  # share of its content words in the best window: a floor, not a verdict
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Citation:
    """One numbered reference of a rendered report, with what is needed to check it again."""

    number: int
    source: str
    passage: str
    title: str
    url: str
    snapshot: str
    quotes: tuple[str, ...]
    version: str = ""
    published: str = ""
    heading: str = ""


@dataclass(frozen=True, slots=True)
class Methodology:
    """What was done, from the journal, written by code (TRUTH-6)."""

    profile: str
    analyst: str  # "extractive (no language model)", or the models that answered, with counts
    rounds: int
    searches: int
    failed_searches: int
    hits: int
    sources_read: int
    sources_cited: int
    facts: int
    outcomes: tuple[tuple[str, int], ...]  # every requested document in exactly one outcome
    stops: tuple[tuple[str, str], ...]  # thread, reason
    exhausted: tuple[str, ...]  # sub-questions marked #RETRY_EXHAUSTED
    uncovered: tuple[str, ...]  # angles or sub-questions without coverage
    limits_hit: tuple[str, ...]
    removed_markers: int
    removed_sentences: int
    dropped_quotes: int
    uncertain_calls: int
    usage: Usage
    seconds: float
    time_limit_seconds: float | None
    providers: tuple[str, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """The delivered report. `markdown` is "" where nothing may be reported."""

    question: str
    title: str
    outcome: Outcome
    reason: str
    markdown: str
    citations: tuple[Citation, ...]
    checks: tuple[SentenceCheck, ...]
    methodology: Methodology
    findings: Findings
    verdict: Verdict | None = None
    overlap_score: float | None = None  # token-overlap score (ANGLES-31)
    stop: StopReason | None = None

    @property
    def supported_share(self) -> float:
        """Share of cited sentences whose citations support them; 0.0 if none is cited."""
        cited = [check for check in self.checks if check.support is not Support.UNCITED]
        good = [check for check in cited if check.support in (Support.SUPPORTED, Support.PARTLY)]
        return len(good) / len(cited) if cited else 0.0


def iter_threads(found: Findings) -> Iterator[Findings]:
    """Yield the findings of all threads below, in the order of the plan; those of iterations left out come last."""
    if not found.children:
        yield found
    for child in (*found.children, *found.left_out):
        yield from iter_threads(child)
