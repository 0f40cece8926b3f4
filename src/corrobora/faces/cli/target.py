"""The target of `-o`: a file or a folder, checked before anything is paid, written whole or not at all.

Knows paths, links, permissions and free space. Does not know what a report looks like.
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

from corrobora.domain.errors import UserError

SUFFIX_FORMATS = {".md": "md", ".markdown": "md", ".html": "html", ".htm": "html", ".json": "json"}
_MIN_FREE_BYTES = 1_000_000
_FILE_NAMES = {"md": "report.md", "html": "report.html", "json": "report.json"}


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
    path: Path, formats: tuple[str, ...] = ("md", "html", "json"), *, force: bool = False, follow: bool = False
) -> OutputTarget:
    """Return the target, or raise `UserError` `output_*` that names path, reason and a way out (C12, C13).

    A name with a known ending is a file of that format; an existing folder, or a name without an ending, is a folder
    that will hold one file for each of `formats`.
    """
    if "\0" in str(path):
        raise _target_error("name", path, "has a NUL character in its name", "Name another file.")
    path = _resolve_link(path, follow=follow)
    form = SUFFIX_FORMATS.get(path.suffix.lower())
    if path.is_dir() or (form is None and not path.suffix):
        files = {path / _FILE_NAMES[each]: each for each in formats}
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
