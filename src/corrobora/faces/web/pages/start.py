"""Start: the dialogue with the manager, the form of a new run with what it may cost, and the runs before.

Knows the forms of a dialogue and of a new run. What may be asked for is checked where every face checks it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from pydantic import ValidationError

from corrobora.app import Workspace
from corrobora.app.dialogues import AUTHORIZATION_PHRASE, DialogueManager, first_message, open_dialogue
from corrobora.app.followups import find_origins
from corrobora.app.libraries import SpaceInfo, resolve_libraries
from corrobora.app.runs import resolve_profile
from corrobora.app.wiring import list_usable_searches
from corrobora.domain.errors import CorroboraError
from corrobora.domain.plan import Node, Plan
from corrobora.domain.run import DEMO, RunRow, RunStatus
from corrobora.faces.cli.runs import list_score_changes
from corrobora.faces.refusals import describe_fault
from corrobora.faces.web import service
from corrobora.faces.web.context import FieldError, Form, Opened, SentForm, go_to, keep_here, render_page
from corrobora.faces.web.libraries import list_libraries, list_profiles
from corrobora.faces.web.new_run import NewRun, make_request
from corrobora.reporting.thread_json import describe_estimate

router = APIRouter()
_RECENT = 6
_THEMES = ("auto", "light", "dark")
_YEAR_SECONDS = 365 * 24 * 3600


@router.get("/")
async def show_start(
    request: Request,
    workspace: Opened,
    again: Annotated[str, Query(max_length=64)] = "",
    question: Annotated[str, Query(max_length=2_000)] = "",
) -> HTMLResponse:
    """Show the form of a new run and the latest runs; `again` names a run that is repeated, `question` other words."""
    if not again:
        return await _render_start(request, workspace, {"question": question})
    asked = (await service.read_run(workspace, again)).request
    given = {"question": question or asked.question, "profile": asked.profile, "library": asked.libraries}
    return await _render_start(request, workspace, given | {"provider": asked.providers})


@router.post("/runs")
async def start_run(request: Request, workspace: Opened, form: SentForm) -> Response:
    """Start the run of a form, or estimate what it would cost; show the form again if something cannot be used."""
    try:
        wanted = read_new_run(form)
        if form.text("do") == "estimate":
            return await _render_start(
                request, workspace, _filled_fields(form), estimate=await estimate_run(workspace, wanted)
            )
        row = await service.start_run(workspace, wanted)
    except CorroboraError as error:
        return await _render_start(request, workspace, _filled_fields(form), error=error)
    return go_to(f"/runs/{row.id}")


@router.get("/favicon.ico")
async def find_icon() -> RedirectResponse:
    """Lead a browser that shows a bare file, which names no icon, to the icon of the page."""
    return RedirectResponse("/static/mark.svg", 301)


@router.post("/appearance")
async def set_appearance(form: SentForm) -> RedirectResponse:
    """Remember whether pages are light, dark or as the system says."""
    back, theme = form.text("back", "/"), form.text("theme")
    answer = go_to(keep_here(back))
    if theme in _THEMES:
        answer.set_cookie("theme", theme, max_age=_YEAR_SECONDS, samesite="strict", httponly=True)
    return answer


async def _render_start(
    request: Request,
    workspace: Workspace,
    given: Mapping[str, Any],
    *,
    error: CorroboraError | None = None,
    estimate: str = "",
) -> HTMLResponse:
    libraries = await list_libraries(workspace)
    names = {space.name for space in libraries}
    settings = workspace.settings
    recent = await workspace.runs.list(limit=_RECENT)
    return render_page(
        request,
        "start.html",
        page_path="/",  # the form is sent to the list of runs
        status=200 if error is None else 422,
        given=given,
        error=error,
        estimate=estimate,
        profiles=list_profiles(workspace),
        chosen=given.get("profile") or settings.profile,
        libraries=libraries,
        demo=DEMO if DEMO not in names else "",
        checked=given.get("library", list_checked(workspace, recent, libraries)),
        providers=list_providers(workspace),
        checked_providers=given.get("provider", settings.providers),
        settings=settings,
        recent=recent,
        origins=await find_origins(workspace, recent),
    )


def list_checked(workspace: Workspace, recent: Sequence[RunRow], stored: Sequence[SpaceInfo]) -> Sequence[str]:
    """Return the libraries that are checked first: those of the settings, else of the last run, else the only one."""
    names = {space.name for space in stored}
    if workspace.settings.libraries:
        return workspace.settings.libraries
    for row in recent:
        if kept := [each for each in row.request.libraries if each in names]:
            return kept
    return tuple(names) if len(names) == 1 else () if names else (DEMO,)


def _filled_fields(form: Form) -> dict[str, Any]:
    """Return what was filled in, to show it again."""
    names = ("question", "profile", "time", "max_cost", "sources", "review")
    single = {name: form.text(name) for name in names}
    return {**single, "library": form.texts("library"), "provider": form.texts("provider")}


def list_providers(workspace: Workspace) -> Sequence[str]:
    """Return the web searches that can be used now: key and address are set where they are needed."""
    named = () if workspace.settings.offline else workspace.settings.providers
    return tuple(dict.fromkeys((*named, *list_usable_searches(workspace.settings))))


def read_new_run(form: Form) -> NewRun:
    """Return the run that a form asks for. Raises `UserError` for a field that cannot be read."""
    profile = form.text("profile") or None
    values: dict[str, Any] = {
        "question": form.text("question"),
        "profile": profile,
        "libraries": list(form.texts("library")),
        "providers": list(form.texts("provider")),
        "sources": form.text("sources").split(),
        "time": form.text("time") if form.text("time") == "unlimited" else _read_number(form, "time", "The time"),
        "max_cost": _read_number(form, "max_cost", "The limit of cost"),
    }
    if form.text("review"):
        values["fields"] = {"authorize": "human", "phrase": AUTHORIZATION_PHRASE}
    try:
        return NewRun.model_validate(values)
    except ValidationError as error:
        place, fault = describe_fault(error.errors())
        field = place.partition(".")[0]
        name = field.replace("_", " ") or "form"
        raise FieldError(field, f"The {name} cannot be used: {fault}.", next_step="Correct it.") from None


def _read_number(form: Form, field: str, what: str) -> float | None:
    text = form.text(field)
    try:
        return float(text) if text else None
    except ValueError:
        step = "Write a number such as 5 or 0.5, or leave the field empty."
        raise FieldError(field, f"{what} is not a number: {text[:40]!r}.", next_step=step) from None


async def estimate_run(workspace: Workspace, wanted: NewRun) -> str:
    """Say what a run would cost, before its plan is known; "nothing" where no language model is asked."""
    made = make_request(workspace.settings, wanted)
    profile = resolve_profile(workspace.settings, made)
    workspace.wiring.check_request(replace(made, libraries=()), profile)
    estimate = workspace.wiring.open_estimator(made, profile)
    if estimate is None:
        return "Nothing is paid: no paid language model takes part."
    return f"About {describe_estimate(estimate(Plan(Node('root', made.question, made.question))))}."


_PAGE = 40


@router.get("/runs")
async def show_runs(
    request: Request,
    workspace: Opened,
    search: Annotated[str, Query(max_length=400)] = "",
    status: Annotated[str, Query(max_length=40)] = "",
    cursor: Annotated[str, Query(max_length=400)] = "",
) -> HTMLResponse:
    """Show runs, newest first, with score and trend."""
    statuses = [RunStatus(status)] if status in list(RunStatus) else []
    rows, following = await service.list_page(workspace, cursor, limit=_PAGE, search=search, statuses=statuses)
    scores = await workspace.runs.read_scores([row.id for row in rows])
    return render_page(
        request,
        "runs.html",
        rows=rows,
        origins=await find_origins(workspace, rows),
        cursor=cursor,
        following=following,
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


_PROFILE = "tree"


@router.get("/chat")
async def show_dialogues(request: Request, workspace: Opened) -> HTMLResponse:
    """Show how a dialogue begins, and the earlier ones."""
    return await _render_begin(request, workspace)


async def _render_begin(
    request: Request, workspace: Workspace, error: CorroboraError | None = None, given: Mapping[str, Any] | None = None
) -> HTMLResponse:
    given = given or {}
    stored = await workspace.dialogues.list(limit=20)
    libraries = await list_libraries(workspace)
    return render_page(
        request,
        "chat_begin.html",
        status=200 if error is None else 422,
        error=error,
        given=given,
        dialogues=[(each, first_message(each)) for each in stored],
        libraries=libraries,
        demo="" if any(space.name == DEMO for space in libraries) else DEMO,
        providers=list_providers(workspace),
        profiles=list_profiles(workspace),
        chosen=given.get("profile") or _PROFILE,
        checked=given.get("library", list_checked(workspace, await workspace.runs.list(limit=_RECENT), libraries)),
        checked_providers=given.get("provider", workspace.settings.providers),
    )


@router.post("/chat")
async def begin_dialogue(request: Request, workspace: Opened, form: SentForm) -> Response:
    """Begin a dialogue with what the person wants to know."""
    try:
        asked = make_request(workspace.settings, read_new_run(form))
        spaces = await resolve_libraries(workspace, asked.libraries)
        manager = open_dialogue(workspace, replace(asked, question="", libraries=spaces))
        await manager.say(form.text("question"))
    except CorroboraError as error:
        return await _render_begin(request, workspace, error, _filled_fields(form))
    return go_to(f"/chat/{manager.id}")


@router.get("/chat/{dialogue}")
async def show_dialogue(request: Request, dialogue: str, workspace: Opened) -> HTMLResponse:
    """Show what was said."""
    return _render_dialogue(request, await _open_stored(workspace, dialogue))


async def _open_stored(workspace: Workspace, dialogue: str) -> DialogueManager:
    stored = await workspace.dialogues.get(dialogue)
    return open_dialogue(workspace, stored.request, stored)


def _render_dialogue(request: Request, manager: DialogueManager, error: CorroboraError | None = None) -> HTMLResponse:
    turns = [(who, text) for who, _, text in (turn.partition(": ") for turn in manager.dialogue.turns)]
    return render_page(
        request,
        "chat.html",
        status=200 if error is None else 422,
        error=error,
        manager=manager,
        turns=turns,
        phrase=manager.dialogue.phrase,
        offered=() if manager.agreed or manager.dialogue.scoping is None else manager.dialogue.scoping.narrower,
    )


@router.post("/chat/{dialogue}")
async def say_more(request: Request, dialogue: str, workspace: Opened, form: SentForm) -> Response:
    """Answer the manager; the exact phrase starts the research."""
    manager = await _open_stored(workspace, dialogue)
    try:
        await manager.say(form.text("said"))
    except CorroboraError as error:
        return _render_dialogue(request, manager, error)
    if manager.run is None:
        return go_to(f"/chat/{manager.id}#say")
    await workspace.queue.submit(manager.run)
    return go_to(f"/runs/{manager.run}")
