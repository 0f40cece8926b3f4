"""Reports of runs: where `-o` writes one, how a terminal shows it, what status and outcome mean to the shell.

Knows paths, links, permissions, free space, thresholds and `--strict`. Does not render: the stored files of a run are
its report.
"""

from __future__ import annotations

import errno
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from corrobora.domain.errors import UserError
from corrobora.domain.report import Outcome
from corrobora.domain.run import RunRow, RunStatus, Stage
from corrobora.domain.thread import StopReason
from corrobora.faces.cli import Exit, find_full_disk
from corrobora.faces.cli.options import print_text
from corrobora.faces.cli.screen import can_draw
from corrobora.faces.event_text import object_field, object_list
from corrobora.files import write_whole
from corrobora.reporting.report_format import REPORT_FILES
from corrobora.text.phrases import describe_code
from corrobora.text.tokens import sanitize_text

if TYPE_CHECKING:
    from corrobora.app import Workspace

SUFFIX_FORMATS = {".md": "md", ".markdown": "md", ".html": "html", ".htm": "html", ".json": "json"}
_MIN_FREE_BYTES = 1_000_000
_MAX_COLUMNS = 100  # of a formatted report: longer lines are hard to read


@dataclass(frozen=True, slots=True)
class OutputTarget:
    """Where the report goes: the files to write, each with its format."""

    files: Mapping[Path, str]
    replaces: bool = False

    def write(self, contents: Mapping[str, str | bytes], run: str = "RUN") -> tuple[Path, ...]:
        """Write each format that there is a content for, of this run; return the files.

        Raises `UserError` if the disk refuses, or if another program has written one of the files meanwhile.
        """
        written: list[Path] = []
        for path, form in self.files.items():
            if form in contents:
                if not self.replaces and os.path.lexists(path):
                    step = f"It was left as it is. Write it elsewhere: corrobora export {run} -o FILE"
                    raise _target_error("exists", path, "was written by another program meanwhile", step)
                _write_file(path, contents[form])
                written.append(path)
        return tuple(written)


def take_output(context: click.Context, _parameter: click.Parameter, given: tuple[Path, ...]) -> Path | None:
    """Return the place of -o, None without it. Raises `UsageError` for two: the last one would silently win."""
    if len(given) > 1:
        problem = f"-o names one file or folder, and was given {len(given)} times. A folder takes several formats"
        raise click.UsageError(problem, context)
    return given[0] if given else None


def check_target(
    path: Path, names: Mapping[str, str] = REPORT_FILES, *, force: bool = False, follow: bool = False
) -> OutputTarget:
    """Return the target, or raise `UserError` `output_*` that names path, reason and a way out (bad-input C12, C13).

    `names` are the formats, each with the name of its file. A name with the ending of one of them, or with a known
    one, is a file of that format; an existing folder, or a name without an ending, is a folder that will hold them all.
    """
    if "\0" in str(path):
        raise _target_error("name", path, "has a NUL character in its name", "Name another file.")
    path = _resolve_link(path, follow=follow)
    ending = path.suffix.lower()
    usual = SUFFIX_FORMATS.get(ending)
    form = next((each for each, name in names.items() if ending and (name.endswith(ending) or each == usual)), None)
    if path.is_dir() or (form is None and not path.suffix):
        files = {path / name: each for each, name in names.items()}
    elif form is None:
        known = ", ".join(dict.fromkeys(Path(name).suffix for name in names.values()))
        more = "" if names is not REPORT_FILES else " Other formats: corrobora export last -o FILE"
        step = f"Use {known} or a folder.{more}"
        what = "the formats of a report" if names is REPORT_FILES else "what is to be written"
        raise _target_error("format", path, f"has the ending {path.suffix!r}, which is none of {what}", step)
    else:
        files = {path: form}
    for file in files:
        if os.path.lexists(file) and not (file.is_file() and force):
            step = "Add --force to replace it, or name another." if file.is_file() else "Name another file."
            raise _target_error("exists", file, "exists already", step)
    _check_folder(next(iter(files)).parent, path)
    return OutputTarget(files, force)


def _resolve_link(path: Path, *, follow: bool) -> Path:
    path = path.expanduser()
    if os.path.exists(path) and not (path.is_dir() or path.is_file()):  # noqa: PTH110 - no error for a closed folder
        step = "Leave -o out: the report is written to stdout, which the shell can redirect."
        raise _target_error("device", path, "is a device or a pipe, not a regular file", step)
    link = next((each for each in (path, path.parent) if each.is_symlink()), None)
    if link is not None and not follow:
        raise _target_error("link", link, "is a symbolic link", "Add --follow-symlinks, or name the place it leads to.")
    try:
        return path.resolve() if link is not None else path
    except (OSError, RuntimeError):
        raise _target_error("link", path, "is a loop of symbolic links", "Name another place.") from None


