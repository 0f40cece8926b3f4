"""Edits of a stored plan by the fields and buttons of a form."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from corrobora.domain.errors import UserError
from corrobora.faces.web.pages.plan import edit_plan, iter_nodes


def node(path: str, title: str, *children: dict[str, Any], questions: tuple[str, ...] = ()) -> dict[str, Any]:
    asked = [{"id": f"sq-{number}", "text": text, "likely": 0.7} for number, text in enumerate(questions, 1)]
    return {
        "path": path,
        "title": title,
        "objective": f"Find {title}",
        "children": list(children),
        "sub_questions": asked,
        "specs": [],
        "queries": ["planned"],
        "sources": [],
        "subjects": [],
        "angle": "",
    }


PLAN = {
    "root": node(
        "root", "All", node("root/1", "One", questions=("A?", "B?")), node("root/2", "Two", questions=("C?",))
    ),
    "tier": "moderate",
}


def titles(plan: dict[str, Any]) -> list[str]:
    return [each["title"] for each in iter_nodes(plan["root"])]


def test_a_form_without_changes_changes_nothing_and_never_the_stored_plan() -> None:
    before = copy.deepcopy(PLAN)
    fields = {"title:root/1": "One", "objective:root/1": "Find One", "questions:root/1": "A?\r\nB?\r\n"}
    assert edit_plan(PLAN, fields, "save") == before
    edit_plan(PLAN, {"title:root/1": "Other"}, "remove root/2")
    assert before == PLAN


def test_known_questions_keep_what_is_known_of_them_and_planned_searches_of_another_task_go() -> None:
    changed = edit_plan(PLAN, {"questions:root/1": "B?\n  New   one? \n\nB?"}, "save")
    one = changed["root"]["children"][0]
    assert [each["text"] for each in one["sub_questions"]] == ["B?", "New one?"]
    assert one["sub_questions"][0]["likely"] == 0.7
    assert (one["queries"], changed["root"]["children"][1]["queries"]) == ([], ["planned"])


def test_a_leaf_that_gets_a_part_below_keeps_its_task_in_a_child() -> None:
    changed = edit_plan(PLAN, {}, "add root/2")
    two = changed["root"]["children"][1]
    assert [each["title"] for each in two["children"]] == ["Two", "New part"]
    assert (two["sub_questions"], two["children"][0]["sub_questions"][0]["text"]) == ([], "C?")


def test_parts_are_removed_but_never_all_of_them() -> None:
    assert titles(edit_plan(PLAN, {}, "remove root/1")) == ["All", "Two"]
    with pytest.raises(UserError, match="last part"):
        edit_plan(edit_plan(PLAN, {}, "remove root/1"), {}, "remove root/2")
    with pytest.raises(UserError, match="whole plan"):
        edit_plan(PLAN, {}, "remove root")


def test_merging_keeps_every_question() -> None:
    changed = edit_plan(PLAN, {}, "merge root/1 root/2")
    assert titles(changed) == ["All", "One"]
    assert [each["text"] for each in changed["root"]["children"][0]["sub_questions"]] == ["A?", "B?", "C?"]


@pytest.mark.parametrize("action", ["remove root/9", "burn root/1", "merge root/1"])
def test_what_the_plan_does_not_allow_is_refused(action: str) -> None:
    with pytest.raises(UserError) as refused:
        edit_plan(PLAN, {}, action)
    assert refused.value.code == "plan_edit"


def test_a_new_part_asks_what_it_is_called_and_not_every_question_of_the_run() -> None:
    """A part without a question of its own is given all those of the run."""
    added = edit_plan(PLAN, {}, "add root")
    part = added["root"]["children"][-1]
    assert [each["text"] for each in part["sub_questions"]] == ["New part"]
    part |= {"path": "root/3", "queries": []}
    fields = {"title:root/3": "Cost", "questions:root/3": "New part"}
    named = edit_plan(added, fields, "save")["root"]["children"][-1]
    assert (named["title"], [each["text"] for each in named["sub_questions"]]) == ("Cost", ["Cost"])
    own = edit_plan(added, fields | {"questions:root/3": "What does it cost?"}, "save")["root"]["children"][-1]
    assert [each["text"] for each in own["sub_questions"]] == ["What does it cost?"]
