"""The earlier runs that a run follows: whose evidence it reads first, and with which one its report is compared.

Knows how a follow-up, an update, a watch and an edit name the run before them. Does not know how a run is worked on
(`attempts` does) or how two reports are compared.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from corrobora.domain.errors import UserError
from corrobora.domain.report import Outcome, Report
from corrobora.domain.run import Request, RequestOption, RunRow, RunStatus

if TYPE_CHECKING:
    from corrobora.app import Workspace

ASK, UPDATE, WATCH = "ask", "update", "watch"  # how a run follows another one
_UNCHANGED = """
SELECT snapshot FROM source WHERE id = ANY(%s::int[]) AND path IS NOT NULL AND gone IS NULL AND added <= %s::timestamptz
"""
_MOST_TURNS = 10_000  # runs that are looked through for the turns of a watch


def reads_evidence(request: Request) -> bool:
    """True for a run that builds on what its previous run has stored: a question on it, or an edit of its report."""
    return bool(request.edits) or request.get_option(RequestOption.FOLLOW_UP) == ASK


async def find_baseline(workspace: Workspace, row: RunRow) -> str:
    """Return the run that a run is compared with: of a watch, its newest turn that has a report."""
    request = row.request
    if request.get_option(RequestOption.FOLLOW_UP) != WATCH:
        return request.previous
    turns = [
        each
        for each in await workspace.runs.list(limit=_MOST_TURNS)
        if each.request.previous == request.previous
        and each.request.get_option(RequestOption.FOLLOW_UP) == WATCH
        and each.status is RunStatus.DONE
        and (each.created_at, each.id) < (row.created_at, row.id)
    ]
    newest = sorted(turns, key=lambda each: each.created_at, reverse=True)
    found = [each.id for each in newest if each.outcome in (Outcome.COMPLETE, Outcome.PARTIAL)]
    return found[0] if found else request.previous


async def list_unchanged(workspace: Workspace, baseline: str, *reports: Report) -> frozenset[str]:
    """Return the hashes of the texts in these reports that stood in a library when a run began, and still do."""
    cited = {fact.source for report in reports for fact in report.findings.facts}
    ids = [int(name[1:]) for name in cited if name[1:].isdigit()]
    since = (await workspace.runs.get(baseline)).created_at
    rows = await workspace.database.fetch_all(_UNCHANGED, [ids, since], where="comparing the texts of two runs")
    return frozenset(str(row[0]) for row in rows)


async def list_previous(workspace: Workspace, request: Request) -> list[RunRow]:
    """Return the runs that a request follows, the nearest first; one that was removed ends the list."""
    found: list[RunRow] = []
    with contextlib.suppress(UserError):
        while request.previous and request.previous not in [each.id for each in found]:
            found.append(await workspace.runs.get(request.previous))
            request = found[-1].request
    return found


def find_topic(rows: Sequence[RunRow]) -> str:
    """Return what the question of the first run, or the one that it repeats, follows up on; "" if it follows none."""
    return next((then.request.question for one, then in pairwise(rows) if one.request.is_follow_up), "")
