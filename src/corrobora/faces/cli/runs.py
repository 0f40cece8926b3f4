"""Commands for stored runs: `runs`, `resume`, `authorize`, `cancel` and `steer`.

Knows how runs are listed, how a comparison is printed, and which words authorize a plan. Does not know how a run is
worked on; a resumed run repeats nothing that its journal has answered.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from corrobora.app.runs import authorize_run, check_awaiting, remove_run, resolve_profile, run_folder, steer_run
from corrobora.domain.errors import NeedsHuman, UserError
from corrobora.domain.run import RequestOption, RunId, RunRow, RunStatus, parse_stage
from corrobora.faces.cli import CommandGroup
from corrobora.faces.cli.options import (
    OF_RUNS,
    GroupedCommand,
    anyway_option,
    deliver_option,
    json_option,
    open_settings,
    print_json,
    print_text,
    run_argument,
    runs_argument,
    stage_option,
    with_workspace,
    workspace_command,
)
from corrobora.faces.cli.request import (
    add_output_options,
    no_input_option,
    output_options,
    run_settings,
)
from corrobora.faces.cli.run import resume_run
from corrobora.faces.cli.screen import is_narrow, is_terminal, one_line, write_stderr
from corrobora.text.phrases import describe_code, format_count

if TYPE_CHECKING:
    from corrobora.app import Workspace


_UNSHOWN = (  # two are files; a default of the settings
    RequestOption.TRANSLATION,
    RequestOption.EDITED_PLAN,
    RequestOption.FOLLOW_UP,
    RequestOption.ASK_ABOVE_USD,
)
_SHORT = 10  # characters of an id in a list: 40 bits beside its prefix


@click.group(cls=CommandGroup)
def runs() -> None:
    """List, show, compare and remove runs."""


@runs.command(name="list")
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True, help="At most this many.")
@click.option("--search", default="", metavar="TEXT", help="Only runs whose question contains this.")
@json_option
@workspace_command
async def list_runs(workspace: Workspace, *, limit: int, search: str, as_json: bool) -> None:
    """List runs, newest first, with the judge's score and its change since the question was last asked.

    The ids are shortened; every command takes the unique start of an id, or `last` for the newest run. A follow-up
    question, an update, a watch or an edit names the run that it follows.
    """
    from corrobora.app.followups import find_origins  # noqa: PLC0415 - `--help` must not load the engine

    found = await workspace.runs.list(limit=limit + 1, search=search)
    more, found = len(found) > limit, found[:limit]
    scores = await workspace.runs.read_scores([row.id for row in found])
    changes = list_score_changes(found, scores)
    if as_json:
        print_json([asdict(r) | {"score": scores.get(r.id), "change": changes.get(r.id)} for r in found])
        return
    origins = await find_origins(workspace, found)
    short = shorten_ids([*(each.id for each in found), *origins.values()])
    states = {each.id: _describe_state(each, scores.get(each.id), changes.get(each.id)) for each in found}
    wide, long = (max((len(text) for text in texts), default=0) for texts in (states.values(), short.values()))
    narrow = is_narrow(sys.stdout)  # no columns there
    if found and not narrow:  # on stderr: each line of stdout is a run
        write_stderr(f"{'id':<{long}}  {'created':<16}  {'state':<{wide}}  question")
    for each in found:
        origin = short[origins[each.id]] if each.id in origins else "a removed run"
        follows = f"{describe_code(each.request.relation)} of {origin}: " if each.request.relation else ""
        question = f"{follows}{one_line(each.request.question, 80)}"
        created = each.created_at[:16].replace("T", " ")
        line = f"{short[each.id]:<{long}}  {created}  {states[each.id]:<{0 if narrow else wide}}  {question}"
        click.echo(line)
    if more:
        write_stderr(f"These are the newest {limit}; older ones: corrobora runs list --limit {min(10_000, 10 * limit)}")
    if not found:
        write_stderr("No run's question contains that." if search else "No runs yet. The first one: corrobora demo")


@runs.command(cls=GroupedCommand, example="corrobora runs compare r_7k2q last")
@click.argument("before", **OF_RUNS)
@click.argument("after", **OF_RUNS)
@json_option
@workspace_command
async def compare(workspace: Workspace, *, before: str, after: str, as_json: bool) -> None:
    """Compare the reports of two runs: what is new, changed, gone or unchanged.

    Statements are compared by what they say; wording, order and copies are no change.
    """
    from corrobora.app.followups import compare_runs  # noqa: PLC0415 - `--help` must not load the engine
    from corrobora.reporting.run_comparison import dump_comparison, render_comparison  # noqa: PLC0415 - as above

    found = await compare_runs(workspace, before, after)
    if as_json:
        print_json(dump_comparison(found))
    else:
        print_text(render_comparison(found))


def shorten_ids(names: Sequence[str]) -> dict[str, str]:
    """Return for each id a start of at least ten characters that no other of them has, and the id where none does."""
    return {
        name: next(
            (
                name[:length]
                for length in range(_SHORT, len(name))
                if not any(other.startswith(name[:length]) for other in names if other != name)
            ),
            name,
        )
        for name in names
    }


def _describe_state(row: RunRow, score: float | None, change: float | None) -> str:
    state = describe_code(row.state)
    state += f", score {score:.2f}" if score is not None else ""
    return state + (f" ({change:+.2f})" if change is not None else "")


def list_score_changes(rows: Sequence[RunRow], scores: Mapping[str, float]) -> dict[str, float]:
    """Return by how much each score differs from that of the run before it with the same question and profile."""
    before, changes = dict[tuple[str, str], float](), dict[str, float]()
    for each in reversed(rows):
        if (score := scores.get(each.id)) is not None:
            asked = (each.request.question, each.request.profile)
            if asked in before:
                changes[each.id] = round(score - before[asked], 3)
            before[asked] = score
    return changes


@runs.command(cls=GroupedCommand, name="show", example="corrobora runs show last")
@run_argument
@json_option
@workspace_command
async def show_run(workspace: Workspace, *, run: str, as_json: bool) -> None:
    """Show the question, status and files of one run."""
    from corrobora.app.webhooks import describe_webhook  # noqa: PLC0415 - only here

    row = await workspace.runs.get(await workspace.runs.find_id(run))
    webhooks = [describe_webhook(each) for each in await workspace.webhooks.list(row.id)]
    files = await workspace.runs.list_artifacts(row.id)
    if as_json:
        print_json(asdict(row) | {"files": list(files)} | ({"webhooks": webhooks} if webhooks else {}))
        return
    shown = {**_describe_run(row), "folder": str(run_folder(workspace, row.id).base) if files else ""}
    for name, text in ((name, text) for name, text in shown.items() if text):
        click.echo(f"{name:<10} {one_line(text, 2_000)}")
    for each in webhooks:
        click.echo(f"{'webhook':<10} {each['event']} to {each['host']}: {describe_delivery(each)}")
    click.echo(f"{'files':<10} {', '.join(files) or '-'}")


def _describe_run(row: RunRow) -> dict[str, str]:
    """Return what a person wants to know of a run, by the word for it; what was not asked for is left out."""
    request = row.request
    attempts = format_count(row.epoch, "attempt")
    state = describe_code(row.state)
    found = {
        "run": row.id,
        "question": request.question,
        "state": f"{state}: {row.reason}" if row.reason else state,
        "next": row.next_step if row.status is not RunStatus.DONE else "",
        "profile": " ".join((request.profile, *(f"{name}={value}" for name, value in request.overrides))),
        "libraries": ", ".join(request.libraries),
        "providers": ", ".join(request.providers),
        "sources": ", ".join(request.sources),
        "models": ", ".join(f"{tier}={model}" for tier, model in request.models),
        "follows": f"{describe_code(request.relation)} of {request.previous}" * bool(request.relation),
        "options": ", ".join(
            f"{name.replace('_', ' ')} {'' if value == 'yes' else value}".rstrip()
            for name, value in request.metadata
            if name not in _UNSHOWN
        ),
        "delivered": ", ".join(f"{kind}:{where}" if where else kind for kind, where in request.output),
        "created": row.created_at[:19].replace("T", " "),
        "changed": row.updated_at[:19].replace("T", " "),
        "worked": f"{row.elapsed_seconds:.1f} s in {attempts}",
    }
    return {name: text for name, text in found.items() if text}


@runs.command(cls=GroupedCommand, name="rm", example="corrobora runs rm r_7k2q")
@runs_argument
@workspace_command
async def remove_runs(workspace: Workspace, *, names: tuple[str, ...]) -> None:
    """Remove runs with their journals, events and files. Libraries keep their documents."""
    missing: list[str] = []
    for each in names:
        try:
            run = await workspace.runs.find_id(each)
        except UserError as error:
            if error.code != "run_unknown":
                raise
            missing.append(each)
            continue
        await remove_run(workspace, run)
        click.echo(f"removed {run}")
    if missing:
        raise UserError("run_unknown", f"There is no run {', '.join(missing)}.", next_step="See: corrobora runs list")


@click.command(cls=GroupedCommand, name="cancel", example="corrobora cancel last")
@run_argument
@workspace_command
async def cancel(workspace: Workspace, *, run: str) -> None:
    """Cancel a run, even if a worker on another machine is working on it."""
    row = await workspace.runs.get(await workspace.runs.find_id(run))
    if row.status.final:
        write_stderr(f"The run {row.id} has ended ({describe_code(row.state)}); there was nothing to cancel.")
    else:
        await workspace.queue.cancel(row.id)
        click.echo(f"cancelled {row.id}")


@click.command(cls=GroupedCommand, name="steer", example='corrobora steer last "Read the minutes of 2019 first"')
@run_argument
@click.argument("hint")
@workspace_command
async def steer(workspace: Workspace, *, run: str, hint: str) -> None:
    """Give a paused run a hint for its next round; `corrobora resume` continues it."""
    name = await workspace.runs.find_id(run)
    await steer_run(workspace, name, hint)
    click.echo(f"Continue: corrobora resume {name}")


@click.command(cls=GroupedCommand, example="corrobora resume last -o report.md")
@run_argument
@stage_option("--from-stage", "Run again from this stage on.")
@stage_option("--until-stage", "Pause after this stage; `corrobora resume` continues.")
@deliver_option
@anyway_option
@no_input_option
@add_output_options
def resume(**flags: Any) -> int:
    """Continue a run. Calls that were answered before are not repeated."""
    settings = open_settings(flags["config_file"], run_settings(flags))
    stage = parse_stage(flags["from_stage"]) if flags["from_stage"] else None
    wanted = output_options(flags, settings, until=flags["until_stage"], anyway=flags["deliver_anyway"])
    return resume_run(settings, flags["run"], stage, wanted)


@click.command(cls=GroupedCommand, example='corrobora authorize last --words "Authorized to execute"')
@run_argument
@click.option("--words", metavar="TEXT", help="The exact phrase, where nobody can type it.")
@no_input_option
@add_output_options
def authorize(**flags: Any) -> int:
    """Authorize the waiting plan of a run and continue the run."""
    settings = open_settings(flags["config_file"], run_settings(flags))
    wanted = output_options(flags, settings)

    async def authorize_waiting(workspace: Workspace) -> RunId:
        row = await workspace.runs.get(await workspace.runs.find_id(flags["run"]))
        check_awaiting(row)
        words = flags["words"]
        if words is None and not (wanted.may_ask and is_terminal(sys.stdin)):
            words = sys.stdin.readline().strip() if wanted.may_ask else ""
            phrase = resolve_profile(settings, row.request).phrase
            if phrase and not words:
                raise NeedsHuman(
                    "plan_not_authorized",
                    f"The plan of {row.id} waits to be authorized.",
                    next_step=f'On a terminal: corrobora authorize {row.id}; without one, add --words "{phrase}"',
                )
        if words is not None:
            await authorize_run(workspace, row.id, words)
        return row.id

    return resume_run(settings, with_workspace(settings, authorize_waiting), None, wanted)


def describe_delivery(webhook: Mapping[str, Any]) -> str:
    """Say what became of a delivery in one line, with its id."""
    tries, state = webhook["attempts"], str(webhook["state"]).replace("_", " ")
    last = f", last {tries[-1]['result'] or 'without a result'}" if tries else ""
    due = f", next {webhook['next_at'][:19].replace('T', ' ')} UTC" if webhook["next_at"] else ""
    return f"{state} ({format_count(len(tries), 'attempt')}{last}{due}), id {webhook['id']}"
