"""The list of runs, with a search in their questions."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse

from corrobora.domain.run import RunStatus
from corrobora.faces.cli.runs import list_score_changes
from corrobora.faces.web import service
from corrobora.faces.web.context import Opened, render_page
from corrobora.faces.web.forms import SentForm, go_to

router = APIRouter()
_PAGE = 40


@router.get("/runs")
async def show_runs(
    request: Request,
    workspace: Opened,
    search: Annotated[str, Query(max_length=400)] = "",
    status: Annotated[str, Query(max_length=40)] = "",
    page: Annotated[int, Query(ge=1, le=100_000)] = 1,
) -> HTMLResponse:
    """Show runs, newest first, with score and trend."""
    statuses = [status] if status in list(RunStatus) else []
    rows = await service.list_runs(
        workspace, limit=_PAGE + 1, offset=(page - 1) * _PAGE, search=search, statuses=statuses
    )
    scores = await workspace.runs.read_scores([row.id for row in rows])
    return render_page(
        request,
        "runs.html",
        rows=rows[:_PAGE],
        more=len(rows) > _PAGE,
        page=page,
        search=search,
        wanted=status,
        statuses=list(RunStatus),
        scores=scores,
        changes=list_score_changes(rows, scores),
    )


@router.post("/runs/{run}/remove")
async def remove_run(run: str, workspace: Opened, form: SentForm) -> object:  # noqa: ARG001 - the form has the token
    """Remove a run with its events and files."""
    await service.remove(workspace, run)
    return go_to("/runs")
