"""Forms: schemas as the two strict decoders want them, and in words."""

from __future__ import annotations

import json
from typing import Any

import pytest

from corrobora.analysts.language_model import Correction, OutputForm, Prompt
from corrobora.analysts.language_model.analyst import _make_form
from corrobora.testing.conformance import SAMPLES


def objects(schema: Any) -> list[dict[str, Any]]:
    """Return every object schema within a schema."""
    found: list[dict[str, Any]] = []
    if isinstance(schema, dict):
        found += [schema] if schema.get("type") == "object" else []
        found += [each for value in schema.values() for each in objects(value)]
    elif isinstance(schema, list):
        found += [each for value in schema for each in objects(value)]
    return found


KEYWORDS = frozenset(
    "type properties required items enum anyOf description additionalProperties minimum maximum $ref $defs".split()
)


def keywords(schema: Any) -> set[str]:
    """Return the words of JSON Schema that a schema uses; the names of its fields are none."""
    if isinstance(schema, list):
        return {word for each in schema for word in keywords(each)}
    if not isinstance(schema, dict):
        return set()
    named = [below for word in ("properties", "$defs") for below in schema.get(word, {}).values()]
    others = [below for word, below in schema.items() if word not in ("properties", "$defs")]
    return {*schema, *keywords(named), *keywords(others)}


@pytest.mark.parametrize(("role", "given"), SAMPLES, ids=[role.prompt for role, _ in SAMPLES])
def test_every_form_fits_the_rules_of_strict_decoding(role: Any, given: Any):
    form = _make_form(role).form
    strict = json.dumps(form.strict_schema)
    assert objects(form.strict_schema)
    for each in objects(form.strict_schema):
        assert each["additionalProperties"] is False
        assert each["required"] == list(each["properties"])
    for each in objects(form.closed_schema):
        assert each["additionalProperties"] is False
    assert not any(f'"{word}":' in strict for word in ("minLength", "default"))
    assert '"minimum":' not in json.dumps(form.closed_schema)
    assert keywords(form.narrow(lambda fields: ("F1",)).strict_schema) <= KEYWORDS, (
        "a decoder refuses what it does not know"
    )


@pytest.mark.parametrize("chosen", [("F1", "F2"), ()])
@pytest.mark.parametrize(("role", "given"), SAMPLES, ids=[role.prompt for role, _ in SAMPLES])
def test_the_form_of_one_call_is_strict_as_if_it_were_written_for_it(role: Any, given: Any, chosen: tuple[str, ...]):
    narrow = _make_form(role).form.narrow(lambda fields: chosen)
    alone = OutputForm(narrow.name, narrow.description, narrow.schema)
    assert narrow.strict_schema == alone.strict_schema
    assert narrow.closed_schema == alone.closed_schema
    assert json.dumps(narrow.strict_schema).count('"F2"') == json.dumps(narrow.schema).count('"F2"')


def test_what_a_decoder_does_not_know_moves_into_the_description_and_references_stand_alone():
    schema = {
        "type": "object",
        "properties": {
            "title": {"type": "string", "minLength": 1, "description": "A name."},
            "size": {"type": "integer", "minimum": 1, "title": "Size", "default": 3},
            "part": {"$ref": "#/$defs/Part", "description": "One."},
        },
        "required": ["title"],
        "$defs": {"Part": {"type": "object", "properties": {}}},
    }
    strict = OutputForm("f", "d", schema).strict_schema
    assert strict["properties"]["title"] == {"type": "string", "description": "A name. (minLength=1)"}
    assert strict["properties"]["size"] == {"type": "integer", "minimum": 1}
    assert strict["properties"]["part"] == {"description": "One.", "anyOf": [{"$ref": "#/$defs/Part"}]}
    assert strict["required"] == ["title", "size", "part"]
    closed = OutputForm("f", "d", schema).closed_schema
    assert closed["properties"]["size"] == {"type": "integer", "description": "(minimum=1)"}
    assert closed["required"] == ["title"]


def test_the_words_hold_the_schema_and_a_correction_says_what_is_wrong():
    assert '{"type":"object"}' in OutputForm("f", "d", {"type": "object"}).instructions
    assert "too short" in Correction("x", "It is too short.").order
    assert Prompt("s", ("b",), "").user == "b"
