"""Published schemas: what real runs wrote fits them, with no field more, and a change of a type is noticed."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from tests.plugins.shell import QUESTION, Shell

from corrobora.domain.run import EventType, LoopDecision
from corrobora.reporting.schemas import VERSIONS, build_schema

ROOT = Path(__file__).resolve().parents[3]


def close_objects(schema: Any) -> Any:
    """Return a schema in which an object may have no other field than those that are named."""
    if isinstance(schema, dict):
        closed = {key: close_objects(value) for key, value in schema.items()}
        return {**closed, "additionalProperties": False} if "properties" in schema and "type" in schema else closed
    return [close_objects(each) for each in schema] if isinstance(schema, list) else schema


@cache
def closed_validator(name: str) -> Draft202012Validator:
    return Draft202012Validator(close_objects(build_schema(name)))


def find_faults(name: str, value: Any) -> list[str]:
    return [f"{error.json_path}: {error.message[:200]}" for error in closed_validator(name).iter_errors(value)]


@pytest.mark.parametrize("name", VERSIONS)
def test_schema_is_printed_valid_versioned_and_stored(shell: Shell, name: str) -> None:
    printed = json.loads(shell("schema", name).out)
    Draft202012Validator.check_schema(printed)
    assert printed["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert printed["$id"] == f"urn:corrobora:schema:{name}:{VERSIONS[name]}"
    page = (ROOT / "docs" / "reference" / "schemas.md").read_text(encoding="utf-8")
    stored = [json.loads(part.partition("```")[0]) for part in page.split("```json\n")[1:]]
    assert printed in stored  # `docs/generate.py --check` fails as well
    assert not shell.home.exists()


@pytest.mark.parametrize("profile", ["timed", "rounds", "angles", "tree", "triplet", "full"])
def test_every_event_report_and_plan_of_a_real_run_fits_the_schemas(filled: Shell, profile: str) -> None:
    words = ["-l", "docs", "-p", profile, "--yes", "--display", "jsonl", "--artifacts", "files", "-o", "out"]
    lines = [json.loads(line) for line in filled(QUESTION, *words).out.splitlines()]
    events = [line for line in lines if "seq" in line]
    assert {"run.started", "plan.proposed", "fact", "round.finished", "run.finished"} <= {e["type"] for e in events}
    for event in events:
        assert find_faults("events", event) == []
    assert find_faults("report", json.loads((filled.folder / "out" / "report.json").read_text())) == []
    assert find_faults("plan", json.loads((filled.folder / "files" / "plan.json").read_text())) == []


def test_what_does_not_fit_is_refused() -> None:
    good = {"seq": 1, "ts": "2026-01-01T00:00:00+00:00", "run": "r", "node": "root", "round": None, "type": "stage"}
    assert find_faults("events", {**good, "data": {"stage": "plan"}}) == []
    for data in ({}, {"stage": 3}, {"stage": "plan", "more": 1}):
        assert find_faults("events", {**good, "data": data})
    assert find_faults("events", {**good, "type": "coffee", "data": {}})
    assert find_faults("events", {**good, "seq": 0, "data": {"stage": "plan"}})
    assert find_faults("plan", {"root": {"path": "root"}})
    assert find_faults("report", {"title": "x"})


def test_every_type_of_event_has_a_shape() -> None:
    schema = build_schema("events")
    assert len(schema["allOf"]) == len(EventType)
    assert set(LoopDecision.__annotations__) <= set(schema["$defs"]["DecisionData"]["properties"])
    assert schema["properties"]["type"]["enum"] == [kind.value for kind in EventType]
