"""Commands on the report of a run: `ask`, `update` and `watch`, and `edit`, whose changes are accepted line by line.

Knows the flags, that the result of an update is what changed, how edits are written as options, and how a person
decides on them. Does not know how a run follows another one, or edits: the runs that it starts do.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import click

from corrobora.config import Settings
from corrobora.domain.errors import UserError
from corrobora.domain.run import RunId, RunStatus
from corrobora.faces.cli import Exit, print_notice
from corrobora.faces.cli.options import (
    Flags,
    GroupedCommand,
    add_options,
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
    run_argument,
    setting_options,
    with_workspace,
)
from corrobora.faces.cli.request import (
    FOLLOWING_RUN,
    add_file_options,
    add_output_options,
    no_input_option,
    output_options,
    run_settings,
)
from corrobora.faces.cli.screen import is_terminal, one_line, read_typed_line, write_stderr
from corrobora.faces.cli.worker import CRON_NAMES, check_schedule_name
from corrobora.faces.request import RunChanges, read_run_changes
from corrobora.roles.edit import Edit, EditAction, EditRequest, cut_common_words

if TYPE_CHECKING:
    from corrobora.app import Workspace
    from corrobora.faces.cli.run import OutputOptions


run_options = add_options(setting_options(*FOLLOWING_RUN), model_option, fields_option)


@click.command(cls=GroupedCommand, example='corrobora ask last "Who says so, and since when?"')
@run_argument
@click.argument("question")
@click.option("--no-search", is_flag=True, help="Read only what the run has stored.")
@run_options
@add_output_options
def ask(**flags: Any) -> int:
    """Answer a follow-up QUESTION on the evidence of RUN.

    Its facts and passages are read first. If they do not answer the question, the same libraries and providers are
    searched. The answer is a run of its own; its notes say which of its evidence comes from the earlier run.
    """
    question = read_question(flags["question"], None)
    settings = open_settings(flags["config_file"], run_settings(flags))
    wanted = output_options(flags, settings)
    changes = _read_changes(flags, settings)

    async def ask_stored(workspace: Workspace) -> int:
        from corrobora.app.followups import submit_follow_up  # noqa: PLC0415 - `--help` must not load the engine
        from corrobora.faces.cli.run import conduct_run  # noqa: PLC0415 - as above

        search = not flags["no_search"]
        made = await submit_follow_up(workspace, flags["run"], question.text, search=search, **changes)
        return await conduct_run(workspace, made, wanted)

    return with_workspace(settings, ask_stored)


@click.command(cls=GroupedCommand, example="corrobora update last")
@run_argument
@run_options
@add_output_options
def update(**flags: Any) -> int:
    """Research the question of RUN again and print what changed since: statements, answers, sources, gaps.

    The new report is a run of its own; -o writes it, and `changes.md` is among its files.
    """
    settings = open_settings(flags["config_file"], run_settings(flags))
    wanted = output_options(flags, settings)
    changes = _read_changes(flags, settings)

    async def update_stored(workspace: Workspace) -> int:
        from corrobora.app.followups import submit_follow_up  # noqa: PLC0415 - as above
        from corrobora.faces.cli.run import conduct_run  # noqa: PLC0415 - as above

        made = await submit_follow_up(workspace, flags["run"], **changes)
        code = await conduct_run(workspace, made, replace(wanted, as_json=False, prints=False))
        if wanted.target is None:
            await _print_changes(workspace, made, as_json=wanted.as_json)
        return code

    return with_workspace(settings, update_stored)


def _read_changes(flags: Flags, settings: Settings) -> RunChanges:
    """Return what the flags change; the new run has everything else as the earlier one."""
    fields = parse_fields(flags["fields"])
    return read_run_changes(settings, run_settings(flags), fields, model_required=bool(flags["model"]))


async def _print_changes(workspace: Workspace, run: RunId, *, as_json: bool) -> None:
    stored = await workspace.runs.read_text(run, "changes.json" if as_json else "changes.md")
    if stored is not None and as_json:
        print_json({"run_id": run, **json.loads(stored)})
    elif stored is not None:
        print_text(stored)


@click.command(cls=GroupedCommand, example="corrobora watch last --cron daily --deliver folder:./news")
@run_argument
@click.option(
    "--cron", default="daily", show_default=True, metavar="LINE|daily", help="As for `corrobora schedule add`."
)
@click.option("--name", metavar="NAME", help="The name of the schedule.  [default: watch- and the run]")
@run_options
@deliver_option
@config_option
def watch(*, run: str, cron: str, name: str | None, deliver: tuple[str, ...], **flags: Any) -> None:
    """Research the question of RUN on a schedule and deliver only when a statement changed.

    Other wording, another order and dates of access are no change. `corrobora schedule list` shows it, and a worker
    must be running: corrobora worker.
    """
    if name is not None:
        check_schedule_name(name)
    settings = open_settings(flags["config_file"], run_settings(flags))
    output = parse_deliveries(deliver)
    changes = _read_changes(flags, settings)

    async def store_watch(workspace: Workspace) -> tuple[str, str]:
        from corrobora.app.followups import find_reported, watch_run  # noqa: PLC0415 - as above

        whole = await find_reported(workspace, run)
        named = name or f"watch-{whole.removeprefix('r_')[:12]}"
        return named, await watch_run(workspace, whole, named, CRON_NAMES.get(cron, cron), output, **changes)

    named, due = with_workspace(settings, store_watch)
    click.echo(f"{named}: next on {due}; a worker must be running then: corrobora worker")


_WAITS = "changes_proposed"


@click.command(cls=GroupedCommand, example='corrobora edit last "Say 2.1 in simpler words, and drop 3.2"')
@run_argument
@click.argument("feedback", required=False)
@click.option("--outline", is_flag=True, help="Print the sections and sentences of the report with their ids.")
@click.option("--drop", multiple=True, metavar="ID", help="Drop this sentence (2.1) or section (2). Repeatable.")
@click.option("--reword", multiple=True, metavar="ID=TEXT", help="Replace the words of this sentence. Repeatable.")
@click.option("--add", multiple=True, metavar="ID=TEXT", help="Add a sentence, with its citations. Repeatable.")
@click.option("--move", multiple=True, metavar="ID=ID", help="Put the first one after the second. Repeatable.")
@click.option("--shorten", multiple=True, metavar="SECTION", help="Shorten this section to half. Repeatable.")
@click.option("--research", multiple=True, metavar="SECTION[=QUESTION]", help="Research a section again. Repeatable.")
@click.option(
    "--accept",
    metavar="all|none|N,..",
    help="Accept these changes; `all` are those that lose nothing but what you named.",
)
@click.option("--accept-losses", is_flag=True, help="Accept all changes, also those that lose something.")
@click.option("--versions", is_flag=True, help="List the versions of the report.")
@click.option("--restore", type=click.IntRange(1), metavar="N", help="Make version N the newest one, as it was.")
@run_options
@no_input_option
@add_file_options
def edit(**flags: Any) -> int:
    """Edit the report of RUN with FEEDBACK, which a model turns into edits, or with edits given as options.

    Text that no accepted change names stays the same, byte for byte. A reworded sentence must pass the same check as a
    written one, and everything that is lost is listed and must be accepted. Each version is a run of its own; RUN stays
    as it is.
    """
    settings = open_settings(flags["config_file"], run_settings(flags))
    if flags["outline"]:
        return _print_outline(settings, flags)
    if flags["versions"]:
        return _print_versions(settings, flags)
    asked = EditRequest(tuple(_read_edits(flags)), (flags["feedback"] or "").strip())
    accept = _read_accept(flags)
    wanted = output_options(flags, settings)
    changes = _read_changes(flags, settings)

    async def edit_stored(workspace: Workspace) -> int:
        from corrobora.app.followups import accept_changes, submit_edit  # noqa: PLC0415 - `--help` loads no engine

        if accept and not (asked.edits or asked.feedback or flags["restore"]):
            run = await workspace.runs.find_id(flags["run"])
            await accept_changes(workspace, run, accept)
        else:
            target = await _find_version(workspace, flags)
            whole = replace(asked, restore=flags["restore"] is not None)
            run = await submit_edit(workspace, target, whole, accept=accept, **changes)
        return await _conduct_edit(workspace, run, wanted)

    return with_workspace(settings, edit_stored)


def _read_edits(flags: Flags) -> list[Edit]:
    found = [Edit(EditAction.REWORD, *_split_pair("--reword", each)) for each in flags["reword"]]
    found += [Edit(EditAction.ADD, *_split_pair("--add", each)) for each in flags["add"]]
    for each in flags["move"]:
        target, after = _split_pair("--move", each)
        found.append(Edit(EditAction.MOVE, target, after=after))
    for each in flags["research"]:
        section, _, question = each.partition("=")
        found.append(Edit(EditAction.RESEARCH, section.strip(), question.strip()))
    found += [Edit(EditAction.SHORTEN, each.strip()) for each in flags["shorten"]]
    return found + [Edit(EditAction.DROP, each.strip()) for each in flags["drop"]]


def _split_pair(option: str, given: str) -> tuple[str, str]:
    name, equals, rest = given.partition("=")
    if not equals or not name.strip() or not rest.strip():
        form = "ID=ID, and puts the first one after the second" if option == "--move" else "ID=TEXT"
        message = f"{option} takes {form}; {given[:80]!r} is not of that form."
        raise UserError("edit_option", message, next_step="The ids: corrobora edit RUN --outline")
    return name.strip(), rest.strip()


def _read_accept(flags: Flags) -> str:
    accept = (flags["accept"] or "").strip()
    if flags["accept_losses"] and accept not in ("", "all"):
        raise UserError("edit_option", "--accept-losses accepts all changes; numbers accept their losses.")
    return "all with losses" if flags["accept_losses"] else accept


async def _find_version(workspace: Workspace, flags: Flags) -> str:
    """Return the run whose report is edited, or the version that is restored."""
    number = flags["restore"]
    if number is None:
        return flags["run"]
    if flags["feedback"] or _read_edits(flags):
        raise UserError("edit_option", "--restore takes a version as it was, without edits.")
    from corrobora.app.followups import find_version  # noqa: PLC0415 - as above

    return await find_version(workspace, flags["run"], number)


async def _conduct_edit(workspace: Workspace, run: RunId, wanted: OutputOptions) -> int:
    """Work on an edit; show its changes if they wait, and let a person decide at a terminal."""
    from corrobora.app.followups import accept_changes, read_changes  # noqa: PLC0415 - as above
    from corrobora.faces.cli.run import conduct_run  # noqa: PLC0415 - as above

    said = (await workspace.runs.read_answers(run)).get("edits")
    asks = wanted.may_ask and not wanted.as_json and is_terminal(sys.stdin) and is_terminal(sys.stderr)
    shown = replace(wanted, as_json=wanted.as_json and said is not None, expected=_WAITS if asks else "")
    code = await conduct_run(workspace, run, shown)
    row = await workspace.runs.get(run)
    found = await read_changes(workspace, run)
    if row.status is not RunStatus.PAUSED or row.outcome != _WAITS:
        _tell_refused(found, said)
        return code
    if wanted.as_json:
        print_json({"run_id": run, "status": _WAITS, **found})
        return Exit.NEEDS_HUMAN
    if not asks:
        print_text(await workspace.runs.read_text(run, "changes.md") or "")
        return Exit.NEEDS_HUMAN
    chosen = _ask_reader(found)
    if chosen is None:
        return Exit.NEEDS_HUMAN
    await accept_changes(workspace, run, chosen)
    return await conduct_run(workspace, run, wanted)


def _tell_refused(found: Mapping[str, Any], accept: str | None) -> None:
    """Say which changes were asked for and not made, where nobody was shown them."""
    changes = found.get("changes", ()) if accept is not None else ()
    refused = [each for each in changes if each["refused"]]
    for each in refused:
        edit = each["edit"]
        what = f"{edit['action']} {edit['target'] or edit['place']}".rstrip()
        print_notice(f"Not done, the text stays: {what}: {each['refused']}.")


_ANSWERS = {"y": "y", "yes": "y", "n": "n", "no": "n", "q": "q", "quit": "q"}  # anything else is asked again


def _ask_reader(found: Mapping[str, Any]) -> str | None:
    """Show each change on stderr and return the numbers that the person accepts; None leaves all of them waiting."""
    accepted: list[str] = []
    for loss in found["together"]:
        write_stderr(one_line(f"Together the changes also lose {loss['kind']}: {loss['text']}", 400))
    for each in found["changes"]:
        for line in _describe_change(each):
            write_stderr(line)
        if each["refused"]:
            continue
        typed = ""
        while not typed:
            write_stderr("Accept this change? y, n, or q to decide later.")
            line = read_typed_line()
            typed = _ANSWERS.get(line.strip().lower(), "") if line else "q"
        if typed == "q":
            return None
        accepted += [str(each["number"])] if typed == "y" else []
    return ",".join(accepted) or "none"


def _describe_change(each: Mapping[str, Any]) -> list[str]:
    edit = each["edit"]
    lines = [f"{each['number']}. {edit['action']} {edit['target']} {edit['place']}".rstrip()]
    before, after = cut_common_words(each["before"], each["after"])
    lines += [f"  - {line}" for line in before] + [f"  + {line}" for line in after]
    lines += [f"  Loses {loss['kind']}: {loss['text']}" for loss in each["losses"]]
    lines += [f"  Closes the gap: {text}" for text in each["closes"]]
    lines += [f"  Refused, the text stays: {each['refused']}."] if each["refused"] else []
    return [one_line(line, 2_000) for line in lines]


def _print_outline(settings: Settings, flags: Flags) -> int:
    from corrobora.app.followups import read_outline  # noqa: PLC0415 - as above

    found = with_workspace(settings, lambda workspace: read_outline(workspace, flags["run"]))
    if flags["as_json"]:
        print_json(found.dump_outline())
        return Exit.DONE
    lines: list[str] = []
    for name in found.sections:
        lines.append(f"{name}  {found.read_title(name) or '(the opening)'}")
        lines += [f"  {each.id}  {each.text}" for each in found.list_pieces(name)]
    print_text("\n".join(lines))
    return Exit.DONE


def _print_versions(settings: Settings, flags: Flags) -> int:
    from corrobora.app.followups import list_versions  # noqa: PLC0415 - as above

    found = with_workspace(settings, lambda workspace: list_versions(workspace, flags["run"]))
    if flags["as_json"]:
        print_json([asdict(each) for each in found])
    else:
        for each in found:
            click.echo(f"{each.number}  {each.run}  {each.created_at[:16]}  {one_line(each.what, 120)}")
    return Exit.DONE
