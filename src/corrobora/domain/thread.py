"""The thread: one line of research, folded from its rounds.

Knows rounds, phases, escapes, decisions and how a round changes a thread. Policies decide what fires and what is next.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Annotated, Literal

from annotated_types import Ge, Le, MaxLen, doc

from corrobora.domain.evidence import Contradiction, Fact, Hit, KnownConflict, Query, Reading, ReadOutcome, Statement
from corrobora.domain.limits import Meter, Minutes, Text
from corrobora.domain.plan import Brief, Node, Record, Subject, SubQuestion, TaskSpec


class StopReason(StrEnum):
    """Why a thread stopped; the first rule that fired is recorded."""

    CRITERIA_MET = "criteria_met"  # TRIPLET-40 and TREE-18
    GAPS_EMPTY = "gaps_empty"  # TIMED-7
    MODEL_DONE = "model_done"  # the evaluation found nothing more to refine (ANGLES-14)
    ITERATION_CAP = "iteration_cap"  # the rounds are used
    TIME_RESERVE = "time_reserve"  # TIMED-9
    ALL_EXHAUSTED = "all_exhausted"  # TIMED-10
    UNLIKELY = "unlikely"  # what is searched tells no more of what is open
    PLATEAU = "plateau"  # level 3 (TRIPLET-34)
    LIMIT = "limit"  # tokens, money, calls, searches; sources and time of a task
    CANCELLED = "cancelled"
    ERROR = "error"


class Escape(StrEnum):
    """The six escapes from a plateau, in order (TRIPLET-36)."""

    REFORMULATE = "query_reformulation"
    SHIFT_SOURCES = "source_type_shift"
    LATERAL = "lateral_search"
    NEGATIVE = "negative_search"
    COMMUNITY = "community_pivot"
    FRACTAL = "fractal_exploration"


class Saturation(StrEnum):
    """How exhausted a source is (TRIPLET-30): HIGH means FEW new facts (0-1), MEDIUM 2-4, LOW 5 or more."""

    HIGH = "HIGH"
    MEDIUM = "MEDIUM"
    LOW = "LOW"
    FIRST_ROUND = "FIRST_ROUND"


@dataclass(frozen=True, slots=True)
class Phase:
    """One phase of a course: how many queries, where, with which hints, how long (ROUNDS-12, 28; TRIPLET-17, 20)."""

    name: Annotated[str, MaxLen(64), doc("The name of the phase.")]
    goal: Annotated[Text, doc("Goal of the phase, in words that suit a query.")] = ""
    min_queries: Annotated[int, Ge(1), Le(20), doc("Queries of a round at least.")] = 1
    max_queries: Annotated[int, Ge(1), Le(20), doc("Queries of a round at most.")] = 3
    providers: Annotated[tuple[Text, ...], doc("Search providers in order; empty: those of the run.")] = ()
    rotation: Annotated[Literal["all", "alternate", "fixed"], doc("How providers share the queries.")] = "all"
    query_hints: Annotated[tuple[Text, ...], doc('Words added to queries, such as site:gov or "records".')] = ()
    reading_prompt: Annotated[Text, doc("What to extract from sources in this phase.")] = ""
    min_rounds: Annotated[int, Ge(1), Le(100), doc("Rounds before the phase may be left.")] = 1
    max_rounds: Annotated[Annotated[int, Ge(1), Le(100)] | None, doc("Rounds after which the phase is left.")] = None
    minutes: Annotated[Minutes, doc("Time for one round of this phase.")] = None


@dataclass(frozen=True, slots=True)
class Course:
    """What a profile prescribes for a thread: its phases and its numbers. Data, not code."""

    phases: tuple[Phase, ...]
    max_rounds: int = 3
    attempts: int = 3
    reads_per_round: int = 5
    hits_per_query: int = 10
    whole_documents: bool = False  # a stored document is one result, once in this thread, read at its best passage
    queries_in_turn: bool = False
    pause_seconds: float = 0.0  # between queries run in turn (ROUNDS-11: 0.3)
    drift: bool = False
    escapes: bool = False
    coverage: bool = False  # a subject without a round of its own gets one past half the budget (TRIPLET-16)
    exhaust: bool = True  # give a sub-question up after `attempts` failures (TIMED-14); else it stays open
    publishers: tuple[str, ...] = ()  # hosts that count as credible beside those of the built-in table


@dataclass(frozen=True, slots=True)
class Gap:
    """Something a thread still lacks. `target` names the sub-question or subject it belongs to, if any."""

    text: str
    target: str = ""


@dataclass(frozen=True, slots=True)
class Intent:
    """What one round looks for and why, with its queries (TRIPLET-13)."""

    goal: str
    queries: tuple[Query, ...]
    targets: tuple[str, ...] = ()  # ids of the sub-questions aimed at
    subjects: tuple[str, ...] = ()  # names of the subjects aimed at
    reasoning: str = ""
    forced: str = ""  # why code forced a target: "subject X has had no round"


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a model may propose after a round: gaps, never the decision to continue (TIMED-6)."""

    summary: str
    gaps: tuple[Gap, ...] = ()
    done: bool = False
    next_topic: str = ""
    url: str = ""
    reasoning: str = ""
    contradictions: tuple[Contradiction, ...] = ()
    answered: tuple[str, ...] = ()  # ids of the sub-questions that a model counts as answered
    judged: bool = False  # every question was judged, so that one not among `answered` is not answered
    new_sub_questions: tuple[str, ...] = ()
    terms: tuple[str, ...] = ()  # vocabulary of the sources, worth searching for
    next: Intent | None = None  # what a model looks for in the round after it, if code lets one follow
    first_hand: tuple[str, ...] = ()  # ids of sources that the subject of a question itself publishes
    findings: str = ""  # the summary with markers that ends a thread of several, if its analyst wrote it
    answered_by: tuple[tuple[str, tuple[str, ...]], ...] = ()  # these questions, and the ids of what answers each


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision of the code after a round, with the meter it saw (TIMED-6)."""

    iteration: int
    proposal: Proposal
    stop: StopReason | None
    elapsed_seconds: float
    remaining_seconds: float | None  # None without a limit
    rule: str = ""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt at a sub-question in a round: its number and its strategy (TIMED-15, TIMED-16)."""

    target: str
    attempt_number: int
    strategy: str


