"""`corrobora schedule`: requests that become runs by the clock, such as a weekly report (S1).

Knows cron lines and the flags of a run. A worker must live at the time: `corrobora worker`.
"""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

import click

from corrobora.domain.errors import UserError
from corrobora.faces.cli.arguments import read_question
from corrobora.faces.cli.options import (
    config_option,
    fields_option,
    json_option,
    model_option,
    open_settings,
    print_json,
    setting_options,
)
from corrobora.faces.cli.research import as_unsaid, request_of, run_flags
from corrobora.faces.cli.sources import resolve_libraries
from corrobora.faces.cli.terminal import one_line
from corrobora.faces.cli.workspace import with_workspace

if TYPE_CHECKING:
    from corrobora.assembly import Workspace

_NAMES = {  # words for people; times are UTC
    "hourly": "0 * * * *",
    "daily": "0 6 * * *",
    "weekly": "0 6 * * 1",
    "monthly": "0 6 1 * *",
}


class Scheduled(TypedDict):
    """The flags of `schedule add`."""

    name: str
    question: str
    cron: str
    model: tuple[str, ...]
    fields: tuple[str, ...]
    deliver: tuple[str, ...]
    config_file: Path | None


@click.group()
def schedule() -> None:
    """Make, list or remove runs that start by the clock."""


@schedule.command()
@click.argument("name")
@click.argument("question")
@click.option("--cron", required=True, metavar="LINE|weekly", help="Five fields in UTC, or hourly, daily, weekly ...")
@setting_options("libraries", "providers", "profile")
@model_option
@fields_option
@click.option("--deliver", multiple=True, metavar="folder:DIR|email:ADDRESS|webhook", help="Hand each report on.")
@config_option
def add(**flags: Unpack[Scheduled]) -> None:
    """Run QUESTION whenever the cron line says so; the same NAME replaces an earlier schedule."""
    name, cron = flags["name"], flags["cron"]
    if not re.fullmatch(r"[a-z0-9_-]{1,64}", name):
        raise UserError("schedule_name", f"{name[:80]!r} is no name: 1 to 64 of a-z, 0-9, _ and -.")
    whole = as_unsaid({**flags, "yes": True})  # the person who makes the schedule authorizes its plans
    settings = open_settings(flags["config_file"], run_flags(whole))
    request = request_of(whole, settings, read_question(flags["question"], None))

    async def work(workspace: Workspace) -> str:
        spaces = await resolve_libraries(workspace, request.libraries, show=True)
        return await workspace.schedule(name, _NAMES.get(cron, cron), dataclasses.replace(request, libraries=spaces))

    click.echo(f"{name}: next on {with_workspace(settings, work)}; a worker must live then: corrobora worker")


@schedule.command("list")
@json_option
@config_option
def list_(*, as_json: bool, config_file: Path | None) -> None:
    """List schedules, the next one first."""

    async def work(workspace: Workspace) -> list[dict[str, Any]]:
        return [dataclasses.asdict(each) for each in await workspace.schedules.list()]

    found = with_workspace(open_settings(config_file), work)
    if as_json:
        print_json(found)
        return
    for each in found:
        asked = one_line(str(each["request"]["question"]), 80)
        click.echo(f"{each['id']}  {each['cron']}  next {each['next_at']}  last {each['last_run'] or '-'}  {asked}")


@schedule.command()
@click.argument("name")
@config_option
def rm(name: str, config_file: Path | None) -> None:
    """Remove a schedule; runs that it made stay."""

    async def work(workspace: Workspace) -> bool:
        return await workspace.schedules.remove(name)

    if not with_workspace(open_settings(config_file), work):
        raise UserError("schedule_unknown", f"There is no schedule {name[:64]!r}.", next_step="corrobora schedule list")
    click.echo(f"removed {name}")
