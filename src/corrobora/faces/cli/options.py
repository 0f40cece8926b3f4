"""What commands share: the question, options with their help and completion, settings, the workspace.

Knows how arguments are parsed, how a declared setting becomes a flag, in which groups help lists the options, and how a
synchronous command runs asynchronous work. Does not know the defaults of profiles, or what a command does.
"""

from __future__ import annotations

import asyncio
import functools
import io
import json
import logging
import os
import sys
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

import click
from click.shell_completion import CompletionItem

from corrobora.config import Settings, load_settings, read_small_file
from corrobora.config.settings import DISPLAYS, TIERS, DeclaredSetting, list_settings
from corrobora.config.values import split_annotation
from corrobora.domain.errors import UserError
from corrobora.domain.limits import LIMITS
from corrobora.domain.run import STAGE_ALIASES, Stage, validate_id
from corrobora.faces.cli import FILE_PATH, print_notice
from corrobora.faces.cli.screen import set_up_logs
from corrobora.faces.request import Question, parse_question
from corrobora.registry import list_parts
from corrobora.text.tokens import sanitize_text

if TYPE_CHECKING:
    from corrobora.app import Workspace

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")
Flags: TypeAlias = Mapping[str, Any]  # what click hands a command, by the names of its options
_MAX_INPUT_BYTES = 4 * LIMITS.question_max_chars + 4  # UTF-8 needs at most four bytes a character
_MAX_PLAN_BYTES = 1_000_000
STAGES = tuple(stage.value for stage in Stage) + tuple(STAGE_ALIASES)


