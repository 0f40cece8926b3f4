"""Commands for queued and scheduled runs: `worker` and `schedule`.

Knows the form of a worker's log, how many runs it takes, and how schedules are written and listed. Does not know how a
run is worked on.
"""

from __future__ import annotations

import dataclasses
import logging
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from corrobora.app.runs import schedule_run
from corrobora.domain.errors import UserError
from corrobora.faces.cli import CommandGroup
from corrobora.faces.cli.library import resolve_libraries
from corrobora.faces.cli.options import (
    GroupedCommand,
    config_option,
    deliver_option,
    fields_option,
    json_option,
    model_option,
    open_settings,
    print_json,
    read_question,
    setting_options,
    with_workspace,
    workspace_command,
)
from corrobora.faces.cli.request import NEW_RUN, complete_flags, read_request, run_settings
from corrobora.faces.cli.screen import LOG_FORMS, LogForm, one_line, set_up_logs, write_stderr

if TYPE_CHECKING:
    from corrobora.app import Workspace

_log = logging.getLogger("corrobora")


@click.command(cls=GroupedCommand, example="corrobora worker --concurrency 4 --log json")
@click.option("--concurrency", metavar="N", help="Maximum number of concurrent runs.  [default: 16]")
@click.option(
    "--log", "form", type=click.Choice(LOG_FORMS), default="plain", show_default=True, help="Format of the log."
)
@config_option
def worker(concurrency: str | None, form: LogForm, config_file: Path | None) -> None:
    """Work on queued runs until SIGTERM or Ctrl-C; unfinished ones are taken over by another worker.

    Each run that begins and ends is a log line on stderr, plain or as one JSON object.
    """
    set_up_logs(level=logging.INFO, form=form)
    flags = {} if concurrency is None else {"worker.concurrency": (concurrency, "--concurrency")}
    settings = open_settings(config_file, flags)

    async def serve_runs(workspace: Workspace) -> None:
        from corrobora.app.attempts import serve_queue  # noqa: PLC0415

        _log.info("working on up to %d runs at once", settings.worker_concurrency)
        await serve_queue(workspace, concurrency=settings.worker_concurrency)

    with_workspace(settings, serve_runs)


CRON_NAMES = {  # words for people; times are UTC
    "hourly": "0 * * * *",
    "daily": "0 6 * * *",
    "weekly": "0 6 * * 1",
    "monthly": "0 6 1 * *",
}


def check_schedule_name(name: str) -> None:
    """Raise `UserError` `schedule_name` for what can be no name of a schedule."""
    if not re.fullmatch(r"[a-z0-9_-]{1,64}", name):
        raise UserError("schedule_name", f"{name[:80]!r} is not a valid name: use 1 to 64 of a-z, 0-9, _ and -.")


@click.group(cls=CommandGroup)
def schedule() -> None:
    """Add, list or remove scheduled runs."""


@schedule.command(
    cls=GroupedCommand,
    name="add",
    example='corrobora schedule add monday "What changed?" --cron weekly -l papers',
)
@click.argument("name")
@click.argument("question")
@click.option(
    "--cron", required=True, metavar="LINE|weekly", help="Five cron fields in UTC, or hourly, daily, weekly or monthly."
)
@setting_options(*NEW_RUN)
@model_option
@fields_option
@deliver_option
@config_option
def add_schedule(**flags: Any) -> None:
    """Run QUESTION at the times of the cron line; the same NAME replaces an earlier schedule."""
    name, cron = str(flags["name"]), str(flags["cron"])
    check_schedule_name(name)
    whole = complete_flags({**flags, "yes": True})  # the person who makes the schedule authorizes its plans
    settings = open_settings(flags["config_file"], run_settings(whole))
    request = read_request(whole, settings, read_question(flags["question"], None))

    async def store_schedule(workspace: Workspace) -> str:
        spaces = await resolve_libraries(workspace, request.libraries, show=True)
        return await schedule_run(
            workspace, name, CRON_NAMES.get(cron, cron), dataclasses.replace(request, libraries=spaces)
        )

    click.echo(
        f"{name}: next on {with_workspace(settings, store_schedule)}; a worker must be running then: corrobora worker"
    )


@schedule.command("list")
@json_option
@workspace_command
async def list_schedules(workspace: Workspace, *, as_json: bool) -> None:
    """List schedules, the next one first."""
    found = [dataclasses.asdict(each) for each in await workspace.schedules.list()]
    if as_json:
        print_json(found)
        return
    if not found:
        write_stderr('There are no schedules yet. Add one: corrobora schedule add NAME "QUESTION" --cron daily')
    for each in found:
        asked = one_line(str(each["request"]["question"]), 80)
        click.echo(f"{each['id']}  {each['cron']}  next {each['next_at']}  last {each['last_run'] or '-'}  {asked}")


@schedule.command(cls=GroupedCommand, name="rm", example="corrobora schedule rm monday")
@click.argument("name")
@workspace_command
async def remove_schedule(workspace: Workspace, *, name: str) -> None:
    """Remove a schedule; runs that it made stay."""
    if not await workspace.schedules.remove(name):
        raise UserError("schedule_unknown", f"There is no schedule {name[:64]!r}.", next_step="corrobora schedule list")
    click.echo(f"removed {name}")
