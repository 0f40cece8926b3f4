"""Commands for stored runs: `runs`, `resume`, `authorize`, `cancel` and `steer`.

Knows how runs are listed, how a comparison is printed, and which words authorize a plan. Does not know how a run is
worked on; a resumed run repeats nothing that its journal has answered.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import click

from corrobora.app.runs import authorize_run, check_awaiting, resolve_profile, steer_run
from corrobora.domain.errors import NeedsHuman, UserError
from corrobora.domain.run import RequestOption, RunId, RunRow, parse_stage, validate_id
from corrobora.faces.cli import CommandGroup
from corrobora.faces.cli.options import (
    GroupedCommand,
    anyway_option,
    config_option,
    json_option,
    open_settings,
    print_json,
    print_text,
    stage_option,
    with_workspace,
)
from corrobora.faces.cli.request import (
    OutputFlags,
    add_output_options,
    no_input_option,
    output_options,
    run_settings,
)
from corrobora.faces.cli.run import resume_run
from corrobora.faces.cli.screen import is_terminal, one_line, write_stderr
from corrobora.text.phrases import describe_code, format_count

if TYPE_CHECKING:
    from corrobora.app import Workspace
    from corrobora.reporting.run_comparison import Comparison
    from corrobora.storage.queue.webhooks import WebhookRecord


_SHORT = 10  # characters of an id in a list: 40 bits beside its prefix


@click.group(cls=CommandGroup)
def runs() -> None:
    """List, show, compare and remove runs; send a webhook again."""


@runs.command(name="list")
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True, help="At most this many.")
@click.option("--search", default="", metavar="TEXT", help="Only runs whose question contains this.")
@json_option
@config_option
def list_runs(*, limit: int, search: str, as_json: bool, config_file: Path | None) -> None:
    """List runs, newest first, with the score that a judge gave and its change since this was asked before.

    The ids are shortened; every command takes the unique start of an id, or `last` for the newest run.
    """

    async def load_runs(workspace: Workspace) -> tuple[Sequence[RunRow], Mapping[str, float]]:
        rows = await workspace.runs.list(limit=limit, search=search)
        return rows, await workspace.runs.read_scores([row.id for row in rows])

    found, scores = with_workspace(open_settings(config_file), load_runs)
    changes = list_score_changes(found, scores)
    if as_json:
        print_json([asdict(r) | {"score": scores.get(r.id), "change": changes.get(r.id)} for r in found])
        return
    short = shorten_ids([each.id for each in found])
    states = {each.id: _describe_state(each, scores.get(each.id), changes.get(each.id)) for each in found}
    wide, long = (max((len(text) for text in texts.values()), default=0) for texts in (states, short))
    if found:  # on stderr: each line of stdout is a run
        write_stderr(f"{'id':<{long}}  {'created':<16}  {'state':<{wide}}  question")
    for each in found:
        question = one_line(each.request.question, 80)
        click.echo(f"{short[each.id]:<{long}}  {each.created_at[:16]}  {states[each.id]:<{wide}}  {question}")
    if not found:
        write_stderr("No run's question contains that." if search else "No runs yet.")


@runs.command(name="resend")
@click.argument("run")
@click.argument("delivery", required=False, default="")
@config_option
def resend_webhook(run: str, delivery: str, config_file: Path | None) -> None:
    """Tell the end of a run to its webhook once more, under the same id.

    DELIVERY is an id that `runs show` prints; without it, it is the last end of the run. `serve` or `worker` sends it.
    """
    validate_id(run)

    async def send_again(workspace: Workspace) -> WebhookRecord:
        from corrobora.app.delivery import send_webhook_again  # noqa: PLC0415 - only here

        return await send_webhook_again(workspace, await workspace.runs.find_id(run), delivery)

    sent = with_workspace(open_settings(config_file), send_again)
    click.echo(f"{sent.id} is due now; a running `corrobora serve` or `worker` with WEBHOOK_SECRET sends it")


@runs.command()
@click.argument("before")
@click.argument("after")
@json_option
@config_option
def compare(*, before: str, after: str, as_json: bool, config_file: Path | None) -> None:
    """Compare the reports of two runs: what is new, changed, gone and the same.

    Statements are compared by what they say; wording, order and copies are no change.
    """
    for each in (before, after):
        validate_id(each)

    async def compare_stored(workspace: Workspace) -> Comparison:
        from corrobora.app.followups import compare_runs  # noqa: PLC0415 - `--help` must not load the engine

        return await compare_runs(workspace, before, after)

    found = with_workspace(open_settings(config_file), compare_stored)
    from corrobora.reporting.run_comparison import dump_comparison, render_comparison  # noqa: PLC0415 - as above

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
    state = describe_code(row.outcome or row.status)
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


@runs.command(name="show")
@click.argument("run")
@json_option
@config_option
def show_run(*, run: str, as_json: bool, config_file: Path | None) -> None:
    """Show one run: what was asked, where it stands, its files."""
    validate_id(run)

    async def load_run(workspace: Workspace) -> tuple[RunRow, Sequence[str], list[dict[str, Any]]]:
        from corrobora.app.delivery import describe_webhook  # noqa: PLC0415 - only here

        row = await workspace.runs.get(await workspace.runs.find_id(run))
        sent = [describe_webhook(each) for each in await workspace.webhooks.list(row.id)]
        return row, await workspace.runs.list_artifacts(row.id), sent

    row, files, webhooks = with_workspace(open_settings(config_file), load_run)
    if as_json:
        print_json(asdict(row) | {"files": list(files)} | ({"webhooks": webhooks} if webhooks else {}))
        return
    for name, text in _describe_run(row).items():
        click.echo(f"{name:<10} {one_line(text, 2_000)}")
    for each in webhooks:
        click.echo(f"{'webhook':<10} {each['event']} to {each['host']}: {describe_delivery(each)}")
    click.echo(f"{'files':<10} {', '.join(files) or '-'}")


def _describe_run(row: RunRow) -> dict[str, str]:
    """Return what a person wants to know of a run, by the word for it; what was not asked for is left out."""
    request = row.request
    attempts = format_count(row.epoch, "attempt")
    state = describe_code(row.outcome or row.status)
    found = {
        "run": row.id,
        "question": request.question,
        "state": f"{state}: {row.reason}" if row.reason else state,
        "profile": " ".join((request.profile, *(f"{name}={value}" for name, value in request.overrides))),
        "libraries": ", ".join(request.libraries),
        "providers": ", ".join(request.providers),
        "sources": ", ".join(request.sources),
        "models": ", ".join(f"{tier}={model}" for tier, model in request.models),
        "follows": f"{request.previous} ({request.get_option(RequestOption.FOLLOW_UP) or 'edit'})"
        * bool(request.previous),
        "options": ", ".join(
            f"{name.replace('_', ' ')} {'' if value == 'yes' else value}".rstrip()
            for name, value in request.metadata
            if name
            not in (RequestOption.TRANSLATION, RequestOption.EDITED_PLAN, RequestOption.FOLLOW_UP)  # two are files
        ),
        "delivered": ", ".join(f"{kind}:{where}" if where else kind for kind, where in request.output),
        "created": row.created_at[:19].replace("T", " "),
        "changed": row.updated_at[:19].replace("T", " "),
        "worked": f"{row.elapsed_seconds:.1f} s in {attempts}",
    }
    return {name: text for name, text in found.items() if text}


@runs.command(name="rm")
@click.argument("names", metavar="RUN...", nargs=-1, required=True)
@config_option
def remove_runs(names: tuple[str, ...], config_file: Path | None) -> None:
    """Remove runs with their journals, events and files. Libraries keep their documents."""
    for each in names:
        validate_id(each)

    async def remove_each(workspace: Workspace) -> list[str]:
        missing: list[str] = []
        for each in names:
            try:
                run = await workspace.runs.find_id(each)
            except UserError as error:
                if error.code != "run_unknown":
                    raise
                missing.append(each)
                continue
            await workspace.runs.remove(run)
            click.echo(f"removed {run}")
        return missing

    missing = with_workspace(open_settings(config_file), remove_each)
    if missing:
        raise UserError("run_unknown", f"There is no run {', '.join(missing)}.", next_step="See: corrobora runs list")


@click.command(name="cancel")
@click.argument("run")
@config_option
def cancel(run: str, config_file: Path | None) -> None:
    """Cancel a run, also one that a worker on another machine works on."""
    validate_id(run)

    async def cancel_unfinished(workspace: Workspace) -> RunRow:
        row = await workspace.runs.get(await workspace.runs.find_id(run))
        if not row.status.final:
            await workspace.queue.cancel(row.id)
        return row

    row = with_workspace(open_settings(config_file), cancel_unfinished)
    if row.status.final:
        write_stderr(
            f"The run {row.id} has ended ({describe_code(row.outcome or row.status)}); there was nothing to cancel."
        )
    else:
        click.echo(f"cancelled {row.id}")


@click.command(name="steer")
@click.argument("run")
@click.argument("hint")
@config_option
def steer(run: str, hint: str, config_file: Path | None) -> None:
    """Give a paused run a hint for its next round; `corrobora resume` continues it."""
    validate_id(run)

    async def steer_paused(workspace: Workspace) -> RunId:
        name = await workspace.runs.find_id(run)
        await steer_run(workspace, name, hint)
        return name

    click.echo(f"Continue: corrobora resume {with_workspace(open_settings(config_file), steer_paused)}")


class ResumeFlags(OutputFlags):
    """The flags of `resume`."""

    run: str
    from_stage: str | None
    until_stage: str | None
    deliver_anyway: bool


class AuthorizeFlags(OutputFlags):
    """The flags of `authorize`."""

    run: str
    words: str | None


@click.command(cls=GroupedCommand, example="corrobora resume RUN -o report.md")
@click.argument("run")
@stage_option("--from-stage", "Run again from this stage on.")
@stage_option("--until-stage", "Pause after this stage; `corrobora resume` continues.")
@anyway_option
@no_input_option
@add_output_options
def resume(**flags: Unpack[ResumeFlags]) -> int:
    """Continue a run. Calls that were answered before are not repeated."""
    name = validate_id(flags["run"])  # what can be no id is refused before the database is opened
    settings = open_settings(flags["config_file"], run_settings(flags))
    stage = parse_stage(flags["from_stage"]) if flags["from_stage"] else None
    wanted = output_options(flags, settings, until=flags["until_stage"], anyway=flags["deliver_anyway"])
    return resume_run(settings, name, stage, wanted)


@click.command(cls=GroupedCommand, example='corrobora authorize RUN --words "Authorized to execute"')
@click.argument("run")
@click.option("--words", metavar="TEXT", help="The exact phrase, if it cannot be typed.")
@no_input_option
@add_output_options
def authorize(**flags: Unpack[AuthorizeFlags]) -> int:
    """Authorize the waiting plan of a run and continue the run."""
    validate_id(flags["run"])
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
                    f"The plan of {row.id} waits for words that nobody typed.",
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
