"""`corrobora chat`: a dialogue with the manager, which narrows a question until it may be researched.

Knows lines of a terminal or a pipe. Does not judge questions and cannot start a run: the phrase of the person does.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import click
from click.core import ParameterSource

from corrobora.config import Settings
from corrobora.domain.errors import NeedsHuman, UserError
from corrobora.domain.run import RunId
from corrobora.faces.cli.delivery import resume_here
from corrobora.faces.cli.options import fields_option, model_option, open_settings, setting_options
from corrobora.faces.cli.research import Shown, as_unsaid, request_of, run_flags, shown_options, wanted_of
from corrobora.faces.cli.sources import resolve_libraries
from corrobora.faces.cli.terminal import is_terminal, one_line, safe, tell
from corrobora.faces.cli.workspace import with_workspace
from corrobora.faces.question import Question, check_question

if TYPE_CHECKING:
    from corrobora.assembly import Workspace
    from corrobora.assembly.conversation import Manager
    from corrobora.storage.dialogues import StoredDialogue


class Said(Shown):
    """The flags of `chat`."""

    question: str | None
    model: tuple[str, ...]
    fields: tuple[str, ...]
    plan: Path | None


@click.command()
@click.argument("question", required=False)
@setting_options("libraries", "providers", profile="tree")
@model_option
@fields_option
@click.option("--plan", type=click.Path(path_type=Path), metavar="FILE", help="Suggest this plan (JSON).")
@click.option(
    "--resume",
    is_flag=False,
    flag_value="",
    metavar="[DIALOGUE]",
    help="Go on with a dialogue, or the newest open one.",
)
@click.option("--list", "listed", is_flag=True, help="List the dialogues and leave.")
@click.option("--forget", metavar="DIALOGUE", help="Remove a dialogue and leave.")
@shown_options
def chat(*, resume: str | None, listed: bool, forget: str | None, **flags: Unpack[Said]) -> int:
    """Narrow a question with the manager, then research it.

    The manager refuses, with reasons, until each query is feasible. Then the exact words `Authorized to execute`,
    typed here, start the research. The report is printed as by `corrobora research`. What was said is kept turn by
    turn: --resume goes on where a dialogue ended, however it ended.
    """
    if listed or forget is not None:
        return _managed(open_settings(flags["config_file"]), forget)
    if resume is not None:
        return _resumed(resume, flags)
    whole = as_unsaid(flags)
    settings = open_settings(flags["config_file"], run_flags(whole))
    wanted = wanted_of(flags, settings)
    request = request_of(whole, settings, Question("", 0))
    first = check_question(flags["question"]).text if flags["question"] is not None else ""

    async def talk(workspace: Workspace) -> RunId:
        spaces = await resolve_libraries(workspace, request.libraries, show=wanted.display not in ("none", "jsonl"))
        return await _talk(workspace.manager(replace(request, libraries=spaces)), first)

    return resume_here(settings, with_workspace(settings, talk), None, wanted)


def _resumed(identity: str, flags: Said) -> int:
    """Go on with a stored dialogue. Where and how to research was said when it began, so it cannot be said again."""
    context = click.get_current_context()
    for name in ("question", "library", "provider", "profile", "model", "fields", "plan"):
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise UserError(
                "resume_with_flags",
                f"--resume goes on with a dialogue as it was begun; {name} cannot be given with it.",
                next_step="Leave it out, or begin a new dialogue without --resume.",
            )
    whole = as_unsaid(flags)
    settings = open_settings(flags["config_file"], run_flags({**whole, "profile": None}))
    wanted = wanted_of(flags, settings)

    async def talk(workspace: Workspace) -> RunId:
        stored = await workspace.dialogues.get(identity)
        manager = workspace.manager(stored.request, stored)
        for turn in manager.dialogue.turns:
            for line in turn.splitlines():
                tell(f"  {safe(line)}")
        return await _talk(manager, manager.pending)

    return resume_here(settings, with_workspace(settings, talk), None, wanted)


def _managed(settings: Settings, forget: str | None) -> int:
    """`--list` and `--forget`."""

    async def work(workspace: Workspace) -> Sequence[StoredDialogue]:
        if forget is None:
            return await workspace.dialogues.list()
        if not await workspace.dialogues.remove(forget):
            raise UserError(
                "dialogue_unknown", f"There is no dialogue {forget[:80]}.", next_step="corrobora chat --list"
            )
        tell(f"removed {forget}")
        return ()

    from corrobora.assembly.conversation import asked_in  # noqa: PLC0415 - `--help` must not load the engine

    for each in with_workspace(settings, work):
        state = f"run {each.run}" if each.run else "open"
        click.echo(f"{each.id}  {each.updated_at}  {state}  {one_line(asked_in(each), 80)}")
    return 0


async def _talk(manager: Manager, first: str) -> RunId:
    """Listen and answer until the person authorizes. Raises `NeedsHuman` at the end of the input."""
    said = first
    if not said and is_terminal(sys.stdin):
        tell("What would you like to find out? (Ctrl-D leaves)")
    while manager.run is None:
        if not said:
            line = await asyncio.to_thread(sys.stdin.readline)
            if not line:
                raise NeedsHuman(
                    "plan_not_authorized",
                    "The dialogue ended before the research was authorized.",
                    next_step=f'Say "{manager.dialogue.phrase}" once the manager agrees: '
                    f"corrobora chat --resume {manager.id}",
                )
            said = line.strip()
            if not said:
                continue
        for text in (await manager.say(said)).splitlines():
            tell(f"  {safe(text)}")
        said = ""
    return manager.run
