"""The dialogue with the manager: a question is narrowed until it can be researched and the person authorizes it.

Knows the forms of a dialogue. What is feasible, and which words authorize, is the manager's.
"""

from __future__ import annotations

from dataclasses import replace

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response

from corrobora.app import Workspace
from corrobora.app.dialogues import DialogueManager, first_message, open_dialogue
from corrobora.domain.errors import CorroboraError
from corrobora.faces.cli.library import DEMO, resolve_libraries
from corrobora.faces.web.context import Opened, render_page
from corrobora.faces.web.forms import SentForm, go_to
from corrobora.faces.web.libraries import list_libraries, list_profiles
from corrobora.faces.web.new_run import make_request
from corrobora.faces.web.pages.start import list_providers, read_new_run

router = APIRouter()
_PROFILE = "tree"


@router.get("/chat")
async def show_dialogues(request: Request, workspace: Opened) -> HTMLResponse:
    """Show how a dialogue begins, and the earlier ones."""
    return await _render_begin(request, workspace)


async def _render_begin(
    request: Request, workspace: Workspace, error: CorroboraError | None = None, said: str = ""
) -> HTMLResponse:
    stored = await workspace.dialogues.list(limit=20)
    libraries = await list_libraries(workspace)
    return render_page(
        request,
        "chat_begin.html",
        status=200 if error is None else 422,
        error=error,
        said=said,
        dialogues=[(each, first_message(each)) for each in stored],
        libraries=libraries,
        demo="" if any(space.name == DEMO for space in libraries) else DEMO,
        providers=list_providers(workspace),
        profiles=list_profiles(workspace),
        chosen=_PROFILE,
        settings=workspace.settings,
    )


@router.post("/chat")
async def begin_dialogue(request: Request, workspace: Opened, form: SentForm) -> Response:
    """Begin a dialogue with what the person wants to know."""
    try:
        asked = make_request(workspace.settings, read_new_run(form))
        spaces = await resolve_libraries(workspace, asked.libraries, show=False)
        manager = open_dialogue(workspace, replace(asked, question="", libraries=spaces))
        await manager.say(form.text("question"))
    except CorroboraError as error:
        return await _render_begin(request, workspace, error, form.text("question"))
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
