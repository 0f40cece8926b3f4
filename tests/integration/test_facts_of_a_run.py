"""What belongs to a whole run, over the wire: no plan's division of labour and no reader's thread loses what was read.

Knows what the scripted model says for each role. Does not know how threads and tasks are stored.
"""

from __future__ import annotations

import json
import re

import pytest
from bench.model_server.protocols import WireRequest
from bench.model_server.scripted_model import answer_prompt
from bench.model_server.server import ModelServer
from tests.integration.harness import DOCUMENTS, good, name_web, open_harness

from corrobora.testing.web import LoopbackWeb, WebPage

GATES = "How often must the sluice gates of Orrin mill be greased?"
POND = "How high may the mill pond of Orrin stand?"


def is_role(asked: WireRequest, role: str) -> bool:
    return f"# Role: {role}\n" in asked.system


def make_plan(**fields: str) -> str:
    tasks = [
        {"key": key, "title": text, "objective": text, "queries": [text], "sub_questions": [text], **fields}
        for key, text in (("gates", GATES), ("pond", POND))
    ]
    return json.dumps({"tier": "moderate", "tasks": tasks})


async def test_what_one_task_leaves_to_another_is_not_left_out_of_the_thread_that_works_on_both(database_url: str):
    def answer(asked: WireRequest) -> str:
        return (
            make_plan(out_of_scope="gates and pond")
            if is_role(asked, "plan")
            else answer_prompt(asked.system, asked.user)
        )

    async with ModelServer(answers=answer) as server, open_harness(database_url) as harness:
        await good(await harness.run(server, "timed"), harness)
    assert any(is_role(asked, "reflect") for asked in server.asked)
    assert not [asked.user for asked in server.asked if "gates and pond" in asked.user]


def answer_apart(asked: WireRequest) -> str:
    """The thread on the pond asks for bread; whoever reads of the pond says that this answers the pond's question."""
    if is_role(asked, "plan"):
        plan = json.loads(make_plan())
        plan["tasks"][1]["queries"] = ["rye bread bakery loaf"]  # the planner words the first round
        return json.dumps(plan)
    if is_role(asked, "scope") and POND in asked.user:
        words = "rye bread bakery loaf" if "rye bread" not in asked.user else "village crowns Tuesdays bakery"
        return json.dumps({"reasoning": "r", "goal": "bread", "queries": [{"text": words}]})
    said = json.loads(answer_prompt(asked.system, asked.user))
    if is_role(asked, "extract"):
        ids = {text: key for key, text in re.findall(r"^(sq-\d+) \| ([^|\n]+)$", asked.user, re.MULTILINE)}
        for quote in said["quotes"]:
            quote["answers"] = [ids[POND if "may stand" in quote["quote"] else GATES]]
    return json.dumps(said)


async def test_a_quote_that_answers_a_sibling_reaches_the_sibling_and_is_no_gap(database_url: str):
    async with ModelServer(answers=answer_apart) as server, open_harness(database_url) as harness:
        found = await harness.run(server, "tree")
        await good(found, harness)
    assert found.report is not None
    gates, pond = found.report.findings.children
    opened = (reading for reading in pond.rounds[0].readings if not reading.again)
    assert not [fact for reading in opened for fact in reading.facts if "may stand" in fact.quote]
    shared = [fact for fact in pond.facts if "may stand" in fact.quote]
    assert shared
    assert all(fact.answers == (pond.sub_questions[0].id,) for fact in shared)
    assert not [fact for fact in gates.facts if "may stand" in fact.quote]
    assert pond.sub_questions[0].standing == "ANSWERED"
    assert not [gap for gap in found.report.findings.gaps if gap.target == pond.sub_questions[0].id]
    assert "centimetres above the sill" in found.markdown


async def test_what_a_sibling_reads_is_graded_by_the_hosts_that_the_user_counts_as_credible(database_url: str):
    pages = [
        WebPage.of_html(f"/{name}.html", f"<html><head><title>{name}</title></head><body><p>{text}</p></body></html>")
        for name, text in DOCUMENTS.items()
    ]
    async with (
        ModelServer(answers=answer_apart) as server,
        LoopbackWeb(pages) as web,
        open_harness(database_url, settings=name_web(web)) as harness,
    ):
        options = (("publishers", '["127.0.0.1"]'), ("hits_per_query", "2"), ("reads_per_round", "1"))
        found = await harness.run(server, "tree", overrides=options, libraries=(), providers=("tavily",))
    assert found.report is not None
    _, pond = found.report.findings.children
    readings = (reading for done in pond.rounds for reading in done.readings if not reading.again)
    own = {fact.id for reading in readings for fact in reading.facts}
    shared = [fact for fact in pond.facts if fact.id not in own]
    assert shared
    assert {fact.grade for fact in shared} == {"PLAUSIBLE"}


