"""The plan as lines: whole, safe, bounded."""

from __future__ import annotations

from corrobora.faces.cli.screen import plan_lines


def test_a_plan_is_indented_with_its_questions() -> None:
    leaf = {"title": "Leaf\x1b[31m", "sub_questions": [{"text": "Why?"}], "children": []}
    lines = plan_lines({"plan": {"root": {"title": "All", "children": [leaf]}}})
    assert lines == ["▣ All", "  • Leaf", "    ? Why?"]


def test_a_plan_that_is_none_has_no_lines_and_a_long_one_is_cut() -> None:
    assert plan_lines({"plan": 3}) == []
    many = [{"title": str(number)} for number in range(200)]
    assert plan_lines({"root": {"title": "All", "children": many}})[-1] == "  and 121 more lines"
