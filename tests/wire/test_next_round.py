"""A reflection words the round after it: no model is asked to scope it again, and code keeps its rules."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import pytest
from bench.model_server.scripted_model import ParsedPrompt, answer_prompt
from tests.wire.methods import WireRun, run_over_wire

from corrobora.domain.run import EventType

QUESTION = "How often must the harbour cranes of Brenhaven be inspected, and what load may they lift?"


def reflect(*queries: str) -> Any:
    """A reflection that is never content and asks these queries next."""

    def answer(_page: ParsedPrompt) -> Mapping[str, Any]:
        return {
            "summary": "s", "reasoning": "why", "answered": [], "gaps": [{"text": "more of it"}],
            "done": False,
            "next": {"goal": "the record", "queries": [{"text": each} for each in queries], "targets": ["sq-1", "x"]},
        }  # fmt: skip

    return answer


def list_queries(done: WireRun, number: int) -> list[str]:
    events = (event for event in done.run.journal.events if event.type is EventType.SEARCH)
    return [str(event.data["query"]) for event in events if event.round == number]


async def test_the_queries_of_a_reflection_are_searched_and_nobody_scopes_the_round_again():
    answers = {"reflect": reflect("crane inspection record years", "herring of the market")}
    done = await run_over_wire("timed", answers, question=QUESTION, stop=("max_rounds",), max_rounds=2, escapes=False)
    assert not done.prompts("scope"), "the planner has worded the first round"
    assert list_queries(done, 2)[:2] == ["crane inspection record years", "herring of the market"]
    [thought] = [
        event.data
        for event in done.run.journal.events
        if event.type is EventType.THOUGHT and event.round == 2 and event.data["queries"]
    ]
    assert thought["text"] == "why"
    assert thought["targets"] == ("sq-1",), "an id that was not shown is no target"


async def test_a_reflection_is_told_what_the_next_round_allows_and_after_the_last_that_none_follows():
    done = await run_over_wire(
        "timed", {"reflect": reflect("a")}, question=QUESTION, stop=("max_rounds",), max_rounds=2
    )
    first, last = done.prompts("reflect")
    assert "The next round, phase research" in first
    assert "1 to 3 queries." in first
    assert "No round follows" in last
    assert "The next round" not in last


async def test_a_reflection_is_shown_those_queries_of_the_planner_that_were_not_asked_yet():
    asked, other = "how often harbour cranes of Brenhaven are inspected", "wages of the crane drivers"

    def plan(_page: ParsedPrompt) -> Mapping[str, Any]:
        whole = {"title": "Cranes", "objective": QUESTION, "sub_questions": [QUESTION], "queries": [asked, other]}
        return {"tier": "simple", "tasks": [{"key": "cranes", **whole}]}

    said = {"reasoning": "r", "goal": "g", "queries": [{"text": asked}]}
    done = await run_over_wire(
        "rounds", {"plan": plan, "scope": said, "reflect": reflect("crane inspection record years")}, question=QUESTION
    )
    first = done.prompts("reflect")[0]
    shown = ParsedPrompt.read("", first).lines("Queries that the planner suggests")
    assert shown == [other]


async def test_the_next_topic_of_a_reflection_takes_none_of_its_queries_away():
    wanted = ("crane inspection record years", "herring of the market", "wages of crane drivers")

    def answer(page: ParsedPrompt) -> Mapping[str, Any]:
        return {**reflect(*wanted)(page), "next_topic": "ropes of the old ferry"}

    done = await run_over_wire(
        "timed", {"reflect": answer}, question=QUESTION, stop=("max_rounds",), max_rounds=2, escapes=False
    )
    assert list_queries(done, 2)[:3] == list(wanted)
    assert not any("ferry" in each for each in list_queries(done, 2))


async def test_facts_that_disagree_need_no_further_words_and_cost_no_second_answer():
    pair = {"a": "F1", "b": "F2", "relation": "qualifies", "difference": "8 -> 12", "severity": "low"}

    def answer(page: ParsedPrompt) -> Mapping[str, Any]:
        return {**reflect("herring of the market")(page), "contradictions": [pair]}

    done = await run_over_wire("timed", {"reflect": answer}, question=QUESTION, stop=("max_rounds",), max_rounds=2)
    assert len(done.prompts("reflect")) == 2


async def test_a_reflection_without_queries_leaves_the_round_to_be_scoped():
    done = await run_over_wire("rounds", {"reflect": reflect()}, question=QUESTION, max_rounds=2)
    assert len(done.prompts("scope")) == 2


async def test_an_escape_is_told_to_whoever_words_the_round_and_a_query_that_ignores_it_is_reworded():
    """The second round finds nothing, so at least half of the terms of the third must change."""
    answers = {"reflect": reflect("zyxw vutsr")}
    done = await run_over_wire("timed", answers, question=QUESTION, stop=("max_rounds",), max_rounds=4)
    assert any("Ordered escape, query_reformulation: change at least half" in each for each in done.prompts("scope"))
    third = list_queries(done, 3)
    assert third
    assert "zyxw vutsr" not in third


async def test_the_record_names_a_gap_by_the_id_of_its_question_and_words_it_once():
    done = await run_over_wire(
        "timed", {"reflect": reflect("a")}, question=QUESTION, stop=("max_rounds",), max_rounds=2
    )
    page = ParsedPrompt.read("# Role: reflect\n", done.prompts("reflect")[1])
    gaps = page.lines("Gaps after it:")
    named = [line for line in gaps if line.startswith(("sq-1: ", "sq-2: "))]
    assert named
    texts = [text for _, text in page.questions()]
    assert not [line for line in gaps if any(text in line for text in texts)]


async def test_a_first_round_is_told_that_nothing_was_searched_and_no_saturation():
    done = await run_over_wire("rounds", {"reflect": reflect()}, question=QUESTION, max_rounds=2)
    first, second = done.prompts("scope")
    assert "It is the first round" in first
    assert "Saturation" not in first
    assert "It is the first round" not in second
    assert "Saturation of the last round" in second


async def test_a_round_that_shows_no_new_fact_is_not_judged_again_and_the_next_one_is_scoped_from_the_last_judgement():
    """The second of three rounds finds nothing: its judgement stands, a shorter prompt words the third."""
    answers = {
        "reflect": reflect("zyxw vutsr"),
        "scope": {"reasoning": "r", "goal": "the record", "queries": [{"text": "crane inspection record years"}]},
    }
    done = await run_over_wire(
        "timed", answers, question=QUESTION, stop=("max_rounds",), max_rounds=3, escapes=False, reads_per_round=2
    )
    shown = [re.findall(r"^Round (\d) is over", page, re.MULTILINE)[0] for page in done.prompts("reflect")]
    assert shown == ["1", "3"], "the last round is judged, whatever it found"
    [scoped] = done.prompts("scope")
    assert "Round 3, phase" in scoped
    assert "zyxw vutsr" in scoped.partition("Its queries")[2]
    assert "crane inspection record years" in list_queries(done, 3)
    second = done.report.findings.rounds[1]
    assert second.proposal is not None
    assert any("more of it" in gap.text for gap in second.proposal.gaps), "what was missing still is"


def make_rules() -> dict[str, str]:
    """A document of more sections than one reading has room for."""
    parts = "".join(
        f"## Crane {n}\n\nHarbour crane {n} of Brenhaven must be inspected every {n} months. It may lift {n} tonnes. "
        f"{' '.join(f'The keeper of crane {n} writes line {line} into its book each day.' for line in range(12))}\n\n"
        for n in range(10, 50)
    )
    return {"rules.md": f"# Rules of Brenhaven\n\n{parts}"}


async def test_a_quote_of_a_section_that_was_only_listed_is_counted_and_a_document_is_named_once():
    def extract(page: ParsedPrompt) -> Mapping[str, Any]:
        listed = [row.split(" | ")[0] for row in page.lines("Other sections of this source, not shown:")][:1]
        said: dict[str, Any] = json.loads(answer_prompt("# Role: extract\n", page.text))
        forged = [
            {"passage": name, "quote": "Cranes lift ninety tonnes on any day.", "confidence": 1.0} for name in listed
        ]
        return {**said, "quotes": [*said["quotes"], *forged]}

    answers = {"extract": extract, "reflect": reflect("crane 17 lift", "crane 31 inspected")}
    done = await run_over_wire("timed", answers, question=QUESTION, documents=make_rules(), max_rounds=3)
    forged = sum("Other sections of this source" in page for page in done.prompts("extract"))
    assert done.report.methodology.dropped_quotes == forged > 1
    told = ParsedPrompt.read("", done.prompts("reflect")[-1]).all("What came of its documents:")
    rows = [row for _, inside in told for row in inside.split("\n")]
    assert sum("Rules of Brenhaven" in row for row in rows) == 1 < len(rows)
    assert sum("1 of its reader's quotes refused" in row for row in rows) == forged


def plan_siblings(_page: ParsedPrompt) -> Mapping[str, Any]:
    asked = [("technical-methods", "crane 12 inspected"), ("limitations-risks", "crane 44 lift")]
    tasks = [
        {"key": slug, "angle": slug, "title": text, "objective": text, "queries": [text], "sub_questions": [f"{text}?"]}
        for slug, text in asked
    ]
    return {"tier": "moderate", "tasks": tasks}


@pytest.mark.parametrize("profile", ["timed", "angles"])
async def test_a_reader_who_asks_for_a_section_is_not_told_again_what_it_or_a_sibling_has_read(profile: str):
    """Nor is a reflection told that nobody has read it; one of two sub-agents reads for both."""

    def extract(page: ParsedPrompt) -> Mapping[str, Any]:
        listed = [row.split(" | ")[0] for row in page.lines("Other sections of this source, not shown:")]
        return json.loads(answer_prompt("# Role: extract\n", page.text)) | {"read_next": listed[-1:]}

    words = iter(("crane 17 lift", "crane 31 inspected", "crane 26 lift", "crane 39 inspected"))

    def ask_next(page: ParsedPrompt) -> Mapping[str, Any]:
        return {**reflect("")(page), "next": {"goal": "g", "queries": [{"text": next(words)}]}}

    answers = {"extract": extract, "reflect": ask_next, **({"plan": plan_siblings} if profile == "angles" else {})}
    done = await run_over_wire(profile, answers, question=QUESTION, documents=make_rules(), max_rounds=2)
    shown, texts = set[str](), ""
    for asked in done.asked:
        page = ParsedPrompt.read(asked.system, asked.user)
        listed = {row.split(" | ")[0] for row in page.lines("Other sections of this source, not shown:")}
        assert not listed & shown
        wanted = re.findall(r"its reader asks for (?:[^|]+ > )?([^|>]+), not read", page.text)
        assert not [name for name in wanted if not name.strip() or f"{name}\n" in texts]
        shown |= {name for name, _ in page.passages()}
        texts += "\n".join(text for _, text in page.passages())
    assert len(done.prompts("extract")) > 2, "sections that were asked for are read"