@pytest.mark.parametrize(
    ("gap", "closed"),
    [("how many centimetres above the sill the mill pond may stand", True), ("who owns the pond", False)],
)
async def test_a_gap_that_a_model_named_is_closed_by_a_sibling_only_if_its_facts_speak_of_it(
    database_url: str, gap: str, closed: bool
):
    def answer(asked: WireRequest) -> str:
        said = json.loads(answer_apart(asked))
        ids = {
            text: key for key, text in re.findall(r"^(sq-\d+) [A-Z]+ \| ([^|\n]+?)(?: \||$)", asked.user, re.MULTILINE)
        }
        if is_role(asked, "reflect") and POND in ids:
            late = closed and "may stand" in asked.user  # the sibling was faster than this thread
            gaps = [] if late else [{"text": gap, "target": ids[POND]}]
            said |= {"answered": [ids[POND]] if late else [], "gaps": gaps, "done": True}
        return json.dumps(said)

    async with ModelServer(answers=answer) as server, open_harness(database_url) as harness:
        found = await harness.run(server, "tree", overrides=(("max_rounds", "1"),))
    assert found.report is not None
    _, pond = found.report.findings.children
    assert [fact for fact in pond.facts if "may stand" in fact.quote]
    assert (pond.sub_questions[0].standing == "ANSWERED") == closed
    assert (gap in [each.text for each in found.report.findings.gaps]) != closed


async def test_briefs_of_one_run_begin_alike_and_what_belongs_to_a_source_comes_later(database_url: str):
    long = {name: text + "\n" + "The wheel turns once more. " * 450 for name, text in DOCUMENTS.items()}
    async with ModelServer() as server, open_harness(database_url, long) as harness:
        await good(await harness.run(server, "timed"), harness)
    read = [asked.user for asked in server.asked if is_role(asked, "extract")]
    assert len(read) > 1
    assert len({user.partition("Rubric:")[0] for user in read}) == 1, "in every round"
    first = [user.partition("The source")[0] for user in read if "Still missing" not in user]
    assert len(set(first)) == 1, "nothing of a source stands before it"


@pytest.mark.parametrize("first", ["gates", "pond"])
async def test_what_a_sibling_found_is_judged_by_the_model_whichever_of_them_ends_first(database_url: str, first: str):
    def answer(asked: WireRequest) -> str:
        said = json.loads(answer_apart(asked))
        if is_role(asked, "plan"):
            said["tasks"].sort(key=lambda task: task["key"] != first)
        ids = {
            text: key for key, text in re.findall(r"^(sq-\d+) [A-Z]+ \| ([^|\n]+?)(?: \||$)", asked.user, re.MULTILINE)
        }
        if is_role(asked, "reflect") and POND in ids:
            told = re.findall(r"^(F\w+) \[[^\n]*may stand", asked.user, re.MULTILINE)
            gap = {"text": "who owns the pond", "target": ids[POND]}
            answered = [{"question": ids[POND], "facts": told}] if told else []
            said |= {"answered": answered, "gaps": [] if told else [gap], "done": bool(told)}
            marker = "".join(re.findall(r"^F\w+ (\[S\d+:C\d+\])[^\n]*may stand", asked.user, re.MULTILINE)[:1])
            said |= {"findings": f"The pond has a limit {marker}. It is 97 miles {marker}." if told else ""}
        return json.dumps(said)

    overrides = (("max_rounds", "1"), ("leaves_in_turn", "true"))
    async with ModelServer(answers=answer) as server, open_harness(database_url) as harness:
        found = await harness.run(server, "tree", overrides=overrides)
    assert found.report is not None
    pond = next(each for each in found.report.findings.children if POND in {q.text for q in each.sub_questions})
    asked = [each.user for each in server.asked if is_role(each, "reflect") and f"| {POND}" in each.user]
    assert len(asked) == (1 if first == "gates" else 2)
    assert "| read for another task" in asked[-1]
    assert "may stand" in asked[-1]
    assert pond.sub_questions[0].standing == "ANSWERED"
    assert not [gap for gap in found.report.findings.gaps if gap.target == pond.sub_questions[0].id]
    assert "The pond has a limit" in pond.summary
    assert "97" not in pond.summary, "code refutes it, whoever of the two ended first"


async def test_a_quote_that_answers_the_questions_of_two_tasks_is_a_fact_of_both(database_url: str):
    def answer(asked: WireRequest) -> str:
        said = json.loads(answer_apart(asked))
        ids = {text: key for key, text in re.findall(r"^(sq-\d+) \| ([^|\n]+)$", asked.user, re.MULTILINE)}
        for quote in said["quotes"] if is_role(asked, "extract") else ():
            quote["answers"] = [ids[GATES], ids[POND]]
        return json.dumps(said)

    async with ModelServer(answers=answer) as server, open_harness(database_url) as harness:
        found = await harness.run(server, "tree", overrides=(("max_rounds", "1"),))
    assert found.report is not None
    for part in found.report.findings.children:
        answers = {fact.answers for fact in part.facts if "may stand" in fact.quote}
        assert answers == {(part.sub_questions[0].id,)}
