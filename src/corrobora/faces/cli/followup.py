"""`corrobora ask`, `update` and `watch`: questions on the evidence of a run, and what changed since it.

Knows the flags, and that the result of an update is what changed. Does not know how a run follows another one:
`app.followups` does.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import click

from corrobora.domain.errors import UserError
from corrobora.domain.run import RunId, validate_id
from corrobora.faces.cli.options import (
    GroupedCommand,
    config_option,
    deliver_option,
    fields_option,
    model_option,
    open_settings,
    parse_deliveries,
    parse_fields,
    print_json,
    print_text,
    read_question,
    with_workspace,
)
from corrobora.faces.cli.request import OutputFlags, add_output_options, output_options, run_settings
from corrobora.faces.cli.worker import CRON_NAMES

if TYPE_CHECKING:
    from corrobora.app import Workspace


class AskFlags(OutputFlags):
    """The flags of `ask`."""

    run: str
    question: str
    no_search: bool
    model: tuple[str, ...]
    fields: tuple[str, ...]


class UpdateFlags(OutputFlags):
    """The flags of `update`."""

    run: str
    model: tuple[str, ...]
    fields: tuple[str, ...]


@click.command(cls=GroupedCommand, example='corrobora ask last "Who says so, and since when?"')
@click.argument("run")
@click.argument("question")
@click.option("--no-search", is_flag=True, help="Read only what the run has stored.")
@model_option
@fields_option
@add_output_options
def ask(**flags: Unpack[AskFlags]) -> int:
    """Answer a follow-up QUESTION on the evidence of RUN.

    Its facts and passages are read first. If they do not answer the question, the same libraries and providers are
    searched. The answer is a run of its own; its notes say which of its evidence comes from the earlier run.
    """
    validate_id(flags["run"])
    question = read_question(flags["question"], None)
    settings = open_settings(flags["config_file"], run_settings(flags))
    wanted = output_options(flags, settings)
    models = tuple(sorted(settings.models.items())) if flags["model"] else ()
    fields = parse_fields(flags["fields"])

    async def ask_stored(workspace: Workspace) -> int:
        from corrobora.app.followups import submit_follow_up  # noqa: PLC0415 - `--help` must not load the engine
        from corrobora.faces.cli.run import conduct_run  # noqa: PLC0415 - as above

        search = not flags["no_search"]
        made = await submit_follow_up(
            workspace, flags["run"], question.text, search=search, models=models, overrides=fields
        )
        return await conduct_run(workspace, made, wanted)

    return with_workspace(settings, ask_stored)


@click.command(cls=GroupedCommand, example="corrobora update last")
@click.argument("run")
@model_option
@fields_option
@add_output_options
def update(**flags: Unpack[UpdateFlags]) -> int:
    """Research the question of RUN again and print what changed since: statements, answers, sources, gaps.

    The new report is a run of its own; -o writes it, and `changes.md` is among its files.
    """
    validate_id(flags["run"])
    settings = open_settings(flags["config_file"], run_settings(flags))
    wanted = output_options(flags, settings)
    models = tuple(sorted(settings.models.items())) if flags["model"] else ()
    fields = parse_fields(flags["fields"])

    async def update_stored(workspace: Workspace) -> int:
        from corrobora.app.followups import submit_follow_up  # noqa: PLC0415 - as above
        from corrobora.faces.cli.run import conduct_run  # noqa: PLC0415 - as above

        made = await submit_follow_up(workspace, flags["run"], models=models, overrides=fields)
        code = await conduct_run(workspace, made, replace(wanted, as_json=False, prints=False))
        if wanted.target is None:
            await _print_changes(workspace, made, as_json=wanted.as_json)
        return code

    return with_workspace(settings, update_stored)


async def _print_changes(workspace: Workspace, run: RunId, *, as_json: bool) -> None:
    stored = await workspace.runs.read_artifact(run, "changes.json" if as_json else "changes.md")
    if stored is not None and as_json:
        print_json({"run_id": run, **json.loads(stored.content)})
    elif stored is not None:
        print_text(stored.content.decode("utf-8", "replace"))


@click.command(cls=GroupedCommand, example="corrobora watch last --cron daily --deliver folder:./news")
@click.argument("run")
@click.option(
    "--cron", default="daily", show_default=True, metavar="LINE|daily", help="As for `corrobora schedule add`."
)
@click.option("--name", metavar="NAME", help="The name of the schedule.  [default: watch- and the run]")
@deliver_option
@config_option
def watch(*, run: str, cron: str, name: str | None, deliver: tuple[str, ...], config_file: Path | None) -> None:
    """Research the question of RUN on a schedule and deliver only when a statement changed.

    Other wording, another order and dates of access are no change. `corrobora schedule list` shows it, and a worker
    must be running: corrobora worker.
    """
    validate_id(run)
    if name is not None and not re.fullmatch(r"[a-z0-9_-]{1,64}", name):
        raise UserError("schedule_name", f"{name[:80]!r} is not a valid name: use 1 to 64 of a-z, 0-9, _ and -.")
    settings = open_settings(config_file)
    output = parse_deliveries(deliver)

    async def store_watch(workspace: Workspace) -> tuple[str, str]:
        from corrobora.app.followups import watch_run  # noqa: PLC0415 - as above

        whole = await workspace.runs.find_id(run)
        named = name or f"watch-{whole.removeprefix('r_')[:12]}"
        return named, await watch_run(workspace, whole, named, CRON_NAMES.get(cron, cron), output)

    named, due = with_workspace(settings, store_watch)
    click.echo(f"{named}: next on {due}; a worker must be running then: corrobora worker")