@dataclass(frozen=True, slots=True)
class Round:
    """One round: scope, search, read, reflect, decide. `number` starts at 1."""

    number: int
    phase: str
    intent: Intent
    hits: tuple[Hit, ...] = ()
    readings: tuple[Reading, ...] = ()
    escape: Escape | None = None
    cut: bool = False  # the reserve was reached while it ran
    failures: tuple[str, ...] = ()  # searches that failed, with the reason
    new_facts: int = 0  # set by `add_round`
    confirming_facts: int = 0
    decision: Decision | None = None
    seconds: float = 0.0  # of work, from its first call to its decision
    attempts: tuple[Attempt, ...] = ()
    providers: tuple[str, ...] = ()  # providers asked, in order
    prior: tuple[tuple[str, str], ...] = ()  # name and coverage of each subject before this round

    @property
    def proposal(self) -> Proposal | None:
        """What the analyst proposed after this round; None before it was asked."""
        return self.decision.proposal if self.decision is not None else None

    @property
    def all_drifted(self) -> bool:
        """True if something was read and all of it drifted: such a round says nothing about saturation."""
        read = [r for r in self.readings if r.outcome in (ReadOutcome.READ, ReadOutcome.DRIFTED) and not r.again]
        return bool(read) and all(r.outcome is ReadOutcome.DRIFTED for r in read)


@dataclass(frozen=True, slots=True)
class Assessment:
    """The one value that says what a thread knows and lacks; everything that is said of it is read from here."""

    facts: tuple[Fact, ...]
    sub_questions: tuple[SubQuestion, ...]
    subjects: tuple[Subject, ...]
    contradictions: tuple[Contradiction, ...]
    statements: tuple[Statement, ...] = ()  # what the facts say, copies and paraphrases together
    gaps: tuple[Gap, ...] = ()  # each question that is not answered, and what else a model misses


