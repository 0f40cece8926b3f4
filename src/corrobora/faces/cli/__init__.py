"""The command `corrobora`: its subcommands, a bare question as `research`, and errors as one line and an exit code.

Knows which commands exist, the error tree, click's own errors, what is no path, and where the traceback of a bug is
saved. Stdout is the report, stderr is the progress. What a command needs is imported before it runs and not earlier:
`--version` and `--help` load neither the database, nor a model's client, nor numpy.

    0 done   1 bug   2 usage or configuration   3 needs a human   4 below the threshold   5 strict and incomplete
    6 no usable evidence   7 provider   8 budget   130 interrupted
"""

from __future__ import annotations

import errno
import logging
import os
import shutil
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import suppress
from difflib import get_close_matches
from enum import IntEnum
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import Any, cast

import click

from corrobora import __version__
from corrobora.domain.errors import MORE_MEMORY, NO_MEMORY, CorroboraError, lacks_memory
from corrobora.faces.cli.screen import one_line, prepare_streams, reset_logs, set_up_logs, silence_closed_pipe
from corrobora.files import make_private_folder

_log = logging.getLogger("corrobora")
_MAX_LINE = 1_000
_FULL_DISK_BYTES = 20_000_000  # a disk with less free space counts as full: a database writes in steps of 16 MB
_DISK_ERRORS = {  # error number: what happened, and what to do
    errno.ENOSPC: ("The disk is full", "free some space"),
    errno.EDQUOT: ("The disk quota is used up", "free some space"),
    errno.EROFS: ("The disk is read-only", "choose another folder with CORROBORA_HOME"),
    errno.EIO: ("The disk failed", "choose another folder with CORROBORA_HOME"),
    errno.EACCES: ("Permission denied", "change the rights or choose another folder"),
    errno.EPERM: ("Permission denied", "change the rights or choose another folder"),
    errno.EFBIG: ("A file has reached the limit of its size", "raise the limit (ulimit -f)"),
    errno.EMFILE: ("Too many files are open", "raise the limit (ulimit -n)"),
    errno.ENFILE: ("Too many files are open on this machine", "close other programs"),
}


class Exit(IntEnum):
    """The exit codes (docs/reference/errors.md)."""

    DONE = 0
    BUG = 1
    USAGE = 2
    NEEDS_HUMAN = 3
    BELOW_THRESHOLD = 4
    INCOMPLETE = 5
    NO_EVIDENCE = 6
    PROVIDER = 7
    BUDGET = 8
    INTERRUPTED = 130
    TERMINATED = 143


def print_notice(message: str) -> None:
    """Print one line for a person to stderr; never fails, even if stderr is closed."""
    try:
        click.echo(f"corrobora: {one_line(message, _MAX_LINE)}", err=True)
    except (OSError, ValueError):
        return


def error_exit_code(error: BaseException) -> int:
    """Return the exit code of an expected error; any other exception is a bug."""
    if isinstance(error, CorroboraError):
        return error.exit_code
    if isinstance(error, click.exceptions.Exit):
        return error.exit_code
    if isinstance(error, (click.Abort, KeyboardInterrupt)):
        return Exit.INTERRUPTED
    return Exit.USAGE if isinstance(error, click.UsageError) else Exit.BUG


def explain_usage(error: click.ClickException, args: Sequence[str] = ()) -> str:
    """Return click's message as one line with the next step (bad-input Q14); some errors do not know their command."""
    message = error.format_message().rstrip(".")
    message += "" if message.endswith("?") else "."
    command = " ".join(("corrobora", *(each for each in args[:1] if each in _COMMANDS)))
    if isinstance(error, click.UsageError) and error.ctx:
        command = error.ctx.command_path
    if isinstance(error, click.NoSuchOption) and command in ("corrobora", "corrobora research"):
        return f"{message} Put -- before a question that starts with a dash: corrobora -- QUESTION"
    return f"{message} See: {command} --help"


def explain_disk(error: Exception) -> str:
    """Return an error of a disk or a limit as one line with the place and the next step, or "" for any other error.

    The first note of the error, if it has one, says how to go on. Requirement: bad-input R16.
    """
    again = next(iter(getattr(error, "__notes__", ())), "run the same command again")
    if lacks_memory(error):
        return f"{NO_MEMORY}. Finished work is saved: {MORE_MEMORY}, then {again}."
    if not isinstance(error, OSError) or error.errno not in _DISK_ERRORS:
        return ""
    what, step = _DISK_ERRORS[error.errno]
    return f"{what}{_disk_place(error)}. Finished work is saved: {step}, then {again}."


def _disk_place(error: OSError) -> str:
    """Return the file of the error, else the folder whose disk is full, else the target of the output."""
    if error.filename:
        return f": {error.filename}"
    if error.errno not in (errno.ENOSPC, errno.EDQUOT):
        return ""
    full = find_full_disk()
    return f": {full}" if full else ", on the disk of the output"


