"""Profile `angles`: the lead agent and its sub-agents by angle."""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import replace
from itertools import combinations
from typing import Any

import pytest
from tests.profiles.angles import angles, checked, lead, plan_of
from tests.profiles.meeting import Meeting
from tests.profiles.research import DOCUMENTS, QUESTION, Mixed, make_run

from corrobora.domain.errors import ProviderError, UserError
from corrobora.domain.evidence import Query
from corrobora.domain.limits import Usage
from corrobora.domain.plan import Node, collect_leaves
from corrobora.domain.report import Outcome
from corrobora.domain.thread import Intent, Proposal
from corrobora.policies.intake import ANGLE_SLUGS, CANONICAL_ANGLES, angle_range
from corrobora.policies.queries import is_near_duplicate
from corrobora.storage.postgres import Database

TOPICS = (
    "password rotation guidance",
    "How do zero-knowledge proofs scale, what do they cost, and where do they fail?",
    "offshore wind turbine maintenance, its cost, accidents, suppliers, and the state of automation in 2025",
    "CRISPR off-target effects and their detection",
    "What changed in the EU AI Act between the proposal and the final text?",
    "solid-state batteries",
    "Effects of remote work on city centres, rents, transport, tax income, and retail",
    "history and future of container shipping",
    "Compare PostgreSQL and SQLite for embedded use",
    "microplastics in drinking water: sources, measurement, health effects, filters, law, and open debates",
    "Who audits election software?",
    "the Antikythera mechanism",
)


@pytest.mark.parametrize("topic", TOPICS)
def test_angles_4_5_tier_and_number_of_sub_agents_follow_the_scaling_rules(topic: str):
    made = lead(topic)
    low, high = angle_range(made.tier)
    assert low <= len(collect_leaves(made.root)) <= high


def test_angles_5_the_rules_are_1_and_2_to_4_and_5_to_7():
    assert [angle_range(tier) for tier in ("simple", "moderate", "complex")] == [(1, 1), (2, 4), (5, 7)]


async def test_angles_4_the_heuristic_is_a_hint_and_the_lead_decides():
    run, analyst = await angles(plan_of(*ANGLE_SLUGS[:6], tier="complex"), question="What is a crane?")
    await run.research()
    assert analyst.given("plan")[0].complexity_hint == "simple"
    assert json.loads(run.files["lead_agent_plan.json"])["tier"] == "complex"
    assert len([name for name in run.files if name.startswith("subagents/")]) == 6


@pytest.mark.parametrize(("tier", "count", "kept"), [("simple", 3, 1), ("moderate", 7, 4), ("complex", 7, 7)])
def test_angles_5_a_lead_that_breaks_its_tier_is_clamped_with_a_note(tier: str, count: int, kept: int):
    made = checked(plan_of(*ANGLE_SLUGS[:count], tier=tier))
    assert len(collect_leaves(made.root)) == kept
    assert (kept < count) is any("over the limit" in note for note in made.notes)


def test_angles_5_a_tier_larger_than_its_plan_is_corrected_with_a_note():
    made = checked(plan_of(*ANGLE_SLUGS[:3], tier="complex"))
    assert made.tier == "moderate"
    assert any("tier" in note for note in made.notes)


@pytest.mark.parametrize("topic", TOPICS)
def test_angles_6_tasks_are_structured_and_not_vague(topic: str):
    tasks = collect_leaves(lead(topic).root)
    for each in tasks:
        assert len(each.objective.split()) >= 5
        assert each.output_format
        assert each.angle in ANGLE_SLUGS
        assert each.queries
        assert len(tasks) == 1 or all(o.title.partition(":")[0] in each.out_of_scope for o in tasks if o is not each)


def duplicate_queries(tasks: tuple[Node, ...] | list[Node]) -> list[str]:
    pairs = ((query, other) for a, b in combinations(tasks, 2) for query in a.queries for other in b.queries)
    return [query for query, other in pairs if is_near_duplicate(query, other)]


@pytest.mark.parametrize("topic", TOPICS)
def test_angles_simulation_no_two_tasks_share_a_query_or_an_objective(topic: str):
    tasks = collect_leaves(lead(topic).root)
    assert duplicate_queries(tasks) == []
    assert not any(is_near_duplicate(a.objective, b.objective) for a, b in combinations(tasks, 2))
    assert len({each.angle for each in tasks}) == len(tasks)


@pytest.mark.parametrize("topic", TOPICS)
async def test_angles_simulation_holds_for_a_model_that_repeats_itself(topic: str):
    """A scripted model gives every task the topic as its query: what is run has no duplicate."""
    made = plan_of(*ANGLE_SLUGS, tier="complex", queries=(topic, f"{topic} overview"))
    run, _ = await angles(made, question=topic, documents={"fish.md": DOCUMENTS["fish.md"]})
    await run.research()
    kept = json.loads(run.files["plan.json"])["root"]["children"]
    nodes = [Node(each["path"], "", each["objective"], queries=tuple(each["queries"])) for each in kept]
    assert len(nodes) == 7
    assert all(node.queries for node in nodes)
    assert duplicate_queries(nodes) == []