@dataclass(frozen=True, slots=True)
class Transition:
    """What comes next: a phase, an escape, a plateau level; `stop` if no escape is left."""

    phase: int
    escape: Escape | None = None
    plateau_level: int = 0
    stop: StopReason | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class ScopeInput:
    """The input of the role `scope`: what a thread does not know yet. Small, ordered, without a clock."""

    path: str
    question: str
    objective: str
    round: int
    phase: Phase
    open_questions: tuple[SubQuestion, ...]
    uncovered: tuple[Subject, ...]
    gaps: tuple[Gap, ...]
    saturation: Saturation
    escape: Escape | None
    past_queries: tuple[str, ...]
    terms: tuple[str, ...]  # vocabulary learned from what was read
    disambiguation: tuple[str, ...]
    focus_since: int | None
    focus_until: int | None
    forced_subject: str
    suggested: tuple[str, ...]  # the planner's queries for this leaf
    known: tuple[str, ...]  # key findings so far, one line each
    next_topic: str
    out_of_scope: str
    url: str = ""
    record: Record = field(default_factory=Record)
    refused: tuple[str, ...] = ()  # queries of this round that did not change enough
    all_questions: tuple[str, ...] = ()  # ids of all: what a form offers (`choose_from`) stays the same, and is cached
    all_subjects: tuple[str, ...] = ()  # names, for the same form


