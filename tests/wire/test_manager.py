"""The manager over the wire: narrowing and splitting are shown, a suggested plan reaches the planner."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.profiles.research import QUESTION
from tests.wire.methods import run_over_wire

INSPECTED = "How often must the harbour cranes of Brenhaven be inspected?"
DUG = "When was the harbour of Brenhaven dug?"


def make_scope(*questions: str, **fields: Any) -> dict[str, Any]:
    queries = [{"question": text, "sub_questions": [text], **fields} for text in questions]
    return {"feasible": True, "complexity": "simple", "queries": queries}


@pytest.mark.parametrize("questions", [(INSPECTED,), (INSPECTED, DUG)])
async def test_tree_2_the_report_shows_the_question_as_asked_and_as_researched(questions: tuple[str, ...]):
    done = await run_over_wire("tree", {"clarify": make_scope(*questions)})
    assert f"*Asked: {QUESTION}*" in done.report.markdown
    assert f"*Researched: {'; '.join(questions)}*" in done.report.markdown
    assert (done.report.asked, done.report.researched) == (QUESTION, questions)


async def test_tree_4_a_question_that_was_left_alone_is_told_once():
    done = await run_over_wire("timed", {"clarify": make_scope(QUESTION)})
    assert "*Asked:" not in done.report.markdown
    assert done.report.question == QUESTION


async def test_tree_11_a_manager_may_suggest_a_plan_to_the_planner():
    topics = [
        {"key": "cranes", "title": "Cranes", "sub_questions": []},
        {"key": "checks", "title": "Their inspection", "parent": "cranes", "sub_questions": [INSPECTED]},
        {"key": "age", "title": "The harbour's age", "sub_questions": [DUG]},
    ]
    done = await run_over_wire("tree", {"clarify": make_scope(QUESTION, plan=topics)})
    [prompt] = done.prompts("plan")
    told = prompt[prompt.index("A suggested plan:") :]
    tree = json.loads(told[told.index("{") : told.rindex("}") + 1])
    assert [child["title"] for child in tree["children"]] == ["Cranes", "The harbour's age"]
    assert tree["children"][0]["children"][0]["sub_questions"] == [INSPECTED]


@pytest.mark.parametrize(
    "parents", [{"b": "a", "c": "b", "d": "c"}, {"b": "nobody"}, {"a": "b", "b": "a"}], ids=["deep", "lost", "circle"]
)
async def test_tree_11_a_suggestion_that_is_not_feasible_is_refused(parents: dict[str, str]):
    topics = [{"key": key, "title": key, "parent": parents.get(key, "")} for key in "abcd"]
    given = iter([make_scope(QUESTION, plan=topics), make_scope(QUESTION)])
    done = await run_over_wire("tree", {"clarify": lambda _: next(given)})
    [repair] = [each for each in done.asked if each.turns]
    assert "`plan`" in repair.user
    assert "A suggested plan:" not in done.prompts("plan")[0]