def add_options(*options: Callable[[F], F]) -> Callable[[F], F]:
    """Return a decorator that adds options to a command; help lists them in this order."""

    def add_all(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return add_all


def _turn_off_color(_context: click.Context, _parameter: click.Parameter, value: object) -> None:
    if value:
        os.environ["NO_COLOR"] = "1"  # what rich, and any program that is started from here, goes by


def _turn_on_logs(_context: click.Context, _parameter: click.Parameter, value: object) -> None:
    if value:
        set_up_logs(level=logging.DEBUG)


config_option = add_options(  # of every command
    click.option(
        "--config",
        "config_file",
        type=FILE_PATH,
        metavar="FILE",
        help="Read this configuration file instead of corrobora.toml.",
    ),
    click.option(
        "-v",
        "--verbose",
        is_flag=True,
        expose_value=False,
        callback=_turn_on_logs,
        help="Log to stderr, with the traceback of an error.",
    ),
    click.option(
        "--no-color",
        is_flag=True,
        expose_value=False,
        callback=_turn_off_color,
        help="Print without colors, as with the environment variable NO_COLOR.",
    ),
)
model_option = click.option(
    "-m",
    "--model",
    multiple=True,
    metavar="[TIER=]PROVIDER:MODEL",
    help="Use this model for all roles, or for those of a tier: lead, worker, fast or judge. "
    "Default: as in the settings. Repeatable.",
)
fields_option = click.option(
    "-s", "fields", multiple=True, metavar="FIELD=VALUE", help="Set one field of the profile. Repeatable."
)


deliver_option = click.option(
    "--deliver",
    multiple=True,
    metavar="CHANNEL[:TARGET]",
    help="Deliver the report: folder:DIR, email:ADDRESS, webhook, or a channel that a package adds. Repeatable.",
)
anyway_option = click.option(
    "--deliver-anyway", is_flag=True, help="Deliver the report even if its verification failed."
)

_LAST_GROUP = "Display and settings"  # also of options that are named in no group
_GROUPS = {  # of the options in help
    "Question and sources": "question_file language source refresh libraries providers library provider offline sources"
    " fetch",
    "Method": "profile time deep max_rounds angles fields plan plan_only yes words",
    "Model and limits": "model max_cost accept_unknown_price max_tokens max_searches",
    "Edits": "drop reword add move shorten research accept accept_losses outline versions restore",
    "Stored runs and stages": "run_id resume listed forget from_stage until_stage",
    "Schedule": "cron name",
    "Server": "http host port token_file allow_host open_page demo",
    "Report": "formats kinds output force follow_symlinks artifacts as_json as_sarif deliver deliver_anyway strict"
    " min_score",
    _LAST_GROUP: "display quiet no_input config_file verbose no_color help",
}
_READ_ON = "Guides and reference: docs/ in the source tree; begin with docs/guides/start.md."


class GroupedCommand(click.Command):
    """A command whose help lists its options in groups, then an example that can be run and where to read on."""

    def __init__(self, *args: Any, example: str = "", **more: Any) -> None:
        epilog = "\n\n".join(filter(None, (f"Example: {example}" if example else "", _READ_ON)))
        super().__init__(*args, epilog=epilog, **more)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        groups: dict[str, list[tuple[str, str]]] = {}
        own = {parameter.name for parameter in self.get_params(ctx)}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            title = next((title for title, names in _GROUPS.items() if parameter.name in names.split()), _LAST_GROUP)
            if parameter.name == "as_json" and not own & {"output", "strict"}:  # of a list, not of a report
                title = _LAST_GROUP
            if record is not None and isinstance(parameter, click.Option):
                groups.setdefault(title, []).append(record)
        for title in _GROUPS:
            if title in groups:
                with formatter.section(title):
                    formatter.write_dl(groups[title])


def stage_option(flag: str, about: str) -> Callable[[F], F]:
    """Return a decorator that adds an option whose value is the name of a stage."""
    names = f"{', '.join(STAGES[:-1])} or {STAGES[-1]}"
    return click.option(flag, type=click.Choice(STAGES), metavar="STAGE", help=f"{about} Stages: {names}.")


def check_ids(context: click.Context, _parameter: click.Parameter, value: str | tuple[str, ...]) -> object:
    """Return an argument that names runs. Raises `UserError` for what can be no id, before the database is opened."""
    for each in (value,) if isinstance(value, str) else value:
        if " " in each.strip() and isinstance(value, str):
            command = context.command_path
            message = f"{each[:80]!r} is no run: {command} takes a run first, its id or `last`."
            raise UserError("run_id", message, next_step=f'Such as: {command} last "..."')
        validate_id(each)
    return value


Complete = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def complete_names(
    list_names: Callable[[], Iterable[str]], *, paths: Literal["never", "else", "also"] = "never", joined: bool = False
) -> Complete:
    """Return a completion with names, and with a path where none fits or beside them; `joined` ones have commas."""

    def complete(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
        before, comma, start = incomplete.rpartition(",") if joined else ("", "", incomplete)
        found = [CompletionItem(f"{before}{comma}{name}") for name in list_names() if name.startswith(start)]
        is_path = paths == "also" or (paths == "else" and not found)
        return [*found, CompletionItem(incomplete, type="file")] if is_path else found

    return complete


def list_run_names() -> Sequence[str]:
    """Return `last` and the ids of the runs that have a folder, the newest first: the database would take too long."""
    with suppress(UserError, OSError):
        folders = sorted((load_settings().home / "runs").iterdir(), key=lambda each: each.stat().st_mtime)
        return ["last", *(each.name for each in folders[:-50:-1])]
    return ["last"]


OF_RUNS: Mapping[str, Any] = {"callback": check_ids, "shell_complete": complete_names(list_run_names)}
run_argument = click.argument("run", **OF_RUNS)
runs_argument = click.argument("names", metavar="RUN...", nargs=-1, required=True, **OF_RUNS)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document to stdout.")


def read_question(argument: str | None, file: Path | None) -> Question:
    """Return the checked question: the argument, `@FILE`, `-` for stdin, or `--question-file`.

    A question that happens to be the path of a file stays a question (bad-input Q15). Raises `UserError`.
    """
    if argument is not None and file is not None:
        raise UserError(
            "question_twice", "A question and --question-file cannot be combined.", next_step="Give one of them."
        )
    if argument is not None and argument.startswith("@") and len(argument) > 1:
        file = Path(argument[1:])
    if file is not None:
        return parse_question(read_small_file(file, limit=_MAX_INPUT_BYTES, what="The question file"))
    if argument is None:
        raise UserError(
            "question_missing",
            "No question was given.",
            next_step='Ask one: corrobora "QUESTION", @FILE, or - to read it from stdin.',
        )
    return parse_question(_read_stdin() if argument == "-" else argument)


def _read_stdin() -> str:
    """Read at most the bytes that a question may have, so that 5 MB of text are refused early (bad-input Q06)."""
    text = read_stdin_text(_MAX_INPUT_BYTES)
    if text is None:
        raise UserError(
            "question_too_long",
            f"The question on stdin has more than {_MAX_INPUT_BYTES:,} bytes; the limit is "
            f"{LIMITS.question_max_chars:,} characters.",
            next_step="Shorten it; documents go into a library: corrobora library add NAME PATH",
        )
    return text


def read_stdin_text(limit: int) -> str | None:
    """Return the text on stdin, None if it has more than `limit` bytes."""
    stream: io.BufferedIOBase | None = getattr(sys.stdin, "buffer", None)
    data = stream.read(limit + 1) if stream is not None else b""
    return None if len(data) > limit else data.decode("utf-8", "surrogateescape").removeprefix("\ufeff")


def read_plan(path: Path) -> str:
    """Return the text of a plan file after a check that it is JSON. Raises `UserError` with line and column."""
    text = read_small_file(path, limit=_MAX_PLAN_BYTES, what="The plan file")
    try:
        value: object = json.loads(text)
    except json.JSONDecodeError as error:
        message = f"{path}: line {error.lineno}, column {error.colno}: {error.msg}."
        raise UserError("plan_syntax", message, next_step="Correct the JSON.") from None
    except (RecursionError, ValueError):
        raise UserError("plan_syntax", f"{path}: a value is nested too deeply or out of range.") from None
    if not isinstance(value, dict):
        raise UserError("plan_syntax", f"{path}: line 1: a plan is a JSON object.", next_step="See: corrobora --help")
    return text


def parse_deliveries(given: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Read `--deliver folder:DIR`, `email:ADDRESS` or `webhook`; the folder is stored by its absolute path.

    Raises `UserError` for a folder without a name: it would be whatever folder the command happens to run in.
    """
    found: list[tuple[str, str]] = []
    for text in given:
        kind, _, where = text.partition(":")
        if kind == "folder" and not where.strip():
            problem = f"--deliver {text!r} names no folder."
            raise UserError("delivery_target", problem, next_step="Write --deliver folder:DIR")
        found.append((kind, str(Path(where).expanduser().absolute()) if kind == "folder" else where))
    return tuple(found)


def parse_models(given: Sequence[str]) -> dict[str, tuple[object, str]]:
    """Read `--model [TIER=]PROVIDER:MODEL` as settings; without a tier a model plays all roles. Raises `UserError`."""
    found: dict[str, str] = {}
    for text in given:
        tier, equals, model = text.partition("=")
        if not equals:
            found |= {each: found.get(each, text) for each in TIERS}
        elif tier in TIERS:
            found[tier] = model
        else:
            problem = f"--model {text!r}: {tier!r} is not a tier."
            raise UserError("model_tier", problem, next_step=f"Tiers: {', '.join(TIERS)}.")
    return {f"models.{tier}": (model, "--model") for tier, model in found.items()}


def parse_fields(given: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Read `-s FIELD=VALUE`. Raises `UserError` if there is no `=`; the profile checks field and value."""
    pairs: list[tuple[str, str]] = []
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            step = "Such as: -s reads_per_round=8. Fields: corrobora profiles show NAME"
            raise UserError("field_syntax", f"-s {text!r} is not FIELD=VALUE.", next_step=step)
        pairs.append((name.strip(), value.strip()))
    return tuple(pairs)


_COMPLETIONS = {
    "profile": complete_names(lambda: list_parts("profiles"), paths="else"),
    "libraries": complete_names(lambda: ("demo",), paths="also"),  # stored ones would need the database: too slow
    "providers": complete_names(lambda: list_parts("search")),
    "display": complete_names(lambda: DISPLAYS),
}


def list_flags(*, report: bool | None = None) -> dict[str, DeclaredSetting]:
    """Return the settings that have a flag, by attribute: all, those of every report, or those of a new run alone."""
    declared = [each for each in list_settings().values() if each.mark.flags]
    return {each.attribute: each for each in declared if report is None or each.mark.report is report}


def setting_options(*attributes: str, **defaults: str) -> Callable[[F], F]:
    """Return a decorator that adds the flags of settings to a command; a command may have a default of its own."""
    flags = list_flags()
    named = dict.fromkeys((*attributes, *defaults))
    return add_options(*(_make_option(flags[each], defaults.get(each)) for each in named))


def _make_option(declared: DeclaredSetting, default: str | None) -> Callable[[F], F]:
    kind, _ = split_annotation(declared.annotation)
    multiple = isinstance(declared.default, tuple)
    shape: dict[str, Any] = {"metavar": declared.metavar, "multiple": multiple}
    about = declared.mark.about + (" Repeatable." if multiple else "")
    if kind is bool:
        shape = {"is_flag": True}
    elif default is not None:
        shape |= {"default": default, "show_default": True}
    elif isinstance(declared.default, str):  # shown only: a file or the environment may have another value
        about += f"  [default: {declared.default}]"
    return click.option(
        *declared.mark.flags.split(),
        help=about,
        shell_complete=_COMPLETIONS.get(declared.attribute),
        **shape,
    )


def read_setting_flags(flags: Mapping[str, object]) -> dict[str, tuple[object, str]]:
    """Return the flags that are settings and were given, by key: the value, and the name of the flag."""
    found: dict[str, tuple[object, str]] = {}
    for declared in list_flags().values():
        value = flags.get(declared.parameter)
        if value is not None and value is not False and value != ():
            found[declared.key] = (value, f"--{declared.parameter.replace('_', '-')}")
    return found


def open_settings(
    config_file: Path | None,
    flags: Mapping[str, tuple[object, str]] | None = None,
    *,
    untrusted: Literal["refuse", "ignore"] = "refuse",
) -> Settings:
    """Load the settings and print each of their notes to stderr. Raises `UserError`."""
    settings = load_settings(flags, config=config_file, untrusted=untrusted)
    for note in settings.notes:
        print_notice(f"Note: {note}" + ("" if note.endswith("?") else "."))
    return settings


def print_json(value: object) -> None:
    """Print one JSON document to stdout."""
    click.echo(json.dumps(value, indent=2, default=str))


def print_text(text: str) -> None:
    """Print text to stdout without terminal control sequences."""
    sys.stdout.write(sanitize_text(text).rstrip("\n") + "\n")


def workspace_command(work: Callable[..., Awaitable[object]]) -> Callable[..., object]:
    """Make a command of work on an opened workspace, its first argument; the command also has the common flags."""

    @config_option
    @functools.wraps(work)
    def command(*, config_file: Path | None, **given: object) -> object:
        return with_workspace(open_settings(config_file), lambda workspace: work(workspace, **given))

    return command


def with_workspace(settings: Settings, work: Callable[[Workspace], Awaitable[T]]) -> T:
    """Open the workspace, await `work` on it, close it, and return the result."""
    return asyncio.run(on_workspace(settings, work))


async def on_workspace(settings: Settings, work: Callable[[Workspace], Awaitable[T]]) -> T:
    """Do as `with_workspace` where an event loop runs already."""
    from corrobora.app import Workspace  # noqa: PLC0415 - `corrobora --help` must not load the database

    async with Workspace.open(settings) as workspace:
        return await work(workspace)
