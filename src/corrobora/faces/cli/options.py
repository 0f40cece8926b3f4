"""What several commands share: the question, options and their completion, settings, the workspace.

Knows how arguments are written, how a declared setting becomes a flag, and how a synchronous command runs asynchronous
work. Does not know profiles' defaults, or what a command does with the request.
"""

from __future__ import annotations

import asyncio
import io
import json
import sys
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import click
from click.shell_completion import CompletionItem, get_completion_class

from corrobora.config import Settings, list_presets, load_settings, read_small_file
from corrobora.config.settings import DISPLAYS, TIERS, Declared, list_settings
from corrobora.config.values import split_annotation
from corrobora.domain.errors import UserError
from corrobora.domain.limits import LIMITS
from corrobora.domain.run import STAGE_ALIASES, Stage
from corrobora.faces.cli.exit_codes import print_notice
from corrobora.faces.cli.terminal import sanitize_text
from corrobora.faces.request import Question, parse_question
from corrobora.registry import list_parts

if TYPE_CHECKING:
    from corrobora.app import Workspace

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")
_MAX_INPUT_BYTES = 4 * LIMITS.question_max_chars + 4  # UTF-8 needs at most four bytes a character
_MAX_PLAN_BYTES = 1_000_000
STAGES = tuple(stage.value for stage in Stage) + tuple(STAGE_ALIASES)

config_option = click.option(
    "--config",
    "config_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Read this configuration file in place of the project's.",
)
model_option = click.option(
    "-m", "--model", multiple=True, metavar="[TIER=]PROVIDER:MODEL", help="Tiers: lead, worker, fast, judge."
)
fields_option = click.option("-s", "fields", multiple=True, metavar="FIELD=VALUE", help="Set one field of the profile.")


class DeliverOption(click.Option):
    """`--deliver`, whose help names the installed channels; they are looked up only when help is printed."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return the option and its help, with the channels of this installation."""
        forms = {"folder": "folder:DIR", "email": "email:ADDRESS"}
        channels = ", ".join(forms.get(name, name) for name in sorted(list_parts("delivery")))
        self.help = f"Hand the report on through a channel: {channels}."
        return super().get_help_record(ctx)


deliver_option = click.option("--deliver", cls=DeliverOption, multiple=True, metavar="CHANNEL[:TARGET]")
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document on stdout.")


def read_question(argument: str | None, file: Path | None) -> Question:
    """Return the checked question: the argument, `@FILE`, `-` for stdin, or `--question-file`.

    A question that happens to be the path of a file stays a question (bad-input Q15). Raises `UserError`.
    """
    if argument is not None and file is not None:
        raise UserError(
            "question_twice", "A question and --question-file were both given.", next_step="Give one of them."
        )
    if file is not None:
        return parse_question(_read_question_file(file))
    if argument is None:
        raise UserError(
            "question_missing",
            "No question was given.",
            next_step='Ask one: corrobora "QUESTION", @FILE, or - to read it from stdin.',
        )
    if argument == "-":
        return parse_question(_read_stdin())
    if argument.startswith("@") and len(argument) > 1:
        return parse_question(_read_question_file(Path(argument[1:])))
    return parse_question(argument)


def _read_question_file(path: Path) -> str:
    return read_small_file(path, limit=_MAX_INPUT_BYTES, what="The question file")


def _read_stdin() -> str:
    """Read at most what a question may have, so that 5 MB of pasted text never enter memory (bad-input Q06)."""
    stream: io.BufferedIOBase | None = getattr(sys.stdin, "buffer", None)
    data = stream.read(_MAX_INPUT_BYTES + 1) if stream is not None else b""
    if len(data) > _MAX_INPUT_BYTES:
        raise UserError(
            "question_too_long",
            f"The question on stdin has more than {_MAX_INPUT_BYTES:,} bytes; the limit is "
            f"{LIMITS.question_max_chars:,} characters.",
            next_step="Shorten it; documents go into a library: corrobora library add NAME PATH",
        )
    return data.decode("utf-8", "surrogateescape").removeprefix("\ufeff")


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
            raise UserError(
                "delivery_target", f"--deliver {text!r} names no folder.", next_step="Write --deliver folder:DIR"
            )
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
            raise UserError(
                "model_tier", f"--model {text!r}: {tier!r} is no tier.", next_step=f"Tiers: {', '.join(TIERS)}."
            )
    return {f"models.{tier}": (model, "--model") for tier, model in found.items()}


