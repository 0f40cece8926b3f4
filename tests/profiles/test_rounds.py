"""Profile `rounds`. Time is virtual; the two engines are named as in ROUNDS-12."""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.fakes import MemoryLibrary, run_virtually
from tests.journal.engine_kill import kills_change_nothing
from tests.profiles.corpus import PER_THEME, QUESTION, THEMES, corpus
from tests.profiles.research import Mixed, make_run
from tests.profiles.scripted import Engine, WebRun, asked_for, make_web_run, profile_asked_for

from corrobora.config.profiles import load_profile
from corrobora.domain.errors import Infeasible, NeedsHuman
from corrobora.domain.evidence import Query
from corrobora.domain.plan import Plan
from corrobora.domain.report import Report
from corrobora.domain.run import EventType
from corrobora.domain.thread import Intent, StopReason
from corrobora.reporting.report_format import format_report_body

PAGES = corpus()
SMALL = "How does the tidal power plant of Velmark work?"
TOLD = (EventType.THOUGHT, EventType.SEARCH, EventType.READ, EventType.COMPLETE)


def engines(**more: Any) -> list[Engine]:
    return [Engine(PAGES, "tavily", **more), Engine(PAGES, "exa", **more)]


def done(made: WebRun) -> Report:
    return run_virtually(made.research())


def small(**more: Any) -> WebRun:
    return make_web_run("rounds", PAGES, **{"question": SMALL, "engines": engines(), **more})


def planned(given: Any) -> Intent:
    """A model that plans its queries well: 3 broad, 4 targeted, 3 validating ones, each for pages of its own."""
    halves = [(theme, half) for half in (0, 1) for theme in THEMES]
    chosen = {1: halves[:3], 2: halves[3:7], 3: halves[7:]}[given.round]
    kinds = sorted({url.rsplit("/", 1)[1] for url in PAGES})
    half = PER_THEME // 2
    texts = [f"Velmark {theme} {' '.join(kinds[at * half : (at + 1) * half])}" for theme, at in chosen]
    open_ids = tuple(question.id for question in given.open_questions)
    return Intent(f"Look for round {given.round}", tuple(Query(text) for text in texts), open_ids)


