"""The published schemas: reports, events and plans as JSON Schema 2020-12, made from the typed values of the domain.

Knows how a value becomes a schema, and the version of each schema: it rises where a program that reads the old shape
would fail. An added field is no such change, so readers must let unknown fields pass. Declares what each type of event
carries; tests check every event of real runs against it. Does not check any document.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter

from corrobora.domain.plan import Plan
from corrobora.domain.report import Report
from corrobora.domain.run import EventType


@dataclass(frozen=True, slots=True)
class RunStartedData:
    """The question, and the profile with every field as it was resolved."""

    question: str
    profile: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class RunFinishedData:
    """How the run ended; `code` is that of the error, if one ended it."""

    outcome: str
    reason: str
    code: str = ""


@dataclass(frozen=True, slots=True)
class StageData:
    """The stage that begins."""

    stage: str


@dataclass(frozen=True, slots=True)
class PlanProposedData:
    """The plan, its depth in levels of executors, what it is estimated to cost, and who gets what of the question."""

    plan: Plan
    depth: int
    tier: str
    estimate: Mapping[str, object] | None = None
    shared: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class PlanAuthorizedData:
    """Who authorized the plan: policy or human."""

    by: str


@dataclass(frozen=True, slots=True)
class AttemptData:
    """One attempt at a sub-question in a round."""

    target: str
    attempt_number: int
    strategy: str


@dataclass(frozen=True, slots=True)
class RoundStartedData:
    """What a round starts with; the first one of a thread also states the thread."""

    phase: str
    max_rounds: int
    elapsed: float = 0.0
    title: str = ""
    sub_questions: int = 0
    subjects: int = 0


@dataclass(frozen=True, slots=True)
class RoundFinishedData:
    """What a round gave and what is left; times in seconds of work."""

    phase: str
    new_facts: int
    confirming: int
    saturation: str
    gaps: Sequence[str]
    stop: str | None
    cut: bool
    elapsed: float
    remaining: float | None
    reserve: float
    attempts: Sequence[AttemptData]
    tokens: int = 0
    dollars: float = 0.0
    max_dollars: float | None = None
    standing: Mapping[str, str] | None = None
    micro_report: str = ""


@dataclass(frozen=True, slots=True)
class ThoughtData:
    """What a round is about to look for, and why; `targets` are ids of sub-questions."""

    text: str
    queries: Sequence[str]
    targets: Sequence[str] = ()
    forced: str = ""


@dataclass(frozen=True, slots=True)
class SearchData:
    """One search that was answered."""

    query: str
    provider: str
    hits: int


@dataclass(frozen=True, slots=True)
class ReadData:
    """One document, with its single outcome."""

    url: str
    title: str
    outcome: str
    facts: int
    note: str
    source: str | None


@dataclass(frozen=True, slots=True)
class FactData:
    """A fact; the quote is shortened to 300 characters."""

    fact: str
    quote: str
    title: str
    answers: Sequence[str]
    source: str = ""


@dataclass(frozen=True, slots=True)
class DriftData:
    """A document that leads away from the subject."""

    url: str
    why: str


@dataclass(frozen=True, slots=True)
class PlateauData:
    """A thread that learns little: the level from 1 to 3, and the share of addresses that were known."""

    level: int
    url_overlap: float


@dataclass(frozen=True, slots=True)
class EscapeData:
    """The other approach that the next round takes."""

    escape: str


@dataclass(frozen=True, slots=True)
class ContradictionData:
    """Two statements that differ."""

    claim: str
    difference: str
    relation: str
    status: str = ""


@dataclass(frozen=True, slots=True)
class DecisionData:
    """The decision after a round, in the names of the time-budget method; after a gate, `gate` and `delta` alone."""

    iteration: int = 0
    summary: str = ""
    gaps: Sequence[str] = ()
    shouldContinue: bool = False  # noqa: N815 - the method prescribes the name
    nextSearchTopic: str | None = None  # noqa: N815 - as above
    urlToSearch: str | None = None  # noqa: N815 - as above
    timeRemainingMinutes: float | None = None  # noqa: N815 - as above
    gate: str = ""
    delta: str = ""


@dataclass(frozen=True, slots=True)
class RetryData:
    """A search, a read or a model call that is tried again."""

    attempt_number: int
    query: str = ""
    provider: str = ""
    strategy: str = ""
    url: str = ""
    role: str = ""
    why: str = ""


@dataclass(frozen=True, slots=True)
class ExhaustedData:
    """A sub-question that is given up."""

    question: str
    tag: str
    attempts: int


@dataclass(frozen=True, slots=True)
class FallbackData:
    """Another analyst played a role, and why."""

    role: str
    why: str


@dataclass(frozen=True, slots=True)
class ReportData:
    """A stage of the text: outline, critique, revised or repaired."""

    stage: str
    parts: Sequence[str] = ()
    problems: Sequence[str] = ()
    words: int = 0
    withheld: int = 0
    left: int = 0
    taken: bool = False


@dataclass(frozen=True, slots=True)
class VerifyData:
    """Sentences that were withheld, and the share that is supported."""

    removed: int
    supported: float


@dataclass(frozen=True, slots=True)
class JudgeData:
    """The score of the judge."""

    overall: float
    passed: bool


@dataclass(frozen=True, slots=True)
class LeafFailedData:
    """A part of the plan that failed; the others go on."""

    title: str
    objective: str
    why: str


@dataclass(frozen=True, slots=True)
class WarningData:
    """Something that the reader of the report should know."""

    message: str = ""
    query: str = ""
    provider: str = ""
    failed: str = ""


@dataclass(frozen=True, slots=True)
class CompleteData:
    """The end of a round (`text`, `new_facts`, `sources`) or of the report (the other fields, and `sources`)."""

    sources: int
    text: str = ""
    new_facts: int = 0
    outcome: str = ""
    reason: str = ""
    words: int = 0
    citations: int = 0
    seconds: float = 0.0
    supported: float = 0.0
    seal: Mapping[str, str] | None = None


EVENT_DATA: Mapping[EventType, type] = {
    EventType.RUN_STARTED: RunStartedData,
    EventType.RUN_FINISHED: RunFinishedData,
    EventType.STAGE: StageData,
    EventType.PLAN_PROPOSED: PlanProposedData,
    EventType.PLAN_AUTHORIZED: PlanAuthorizedData,
    EventType.ROUND_STARTED: RoundStartedData,
    EventType.ROUND_FINISHED: RoundFinishedData,
    EventType.THOUGHT: ThoughtData,
    EventType.SEARCH: SearchData,
    EventType.READ: ReadData,
    EventType.FACT: FactData,
    EventType.DRIFT: DriftData,
    EventType.PLATEAU: PlateauData,
    EventType.ESCAPE: EscapeData,
    EventType.CONTRADICTION: ContradictionData,
    EventType.DECISION: DecisionData,
    EventType.RETRY: RetryData,
    EventType.EXHAUSTED: ExhaustedData,
    EventType.FALLBACK: FallbackData,
    EventType.REPORT: ReportData,
    EventType.VERIFY: VerifyData,
    EventType.JUDGE: JudgeData,
    EventType.LEAF_FAILED: LeafFailedData,
    EventType.WARNING: WarningData,
    EventType.COMPLETE: CompleteData,
}


_DIALECT = "https://json-schema.org/draft/2020-12/schema"
VERSIONS = {"report": 1, "events": 1, "plan": 1}


def build_schema(name: str) -> dict[str, Any]:
    """Return the schema `report`, `events` (one line of the log) or `plan`."""
    schema = _BUILDERS[name]()
    head = {"$schema": _DIALECT, "$id": f"urn:corrobora:schema:{name}:{VERSIONS[name]}"}
    return {**head, **{key: value for key, value in schema.items() if key not in head}}


def _build_events() -> dict[str, Any]:
    """Return the schema of one event: the envelope, and by its type what its data carries."""
    kinds = {kind: TypeAdapter(data).json_schema(ref_template="#/$defs/{model}") for kind, data in EVENT_DATA.items()}
    shared: dict[str, Any] = {}
    for schema in kinds.values():
        shared |= schema.pop("$defs", {})
    shared |= {EVENT_DATA[kind].__name__: schema for kind, schema in kinds.items()}
    text = {"type": "string"}
    return {
        "title": "Event",
        "description": "One line of the log of a run; what `data` carries depends on `type`.",
        "type": "object",
        "properties": {
            "seq": {"type": "integer", "minimum": 1, "description": "Without gaps: the cursor of a reader."},
            "ts": {"type": "string", "format": "date-time"},
            "run": text,
            "node": {**text, "description": "The path of the node, thread or round, such as root/1/round/2."},
            "round": {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}]},
            "type": {"enum": [kind.value for kind in EventType]},
            "data": {"type": "object"},
        },
        "required": ["seq", "ts", "run", "node", "round", "type", "data"],
        "allOf": [
            {
                "if": {"properties": {"type": {"const": kind.value}}},
                "then": {"properties": {"data": {"$ref": f"#/$defs/{EVENT_DATA[kind].__name__}"}}},
            }
            for kind in EventType
        ],
        "$defs": dict(sorted(shared.items())),
    }


_BUILDERS: Mapping[str, Callable[[], dict[str, Any]]] = {
    "report": TypeAdapter(Report).json_schema,
    "events": _build_events,
    "plan": TypeAdapter(Plan).json_schema,
}