def parse_fields(given: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Read `-s FIELD=VALUE`. Raises `UserError` if there is no `=`; the profile checks field and value."""
    pairs: list[tuple[str, str]] = []
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise UserError(
                "field_syntax",
                f"-s {text!r} is not FIELD=VALUE.",
                next_step="Such as: -s reads_per_round=8. Fields: corrobora profiles show NAME",
            )
        pairs.append((name.strip(), value.strip()))
    return tuple(pairs)


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the completion script of a shell.

    bash: corrobora completion bash > ~/.local/share/bash-completion/completions/corrobora
    """
    found = get_completion_class(shell)
    if found is None:
        raise click.UsageError(f"No completion is known for {shell}.", context)
    click.echo(found(context.find_root().command, {}, "corrobora", "_CORROBORA_COMPLETE").source())


def _matching_items(names: Iterable[str], incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


def complete_displays(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete `--display`."""
    return _matching_items(DISPLAYS, incomplete)


def complete_providers(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete `--provider`."""
    return _matching_items(list_parts("search"), incomplete)


def complete_profiles(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete `--profile`: the presets, else a file."""
    return _matching_items(list_presets(), incomplete) or [CompletionItem(incomplete, type="file")]


def complete_libraries(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete `--library`: `demo`, else a path. Stored names would need the database, and a shell cannot wait."""
    return [*_matching_items(("demo",), incomplete), CompletionItem(incomplete, type="file")]


_COMPLETIONS = {
    "profile": complete_profiles,
    "libraries": complete_libraries,
    "providers": complete_providers,
    "display": complete_displays,
}


def list_flags(*, report: bool | None = None) -> dict[str, Declared]:
    """Return the settings that have a flag, by attribute: all, those of every report, or those of a new run alone."""
    declared = [each for each in list_settings().values() if each.mark.flags]
    return {each.attribute: each for each in declared if report is None or each.mark.report is report}


def setting_options(*attributes: str, **defaults: str) -> Callable[[F], F]:
    """Return a decorator that adds the flags of settings to a command; a command may have a default of its own."""
    flags = list_flags()

    def add_options(command: F) -> F:
        for attribute in reversed((*attributes, *defaults)):
            command = _make_option(flags[attribute], defaults.get(attribute))(command)
        return command

    return add_options


def _make_option(declared: Declared, default: str | None) -> Callable[[F], F]:
    kind, _ = split_annotation(declared.annotation)
    shape: dict[str, Any] = {"metavar": declared.metavar, "multiple": isinstance(declared.default, tuple)}
    if kind is bool:
        shape = {"is_flag": True}
    if default is not None:
        shape |= {"default": default, "show_default": True}
    return click.option(
        *declared.mark.flags.split(),
        help=declared.mark.about,
        shell_complete=_COMPLETIONS.get(declared.attribute),
        **shape,
    )


def read_setting_flags(flags: Mapping[str, object]) -> dict[str, tuple[object, str]]:
    """Return the flags that are settings and were written, by key: the value, and the flag as it is called."""
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
    """Load settings and say each of their notes once on stderr. Raises `UserError`."""
    settings = load_settings(flags, config=config_file, untrusted=untrusted)
    for note in settings.notes:
        print_notice(f"Note: {note}" + ("" if note.endswith("?") else "."))
    return settings


def print_json(value: object) -> None:
    """Print one JSON document on stdout."""
    click.echo(json.dumps(value, indent=2, default=str))


def print_text(text: str) -> None:
    """Print text on stdout without anything that a terminal would obey."""
    sys.stdout.write(sanitize_text(text).rstrip("\n") + "\n")


def with_workspace(settings: Settings, work: Callable[[Workspace], Awaitable[T]]) -> T:
    """Open the workspace, await `work` on it, close it, and return what it gave."""

    async def open_and_run() -> T:
        from corrobora.app import Workspace  # noqa: PLC0415 - `corrobora --help` must not load the database

        async with Workspace.open(settings) as workspace:
            return await work(workspace)

    return asyncio.run(open_and_run())
