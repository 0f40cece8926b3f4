"""The brief and the plan: what is asked, the tree of executors and threads that researches it, and a thread's record.

Knows sub-questions, subjects, scope, the shape and depth of a plan, and past rounds as values that never change again,
so that every prompt of a thread begins like the one before. Does not know how anything is researched and does not judge
feasibility: `policies.feasibility` does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from corrobora.domain.evidence import Fact, FactId, Grade

_SOURCES = re.compile(r"(?i)(\d{1,6})\s+(?:sources?|documents?|pages?|passages?)\b")
_TOKENS = re.compile(r"(?i)(\d[\d,]{0,11})\s?(k?)\s?tokens?\b")
_TIME = re.compile(r"(?i)(\d{1,6}(?:\.\d{1,3})?)\s?(s(?:ec(?:ond)?s?)?|m(?:in(?:ute)?s?)?)\b")
Split = Literal["tree", "angles", "questions", "leaf", "given"]


class SubQuestionStatus(StrEnum):
    """How far a sub-question is answered. EXHAUSTED carries the tag `#RETRY_EXHAUSTED` (TIMED-14)."""

    OPEN = "OPEN"
    PARTIAL = "PARTIAL"
    ANSWERED = "ANSWERED"
    EXHAUSTED = "EXHAUSTED"


ANSWERABLE = 0.5  # how likely an answer must be


@dataclass(frozen=True, slots=True)
class SubQuestion:
    """One part of the question. Only evidence of grade PLAUSIBLE or better answers it."""

    id: str  # "sq-1"; unique in the run
    text: str
    standing: SubQuestionStatus = SubQuestionStatus.OPEN
    grade: Grade | None = None
    finding: str = ""
    evidence: tuple[FactId, ...] = ()
    attempts: int = 0  # failed attempts to gather evidence
    likely: float | None = None  # that what is searched answers it; None if that is not known

    @property
    def is_answered(self) -> bool:
        """True if the thread counts it as answered."""
        return self.standing is SubQuestionStatus.ANSWERED

    @property
    def is_unlikely(self) -> bool:
        """True if what is searched is known to be unlikely to answer it."""
        return self.likely is not None and self.likely < ANSWERABLE

    @property
    def is_uncertain(self) -> bool:
        """True if statements fit it and words alone do not tell whether they answer it: more of them tell no more."""
        return self.likely is not None and self.standing is SubQuestionStatus.PARTIAL


class Coverage(StrEnum):
    """How far a subject is covered (TRIPLET-26)."""

    UNCOVERED = "UNCOVERED"
    PARTIAL = "PARTIAL"
    COVERED = "COVERED"


@dataclass(frozen=True, slots=True)
class Subject:
    """A person, place, thing or theme to cover. `rounds` counts the rounds dedicated to it."""

    name: str
    aliases: tuple[str, ...] = ()
    rounds: int = 0
    coverage: Coverage = Coverage.UNCOVERED
    finding: str = ""


@dataclass(frozen=True, slots=True)
class Focus:
    """The scope of the research: places, years, domains. Empty parts do not restrict it (TRIPLET-38)."""

    places: tuple[str, ...] = ()
    since: int | None = None
    until: int | None = None
    domains: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Brief:
    """What is asked, and what is already known about it."""

    question: str
    sub_questions: tuple[SubQuestion, ...] = ()
    subjects: tuple[Subject, ...] = ()
    disambiguation: tuple[str, ...] = ()  # terms that distinguish the subject from its namesakes
    known_facts: tuple[str, ...] = ()
    focus: Focus = Focus()
    suggested_plan: str = ""  # JSON of a plan that the planner may take, adapt or ignore (TREE-10)


@dataclass(frozen=True, slots=True)
class TaskSpec:
    """What a planner prescribes to the extractors of a leaf, passed on unchanged (TREE-15).

    `verbatim` is the text of a spec that was written as one text; otherwise its fields are passed on, line by line.
    """

    questions: tuple[str, ...]
    expected_format: str = ""
    acceptance_criteria: str = ""
    priority: int = 1
    budget: str = ""
    discovery_intense: bool = False
    verbatim: str = ""

    @property
    def text(self) -> str:
        """The spec as extractors get it: every field byte for byte as the planner wrote it."""
        rows = [("question", question) for question in self.questions]
        rows += [("expected format", self.expected_format), ("acceptance criteria", self.acceptance_criteria)]
        rows += [("priority", str(self.priority)), ("budget", self.budget)]
        rows += [("discovery intense", "yes" if self.discovery_intense else "")]
        return self.verbatim or "\n".join(f"{name}: {value}" for name, value in rows if value)

    @property
    def sources(self) -> int | None:
        """How many sources its budget pays for: the number before "sources", "documents", "pages" or "passages"."""
        found = _SOURCES.search(self.budget)
        return int(found.group(1)) if found else None

    @property
    def tokens(self) -> int | None:
        """How many tokens of models its budget allows: "20,000 tokens" or "20k tokens"."""
        found = _TOKENS.search(self.budget)
        return int(found.group(1).replace(",", "")) * (1_000 if found.group(2) else 1) if found else None

    @property
    def seconds(self) -> float | None:
        """How many seconds its budget allows: "90 seconds" or "2 minutes"."""
        found = _TIME.search(self.budget)
        return float(found.group(1)) * (60 if found.group(2)[0] in "mM" else 1) if found else None


def describe_task(objective: str, output_format: str) -> str:
    """Say what a leaf wants: its objective, and the form of its result if the planner asked for one."""
    return f"{objective} (as {output_format})" if output_format else objective


def sum_budgets(budgets: Sequence[float | None]) -> float | None:
    """Add the budgets of a leaf's specs; None if there is none, or if one of them has no such limit."""
    return None if not budgets or None in budgets else sum(each for each in budgets if each is not None)


