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
from corrobora.faces.cli.terminal import one_line, write_stderr
from corrobora.faces.cli.workspace import check_run_id, with_workspace

if TYPE_CHECKING:
    from corrobora.assembly import Workspace


@click.group()
def runs() -> None:
    """List, show and remove runs."""


@runs.command(name="list")
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True, help="How many, newest first.")
@json_option
@config_option
def list_runs(*, limit: int, as_json: bool, config_file: Path | None) -> None:
    """List runs, newest first."""

    async def load_runs(workspace: Workspace) -> list[RunRow]:
        return list(await workspace.runs.list(limit=limit))

    found = with_workspace(open_settings(config_file), load_runs)
    if as_json:
        print_json([_row_json(each) for each in found])
        return
    for each in found:
        state = each.outcome or each.status.value
        click.echo(f"{each.id}  {each.created_at[:16]}  {state:<24} {one_line(each.request.question, 80)}")
    if not found:
        write_stderr("No runs yet.")


@runs.command(name="show")
@click.argument("run")
@json_option
@config_option
def show_run(*, run: str, as_json: bool, config_file: Path | None) -> None:
    """Show one run: what was asked, where it stands, its files."""
    name = check_run_id(run)

    async def load_run(workspace: Workspace) -> dict[str, object]:
        row = await workspace.runs.get(name)
        return _row_json(row) | {"files": list(await workspace.runs.list_artifacts(name))}

    found = with_workspace(open_settings(config_file), load_run)
    if as_json:
        print_json(found)
        return
    for field, value in found.items():
        shown = json.dumps(value, ensure_ascii=False) if isinstance(value, (dict, list)) else str(value)
        click.echo(f"{field}: {one_line(shown, 2_000) or '-'}")


@runs.command(name="rm")
@click.argument("names", metavar="RUN...", nargs=-1, required=True)
@config_option
def remove_runs(names: tuple[str, ...], config_file: Path | None) -> None:
    """Remove runs with their journals, events and files. Libraries keep their documents."""
    wanted = [check_run_id(each) for each in names]

    async def remove_each(workspace: Workspace) -> list[str]:
        return [each for each in wanted if not await workspace.runs.remove(each)]

    missing = with_workspace(open_settings(config_file), remove_each)
    for each in wanted:
        if each not in missing:
            click.echo(f"removed {each}")
    if missing:
        raise UserError("run_unknown", f"There is no run {', '.join(missing)}.", next_step="See: corrobora runs list")


@click.command(name="cancel")
@click.argument("run")
@config_option
def cancel(run: str, config_file: Path | None) -> None:
    """Cancel a run, wherever it is worked on."""
    name = check_run_id(run)

    async def cancel_unfinished(workspace: Workspace) -> RunRow:
        row = await workspace.runs.get(name)  # says so if there is no such run
        if not row.status.final:
            await workspace.cancel_run(name)
        return row

    row = with_workspace(open_settings(config_file), cancel_unfinished)
    if row.status.final:
        write_stderr(f"The run {name} has ended ({row.outcome or row.status}); there was nothing to cancel.")
    else:
        click.echo(f"cancelled {name}")


@click.command(name="steer")
@click.argument("run")
@click.argument("hint")
@config_option
def steer(run: str, hint: str, config_file: Path | None) -> None:
    """Give a paused run a hint for its next round; `resume` goes on."""
    name = check_run_id(run)

    async def steer_paused(workspace: Workspace) -> None:
        await workspace.steer_run(name, hint)

    with_workspace(open_settings(config_file), steer_paused)
    click.echo(f"Go on with: corrobora resume {name}")


def _row_json(row: RunRow) -> dict[str, object]:
    return dataclasses.asdict(row)
