"""The research tree over the wire: what a planner may write takes effect, byte for byte, and nothing else."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import pytest
from bench.model_server.scripted_model import ParsedPrompt
from tests.profiles.research import Mixed, make_run
from tests.wire.methods import run_over_wire

from corrobora.domain.evidence import ReadOutcome
from corrobora.domain.plan import Plan
from corrobora.domain.report import Findings
from corrobora.domain.run import EventType
from corrobora.domain.thread import StopReason
from corrobora.policies.intake import read_suggested

INSPECTED = "How often must the harbour cranes of Brenhaven be inspected?"
LOAD = "What load may a crane of class B lift?"
DUG = "When was the harbour of Brenhaven dug?"
NEVER = {"name": "agree", "corroboration": 9, "max_iterations": 3}


def make_task(key: str, text: str = "", parent: str = "", /, **fields: Any) -> dict[str, Any]:
    asked = [text] if text else []
    task = {"key": key, "title": text or key, "objective": text or key, "queries": asked, "sub_questions": asked}
    return {**task, "parent": parent, **fields}


def make_plan(*tasks: Mapping[str, Any], **fields: Any) -> dict[str, Any]:
    return {"tier": "moderate", "tasks": [*tasks], **fields}


def make_flat_plan(**fields: Any) -> dict[str, Any]:
    return make_plan(make_task("inspected", INSPECTED), make_task("load", LOAD), **fields)


def list_deltas(found: Findings) -> list[str]:
    return [*found.delta, *(line for child in found.children for line in list_deltas(child))]


def read_sources(found: Findings) -> list[str]:
    readings = (reading for done in found.rounds for reading in done.readings if not reading.again)
    return [str(reading.source) for reading in readings if reading.source]


async def test_tree_19_a_model_gives_the_root_of_a_flat_plan_several_phases_with_all_their_fields():
    first = {**NEVER, "themes": ["herring"], "contradictions_resolved": True, "minimum_confidence": 0.9}
    second = {"name": "sure", "corroboration": 1, "budget_seconds": 90.5, "budget_tokens": 70_000, "max_iterations": 2}
    done = await run_over_wire("tree", {"plan": make_flat_plan(phases=[first, second])})
    gates = done.json("plan.json")["root"]["gates"]
    assert [gate["name"] for gate in gates] == ["agree", "sure"]
    assert gates[0]["criteria"] == {
        "corroboration": 9, "themes": ["herring"], "contradictions_resolved": True, "minimum_confidence": 0.9,
    }  # fmt: skip
    assert (gates[1]["budget_seconds"], gates[1]["budget_tokens"], gates[1]["max_iterations"]) == (90.5, 70_000, 2)
    assert "theme not covered: herring" in done.prompts("refine")[0]
    assert len([line for line in done.report.findings.delta if line.startswith("agree, ")]) == 2


async def test_tree_17_the_tokens_of_a_phase_of_a_model_end_its_iterations():
    phases = [{**NEVER, "budget_tokens": 1}]
    done = await run_over_wire("tree", {"plan": make_flat_plan(phases=phases)})
    assert done.report.markdown
    assert not done.prompts("refine")


@pytest.mark.parametrize("place", ["plan", "task", "phase", "spec"])
async def test_tree_19_an_unknown_field_of_a_plan_is_refused_and_told(place: str):
    odd = {"budget_second": 5}
    spec = {"questions": [INSPECTED], **(odd if place == "spec" else {})}
    task = make_task("inspected", INSPECTED, **{"specs": [spec], **(odd if place == "task" else {})})
    phases = [{"name": "one", **(odd if place == "phase" else {})}]
    wrong = make_plan(task, make_task("load", LOAD), phases=phases, **(odd if place == "plan" else {}))
    given = iter([wrong, make_flat_plan()])
    done = await run_over_wire("tree", {"plan": lambda _: next(given)})
    [repair] = [each for each in done.asked if each.turns]
    assert "budget_second" in repair.user
    assert "extractive" not in done.report.methodology.analyst


async def test_tree_15_16_every_field_of_a_spec_of_a_model_reaches_the_readers_as_it_was_written():
    spec = {
        "questions": ["How  often\tmust it be — «inspected»?", INSPECTED],
        "expected_format": "a table;  two columns",
        "acceptance_criteria": "≥ 2 sources agree",
        "priority": 7,
        "budget": "3 sources",
        "discovery_intense": True,
    }
    plan = make_plan(make_task("inspected", INSPECTED, specs=[spec]), make_task("load", LOAD))
    done = await run_over_wire("tree", {"plan": plan})
    told = [prompt for prompt in done.prompts("extract") if "Task specification:" in prompt]
    assert told
    lines = [f"question: {text}" for text in spec["questions"]]
    lines += ["expected format: a table;  two columns", "acceptance criteria: ≥ 2 sources agree", "priority: 7"]
    wanted = "\n".join([*lines, "budget: 3 sources", "discovery intense: yes"])
    assert all(wanted in prompt for prompt in told)
    judged = [prompt for prompt in done.prompts("reflect") if "accepted only if: ≥ 2 sources agree" in prompt]
    assert judged, "who judges the answers sees what the planner accepts"
    assert len(judged) < len(done.prompts("reflect"))


async def test_tree_16_the_first_priority_is_read_for_first_and_the_budget_ends_the_reading():
    specs = [
        {"questions": ["Who keeps the record?"], "priority": 5, "budget": "1 source"},
        {"questions": [INSPECTED], "priority": 1, "budget": "1 source"},
    ]
    plan = make_plan(make_task("inspected", INSPECTED, specs=specs), make_task("dug", DUG))
    done = await run_over_wire("tree", {"plan": plan})
    told = next(prompt for prompt in done.prompts("extract") if "Task specification:" in prompt)
    assert told.index("priority: 1") < told.index("priority: 5")
    bounded, free = done.report.findings.children
    assert len(read_sources(bounded)) == 2
    assert bounded.stop == "limit" or len(bounded.rounds) == 1
    assert len(read_sources(free)) > 2


async def test_tree_21_a_phase_that_asks_for_sources_starts_a_scout_whose_list_is_read():
    chosen: list[str] = []

    def choose_fish(page: ParsedPrompt) -> Mapping[str, Any]:
        labels = re.findall(r"^- (K\d+), cluster", page.text, re.MULTILINE)
        chosen.append(page.text)
        scores = dict.fromkeys(("authority", "recency", "coverage", "diversity"), 0.5)
        return {"sources": [{"candidate": labels[-1], **scores, "rationale": "the last one"}]}

    phases = [{"name": "look", "corroboration": 9, "max_iterations": 2, "discovery": True}]
    done = await run_over_wire("tree", {"plan": make_flat_plan(phases=phases), "scout": choose_fish})
    scouts = [found for found in done.report.findings.children if found.linked and not found.rounds]
    assert len(chosen) == 2, "one for each iteration of the phase"
    assert scouts, "the list of an iteration that came closer is kept"
    reference = scouts[0].linked[0].reference
    leaves = [found for found in done.report.findings.children if found.rounds]
    assert any(read_sources(found)[:1] == [reference] for found in leaves)
    without = await run_over_wire("tree", {"plan": make_flat_plan(phases=[{**phases[0], "discovery": False}])})
    assert not without.prompts("scout")


async def test_tree_27_a_refinement_changes_questions_specs_and_synthesis():
    changes = [
        {
            "task": "root/1/1",
            "queries": ["the harbour of Brenhaven was dug"],
            "sub_questions": [DUG],
            "specs": [{"questions": [DUG], "expected_format": "a year"}],
        }
    ]
    refined = {"changes": changes, "why": "It asks for the year.", "synthesis": "Name the year first."}
    topic = make_task("cranes", phases=[{**NEVER, "max_iterations": 2}])
    plan = make_plan(topic, make_task("inspected", INSPECTED, "cranes"), make_task("load", LOAD, "cranes"))
    plan["tasks"].append(make_task("fish", "When does the fish market open?"))
    done = await run_over_wire("tree", {"plan": plan, "refine": refined})
    assert any("expected format: a year" in prompt for prompt in done.prompts("extract"))
    assert any("Name the year first." in prompt for prompt in done.prompts("synthesize"))
    asked = {question.text: question for question in done.report.findings.sub_questions}
    assert asked[DUG].standing == "ANSWERED"
    assert "1874" in done.report.markdown


async def test_tree_27_an_unknown_field_of_a_refinement_is_refused():
    phases = [{**NEVER, "max_iterations": 2}]
    wrong = {"changes": [], "why": "x", "max_depth": 9}
    done = await run_over_wire("tree", {"plan": make_flat_plan(phases=phases), "refine": wrong})
    [repair] = [each for each in done.asked if each.turns]
    assert "max_depth" in repair.user


async def test_tree_39_all_calls_of_a_sweep_stay_within_its_tokens():
    limit = 12_000
    sweep = make_task("sources", "Sources on cranes", discovery=True, phases=[{"budget_tokens": limit}])
    plan = make_plan(sweep, make_task("inspected", INSPECTED), make_task("load", LOAD))
    done = await run_over_wire("tree", {"plan": plan})
    roles = [each.system.rpartition("# Role: ")[2].partition("\n")[0] for each in done.asked]
    assert roles[:3] == ["clarify", "plan", "scope"], "one query of the planner is not enough for two tasks"
    until = roles.index("scout") if "scout" in roles else next(n for n, role in enumerate(roles) if role == "reflect")
    sent = sum(len(each.system) + len(each.user) for each in done.asked[2 : until + 1]) // 4
    assert 0 < sent <= limit
    scout = done.report.findings.children[0]
    assert 0 < scout.usage.input_tokens + scout.usage.output_tokens <= limit
    assert scout.linked
    for tokens in (1, 3_000):
        sweep["phases"] = [{"budget_tokens": tokens}]
        done = await run_over_wire("tree", {"plan": plan})
        scout = done.report.findings.children[0]
        assert scout.usage.input_tokens + scout.usage.output_tokens <= tokens
        assert scout.linked, "the analyst that costs nothing ranks what was found"


@pytest.mark.parametrize("role", ["synthesize", "refine"])
async def test_tree_26_an_engine_error_in_a_phase_keeps_all_findings_and_still_writes(role: str):
    asked = [{"title": INSPECTED}, {"title": DUG}]
    topic = {"title": "cranes", "gates": [{"corroboration": 9, "max_iterations": 3}], "children": asked}
    tree = read_suggested(json.dumps({"title": "all", "children": [topic, {"title": LOAD}]}))
    below = "root/1"

    def fail(given: Any) -> Exception | None:
        return RuntimeError("a bug") if given.path.startswith(below) and given.path != "root" else None

    analyst = Mixed({"plan": Plan(tree), role: fail}, name="broken")
    run = await make_run("tree", analysts=(analyst,))
    report = await run.research()
    assert "35 tonnes" in report.markdown
    assert "12 months" in report.markdown
    assert any("a bug" in note for note in report.methodology.notes) or "a bug" in report.markdown
    assert any(event.type is EventType.LEAF_FAILED for event in run.journal.events)


async def test_tree_37_a_shortlist_is_a_file_with_its_tags_as_fields():
    scores = {"authority": 0.9, "recency": 0.2, "coverage": 0.7, "diversity": 0.4}
    chosen = {"candidate": "K1", **scores, "rationale": "the rule itself", "balance": ["inspection"]}
    left = {"candidate": "K2", "reason": "a copy"}
    answer = {"sources": [chosen], "excluded": [left], "balance": "rules only"}
    sweep = make_task("sources", "Sources on cranes", discovery=True)
    plan = make_plan(sweep, make_task("inspected", INSPECTED), make_task("load", LOAD))
    done = await run_over_wire("tree", {"plan": plan, "scout": answer})
    kept = done.json("shortlist-1.json")
    assert kept["objective"] == "Sources on cranes"
    assert kept["balance"] == "rules only"
    [source] = kept["sources"]
    assert {name: source[name] for name in scores} == scores
    assert (source["rationale"], source["balance"]) == ("the rule itself", ["inspection"])
    assert source["reference"]
    assert kept["excluded"][0][1] == "a copy"


async def test_tree_20_the_leaves_read_the_shortlist_of_a_discovery_leaf_first():
    def choose_fish(page: ParsedPrompt) -> Mapping[str, Any]:
        label = re.findall(r"^- (K\d+), cluster[^\n]*", page.text, re.MULTILINE)[-1]
        scores = dict.fromkeys(("authority", "recency", "coverage", "diversity"), 0.5)
        return {"sources": [{"candidate": label, **scores, "rationale": "unlikely, but chosen"}]}

    sweep = make_task("sources", "Sources on cranes", discovery=True, queries=["fish market herring cod cranes"])
    plan = make_plan(sweep, make_task("inspected", INSPECTED), make_task("load", LOAD))
    done = await run_over_wire("tree", {"plan": plan, "scout": choose_fish})
    scout, *leaves = done.report.findings.children
    [chosen] = [link.reference for link in scout.linked]
    assert [read_first(found) for found in leaves] == [chosen] * 2


def read_first(found: Findings) -> str:
    """The source whose reading was asked for first: a given one has the rank of a given one."""
    given = [reading for reading in found.rounds[0].readings if reading.hit.provider == "given"]
    return str(given[0].hit.source) if given else ""


async def test_tree_20_a_shortlist_reaches_the_leaves_below_its_neighbours_with_what_the_scout_saw():
    sweep = make_task("sources", "Sources on cranes", discovery=True, queries=["harbour cranes inspected"])
    topic, leaf = make_task("cranes"), make_task("inspected", INSPECTED, "cranes")
    plan = make_plan(sweep, topic, leaf, make_task("load", LOAD, "cranes"), make_task("dug", DUG))
    shown: list[ParsedPrompt] = []

    def choose_first(page: ParsedPrompt) -> Mapping[str, Any]:
        shown.append(page)
        scores = dict.fromkeys(("authority", "recency", "coverage", "diversity"), 0.5)
        return {"sources": [{"candidate": "K1", **scores, "rationale": "the rule itself"}]}

    done = await run_over_wire("tree", {"plan": plan, "scout": choose_first})
    scout, cranes, _ = done.report.findings.children
    [chosen] = [link.reference for link in scout.linked]
    assert [read_first(found) for found in cranes.children] == [chosen] * 2
    own = re.compile(rf"This line of research:\n<data-\w+>{re.escape(INSPECTED)}</data")
    assert len(done.prompts("scope")) == 1, "for the sweep; what it saw is no surprise, and the leaves have queries"
    first = next(page for page in done.prompts("reflect") if own.search(page))
    assert "must be inspected every 12 months" in first.partition("or found for other tasks")[2], (
        "the thread begins with what the scout saw for it"
    )
    titles = [
        re.findall(r">([^<>]+)</data-\w+> (?:<data|Its scan)", block) for block in shown[0].text.split("\n- K")[1:]
    ]
    assert len({each[0] for each in titles}) == len(titles), "no candidate has the title of another one"


async def test_tree_18_a_phase_is_not_over_while_the_model_says_that_a_question_is_not_answered():
    """However many sources speak of it; the refiner is told what is missing, and what was found so far."""
    asked = 0

    def reflect(page: ParsedPrompt) -> Mapping[str, Any]:
        nonlocal asked
        ids = {text: name for name, text in page.questions()}
        told = {"summary": "s", "reasoning": "r", "done": True}
        if INSPECTED in ids:
            asked += 1
            gap = {"text": "who inspects the cranes of the outer mole", "target": ids[INSPECTED]}
            return {**told, "answered": [] if asked == 1 else list(ids.values()), "gaps": [gap] if asked == 1 else []}
        return {**told, "answered": list(ids.values()), "gaps": []}

    tasks = [make_task(key, text, max_rounds=1) for key, text in (("inspected", INSPECTED), ("load", LOAD))]
    phase = {"name": "answer", "max_iterations": 3}

    def refine(page: ParsedPrompt) -> Mapping[str, Any]:
        task = next(row.split(" | ")[0] for row in page.lines("Its tasks, each") if INSPECTED in row)
        return {"changes": [{"task": task, "queries": ["inspectors of the outer mole"]}], "why": "Who."}

    answers = {"plan": make_plan(*tasks, phases=[phase]), "reflect": reflect, "refine": refine}
    done = await run_over_wire("tree", answers)
    [prompt] = done.prompts("refine")
    assert "not answered yet" in prompt.partition("these criteria are unmet")[2]
    assert "who inspects the cranes of the outer mole" in prompt.partition("these criteria are unmet")[2]
    assert "must be inspected every 12 months" in prompt.partition("Found so far")[2]
    assert all(each.standing == "ANSWERED" for each in done.report.findings.sub_questions)
    assert not done.report.findings.gaps


async def test_tree_22_each_level_of_a_plan_is_worked_on_by_an_executor_of_its_own():
    plan = make_plan(
        make_task("cranes"),
        make_task("rules", "", "cranes"),
        make_task("inspected", INSPECTED, "rules"),
        make_task("load", LOAD, "rules"),
        make_task("dug", DUG, "cranes"),
        make_task("fish", "When does the fish market open?"),
    )
    done = await run_over_wire("tree", {"plan": plan})
    cranes, fish = done.report.findings.children
    rules, dug = cranes.children
    assert [found.path for found in rules.children] == ["root/1/1/1", "root/1/1/2"]
    assert all(found.rounds for found in (*rules.children, dug, fish))
    gathered = [re.findall(r"working title <data-\w+>([^<]*)", prompt) for prompt in done.prompts("synthesize")]
    assert gathered[:2] == [["rules"], ["cranes"]], "the inner executor ends before the outer one"


async def test_tree_29_a_fact_keeps_the_claim_and_the_confidence_of_its_extractor():
    quote = "Harbour cranes of Brenhaven must be inspected every 12 months"

    def extract(page: ParsedPrompt) -> Mapping[str, Any]:
        rows = re.findall(r"Passage (C\d+)", page.text)
        if quote not in page.text or not rows:
            return {"quotes": []}
        name = next((name for name, text in page.passages() if quote in text), rows[0])
        claim = "The cranes must be looked at once a year."
        return {"quotes": [{"passage": name, "quote": quote, "claim": claim, "confidence": 0.37}]}

    done = await run_over_wire("tree", {"plan": make_flat_plan(), "extract": extract})
    facts = [fact for fact in done.report.findings.facts if fact.quote == quote]
    assert facts
    assert {(fact.claim, fact.confidence) for fact in facts} == {("The cranes must be looked at once a year.", 0.37)}
    assert all(fact.url == "rules-2019.md" and fact.passage for fact in facts)


async def test_tree_34_the_writer_is_told_what_differs_between_sources():
    def find_difference(page: ParsedPrompt) -> Mapping[str, Any]:
        facts = {fact.quote: fact.id for fact in page.facts() if "months" in fact.quote}
        pair = list(facts.values())[:2]
        said = {"summary": "s", "reasoning": "r", "answered": [], "gaps": [], "done": True}
        if len(pair) < 2:
            return said
        differs = {"a": pair[0], "b": pair[1], "claim": "the interval of inspection", "difference": "24 -> 12 months"}
        return {**said, "contradictions": [differs]}

    plan = make_plan(make_task("inspected", INSPECTED), make_task("dug", DUG))
    done = await run_over_wire("tree", {"plan": plan, "reflect": find_difference})
    [prompt] = [each for each in done.prompts("synthesize") if "written: report" in each]
    assert "24 -> 12 months" in prompt
    assert "the interval of inspection" in prompt


@pytest.mark.parametrize("budget", ["4,000 tokens", "9 sources"])
async def test_tree_16_the_tokens_of_a_spec_end_what_a_model_is_asked_for_its_leaf(budget: str):
    spec = {"questions": [INSPECTED], "budget": budget}
    plan = make_plan(make_task("inspected", INSPECTED, specs=[spec]), make_task("load", LOAD))
    done = await run_over_wire("tree", {"plan": plan})
    bounded, free = done.report.findings.children
    spent = bounded.usage.input_tokens + bounded.usage.output_tokens
    # A call is reserved with its longest answer, so that 4,000 tokens allow one reading.
    assert (spent <= 2_500, spent > 0) == ("tokens" in budget, True), spent
    assert free.usage.input_tokens > 1_000
    assert done.report.markdown


async def test_tree_16_what_the_tokens_of_a_spec_do_not_pay_for_is_left_unread_and_told():
    """A weaker reader would read it for everybody: what it takes for an answer stands beside what a model found."""
    spec = {"questions": [INSPECTED], "budget": "3,000 tokens"}
    plan = make_plan(make_task("inspected", INSPECTED, specs=[spec]), make_task("load", LOAD))
    done = await run_over_wire("tree", {"plan": plan})
    bounded, _ = done.report.findings.children
    readers = {each.by for each in bounded.played if each.role == "extract"}
    assert "extractive" not in readers, readers
    left = [each for done in bounded.rounds for each in done.readings if each.outcome is ReadOutcome.SKIPPED]
    assert {each.note for each in left} == {"the tokens of its task are spent"}, left
    assert (len(bounded.rounds), bounded.stop) == (1, StopReason.LIMIT), "no model would read in another round"


async def test_tree_27_a_refinement_may_name_a_task_without_the_number_of_its_pass():
    change = {"changes": [{"task": "root/1", "queries": ["harbour cranes"]}], "why": "other words"}
    done = await run_over_wire("tree", {"plan": make_flat_plan(phases=[NEVER]), "refine": change})
    assert len(done.prompts("refine")) == 2
    assert not [each for each in done.asked if each.turns], "no answer is asked for again"