def join_specs(specs: Sequence[TaskSpec]) -> str:
    """Return what the readers of a leaf are told by the planner, the first priority first."""
    return "\n".join(spec.text for spec in sorted(specs, key=lambda spec: spec.priority))


@dataclass(frozen=True, slots=True)
class Criteria:
    """The criteria that a phase of an inner node must meet (TREE-18)."""

    corroboration: int = 1  # independent sources for each answered sub-question
    themes: tuple[str, ...] = ()  # each must be covered
    contradictions_resolved: bool = False
    minimum_confidence: float = 0.0


@dataclass(frozen=True, slots=True)
class Gate:
    """A phase of an inner node: its criteria, its budget and how often it may be repeated (TREE-17)."""

    name: str = "gather"
    criteria: Criteria = Criteria()
    budget_seconds: float | None = None
    max_iterations: int = 1
    budget_tokens: int | None = None  # of models; for a discovery leaf, of its sweep (TREE-39)
    discovery: bool = False  # a scout looks for new sources before the leaves work (TREE-21)


@dataclass(frozen=True, slots=True)
class Node:
    """One node of the plan. Its path in the tree begins every journal key below it."""

    path: str  # "root", "root/1", "root/1/2": from the plan, never from the order of execution
    title: str
    objective: str
    children: tuple[Node, ...] = ()
    sub_questions: tuple[SubQuestion, ...] = ()
    subjects: tuple[Subject, ...] = ()
    gates: tuple[Gate, ...] = ()
    specs: tuple[TaskSpec, ...] = ()
    angle: str = ""  # slug of the angle (ANGLES-8)
    output_format: str = ""
    queries: tuple[str, ...] = ()  # the broad query first, then narrowing directions (ANGLES-6)
    out_of_scope: str = ""
    discovery: bool = False  # a leaf that only curates sources (TREE-20)
    max_rounds: int | None = None  # set by the planner, else the profile's
    sources: tuple[str, ...] = ()  # URLs to read first, as found by a discovery leaf or given by the user

    @property
    def is_leaf(self) -> bool:
        """True for a leaf, which is researched as one thread."""
        return not self.children


@dataclass(frozen=True, slots=True)
class Plan:
    """A research plan. With two or more sub-queries the root only gathers, as the manager does (TREE-9)."""

    root: Node
    tier: str = ""  # simple | moderate | complex (ANGLES-4)
    rationale: str = ""
    gathers_plans: bool = False  # the root stands for the manager: it does not count as an executor level
    notes: tuple[str, ...] = ()  # what code changed in a proposed plan, and why
    answer: str = ""  # JSON of what a model wrote, before code built and corrected the plan (ANGLES-12)


def walk_nodes(node: Node) -> Iterator[Node]:
    """Yield the node and its descendants, parents first."""
    yield node
    for child in node.children:
        yield from walk_nodes(child)


def collect_leaves(node: Node) -> tuple[Node, ...]:
    """Return the leaves below the node, left to right."""
    return tuple(each for each in walk_nodes(node) if each.is_leaf)


def executor_depth(plan: Plan) -> int:
    """Count the executor levels of the longest branch: inner nodes are executors (TREE-13)."""

    def count_levels(node: Node) -> int:
        return 0 if node.is_leaf else 1 + max(count_levels(child) for child in node.children)

    if plan.gathers_plans:
        return max((count_levels(child) for child in plan.root.children), default=0)
    return count_levels(plan.root)


@dataclass(frozen=True, slots=True)
class QueryYield:
    """What one query gave: results found, documents of them that were read, facts found in these."""

    query: str
    found: int
    read: int
    facts: int


@dataclass(frozen=True, slots=True)
class SourceYield:
    """One document that was to be read: what came of it, and what it says besides the answer."""

    source: str  # its id, "" if it was not read
    title: str
    origin: str  # its version, else the host of its address
    outcome: str
    facts: int
    told: tuple[str, ...] = ()  # questions it raises, gaps it admits, documents it names
    place: str = ""  # host and path: the origin of one whose title another one has


@dataclass(frozen=True, slots=True)
class PastRound:
    """One finished round."""

    number: int
    phase: str
    goal: str
    queries: tuple[QueryYield, ...]
    sources: tuple[SourceYield, ...]
    facts: tuple[Fact, ...]  # that no earlier round had, best first
    summary: str = ""  # of the reflection after it
    left_open: tuple[str, ...] = ()
    more: int = 0  # further facts that it found
    failures: tuple[str, ...] = ()  # searches that failed, with the reason
    others: tuple[Fact, ...] = ()  # of the further facts those that are shown by their beginnings


@dataclass(frozen=True, slots=True)
class Record:
    """All that a thread remembers, in the order in which it happened."""

    today: str = ""  # the date on which the run began
    searched: str = ""  # the libraries and providers of the run
    recalled: tuple[Fact, ...] = ()  # facts of earlier runs and of siblings
    rounds: tuple[PastRound, ...] = ()
    earlier: tuple[PastRound, ...] = ()  # before these: of earlier passes over the same task

    @property
    def facts(self) -> tuple[Fact, ...]:
        """All facts that it shows, those that were known before first."""
        return (*self.recalled, *(fact for done in (*self.earlier, *self.rounds) for fact in done.facts))
