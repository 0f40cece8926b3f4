"""Requirements of the methods over the wire that no other whole run shows: a scripted model that obeys the forms."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest
from bench.model_server.scripted_model import ParsedPrompt
from tests.profiles.research import DOCUMENTS, QUESTION
from tests.wire.methods import WireRun, run_over_wire

from corrobora.app.models import ModelPool
from corrobora.config import load_settings
from corrobora.domain.errors import Infeasible
from corrobora.domain.evidence import ReadOutcome
from corrobora.roles.plan import plan

INSPECTED = "How often must the harbour cranes of Brenhaven be inspected?"
LOAD = "What load may a crane of class B lift?"
ANGLES = ("limitations-risks", "background")


def make_task(key: str, text: str = "", parent: str = "", /, **fields: Any) -> dict[str, Any]:
    asked = [text] if text else []
    task = {"key": key, "title": text or key, "objective": text or key, "queries": asked, "sub_questions": asked}
    return {**task, "parent": parent, **fields}


def make_plan(*tasks: Mapping[str, Any]) -> dict[str, Any]:
    return {"tier": "moderate", "tasks": [*tasks]}


def make_angle(slug: str) -> dict[str, Any]:
    words = slug.replace("-", " ")
    return make_task(
        slug,
        angle=slug,
        title=f"{words} title",
        objective=f"Find the {words} of cranes.",
        queries=[f"harbour cranes {words}", f"crane of class B {words}"],
        out_of_scope=f"everything but {words}",
        output_format=f"a list of {words}",
        max_rounds=2,
    )


def ask_harbour(page: ParsedPrompt) -> Mapping[str, Any]:
    number = len(page.past_queries())
    return {"reasoning": "r", "goal": "g", "queries": [{"text": f"harbour cranes inspected {number}"}]}


async def test_tree_12_a_plan_with_a_leaf_that_asks_nothing_is_refused():
    """A task without objective, question and query is left out by the form; one of white space is refused by code."""
    empty = make_task("empty", title=" ", objective=" ", queries=[" "])
    with pytest.raises(Infeasible) as refused:
        await run_over_wire("tree", {"plan": make_plan(make_task("inspected", INSPECTED), empty)})
    assert refused.value.code == "empty_task"


async def test_tree_14_a_plan_that_is_too_deep_is_repaired_once_and_then_made_without_a_model():
    names = ["one", "two", "three", "four"]
    deep = [make_task(name, INSPECTED if name == "four" else "", (["", *names])[at]) for at, name in enumerate(names)]
    done = await run_over_wire("tree", {"plan": make_plan(*deep, make_task("load", LOAD))})
    [repair] = [each for each in done.asked if each.turns]
    assert "levels" in repair.user
    assert any("extractive analyst" in note for note in done.report.methodology.notes)
    assert done.report.markdown


async def test_tree_28_a_reading_has_facts_a_summary_and_answers():
    done = await run_over_wire("tree", {"plan": make_plan(make_task("inspected", INSPECTED), make_task("load", LOAD))})
    rounds = [each for found in done.report.findings.children for each in found.rounds]
    read = [each for done_round in rounds for each in done_round.readings if each.facts]
    assert read
    assert all(each.summary for each in read)
    assert any(fact.answers for each in read for fact in each.facts)
    assert all(fact.quote in DOCUMENTS[fact.url] for each in read for fact in each.facts)


def list_search_prompts(done: WireRun, title: str) -> list[str]:
    """The prompts that word the queries of a sub-agent: of its scopes, and of its reflections but the last one."""
    words = [*done.prompts("scope"), *(each for each in done.prompts("reflect") if "The next round, phase" in each)]
    return [prompt for prompt in words if f"Find the {title} of cranes." in prompt]


async def test_angles_6_every_field_of_a_task_of_the_lead_reaches_its_sub_agent():
    done = await run_over_wire("angles", {"plan": make_plan(*map(make_angle, ANGLES))})
    for slug in ANGLES:
        words = slug.replace("-", " ")
        task = done.json(f"subagents/{slug}.json")["task"]
        assert task == {
            "objective": f"Find the {words} of cranes.",
            "output_format": f"a list of {words}",
            "search_guidance": {
                "initial_query": f"harbour cranes {words}",
                "narrowing": [f"crane of class B {words}"],
            },
            "out_of_scope": f"everything but {words}",
            "max_search_rounds": 2,
        }
        prompts = list_search_prompts(done, words)
        rounds = done.json(f"subagents/{slug}.json")["search_trajectory"]
        assert len(prompts) == len(rounds) - 1, "the broad query is the task's own"
        assert rounds[0]["queries"] == [f"harbour cranes {words}"]
        assert all(f"everything but {words}" in prompt and f"harbour cranes {words}" in prompt for prompt in prompts)
        assert any(f"a list of {words}" in prompt for prompt in done.prompts("reflect"))


async def test_angles_20_each_sub_agent_searches_with_its_own_task_and_nobody_elses():
    done = await run_over_wire("angles", {"plan": make_plan(*map(make_angle, ANGLES))})
    for slug, other in (ANGLES, reversed(ANGLES)):
        mine, theirs = slug.replace("-", " "), other.replace("-", " ")
        for prompt in list_search_prompts(done, mine):
            assert f"everything but {mine}" in prompt
            assert f"of cranes {theirs}" not in prompt
            assert f"everything but {theirs}" not in prompt
            assert f"harbour cranes {theirs}" not in prompt


def test_angles_10_extended_thinking_is_asked_for_with_the_lead_model():
    settings = load_settings(env={"ANTHROPIC_API_KEY": "k"})
    wishes = {"lead": "anthropic:big", "worker": "anthropic:small"}
    models = ModelPool(settings)
    plain, thinking = (models.get_analyst(wishes, thinking=each) for each in (False, True))
    assert plain is not None
    assert thinking is not None
    targets: list[Any] = [each._choose_model(plan) for each in (plain, thinking)]
    assert [each.target.thinking for each in targets] == [False, True]


async def test_angles_28_the_synthesis_has_a_prompt_of_its_own_with_topic_summaries_and_each_fact_once():
    done = await run_over_wire("angles", {"plan": make_plan(*map(make_angle, ANGLES))})
    [prompt] = [each for each in done.prompts("synthesize") if "Layout: angles" in each]
    assert QUESTION in prompt
    summaries = re.findall(r"^Its own summary:\n<data-\w+>(.*?)</data", prompt, re.MULTILINE | re.DOTALL)
    assert len(summaries) == len(ANGLES)
    for slug in ANGLES:
        own = done.json(f"subagents/{slug}.json")["summary"].strip()[:60]
        assert any(own in each for each in summaries)
    facts = re.findall(r"^(F\w+) \[S\d+:C\d+\]", prompt, re.MULTILINE)
    assert facts
    assert max(Counter(facts).values()) == 1


async def test_timed_13_gaps_status_and_report_tell_the_same():
    """A model that calls everything answered, and one that calls nothing so, over the same documents."""
    for answered in (["sq-1", "sq-2"], []):
        gaps = [] if answered else [{"text": "all of it", "target": "sq-1"}]
        said = {"summary": "s", "reasoning": "r", "answered": answered, "gaps": gaps, "done": bool(answered)}
        asked = [INSPECTED, "Who painted the harbour cranes of Brenhaven?"]
        scope = {"feasible": True, "complexity": "simple", "queries": [{"question": QUESTION, "sub_questions": asked}]}
        answers = {"clarify": scope, "reflect": {**said}}
        done = await run_over_wire("timed", answers)
        state = done.json("phase_state.json")["research"]
        status = {name: row["status"] for name, row in state["retry_tracking"]["subquestions"].items()}
        listed = state["gap_analysis"]["loop_decision"]["gaps"]
        standings = {each.id: str(each.standing) for each in done.report.findings.sub_questions}
        assert {name for name, each in status.items() if each == "complete"} == {
            name for name, each in standings.items() if each == "ANSWERED"
        }
        assert status["sq-2"] != "complete"
        assert listed, "what is not answered is a gap, whatever the model says"
        assert {gap.target for gap in done.report.findings.gaps} >= {
            name for name, each in standings.items() if each != "ANSWERED"
        }


async def test_rounds_6_8_10_each_round_is_told_what_it_asks_for():
    gap = {"text": "who inspects the cranes", "target": ""}
    said = {"summary": "s", "reasoning": "r", "answered": [], "gaps": [gap], "done": False}
    done = await run_over_wire("rounds", {"reflect": said})
    one, two, three = done.prompts("scope")
    for words in (
        "overview and definition",
        "current state and recent developments",
        "key stakeholders or organizations",
    ):
        assert words in one
    for words in (
        "gaps of the first round",
        "missing details",
        "quantitative data",
        "technical or operational specifics",
    ):
        assert words in two
    for words in ("cross-verify key findings", "critical remaining gaps", "comprehensive coverage"):
        assert words in three
    assert "who inspects the cranes" in two


async def test_rounds_14_at_most_eight_results_of_a_query_are_used():
    many = {f"crane-{n}.md": f"# Crane {n}\n\nThe harbour crane {n} of Brenhaven was inspected." for n in range(30)}
    done = await run_over_wire("rounds", {"scope": ask_many}, documents=many)
    found = Counter(hit.query for each in done.report.findings.rounds for hit in each.hits)
    assert found
    assert max(found.values()) == 8


def ask_many(page: ParsedPrompt) -> Mapping[str, Any]:
    at = page.text.partition("Round ")[2][:1]
    texts = [f"harbour crane inspected {word} {at}" for word in ("brakes", "ropes", "hooks", "rails")]
    least = re.search(r"(\d+) to (\d+) queries", page.text)
    most = int(least.group(2)) if least else 3
    return {"reasoning": "r", "goal": "g", "queries": [{"text": text} for text in texts[:most]]}


async def test_rounds_31_the_writer_is_given_the_facts_of_every_round():
    done = await run_over_wire("rounds")
    [prompt] = [each for each in done.prompts("synthesize") if "Layout: words" in each]
    read = [r for each in done.report.findings.rounds for r in each.readings if r.outcome is ReadOutcome.READ]
    facts = {fact.id for each in read for fact in each.facts}
    assert len(facts) > 3
    assert all(fact in prompt for fact in facts)