@dataclass(frozen=True, slots=True)
class ThreadState:
    """A thread as a value. Every change returns a new one; a thread is a fold over its rounds."""

    path: str
    title: str
    objective: str
    brief: Brief
    course: Course
    sub_questions: tuple[SubQuestion, ...]
    subjects: tuple[Subject, ...]
    specs: tuple[TaskSpec, ...] = ()
    angle: str = ""
    output_format: str = ""
    out_of_scope: str = ""
    suggested: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    rounds: tuple[Round, ...] = ()
    recalled: tuple[Fact, ...] = ()  # facts that were stored before this thread began (TREE-31)
    facts: tuple[Fact, ...] = ()
    contradictions: tuple[Contradiction, ...] = ()
    phase_index: int = 0
    phase_since: int = 0  # number of the last round before the current phase
    escape: Escape | None = None  # to be used in the next round
    escapes_used: tuple[Escape, ...] = ()
    plateau_level: int = 0
    stop: StopReason | None = None
    steer: str = ""  # a person's hint for the next round (ROUNDS-25)
    notes: tuple[str, ...] = ()
    earlier: tuple[Round, ...] = ()  # of the same leaf in earlier iterations of its node: memory only
    opened: float = 0.0  # working seconds of the run when it began, if its time is limited

    @classmethod
    def open_thread(cls, node: Node, brief: Brief, course: Course, *, named: Container[str] = ()) -> ThreadState:
        """Open the thread of a leaf with its questions and subjects, else those of the brief that no leaf `named`."""
        own = course if node.max_rounds is None else replace(course, max_rounds=node.max_rounds)
        return cls(
            path=node.path,
            title=node.title,
            objective=node.objective,
            brief=brief,
            course=own,
            sub_questions=node.sub_questions or brief.sub_questions,
            subjects=node.subjects or tuple(each for each in brief.subjects if each.name not in named),
            specs=node.specs,
            angle=node.angle,
            output_format=node.output_format,
            out_of_scope=node.out_of_scope,
            suggested=node.queries,
            sources=node.sources,
        )

    @property
    def open(self) -> bool:
        """True until a rule has stopped the thread."""
        return self.stop is None

    @property
    def number(self) -> int:
        return len(self.rounds)

    @property
    def phase(self) -> Phase:
        """The current phase; the last one repeats."""
        return self.course.phases[min(self.phase_index, len(self.course.phases) - 1)]

    @property
    def round_path(self) -> str:
        """The path of the next round: `root/2/round/3`."""
        return f"{self.path}/round/{self.number + 1}"

    @property
    def last_path(self) -> str:
        return f"{self.path}/round/{self.number}"

    @property
    def last(self) -> Round | None:
        return self.rounds[-1] if self.rounds else None

    @property
    def last_proposal(self) -> Proposal | None:
        """What the analyst proposed after the last round; None before it was asked."""
        return self.rounds[-1].proposal if self.rounds else None

    @property
    def past_queries(self) -> tuple[str, ...]:
        """Every query so far, oldest first."""
        return tuple(q.text for r in (*self.earlier, *self.rounds) for q in r.intent.queries)

    @property
    def read_passages(self) -> frozenset[str]:
        """The passages already read: none is sent twice, but for a gap that a model names (`select_rereadings`)."""
        return frozenset(p for r in self.rounds for reading in r.readings for p in reading.passages)

    @property
    def known_conflicts(self) -> tuple[KnownConflict, ...]:
        """Every fact that differs from a known fact of the brief, in the order found."""
        return tuple(dict.fromkeys(each for done in self.rounds for read in done.readings for each in read.against))

    @property
    def gaps(self) -> tuple[Gap, ...]:
        """The gaps that the assessment of the last round found."""
        return self.last_proposal.gaps if self.last_proposal is not None else ()

    def add_round(self, done: Round, standings: Assessment) -> ThreadState:
        """Add a finished round with the assessment of all facts; a re-reading of a page confirms nothing."""
        known = {fact.id for fact in self.facts}
        seen = {fact.id for reading in done.readings if not reading.again for fact in reading.facts}
        earlier = [each for each in standings.statements if known.intersection(each.facts)]
        counted = replace(
            done,
            new_facts=len(standings.statements) - len(earlier),  # that no earlier fact, copy or paraphrase said
            confirming_facts=sum(1 for each in earlier if seen.intersection(each.facts)),
            prior=tuple((subject.name, subject.coverage.value) for subject in self.subjects),
        )
        return replace(self, rounds=(*self.rounds, counted), escape=None).take_assessment(standings)

    def take_assessment(self, assessed: Assessment) -> ThreadState:
        """Take facts, questions, subjects and contradictions as assessed; the gaps enter with the proposal."""
        names = ("facts", "sub_questions", "subjects", "contradictions")
        return replace(self, **{name: getattr(assessed, name) for name in names})

    def record_proposal(self, proposal: Proposal, meter: Meter, seconds: float = 0.0) -> ThreadState:
        """Record what the analyst proposed, what the meter showed and the round took; nothing is decided yet."""
        remaining = None if meter.allowance.seconds is None else meter.remaining_seconds
        decision = Decision(self.number, proposal, None, meter.elapsed_seconds, remaining)
        return replace(self, rounds=(*self.rounds[:-1], replace(self.rounds[-1], decision=decision, seconds=seconds)))

    def record_decision(self, stop: StopReason | None, rule: str) -> ThreadState:
        """Record the decision on the last round and the rule that fired; a stop reason closes the thread."""
        last = self.rounds[-1]
        assert last.decision is not None, "a decision needs a recorded proposal"
        decided = replace(last, decision=replace(last.decision, stop=stop, rule=rule))
        return replace(self, rounds=(*self.rounds[:-1], decided), stop=stop)

    def close(self, why: StopReason) -> ThreadState:
        """Close the thread outside of a round. A closed thread stays unchanged."""
        return replace(self, stop=why) if self.open else self

    def apply_transition(self, turn: Transition) -> ThreadState:
        """Take the next phase or escape. A closed thread keeps its phase."""
        if not self.open:
            return replace(self, plateau_level=max(self.plateau_level, turn.plateau_level))
        used = self.escapes_used if turn.escape is None else (*self.escapes_used, turn.escape)
        return replace(
            self,
            phase_index=turn.phase,
            phase_since=self.number if turn.phase != self.phase_index else self.phase_since,
            escape=turn.escape,
            escapes_used=used,
            plateau_level=turn.plateau_level,
            stop=turn.stop,
            notes=(*self.notes, turn.note) if turn.note else self.notes,
        )


StopRule = Callable[[ThreadState, Meter], StopReason | None]
AdvanceRule = Callable[[ThreadState], Transition]
