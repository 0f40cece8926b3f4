"""The reading screens: report with its evidence, stored sources, audit, comparison of two runs, ratings by people.

Knows paths and forms. What a screen shows is made by `views`. Every screen is whole without a script.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, Response

from corrobora.app import Workspace
from corrobora.app.exports import PassageReference, read_source
from corrobora.app.followups import compare_runs, read_feedback_models, require_report
from corrobora.app.runs import CRITERIA, dump_rating, list_ratings, make_rating, store_rating
from corrobora.domain.errors import CorroboraError, NoEvidence, UserError
from corrobora.domain.report import Report
from corrobora.domain.run import RunRow, RunStatus
from corrobora.faces.web import service, stored_runs
from corrobora.faces.web.api.models import RunName
from corrobora.faces.web.context import Opened, SentForm, go_to, render_page
from corrobora.faces.web.reader import views
from corrobora.reporting.edits import parse_document
from corrobora.reporting.html_page import render_body
from corrobora.reporting.plots import draw_plots
from corrobora.roles.edit import Edit, EditAction, EditRequest
from corrobora.storage.journal.events import list_events
from corrobora.text.phrases import find_frame
from corrobora.text.tokens import sanitize_text

router = APIRouter()
EXPORTS = {  # formats of the menu, and how it calls them
    "md": "Markdown",
    "html": "One HTML page",
    "docx": "Word",
    "pdf": "PDF",
    "json": "JSON",
    "bundle": "Bundle to check offline",
    "bib": "References: BibTeX",
    "ris": "References: RIS",
    "csl": "References: CSL-JSON",
}


@router.get("/reader.css", include_in_schema=False)
async def get_style() -> Response:
    """Return the style of evidence, the same as in the exported page, and of these screens."""
    shared = resources.files("corrobora.reporting") / "evidence.css"
    own = resources.files("corrobora.faces.web") / "static" / "reader.css"
    text = "\n".join(each.read_text(encoding="utf-8") for each in (shared, own))
    return Response(text, media_type="text/css", headers={"Cache-Control": "max-age=600"})


async def _load(workspace: Opened, run: str) -> tuple[RunRow, Report]:
    row = await service.read_run(workspace, run)
    return row, await require_report(workspace, row.id)


async def _render(
    request: Request, workspace: Workspace, screen: str, row: RunRow, status: int = 200, **values: Any
) -> HTMLResponse:
    """Render a screen of one run; it has a tab for the plan if there is one."""
    planned = "plan.json" in await workspace.runs.list_artifacts(row.id)
    return render_page(
        request, f"reader/{screen}.html", status=status, row=row, planned=planned, show=sanitize_text, **values
    )


@router.get("/runs/{run}/report", include_in_schema=False)
async def show_report(request: Request, run: str, workspace: Opened) -> HTMLResponse:
    """Show the report: every number opens its quote; verdicts, conflicts and gaps are beside it."""
    return await _render_report(request, workspace, run)


async def _render_report(
    request: Request, workspace: Workspace, run: str, error: CorroboraError | None = None, said: str = ""
) -> HTMLResponse:
    row, report = await _load(workspace, run)
    if not report.markdown:
        raise NoEvidence("report_missing", f"Run {row.id} has no report: {report.reason or report.outcome}.")
    frame = find_frame(report.language, report.translation)
    return await _render(
        request,
        workspace,
        "report",
        row,
        200 if error is None else 422,
        error=error,
        said=said,
        frame=frame,
        report=report,
        body=render_body(report),
        side=views.build_side(report),
        exports=EXPORTS,
        stored=views.source_link(row.id),
        ratings=await list_ratings(workspace, row.id),
        outline=parse_document(report),
        reads_feedback=bool(read_feedback_models(workspace, row.request)),
    )


@router.get("/runs/{run}/report.{form}", include_in_schema=False)
async def export_report(run: str, form: str, workspace: Opened) -> Response:
    """Return the report as a file to save, in any format of `corrobora export`."""
    file = await stored_runs.export_report(workspace, run, form)
    name = file.name.rpartition("/")[2]
    kind = "application/octet-stream" if form == "html" else file.media_type  # never shown as a page of this server
    return Response(file.content, media_type=kind, headers={"Content-Disposition": f'attachment; filename="{name}"'})


@router.get("/runs/{run}/sources/{source}", include_in_schema=False)
async def show_source(  # noqa: PLR0913, PLR0917 - the parts of an address
    request: Request,
    run: str,
    source: str,
    workspace: Opened,
    passage: Annotated[str, Query(max_length=20)] = "",
    first: Annotated[int | None, Query(ge=0, le=10**7)] = None,
) -> HTMLResponse:
    """Show the stored text of a source with the quotes of this report marked, around a passage."""
    row, report = await _load(workspace, run)
    if not any(each.source == source for each in report.citations):
        raise UserError("source_not_cited", f"The report of this run does not cite {source[:20]}.")
    stored = await read_source(workspace, source)
    view = views.build_source(report, stored, PassageReference(source, passage), first)
    return await _render(request, workspace, "source", row, report=report, view=view)


@router.get("/runs/{run}/audit", include_in_schema=False)
async def show_audit(request: Request, run: str, workspace: Opened) -> HTMLResponse:
    """Show the audit: statements by sources, decisions, retries, spend and scores."""
    row, report = await _load(workspace, run)
    events = await list_events(workspace.database, row.id)
    audit = views.build_audit(report, events)
    plots = draw_plots(events, report)
    ratings = await list_ratings(workspace, row.id)
    return await _render(request, workspace, "audit", row, report=report, audit=audit, plots=plots, ratings=ratings)


@router.get("/compare", include_in_schema=False)
async def choose_comparison(
    request: Request,
    workspace: Opened,
    a: Annotated[str, Query(max_length=64)] = "",
    b: Annotated[str, Query(max_length=64)] = "",
    run: Annotated[Sequence[str], Query(max_length=50)] = (),
) -> Response:
    """Let a person choose two runs, or go to their comparison; of two `run` the older one is the earlier."""
    if len(run) == 2:  # noqa: PLR2004 - a comparison has two sides
        chosen = sorted([await service.read_run(workspace, each) for each in run], key=lambda row: row.created_at)
        a, b = chosen[0].id, chosen[1].id
    if a and b:
        before, after = await service.read_run(workspace, a), await service.read_run(workspace, b)
        return go_to(f"/compare/{before.id}/{after.id}")
    rows = await workspace.runs.list(limit=200, statuses=[RunStatus.DONE])
    later = await service.read_run(workspace, b) if b else next(iter(rows), None)
    if later is not None:
        rows = rows if any(row.id == later.id for row in rows) else [later, *rows]
        a, b = a or views.suggest_earlier(rows, later), later.id
    return render_page(request, "reader/choose.html", rows=rows, a=a, b=b, marked=len(run), show=sanitize_text)


@router.get("/compare/{a}/{b}", include_in_schema=False)
async def show_comparison(request: Request, a: str, b: str, workspace: Opened) -> HTMLResponse:
    """Show what is new, changed, gone and the same between two runs, and the trend of their scores."""
    before, after = await service.read_run(workspace, a), await service.read_run(workspace, b)
    found = await compare_runs(workspace, before.id, after.id)
    rows = await workspace.runs.list(limit=500)
    alike = [row for row in reversed(rows) if row.request.question == after.request.question]
    scores = await workspace.runs.read_scores([row.id for row in alike])
    trend = views.build_trend(alike, scores)
    return render_page(
        request,
        "reader/compare.html",
        before=before,
        after=after,
        found=found,
        parts=views.split_parts(found),
        trend=trend,
        show=sanitize_text,
    )


@router.get("/runs/{run}/rating", include_in_schema=False)
async def show_rating(request: Request, run: str, workspace: Opened) -> HTMLResponse:
    """Show the form of a rating, with what the judge and other people said."""
    row, report = await _load(workspace, run)
    ratings = await list_ratings(workspace, row.id)
    return await _render(
        request,
        workspace,
        "rating",
        row,
        report=report,
        given=[(each, {**each.scores, "overall": each.overall}) for each in ratings],
        judge=views.dump_verdict(report),
        criteria=views.describe_criteria(CRITERIA),
    )


@router.post("/runs/{run}/rating", include_in_schema=False)
async def rate_report(run: str, workspace: Opened, form: SentForm) -> Response:
    """Store a person's rating."""
    row, _ = await _load(workspace, run)
    steps = {each: form.text(each) for each in CRITERIA}
    await store_rating(workspace, row.id, make_rating(form.text("rater"), steps, form.text("comment")))
    return go_to(f"/runs/{row.id}/rating#given")