def test_angles_8_seven_canonical_angles():
    titles = [angle.title for angle in CANONICAL_ANGLES]
    assert len(titles) == 7
    assert "Background and prior work" in titles
    assert all(angle.guidance for angle in CANONICAL_ANGLES)


async def test_angles_dynamic_angles_are_invented_without_the_cap_of_seven():
    slugs = tuple(
        f"part-{n}-{word}" for n, word in enumerate("brakes load law cost crew rust wind noise paint".split())
    )
    run, analyst = await angles(plan_of(*slugs), dynamic_angles=True)
    await run.research()
    assert analyst.given("plan")[0].dynamic_angles
    assert analyst.given("plan")[0].max_leaves > 9
    assert len([name for name in run.files if name.startswith("subagents/")]) == 9
    invented = lead(TOPICS[6], dynamic_angles=True, max_leaves=12)
    assert {each.angle for each in collect_leaves(invented.root)} - set(ANGLE_SLUGS)
    with pytest.raises(UserError):
        checked(plan_of(*slugs))


async def test_angles_13_14_wide_first_then_narrow_up_to_max_search_rounds():
    unsure = Proposal("more", done=False, next_topic="worn brakes of harbour cranes", judged=True)
    run, analyst = await angles(plan_of("background", "limitations-risks"), {"reflect": unsure})
    report = await run.research()
    for child in report.findings.children:
        assert [r.phase for r in child.rounds] == ["broad", "narrow", "narrow"]
        assert all(len(r.intent.queries) == 1 for r in child.rounds)
        assert len({q.text for r in child.rounds for q in r.intent.queries}) == 3
    first = next(given for given in analyst.given("scope") if given.path == "root/1/round/1")
    assert first.suggested == ("Background and prior work of Brenhaven cranes",)
    later = [given for given in analyst.given("scope") if given.path.startswith("root/1/") and given.round > 1]
    assert all(given.next_topic == "worn brakes of harbour cranes" for given in later)


async def test_angles_13_one_narrow_round_follows_however_content_the_model_is():
    run, _ = await angles(plan_of("background", "limitations-risks"), {"reflect": Proposal("all clear", done=True)})
    report = await run.research()
    assert [len(child.rounds) for child in report.findings.children] == [2, 2]


async def test_angles_the_lead_sets_the_rounds_of_a_sub_agent():
    made = plan_of("background", "limitations-risks")
    children = (replace(made.root.children[0], max_rounds=1), replace(made.root.children[1], max_rounds=5))
    made = replace(made, root=replace(made.root, children=children))
    unsure = Proposal("more", done=False, judged=True)
    run, _ = await angles(made, {"reflect": unsure})
    report = await run.research()
    assert [len(child.rounds) for child in report.findings.children] == [1, 5]


async def test_angles_average_of_search_rounds_is_at_least_two():
    total = []
    for topic in (QUESTION, "harbour cranes of Brenhaven and their accidents, rules, history and load"):
        run = await make_run("angles", question=topic)
        await run.research()
        total.append(json.loads(run.files["cost_estimate.json"])["average_search_rounds"])
    assert min(total) >= 2


async def test_angles_17_summaries_carry_markers_of_source_and_passage():
    run, _ = await angles(plan_of("background", "limitations-risks"))
    await run.research()
    stored = [json.loads(text) for name, text in run.files.items() if name.startswith("subagents/")]
    for each in stored:
        assert re.search(r"\[S\d+:C\d+\]", each["summary"])
        assert each["citations"]


async def test_angles_19_sub_agents_work_in_parallel_and_share_no_context():
    together = Meeting(7)

    class Busy(Mixed):
        async def play(self, role: Any, given: Any) -> Any:
            if role.prompt == "scope":
                await together.join()
            return await super().play(role, given)

    analyst = Busy({"plan": plan_of(*ANGLE_SLUGS, tier="complex")})
    run = await make_run("angles", analysts=(analyst,))
    await run.research()
    assert together.most == 7
    own = {given.path.split("/")[1]: {q.id for q in given.sub_questions} for given in analyst.given("reflect")}
    assert sum(map(len, own.values())) == len(set[str]().union(*own.values())), "no question belongs to two"
    for given in analyst.given("reflect"):
        assert {a for fact in given.facts for a in fact.answers} <= own[given.path.split("/")[1]]


async def test_angles_19_each_search_has_a_connection_of_its_own(database: Database):
    """What the library searches through: parallel statements run on different connections."""
    waiting = (
        "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
        " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
    )
    passing = "SELECT pg_backend_pid(), pg_advisory_xact_lock_shared(4)"
    async with database.connection() as gate, asyncio.TaskGroup() as group:
        await gate.execute("SELECT pg_advisory_lock(4)")
        asked = [group.create_task(database.fetch_one(passing)) for _ in range(3)]
        while await (await gate.execute(waiting)).fetchone() != (3,):  # noqa: ASYNC110 - the server tells nobody
            await asyncio.sleep(0.01)
        await gate.execute("SELECT pg_advisory_unlock(4)")
    assert len({row[0] for each in asked if (row := each.result()) is not None}) == 3


