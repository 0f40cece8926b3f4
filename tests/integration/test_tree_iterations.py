"""A tree whose gates never hold, over the wire: every iteration of every nested gate runs, and no failure costs a fact.

Knows the plan that the scripted model gives and the server's log. Does not know how iterations are named.
"""

from __future__ import annotations

import json
import re

from bench.model_server.protocols import WireRequest
from bench.model_server.scripted_model import answer_prompt
from bench.model_server.server import ModelServer
from tests.integration.harness import DOCUMENTS, Ended, good, open_harness

from corrobora.domain.report import iter_threads

NEVER = {"corroboration": 9, "max_iterations": 3}
ASKED = ("How often must the sluice gates be greased?", "How high may the mill pond stand?")


def is_role(asked: WireRequest, role: str) -> bool:
    return f"# Role: {role}\n" in asked.system


def make_task(key: str, parent: str, text: str, **fields: object) -> dict[str, object]:
    task = {"key": key, "parent": parent, "title": text, "objective": text, "queries": [text]}
    return {**task, "sub_questions": [text], **fields}


def write_nested_plan() -> str:
    tasks = [
        make_task("mill", "", "Orrin mill", sub_questions=[], queries=[], phases=[NEVER]),
        make_task("water", "mill", "Water of Orrin mill", sub_questions=[], queries=[], phases=[NEVER]),
        make_task("pond", "water", ASKED[1]),
        make_task("history", "water", "When was Orrin mill built?"),
        make_task("gates", "mill", ASKED[0]),
    ]
    return json.dumps({"tier": "moderate", "tasks": tasks})


def answer_nested(asked: WireRequest) -> str:
    return write_nested_plan() if is_role(asked, "plan") else answer_prompt(asked.system, asked.user)


def count_sources(found: Ended) -> int:
    assert found.report is not None
    return len({fact.source for fact in found.report.findings.facts})


async def test_nested_gates_iterate_three_times_and_the_report_is_written(database_url: str):
    async with ModelServer(answers=answer_nested) as server, open_harness(database_url) as harness:
        found = await harness.run(server, "tree")
        await good(found, harness)
    assert found.report is not None
    refined = [asked.user for asked in server.asked if is_role(asked, "refine")]
    assert len(refined) >= 4
    assert any(re.search(r"root/[\d/]+~[23]", user) for user in refined), "a refinement of a refined node"
    assert "extractive" not in found.report.methodology.analyst
    assert count_sources(found) >= 2
    assert len(list(iter_threads(found.report.findings))) >= 6


async def test_a_refinement_that_cannot_be_used_ends_in_a_report_with_all_findings(database_url: str):
    def answer(asked: WireRequest) -> str:
        return "no" if is_role(asked, "refine") else answer_nested(asked)

    async with ModelServer(answers=answer) as server, open_harness(database_url) as harness:
        found = await harness.run(server, "tree")
        await good(found, harness)
    assert count_sources(found) >= 2


async def test_what_an_inner_node_made_of_its_tasks_stands_when_the_node_above_it_goes_on(database_url: str):
    """The planner of the root is shown the tasks as they are, and a task that it changes keeps what it was asked."""
    oil, spec = "Which oil do the sluice gates take?", {"questions": ["Which oil?"], "expected_format": "a name"}
    phase = {"corroboration": 9, "max_iterations": 2}
    tasks = [
        make_task("mill", "", "Orrin mill", sub_questions=[], queries=[], phases=[phase]),
        make_task("gates", "mill", ASKED[0]),
        make_task("pond", "", ASKED[1]),
    ]
    inner: dict[str, object] = {"queries": ["oil of sluice gates"], "sub_questions": [oil], "specs": [spec]}
    outer: dict[str, object] = {"queries": ["grease of mill gates"], "sub_questions": [], "specs": []}

    def answer(asked: WireRequest) -> str:
        if is_role(asked, "plan"):
            return json.dumps({"tier": "moderate", "tasks": tasks, "phases": [phase]})
        if is_role(asked, "refine"):
            [task, *_] = re.findall(r"^(root/1\S*/1\S*) \|", asked.user, re.MULTILINE)
            change = outer if "root/2" in asked.user else inner
            return json.dumps({"changes": [{"task": task, "sources": [], **change}], "why": "w", "synthesis": ""})
        return answer_prompt(asked.system, asked.user)

    async with ModelServer(answers=answer) as server, open_harness(database_url) as harness:
        await good(await harness.run(server, "tree"), harness)
    above = [asked.user for asked in server.asked if is_role(asked, "refine") and "root/2" in asked.user]
    assert above
    assert all(oil in user and "question: Which oil?" in user for user in above)
    last = [asked.user for asked in server.asked if is_role(asked, "reflect") and "grease of mill gates" in asked.user]
    assert last
    assert all(oil in user for user in last)


async def test_a_further_pass_reads_of_what_was_read_only_what_its_queries_find(database_url: str):
    """With a new specification a task is another one: all that stands around its results was sent again."""
    rows = [
        f"In year {at} the sluice gates of Orrin mill were greased {at} times by keeper {at}. {'It was calm. ' * 9}"
        for at in range(60)
    ]
    rows[30] = "The oil of the sluice gates is Brenhaven amber."
    log = "# Log of Orrin mill\n\n" + "\n\n".join(rows)
    spec = {"questions": ["Which oil?"], "expected_format": "a name"}
    phase = {"corroboration": 9, "max_iterations": 2}

    def answer(asked: WireRequest) -> str:
        if is_role(asked, "plan"):
            tasks = [make_task("gates", "", ASKED[0]), make_task("pond", "", ASKED[1])]
            return json.dumps({"tier": "moderate", "tasks": tasks, "phases": [phase]})
        if is_role(asked, "refine"):
            change = {"queries": ["Brenhaven amber oil"], "sources": [], "sub_questions": [], "specs": [spec]}
            return json.dumps({"changes": [{"task": "root/1", **change}], "why": "w", "synthesis": ""})
        return answer_prompt(asked.system, asked.user)

    async with (
        ModelServer(answers=answer) as server,
        open_harness(database_url, {**DOCUMENTS, "log.md": log}) as harness,
    ):
        found = await harness.run(server, "tree")
        await good(found, harness)
    assert found.report is not None
    leaves = {leaf.path: leaf for leaf in iter_threads(found.report.findings)}
    read = {path: [r for done in leaf.rounds for r in done.readings] for path, leaf in leaves.items()}
    before = {each for reading in read["root/1"] for each in reading.passages}
    results = {hit.passage for done in leaves["root/1~2"].rounds for hit in done.hits}
    again = {each for reading in read["root/1~2"] if not reading.again for each in reading.passages} & before
    assert len(before) > 10
    assert again <= results, again - results
