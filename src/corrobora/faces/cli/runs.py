"""`corrobora runs`, and what can be done with one run: authorize, cancel, steer.

Knows how runs are listed. Does not work on them: `research` and `resume` do.

`corrobora resume` and `authorize`: going on with a stored run.

Knows which words authorize. Does not repeat what was answered: a resumed run runs again over its journal.

`corrobora schedule`: requests that become runs by the clock, such as a weekly report (ANGLES-39).

Knows cron lines and the flags of a run. A worker must live at the time: `corrobora worker`.

`corrobora worker`: takes runs from the queue until it is told to stop.

Knows how many runs at once. Does not know how a run is done.
"""

from __future__ import annotations

import dataclasses
import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

import click

from corrobora.domain.errors import UserError
from corrobora.domain.run import RunRow, RunStatus
from corrobora.faces.cli.exit_codes import print_notice
from corrobora.faces.cli.library import resolve_libraries
from corrobora.faces.cli.options import (
    STAGES,
    check_run_id,
    config_option,
    fields_option,
    json_option,
    model_option,
    open_settings,
    parse_stage,
    print_json,
    read_question,
    setting_options,
    with_workspace,
)
from corrobora.faces.cli.request import (
    OutputFlags,
    add_output_options,
    build_request,
    complete_flags,
    output_options,
    run_settings,
)
from corrobora.faces.cli.run import resume_run
from corrobora.faces.cli.terminal import is_terminal, one_line, write_stderr

if TYPE_CHECKING:
    from corrobora.app import Workspace


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


if TYPE_CHECKING:
    from corrobora.app import Workspace


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
    settings = open_settings(flags["config_file"], run_settings(flags))
    stage = parse_stage(flags["from_stage"]) if flags["from_stage"] else None
    return resume_run(settings, name, stage, output_options(flags, settings, until=flags["until_stage"]))


@click.command()
@click.argument("run")
@click.option("--words", metavar="TEXT", help="The exact phrase, where it cannot be typed.")
@add_output_options
def authorize(**flags: Unpack[AuthorizeFlags]) -> int:
    """Authorize the waiting plan of a run, and go on with it."""
    name = check_run_id(flags["run"])
    settings = open_settings(flags["config_file"], run_settings(flags))
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


if TYPE_CHECKING:
    from corrobora.app import Workspace

_CRON_NAMES = {  # words for people; times are UTC
    "hourly": "0 * * * *",
    "daily": "0 6 * * *",
    "weekly": "0 6 * * 1",
    "monthly": "0 6 1 * *",
}


class ScheduleFlags(TypedDict):
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


@schedule.command(name="add")
@click.argument("name")
@click.argument("question")
@click.option("--cron", required=True, metavar="LINE|weekly", help="Five fields in UTC, or hourly, daily, weekly ...")
@setting_options("libraries", "providers", "profile")
@model_option
@fields_option
@click.option("--deliver", multiple=True, metavar="folder:DIR|email:ADDRESS|webhook", help="Hand each report on.")
@config_option
def add_schedule(**flags: Unpack[ScheduleFlags]) -> None:
    """Run QUESTION whenever the cron line says so; the same NAME replaces an earlier schedule."""
    name, cron = flags["name"], flags["cron"]
    if not re.fullmatch(r"[a-z0-9_-]{1,64}", name):
        raise UserError("schedule_name", f"{name[:80]!r} is no name: 1 to 64 of a-z, 0-9, _ and -.")
    whole = complete_flags({**flags, "yes": True})  # the person who makes the schedule authorizes its plans
    settings = open_settings(flags["config_file"], run_settings(whole))
    request = build_request(whole, settings, read_question(flags["question"], None))

    async def store_schedule(workspace: Workspace) -> str:
        spaces = await resolve_libraries(workspace, request.libraries, show=True)
        return await workspace.schedule_run(
            name, _CRON_NAMES.get(cron, cron), dataclasses.replace(request, libraries=spaces)
        )

    click.echo(f"{name}: next on {with_workspace(settings, store_schedule)}; a worker must live then: corrobora worker")


@schedule.command("list")
@json_option
@config_option
def list_schedules(*, as_json: bool, config_file: Path | None) -> None:
    """List schedules, the next one first."""

    async def load_schedules(workspace: Workspace) -> list[dict[str, Any]]:
        return [dataclasses.asdict(each) for each in await workspace.schedules.list()]

    found = with_workspace(open_settings(config_file), load_schedules)
    if as_json:
        print_json(found)
        return
    for each in found:
        asked = one_line(str(each["request"]["question"]), 80)
        click.echo(f"{each['id']}  {each['cron']}  next {each['next_at']}  last {each['last_run'] or '-'}  {asked}")


@schedule.command(name="rm")
@click.argument("name")
@config_option
def remove_schedule(name: str, config_file: Path | None) -> None:
    """Remove a schedule; runs that it made stay."""

    async def remove_stored(workspace: Workspace) -> bool:
        return await workspace.schedules.remove(name)

    if not with_workspace(open_settings(config_file), remove_stored):
        raise UserError("schedule_unknown", f"There is no schedule {name[:64]!r}.", next_step="corrobora schedule list")
    click.echo(f"removed {name}")


if TYPE_CHECKING:
    from corrobora.app import Workspace


@click.command()
@click.option("--concurrency", metavar="N", help="Runs at once.")
@config_option
def worker(concurrency: str | None, config_file: Path | None) -> None:
    """Work on queued runs until SIGTERM or Ctrl-C; unfinished ones are taken over by another worker."""
    flags = {} if concurrency is None else {"worker.concurrency": (concurrency, "--concurrency")}
    settings = open_settings(config_file, flags)

    async def serve_runs(workspace: Workspace) -> None:
        write_stderr(f"corrobora: working on up to {settings.worker_concurrency} runs at once")
        await workspace.serve_queue(concurrency=settings.worker_concurrency)

    with_workspace(settings, serve_runs)