@router.post("/runs/{run}/follow-up", include_in_schema=False)
async def ask_follow_up(request: Request, run: str, workspace: Opened, form: SentForm) -> Response:
    """Ask a question on the evidence of a run: it becomes a run of its own, over the same sources."""
    question = form.text("question")
    try:
        made = await stored_runs.ask_run(workspace, run, question)
    except CorroboraError as error:
        return await _render_report(request, workspace, run, error, question)
    return go_to(f"/runs/{made.id}")


_MARKS = {"drop": EditAction.DROP, "shorten": EditAction.SHORTEN, "research": EditAction.RESEARCH}


@router.post("/runs/{run}/edit", include_in_schema=False)
async def ask_edit(request: Request, run: str, workspace: Opened, form: SentForm) -> Response:
    """Ask for a new version, in words or by marks: it becomes a run that shows its changes and waits for its reader."""
    edits = tuple(Edit(action, place) for name, action in _MARKS.items() for place in form.texts(name))
    try:
        made = await stored_runs.edit_run(workspace, run, EditRequest(edits, form.text("feedback")))
    except CorroboraError as error:
        return await _render_report(request, workspace, run, error)
    return go_to(f"/runs/{made.id}")


@router.get("/api/v1/runs/{run}/ratings", tags=["evidence"])
async def export_ratings(run: RunName, workspace: Opened) -> dict[str, Any]:
    """Return the ratings of a run by people, and the judge's scores beside them."""
    row, report = await _load(workspace, run)
    judge = views.dump_verdict(report)
    return {
        "run": row.id,
        "judge": judge,
        "people": [dump_rating(each) for each in await list_ratings(workspace, row.id)],
    }
