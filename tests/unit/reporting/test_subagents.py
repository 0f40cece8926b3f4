"""Sub-agents: a leaf's file holds its task, trajectory and bill, and the gathering reads the file."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from tests.fakes import FakeClock
from tests.profiles.research import make_run
from tests.unit.policies.threads import decided, fact, one_round

from corrobora.domain.limits import Usage
from corrobora.domain.plan import Node
from corrobora.domain.report import Findings
from corrobora.engine.investigate import record_leaf_result, reload_results, write_leaf_result
from corrobora.reporting.thread_json import build_cost_estimate, build_leaf_result, name_result_file

NODE = Node("root/1", "History", "Tell the history", queries=("ardal", "ardal 1874"), angle="history", max_rounds=3)
FACT = fact()
FOUND = Findings(
    "root/1",
    "History",
    summary="It is old.",
    facts=(FACT,),
    rounds=(one_round(1, "a b", facts=(FACT,), decision=decided("a map")), one_round(2, "c")),
    angle="history",
    usage=Usage(input_tokens=30, output_tokens=12, calls=2, dollars=0.5),
    seconds=4.0,
)


def test_angles_a_file_is_named_after_its_angle_and_later_iterations_add_their_place() -> None:
    assert name_result_file(FOUND) == "subagents/history.json"
    assert name_result_file(replace(FOUND, path="root/1~2")) == "subagents/history-root-1.2.json"
    assert name_result_file(replace(FOUND, angle="", title="Two wheels")) == "subagents/two-wheels-root-1.json"


def test_angles_a_result_holds_task_trajectory_and_bill() -> None:
    made: Any = build_leaf_result(NODE, FOUND)
    assert made["task"]["search_guidance"] == {"initial_query": "ardal", "narrowing": ["ardal 1874"]}
    assert [each["round"] for each in made["search_trajectory"]] == [1, 2]
    assert made["search_trajectory"][0]["evaluation"]["gaps"] == ["a map"]
    assert (made["tokens"], made["seconds"], made["search_rounds"], made["dollars"]) == (42, 4.0, 2, 0.5)
    assert made["chunks"] == ["a", "b", "c"]
    assert made["citations"] == [FACT.marker]


async def test_angles_the_gathering_reads_what_the_file_says() -> None:
    made = await make_run("angles")
    await write_leaf_result(NODE, FOUND, made.session)
    assert await reload_results((FOUND,), made.session) == (FOUND,)
    name = name_result_file(FOUND)
    stored = json.loads(made.files[name])
    stored["findings"]["summary"] = "Changed on disk."
    made.files[name] = json.dumps(stored)
    [part] = await reload_results((FOUND,), made.session)
    assert part.summary == "Changed on disk."


async def test_a_profile_without_these_files_writes_and_reads_none() -> None:
    made = await make_run("angles", artifacts=())
    await write_leaf_result(NODE, FOUND, made.session)
    assert made.files == {}
    assert await reload_results((FOUND,), made.session) == (FOUND,)


async def test_the_time_of_a_leaf_is_measured_once_for_all_attempts() -> None:
    async def slow(clock: FakeClock, seconds: float) -> Findings:
        await clock.sleep(seconds)
        return FOUND

    clock = FakeClock()
    first = await make_run("angles", clock=clock)
    assert (await record_leaf_result(NODE, slow(clock, 6.0), first.session)).seconds == 6.0
    again = await make_run("angles", clock=clock, journal=first.journal.next_attempt())
    assert (await record_leaf_result(NODE, slow(clock, 1.0), again.session)).seconds == 6.0


def test_angles_the_summary_of_costs_leaves_failed_parts_out_of_the_average() -> None:
    lost = Findings("root/2", "Money", failed="refused", angle="money")
    made: Any = build_cost_estimate((FOUND, lost), Usage(dollars=0.5), 9.0)
    assert made["average_search_rounds"] == 2.0
    assert [each["file"] for each in made["subagents"]] == ["subagents/history.json", "subagents/money.json"]
    assert made["total"]["seconds"] == 9.0
