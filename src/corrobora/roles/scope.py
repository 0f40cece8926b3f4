"""Scope and scout: from what a thread does not know to the queries of a round; from candidates to a ranked shortlist.

Knows one thread's needs, candidates and a quick scan of each. Reads nothing itself; does not know clock or budget.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from corrobora.domain.evidence import Query
from corrobora.domain.plan import Record, SubQuestion
from corrobora.domain.thread import Escape, Intent, Phase, Saturation, ScopeInput
from corrobora.ports import Role
from corrobora.roles.forms import (
    GAPS,
    QUESTION,
    QUESTIONS,
    RECORD,
    SUBJECTS,
    Score,
    UnusableAnswer,
    choose_from,
    clean_query,
    clean_texts,
    drop_duplicates,
    match_subjects,
)


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
    targets: list[Annotated[str, choose_from("all_questions")]] = field(default_factory=list[str])
    subjects: list[Annotated[str, choose_from("all_subjects")]] = field(default_factory=list[str])


@dataclass(frozen=True, slots=True)
class WireNext:
    """What the next round looks for, and its queries."""

    goal: str = ""
    queries: list[WireSearch] = field(default_factory=list[WireSearch])
    targets: list[Annotated[str, choose_from("ids")]] = field(default_factory=list[str])
    subjects: list[Annotated[str, choose_from("names")]] = field(default_factory=list[str])


def convert_intent(given: ScopeInput, filled: WireIntent) -> Intent:
    """Take as many queries as the phase allows, each once; ids and names must have been shown."""
    made = make_intent(given, filled, filled.reasoning)
    if len(made.queries) < given.phase.min_queries:
        least, most = given.phase.min_queries, given.phase.max_queries
        raise UnusableAnswer(f"This phase needs {least} to {most} different queries.")
    return made


def make_intent(given: ScopeInput, filled: WireIntent | WireNext, reasoning: str) -> Intent:
    """Make the intent of a round of what was filled in; too few queries are left for code to add to."""
    phase = given.phase
    sites = {hint.strip().removeprefix("site:") for hint in phase.query_hints if hint.strip().startswith("site:")}
    queries: dict[str, Query] = {}
    for search in filled.queries:
        if text := clean_query(search.text):
            site = search.site.strip().removeprefix("site:")
            queries.setdefault(text.casefold(), Query(text, site if site in sites else "", filled.goal))
    ids = {question.id for question in given.open_questions}
    subjects = match_subjects(filled.subjects, given.uncovered)
    forced = given.forced_subject
    return Intent(
        goal=filled.goal,
        queries=tuple(queries.values())[: max(1, phase.max_queries)],
        targets=tuple(each for each in drop_duplicates(filled.targets) if each in ids),
        subjects=drop_duplicates((forced, *subjects)) if forced else subjects,
        reasoning=reasoning,
        forced=f"subject {forced} has had no round" if forced else "",
    )


def make_scope_example() -> ScopeInput:
    """Return the input of the imaginary manual; a reflection has it, too."""
    return ScopeInput(
        path="root/1",
        question=QUESTION,
        objective="Find the flow",
        round=2,
        phase=Phase("deepen", "find figures", 1, 3, query_hints=("site:gov", "records")),
        open_questions=QUESTIONS,
        uncovered=SUBJECTS,
        gaps=GAPS,
        saturation=Saturation.HIGH,
        escape=Escape.REFORMULATE,
        past_queries=("pump flow",),
        terms=("displacement",),
        disambiguation=("industrial",),
        focus_since=2010,
        focus_until=2020,
        forced_subject="Valve",
        suggested=("pump flow rate",),
        known=("It is blue.",),
        next_topic="valve",
        out_of_scope="price",
        url="https://example.org/pump",
        record=RECORD,
        refused=("pump speed",),
        all_questions=("sq-1", "sq-2"),
        all_subjects=("Pump", "Valve"),
    )


scope: Role[ScopeInput, Intent] = Role(
    "scope", ScopeInput, Intent, "scope", wire=WireIntent, convert=convert_intent, example=make_scope_example
)


@dataclass(frozen=True, slots=True)
class Candidate:
    """One candidate source after de-duplication, with the text of a quick scan."""

    reference: str  # URL or source id
    title: str
    snippet: str
    scan: str = ""
    published: str = ""
    publisher: str = ""
    found_by: tuple[str, ...] = ()  # queries that found it
    cluster: int = 0  # near-duplicates and copies share a cluster
    answers: tuple[str, ...] = ()  # ids of the sub-questions that what the quick scan found speaks to
    scanned: bool = False


@dataclass(frozen=True, slots=True)
class Sweep:
    """A sweep to be triaged within its budget."""

    path: str
    objective: str
    themes: tuple[str, ...]
    candidates: tuple[Candidate, ...]
    limit: int = 10
    record: Record = field(default_factory=Record)
    questions: tuple[SubQuestion, ...] = ()  # those of the tasks that the shortlist is for

    @property
    def aims(self) -> tuple[str, ...]:
        return (*(each.text for each in self.questions), *self.themes)

    @property
    def ids(self) -> tuple[str, ...]:
        """What the form offers for what a source answers."""
        return tuple(each.id for each in self.questions)

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(f"K{number}" for number, _ in enumerate(self.candidates, start=1))


@dataclass(frozen=True, slots=True)
class Shortlisted:
    """One chosen source. Scores in [0, 1]; `balance` are tags for the coverage balance."""

    reference: str
    title: str
    authority: float
    recency: float
    coverage: float
    diversity: float
    rationale: str
    balance: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()  # ids of the sub-questions that it is read for; () for all


@dataclass(frozen=True, slots=True)
class Shortlist:
    """Ranked, best first; `excluded` says why the others were left out."""

    sources: tuple[Shortlisted, ...]
    excluded: tuple[tuple[str, str], ...] = ()
    balance: str = ""


@dataclass(frozen=True, slots=True)
class WireChoice:
    """One chosen candidate."""

    candidate: Annotated[str, choose_from("labels")]
    authority: Score
    recency: Score
    coverage: Score
    diversity: Score
    rationale: str
    balance: list[str] = field(default_factory=list[str])
    answers: list[Annotated[str, choose_from("ids")]] = field(default_factory=list[str])


@dataclass(frozen=True, slots=True)
class WireExcluded:
    """One candidate that was left out, and why."""

    candidate: Annotated[str, choose_from("labels")]
    reason: str


@dataclass(frozen=True, slots=True)
class WireShortlist:
    """The chosen candidates, best first."""

    sources: list[WireChoice]
    excluded: list[WireExcluded] = field(default_factory=list[WireExcluded])
    balance: str = ""


def convert_shortlist(given: Sweep, filled: WireShortlist) -> Shortlist:
    """Put references back in place of labels; unknown labels and duplicates are dropped."""
    known = dict(zip(given.labels, given.candidates, strict=True))
    chosen: dict[str, Shortlisted] = {}
    for choice in filled.sources:
        if candidate := known.get(choice.candidate.strip()):
            scores = (choice.authority, choice.recency, choice.coverage, choice.diversity)
            tags = clean_texts(choice.balance)
            answers = tuple(each for each in drop_duplicates(choice.answers) if each in given.ids)
            made = Shortlisted(candidate.reference, candidate.title, *scores, choice.rationale, tags, answers)
            chosen.setdefault(candidate.reference, made)
    if filled.sources and not chosen:
        raise UnusableAnswer(f"`candidate` must be one of the labels K1 to K{len(known)}.")
    out = [(known[e.candidate.strip()].reference, e.reason) for e in filled.excluded if e.candidate.strip() in known]
    return Shortlist(tuple(chosen.values())[: given.limit], tuple(out), filled.balance)


def _make_scout_example() -> Sweep:
    rest = ("A scan", "2017", "Maker", ("pump",), 1, ("sq-1",), True)
    found = (
        Candidate("https://example.org/a", "Manual A", "about A", *rest),
        Candidate("S3", "Manual B", "about B"),
    )
    return Sweep("root", "Find manuals", ("limits",), found, 5, RECORD, QUESTIONS)


scout: Role[Sweep, Shortlist] = Role(
    "scout",
    Sweep,
    Shortlist,
    "scout",
    tier="fast",
    wire=WireShortlist,
    convert=convert_shortlist,
    example=_make_scout_example,
)
