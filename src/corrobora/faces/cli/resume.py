"""`corrobora resume` and `authorize`: going on with a stored run.

Knows which words authorize. Does not repeat what was answered: a resumed run runs again over its journal.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Unpack

import click

from corrobora.domain.run import RunStatus
from corrobora.faces.cli.arguments import STAGES, find_stage
from corrobora.faces.cli.delivery import resume_here
from corrobora.faces.cli.failure import say
from corrobora.faces.cli.options import open_settings
from corrobora.faces.cli.research import Shown, run_flags, shown_options, wanted_of
from corrobora.faces.cli.terminal import is_terminal
from corrobora.faces.cli.workspace import checked_run, with_workspace

if TYPE_CHECKING:
    from corrobora.assembly import Workspace


class Again(Shown):
    """The flags of `resume`."""

    run: str
    from_stage: str | None
    until_stage: str | None


class Said(Shown):
    """The flags of `authorize`."""

    run: str
    words: str | None


@click.command()
@click.argument("run")
@click.option("--from-stage", type=click.Choice(STAGES), help="Redo the run from this stage on.")
@click.option("--until-stage", type=click.Choice(STAGES), help="Pause after this stage; resume goes on.")
@shown_options
def resume(**flags: Unpack[Again]) -> int:
    """Go on with a run. What was answered before is not asked again."""
    name = checked_run(flags["run"])
    settings = open_settings(flags["config_file"], run_flags(flags))
    stage = find_stage(flags["from_stage"]) if flags["from_stage"] else None
    return resume_here(settings, name, stage, wanted_of(flags, settings, until=flags["until_stage"]))


@click.command()
@click.argument("run")
@click.option("--words", metavar="TEXT", help="The exact phrase, where it cannot be typed.")
@shown_options
def authorize(**flags: Unpack[Said]) -> int:
    """Authorize the waiting plan of a run, and go on with it."""
    name = checked_run(flags["run"])
    settings = open_settings(flags["config_file"], run_flags(flags))
    wanted = wanted_of(flags, settings)

    async def work(workspace: Workspace) -> bool:
        row = await workspace.runs.get(name)
        if row.status is not RunStatus.AWAITING:
            say(f"The run {name} does not wait for authorization: it is {row.status}.")
            return False
        words = flags["words"]
        if words is None and not (wanted.may_ask and is_terminal(sys.stdin)):
            words = sys.stdin.readline().strip() if wanted.may_ask else ""
        if words is not None:
            await workspace.authorize(name, words)
        return True

    with_workspace(settings, work)
    return resume_here(settings, name, None, wanted)
