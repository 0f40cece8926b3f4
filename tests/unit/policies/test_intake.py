"""Suggested plans: how little a person must write, what is kept as written, and what is refused with its place."""

from __future__ import annotations

import json
from typing import Any

import pytest

from corrobora.domain.errors import UserError
from corrobora.domain.plan import Node, Plan
from corrobora.engine.session.journal import encode
from corrobora.policies.intake import read_suggested


def read(**fields: Any) -> Node:
    return read_suggested(json.dumps(fields))


def test_a_title_is_enough():
    node = read(title="Cranes", children=[{"title": "Rules"}, {"objective": "Find accidents"}])
    assert [child.path for child in node.children] == ["root/1", "root/2"]
    assert node.children[0].objective == "Find evidence for: Rules"
    assert node.children[1].title == "Find accidents"


def test_every_field_of_a_node_is_read():
    node = read(
        title="t",
        sub_questions=["How often?", {"id": "sq-9", "text": "How high?"}],
        subjects=["Brenhaven"],
        queries=["q one"],
        sources=["https://example.org"],
        out_of_scope="fish",
        output_format="table",
        discovery=True,
        max_rounds=2,
        gates=[{"name": "g", "corroboration": 2, "criteria": {"themes": ["x"]}, "max_iterations": 3}],
    )
    assert [(q.id, q.text) for q in node.sub_questions] == [("", "How often?"), ("sq-9", "How high?")]
    assert node.subjects[0].name == "Brenhaven"
    assert (node.queries, node.sources) == (("q one",), ("https://example.org",))
    assert (node.out_of_scope, node.output_format, node.discovery, node.max_rounds) == ("fish", "table", True, 2)
    gate = node.gates[0]
    assert (gate.criteria.corroboration, gate.criteria.themes, gate.max_iterations) == (2, ("x",), 3)


def test_a_spec_is_kept_byte_for_byte_and_gets_its_lines_where_it_has_no_text():
    odd = "  a\tb\r\n «c»\u00a0"
    node = read(title="t", specs=[odd, {"questions": ["q"], "verbatim": odd}, {"questions": ["q"], "budget": "2"}])
    assert [spec.text for spec in node.specs] == [odd, odd, "question: q\npriority: 1\nbudget: 2"]


def test_the_plan_of_a_run_can_be_suggested_again():
    plan = Plan(read(title="t", children=[{"title": "a", "specs": ["s"], "gates": []}, {"title": "b"}]))
    assert read_suggested(encode(Plan, plan)) == plan.root


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "JSON"),
        ("[]", "must be an object"),
        ("{}", "neither title nor objective"),
        ('{"title": "a", "children": [{"title": "b"}, {"titel": "c"}]}', "root/2 has the unknown field 'titel'"),
        ('{"title": "a", "children": {}}', None),
        ('{"title": "a", "children": "b"}', "children must be a list"),
        ('{"title": 3}', "title must be a text"),
        ('{"title": "a", "queries": "one"}', "queries"),
        ('{"title": "a", "specs": [{"question": "q"}]}', "unknown field 'question'"),
        ('{"title": "a", "gates": [{"criterion": 1}]}', "unknown field 'criterion'"),
        ('{"title": "a", "max_rounds": "many"}', "max_rounds"),
    ],
)
def test_what_cannot_be_used_is_refused_with_its_place(text: str, said: str | None):
    if said is None:
        assert read_suggested(text).is_leaf, "an empty list in another spelling"
        return
    with pytest.raises(UserError) as refused:
        read_suggested(text)
    assert refused.value.code == "plan_shape"
    assert said in refused.value.message


def test_a_plan_of_any_depth_does_not_break_the_reader():
    text = '{"title": "x", "children": [' * 200 + '{"title": "x"}' + "]}" * 200
    with pytest.raises(UserError):
        read_suggested(text)
