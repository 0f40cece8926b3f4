"""`corrobora runs`, and what can be done with one run: authorize, cancel, steer.

Knows how runs are listed. Does not work on them: `research` and `resume` do.
"""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from corrobora.domain.errors import UserError
from corrobora.domain.run import RunRow
from corrobora.faces.cli.options import config_option, json_option, open_settings, print_json
from corrobora.faces.cli.terminal import one_line, tell
from corrobora.faces.cli.workspace import checked_run, with_workspace

if TYPE_CHECKING:
    from corrobora.assembly import Workspace


@click.group()
def runs() -> None:
    """List, show and remove runs."""


@runs.command(name="list")
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True, help="How many, newest first.")
@json_option
@config_option
def list_(*, limit: int, as_json: bool, config_file: Path | None) -> None:
    """List runs, newest first."""

    async def work(workspace: Workspace) -> list[RunRow]:
        return list(await workspace.runs.list(limit=limit))

    found = with_workspace(open_settings(config_file), work)
    if as_json:
        print_json([_row(each) for each in found])
        return
    for each in found:
        state = each.outcome or each.status.value
        click.echo(f"{each.id}  {each.created_at[:16]}  {state:<24} {one_line(each.request.question, 80)}")
    if not found:
        tell("No runs yet.")


@runs.command()
@click.argument("run")
@json_option
@config_option
def show(*, run: str, as_json: bool, config_file: Path | None) -> None:
    """Show one run: what was asked, where it stands, its files."""
    name = checked_run(run)

    async def work(workspace: Workspace) -> dict[str, object]:
        row = await workspace.runs.get(name)
        return _row(row) | {"files": list(await workspace.runs.artifacts(name))}

    found = with_workspace(open_settings(config_file), work)
    if as_json:
        print_json(found)
        return
    for field, value in found.items():
        shown = json.dumps(value, ensure_ascii=False) if isinstance(value, (dict, list)) else str(value)
        click.echo(f"{field}: {one_line(shown, 2_000) or '-'}")


@runs.command()
@click.argument("names", metavar="RUN...", nargs=-1, required=True)
@config_option
def rm(names: tuple[str, ...], config_file: Path | None) -> None:
    """Remove runs with their journals, events and files. Libraries keep their documents."""
    wanted = [checked_run(each) for each in names]

    async def work(workspace: Workspace) -> list[str]:
        return [each for each in wanted if not await workspace.runs.remove(each)]

    missing = with_workspace(open_settings(config_file), work)
    for each in wanted:
        if each not in missing:
            click.echo(f"removed {each}")
    if missing:
        raise UserError("run_unknown", f"There is no run {', '.join(missing)}.", next_step="See: corrobora runs list")


@click.command()
@click.argument("run")
@config_option
def cancel(run: str, config_file: Path | None) -> None:
    """Cancel a run, wherever it is worked on."""
    name = checked_run(run)

    async def work(workspace: Workspace) -> RunRow:
        row = await workspace.runs.get(name)  # says so if there is no such run
        if not row.status.final:
            await workspace.cancel(name)
        return row

    row = with_workspace(open_settings(config_file), work)
    if row.status.final:
        tell(f"The run {name} has ended ({row.outcome or row.status}); there was nothing to cancel.")
    else:
        click.echo(f"cancelled {name}")


@click.command()
@click.argument("run")
@click.argument("hint")
@config_option
def steer(run: str, hint: str, config_file: Path | None) -> None:
    """Give a paused run a hint for its next round; `resume` goes on."""
    name = checked_run(run)

    async def work(workspace: Workspace) -> None:
        await workspace.steer(name, hint)

    with_workspace(open_settings(config_file), work)
    click.echo(f"Go on with: corrobora resume {name}")


def _row(row: RunRow) -> dict[str, object]:
    return dataclasses.asdict(row)
