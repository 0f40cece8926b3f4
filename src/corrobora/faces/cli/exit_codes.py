"""Exit codes and error messages: what a failure means to the shell and to the person.

Knows the error tree, click's own errors, and where the traceback of a bug is saved. Does not know commands or reports,
so that `--version` and `--help` load neither.

    0 done   1 bug   2 usage or configuration   3 needs a human   4 below the threshold   5 strict and incomplete
    6 no usable evidence   7 provider   8 budget   130 interrupted
"""

from __future__ import annotations

import errno
import os
import shutil
import sys
import tempfile
import time
import traceback
from enum import IntEnum
from pathlib import Path
from types import TracebackType

import click

from corrobora import __version__
from corrobora.domain.errors import CorroboraError
from corrobora.faces.cli.screen import one_line

_MAX_LINE = 1_000
_FULL_DISK_BYTES = 1_000_000  # a disk with less free space counts as full
_DISK_ERRORS = {  # error number: what happened, and what to do
    errno.ENOSPC: ("The disk is full", "free some space"),
    errno.EDQUOT: ("The disk quota is used up", "free some space"),
    errno.EROFS: ("The disk is read-only", "choose another folder with CORROBORA_HOME"),
    errno.EIO: ("The disk failed", "choose another folder with CORROBORA_HOME"),
    errno.EACCES: ("Permission denied", "change the rights or choose another folder"),
    errno.EPERM: ("Permission denied", "change the rights or choose another folder"),
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


def explain_usage(error: click.ClickException) -> str:
    """Return click's message as one line with the next step (bad-input Q14)."""
    message = error.format_message().rstrip(".") + "."
    if isinstance(error, click.NoSuchOption):
        return f"{message} A question that starts with a dash follows --: corrobora -- QUESTION"
    command = error.ctx.command_path if isinstance(error, click.UsageError) and error.ctx else "corrobora"
    return f"{message} See: {command} --help"


def explain_disk(error: OSError) -> str:
    """Return a disk error as one line with the place and the next step, or "" for any other error.

    Requirement: bad-input R16.
    """
    if error.errno not in _DISK_ERRORS:
        return ""
    what, step = _DISK_ERRORS[error.errno]
    return f"{what}{_disk_place(error)}. Finished work is saved: {step}, then run the same command again."


def _disk_place(error: OSError) -> str:
    """Return the file of the error, else the folder whose disk is full, else the target of the output."""
    if error.filename:
        return f": {error.filename}"
    if error.errno not in (errno.ENOSPC, errno.EDQUOT):
        return ""
    for folder in (_data_folder(), Path(tempfile.gettempdir())):
        there = next((each for each in (folder, *folder.absolute().parents) if each.exists()), Path("/"))
        if shutil.disk_usage(there).free < _FULL_DISK_BYTES:
            return f": {folder}"
    return ", on the disk of the output"


def save_traceback(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Save the traceback of a bug to a file and print one line that names the file; used as `sys.excepthook`."""
    text = "".join(traceback.format_exception(kind, error, trace))
    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
    name = f"corrobora-bug-{stamp}-{os.getpid()}.txt"
    summary = one_line(f"{kind.__name__}: {error}", 200)
    for folder in (_bug_folder(), Path(tempfile.gettempdir())):
        try:
            folder.mkdir(parents=True, exist_ok=True)
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


def _bug_folder() -> Path:
    return _data_folder() / "bugs"


def _data_folder() -> Path:
    """Return the data folder without reading the settings, because reading them may have failed."""
    home = os.environ.get("CORROBORA_HOME", "")
    if home:
        return Path(home).expanduser()
    from corrobora.config.layers import find_data_folder  # noqa: PLC0415 - a failing start should need little

    return find_data_folder()