async def test_angles_a_failed_sub_agent_is_a_sentinel_and_its_angle_is_named():
    def broken(given: Any) -> Any:
        return ProviderError.request_failed("search", status=500) if given.path.startswith("root/2/") else None

    run, _ = await angles(plan_of("background", "limitations-risks"), {"scope": broken})
    report = await run.research()
    assert report.outcome in (Outcome.COMPLETE, Outcome.PARTIAL, Outcome.PASSAGES)
    assert report.markdown
    failed = json.loads(run.files["subagents/limitations-risks.json"])
    assert failed["failed"]
    assert failed["task"]["objective"] == "Find Limitations, risks, and failure modes of the cranes"
    assert "Limitations, risks, and failure modes" in report.markdown
    assert any("Limitations" in each for each in report.methodology.uncovered)


async def test_angles_at_least_one_sub_agent_must_succeed():
    run, _ = await angles(
        plan_of("background", "limitations-risks"), {"scope": ProviderError.request_failed("x", status=500)}
    )
    report = await run.research()
    assert report.citations == ()
    assert report.outcome is Outcome.NO_EVIDENCE, "exit 6"
    assert "2 parts failed" in report.reason
    assert "2 parts failed and nothing was found" in run.files["report.md"]


async def test_angles_18_22_the_result_of_a_sub_agent_has_its_full_trajectory():
    run, _ = await angles(plan_of("background", "limitations-risks"))
    await run.research()
    assert {"subagents/background.json", "subagents/limitations-risks.json"} <= set(run.files)
    stored = json.loads(run.files["subagents/background.json"])
    assert stored["angle"] == "background"
    assert stored["chunks"]
    for number, each in enumerate(stored["search_trajectory"], 1):
        assert each["round"] == number
        assert each["queries"]
        assert "chunks_retrieved" in each
        assert each["evaluation"]["reasoning"]
    plan = json.loads(run.files["lead_agent_plan.json"])
    assert [each["angle"] for each in plan["tasks"]] == ["background", "limitations-risks"], "in its own words"


async def test_angles_the_synthesis_reads_the_files_of_the_sub_agents_not_memory():
    class Store(dict[str, str]):
        def __setitem__(self, name: str, text: str) -> None:
            changed = (
                text.replace("every 12 months", "every 99 months") if name == "subagents/background.json" else text
            )
            super().__setitem__(name, changed)

    run, analyst = await angles(plan_of("background", "limitations-risks"), files=Store())
    await run.research()
    written = next(given for given in analyst.given("synthesize") if given.purpose == "report")
    background = next(part for part in written.parts if part.angle == "background")
    assert any("99 months" in fact.quote for fact in background.facts)


async def test_angles_22_time_tokens_chunks_and_cost_of_each_sub_agent_are_kept():
    usage = Usage(input_tokens=100, output_tokens=10, dollars=0.01, calls=1)
    run, analyst = await angles(plan_of("background", "limitations-risks"), usage=usage)
    await run.research()
    bill = json.loads(run.files["cost_estimate.json"])
    assert [each["angle"] for each in bill["subagents"]] == ["background", "limitations-risks"]
    for each in bill["subagents"]:
        assert each["tokens"] > 0
        assert each["tokens"] % 110 == 0
        assert each["dollars"] == pytest.approx(each["usage"]["calls"] * 0.01)
        assert each["chunk_count"] > 0
        assert "seconds" in each
        assert each["search_trajectory"]
    assert sum(each["usage"]["calls"] for each in bill["subagents"]) < bill["total"]["calls"]
    assert bill["total"]["calls"] == len(analyst.played)


async def test_angles_22_a_resumed_run_shows_the_same_bill():
    usage = Usage(input_tokens=100, output_tokens=10, dollars=0.01, calls=1)
    made = plan_of("background", "limitations-risks")
    run, _ = await angles(made, usage=usage)
    await run.research()
    again, analyst = await angles(made, usage=usage, journal=run.journal.next_attempt(), library=run.library)
    await again.research()
    assert not analyst.played
    tokens = [[each["tokens"] for each in json.loads(d.files["cost_estimate.json"])["subagents"]] for d in (run, again)]
    assert tokens[0] == tokens[1]


async def test_angles_search_is_hybrid_search_in_the_library_and_one_query_a_round():
    asked: list[Query] = []
    run, _ = await angles(plan_of("background", "limitations-risks"))
    report = await run.research()
    asked += run.library.asked
    rounds = [r for child in report.findings.children for r in child.rounds]
    assert {q.text for q in asked} <= {q.text for r in rounds for q in r.intent.queries}
    assert all(isinstance(r.intent, Intent) and len(r.intent.queries) == 1 for r in rounds)
