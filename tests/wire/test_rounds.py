"""Three rounds over the wire: a report that cannot be as long as its method wants says so and is not padded."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from bench.model_server.scripted_model import ParsedPrompt
from tests.profiles.research import make_run
from tests.wire.methods import WireRun, run_over_wire

from corrobora.domain.plan import Plan

GAP = "who paid for the lantern of the north pier"


async def test_rounds_30_a_report_that_misses_its_length_says_so():
    done = await run_over_wire("rounds")
    [note] = [each for each in done.report.methodology.notes if "2000 or more were wanted" in each]
    assert f"cites {done.report.methodology.sources_cited} of" in note
    assert note in done.report.markdown


async def test_rounds_30_a_method_without_a_length_has_no_such_note():
    done = await run_over_wire("timed")
    assert not [each for each in done.report.methodology.notes if "were wanted" in each]


def find_gap(_page: ParsedPrompt) -> Mapping[str, Any]:
    said = {"summary": "s", "reasoning": "r", "answered": [], "done": False}
    return {**said, "gaps": [{"text": GAP, "target": "sq-1"}]}


def ask_the_same(page: ParsedPrompt) -> Mapping[str, Any]:
    """The same queries in every round, as many as the phase asks for."""
    wanted = re.search(r"(\d+) to (\d+) queries", page.text)
    texts = ["cranes inspected", "load of class B", "harbour dug", "fish market"][
        : int(wanted.group(1)) if wanted else 3
    ]
    return {"reasoning": "r", "goal": "g", "queries": [{"text": text} for text in texts]}


def list_queries(done: WireRun, number: int) -> list[str]:
    return [query.text for query in done.report.findings.rounds[number - 1].intent.queries]


async def test_rounds_7_the_gaps_of_a_round_reach_whoever_plans_the_next_one():
    one, two, _ = (await run_over_wire("rounds", {"reflect": find_gap})).prompts("scope")
    assert GAP not in one
    assert GAP in two


async def test_rounds_9_what_a_gap_asks_for_is_searched_for_in_the_next_round():
    done = await run_over_wire("rounds", {"reflect": find_gap, "scope": ask_the_same})
    assert not [text for text in list_queries(done, 1) if "lantern" in text]
    assert GAP in list_queries(done, 2)


async def test_rounds_25_a_hint_is_a_query_of_the_next_round_and_of_no_later_one_whatever_the_model_asks():
    class Steering:
        async def authorize(self, plan: Plan) -> bool:
            return bool(plan.root.path)

        async def between_rounds(self, path: str, number: int) -> str:
            return "colour of the doors" if path and number == 1 else ""

    options = {"human": Steering(), "pause_between_rounds": True}
    done = await run_over_wire("rounds", {"scope": ask_the_same}, **options)
    told = [any("colour of the doors" in text for text in list_queries(done, number)) for number in (1, 2, 3)]
    assert told == [False, True, False]


async def test_rounds_17_without_a_model_a_goal_is_searched_by_its_topic_and_not_by_its_verb():
    goal = "Analyze the harbour cranes of Brenhaven, and what load may a crane of class B lift?"
    run = await make_run("rounds", question=goal)
    found = (await run.research()).findings
    asked = [query.text for each in found.rounds for query in each.intent.queries]
    worded = [text for text in asked if text not in (goal, *(question.text for question in found.sub_questions))]
    assert len(worded) > 3
    assert not [text for text in worded if "analyze" in text.lower()]
