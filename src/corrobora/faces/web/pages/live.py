"""The live run: its view as panels, rendered whole for a plain page and one by one as server-sent patches.

Knows which panels there are and what a person may do with a run in each state. What a run did is the fold of its
events, so that a run of another process is as live as one of this process.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Request
from fastapi.responses import HTMLResponse, Response, StreamingResponse

from corrobora.app import Workspace
from corrobora.app.followups import CHANGES_PROPOSED, read_changes
from corrobora.app.runs import FINISH_TOPIC, PAUSE_TOPIC, ask_attempt
from corrobora.domain.errors import CorroboraError, UserError
from corrobora.domain.report import Outcome
from corrobora.domain.run import REFUSED, RunRow, RunStatus, Stage
from corrobora.faces.event_text import thread_label
from corrobora.faces.refusals import drop_command
from corrobora.faces.run_view import Lane, ReadSource, RunView, fold_event
from corrobora.faces.web import service, stored_runs
from corrobora.faces.web.context import Allowed, Opened, SentForm, go_to, load_templates, render_page
from corrobora.storage.journal.events import read_events
from corrobora.text.phrases import describe_code

router = APIRouter()
PANELS = tuple(
    "tabs status changes budget tree activity sources coverage rounds conflicts webhooks remove spoken".split()
)
_TICK_SECONDS = 1.0  # how often the clock of a running run moves
_IDLE_SECONDS = 15.0  # between two signs of life where nothing changes
_REST_SECONDS = 0.25  # at most four updates a second
_MATRIX_SOURCES = 8
_TROUBLES = 3  # different warnings that a run without a report shows
_BAR = 1000
_BEFORE_WRITING = ("", Stage.CLARIFY, Stage.PLAN, Stage.INVESTIGATE)


@dataclass(frozen=True, slots=True)
class TimeBar:
    """The time budget in thousandths of its bar: used, and where the reserve for writing begins."""

    used: int
    kept_from: int


@dataclass(frozen=True, slots=True)
class LiveState:
    """What the panels show: the row of the run, its view, and how long it has been worked on."""

    row: RunRow
    view: RunView
    elapsed: float
    proposed: Mapping[str, Any]  # the changes of an edit that waits
    wishes: Collection[str] = ()  # what a person asked this attempt for: to pause, to finish
    webhooks: Sequence[Mapping[str, Any]] = ()  # of the end of the run

    @property
    def wish(self) -> str:
        """What the attempt was asked for and has not done yet: "finish", "pause" or ""."""
        if not self.researches:
            return ""
        return next((each for each in (FINISH_TOPIC, PAUSE_TOPIC) if each in self.wishes), "")

    @property
    def researches(self) -> bool:
        """True while the run can still pause between two rounds or end its research early."""
        return self.active and self.view.stage in _BEFORE_WRITING

    @property
    def active(self) -> bool:
        """True while somebody works on the run or will."""
        return self.row.status.active

    @property
    def can_resume(self) -> bool:
        """True if the run goes on when it is told to."""
        stopped = (RunStatus.PAUSED, RunStatus.INTERRUPTED, RunStatus.FAILED, RunStatus.CANCELLED)
        return self.row.status in stopped and self.row.outcome not in (CHANGES_PROPOSED, *REFUSED)

    @property
    def reason(self) -> str:
        """Why the run waits or has no report, in words."""
        reason = drop_command(describe_code(self.row.reason or self.row.outcome))
        return reason.partition(" Narrower: ")[0] if self.view.narrower else reason  # the page offers them as links

    @property
    def can_steer(self) -> bool:
        """True if the run pauses between two rounds and takes a hint."""
        return self.row.status is RunStatus.PAUSED and self.row.outcome == "paused"

    @property
    def has_report(self) -> bool:
        """True if the run ended with a report."""
        return self.row.status in (RunStatus.DONE, RunStatus.FAILED) and self.view.words > 0

    @property
    def has_answer(self) -> bool:
        """True if the report does more than to say that nothing was found."""
        return self.has_report and self.row.outcome != Outcome.NO_EVIDENCE

    @property
    def troubles(self) -> Sequence[tuple[str, int]]:
        """The warnings that came most often, each with how often it came."""
        return Counter(line.text for line in self.view.lines if line.kind == "warn").most_common(_TROUBLES)

    @property
    def time_bar(self) -> TimeBar | None:
        """The bar of the time budget, None without a limit."""
        limit = self.view.gauge.limit_seconds
        if not limit:
            return None
        used = min(_BAR, round(_BAR * self.elapsed / limit))
        return TimeBar(used, round(_BAR * max(0.0, 1 - self.view.gauge.reserve_seconds / limit)))

    @property
    def money_bar(self) -> int | None:
        """Thousandths of the limit of cost that are spent, None without a limit."""
        most = self.view.gauge.max_dollars
        return min(_BAR, round(_BAR * self.view.gauge.dollars / most)) if most else None

    @property
    def lanes(self) -> Mapping[str, Lane]:
        """The threads by their paths in the plan."""
        return {lane.path: lane for lane in self.view.lanes}

    @property
    def top_sources(self) -> Sequence[ReadSource]:
        """The sources with the most facts, for the matrix of coverage."""
        return sorted((each for each in self.view.sources if each.facts), key=lambda each: -each.facts)[
            :_MATRIX_SOURCES
        ]


async def read_state(workspace: Workspace, row: RunRow, view: RunView) -> LiveState:
    """Return what the panels show of a run now."""
    wishes = await service.list_wishes(workspace, row)
    running = row.status is RunStatus.RUNNING
    now = datetime.now(UTC).isoformat()
    elapsed = view.elapsed_at(now) if running else max(row.elapsed_seconds, view.gauge.elapsed_seconds or 0.0)
    proposed = await read_changes(workspace, row.id) if row.outcome == CHANGES_PROPOSED else {}
    webhooks = await service.list_webhooks(workspace, row.id) if row.status.final else ()
    return LiveState(row, view, elapsed, proposed, wishes, webhooks)


async def load_view(workspace: Workspace, run: str, view: RunView | None = None) -> RunView:
    """Fold the stored events of a run that `view` has not seen."""
    view = view or RunView()
    while events := await read_events(workspace.database, run, after=view.seq):
        for event in events:
            view = fold_event(view, event)
    return view


def render_panel(name: str, state: LiveState, csrf: str) -> str:
    """Return one panel as HTML."""
    template = load_templates().get_template(f"live/{name}.html")
    return template.render(state=state, view=state.view, row=state.row, csrf=csrf, label=thread_label)


@router.get("/runs/{run}")
async def show_run(request: Request, run: str, workspace: Opened) -> HTMLResponse:
    """Show the present state of a run; with a script the panels follow it."""
    return await _render_run(request, workspace, await service.read_run(workspace, run))


async def _render_run(
    request: Request, workspace: Workspace, row: RunRow, error: CorroboraError | None = None
) -> HTMLResponse:
    state = await read_state(workspace, row, await load_view(workspace, row.id))
    return render_page(
        request,
        "run.html",
        status=200 if error is None else 409,
        state=state,
        view=state.view,
        row=row,
        label=thread_label,
        error=error,
    )


@router.get("/runs/{run}/stream")
async def stream_panels(  # noqa: PLR0913 - what the request brings
    request: Request,
    run: str,
    workspace: Opened,
    access: Allowed,
    *,
    after: Annotated[int, Query(ge=0)] = 0,
    last_event_id: Annotated[str, Header()] = "",
) -> Response:
    """Send the panels that changed since the cursor, and then each change; ends with the run.

    The cursor is the number of the last event that the page shows: after a reload, a lost connection or a sleep the
    panels that differ are sent at once.
    """
    row = await service.read_run(workspace, run)
    shown = max(after, int(last_event_id) if last_event_id.isdecimal() else 0)
    csrf = access.make_form_token(access.read_cookie(request.scope))
    return StreamingResponse(
        _write_patches(workspace, row.id, shown, csrf),
        media_type="text/event-stream",
        headers={"X-Accel-Buffering": "no"},
    )


async def _write_patches(workspace: Workspace, run: str, shown: int, csrf: str) -> AsyncGenerator[str]:
    view, sent = RunView(), dict[str, str]()
    yield f"retry: 2000\n: from {shown}\n\n"
    with workspace.events.watch_runs([run]) as changed:
        while True:
            changed.clear()
            row = await _read_row(workspace, run)
            if row is None:  # removed
                yield "event: reload\ndata: {}\n\n"
                return
            view = await load_view(workspace, run, view)
            state = await read_state(workspace, row, view)
            for name in PANELS:
                html = render_panel(name, state, csrf)
                if sent.get(name) != html:
                    patch = {"target": name, "parts": describe_change(sent.get(name, ""), html)}
                    sent[name] = html
                    yield f"id: {view.seq}\nevent: patch\ndata: {json.dumps(patch)}\n\n"
            if row.status.final:
                yield f"id: {view.seq}\nevent: end\ndata: {{}}\n\n"
                return
            yield ": alive\n\n"
            await asyncio.sleep(_REST_SECONDS)
            with suppress(TimeoutError):
                running = row.status is RunStatus.RUNNING
                async with asyncio.timeout(_TICK_SECONDS if running else _IDLE_SECONDS):
                    await changed.wait()


def describe_change(before: str, after: str) -> list[str | list[int]]:
    """Return the lines of a text: each new one, and of those that stand in the text before only from where to where."""
    old = before.split("\n") if before else []
    places = {line: at for at, line in enumerate(old)}
    parts: list[str | list[int]] = []
    for line in after.split("\n"):
        last = parts[-1] if parts else ""
        if isinstance(last, list) and old[last[1] : last[1] + 1] == [line]:
            last[1] += 1
        elif line in places:
            parts.append([places[line], places[line] + 1])
        else:
            parts.append(line)
    return parts


async def _read_row(workspace: Workspace, run: str) -> RunRow | None:
    try:
        return await workspace.runs.get(run)
    except UserError:
        return None


@router.post("/runs/{run}/control")
async def control_run(request: Request, run: str, workspace: Opened, form: SentForm) -> Response:
    """Pause, resume, steer, finish or stop a run, as the pressed button says."""
    row = await service.read_run(workspace, run)
    try:
        match form.text("do"):
            case "pause":
                await ask_attempt(workspace, row.id, PAUSE_TOPIC)
            case "resume":
                await service.resume(workspace, row.id)
            case "steer":
                await service.steer(workspace, row.id, form.text("hint"))
            case "accept":
                await stored_runs.accept_edit(workspace, row.id, ",".join(form.texts("change")) or "none")
            case "finish":
                await ask_attempt(workspace, row.id, FINISH_TOPIC)
            case "stop":
                await service.cancel(workspace, run)
            case other:
                raise UserError("form_field", f"There is no action {other[:40]!r}.", next_step="Open the page again.")
    except CorroboraError as error:
        return await _render_run(request, workspace, await service.read_run(workspace, row.id), error)
    return go_to(f"/runs/{row.id}#status")  # there the next press of Tab goes on