def _check_folder(folder: Path, named: Path) -> None:
    """Prove that a file can be written: make the folder, write a byte, look at the free space."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as probe:
            probe.write(b"\n")
            probe.flush()
        free = shutil.disk_usage(folder).free
    except OSError as error:
        raise _unwritable_error(named, error) from None
    if free < _MIN_FREE_BYTES:
        raise _target_error("disk_full", named, f"lies on a disk with {free:,} bytes left", "Free some space first.")


def _write_file(path: Path, content: str | bytes) -> None:
    data = content if isinstance(content, bytes) else content.encode("utf-8", "backslashreplace")
    try:
        write_whole(path, data, mode=0o666 & ~_current_umask())  # the rights with which `open` would have made it
    except OSError as error:
        raise _unwritable_error(path, error) from None


async def read_report_texts(workspace: Workspace, run: str, formats: tuple[str, ...]) -> dict[str, str]:
    """Return the stored texts of the report, by format."""
    found: dict[str, str] = {}
    for form in formats:
        text = await workspace.runs.read_text(run, REPORT_FILES[form])
        if text is not None:
            found[form] = text
    return found


async def copy_files(workspace: Workspace, run: str, folder: Path) -> None:
    """Copy all files of the run below a folder (ANGLES-12)."""
    for name in await workspace.runs.list_artifacts(run):
        stored = await workspace.runs.read_artifact(run, name)
        if stored is None:
            continue
        path = folder / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(stored.content)
        except OSError as error:
            raise _unwritable_error(path, error) from None


def _current_umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def _unwritable_error(path: Path, error: OSError) -> UserError:
    reasons = {
        errno.EACCES: "may not be written by this user",
        errno.EPERM: "may not be written by this user",
        errno.EROFS: "lies on a read-only disk",
        errno.ENOSPC: "lies on a full disk",
        errno.EDQUOT: "lies on a disk whose quota is used up",
        errno.ENAMETOOLONG: "has too long a name",
        errno.ENOTDIR: "goes through something that is not a folder",
        errno.EEXIST: "goes through something that is not a folder",
        errno.ELOOP: "is a loop of symbolic links",
    }
    why = reasons.get(error.errno or 0, f"cannot be written ({os.strerror(error.errno or 0).lower()})")
    return _target_error("unwritable", path, why, "Name another place.")


def _target_error(code: str, path: Path, why: str, next_step: str) -> UserError:
    return UserError(f"output_{code}", f"The output {str(path)!r} {why}.", next_step=next_step)


def run_taken_error(row: RunRow) -> UserError:
    """Return the error for a run that cannot be worked on here: it has ended just now, or another process has it."""
    if row.status.final:
        return UserError("run_ended", f"The run {row.id} has ended ({describe_code(row.state)}).")
    why = f"The run {row.id} is {describe_code(row.status)}, and another process is working on it."
    return UserError("run_busy", why, next_step=f"Wait for it, or stop it: corrobora cancel {row.id}")


_FAILURE_CODES = (  # start of the error code that a failed run has stored: the exit code
    ("question_", Exit.USAGE),
    ("profile_", Exit.USAGE),
    ("unknown_profile", Exit.USAGE),
    ("plan_", Exit.USAGE),
    ("edit_", Exit.USAGE),
    ("model_", Exit.USAGE),
    ("embedder_", Exit.USAGE),
    ("secret_", Exit.USAGE),
    ("library_", Exit.USAGE),
    ("delivery_", Exit.USAGE),
    ("provider_", Exit.PROVIDER),
    ("search_", Exit.PROVIDER),
    ("role_", Exit.PROVIDER),
    ("no_analyst", Exit.PROVIDER),
    ("limit_", Exit.BUDGET),
    ("read_", Exit.NO_EVIDENCE),
)


@dataclass(frozen=True, slots=True)
class RunExit:
    """An exit code with its reason in words, which is "" for a complete run."""

    code: Exit
    why: str = ""


def run_exit(row: RunRow, report: Mapping[str, object], *, min_score: float | None, strict: bool) -> RunExit:
    """Return the exit code of a run (docs/reference/errors.md).

    A run that reached its time limit still exits with 0; the Methodology names the limit. `min_score` is compared with
    the judge's overall score or, without a judge, with the share of cited sentences that are supported.
    """
    waiting = _unfinished_exit(row)
    if waiting is not None:
        return waiting
    if not has_body(report):
        return _exit_without_report(row, report)
    if row.status is RunStatus.FAILED:  # the report exists, but a delivery failed
        code = Exit.PROVIDER if row.outcome.startswith("delivery_") else Exit.BUG
        return RunExit(code, row.reason)
    if (low := low_score_exit(report_score(report), min_score)) is not None:
        return low
    if strict and report.get("outcome") != Outcome.COMPLETE:
        nothing = report.get("outcome") == Outcome.PASSAGES  # what is printed does not answer the question
        why = f"--strict: the report is {describe_code(report.get('outcome'))}: {report.get('reason')}."
        return RunExit(Exit.NO_EVIDENCE if nothing else Exit.INCOMPLETE, why)
    return RunExit(Exit.DONE)


def low_score_exit(score: float | None, min_score: float | None) -> RunExit | None:
    """Return the exit of a score below the threshold, None if it is not, or if one of them is missing."""
    if score is None or min_score is None or score >= min_score:
        return None
    return RunExit(Exit.BELOW_THRESHOLD, f"The score {score:.2f} is below {min_score:.2f}.")


def _unfinished_exit(row: RunRow) -> RunExit | None:
    """Return the exit of a run that waits, is paused or was stopped; None if it ended by itself."""
    if row.status is RunStatus.AWAITING:
        return RunExit(Exit.NEEDS_HUMAN, row.reason or f"The plan waits. Continue: corrobora authorize {row.id}")
    if row.status is RunStatus.PAUSED and row.outcome == "stage_reached":
        return RunExit(Exit.DONE, row.reason)  # as asked: --until-stage
    if row.status is RunStatus.PAUSED:
        return RunExit(Exit.NEEDS_HUMAN, row.reason)
    if row.status is RunStatus.CANCELLED:
        return RunExit(Exit.INTERRUPTED, f"The run {row.id} was cancelled.")
    if row.status.active:  # another process took it while this one stood still
        return RunExit(Exit.USAGE, str(run_taken_error(row)))
    if not row.status.final:
        by_store = row.status is RunStatus.INTERRUPTED  # the database failed; Ctrl-C has a code of its own
        code = Exit.BUG if by_store else Exit.INTERRUPTED
        full = find_full_disk() if by_store else ""
        first = f": the disk of {full} is full. Free some space first" if full else ""
        return RunExit(code, f"The run is {describe_code(row.status)}{first}. Continue: corrobora resume {row.id}")
    return None


def has_body(report: Mapping[str, object]) -> bool:
    """True if there is a report to print, not only the reason why there is none."""
    usable = (Outcome.COMPLETE, Outcome.PARTIAL, Outcome.PASSAGES, Outcome.LIMIT_REACHED, Outcome.CANCELLED)
    return bool(report.get("markdown")) and report.get("outcome") in usable


def _exit_without_report(row: RunRow, report: Mapping[str, object]) -> RunExit:
    outcome = str(report.get("outcome") or row.outcome)
    why = str(report.get("reason") or row.reason or describe_code(outcome) or "the run failed")
    what = describe_code(Outcome.NO_EVIDENCE).capitalize() if report.get("markdown") else "No report"
    message = f"{what}: {why if why.endswith('?') else why.rstrip('.') + '.'} Details: corrobora runs show {row.id}"
    if report.get("stop") == StopReason.ERROR:  # every thread failed, so no limit was the cause
        return RunExit(Exit.NO_EVIDENCE, message)
    match outcome:
        case Outcome.NO_EVIDENCE | Outcome.INACCESSIBLE:
            return RunExit(Exit.NO_EVIDENCE, message)
        case Outcome.PROVIDER_DOWN:
            return RunExit(Exit.PROVIDER, message)
        case Outcome.LIMIT_REACHED:
            return RunExit(Exit.BUDGET, message)
        case Outcome.CANCELLED:
            return RunExit(Exit.INTERRUPTED, message)
        case Outcome.AWAITING:
            return RunExit(Exit.NEEDS_HUMAN, message)
        case _:
            return RunExit(
                next((code for start, code in _FAILURE_CODES if outcome.startswith(start)), Exit.BUG), message
            )


def report_score(report: Mapping[str, object]) -> float | None:
    """Return the judge's overall score; without one, the share of cited sentences that are supported."""
    scores = [float(value) for value in object_field(report, "verdict").values() if isinstance(value, (int, float))]
    return sum(scores) / len(scores) if scores else _supported_share(report)


