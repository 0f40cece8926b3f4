"""Properties of all prompts of whole runs: no passage twice for a task, and no role whose refusal breaks a run."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from bench.model_server.scripted_model import ParsedPrompt, answer_prompt
from tests.integration.harness import THREAD as MILL
from tests.integration.test_answer_shapes import break_lines, talk, wrap, write_markdown
from tests.profiles.research import QUESTION
from tests.wire.methods import WireRun, run_over_wire

from corrobora.domain.run import EventType, Request

PROFILES = ("timed", "rounds", "angles", "tree", "triplet", "full")
REFUSAL = "I'm sorry, but I cannot help with that."


def never_content(page: ParsedPrompt) -> Mapping[str, Any]:
    gap = f"brakes, ropes and load {len(page.past_queries())}"
    said = {"summary": "s", "reasoning": "r", "answered": [], "gaps": [{"text": gap}]}
    return {**said, "done": False, "next_topic": gap}


def list_options(profile: str) -> dict[str, Any]:
    asked = MILL.replace("sluice gates of Orrin mill be greased", "harbour cranes of Brenhaven be inspected")
    return {"request": Request(QUESTION, profile, thread_file=asked)} if profile == "triplet" else {}


def list_readings(done: WireRun) -> Counter[tuple[str, str]]:
    """Count how often each passage was sent for each task: what stands before the rubric or the source."""
    tasks = [
        (re.split(r"Rubric:|^The source", user, maxsplit=1, flags=re.MULTILINE)[0], user)
        for user in done.prompts("extract")
    ]
    return Counter((task, each) for task, user in tasks for each in re.findall(r"^Passage (C\d+)", user, re.MULTILINE))


@pytest.mark.parametrize("profile", PROFILES)
async def test_no_passage_is_sent_twice_for_one_task_and_each_fact_stands_where_it_was_shown(profile: str):
    done = await run_over_wire(profile, {"reflect": never_content}, **list_options(profile))
    sent = list_readings(done)
    assert sent
    assert max(sent.values()) == 1, [each for each, times in sent.items() if times > 1]
    shown = {passage for _, passage in sent}
    facts = done.report.findings.facts
    assert facts
    assert {str(fact.passage) for fact in facts} <= shown


ROLES = ("clarify", "plan", "scope", "extract", "reflect", "summarize", "synthesize", "critique")


@pytest.mark.parametrize("said", [REFUSAL, "{", "<html>502</html>"], ids=["refusal", "broken", "page"])
@pytest.mark.parametrize("role", ROLES)
async def test_a_role_that_is_never_answered_falls_back_for_its_own_calls_and_is_told(role: str, said: str):
    profile = "rounds" if role == "scope" else "angles"
    done = await run_over_wire(profile, {role: said})
    told = [str(event.data["role"]) for event in done.run.journal.events if event.type is EventType.FALLBACK]
    assert set(told) == {"synthesize" if role == "summarize" else role}
    assert done.report.citations
    assert said not in done.report.markdown
    assert "scripted" in done.report.methodology.analyst
    assert "extractive" in done.report.methodology.analyst


def drop_prose(_role: str, text: str) -> str:
    """Leave out what a model says of its own answer."""
    return json.dumps({k: v for k, v in json.loads(text).items() if k not in ("reasoning", "summary", "rationale")})


def spoil_extras(role: str, text: str) -> str:
    """Fill in wrongly what a form does not demand."""
    extras = {
        "extract": {"follow_ups": [{"text": "C1: what else?"}, {}], "terms": ["gate", 3], "gaps": "none"},
        "reflect": {"contradictions": [{"a": "F1", "severity": "awful"}], "terms": "gate", "next": []},
        "clarify": {"reasons": 3, "narrower": [{"question": "which?"}]},
    }
    return json.dumps(json.loads(text) | extras.get(role, {}))


def change_values(value: Any, change: Callable[[Any], Any]) -> Any:
    """Change what stands in an answer, from within: members of objects, then items of lists."""
    if isinstance(value, dict):
        return change({key: change_values(each, change) for key, each in value.items()})
    return change([change_values(each, change) for each in value] if isinstance(value, list) else value)


def quote_values(_role: str, text: str) -> str:
    """Write numbers as percentages in quotes, and truths in words."""

    def change(each: Any) -> Any:
        if isinstance(each, bool):
            return "yes" if each else "no"
        return f"{each * 100:.0f} %" if isinstance(each, float) else each

    return json.dumps(change_values(json.loads(text), change))


def spare_lists(_role: str, text: str) -> str:
    """Write no list of one item, and no object of one text that its form demands."""

    def change(each: Any) -> Any:
        if isinstance(each, dict) and each.keys() == {"text"}:
            return each["text"]
        return each[0] if isinstance(each, list) and len(each) == 1 else each

    return json.dumps(change_values(json.loads(text), change))


def add_nulls(_role: str, text: str) -> str:
    """Let each list begin with nothing."""
    return json.dumps(change_values(json.loads(text), lambda each: [None, *each] if isinstance(each, list) else each))


def leave_open(_role: str, text: str) -> str:
    """Say neither how sure it is nor whether to go on."""
    open_fields = {"confidence": None, "done": None}

    def change(each: Any) -> Any:
        return each | {key: open_fields[key] for key in open_fields.keys() & each} if isinstance(each, dict) else each

    return json.dumps(change_values(json.loads(text), change))


def wrap_twice(role: str, text: str) -> str:
    return json.dumps({"role": role, "type": "object", "properties": {"answer": text}})


def write_as_text(_role: str, text: str) -> str:
    return json.dumps(text)


SHAPES = (wrap, break_lines, talk, write_markdown, drop_prose, spoil_extras)
ODD_SHAPES = (quote_values, spare_lists, add_nulls, leave_open, wrap_twice, write_as_text)


@pytest.mark.parametrize("shape", [*SHAPES, *ODD_SHAPES])
async def test_every_role_of_angles_is_read_in_an_odd_shape_without_a_repair(shape: Callable[[str, str], str]):
    """Among them those that only a reviewed run has: summarize, critique, revise, judge."""

    def answer(page: ParsedPrompt) -> str:
        said = json.loads(answer_prompt(f"# Role: {page.role}\n", page.text))
        if page.role == "critique":
            said["problems"] = ["The opening repeats a section."]
        return shape(page.role, json.dumps(said, ensure_ascii=False))

    roles = (*ROLES, "revise", "judge")
    done = await run_over_wire("angles", dict.fromkeys(roles, answer))
    assert all(done.prompts(role) for role in roles if role != "scope")
    assert not [each for each in done.asked if each.turns]
    assert not [event for event in done.run.journal.events if event.type is EventType.FALLBACK]
    assert done.report.citations
