"""Knowledge: what a thread starts with, what it leaves, and what of it counts."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from tests.fakes import MemoryLibrary
from tests.profiles.research import DOCUMENTS, LibraryRun, make_run

from corrobora.domain.evidence import FollowUp, Hit, Insight, InsightKind, LinkedSource, Reading, ReadOutcome, SourceId
from corrobora.domain.plan import Brief, Node, SubQuestion
from corrobora.domain.report import Findings
from corrobora.domain.thread import Intent, Round, ThreadState
from corrobora.engine.knowledge import (
    MAX_INSIGHTS,
    collect_insights,
    recall_knowledge,
    remember_findings,
    share_thread_facts,
)

QUESTION = "How often must the harbour cranes of Brenhaven be inspected?"
SQ = SubQuestion("sq-1", QUESTION)
OTHER = SubQuestion("sq-2", "What does herring cost on Sundays in winter?")


async def made(library: MemoryLibrary, **fields: Any) -> LibraryRun:
    return await make_run("tree", library=library, question=QUESTION, **fields)


def thread(run: LibraryRun, *asked: SubQuestion, queries: tuple[str, ...] = ()) -> ThreadState:
    node = Node("root/1", "Cranes", "Find the interval", sub_questions=asked or (SQ,), queries=queries)
    return ThreadState.open_thread(node, Brief(QUESTION), run.session.profile.course)


async def filled() -> MemoryLibrary:
    """A library with the facts of an earlier run."""
    library = await MemoryLibrary.of(DOCUMENTS)
    await (await made(library)).research()
    return library


def done(*readings: Reading) -> Round:
    return Round(1, "research", Intent("x", ()), readings=readings)


def told(source: str | None = "S1", **more: Any) -> Reading:
    where = SourceId(source) if source else None
    return Reading(Hit("rules.md", "Rules"), ReadOutcome.READ, where, title="Rules", **more)


async def test_tree_a_thread_starts_with_the_stored_facts_that_speak_to_its_questions() -> None:
    run = await made(await filled())
    begun = await recall_knowledge(thread(run, SQ, OTHER), run.session)
    assert begun.facts == begun.recalled
    assert any("12 months" in fact.quote for fact in begun.facts)
    assert all(fact.answers == ("sq-1",) for fact in begun.facts), "nothing that is stored speaks of herring prices"
    assert set(run.journal.entries) == {"root/1/recall", "root/1/recall/insights"}


async def test_tree_a_resumed_run_starts_with_what_the_first_attempt_was_given() -> None:
    library = await filled()
    run = await made(library)
    first = await recall_knowledge(thread(run), run.session)
    again = await make_run("tree", library=await MemoryLibrary.of(DOCUMENTS), journal=run.journal.next_attempt())
    assert await recall_knowledge(thread(again), again.session) == first


async def test_tree_neither_switch_on_asks_the_store_nothing() -> None:
    run = await made(await filled(), recall_facts=False, share_facts=False)
    begun = thread(run)
    assert await recall_knowledge(begun, run.session) is begun
    assert run.journal.entries == {}


async def test_tree_a_fact_whose_snapshot_cannot_be_opened_is_not_recalled() -> None:
    other = await MemoryLibrary.of({"fish.md": DOCUMENTS["fish.md"]})
    run = await make_run("tree", library=other, facts=await filled(), question=QUESTION)
    assert (await recall_knowledge(thread(run), run.session)).facts == ()


async def test_tree_questions_of_sources_become_queries_and_sources_they_name_are_read_first() -> None:
    library = await MemoryLibrary.of(DOCUMENTS)
    asked = [
        Insight(InsightKind.FOLLOW_UP, f"Are harbour cranes of Brenhaven inspected in winter {n}?", SourceId("S1"))
        for n in range(MAX_INSIGHTS + 2)
    ]
    far = Insight(InsightKind.FOLLOW_UP, "Which harbour sells cod?", SourceId("S1"))
    linked = Insight(InsightKind.LINKED, "S2", SourceId("S1"), "how often harbour cranes of Brenhaven are inspected")
    unread = replace(linked, text="https://nowhere.example/x")
    gap = Insight(InsightKind.GAP, "How often harbour cranes of Brenhaven were inspected is not said.", SourceId("S1"))
    await library.remember_insights([*asked, far, linked, unread, gap], run="earlier")

    class Accepting(MemoryLibrary):
        def accepts(self, hit: Hit) -> bool:
            return hit.url == "S2" or super().accepts(hit)

    run = await made(library)
    run.session.outside = replace(run.session.outside, readers=(Accepting(),))
    begun = await recall_knowledge(thread(run), run.session)
    assert begun.suggested[0] == QUESTION, "the broad query stays the first"
    assert len(begun.suggested) == 1 + MAX_INSIGHTS
    assert all("winter" in query for query in begun.suggested[1:])
    assert begun.sources == ("S2",), "what no reader of this run can open is not tried"
    planned = await recall_knowledge(thread(run, queries=("crane inspection",)), run.session)
    assert planned.suggested[0] == "crane inspection"
    assert begun.facts == (), "an insight is no statement"


def test_tree_insights_carry_their_source_and_each_counts_once() -> None:
    raised = FollowUp("Why?", 0.3, "it is not said")
    named = LinkedSource("https://a.example", "see there", 0.8)
    reading = told(follow_ups=(raised,), gaps=("not measured",), linked=(named,))
    assert collect_insights([done(reading, reading), done(told(None, gaps=("lost",)))]) == (
        Insight(InsightKind.FOLLOW_UP, "Why?", SourceId("S1"), "it is not said", 0.3, "Rules"),
        Insight(InsightKind.GAP, "not measured", SourceId("S1"), title="Rules"),
        Insight(InsightKind.LINKED, "https://a.example", SourceId("S1"), "see there", 0.8, "Rules"),
    )


async def test_tree_a_run_leaves_its_facts_and_insights_and_a_sharing_thread_at_once() -> None:
    facts = tuple((await filled())._facts.values())
    reading = told(gaps=("The winter is not measured.",), facts=facts)
    for name, kept in (("share_facts", True), ("recall_facts", False)):
        library = await MemoryLibrary.of(DOCUMENTS)
        run = await made(library, **{"share_facts": False, "recall_facts": False, name: True})
        begun = replace(thread(run), rounds=(done(reading),), facts=facts)
        await share_thread_facts(begun, run.session)
        assert bool(await library.recall_insights("winter")) is bool(await library.recall(QUESTION)) is kept
    whole = Findings("root", "t", facts=facts, left_out=(Findings("root/1~2", "t", rounds=(done(reading),)),))
    await remember_findings(whole, run.session)
    assert [each.text for each in await library.recall_insights("winter")] == ["The winter is not measured."]
    assert json.loads(json.dumps([fact.id for fact in await library.recall(QUESTION)]))