def find_full_disk() -> str:
    """Return the folder of the data, or that of temporary files, if its disk is full, else ""."""
    for folder in _list_folders():
        there = next((each for each in (folder, *folder.absolute().parents) if each.exists()), Path("/"))
        if shutil.disk_usage(there).free < _FULL_DISK_BYTES:
            return str(folder)
    return ""


def save_traceback(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Save the traceback of a bug to a file and print one line that names the file; used as `sys.excepthook`."""
    text = "".join(traceback.format_exception(kind, error, trace))
    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
    name = f"corrobora-bug-{stamp}-{os.getpid()}.txt"
    summary = one_line(f"{kind.__name__}: {error}", 200)
    for folder in _list_folders("bugs"):
        try:
            make_private_folder(folder)
            handle = os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
                file.write(f"corrobora {__version__}, Python {sys.version}\n{text}")
        except OSError:
            continue
        print_notice(
            f"A bug: {summary}. The details are in {folder / name}. Finished work is saved: corrobora runs list"
        )
        return
    print_notice(f"A bug: {summary}. The details could not be saved.")


def _list_folders(below: str = "") -> Iterator[Path]:
    """Yield the data folder, or one below it, and the folder for temporary files, if a file can be written there."""
    yield _data_folder() / below
    with suppress(OSError):
        yield Path(tempfile.gettempdir())


def _data_folder() -> Path:
    """Return the data folder without reading the settings, because reading them may have failed."""
    home = os.environ.get("CORROBORA_HOME", "")
    if home:
        return Path(home).expanduser()
    from corrobora.config.layers import find_data_folder  # noqa: PLC0415 - a failing start should need little

    return find_data_folder()


# For each group of the list of commands: name, module and name in it, and the line that the list shows.
_GROUPS: dict[str, dict[str, tuple[str, str]]] = {
    "Ask": {
        "research": ("request:research", "Research a question and print the cited report."),
        "chat": ("new_run:chat", "Narrow a question with the manager, then research it."),
        "investigate": ("new_run:investigate", "Investigate one given thread."),
        "demo": ("new_run:demo", "Research a question over the documents that ship with the package."),
    },
    "Runs": {
        "runs": ("runs:runs", "List, show, compare and remove runs."),
        "resume": ("runs:resume", "Continue a run."),
        "authorize": ("runs:authorize", "Authorize the waiting plan of a run and continue the run."),
        "steer": ("runs:steer", "Give a paused run a hint for its next round; `corrobora resume` continues it."),
        "cancel": ("runs:cancel", "Cancel a run, even if a worker on another machine is working on it."),
        "schedule": ("worker:schedule", "Add, list or remove scheduled runs."),
        "worker": ("worker:worker", "Work on queued runs until SIGTERM or Ctrl-C."),
    },
    "Reports": {
        "ask": ("followup:ask", "Answer a follow-up QUESTION on the evidence of RUN."),
        "update": (
            "followup:update",
            "Research the question of RUN again and print what changed since: statements, answers, sources, gaps.",
        ),
        "watch": (
            "followup:watch",
            "Research the question of RUN on a schedule and deliver only when a statement changed.",
        ),
        "edit": (
            "followup:edit",
            "Edit the report of RUN with FEEDBACK, which a model turns into edits, or with edits given as options.",
        ),
        "verify": ("verify:verify", "Check a report against the delivered one and its stored sources."),
        "source": ("exports:source", "Print a stored passage between its neighbours, with its quotes marked."),
        "export": ("exports:export", "Write the report of a run in one or several formats."),
        "plot": ("exports:plot", "Draw a run as SVG pictures."),
        "schema": (
            "exports:schema",
            "Print the JSON Schema (2020-12) of report.json, of one event of the log, or of a plan.",
        ),
    },
    "Servers": {
        "serve": ("corrobora.faces.serve:serve", "Serve the page and the HTTP API until Ctrl-C."),
        "mcp": (
            "corrobora.faces.serve:mcp",
            "Offer research, sources and libraries to an assistant over the Model Context Protocol.",
        ),
    },
    "Documents": {
        "library": ("library:library", "Fill, list and search libraries of documents."),
    },
    "Setup": {
        "init": (
            "installation:init",
            "Look for models, keys and search providers, and write a first configuration file.",
        ),
        "doctor": ("installation:doctor", "Check database, models, keys, disk and versions."),
        "config": ("config:config", "Show the settings and where they come from."),
        "trust": (
            "config:trust",
            "Let the configuration file of FOLDER set servers, keys, prices and paths outside it.",
        ),
        "profiles": ("config:profiles", "List the profiles: how a question is researched."),
        "db": ("installation:db", "Start, stop or show the embedded database."),
        "completion": ("config:completion", "Print the completion script of a shell."),
    },
}
_COMMANDS = {name: command for group in _GROUPS.values() for name, command in group.items()}


_OTHER_NAMES = {"remove": "rm", "delete": "rm", "ls": "list"}


class CommandGroup(click.Group):
    """A command of commands: its help says what each of them does in a whole sentence."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Find a command by its name or by another usual word for it."""
        return super().get_command(ctx, _OTHER_NAMES.get(cmd_name, cmd_name))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that a word names. Raises `UsageError`, with those that there are, for any other word."""
        if not ctx.resilient_parsing and self.get_command(ctx, args[0]) is None:
            known = ", ".join(self.list_commands(ctx))
            raise click.UsageError(f"There is no command {args[0][:80]!r} of {ctx.command_path}. It has: {known}.", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl([(name, each.get_short_help_str(limit=200)) for name, each in commands if each])


class QuestionOrCommand(click.Group):
    """A group whose first word may be a question: `corrobora QUESTION` is `corrobora research QUESTION`.

    A command is imported when it is run: `--version` and `--help` need none of them.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return sorted(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        if cmd_name not in _COMMANDS:
            return None
        module, _, name = _COMMANDS[cmd_name][0].partition(":")
        home = module if "." in module else f"corrobora.faces.cli.{module}"
        return cast("click.Command", getattr(import_module(home), name))

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's signature
        for title, commands in _GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(name, line) for name, (_, line) in commands.items()])

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Insert `research` unless a command or one of the group's own options comes first."""
        own = {name for parameter in self.params for name in parameter.opts} | set(ctx.help_option_names)
        if args and args[0] not in _COMMANDS and args[0] not in own:
            if not ctx.resilient_parsing:  # a shell asks for completions: it wants no complaint
                self._refuse_typo(ctx, args)
            args = ["research", *args]
        return super().parse_args(ctx, args)

    def _refuse_typo(self, ctx: click.Context, args: list[str]) -> None:
        """Refuse a single word that is close to the name of a command, instead of researching it."""
        near = get_close_matches(args[0], list(_COMMANDS), n=1, cutoff=0.75)
        if near and not any(letter in args[0] for letter in " ?"):
            text = (
                f"There is no command {args[0]!r}; did you mean {near[0]}? To research it: corrobora research {args[0]}"
            )
            raise click.UsageError(text, ctx)


