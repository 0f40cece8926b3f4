"""The time budget over the wire: what the loop decision proposes is done, and what was assumed to finish is tagged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from bench.model_server.scripted_model import ParsedPrompt
from tests.wire.methods import WireRun, run_over_wire

from corrobora.domain.run import EventType
from corrobora.policies.queries import make_fallback_query

QUESTION = "When was the harbour of Brenhaven dug, and who drew the plans of its cranes?"


def propose(**fields: Any) -> dict[str, Any]:
    gaps = [{"text": "who drew the plans"}]
    given = {"summary": "s", "reasoning": "r", "answered": [], "gaps": gaps, "done": False}
    return {**given, **fields}


def search_harbour(page: ParsedPrompt) -> Mapping[str, Any]:
    number = len(page.past_queries())
    return {"reasoning": "r", "goal": "g", "queries": [{"text": f"harbour of Brenhaven dug {number}"}]}


def list_readings(done: WireRun, number: int) -> list[str]:
    [thread] = [done.report.findings] if done.report.findings.rounds else done.report.findings.children
    return [reading.hit.url for reading in thread.rounds[number - 1].readings if not reading.again]


async def test_timed_12_the_proposed_address_is_read_first_in_the_next_round():
    answers = {"scope": search_harbour, "reflect": propose(url="risks.md")}
    done = await run_over_wire("timed", answers, question=QUESTION, reads_per_round=1, escapes=False)
    assert "risks.md | " in done.prompts("reflect")[0], "what was found and not read is shown with its address"
    assert list_readings(done, 1) != ["risks.md"]
    assert list_readings(done, 2) == ["risks.md"]


@pytest.mark.parametrize("url", ["https://nowhere.example/plans", "history of cranes"])
async def test_timed_12_an_address_that_nobody_named_is_discarded(url: str):
    answers = {"scope": search_harbour, "reflect": propose(url=url)}
    done = await run_over_wire("timed", answers, question=QUESTION, reads_per_round=1, escapes=False)
    assert url not in str([list_readings(done, number) for number in (1, 2)])
    decision = done.json("phase_state.json")["research"]["gap_analysis"]["loop_decision"]
    assert decision["urlToSearch"] is None


async def test_timed_11_the_proposed_topic_is_searched_for_in_the_next_round():
    answers = {"scope": search_harbour, "reflect": propose(next_topic="herring and cod of the market")}
    done = await run_over_wire("timed", answers, question=QUESTION, escapes=False)
    searches = [
        (event.round, event.data["query"]) for event in done.run.journal.events if event.type is EventType.SEARCH
    ]
    assert (1, "herring and cod of the market") not in searches
    assert (2, "herring and cod of the market") in searches


async def test_timed_22_what_was_left_open_to_finish_is_tagged_with_its_risk():
    done = await run_over_wire(
        "timed", {"reflect": propose()}, question=QUESTION, stop=("max_rounds",), reads_per_round=1
    )
    limits = [line for line in done.report.markdown.splitlines() if line.startswith("- Limit hit")]
    assert any("open gaps: " in line for line in limits)
    assert "#COMPLETION_DRIVE" not in done.report.markdown  # a tag is for programs
    assert any("#COMPLETION_DRIVE" in line for line in done.json("methodology.json")["limits_hit"])


async def test_timed_22_a_way_that_was_chosen_is_tagged_with_its_reason():
    def search_beside(page: ParsedPrompt) -> Mapping[str, Any]:
        """The second round finds nothing."""
        first = search_harbour(page)
        return {**first, "queries": [{"text": "zyxw vutsr"}]} if page.past_queries() else first

    answers = {"scope": search_beside, "reflect": propose()}
    done = await run_over_wire("timed", answers, question=QUESTION, stop=("max_rounds",), max_rounds=4)
    notes = [line for line in done.json("methodology.json")["notes"] if line.endswith("#PATH_DECISION")]
    assert any("without any search result" in line and "next comes" in line for line in notes)
    assert all("_" not in line.partition("next comes")[2].partition("#")[0] for line in notes)
    told = [line for line in done.report.markdown.splitlines() if "next comes" in line]
    assert (len(told), "#PATH_DECISION" in done.report.markdown) == (len(notes), False)


async def test_timed_6_what_a_loop_decision_does_not_name_is_null():
    done = await run_over_wire("timed", {"reflect": propose()}, question=QUESTION, minutes=None, max_rounds=1)
    decision = done.json("phase_state.json")["research"]["gap_analysis"]["loop_decision"]
    assert decision["nextSearchTopic"] is None
    assert decision["urlToSearch"] is None
    assert decision["timeRemainingMinutes"] is None
    assert decision["gaps"]
    assert all(isinstance(text, str) for text in decision["gaps"])
    assert (decision["iteration"], decision["shouldContinue"]) == (1, False)


async def test_timed_8_gaps_go_on_although_the_model_would_stop():
    stopping = propose(done=True)
    done = await run_over_wire(
        "timed", {"scope": search_harbour, "reflect": stopping}, question=QUESTION, escapes=False
    )
    rounds = done.report.findings.rounds
    assert len(rounds) > 1
    assert rounds[0].decision is not None
    assert rounds[0].decision.stop is None


async def test_timed_15_a_failed_question_is_asked_for_again_in_broader_words():
    """The model never words it: the second attempt is made by code."""
    asked = "Who painted the marvellous lanterns of Upper Quillport?"
    scope = {"feasible": True, "complexity": "simple", "queries": [{"question": asked, "sub_questions": [asked]}]}

    def search(page: ParsedPrompt) -> Mapping[str, Any]:
        return {**search_harbour(page), "targets": ["sq-1"]}

    answers = {"clarify": scope, "scope": search, "reflect": propose()}
    done = await run_over_wire("timed", answers, question=asked, escapes=False, stop=("max_rounds",))
    queries = [[query.text for query in each.intent.queries] for each in done.report.findings.rounds]
    broader = make_fallback_query(asked, "broaden")
    assert broader not in queries[0]
    assert broader in queries[1]


async def test_timed_15_a_model_that_asks_anew_in_other_words_is_not_corrected_by_code():
    asked = "Who painted the marvellous lanterns of Upper Quillport?"
    scope = {"feasible": True, "complexity": "simple", "queries": [{"question": asked, "sub_questions": [asked]}]}
    own = "craftsmen guild records lanterns"
    words = {"goal": "g", "queries": [{"text": own}], "targets": ["sq-1"]}

    def search(page: ParsedPrompt) -> Mapping[str, Any]:
        return {**search_harbour(page), "targets": ["sq-1"]}

    answers = {"clarify": scope, "scope": search, "reflect": {**propose(), "next": words}}
    done = await run_over_wire("timed", answers, question=asked, escapes=False, stop=("max_rounds",))
    queries = [query.text for query in done.report.findings.rounds[1].intent.queries]
    assert own in queries
    assert make_fallback_query(asked, "broaden") not in queries