def _supported_share(report: Mapping[str, object]) -> float | None:
    found = [str(check.get("support")) for check in object_list(report, "checks")]
    cited = [support for support in found if support != "uncited"]
    return sum(support in ("supported", "partly") for support in cited) / len(cited) if cited else None


def describe_resumption(row: RunRow, stage: Stage | None, *, steered: bool) -> str:
    """Say in words what going on with a run does, by what it waited for."""
    if stage is not None:
        return f"begins again with the stage {stage}; what was answered before it is kept"
    match row.status, row.outcome:
        case RunStatus.PAUSED, "paused":
            return f"goes on with the next round, {'with the hint that was given' if steered else 'without a hint'}"
        case RunStatus.PAUSED, _:
            return "goes on after the stage at which it paused"
        case RunStatus.AWAITING, _:
            return "its plan waits for authorization"
        case RunStatus.CANCELLED | RunStatus.FAILED, _:
            return "goes on where it ended; what failed is tried again"
        case _:
            return "goes on where its program ended; nothing that was answered is asked again"


def print_report(markdown: str) -> None:
    """Print a report to stdout: formatted on a terminal that can, as Markdown anywhere else."""
    if not can_draw(sys.stdout, os.environ, shutil.get_terminal_size().columns):
        print_text(markdown)
        return
    from rich.console import Console  # noqa: PLC0415 - loaded only where something is drawn
    from rich.markdown import Markdown  # noqa: PLC0415 - likewise

    console = Console(highlight=False, emoji=False, width=min(shutil.get_terminal_size().columns, _MAX_COLUMNS))
    console.print(Markdown(sanitize_text(markdown), hyperlinks=False))