class Steering:
    """A person who pauses the run once after each round, and then gives a hint after the first."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    async def authorize(self, plan: Plan) -> bool:
        return bool(plan.root.path)

    async def between_rounds(self, path: str, number: int) -> str:
        self.asked.append(number)
        if self.asked.count(number) == 1:
            raise NeedsHuman("paused", f"The run pauses after round {number} of {path}.")
        return "seals near the basin fence" if number == 1 else ""

    async def before_searches(self, path: str, number: int, queries: Sequence[str]) -> str:
        return ""


class Watched:
    """One run by the rules without a model, with a person whom nobody asks, and what was seen of it on the way."""

    def __init__(self) -> None:
        self.person, self.analyst, self.engines = Steering(), Mixed({}), engines(seconds=1.0)
        self.states: list[tuple[int, bool, bool]] = []
        self.findings: list[int] = []
        self.made = small(analysts=[self.analyst], human=self.person, engines=self.engines)
        outside = self.made.session.outside
        self.made.session.outside = replace(outside, write=self.watch(outside.write), seal=self.watch(outside.seal))
        self.report = done(self.made)

    def watch(self, store: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def stored(texts: Mapping[str, str], *entry: Any) -> Any:
            out, state = await store(texts, *entry), json.loads(texts.get("research_state.json", "{}"))
            if state:
                ends = state["research"]["iterativeComplete"], state["researchComplete"]
                self.states.append((state["currentRound"], *ends))
            self.findings += [len(self.made.json("rounds.json"))] if "rounds.json" in texts else []
            return out

        return stored


@pytest.fixture(scope="module")
def watched() -> Watched:
    return Watched()


@pytest.fixture(scope="module")
def whole() -> tuple[WebRun, Report]:
    made = make_web_run("rounds", PAGES, question=QUESTION, engines=engines(), analysts=[Mixed({"scope": planned})])
    return made, done(made)


# Implementation strategy, phase 1: the subgraph of three rounds


def test_three_rounds_and_no_other_number(whole: tuple[WebRun, Report]):
    made, report = whole
    assert [event.round for event in made.told(EventType.ROUND_FINISHED)] == [1, 2, 3]
    assert report.stop is StopReason.ITERATION_CAP
    assert [r.phase for r in report.findings.rounds] == ["orient", "deepen", "validate"]


@pytest.mark.parametrize("analyst", ["extractive", "one query only", "ten queries"])
def test_nodes_two_or_three_broad_three_or_four_targeted_two_or_three_validating_queries(analyst: str):
    texts = {"one query only": 1, "ten queries": 10}.get(analyst)

    def wrong(given: Any) -> Intent:
        queries = [Query(f"Velmark {given.round} {theme} {n}") for n in range(2) for theme in THEMES][:texts]
        return Intent("A goal", tuple(queries), ("sq-1",))

    report = done(small(analysts=[Mixed({"scope": wrong} if texts else {})], wire=False))  # a model would be told
    counts = [len(r.intent.queries) for r in report.findings.rounds]
    assert all(low <= n <= high for n, (low, high) in zip(counts, [(2, 3), (3, 4), (2, 3)], strict=True)), counts
    every = [query.text for r in report.findings.rounds for query in r.intent.queries]
    assert len(set(every)) == len(every), "no query is asked twice"


def test_round_2_asks_for_the_gaps_of_round_1(watched: Watched):
    first_round = watched.report.findings.rounds[0]
    assert first_round.decision is not None
    first, second = watched.analyst.given("scope")[:2]
    assert (first.gaps, first.phase.name) == ((), "orient")
    assert second.phase.name == "deepen"
    assert "fill the gaps" in second.phase.goal
    assert second.gaps == first_round.decision.proposal.gaps


def test_gap_questions_reach_the_queries_of_the_next_round():
    pages = {url: text for url, text in PAGES.items() if "turbines" in url}
    question = "How does the tidal power plant of Velmark work, and how thick is its northern dam?"
    made = make_web_run("rounds", pages, question=question, engines=[Engine(pages, "tavily"), Engine(pages, "exa")])
    report = done(made)
    gaps = made.json("rounds.json")[0]["gaps"]
    assert any("dam" in gap for gap in gaps)
    assert any("dam" in query.text for query in report.findings.rounds[1].intent.queries)


def test_sequential_execution_one_query_after_another_with_the_pause(watched: Watched):
    assert [engine.most_busy for engine in watched.engines] == [1, 1]
    asked = sorted(at for engine in watched.engines for at in engine.at)
    within = {1: asked[:3], 2: asked[3:6]}
    assert all(b - a >= 1.3 - 1e-6 for each in within.values() for a, b in itertools.pairwise(each))


def test_search_gateway_tavily_then_alternating_then_tavily(watched: Watched):
    rounds = watched.report.findings.rounds
    assert [r.providers for r in rounds] == [("tavily",), ("tavily", "exa"), ("tavily",)]
    assert {hit.provider for hit in rounds[1].hits} == {"tavily", "exa"}


def test_alternation_is_query_by_query(whole: tuple[WebRun, Report]):
    made, _ = whole
    asked = [(event.round, event.data["provider"]) for event in made.told(EventType.SEARCH)]
    assert asked == [(1, "tavily")] * 3 + [(2, "tavily"), (2, "exa"), (2, "tavily"), (2, "exa")] + [(3, "tavily")] * 3


def test_state_schema_the_findings_are_those_of_the_method(whole: tuple[WebRun, Report]):
    made, report = whole
    findings = made.json("rounds.json")
    assert [found["round"] for found in findings] == [1, 2, 3]
    for found, r in zip(findings, report.findings.rounds, strict=True):
        assert list(found) == ["round", "queries", "results", "reasoning", "gaps", "metadata"]
        assert list(found["metadata"]) == ["queriesGenerated", "sourcesFound", "providersUsed"]
        assert found["queries"] == [query.text for query in r.intent.queries]
        assert found["metadata"]["queriesGenerated"] == len(found["queries"])
        assert found["metadata"]["sourcesFound"] == len(found["results"])
        assert set(found["metadata"]["providersUsed"]) <= {"tavily", "exa"}
        assert found["reasoning"]
        assert all(set(result) >= {"title", "url", "content", "provider"} for result in found["results"])


def test_state_schema_rounds_and_iterative_complete_are_those_of_the_method(whole: tuple[WebRun, Report]):
    made, _ = whole
    state = made.json("research_state.json")
    assert list(state) == ["currentRound", "researchComplete", "research"]
    assert (state["currentRound"], state["researchComplete"]) == (3, True)
    research = state["research"]
    assert research["iterativeComplete"] is True
    assert [list(each) for each in research["rounds"]] == [
        ["round", "queries", "sourcesFound", "reasoning", "gaps"]
    ] * 3
    assert research["queries"] == [query for each in research["rounds"] for query in each["queries"]]
    assert set(research["finalSources"]) == {it["url"] for r in made.json("rounds.json") for it in r["results"]}
    assert [each["url"] for each in research["enriched"]] == research["finalSources"]
    assert list(research["enriched"][0]) == ["title", "url", "content", "score", "publishedDate", "provider"]


def test_state_says_that_the_rounds_are_done_before_it_says_that_the_research_is(watched: Watched):
    assert watched.states == [(1, False, False), (2, False, False), (3, True, False), (3, True, True)]


def test_findings_are_written_after_every_round_not_at_the_end(watched: Watched):
    assert watched.findings == [1, 2, 3]


def test_thought_streaming_four_types_of_events_with_badges_one_to_four(whole: tuple[WebRun, Report]):
    made, _ = whole
    badges = {kind: [event.round or 0 for event in made.told(kind)] for kind in TOLD}
    assert sorted(set(badges[EventType.THOUGHT])) == [1, 2, 3, 4]
    assert sorted(set(badges[EventType.SEARCH])) == [1, 2, 3]
    assert sorted(set(badges[EventType.READ])) == [1, 2, 3]
    assert badges[EventType.COMPLETE] == [1, 2, 3, 4]
    thoughts = [event.data["text"] for event in made.told(EventType.THOUGHT)]
    assert str(thoughts[0]).startswith("Beginning round 1 (orient)")
    assert str(thoughts[-1]).endswith(f" results were found, {whole[1].methodology.sources_read} sources read.")


def test_thoughts_come_before_searches_and_searches_before_reads(whole: tuple[WebRun, Report]):
    made, _ = whole
    for number in (1, 2, 3):
        told = [event.type for event in made.events if event.round == number and event.type in TOLD]
        assert told == sorted(told, key=TOLD.index)


# State survives a kill between any two steps (phase 1, checkpointing)


@pytest.mark.parametrize("points", [2, pytest.param(30, marks=pytest.mark.slow)])
async def test_checkpointing_a_kill_in_any_round_changes_nothing(database_url: str, tmp_path: Path, points: int):
    await kills_change_nothing(database_url, tmp_path, n_points=points, profile="rounds")


# Synthesis and expected outcome


def test_report_2000_to_4000_words_20_to_30_cited_of_60_to_80_found(whole: tuple[WebRun, Report]):
    made, report = whole
    found = {result["url"] for each in made.json("rounds.json") for result in each["results"]}
    assert 60 <= len(found) <= 80
    assert 20 <= report.methodology.sources_cited <= 30
    body = report.markdown.partition("## Contradictions")[0].partition("## Methodology")[0]
    assert 2_000 <= len(re.sub(r"\[\d+\]", "", body).split()) <= 4_000
    written = body.partition("\n\n")[2].partition("\n\n")[2].partition("## Gaps")[0]
    assert format_report_body(written).split() == written.split()


async def test_report_over_a_library_without_a_model_finds_and_cites_as_many_documents():
    made = await make_run("rounds", question=QUESTION, documents=PAGES)
    report = await made.research()
    found = {result["url"] for each in json.loads(made.files["rounds.json"]) for result in each["results"]}
    assert 60 <= len(found) <= 80
    assert 20 <= report.methodology.sources_cited <= 30
    body = report.markdown.partition("## Contradictions")[0].partition("## Methodology")[0]
    assert 2_000 <= len(re.sub(r"\[\d+\]", "", body).split()) <= 4_000
    assert 8 <= report.methodology.searches <= 12


def test_goal_is_searched_by_its_topic_and_not_by_its_verb():
    goal = "Analyze Nvidia's Q2 2024 financial performance"
    pages = {
        f"https://n.example/{n}": f"# Nvidia note {n}\n\nNvidia's revenue in Q2 2024 rose, note {n}." for n in range(9)
    }
    report = done(make_web_run("rounds", pages, question=goal, engines=[Engine(pages, "tavily"), Engine(pages, "exa")]))
    asked = [query.text for r in report.findings.rounds for query in r.intent.queries]
    assert not [text for text in asked[1:] if "analyze" in text.lower()]
    assert all("nvidia" in text.lower() for text in asked)


def test_report_inline_citations_are_numbers_that_resolve(whole: tuple[WebRun, Report]):
    _, report = whole
    body, _, sources = report.markdown.partition("## Sources")
    used = {int(number) for number in re.findall(r"\[(\d+)\]", body.partition("## Methodology")[0])}
    listed = {int(number) for number in re.findall(r"^\[(\d+)\] \*\*", sources, re.MULTILINE)}
    assert len(used) > 1
    assert used == listed == set(range(1, len(report.citations) + 1))


def test_report_without_a_model_reaches_its_length_too():
    made = make_web_run("rounds", PAGES, question=QUESTION, engines=engines())
    report = done(made)
    body = report.markdown.partition("## Contradictions")[0].partition("## Methodology")[0]
    assert 2_000 <= len(body.split()) <= 4_000


def test_performance_eight_to_twelve_searches(whole: tuple[WebRun, Report]):
    assert 8 <= len(whole[0].told(EventType.SEARCH)) <= 12


# Open question 3: interrupts between rounds


def test_interrupts_pause_steer_and_continue():
    person, analyst = Steering(), Mixed({})
    journal, library = None, MemoryLibrary()
    for _ in range(3):
        made = small(analysts=[analyst], human=person, journal=journal, library=library, pause_between_rounds=True)
        try:
            report = done(made)
        except NeedsHuman:
            journal = made.journal.next_attempt()
            continue
        break
    assert person.asked == [1, 1, 2, 2]
    assert "seals near the basin fence" in [q.text for q in report.findings.rounds[1].intent.queries]
    assert "seals near the basin fence" not in [q.text for q in report.findings.rounds[2].intent.queries]


def test_interrupts_are_optional(watched: Watched):
    assert watched.person.asked == []


# Open question 5: time per round


def test_time_budget_per_round_a_round_that_hangs_is_cut_and_the_next_begins():
    made = small(engines=engines(seconds=math.inf))
    report = done(made)
    ended = [event.data["elapsed"] for event in made.told(EventType.ROUND_FINISHED)]
    assert ended == pytest.approx([4 * 60, (4 + 5) * 60, (4 + 5 + 3.5) * 60], abs=1)
    assert all(r.cut for r in report.findings.rounds)


@pytest.mark.parametrize(("time", "ends"), [("unlimited", [3_000, 7_000, 10_000]), ("30", [480, 1_080, 1_500])])
def test_rounds_28_a_round_has_its_share_of_the_time_that_was_asked_for(time: str, ends: list[int]):
    profile = profile_asked_for(SMALL, "--profile", "rounds", "--time", time)
    made = make_web_run(profile, PAGES, question=SMALL, engines=engines(seconds=1_000.0))
    done(made)
    ended = [event.data["elapsed"] for event in made.told(EventType.ROUND_FINISHED)]
    assert ended == pytest.approx(ends, abs=5)


def test_time_budget_total_of_twelve_to_sixteen_minutes():
    profile = load_profile("rounds")
    rounds = sum(phase.minutes or 0 for phase in profile.phases)
    assert 10 <= rounds <= 13
    assert 12 <= rounds + profile.reserve_seconds / 60 <= 16
    assert profile.minutes == 15


# Backward compatibility: RESEARCH_MODE


def test_research_mode_switches_between_parallel_and_iterative():
    parallel = profile_asked_for(QUESTION, env={"RESEARCH_MODE": "parallel"})
    iterative = profile_asked_for(QUESTION, env={"RESEARCH_MODE": "iterative"})
    assert (parallel.name, parallel.leaves_in_turn) == ("angles", False)
    assert (iterative.name, iterative.leaves_in_turn, iterative.queries_in_turn) == ("rounds", True, True)
    busy: list[int] = []
    pages = dict([*PAGES.items()][::5])
    for profile in (parallel, iterative):
        found = [Engine(pages, name, seconds=1.0) for name in ("tavily", "exa")]
        done(make_web_run(profile, pages, question=QUESTION, engines=found))
        busy.append(max(engine.most_busy for engine in found))
    assert busy[0] > 1
    assert busy[1] == 1


def test_research_mode_a_flag_is_stronger():
    assert asked_for(QUESTION, "--profile", "timed", env={"RESEARCH_MODE": "parallel"}).profile == "timed"


# Integration: planGate, planner, research, synthesizer


def test_graph_the_gate_stands_before_the_planner():
    analyst = Mixed({})
    made = small(analysts=[analyst], question="Tell me everything there is to know about all of history")
    with pytest.raises(Infeasible):
        done(made)
    assert [name for name, _ in analyst.played] == ["clarify"]
    assert made.engines["tavily"].asked == []


def test_graph_gate_planner_research_synthesizer_in_this_order(whole: tuple[WebRun, Report]):
    made, _ = whole
    stages = [event.data["stage"] for event in made.told(EventType.STAGE)]
    assert stages == ["clarify", "plan", "investigate", "synthesize", "review", "verify", "deliver"]
    order = [entry for entry in made.journal.entries if entry.startswith(("root/clarify", "root/plan", "root/synth"))]
    assert [entry.partition("#")[0] for entry in order] == ["root/clarify", "root/plan", "root/synthesize"]


def test_graph_a_person_may_hold_the_plan_before_anything_is_searched():
    class Waiting(Steering):
        async def authorize(self, plan: Plan) -> bool:
            raise NeedsHuman("plan_not_authorized", f"The plan {plan.root.path} waits.")

    made = small(human=Waiting(), authorize="human")
    with pytest.raises(NeedsHuman):
        done(made)
    assert made.engines["tavily"].asked == []
    assert "plan.json" in made.files
