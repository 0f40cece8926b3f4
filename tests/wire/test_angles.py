"""Parallel angles over the wire: sub-agents never make the same search, and each one's work is on disk."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from itertools import count
from typing import Any

import pytest
from bench.model_server.scripted_model import ParsedPrompt
from tests.profiles.research import LibraryRun
from tests.wire.methods import WireRun, run_over_wire

from corrobora.domain.plan import SubQuestionStatus
from corrobora.domain.run import EventType
from corrobora.policies.intake import CANONICAL_ANGLES
from corrobora.policies.queries import query_core

SLUGS = [angle.slug for angle in CANONICAL_ANGLES]


def make_task(slug: str, **fields: Any) -> dict[str, Any]:
    words = slug.replace("-", " ")
    task = {"key": slug, "title": f"{words} of cranes", "objective": f"Find what is said of {words}.", "angle": slug}
    return {**task, "queries": [f"harbour cranes {words}", f"crane of class B {words}"], "sub_questions": [], **fields}


def make_plan(slugs: list[str], **fields: Any) -> dict[str, Any]:
    tier = "simple" if len(slugs) == 1 else "moderate" if len(slugs) < 5 else "complex"
    return {"tier": tier, "tasks": [make_task(slug, **fields) for slug in slugs]}


def ask_the_same(_page: ParsedPrompt) -> Mapping[str, Any]:
    queries = [{"text": "inspection of harbour cranes"}]
    return {"reasoning": "as always", "goal": "the same", "queries": queries}


def never_content(_page: ParsedPrompt) -> Mapping[str, Any]:
    gaps = [{"text": "the date of the inspection"}]
    return {"summary": "s", "reasoning": "r", "answered": [], "gaps": gaps, "done": False}


def list_searches(done: WireRun) -> list[str]:
    return [str(event.data["query"]) for event in done.run.journal.events if event.type is EventType.SEARCH]


async def test_angles_16_seven_sub_agents_whose_model_repeats_itself_never_make_one_search_twice():
    answers = {"plan": make_plan(SLUGS), "scope": ask_the_same, "reflect": never_content}
    done = await run_over_wire("angles", answers)
    searches = list_searches(done)
    assert len(searches) == 21, "seven sub-agents, three rounds, one query each"
    assert len({query_core(text) for text in searches}) == 21


async def test_angles_16_the_same_query_with_latest_behind_it_is_the_same_search():
    texts = iter(f"inspection of harbour cranes{end}" for end in ("", " latest", " currently", " latest", "", "") * 3)

    def scope(_page: ParsedPrompt) -> Mapping[str, Any]:
        return {"reasoning": "r", "goal": "g", "queries": [{"text": next(texts)}]}

    answers = {"plan": make_plan(SLUGS[:2]), "scope": scope, "reflect": never_content}
    done = await run_over_wire("angles", answers, question="What are the latest rules on harbour cranes of Brenhaven?")
    cores = Counter(query_core(text) for text in list_searches(done))
    assert len(cores) == 6
    assert max(cores.values()) == 1


@pytest.mark.parametrize("pages", [None, {"cranes": "The inspection of harbour cranes of Brenhaven is yearly."}])
async def test_triplet_18_latest_is_added_where_a_web_is_searched_and_not_in_a_library(pages: dict[str, str] | None):
    task = make_task(SLUGS[0], queries=["inspection of harbour cranes"], objective="Find the latest rules on cranes.")
    answers = {"plan": {"tier": "simple", "tasks": [task]}, "scope": ask_the_same, "reflect": never_content}
    done = await run_over_wire("angles", answers, question="Which rules on harbour cranes apply?", pages=pages)
    assert any("latest" in text for text in list_searches(done)) is (pages is not None)


async def test_angles_16_a_resumed_run_asks_the_same_searches():
    answers = {"plan": make_plan(SLUGS[:3]), "scope": ask_the_same, "reflect": never_content}
    first = await run_over_wire("angles", answers)
    assert isinstance(first.run, LibraryRun)
    again = await run_over_wire("angles", answers, journal=first.run.journal, library=first.run.library)
    assert not again.asked
    assert again.report.markdown == first.report.markdown


async def test_angles_22_who_played_each_round_its_failures_and_its_cost_are_on_disk():
    def scope(page: ParsedPrompt) -> Mapping[str, Any] | str:
        return "no" if "risks" in page.after("This line of research:") else ask_the_same(page)

    slugs = [SLUGS[0], next(slug for slug in SLUGS if "risks" in slug)]
    done = await run_over_wire("angles", {"plan": make_plan(slugs), "scope": scope, "reflect": never_content})
    good, bad = (done.json(f"subagents/{slug}.json") for slug in slugs)
    by = [{who["role"]: who for who in row["played_by"]} for row in good["search_trajectory"]]
    assert "scope" not in by[0], "the broad query is the task's own"
    assert [who["scope"]["by"] for who in by[1:]] == ["openai-compatible:scripted"] * 2
    judged = [who["reflect"]["by"] for who in by if "reflect" in who]  # a round without a new fact is not judged
    assert judged == ["openai-compatible:scripted"] * 2
    assert by[0]["extract"]["calls"] >= 1
    assert good["fallbacks"] == 0
    assert {who["role"] for who in good["played_by"]} == {"synthesize"}
    worse = [who for row in bad["search_trajectory"] for who in row["played_by"] if who["role"] == "scope"]
    assert [who["instead_because"] for who in worse] == ["json_invalid"] * 2
    assert bad["fallbacks"] == 2
    assert bad["usage"]["calls"] > 0
    assert done.json("cost_estimate.json")["subagents"][1]["fallbacks"] == 2


async def test_angles_12_the_lead_agents_whole_answer_is_kept_beside_the_corrected_plan():
    odd = make_plan([*SLUGS[:2], SLUGS[0]], out_of_scope="all  else")
    odd["tasks"][2]["key"] = "again"
    odd["rationale"] = "My own words."
    done = await run_over_wire("angles", {"plan": odd})
    kept = done.json("lead_agent_plan.json")
    assert kept["rationale"] == "My own words."
    assert [task["key"] for task in kept["tasks"]] == [SLUGS[0], SLUGS[1], "again"]
    assert all(task["out_of_scope"] == "all  else" for task in kept["tasks"])
    run = done.json("plan.json")
    assert len(run["root"]["children"]) == 2
    assert any("repeats the angle" in note for note in run["notes"])
    assert json.loads(done.run.files["plan.json"]) != kept


TITLES = {
    "latest-developments": "Latest developments and announcements",
    "technical-methods": "Technical methods and implementation details",
    "limitations-risks": "Limitations, risks, and failure modes",
    "ecosystem-implications": "Business, product, and ecosystem implications",
    "quantitative-claims": "Notable quantitative claims and benchmarks",
    "open-questions": "Open questions and unresolved debates",
    "background": "Background and prior work",
}


async def test_angles_8_the_lead_chooses_from_the_seven_angles_of_the_method_and_no_others():
    given = iter([make_plan([SLUGS[0], "history-of-art"]), make_plan(SLUGS[:2])])
    done = await run_over_wire("angles", {"plan": lambda _: next(given)})
    shown = re.findall(r"^- ([\w-]+): <data-\w+>([^<]*)</data", done.prompts("plan")[0], re.MULTILINE)
    assert dict(shown) == TITLES
    [repair] = [each for each in done.asked if each.turns]
    assert "history-of-art" not in str(done.json("plan.json"))
    assert "Every task needs one of these angles" in repair.user


async def test_angles_17_the_last_reflection_of_a_sub_agent_writes_its_summary():
    def reflect(page: ParsedPrompt) -> Mapping[str, Any]:
        marker = re.search(r"\[S\d+:C\d+\]", page.text)
        cited = marker.group() if marker else ""
        said = (
            f"What {page.after('This line of research:').rstrip('.')} comes to {cited}, and again {cited}."
            if marker
            else ""
        )
        return {**never_content(page), "findings": said}

    done = await run_over_wire("angles", {"plan": make_plan(SLUGS[:2]), "reflect": reflect}, reads_per_round=1)
    assert not done.prompts("summarize")
    [report] = done.prompts("synthesize")
    for slug in SLUGS[:2]:
        summary = done.json(f"subagents/{slug}.json")["summary"]
        assert summary.startswith(f"What Find what is said of {slug.replace('-', ' ')}")
        assert summary in report
        assert len(re.findall(r"\[S\d+:C\d+\]", summary)) == 1, "a marker stands once behind its sentence"
    asked = [
        page
        for page in done.prompts("reflect")
        if re.search(r"^(?:If `done` is true, w|W)rite `findings`", page, re.MULTILINE)
    ]
    assert len(asked) == 4, "in the last round, and in the second, after which it may end"


@pytest.mark.parametrize("said", ["", "A summary that cites nothing."])
async def test_angles_17_a_summary_that_no_reflection_wrote_is_asked_for(said: str):
    answers = {"plan": make_plan(SLUGS[:2]), "reflect": lambda page: {**never_content(page), "findings": said}}
    done = await run_over_wire("angles", answers)
    asked = done.prompts("summarize")
    assert len(asked) == 2
    for slug in SLUGS[:2]:
        summary = done.json(f"subagents/{slug}.json")["summary"]
        assert re.search(r"\[S\d+:C\d+\]", summary)
        assert "cites nothing" not in summary
    objectives = [ParsedPrompt.read("", page).after("This line of research asks:") for page in asked]
    assert sorted(objectives) == sorted(f"Find what is said of {slug.replace('-', ' ')}." for slug in SLUGS[:2])
    wholes = {ParsedPrompt.read("", page).after("The question of the whole research:") for page in asked}
    assert wholes == {done.run.session.brief.question}, "not the objective of the part"


async def test_angles_17_a_summary_keeps_nothing_that_its_facts_refute_and_nothing_without_a_fact():
    """The writer of the report would take it over; that 97 months stand in no source, code knows."""

    def reflect(page: ParsedPrompt) -> Mapping[str, Any]:
        [marker, *_] = re.findall(r"(\[S\d+:C\d+\]).*every six months", page.text) or [""]
        said = f"Cranes are inspected every six months {marker}. Cranes are inspected every 97 months {marker}. "
        said += f"The port looks after its cranes twice a year {marker}. "
        return {**never_content(page), "findings": f"{said}Most ports have cranes." if marker else ""}

    text = "".join(
        f"Harbour cranes of class {each} are inspected every six months by office {each}. " for each in "BCDEF"
    )
    answers = {"plan": make_plan(SLUGS[:2]), "reflect": reflect}
    done = await run_over_wire("angles", answers, documents={"cranes.md": f"# Cranes\n\n{text}\n"})
    [written] = done.prompts("synthesize")
    assert "Cranes are inspected every six months. [S" in written
    assert "97 months" not in written
    assert "twice a year. [S" in written
    assert "(unclear)" not in written, "what code doubts is no word of whoever wrote the summary"
    assert "Most ports" not in written


async def test_angles_14_the_round_that_a_content_model_leaves_unworded_is_the_planners_and_nobody_words_it_again():
    queries = {slug: [f"inspection of {slug} cranes", f"port office of {slug} and its rules"] for slug in SLUGS[:2]}
    plan = make_plan(SLUGS[:2])
    plan["tasks"] = [{**task, "queries": queries[task["key"]]} for task in plan["tasks"]]
    content = {**never_content(ParsedPrompt("", "", ())), "gaps": [], "done": True}
    done = await run_over_wire("angles", {"plan": plan, "reflect": lambda _: content})
    assert not done.prompts("scope")
    assert {query for own in queries.values() for query in own} <= set(list_searches(done))


async def test_angles_17_few_facts_need_no_summary_because_the_writer_is_shown_them():
    """Their quotes are what a summary would say again."""
    cranes = {"cranes.md": "# Cranes\n\nHarbour cranes of class B are inspected every six months by the port office.\n"}
    answers = {"plan": make_plan(SLUGS[:2]), "reflect": never_content}
    done = await run_over_wire("angles", answers, documents=cranes)
    assert [1 <= len(part.facts) <= 3 for part in done.report.findings.children] == [True, True]
    assert not done.prompts("summarize")
    assert "inspected every six months" in done.prompts("synthesize")[0]


async def test_angles_20_reflections_of_all_sub_agents_begin_alike_and_keep_to_their_own_questions():
    def reflect(page: ParsedPrompt) -> Mapping[str, Any]:
        own = {each for each, _ in page.questions()}
        others = sorted({"sq-1", "sq-2", "sq-3", "sq-4"} - own)
        gaps = [{"text": f"what belongs to {each}", "target": each} for each in others]
        return {**never_content(page), "answered": others, "gaps": gaps}

    tasks = make_plan(SLUGS[:2])
    for number, task in enumerate(tasks["tasks"], 1):
        task["sub_questions"] = [f"Who inspects harbour cranes of class {number}?"]
    done = await run_over_wire("angles", {"plan": tasks, "reflect": reflect})
    sent = [each for each in done.asked if "# Role: reflect\n" in each.system]
    assert len({each.user.partition("This line of research:")[2].partition("</data")[0] for each in sent}) == 2
    assert len({json.dumps(each.body["response_format"]) for each in sent}) == 1
    assert len({each.user.partition("This line of research:")[0] for each in sent}) == 1
    for part in done.report.findings.children:
        own = {each.id for each in part.sub_questions}
        proposals = [each.decision.proposal for each in part.rounds if each.decision]
        assert proposals
        assert all(not each.answered for each in proposals)
        assert {gap.target for each in proposals for gap in each.gaps} <= own | {""}


async def test_angles_27_no_section_says_that_nothing_was_found_where_a_fact_of_another_section_answers():
    question = "Who inspects harbour cranes, and how often are harbour cranes inspected?"
    done = await run_over_wire("angles", question=question)
    assert {each.standing for each in done.report.findings.sub_questions} == {SubQuestionStatus.ANSWERED}
    assert "## 2. how often are harbour cranes inspected" in done.report.markdown
    assert "Nothing was found" not in done.report.markdown


async def test_angles_18_the_result_of_a_sub_agent_is_complete():
    done = await run_over_wire("angles", {"plan": make_plan(SLUGS[:2]), "reflect": never_content})
    for slug in SLUGS[:2]:
        result = done.json(f"subagents/{slug}.json")
        assert {"angle", "task", "summary", "citations", "chunks", "search_trajectory", "usage"} <= set(result)
        assert result["citations"]
        for number, row in enumerate(result["search_trajectory"], 1):
            assert row["round"] == number
            assert set(row) == {
                "round", "phase", "queries", "chunks_retrieved", "chunks_read", "evaluation", "failures", "played_by"
            }  # fmt: skip
            assert set(row["evaluation"]) == {"reasoning", "gaps", "done", "stop", "rule"}
            assert row["evaluation"]["gaps"]
        assert any(row["chunks_read"] for row in result["search_trajectory"])
        assert set(result["chunks"]) == {
            each for row in result["search_trajectory"] for each in row["chunks_retrieved"]
        }


async def test_angles_7_narrowing_directions_stay_and_only_what_another_task_asks_is_removed_with_a_note():
    plan = make_plan(SLUGS[:2])
    alike = ["brakes of harbour cranes worn out", "brakes of harbour cranes worn out in storms"]
    plan["tasks"][0]["queries"] = [*alike, "Brakes of harbour cranes, worn out?"]
    plan["tasks"][1]["queries"] = ["harbour cranes brakes worn out", "crane rails"]
    done = await run_over_wire("angles", {"plan": plan})
    run = done.json("plan.json")
    first, second = run["root"]["children"]
    assert first["queries"] == alike
    assert second["queries"] == ["crane rails"]
    assert [note for note in run["notes"] if "earlier task" in note] == [
        "root/2 asked what an earlier task asks: 1 query removed"
    ]


async def test_angles_13_the_first_query_is_the_tasks_the_next_ones_are_its_evaluations_in_at_most_sixty_calls():
    words = iter(f"inspection {word} of cranes" for word in ("brakes ropes hooks rails motors paint fog " * 3).split())

    def evaluate(_page: ParsedPrompt) -> Mapping[str, Any]:
        return {**never_content(_page), "next": {"goal": "g", "queries": [{"text": f"{next(words)} {next(NUMBERS)}"}]}}

    def scope(page: ParsedPrompt) -> Mapping[str, Any]:
        return {"reasoning": "r", **evaluate(page)["next"]}

    done = await run_over_wire("angles", {"plan": make_plan(SLUGS), "reflect": evaluate, "scope": scope})
    calls = [len(done.prompts(role)) for role in ("reflect", "scope")]
    assert sum(calls) == 3 * len(SLUGS), "one for each round: what shows no new fact is scoped, and not evaluated"
    assert len(done.asked) <= 60
    for slug in SLUGS:
        rounds = done.json(f"subagents/{slug}.json")["search_trajectory"]
        assert len(rounds) == 3
        assert rounds[0]["queries"] == [f"harbour cranes {slug.replace('-', ' ')}"]
        assert all(row["queries"][0].startswith("inspection ") for row in rounds[1:])


NUMBERS = map(str, count(100))
