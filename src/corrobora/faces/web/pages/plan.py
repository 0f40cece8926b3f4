"""The plan gate: the plan of a run as a tree that a person edits by forms, and authorizes.

Knows the forms. A changed plan is checked and proposed anew by the run itself, with a new estimate.
"""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response
from pydantic import TypeAdapter

from corrobora.app import Workspace
from corrobora.app.runs import resolve_profile
from corrobora.domain.errors import CorroboraError, UserError
from corrobora.domain.plan import Plan, collect_leaves, executor_depth
from corrobora.domain.run import RunRow, RunStatus
from corrobora.faces.web import service
from corrobora.faces.web.context import Opened, render_page
from corrobora.faces.web.forms import Form, SentForm, go_to
from corrobora.faces.web.pages.live import load_view
from corrobora.faces.web.pages.plan_edits import edit_plan
from corrobora.policies.feasibility import find_overlaps

router = APIRouter()
_PROPOSE_SECONDS = 20.0  # how long a form waits for the new proposal; after it, the page shows what there is


@router.get("/runs/{run}/plan")
async def show_plan(request: Request, run: str, workspace: Opened) -> HTMLResponse:
    """Show the plan of a run: as forms while it waits, else to read."""
    return await _render_plan(request, workspace, await service.read_run(workspace, run))


async def _render_plan(
    request: Request, workspace: Workspace, row: RunRow, error: CorroboraError | None = None
) -> HTMLResponse:
    stored = await service.read_plan(workspace, row.id)
    plan = TypeAdapter(Plan).validate_python(stored)
    profile = resolve_profile(workspace.settings, row.request)
    return render_page(
        request,
        "plan.html",
        status=200 if error is None else 422,
        row=row,
        view=await load_view(workspace, row.id),
        plan=plan,
        error=error,
        waits=row.status is RunStatus.AWAITING,
        phrase=profile.phrase,
        depth=executor_depth(plan),
        leaves=len(collect_leaves(plan.root)),
        profile=profile,
        overlaps=find_overlaps(plan.root),
    )


@router.post("/runs/{run}/plan")
async def change_plan(request: Request, run: str, workspace: Opened, form: SentForm) -> Response:
    """Take the changes of the form, which the run proposes anew, or start the research of a plan that is unchanged.

    Whoever changed the plan and authorizes it in one step sees the changed plan with its estimate first. The Enter key
    saves, or authorizes if words were typed.
    """
    row = await service.read_run(workspace, run)
    action = form.text("do") or "save"
    if action == "enter":
        action = "authorize" if form.text("words").strip() else "save"
    starts = action == "authorize"
    try:
        changed = await _change(workspace, row.id, form, "save" if starts else action)
        if starts and changed:
            raise UserError(
                "plan_edit",
                "Your changes are saved, and nothing was started.",
                next_step="Read the changed plan and its estimate, then authorize it.",
            )
        if starts:
            await service.authorize(workspace, row.id, form.text("words"))
    except CorroboraError as error:
        return await _render_plan(request, workspace, await service.read_run(workspace, run), error)
    return go_to(f"/runs/{row.id}" if starts else f"/runs/{row.id}/plan")


async def _change(workspace: Workspace, run: str, form: Form, action: str) -> bool:
    stored = await service.read_plan(workspace, run)
    changed = edit_plan(stored, form.texts_after("node:"), action)
    if dict(stored) == dict(changed):
        return False
    await service.replace_plan(workspace, run, changed)
    await service.wait_for_run(workspace, run, seconds=_PROPOSE_SECONDS)
    return True
