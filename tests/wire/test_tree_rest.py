"""Iterations of a tree over the wire: a scout, and the tasks beside it, work again only where something is new."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest
from bench.model_server.scripted_model import ParsedPrompt
from tests.wire.methods import WireRun, run_over_wire
from tests.wire.test_tree import DUG, INSPECTED, LOAD, NEVER, make_flat_plan, make_plan, make_task

from corrobora.domain.run import EventType


def change_inspected(page: ParsedPrompt) -> dict[str, Any]:
    task = next(row.split(" | ")[0] for row in page.lines("Its tasks, each") if INSPECTED in row)
    return {"changes": [{"task": task, "queries": ["herring at the fish market"]}], "why": "Fish."}


def list_second_passes(done: WireRun) -> set[str]:
    begun = [event.path for event in done.run.journal.events if event.type is EventType.ROUND_STARTED]
    return {path.partition("/round")[0] for path in begun if "~2" in path}


async def test_tree_26_a_scout_and_the_tasks_beside_it_rest_where_a_refinement_left_them_alone():
    sweep = make_task("sources", "Sources on cranes", discovery=True, queries=["harbour cranes inspected"])
    phase = {"name": "agree", "themes": ["herring"], "max_iterations": 2}
    plan = make_plan(sweep, make_task("inspected", INSPECTED), make_task("load", LOAD), phases=[phase])
    done = await run_over_wire("tree", {"plan": plan, "refine": change_inspected})
    assert len(done.prompts("scout")) == 1
    assert list_second_passes(done) == {"root/2~2"}
    shortlists = [part for part in done.report.findings.children if part.linked and not part.rounds]
    assert shortlists, "what the scout found stands"


@pytest.mark.parametrize(("news", "passes"), [(False, {"root/1~2"}), (True, {"root/1~2", "root/2~2"})])
async def test_tree_26_new_sources_of_a_phase_are_news_to_all_tasks_and_known_ones_to_none(
    news: bool, passes: set[str]
):
    chosen: list[str] = []

    def choose(page: ParsedPrompt) -> Mapping[str, Any]:
        titles = [
            re.findall(r">([^<>]+)</data-\w+> (?:<data|Its scan)", block)[0] for block in page.text.split("\n- K")[1:]
        ]
        fitting = [title for title in titles if not chosen or (title in chosen) != news]
        chosen.append(fitting[0])
        scores = dict.fromkeys(("authority", "recency", "coverage", "diversity"), 0.5)
        label = f"K{titles.index(fitting[0]) + 1}"
        return {"sources": [{"candidate": label, **scores, "rationale": "It speaks of it."}]}

    phase = {"name": "agree", "themes": ["herring"], "max_iterations": 2, "discovery": True}
    plan = make_flat_plan(phases=[phase])
    done = await run_over_wire("tree", {"plan": plan, "refine": change_inspected, "scout": choose})
    assert len(chosen) == 2, "the phase looks for sources before each pass"
    assert list_second_passes(done) == passes


@pytest.mark.parametrize(("text", "emitted"), [("", False), (" Limitations: quays were not looked at.", True)])
async def test_tree_30_a_sure_reader_passes_on_what_a_source_names_only_under_a_condition(text: str, emitted: bool):
    """The limitations of a source count, however sure its quotes are and without a gap that the reader names."""
    quote = "Harbour cranes of Brenhaven must be inspected every 12 months."

    def extract(page: ParsedPrompt) -> Mapping[str, Any]:
        name = next((name for name, said in page.passages() if quote in said), "")
        quotes = [{"passage": name, "quote": quote, "confidence": 0.9}] if name else []
        raised = {"question": "Who inspects the quays?", "confidence": 0.8, "rationale": "It is left open."}
        return {"quotes": quotes, "follow_ups": [raised]}

    documents = {"rules.md": f"# Crane rules of Brenhaven\n\n{quote}{text}"}
    done = await run_over_wire("tree", {"plan": make_flat_plan(), "extract": extract}, documents=documents)
    assert done.report.findings.facts
    assert any("quays" in each.question for each in done.report.findings.follow_ups) is emitted


async def test_the_writer_is_told_what_a_gate_of_the_root_missed_and_what_its_refinement_wants_of_the_text():
    """The report is the synthesis of the root: what is asked of it, and what no pass has found, stand in its prompt."""
    phase = {"name": "agree", "themes": ["herring"], "max_iterations": 3}
    plan = make_plan(make_task("inspected", INSPECTED), make_task("load", LOAD), phases=[phase])
    refined = {"changes": [], "why": "Fish.", "synthesis": "Say that no herring was seen."}
    done = await run_over_wire("tree", {"plan": plan, "refine": refined})
    assert len(done.prompts("refine")) == 1
    [written] = done.prompts("synthesize")
    assert re.search(r"Asked-for form: <data-\w+>Say that no herring was seen\.</data", written)
    gaps = written.partition("Open gaps that no part names:")[2]
    assert "herring" in gaps.partition("</data")[0]
    assert [gap.text for gap in done.report.findings.gaps].count("herring") == 1
    assert "herring" in done.report.markdown.partition("## Gaps")[2].partition("##")[0]


@pytest.mark.parametrize("changes", [[], [{"task": "root/1", "queries": [INSPECTED.upper()]}]], ids=["none", "asked"])
async def test_tree_26_a_planner_that_changes_no_task_ends_the_phase_and_the_report_says_why(changes: list[Any]):
    """Nothing is searched or read again; the next phase begins."""
    plan = make_flat_plan(phases=[{**NEVER, "max_iterations": 4}, {**NEVER, "name": "sure", "max_iterations": 1}])
    done = await run_over_wire("tree", {"plan": plan, "refine": {"changes": changes, "why": "No rule was published."}})
    assert len(done.prompts("refine")) == 2, "one for each phase"
    begun = [event.path for event in done.run.journal.events if event.type is EventType.ROUND_STARTED]
    assert not [path for path in begun if "~" in path]
    note = "agree of 'all' ended after iteration 1, as its planner changed no task. Why: No rule was published."
    told = [line for line in done.report.markdown.split("\n") if "No rule was published." in line]
    assert any("agree of" in line and note.partition("ended")[2] in line for line in told), told
    logged = [event.data for event in done.run.journal.events if event.type is EventType.DECISION]
    assert [data["gate"] for data in logged if "No rule" in str(data.get("delta"))] == ["agree", "sure"]


async def test_tree_26_a_task_that_a_refinement_leaves_alone_rests_and_a_changed_one_remembers():
    phase = {"name": "agree", "themes": ["herring"], "max_iterations": 2}
    tasks = [make_task("cranes"), make_task("inspected", INSPECTED, "cranes"), make_task("dug", DUG, "cranes")]
    plan = make_plan(*tasks, make_task("load", LOAD), phases=[phase])

    def refine(page: ParsedPrompt) -> dict[str, Any]:
        task = next(row.split(" | ")[0] for row in page.lines("Its tasks, each") if INSPECTED in row)
        return {"changes": [{"task": task, "queries": ["herring at the fish market"]}], "why": "Fish."}

    done = await run_over_wire("tree", {"plan": plan, "refine": refine})
    assert len(done.prompts("refine")) == 1
    begun = [event.path for event in done.run.journal.events if event.type is EventType.ROUND_STARTED]
    assert {path for path in begun if "~2" in path} <= {path for path in begun if path.startswith("root/1~2/1")}
    assert [path for path in begun if "~2" in path], "the task that was changed works again"
    searched = [event for event in done.run.journal.events if event.type is EventType.SEARCH and "~2" in event.path]
    assert [event.data["query"] for event in searched] == ["herring at the fish market"], "not what it asked before"
    again = next(page for page in done.prompts("reflect") if "herring at the fish market" in page)
    before, _, after = again.partition("Round 1, research, pass 2")
    assert "must be inspected every 12 months" in before
    assert "must be inspected every 12 months" not in after, "what it has read is not sent twice"
    found = " ".join(fact.quote for fact in done.report.findings.facts)
    assert all(words in found for words in ("12 months", "35 tonnes", "1874")), "what the others found stands"


async def test_numbers_in_quotes_are_read_and_no_answer_is_asked_for_again():
    """Of a plan, whose unknown fields are refused, and of a reading, whose confidence would be lost."""
    phases = [{"name": "sure", "corroboration": "2", "minimum_confidence": "0.75", "max_iterations": "1"}]

    quote = "Harbour cranes of Brenhaven must be inspected every 12 months."

    def extract(page: ParsedPrompt) -> dict[str, Any]:
        found = [name for name, said in page.passages() if quote in said]
        return {"quotes": [{"passage": name, "quote": quote, "confidence": "0.85"} for name in found]}

    answers = {"plan": make_flat_plan(phases=phases), "extract": extract}
    done = await run_over_wire("tree", answers, documents={"rules.md": f"# Crane rules of Brenhaven\n\n{quote}"})
    [gate] = done.json("plan.json")["root"]["gates"]
    assert (gate["criteria"]["corroboration"], gate["criteria"]["minimum_confidence"]) == (2, 0.75)
    assert {fact.confidence for fact in done.report.findings.facts} == {0.85}
    assert not [each for each in done.asked if each.turns]


async def test_tree_26_what_an_iteration_asked_besides_in_vain_is_told_to_the_writer_though_it_is_left_out():
    """Else a report is silent on what its planner thought to matter, and nobody knows that it was looked for."""
    asked = "Which paint do submarines of the harbour need?"
    change = {"changes": [{"task": "root/1", "queries": ["submarines"], "sub_questions": [asked]}], "why": "the phase"}
    done = await run_over_wire("tree", {"plan": make_flat_plan(phases=[NEVER]), "refine": change})
    assert done.report.findings.left_out
    [prompt] = [each for each in done.prompts("synthesize") if "written: report" in each]
    assert asked in prompt


async def test_tree_27_a_planner_is_shown_no_link_to_what_was_read():
    """A shortlist that was read is worth no further reading, and stood in each refinement again."""
    sweep = make_task("sources", "Sources on cranes", discovery=True, queries=["harbour cranes inspected"])
    phase = {"name": "agree", "themes": ["herring"], "max_iterations": 2}
    plan = make_plan(sweep, make_task("inspected", INSPECTED), make_task("load", LOAD), phases=[phase])
    done = await run_over_wire("tree", {"plan": plan, "refine": change_inspected})
    [prompt] = done.prompts("refine")
    shortlist = {link.reference for part in done.report.findings.children for link in part.linked}
    rows = re.findall(r"^L\d+ \| (\S+) ", prompt, re.MULTILINE)
    readings = [each for part in done.report.findings.children for one in part.rounds for each in one.readings]
    assert shortlist & {each.source for each in readings}
    assert not set(rows) & {name for each in readings for name in (each.source, each.hit.url)}


def make_books(count: int) -> dict[str, str]:
    """Long documents on the same thing: no reading has room for all of them in one call."""

    def list_lines(crane: str) -> str:
        return " ".join(f"Line {n} of the book on crane {crane} tells who inspected it on day {n}." for n in range(400))

    rule = "Harbour cranes of Brenhaven of class {0} must be inspected every 12 months."
    return {f"{c}.md": f"# Crane {c}\n\n{rule.format(c)} {list_lines(c)}\n" for c in "ABCDEFGHIK"[:count]}


def make_limited_plan(tokens: int) -> dict[str, Any]:
    spec = {"questions": [INSPECTED], "expected_format": "", "acceptance_criteria": "", "budget": f"{tokens} tokens"}
    return make_plan(make_task("inspected", INSPECTED, specs=[spec]))


def list_skipped(done: WireRun) -> list[str]:
    readings = (reading for each in done.report.findings.rounds for reading in each.readings)
    return [each.note for each in readings if each.outcome == "skipped"]


async def test_tree_16_a_reading_waits_where_only_another_one_in_flight_leaves_its_task_too_few_tokens():
    """Two readings begin at the same time; each is reserved with its longest answer, and takes far less."""
    answers = {"plan": make_limited_plan(27_500), "extract": {"quotes": []}}
    done = await run_over_wire("tree", answers, documents=make_books(10), max_rounds=1, reads_per_round=10)
    assert len(done.prompts("extract")) == 2
    assert not list_skipped(done)


async def test_tree_16_the_tokens_of_a_task_are_counted_by_what_its_model_is_sent():
    """What a role is given holds each fact several times and what no prompt shows: half of the tokens were refused."""
    done = await run_over_wire("tree", {"plan": make_limited_plan(12_500)}, documents=make_books(2), max_rounds=1)
    assert [len(done.prompts(role)) for role in ("extract", "reflect")] == [1, 1]
    assert not list_skipped(done)
    usage = done.report.findings.usage
    assert 0 < usage.input_tokens + usage.output_tokens <= 12_500
    done = await run_over_wire("tree", {"plan": make_limited_plan(6_000)}, documents=make_books(2), max_rounds=1)
    assert set(list_skipped(done)) == {"the tokens of its task are spent"}


async def test_tree_27_the_readers_of_a_sibling_are_given_the_spec_that_a_refinement_put_in_place_of_the_old_one():
    """Both tasks change; the second one, which has no spec, opens a document that nobody has read."""
    old, new = ({"questions": [INSPECTED], "expected_format": form} for form in ("a table of dates", "one interval"))
    queries = [("root/1", "harbour cranes inspected", [new]), ("root/2", "fish market herring opens", [])]
    changes = [{"task": task, "queries": [text], "specs": specs} for task, text, specs in queries]
    plan = make_plan(
        make_task("inspected", INSPECTED, specs=[old], max_rounds=1),
        make_task("load", LOAD, max_rounds=1),
        phases=[{**NEVER, "max_iterations": 2}],
    )
    done = await run_over_wire("tree", {"plan": plan, "refine": {"changes": changes, "why": "One will do."}})
    shared = [page for page in done.prompts("extract") if "For sq-" in page and "Task specification:" in page]
    first = next(at for at, page in enumerate(shared) if "one interval" in page)
    assert first, "before the refinement readers are given the spec of the plan"
    assert all("a table of dates" in page for page in shared[:first])
    assert not any("a table of dates" in page for page in shared[first:])
