"""The published schemas: reports, events and plans as JSON Schema 2020-12, made from the typed values of the domain.

Knows how a value becomes a schema, and the version of each schema: it rises where a program that reads the old shape
would fail. An added field is no such change, so readers must let unknown fields pass. Does not check any document.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pydantic import TypeAdapter

from corrobora.domain.event_data import EVENT_DATA
from corrobora.domain.plan import Plan
from corrobora.domain.report import Report
from corrobora.domain.run import EventType

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
VERSIONS = {"report": 1, "events": 1, "plan": 1}


def build_schema(name: str) -> dict[str, Any]:
    """Return the schema `report`, `events` (one line of the log) or `plan`."""
    schema = _BUILDERS[name]()
    head = {"$schema": _DIALECT, "$id": f"urn:corrobora:schema:{name}:{VERSIONS[name]}"}
    return {**head, **{key: value for key, value in schema.items() if key not in head}}


def _build_report() -> dict[str, Any]:
    return TypeAdapter(Report).json_schema()


def _build_plan() -> dict[str, Any]:
    return TypeAdapter(Plan).json_schema()


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
    "report": _build_report,
    "events": _build_events,
    "plan": _build_plan,
}
