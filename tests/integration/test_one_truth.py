"""One truth: what the artifacts of a run say about one thing agrees; ten runs of what `bench.one_truth` draws."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bench.agreement import Ended, find_disagreements
from bench.one_truth import QUESTIONS, Case, make_run, open_place

TOLD_FALSELY = Case("full", QUESTIONS[3], "library")  # of this run each lie is told
CASES = (
    TOLD_FALSELY,
    Case("timed", QUESTIONS[0], "library"),
    Case("timed", QUESTIONS[3], "web"),
    Case("timed", QUESTIONS[1], "library", model="right"),
    Case("rounds", QUESTIONS[1], "web", fault="some", model="right"),
    Case("angles", QUESTIONS[7], "library", model="broken", limit="calls"),
    Case("tree", QUESTIONS[6], "library", model="never"),
    Case("triplet", QUESTIONS[1], "web", fault="search"),
    Case("full", QUESTIONS[0], "library", model="silent"),
    Case("full", QUESTIONS[3], "library", limit="seconds"),
)


def change_report(change: Callable[[Any], object]) -> Callable[[Ended], Ended]:
    def apply(run: Ended) -> Ended:
        report = json.loads(run.files["report.json"])
        change(report)
        return run._replace(files={**run.files, "report.json": json.dumps(report)})

    return apply


@dataclass(frozen=True)
class Lie:
    """A change of the artifacts, and the kind of disagreement by which it is found."""

    kind: str
    tell: Callable[[Ended], Ended]


LIES = (
    Lie("exit", lambda run: run._replace(strict=0)),
    Lie("row", lambda run: run._replace(outcome="complete")),
    Lie("status", change_report(lambda report: report.update(outcome="complete"))),
    Lie("gaps", change_report(lambda report: report["findings"]["gaps"].clear())),
    Lie("finding", change_report(lambda report: _answer_all(report["findings"]))),
    Lie("methodology", change_report(lambda report: report["methodology"].update(rounds=99))),
    Lie("status_line", change_report(lambda report: report.update(reason="all is well"))),
    Lie("wording", change_report(lambda report: report.update(markdown="1 rounds" + report["markdown"]))),
)


def _answer_all(found: Any) -> None:
    for asked in found["sub_questions"]:
        asked["standing"] = "ANSWERED"


async def test_the_artifacts_of_a_run_never_disagree_and_each_lie_in_them_is_found(database_url: str) -> None:
    turn = asyncio.Semaphore(4)  # most of a run is waiting for searches, pages and a model
    async with open_place(database_url) as place:

        async def make(case: Case) -> Ended:
            async with turn:
                return await make_run(case, place)

        runs = dict(zip(CASES, await asyncio.gather(*map(make, CASES)), strict=True))
    assert {str(case): found for case, run in runs.items() if (found := find_disagreements(run))} == {}
    for lie in LIES:
        assert lie.kind in {kind for kind, _ in find_disagreements(lie.tell(runs[TOLD_FALSELY]))}, lie.kind
    assert {"complete", "partial", "no_evidence", "provider_down"} <= {run.outcome for run in runs.values()}
