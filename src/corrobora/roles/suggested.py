"""A suggested plan: a tree of research that a person hands to the planner, read from JSON.

Knows the fields of a node and how little of them a person must write. Does not judge feasibility: the policies do.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, cast

from pydantic import TypeAdapter, ValidationError

from corrobora.domain.errors import UserError
from corrobora.domain.plan import Criteria, Gate, Node, TaskSpec

_NODE = TypeAdapter(Node)
_NODE_FIELDS = frozenset(field.name for field in fields(Node))
_SPEC_FIELDS = frozenset(field.name for field in fields(TaskSpec))
_GATE_FIELDS = frozenset(field.name for field in (*fields(Gate), *fields(Criteria)))
_DEEPEST = 64


def read_suggested(text: str, path: str = "root") -> Node:
    """Read a suggested plan: `{title, objective, queries, specs, children, ...}`, or the `plan.json` of a run.

    A title is enough for a node. Sub-questions and specs may be plain strings. What a spec says is kept as written;
    `verbatim` is what extractors get, and without it the spec's own fields.

    Raises:
        UserError: `plan_shape`; the message names the node and the field.
    """
    try:
        parsed: object = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _make_error("the plan", f"is not JSON ({error})") from None
    whole = _expect_object(parsed, "the plan")
    return _read_node(_expect_object(whole["root"], "root") if "root" in whole else whole, path, 0)


def _read_node(given: Mapping[str, object], path: str, depth: int) -> Node:
    if depth > _DEEPEST:
        raise _make_error(path, "is nested too deeply to be read")
    _check_names(given, _NODE_FIELDS, path)
    title = _read_text(given, "title", path) or _read_text(given, "objective", path)
    if not title:
        raise _make_error(path, "has neither title nor objective")
    children = [
        _read_node(_expect_object(each, f"{path}/{number}"), f"{path}/{number}", depth + 1)
        for number, each in enumerate(_read_list(given, "children", path), 1)
    ]
    plain = {name: value for name, value in given.items() if name != "children"}
    made = plain | {
        "path": path,
        "title": title,
        "objective": _read_text(given, "objective", path) or f"Find evidence for: {title}",
        "sub_questions": [_read_question(each) for each in _read_list(given, "sub_questions", path)],
        "subjects": [{"name": each} if isinstance(each, str) else each for each in _read_list(given, "subjects", path)],
        "specs": [_read_spec(each, path) for each in _read_list(given, "specs", path)],
        "gates": [_read_gate(each, path) for each in _read_list(given, "gates", path)],
    }
    try:
        node = _NODE.validate_python(made)
    except ValidationError as error:
        first = error.errors()[0]
        raise _make_error(path, f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    return replace(node, children=tuple(children))


def _read_question(given: object) -> object:
    if isinstance(given, str):
        return {"id": "", "text": given}
    return {"id": "", **cast("Mapping[str, object]", given)} if isinstance(given, Mapping) else given


def _read_spec(given: object, path: str) -> object:
    """A spec as it goes to extractors: a text stands for itself, byte for byte."""
    if isinstance(given, str):
        return {"questions": [given], "verbatim": given}
    spec = _expect_object(given, f"{path}, a spec")
    _check_names(spec, _SPEC_FIELDS, f"{path}, a spec")
    return spec


def _read_gate(given: object, path: str) -> object:
    """A gate with its criteria beside its name or below `criteria`."""
    gate = _expect_object(given, f"{path}, a gate")
    _check_names(gate, _GATE_FIELDS, f"{path}, a gate")
    names = {field.name for field in fields(Criteria)}
    nested = gate.get("criteria")
    criteria = cast("dict[str, object]", nested) if isinstance(nested, dict) else {}
    flat = {name: value for name, value in gate.items() if name in names}
    own = {name: value for name, value in gate.items() if name not in names and name != "criteria"}
    return {**own, "criteria": {**criteria, **flat}}


def _expect_object(value: object, what: str) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise _make_error(what, "must be an object")
    return cast("Mapping[str, object]", value)


def _read_list(given: Mapping[str, object], name: str, path: str) -> list[object]:
    value: Any = given.get(name) or []
    if not isinstance(value, list):
        raise _make_error(path, f"{name} must be a list")
    return cast("list[object]", value)


def _read_text(given: Mapping[str, object], name: str, path: str) -> str:
    value = given.get(name) or ""
    if not isinstance(value, str):
        raise _make_error(path, f"{name} must be a text")
    return " ".join(value.split())


def _check_names(given: Mapping[str, object], names: frozenset[str], what: str) -> None:
    strange = sorted(set(given) - names)
    if strange:
        raise _make_error(what, f"has the unknown field {strange[0]!r}; known: {', '.join(sorted(names))}")


def _make_error(what: str, why: str) -> UserError:
    return UserError("plan_shape", f"The suggested plan cannot be used: {what} {why}.", next_step="Correct the plan.")
