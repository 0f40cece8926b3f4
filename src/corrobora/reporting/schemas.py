"""The published schemas: reports, events and plans as JSON Schema 2020-12, made from the typed values of the domain.

Knows how a value becomes a schema, and the version of each schema: it rises where a program that reads the old shape
would fail. An added field is no such change, so readers must let unknown fields pass. Declares what each type of event
carries; tests check every event of real runs against it. Does not check any document.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pydantic import BaseModel, TypeAdapter, create_model

from corrobora.domain.plan import Plan
from corrobora.domain.report import Report
from corrobora.domain.run import EventType

_ATTEMPT_ABOUT = "One attempt at a sub-question in a round."
_ATTEMPT = create_model("AttemptData", __doc__=_ATTEMPT_ABOUT, target=str, attempt_number=int, strategy=str)
# What an event of each type carries: a description, and the fields, each with its type, or type and default value.
_EVENTS: Mapping[EventType, tuple[str, Mapping[str, Any]]] = {
    EventType.RUN_STARTED: (
        "The question, and the profile with every field as it was resolved.",
        {"question": str, "profile": Mapping[str, object]},
    ),
    EventType.RUN_FINISHED: (
        "How the run ended; `code` is that of the error, if one ended it. A refused question comes with narrower ones.",
        {"outcome": str, "reason": str, "code": (str, ""), "narrower": (Sequence[str], ())},
    ),
    EventType.STAGE: ("The stage that begins.", {"stage": str}),
    EventType.PLAN_PROPOSED: (
        "The plan, its depth in levels of executors, what it is estimated to cost, and who gets what of the question.",
        {
            "plan": Plan,
            "depth": int,
            "tier": str,
            "estimate": (Mapping[str, object] | None, None),
            "shared": (Sequence[str], ()),
        },
    ),
    EventType.PLAN_AUTHORIZED: ("Who authorized the plan: policy or human.", {"by": str}),
    EventType.ROUND_STARTED: (
        "What a round starts with; the first one of a thread also states the thread.",
        {
            "phase": str,
            "max_rounds": int,
            "elapsed": (float, 0.0),
            "title": (str, ""),
            "sub_questions": (int, 0),
            "subjects": (int, 0),
        },
    ),
    EventType.ROUND_FINISHED: (
        "What a round gave and what is left; times in seconds of work.",
        {
            "phase": str,
            "new_facts": int,
            "confirming": int,
            "saturation": str,
            "gaps": Sequence[str],
            "stop": str | None,
            "cut": bool,
            "elapsed": float,
            "remaining": float | None,
            "reserve": float,
            "attempts": Sequence[_ATTEMPT],
            "tokens": (int, 0),
            "dollars": (float, 0.0),
            "max_dollars": (float | None, None),
            "standing": (Mapping[str, str] | None, None),
            "micro_report": (str, ""),
        },
    ),
    EventType.THOUGHT: (
        "What a round is about to look for, and why; `targets` are ids of sub-questions.",
        {"text": str, "queries": Sequence[str], "targets": (Sequence[str], ()), "forced": (str, "")},
    ),
    EventType.SEARCH: ("One search that was answered.", {"query": str, "provider": str, "hits": int}),
    EventType.READ: (
        "One document, with its single outcome.",
        {"url": str, "title": str, "outcome": str, "facts": int, "note": str, "source": str | None},
    ),
    EventType.FACT: (
        "A fact; the quote is shortened to 300 characters.",
        {"fact": str, "quote": str, "title": str, "answers": Sequence[str], "source": (str, "")},
    ),
    EventType.DRIFT: (
        "A document that leads away from the subject; `axis` is place, time, domain or subject.",
        {"url": str, "why": str, "axis": (str, "")},
    ),
    EventType.PLATEAU: (
        "A thread that learns little: the level from 1 to 3, and the share of addresses that were known.",
        {"level": int, "url_overlap": float},
    ),
    EventType.ESCAPE: ("The other approach that the next round takes.", {"escape": str}),
    EventType.CONTRADICTION: (
        "Two statements that differ.",
        {"claim": str, "difference": str, "relation": str, "status": (str, "")},
    ),
    EventType.DECISION: (
        "The decision after a round, in the names of the time-budget method; after a gate, `gate` and `delta` alone.",
        {
            "iteration": (int, 0),
            "summary": (str, ""),
            "gaps": (Sequence[str], ()),
            "shouldContinue": (bool, False),
            "nextSearchTopic": (str | None, None),
            "urlToSearch": (str | None, None),
            "timeRemainingMinutes": (float | None, None),
            "gate": (str, ""),
            "delta": (str, ""),
        },
    ),
    EventType.RETRY: (
        "A search, a read or a model call that is tried again.",
        {"attempt_number": int} | dict.fromkeys(("query", "provider", "strategy", "url", "role", "why"), (str, "")),
    ),
    EventType.EXHAUSTED: ("A sub-question that is given up.", {"question": str, "tag": str, "attempts": int}),
    EventType.FALLBACK: ("Another analyst played a role, and why.", {"role": str, "why": str}),
    EventType.REPORT: (
        "A stage of the text: outline, critique, revised or repaired.",
        {
            "stage": str,
            "parts": (Sequence[str], ()),
            "problems": (Sequence[str], ()),
            "words": (int, 0),
            "edits": (int, 0),
            "withheld": (int, 0),
            "left": (int, 0),
            "taken": (bool, False),
            "dropped": (int, 0),
            "lost": (Sequence[str], ()),
        },
    ),
    EventType.VERIFY: (
        "Sentences that were withheld, and the share that is supported.",
        {"removed": int, "supported": float},
    ),
    EventType.JUDGE: ("The score of the judge.", {"overall": float, "passed": bool}),
    EventType.LEAF_FAILED: (
        "A part of the plan that failed; the others go on.",
        {"title": str, "objective": str, "why": str},
    ),
    EventType.WARNING: (
        "Something that the reader of the report should know.",
        dict.fromkeys(("message", "query", "provider", "failed"), (str, "")),
    ),
    EventType.COMPLETE: (
        "The end of a round (`text`, `new_facts`, `sources`) or of the report (the other fields, and `sources`).",
        {
            "sources": int,
            "text": (str, ""),
            "new_facts": (int, 0),
            "outcome": (str, ""),
            "reason": (str, ""),
            "words": (int, 0),
            "citations": (int, 0),
            "seconds": (float, 0.0),
            "supported": (float, 0.0),
            "seal": (Mapping[str, str] | None, None),
        },
    ),
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
    shapes = {kind: _make_shape(kind) for kind in EventType}
    shared: dict[str, Any] = {}
    for shape in shapes.values():
        schema = shape.model_json_schema(ref_template="#/$defs/{model}")
        shared |= schema.pop("$defs", {})
        shared[shape.__name__] = schema
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
                "then": {"properties": {"data": {"$ref": f"#/$defs/{shapes[kind].__name__}"}}},
            }
            for kind in EventType
        ],
        "$defs": dict(sorted(shared.items())),
    }


def _make_shape(kind: EventType) -> type[BaseModel]:
    """Return what an event of this type carries as a class: `leaf.failed` is `LeafFailedData`."""
    said, fields = _EVENTS[kind]
    return create_model(f"{kind.value.title().replace('.', '')}Data", __doc__=said, **fields)


_BUILDERS: Mapping[str, Callable[[], dict[str, Any]]] = {
    "report": TypeAdapter(Report).json_schema,
    "events": _build_events,
    "plan": TypeAdapter(Plan).json_schema,
}
