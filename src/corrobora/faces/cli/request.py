"""`corrobora research`, and the flags that it shares with the other commands that start or continue a run.

Knows what the flags set, and checks everything before anything is paid. Does not know how a run is worked on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from corrobora.config import Settings
from corrobora.domain.errors import UserError
from corrobora.domain.run import Request, parse_stage, validate_id
from corrobora.faces.cli import FILE_PATH
from corrobora.faces.cli.options import (
    Flags,
    GroupedCommand,
    add_options,
    anyway_option,
    config_option,
    deliver_option,
    fields_option,
    list_flags,
    model_option,
    open_settings,
    parse_deliveries,
    parse_fields,
    parse_models,
    read_plan,
    read_question,
    read_setting_flags,
    setting_options,
    stage_option,
)
from corrobora.faces.cli.report import check_target, take_output
from corrobora.faces.request import Question, build_request

if TYPE_CHECKING:
    from corrobora.faces.cli.run import OutputOptions

NEW_RUN_FLAGS = frozenset(
    {"source", "model", "fields", "plan", "plan_only", "yes"}
    | {declared.parameter for declared in list_flags(report=False).values()}
)
F = TypeVar("F", bound=Callable[..., object])


no_input_option = click.option("--no-input", is_flag=True, help="Never ask: exit with 3 if the plan needs a person.")


def _target_options(*attributes: str) -> Callable[[F], F]:
    return add_options(
        click.option(
            "-o",
            "--output",
            type=FILE_PATH,
            multiple=True,
            callback=take_output,
            metavar="FILE|DIR",
            help="Write the report to this file or folder instead of stdout.",
        ),
        click.option("--force", is_flag=True, help="Let -o replace existing files."),
        click.option("--follow-symlinks", is_flag=True, help="Let -o write through a symbolic link."),
        click.option("--artifacts", type=FILE_PATH, metavar="DIR", help="Copy all files of the run into this folder."),
        click.option("--json", "as_json", is_flag=True, help="Print the report as one JSON document."),
        setting_options(*attributes),
        click.option("-q", "--quiet", is_flag=True, help="The same as --display none."),
        config_option,
    )


add_output_options = _target_options(*list_flags(report=True))  # `OutputOptions` holds what they say
NEW_RUN = tuple(list_flags(report=False))  # every command that starts research of its own takes these
FOLLOWING_RUN = tuple(
    each
    for each in NEW_RUN
    if each not in ("profile", "libraries", "providers", "offline", "refresh")  # as the earlier run had them
)
add_file_options = _target_options("display")  # without those that judge a report: for a version of one that was judged


@click.command(cls=GroupedCommand, example='corrobora research "What changed in the rules?" -l ./papers -o report.md')
@click.argument("question", required=False)
@click.option(
    "--question-file",
    type=FILE_PATH,
    metavar="FILE",
    help="Read the question from a file. Also: @FILE, or - for stdin.",
)
@click.option(
    "--source", multiple=True, metavar="URL", help="Read this page first; URL/* reads the whole site. Repeatable."
)
@setting_options(*NEW_RUN)
@model_option
@fields_option
@click.option("--plan", type=FILE_PATH, metavar="FILE", help="Suggest a plan: a JSON file.")
@click.option("--plan-only", is_flag=True, help="Print the plan and stop before any research.")
@click.option("-y", "--yes", is_flag=True, help="Authorize the plan without asking.")
@stage_option("--from-stage", "With --run-id: run again from this stage on.")
@stage_option("--until-stage", "Pause after this stage; `corrobora resume` continues.")
@deliver_option
@anyway_option
@click.option("--run-id", metavar="RUN", help="Continue this run.")
@no_input_option
@add_output_options
def research(**flags: Any) -> int:
    """Research a question and print the cited report.

    QUESTION is a text, @FILE, or - for stdin. One that starts with a dash follows --.
    """
    settings = open_settings(flags["config_file"], run_settings(flags))
    if flags["run_id"] is not None:
        return _continue_run(flags, settings, flags["run_id"])
    if flags["from_stage"] is not None:
        raise UserError("stage_without_run", "--from-stage needs --run-id RUN.", next_step="See: corrobora runs list")
    question = read_question(flags["question"], flags["question_file"])
    wanted = output_options(
        flags,
        settings,
        plan_only=is_plan_only(flags, settings),
        until=flags["until_stage"],
        anyway=flags["deliver_anyway"],
    )
    request = read_request(flags, settings, question)
    from corrobora.faces.cli.run import start_run  # noqa: PLC0415 - `--help` must not load the engine

    return start_run(settings, request, wanted)


def complete_flags(given: Flags) -> Flags:
    """Return all flags of `research` for a command that has only some of them; the others have no value."""
    rest = dict[str, Any]()
    for each in research.params:
        option = each if isinstance(each, click.Option) else None
        rest[str(each.name)] = () if each.multiple else False if option is not None and option.is_flag else None
    return rest | dict(given)


def _continue_run(flags: Flags, settings: Settings, run: str) -> int:
    """Continue the run of `--run-id`. Flags of a new run are refused, because they would be ignored."""
    if flags["question"] is not None or flags["question_file"] is not None:
        message = f"The run {run} already has its question."
        raise UserError("question_twice", message, next_step="Leave out the question, or --run-id.")
    context = click.get_current_context()
    for option in context.command.params:
        name = str(option.name)
        if name in NEW_RUN_FLAGS and context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise UserError(
                "flag_of_a_new_run",
                f"{option.opts[-1]} applies only to a new run: {run} continues as it was requested.",
                next_step=f"Leave it out, or make a new run without --run-id. A plan: corrobora authorize {run}",
            )
    stage = parse_stage(flags["from_stage"]) if flags["from_stage"] else None
    wanted = output_options(flags, settings, until=flags["until_stage"], anyway=flags["deliver_anyway"])
    from corrobora.faces.cli.run import resume_run  # noqa: PLC0415 - `--help` must not load the engine

    return resume_run(settings, validate_id(run), stage, wanted)


def run_settings(flags: Flags) -> dict[str, tuple[object, str]]:
    """Return the flags that are settings, by key."""
    quiet = {"display": "none"} if flags.get("quiet") and flags.get("display") is None else {}
    return read_setting_flags({**flags, **quiet}) | parse_models(flags.get("model", ()))


def output_options(
    flags: Flags, settings: Settings, *, plan_only: bool = False, until: str | None = None, anyway: bool = False
) -> OutputOptions:
    """Return how the run is shown and delivered, after the check that its target can be written."""
    target = flags["output"]
    if target is not None and str(target) == "-":
        target = None  # stdout is where it goes anyway
    checked = check_target(target, force=flags["force"], follow=flags["follow_symlinks"]) if target else None
    artifacts = flags["artifacts"]
    if artifacts is not None:
        check_target(artifacts / "plan.json", force=True, follow=flags["follow_symlinks"])
    from corrobora.faces.cli.run import OutputOptions  # noqa: PLC0415 - `--help` must not load the engine

    return OutputOptions(
        display=settings.display,
        as_json=flags["as_json"],
        may_ask=not flags.get("no_input", True),
        target=checked,
        artifacts=artifacts,
        min_score=settings.min_score,
        strict=settings.strict,
        plan_only=plan_only,
        until=until or "",
        deliver_anyway=anyway,
        targets=parse_deliveries(flags.get("deliver") or ()),
    )


def read_request(flags: Flags, settings: Settings, question: Question) -> Request:
    """Return the request that flags, settings and question make."""
    plan_only = is_plan_only(flags, settings)
    return build_request(
        settings,
        question,
        fields=parse_fields(flags["fields"]),
        sources=flags["source"],
        plan_only=plan_only,
        model_required=bool(flags["model"]),
        authorized="policy" if flags["yes"] and not plan_only else "",
        plan_file=read_plan(flags["plan"]) if flags["plan"] else "",
        output=parse_deliveries(flags["deliver"]),
    )


def is_plan_only(flags: Flags, settings: Settings) -> bool:
    """True for `--plan-only`, and for a budget of 0, which is a dry run (bad-input C10)."""
    return flags["plan_only"] or settings.max_usd == 0