@click.group(
    cls=QuestionOrCommand,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    help="Deep research you can check: ask a question and get a report whose citations lead to stored passages.\n\n"
    "\b\n"
    "corrobora demo                          try it without a key, a model or a network\n"
    'corrobora "QUESTION" --library FOLDER   search your documents (short for: corrobora research)\n'
    "corrobora verify report.md              check the citations of a report again",
    epilog="Guides and reference: docs/ in the source tree; begin with docs/guides/start.md.\n\n"
    "Exit codes: 0 done, 1 bug, 2 usage, 3 needs a human, 4 below threshold, 5 strict and incomplete, "
    "6 no usable evidence, 7 provider, 8 budget, 130 interrupted.",
)
@click.version_option(__version__, "-V", "--version", prog_name="corrobora", message="%(prog)s %(version)s")
def cli() -> None:
    """Choose a command; without one, the first word is a question."""


def run_command_line(argv: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code. A bug leaves as an exception, for `sys.excepthook`."""
    prepare_streams()
    set_up_logs()
    sys.excepthook = save_traceback
    args = list(sys.argv[1:] if argv is None else argv)
    try:
        result: object = cli.main(args=list(args), prog_name="corrobora", standalone_mode=False)
        sys.stdout.flush()
    except (BrokenPipeError, SystemExit):  # click leaves by SystemExit when the reader of stdout has gone
        silence_closed_pipe()
        return Exit.DONE
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())  # a command that was called to see what there is
        return Exit.DONE
    except click.ClickException as error:
        print_notice(explain_usage(error, args))
        return error_exit_code(error)
    except CorroboraError as error:
        _log.debug("The error in detail:", exc_info=error)
        print_notice(str(error))
        return error_exit_code(error)
    except (click.Abort, KeyboardInterrupt):
        print_notice("Interrupted. To go on, give the same command again.")
        return Exit.INTERRUPTED
    except BaseExceptionGroup as group:
        return _report_first_error(group)
    except Exception as error:
        if not (problem := explain_disk(error)):
            raise
        print_notice(problem)
        return Exit.BUG
    finally:
        reset_logs()
    return result if isinstance(result, int) else Exit.DONE


def _report_first_error(group: BaseExceptionGroup[BaseException]) -> int:
    """Print the first expected error of a group of parallel failures; a group of bugs alone is raised again."""
    known = group.subgroup(lambda error: isinstance(error, (CorroboraError, KeyboardInterrupt)))
    if known is None:
        raise group
    error: BaseException = known
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    print_notice(str(error) or "Interrupted.")  # pyright: ignore[reportUnknownArgumentType]
    return error_exit_code(error)  # pyright: ignore[reportUnknownArgumentType]


class _FilePath(click.Path):
    """A path; "" is refused, which would be the current folder."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "":
            self.fail("a path cannot be empty.", param, ctx)
        return super().convert(value, param, ctx)


FILE_PATH = _FilePath(path_type=Path)
