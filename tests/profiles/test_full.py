"""The profile `full`: tree, threads and review in one run over documents in two editions."""

from __future__ import annotations

import re
from typing import Any

from tests.profiles.research import QUESTION, LibraryRun, Mixed, make_run

from corrobora.domain.plan import Criteria, Gate, Node, Plan, SubQuestion
from corrobora.domain.report import Findings, iter_threads

SQ = SubQuestion("sq-1", "How often must the harbour cranes of Brenhaven be inspected?")
SQ2 = SubQuestion("sq-2", "What load may a crane of class B lift?")


def leaf(path: str, asked: SubQuestion) -> Node:
    return Node(path, "Cranes", asked.text, sub_questions=(asked,), queries=(asked.text,))


async def ran() -> tuple[LibraryRun, Any]:
    """Two leaves of one title below a gate that three sources cannot pass, so that all is worked on again."""
    gate = Gate("corroborate", Criteria(corroboration=9), max_iterations=2)
    root = Node("root", QUESTION, QUESTION, (leaf("root/1", SQ), leaf("root/2", SQ2)), (SQ, SQ2), gates=(gate,))
    run = await make_run("full", analysts=(Mixed({"plan": Plan(root)}),))
    return run, await run.research()


def pursued(found: Findings) -> list[Findings]:
    return [leaf for leaf in iter_threads(found) if leaf.rounds]


async def test_triplet_each_round_of_each_thread_has_a_micro_report_of_its_own():
    run, report = await ran()
    leaves = pursued(report.findings)
    assert [leaf.path for leaf in leaves] == ["root/1", "root/2", "root/1~2", "root/2~2"]
    assert {leaf.title for leaf in leaves} == {"Cranes"}
    names = [name for name in run.files if name.startswith("micro-report-")]
    assert len(names) == sum(len(leaf.rounds) for leaf in leaves) == report.methodology.rounds
    assert len([name for name in run.files if name.startswith("thread-completion-")]) == len(leaves)
    for name in names:
        number = re.search(r"-round-(\d+)\.md$", name)
        assert number is not None
        assert f"\nround: {number[1]}\n" in run.files[name], "the file is of the round in its name"


async def test_angles_29_30_the_long_run_is_critiqued_and_judged():
    run, report = await ran()
    assert report.verdict is not None
    assert "verification.json" in run.files
    assert len([name for name in run.files if name.startswith("subagents/")]) == 4


async def test_tree_what_each_iteration_of_a_gate_did_is_told():
    _, report = await ran()
    assert report.findings.delta
    assert all("Why: " in line for line in report.findings.delta)
