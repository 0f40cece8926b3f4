"""`corrobora resume` and `authorize`: going on with a stored run.

Knows which words authorize. Does not repeat what was answered: a resumed run runs again over its journal.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Unpack

import click

from corrobora.domain.run import RunStatus
from corrobora.faces.cli.asked import STAGES, parse_stage
from corrobora.faces.cli.delivery import resume_run
from corrobora.faces.cli.failure import print_notice
from corrobora.faces.cli.options import open_settings
from corrobora.faces.cli.research import OutputFlags, add_output_options, output_options, output_settings
from corrobora.faces.cli.terminal import is_terminal
from corrobora.faces.cli.workspace import check_run_id, with_workspace

if TYPE_CHECKING:
    from corrobora.assembly import Workspace


class ResumeFlags(OutputFlags):
    """The flags of `resume`."""

    run: str
    from_stage: str | None
    until_stage: str | None


class AuthorizeFlags(OutputFlags):
    """The flags of `authorize`."""

    run: str
    words: str | None


@click.command()
@click.argument("run")
@click.option("--from-stage", type=click.Choice(STAGES), help="Redo the run from this stage on.")
@click.option("--until-stage", type=click.Choice(STAGES), help="Pause after this stage; resume goes on.")
@add_output_options
def resume(**flags: Unpack[ResumeFlags]) -> int:
    """Go on with a run. What was answered before is not asked again."""
    name = check_run_id(flags["run"])
    settings = open_settings(flags["config_file"], output_settings(flags))
    stage = parse_stage(flags["from_stage"]) if flags["from_stage"] else None
    return resume_run(settings, name, stage, output_options(flags, settings, until=flags["until_stage"]))


@click.command()
@click.argument("run")
@click.option("--words", metavar="TEXT", help="The exact phrase, where it cannot be typed.")
@add_output_options
def authorize(**flags: Unpack[AuthorizeFlags]) -> int:
    """Authorize the waiting plan of a run, and go on with it."""
    name = check_run_id(flags["run"])
    settings = open_settings(flags["config_file"], output_settings(flags))
    wanted = output_options(flags, settings)

    async def authorize_waiting(workspace: Workspace) -> bool:
        row = await workspace.runs.get(name)
        if row.status is not RunStatus.AWAITING:
            print_notice(f"The run {name} does not wait for authorization: it is {row.status}.")
            return False
        words = flags["words"]
        if words is None and not (wanted.may_ask and is_terminal(sys.stdin)):
            words = sys.stdin.readline().strip() if wanted.may_ask else ""
        if words is not None:
            await workspace.authorize_plan(name, words)
        return True

    with_workspace(settings, authorize_waiting)
    return resume_run(settings, name, None, wanted)
