"""Libraries as the command line names them: a stored name, `demo`, or a path that is read on the fly.

Knows how a name is told from a path and how the reading of documents is shown. Does not read documents itself.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from corrobora.domain.errors import UserError
from corrobora.faces.cli.reading import ingest_paths

if TYPE_CHECKING:
    from corrobora.assembly import Workspace
    from corrobora.storage.catalog import SpaceInfo

DEMO = "demo"
_NAME_PATTERN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}\Z")


def check_library_name(name: str) -> str:
    """Return the name of a library. Raises `UserError` `library_name`."""
    if _NAME_PATTERN.match(name):
        return name
    raise UserError(
        "library_name",
        f"{name[:80]!r} is not a name for a library: up to 64 letters, digits, _ . and -, first a letter or digit.",
        next_step="corrobora library add NAME PATH",
    )


def check_paths(paths: Sequence[Path]) -> tuple[Path, ...]:
    """Return absolute paths that exist and may be read. Raises `UserError` `path_*` for the first that does not."""
    return tuple(_check_path(path) for path in paths)


def _check_path(path: Path) -> Path:
    try:
        found = path.expanduser().absolute()
        found.stat()
    except (OSError, ValueError, RuntimeError) as error:
        number = error.errno if isinstance(error, OSError) else None
        why = {
            errno.ENOENT: "does not exist",
            errno.ENOTDIR: "does not exist: a part of it is not a folder",
            errno.EACCES: "may not be read by this user",
            errno.ELOOP: "is a loop of symbolic links",
            errno.ENAMETOOLONG: "is too long",
        }.get(number or 0, "is not a usable path")
        raise UserError("path_missing", f"The path {str(path)!r} {why}.", next_step="Check the path.") from None
    if not os.access(found, os.R_OK):
        raise UserError("path_unreadable", f"The path {str(path)!r} may not be read by this user.")
    return found


def looks_like_path(given: str) -> bool:
    """True for what can only be a path: it has a separator, or starts with a dot or a tilde."""
    return "/" in given or os.sep in given or given.startswith((".", "~"))


def path_library_name(path: Path) -> str:
    """Return the name of the library that a path given on the command line is read into: the same for the same path."""
    stem = re.sub(r"[^A-Za-z0-9_-]+", "-", path.name).strip("-")[:32] or "files"
    return f"{stem}-{hashlib.sha256(os.fsencode(path)).hexdigest()[:10]}"


def _is_on_disk(given: str) -> bool:
    try:
        return Path(given).exists()
    except OSError:  # such as a name of 300 letters
        return False


async def list_libraries(workspace: Workspace) -> list[SpaceInfo]:
    """Return the libraries that people made; what single runs read from the web is left out."""
    from corrobora.storage.catalog import Catalog  # noqa: PLC0415 - numpy is loaded only where it is needed

    return [space for space in await Catalog(workspace.database).list_spaces() if not space.name.startswith("run:")]


def unknown_library_error(name: str, known: Sequence[SpaceInfo]) -> UserError:
    """Return the error for a name that is neither a library nor a path, with the nearest library."""
    names = [space.name for space in known]
    near = get_close_matches(name, [*names, DEMO], n=1, cutoff=0.6)
    hint = f"Did you mean {near[0]}?" if near else f"Libraries: {', '.join(names[:20]) or 'none yet'}; also: {DEMO}."
    return UserError("library_unknown", f"There is no library or path {name[:200]!r}.", next_step=hint)


async def resolve_libraries(workspace: Workspace, given: Sequence[str], *, show: bool) -> tuple[str, ...]:
    """Return the names of libraries to search: stored ones as they are, `demo` and paths read first.

    A stored library beats a path of the same name; write ./NAME for the path. Raises `UserError` `library_unknown`,
    `path_missing`, or `library_empty` for a path without any readable document (K01).
    """
    known = await list_libraries(workspace)
    names = {space.name for space in known}
    found: list[str] = []
    for each in given:
        if each in names and not looks_like_path(each):
            found.append(each)
        elif each == DEMO:
            found.append(await _read_demo(workspace, show=show))
        elif looks_like_path(each) or _is_on_disk(each):
            found.append(await _read_path(workspace, each, show=show))
        else:
            raise unknown_library_error(each, known)
    return tuple(dict.fromkeys(found))


async def _read_demo(workspace: Workspace, *, show: bool) -> str:
    """Unpack the documents that ship with the package and read them, once."""
    from corrobora.data import demo_documents  # noqa: PLC0415 - an archive reader, only where it is needed

    folder = demo_documents(workspace.settings.home)
    await ingest_paths(workspace, DEMO, (folder,), show=show)
    return DEMO


async def _read_path(workspace: Workspace, given: str, *, show: bool) -> str:
    (path,) = check_paths((Path(given),))
    name = path_library_name(path)
    await ingest_paths(workspace, name, (path,), show=show)
    return name
