"""Profile `tree`: extractors, scouts and the knowledge base."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from tests.fakes import MemoryLibrary
from tests.profiles.meeting import Meeting
from tests.profiles.research import DOCUMENTS, QUESTION, Mixed, make_run

from corrobora.analysts.extractive import ExtractiveAnalyst
from corrobora.domain.evidence import FollowUp, InsightKind, LinkedSource
from corrobora.domain.limits import Usage
from corrobora.domain.plan import Brief, Gate, Node, Plan, SubQuestion, TaskSpec
from corrobora.domain.report import Outcome
from corrobora.domain.run import EventType
from corrobora.engine.investigate import investigate
from corrobora.engine.research import begin_run
from corrobora.roles.extract import Extraction, Quote

SQ = SubQuestion("sq-1", "How often must the harbour cranes of Brenhaven be inspected?")


SQ2 = SubQuestion("sq-2", "What load may a crane of class B lift?")


def leaf(path: str, asked: SubQuestion = SQ, **more: Any) -> Node:
    return Node(path, asked.text, asked.text, sub_questions=(asked,), queries=(asked.text,), **more)


def inner(path: str, *children: Node, **more: Any) -> Node:
    asked = tuple({q.id: q for child in children for q in child.sub_questions}.values())
    return Node(path, f"topic {path}", f"gather {path}", children, sub_questions=asked, **more)


def extraction(given: Any, **more: Any) -> Extraction:
    passage = given.passages[0]
    text = passage.text.strip().splitlines()[-1]
    quote = Quote(passage.id, text, text, more.pop("confidence", 0.9), (SQ.id,))
    insights = {
        "follow_ups": (FollowUp("What else?", 0.4, "it is weak"),),
        "gaps": ("not measured",),
        "linked": (LinkedSource("https://example.org/more", "see there", 0.7),),
    }
    return Extraction((quote,), **insights, **more)


async def leaf_findings(lines: dict[str, Any], documents: dict[str, str], **more: Any) -> Any:
    run = await make_run("tree", analysts=(Mixed(lines),), documents=documents, max_rounds=1)
    begin_run(Brief(QUESTION), run.session)
    return await investigate(leaf("root", **more), run.session)


SURE = {"sure.md": "# Crane rules of Brenhaven\n\nHarbour cranes of Brenhaven must be inspected every 12 months."}


LIMITED = {"limits.md": SURE["sure.md"] + " Limitations and future work are named: inspected cranes only."}


@pytest.mark.parametrize(
    ("name", "more", "documents", "spec", "emitted"),
    [
        ("none", {}, SURE, False, False),
        ("low confidence on key claims", {"confidence": 0.2}, SURE, False, True),
        ("limitations or future work in the source", {}, LIMITED, False, True),
        ("contradiction", {"contradicts_known": ("12 against 24",)}, SURE, False, True),
        ("discovery_intense", {}, SURE, True, True),
    ],
)
async def test_tree_optional_insights_come_under_the_four_triggers_only(
    name: str, more: dict[str, Any], documents: dict[str, str], spec: bool, emitted: bool
):
    specs = (TaskSpec((SQ.text,), discovery_intense=True, verbatim="dig"),) if spec else ()
    found = await leaf_findings({"extract": lambda given: extraction(given, **more)}, documents, specs=specs)
    assert bool(found.follow_ups) is emitted, name
    assert bool(found.linked) is emitted, name
    reading = found.rounds[0].readings[0]
    assert bool(reading.gaps) is emitted


async def test_tree_extractor_results_carry_citation_and_confidence():
    found = await leaf_findings({}, DOCUMENTS)
    assert found.facts
    for fact in found.facts:
        assert fact.quote in DOCUMENTS[fact.url]
        assert fact.marker == f"[{fact.source}:{fact.passage}]"
        assert 0.0 <= fact.confidence <= 1.0


async def test_tree_extractors_of_one_leaf_work_in_parallel():
    together = Meeting(3)

    class Busy(Mixed):
        async def play(self, role: Any, given: Any) -> Any:
            if role.prompt == "extract":
                await together.join()
            return await super().play(role, given)

    await (await make_run("tree", analysts=(Busy(),))).research()
    assert together.most >= 3


def discovery(path: str, **more: Any) -> Node:
    return replace(leaf(path, **more), title="Discovery", objective="Curate sources on cranes", discovery=True)


async def scouted(usage: Usage | None = None, **more: Any) -> tuple[Any, Mixed, Any]:
    copies = {**DOCUMENTS, "rules-2019-copy.md": DOCUMENTS["rules-2019.md"] + " "}
    tree = inner("root", discovery("root/1", **more), leaf("root/2"), leaf("root/3", SQ2))
    analyst = Mixed({"plan": Plan(tree)}, usage=usage)
    run = await make_run("tree", analysts=(analyst, ExtractiveAnalyst()), documents=copies)
    return run, analyst, await run.research()


async def test_tree_scout_sweeps_scans_and_returns_a_ranked_tagged_justified_shortlist():
    _, analyst, report = await scouted()
    sweep = analyst.given("scout")[0]
    references = [candidate.reference for candidate in sweep.candidates]
    assert len(references) == len(set(references)), "candidates are de-duplicated"
    assert any(candidate.scan for candidate in sweep.candidates), "candidates are quick-scanned"
    clusters = [candidate.cluster for candidate in sweep.candidates if "2019" in candidate.title]
    assert len(clusters) == 2
    assert len(set(clusters)) == 1, "copies share a cluster"
    found = next(child for child in report.findings.children if child.title == "Discovery")
    for word in ("authority", "recency", "coverage", "diversity"):
        assert word in found.summary
    assert found.linked
    assert all(link.context for link in found.linked), "each has its rationale"
    assert any("copy" in note for note in found.notes), "why others were left out"


async def test_tree_the_shortlist_is_read_by_the_leaves_of_the_node():
    run, _, report = await scouted()
    found = next(child for child in report.findings.children if child.title == "Discovery")
    first = [r.hit.source for child in report.findings.children for rnd in child.rounds for r in rnd.readings]
    assert {link.reference for link in found.linked} & set(first)
    keys = run.journal.keys("root/")
    assert min(k.split("/")[1] for k in keys if "scope" in k) == "1", "discovery comes first"


async def test_tree_a_scout_never_spawns_executors():
    run, _, _ = await scouted()
    below = [e for e in run.journal.events if e.path.startswith("root/1/") and e.type is EventType.STAGE]
    assert not below
    scopes = [key for key in run.journal.entries if key.startswith("root/1/") and "/plan#" in key]
    assert not scopes


async def test_tree_a_scout_keeps_within_its_time_and_token_budget():
    unbounded, analyst, _ = await scouted()
    scans = sum(bool(candidate.scan) for candidate in analyst.given("scout")[0].candidates)
    assert scans >= 3
    _, bounded, _ = await scouted(Usage(1_000, 200), gates=(Gate("sweep", budget_tokens=8_000),))
    fewer = sum(bool(candidate.scan) for candidate in bounded.given("scout")[0].candidates)
    assert 0 < fewer < scans
    _, late, report = await scouted(gates=(Gate("sweep", budget_seconds=0.0),))
    assert not [given for given in late.given("scope") if given.path.startswith("root/1/")]
    assert report.outcome is Outcome.COMPLETE, "a scout without time is no failure of the run"
    assert unbounded.files["report.md"]


async def test_angles_a_scout_that_fails_is_a_sentinel_and_its_siblings_work_on():
    tree = inner("root", discovery("root/1"), leaf("root/2"), leaf("root/3", SQ2))
    run = await make_run("tree", analysts=(Mixed({"plan": Plan(tree), "scout": RuntimeError("broken")}),))
    report = await run.research()
    assert "12 months" in report.markdown
    assert ["broken" in child.failed for child in report.findings.children] == [True, False, False]
    assert "Not covered, because it failed: Discovery" in report.markdown


async def test_tree_facts_are_stored_with_citation_and_confidence_once_and_used_again_by_later_runs():
    library = await MemoryLibrary.of(DOCUMENTS)
    first = await make_run("tree", library=library)
    await first.research()
    kept = list(await library.recall(SQ.text))
    assert kept
    assert all(fact.quote and fact.passage and fact.confidence > 0 for fact in kept)
    before = len(library._facts)
    second = await make_run("tree", library=library, question=SQ.text)
    report = await second.research()
    recalled = [key for key in second.journal.entries if key.endswith("/recall")]
    assert recalled
    assert any(json.loads(second.journal.entries[key].out) for key in recalled)
    assert "12 months" in report.markdown
    assert len(library._facts) == before, "the same facts are not stored twice"


async def test_tree_optional_insights_are_kept_and_used_again_by_later_runs():
    """A question that a source raised in one run is a query of the next one."""
    raised = FollowUp("Who inspected the harbour cranes of Brenhaven in 2014?", 0.4, "it is not said")

    def emitting(given: Any) -> Extraction:
        return replace(extraction(given, contradicts_known=("x",)), follow_ups=(raised,))

    library = await MemoryLibrary.of(SURE)
    first = await make_run("tree", library=library, analysts=(Mixed({"extract": emitting}),), max_rounds=1)
    await first.research()
    (kept,) = [
        each for each in await library.recall_insights("who inspected cranes") if each.kind is InsightKind.FOLLOW_UP
    ]
    assert (kept.text, kept.why, kept.confidence) == (raised.question, raised.rationale, raised.confidence)
    assert library._sources[kept.source][0].url == "sure.md"
    before = len(library._insights)
    again = Mixed()
    await (await make_run("tree", library=library, question=SQ.text, analysts=(again,))).research()
    assert any(raised.question in given.suggested for given in again.given("scope"))
    await (await make_run("tree", library=library, analysts=(Mixed({"extract": emitting}),), max_rounds=1)).research()
    assert len(library._insights) == before, "the same is not stored twice"


async def test_tree_a_recalled_fact_whose_source_is_gone_is_not_used():
    library = await MemoryLibrary.of(DOCUMENTS)
    await (await make_run("tree", library=library)).research()
    other = await MemoryLibrary.of({"fish.md": DOCUMENTS["fish.md"]})
    run = await make_run("tree", library=other, facts=library, question=SQ.text)
    await run.research()
    recalled = [key for key in run.journal.entries if key.endswith("/recall")]
    assert recalled
    assert not any(json.loads(run.journal.entries[key].out) for key in recalled)


async def test_tree_later_siblings_read_the_facts_of_earlier_ones():
    again = SubQuestion("sq-3", "Must harbour cranes of Brenhaven be inspected every 12 months?")
    tree = inner("root", leaf("root/1"), inner("root/2", leaf("root/2/1", again)))
    run = await make_run("tree", analysts=(Mixed({"plan": Plan(tree)}),), leaves_in_turn=True)
    await run.research()
    assert json.loads(run.journal.entries["root/2/1/recall"].out)
    shut = await make_run(
        "tree", analysts=(Mixed({"plan": Plan(tree)}),), leaves_in_turn=True, share_facts=False, recall_facts=False
    )
    await shut.research()
    assert not [key for key in shut.journal.entries if key.endswith("/recall")]
