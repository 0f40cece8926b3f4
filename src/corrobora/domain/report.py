"""Findings, drafts, verdicts and the report.

Knows what a report says about itself: outcomes, citations, checks, methodology. Does not render and does not check.
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
    """How a run ended (TRUTH-5)."""

    COMPLETE = "complete"
    PARTIAL = "partial"
    PASSAGES = "passages"  # what was found is near the question and does not answer it
    NO_EVIDENCE = "no_evidence"  # searched, but found nothing sufficient
    INACCESSIBLE = "evidence_inaccessible"  # found, but could not be read
    LIMIT_REACHED = "limit_reached"
    PROVIDER_DOWN = "provider_down"  # nothing could be searched
    AWAITING = "awaiting_authorization"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class Played:
    """Who played a role for a thread: in which round (0: in none), how often, and why not the one before it."""

    round: int
    role: str
    by: str
    fallback: str = ""
    calls: int = 1


@dataclass(frozen=True, slots=True)
class Findings:
    """What a node passes to its parent. A failed leaf has `failed` set and never raises (ANGLES-23)."""

    path: str
    title: str
    summary: str = ""  # markdown with markers
    facts: tuple[Fact, ...] = ()
    contradictions: tuple[Contradiction, ...] = ()
    sub_questions: tuple[SubQuestion, ...] = ()
    subjects: tuple[Subject, ...] = ()
    gaps: tuple[Gap, ...] = ()
    rounds: tuple[Round, ...] = ()
    max_rounds: int = 0  # the thread's own cap of rounds; 0 if it was not a thread
    stop: StopReason | None = None
    failed: str = ""
    angle: str = ""
    follow_ups: tuple[FollowUp, ...] = ()
    linked: tuple[LinkedSource, ...] = ()
    delta: tuple[str, ...] = ()  # what changed in each iteration of a gate, and why (TREE-26)
    children: tuple[Findings, ...] = ()
    # findings of discarded iterations: counted, but not used for writing (TREE-26)
    left_out: tuple[Findings, ...] = ()
    notes: tuple[str, ...] = ()
    usage: Usage = Usage()
    seconds: float = 0.0
    played: tuple[Played, ...] = ()
    output_format: str = ""  # what the plan, or a refinement, asks of the text that is written from it
    nearest: tuple[Fact, ...] = ()  # whole passages that were found first for what is open: they answer nothing

    @property
    def citable(self) -> tuple[Fact, ...]:
        """All that a text may cite: the facts, and the nearest passages that are none of them."""
        known = {fact.id for fact in self.facts}
        return (*self.facts, *(each for each in self.nearest if each.id not in known))


@dataclass(frozen=True, slots=True)
class Draft:
    """A report in Markdown with `[S3:C2]` markers and without addresses and source titles: code inserts them."""

    title: str
    body: str
    outline: tuple[str, ...] = ()  # what its writer had planned: the answer, its parts, who disagrees


@dataclass(frozen=True, slots=True)
class Critique:
    """The problems of a draft, section by section, whatever the sections are called (ANGLES-29)."""

    problems: tuple[str, ...] = ()
    summary: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The judge's five scores in [0, 1] (ANGLES-30). Code compares them with the profile's threshold."""

    factual_accuracy: float
    citation_accuracy: float
    completeness: float
    source_quality: float
    source_diversity: float
    rationale: str = ""

    @property
    def overall(self) -> float:
        """The mean of the five criteria."""
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
        """Why the scores are implausible: full marks throughout without a reason; else "" (bad-input M10)."""
        odd = self.overall == 1.0 and not self.rationale.strip()
        return "the judge gave full marks for everything and no reason" if odd else ""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a judge said of a report, or why none did; neither where none was asked for."""

    verdict: Verdict | None = None
    why: str = ""


NOT_JUDGED = Judgement()


class Support(StrEnum):
    """How far its cited quotes support a sentence, as computed by code."""

    SUPPORTED = "supported"
    PARTLY = "partly"  # some of its clauses are supported, none is contradicted
    UNCLEAR = "unclear"  # code cannot decide
    UNSUPPORTED = "unsupported"
    CONTRADICTED = "contradicted"
    UNCITED = "uncited"
    NOT_CHECKABLE = "not_checkable"  # its sources could not be looked at, or it claims nothing about the world


@dataclass(frozen=True, slots=True)
class SentenceCheck:
    """One checked sentence: its citations, its status, and the reasons."""

    sentence: str
    facts: tuple[str, ...]
    support: Support
    overlap: float  # share of its content words in its quotes: a lower bound, not a verdict
    reasons: tuple[str, ...] = ()
    follows: str = ""  # quote, restatement, arithmetic, count, comparison, trend, absence or judgement
    steps: tuple[str, ...] = ()  # of a derivation that was executed again: "15 - 8 = 7"
    withheld: str = ""  # why a note stands in its place; "" if it is printed
    row: str = ""  # of a cell of a table: its row, with an arrow before the cell

    @property
    def key(self) -> tuple[str, tuple[str, ...]]:
        """What a ruling on it is kept under: a cell says something else in another row or column."""
        return f"{self.sentence} ({self.row})" if self.row else self.sentence, self.facts


@dataclass(frozen=True, slots=True)
class Citation:
    """One numbered reference of a rendered report, with everything needed to check it again."""

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
    notice: str = ""  # a retraction, withdrawal or correction, in the source's own words
    authors: tuple[str, ...] = ()  # "Family, Given" of a person, any other name as it is stated
    order: str = ""  # the words with which a quote orders the tool that reads it to do something


@dataclass(frozen=True, slots=True)
class RoleSpend:
    """What one role did and cost in a run, whoever played it; `answers` also counts those of code, without a model."""

    role: str
    answers: int
    usage: Usage


@dataclass(frozen=True, slots=True)
class CitedQuote:
    """A quote that a statement cites: `start` and `end` index characters of the snapshot, in which it is literal."""

    fact: str
    source: str
    passage: str  # the stored passage that holds it, one of `Report.passages`
    snapshot: str  # sha256 of the stored text
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class MarkerEvidence:
    """What one `[n]` of the delivered text leads to: the statement in front of it, its verdict, and its own quotes."""

    marker: int  # from 1, in the order of the text
    number: int  # as printed: the number of its reference
    sentence: str
    support: Support
    follows: str  # as in `SentenceCheck`
    quotes: tuple[CitedQuote, ...]


@dataclass(frozen=True, slots=True)
class CitedPassage:
    """A stored passage that holds quotes of the report; `start` and `end` index characters of the snapshot."""

    source: str
    passage: str
    snapshot: str
    start: int
    end: int
    text: str
    title: str
    url: str
    heading: str = ""
    page: int | None = None  # of a document with pages, from 1; the first of several
    version: str = ""
    published: str = ""
    publisher: str = ""

    @property
    def place(self) -> str:
        """The page or pages in words, or else the path of headings."""
        if self.page is None:
            return self.heading
        several = self.heading.partition("pp. ")[2]
        return f"pages {several}" if several else f"page {self.page}"


@dataclass(frozen=True, slots=True)
class Methodology:
    """What was done, compiled by code from the journal (TRUTH-6)."""

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
    repeated_lines: int = 0  # of the writer, left out
    writer: str = ""  # why the text was written without the model of the run; "" if it was not
    shared: tuple[str, ...] = ()  # what left the machine, and who gets what
    spend: tuple[RoleSpend, ...] = ()  # by role; empty in reports of versions before it was counted


@dataclass(frozen=True, slots=True)
class Report:
    """The delivered report. `markdown` is "" if there is nothing to report."""

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
    seal: str = ""  # run and digest of this report without its seal
    asked: str = ""  # the question in the person's words, if others were researched
    researched: tuple[str, ...] = ()  # these, narrowed from it or split
    evidence: tuple[MarkerEvidence, ...] = ()  # one for each `[n]` of the text; reports of earlier versions have none
    passages: tuple[CitedPassage, ...] = ()  # those that hold the quotes of the evidence, each once
    language: str = "en"  # the tag of the language that was asked for
    translation: str = ""  # a person's texts of code in it, as `text.phrases.dump_frame` writes them
    previous: str = ""  # the run that this one follows: its evidence was read first, or its report was edited
    from_previous: tuple[int, ...] = ()  # numbers of the citations whose source the previous run had read

    def __str__(self) -> str:
        """Return the report as Markdown."""
        return self.markdown or f"No report: {self.reason or self.outcome}."

    def _repr_markdown_(self) -> str:
        """Show the report in a notebook."""
        return str(self)

    @property
    def run(self) -> str:
        """The id of the run that delivered it; "" before."""
        return self.seal.partition("`")[2].partition("`")[0]

    @property
    def supported_share(self) -> float:
        """The share of the sentences that claim something which their citations support; 0.0 if there is none."""
        claims = [check for check in self.checks if check.support is not Support.UNCITED]
        good = [check for check in claims if check.support is Support.SUPPORTED]
        return len(good) / len(claims) if claims else 0.0


def collect_notes(found: Findings) -> tuple[str, ...]:
    """Return the notes of a node and of all below it, discarded iterations included, each once."""
    below = (note for child in (*found.children, *found.left_out) for note in collect_notes(child))
    return tuple(dict.fromkeys(note for note in (*found.notes, *below) if note))


def iter_threads(found: Findings) -> Iterator[Findings]:
    """Yield the findings of all threads below, in the order of the plan; discarded iterations come last."""
    if not found.children:
        yield found
    for child in (*found.children, *found.left_out):
        yield from iter_threads(child)
