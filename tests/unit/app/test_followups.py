"""What comes after a report: two stored runs compared."""

from __future__ import annotations

import pytest

from corrobora.app import Workspace
from corrobora.app.attempts import run_here
from corrobora.app.followups import compare_runs
from corrobora.app.runs import submit_run
from corrobora.domain.errors import NoEvidence
from corrobora.domain.run import Request

GREASE = "How often must the sluice gates of Orrin mill be greased?"


async def research(workspace: Workspace, question: str = GREASE) -> str:
    run = await submit_run(workspace, Request(question, libraries=("mill",), authorized="policy"), deferred=False)
    await run_here(workspace, run)
    return run


async def test_two_runs_of_one_question_say_the_same_and_a_run_without_report_is_refused(workspace: Workspace) -> None:
    first, again = await research(workspace), await research(workspace)
    found = await compare_runs(workspace, first, again)
    assert (found.before, found.after, found.has_news) == (first, again, False)
    assert {each.kind.value for each in found.statements} == {"same"}
    waiting = await submit_run(workspace, Request(GREASE, libraries=("mill",)), deferred=False)
    with pytest.raises(NoEvidence, match="no report yet"):
        await compare_runs(workspace, first, waiting)
