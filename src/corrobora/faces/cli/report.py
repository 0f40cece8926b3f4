"""Stored reports: where `-o` writes one, and `corrobora export`.

Knows paths, links, permissions and free space. Does not render: the stored files of a run are its report.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from corrobora.domain.errors import NoEvidence, UserError
from corrobora.domain.run import validate_id
from corrobora.faces.cli.options import (
    config_option,
    open_settings,
    print_text,
    with_workspace,
)
from corrobora.reporting.report_format import REPORT_FILES

if TYPE_CHECKING:
    from corrobora.app import Workspace

SUFFIX_FORMATS = {".md": "md", ".markdown": "md", ".html": "html", ".htm": "html", ".json": "json"}
_MIN_FREE_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class OutputTarget:
    """Where the report goes: the files to write, each with its format."""

    files: Mapping[Path, str]

    def write(self, texts: Mapping[str, str]) -> tuple[Path, ...]:
        """Write each format that there is a text for; return the files. Raises `UserError` if the disk refuses."""
        written: list[Path] = []
        for path, form in self.files.items():
            if form in texts:
                _write_atomically(path, texts[form])
                written.append(path)
        return tuple(written)


def check_target(
    path: Path, formats: tuple[str, ...] = tuple(REPORT_FILES), *, force: bool = False, follow: bool = False
) -> OutputTarget:
    """Return the target, or raise `UserError` `output_*` that names path, reason and a way out (bad-input C12, C13).

    A name with a known ending is a file of that format; an existing folder, or a name without an ending, is a folder
    that will hold one file for each of `formats`.
    """
    if "\0" in str(path):
        raise _target_error("name", path, "has a NUL character in its name", "Name another file.")
    path = _resolve_link(path, follow=follow)
    form = SUFFIX_FORMATS.get(path.suffix.lower())
    if path.is_dir() or (form is None and not path.suffix):
        files = {path / REPORT_FILES[each]: each for each in formats}
    elif form is None:
        raise _target_error(
            "format", path, f"has an unknown ending {path.suffix!r}", "Use .md, .html, .json or a folder."
        )
    else:
        files = {path: form}
    for file in files:
        if os.path.lexists(file) and not (file.is_file() and force):
            step = "Add --force to replace it, or name another." if file.is_file() else "Name another file."
            raise _target_error("exists", file, "exists already", step)
    _check_folder(next(iter(files)).parent, path)
    return OutputTarget(files)


def _resolve_link(path: Path, *, follow: bool) -> Path:
    path = path.expanduser()
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
        raise _target_error("disk_full", named, f"lies on a disk with {free:,} bytes left", "Make room first.")


def _write_atomically(path: Path, text: str) -> None:
    temporary = path
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".corrobora-")
        temporary = Path(name)
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(0o666 & ~_current_umask())  # as `open` would have made it
        temporary.replace(path)
    except OSError as error:
        if temporary != path:
            with contextlib.suppress(OSError):
                temporary.unlink()
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


@click.command()
@click.argument("run")
@click.option(
    "-f", "--format", "formats", default=",".join(REPORT_FILES), show_default=True, help="Formats, with commas."
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    default=Path(),
    help="File, folder, or - for stdout.",
    metavar="PATH",
)
@click.option("--force", is_flag=True, help="Replace files.")
@click.option("--follow-symlinks", is_flag=True, help="Write through a symbolic link.")
@config_option
def export(  # noqa: PLR0913 - one parameter for each flag, all by name
    *, run: str, formats: str, output: Path, force: bool, follow_symlinks: bool, config_file: Path | None
) -> None:
    """Write the report of a run as Markdown, HTML and JSON."""
    validate_id(run)
    wanted = tuple(part.strip() for part in formats.split(",") if part.strip())
    strange = [part for part in wanted if part not in REPORT_FILES]
    if strange or not wanted:
        raise UserError(
            "export_format",
            f"--format {formats!r}: {strange[0] if strange else 'nothing'!r} is no format.",
            next_step=f"Formats: {', '.join(REPORT_FILES)}.",
        )
    target = None if str(output) == "-" else check_target(output, wanted, force=force, follow=follow_symlinks)
    first = wanted[0]
    if target is None and len(wanted) > 1:
        raise UserError("export_format", "Stdout takes one format.", next_step="Such as: --format md --output -")

    async def load_texts(workspace: Workspace) -> dict[str, str]:
        name = await workspace.runs.find_id(run)
        texts: dict[str, str] = {}
        for form in set(wanted if target is None else target.files.values()):
            stored = await workspace.runs.read_artifact(name, REPORT_FILES[form])
            if stored is not None:
                texts[form] = stored.content.decode("utf-8", "replace")
        if not texts:
            raise missing_report_error(name)
        return texts

    texts = with_workspace(open_settings(config_file), load_texts)
    if target is None:
        print_text(texts[first])
        return
    for path in target.write(texts):
        click.echo(str(path))


def missing_report_error(run: str) -> NoEvidence:
    """Return the error for a run that left no report."""
    return NoEvidence("report_missing", f"The run {run} has no report.", next_step=f"See: corrobora runs show {run}")
