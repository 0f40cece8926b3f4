"""`corrobora chat`: a dialogue with the manager, which narrows a question until it may be researched.

Knows lines of a terminal or a pipe. Does not judge questions and cannot start a run: the phrase of the person does.
"""

from __future__ import annotations

import asyncio
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import click

from corrobora.domain.errors import NeedsHuman
from corrobora.domain.run import RunId
from corrobora.faces.cli.delivery import resume_here
from corrobora.faces.cli.options import open_settings
from corrobora.faces.cli.research import Shown, as_unsaid, request_of, run_flags, shown_options, wanted_of
from corrobora.faces.cli.sources import resolve_libraries
from corrobora.faces.cli.terminal import is_terminal, safe, tell
from corrobora.faces.cli.workspace import with_workspace
from corrobora.faces.question import Question, check_question

if TYPE_CHECKING:
    from corrobora.assembly import Workspace
    from corrobora.assembly.conversation import Manager


class Said(Shown):
    """The flags of `chat`."""

    question: str | None
    library: tuple[str, ...]
    provider: tuple[str, ...]
    profile: str | None
    model: tuple[str, ...]
    fields: tuple[str, ...]
    plan: Path | None


@click.command()
@click.argument("question", required=False)
@click.option("-l", "--library", multiple=True, metavar="NAME|PATH", help="Search this library, folder or file.")
@click.option("--provider", multiple=True, metavar="NAME", help="Search the web with this provider.")
@click.option("-p", "--profile", default="tree", show_default=True, metavar="NAME|FILE", help="How to research.")
@click.option("-m", "--model", multiple=True, metavar="[TIER=]PROVIDER:MODEL", help="Tiers: lead, worker, fast, judge.")
@click.option("-s", "fields", multiple=True, metavar="FIELD=VALUE", help="Set one field of the profile.")
@click.option("--plan", type=click.Path(path_type=Path), metavar="FILE", help="Suggest this plan (JSON).")
@shown_options
def chat(**flags: Unpack[Said]) -> int:
    """Narrow a question with the manager, then research it.

    The manager refuses, with reasons, until each query is feasible. Then the exact words `Authorized to execute`,
    typed here, start the research. The report is printed as by `corrobora research`.
    """
    whole = as_unsaid(flags)
    settings = open_settings(flags["config_file"], run_flags(whole))
    wanted = wanted_of(flags, settings)
    request = request_of(whole, settings, Question("", 0))
    first = check_question(flags["question"]).text if flags["question"] is not None else ""

    async def talk(workspace: Workspace) -> RunId:

        spaces = await resolve_libraries(workspace, request.libraries, show=wanted.display not in ("none", "jsonl"))
        return await _talk(workspace.manager(replace(request, libraries=spaces)), first)

    return resume_here(settings, with_workspace(settings, talk), None, wanted)


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
                    next_step=f'Say "{manager.dialogue.phrase}" once the manager agrees.',
                )
            said = line.strip()
            if not said:
                continue
        for text in (await manager.say(said)).splitlines():
            tell(f"  {safe(text)}")
        said = ""
    return manager.run
