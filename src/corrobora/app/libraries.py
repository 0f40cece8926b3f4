"""Libraries: named, listed, opened for search, and brought in line with folders and files.

Knows the settings, how the name of a library differs from a path, and that documents are parsed in a child process that
may be killed. Does not know how documents are indexed, and imports an embedder only where one is configured.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
import re
import shutil
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, LiteralString

from corrobora.adapters.readers.parser import ParserProcess
from corrobora.app.ingest import (
    READABLE,
    Ingest,
    IngestReport,
    Progress,
)
from corrobora.app.library_changes import FolderChanges, read_changes
from corrobora.config import Settings
from corrobora.config.trust import is_vendor_host
from corrobora.config.values import UNREADABLE
from corrobora.domain.errors import UserError
from corrobora.domain.run import DEMO, RunRow
from corrobora.engine.session.egress import PUBLIC_LIBRARIES
from corrobora.ports import Embedder, ParsedDocument
from corrobora.registry import list_added, load_part
from corrobora.storage.index import PostgresLibrary
from corrobora.storage.index.catalog import Catalog, SpaceInfo
from corrobora.storage.index.vectors import VectorIndex
from corrobora.storage.postgres import Database

if TYPE_CHECKING:
    from corrobora.app import Workspace

MAX_LOGGED = 50  # skipped files of one reading
_NAME_PATTERN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}\Z")

log = logging.getLogger("corrobora")


def show_nothing(_done: int, _total: int, _path: str) -> None:
    """Show no progress."""


def open_library(workspace: Workspace, names: Sequence[str]) -> PostgresLibrary:
    """Open the named libraries as one."""
    return PostgresLibrary(workspace.database, tuple(names), workspace.embedder, workspace.tokenizer)


def open_run_library(workspace: Workspace, row: RunRow) -> PostgresLibrary:
    """Open the libraries of a run, and the pages that it read, as one."""
    return open_library(workspace, (*row.request.libraries, f"run:{row.id}"))


async def ingest_files(  # noqa: PLR0913 - what to read, where to, and how
    database: Database,
    name: str,
    paths: Sequence[Path],
    progress: Progress,
    *,
    embedder: Embedder | None = None,
    again: bool = False,
) -> IngestReport:
    """Bring a library in line with folders and files. Unchanged files are skipped, vanished ones removed.

    With `again`, files that the readers of another version read are read as well.
    With an embedder, every passage of the library that has no vector of its model gets one. A failing embedder costs
    the vectors only; `vector_problem` then says why.

    Raises:
        UserError: a path does not exist, or nothing in it can be read.
    """
    vectors = None if embedder is None else VectorIndex(database, embedder, may_replace=True)
    async with ParserProcess() as child:

        async def parse_file(data: bytes, file: str) -> ParsedDocument:
            return await child.parse_document(data, name=file)

        catalog = Catalog(database, vectors=vectors)
        work = Ingest(catalog, parse_file, on_progress=progress, again=again)
        report = IngestReport()
        for path in paths:
            report.add_report(await work.add_path(name, path))
    report.vector_problem = "" if vectors is None else vectors.problem
    return report


def require_documents(report: IngestReport, paths: Sequence[Path]) -> None:
    """Raise `UserError` `library_empty` if no document of the paths could be read (bad-input K01)."""
    if not report.stored and not report.unchanged:
        raise UserError(
            "library_empty",
            f"No readable document in {', '.join(repr(str(path)) for path in paths)[:400]}.",
            next_step=f"{READABLE} are read.",
        )


def check_library_name(name: str) -> str:
    """Return the name of a library. Raises `UserError` `library_name`."""
    if _NAME_PATTERN.match(name):
        return name
    raise UserError(
        "library_name",
        f"{name[:80]!r} is not a valid library name: up to 64 of a-z, A-Z, 0-9, _, . and -, first a letter or digit.",
        next_step="corrobora library add NAME PATH",
    )


def check_paths(paths: Sequence[Path]) -> tuple[Path, ...]:
    """Return the paths as absolute ones. Raises `UserError` `path_*` for the first that cannot be read."""
    return tuple(_check_path(path) for path in paths)


def _check_path(path: Path) -> Path:
    try:
        found = Path(os.path.abspath(path.expanduser()))  # noqa: PTH100 - `resolve` would follow a link
        found.stat()
    except (OSError, ValueError, RuntimeError) as error:
        why = UNREADABLE.get(getattr(error, "errno", 0) or 0, "cannot be opened")
        raise UserError("path_missing", f"The path {str(path)!r} {why}.", next_step="Check the path.") from None
    if not os.access(found, os.R_OK):
        raise UserError("path_unreadable", f"The path {str(path)!r} cannot be read by this user.")
    return found


def looks_like_path(given: str) -> bool:
    """Return True for text that can only be a path: it has a separator, or starts with a dot or a tilde."""
    return "/" in given or os.sep in given or given.startswith((".", "~"))


def path_library_name(path: Path) -> str:
    """Return the name of the library into which a path of the command line is read; it depends on the path alone."""
    stem = re.sub(r"[^A-Za-z0-9_-]+", "-", path.name).strip("-")[:32] or "files"
    return f"{stem}-{hashlib.sha256(os.fsencode(path)).hexdigest()[:10]}"


def _is_on_disk(given: str) -> bool:
    with suppress(OSError):  # such as a name of 300 letters
        return Path(given).exists()
    return False


async def list_libraries(workspace: Workspace) -> list[SpaceInfo]:
    """Return the libraries that people added, without the pages that single runs read from the web."""
    return [space for space in await workspace.catalog.list_spaces() if not space.name.startswith("run:")]


async def find_library(workspace: Workspace, name: str) -> SpaceInfo:
    """Return a stored library. Raises `UserError` `library_unknown`."""
    known = await list_libraries(workspace)
    found = next((space for space in known if space.name == name), None)
    if found is None:
        raise unknown_library_error(name, known, what="library")
    return found


async def list_documents(workspace: Workspace, name: str) -> list[str]:
    """Return the documents of a library. Raises `UserError` `library_unknown`."""
    found = await find_library(workspace, name)
    return sorted(await workspace.catalog.files((await workspace.catalog.space_numbers([found.name]))[0]))


def upload_folder(workspace: Workspace, name: str) -> Path:
    """Return where the files of a library of uploads are kept."""
    return workspace.settings.home / "uploads" / name


async def remove_library(workspace: Workspace, name: str) -> None:
    """Remove a library with what was uploaded into it; files of the user stay. Raises `UserError` `library_unknown`."""
    found = await find_library(workspace, name)
    await workspace.catalog.remove_space(found.name)
    for root in found.roots:
        if root.parent == upload_folder(workspace, name).parent:  # else the next upload would bring them back
            await asyncio.to_thread(shutil.rmtree, root, ignore_errors=True)


def unknown_library_error(name: str, known: Sequence[SpaceInfo], *, what: str = "library or path") -> UserError:
    """Return the error for a name that is no library, nor a path where one may be given, with the nearest library."""
    names = [space.name for space in known]
    near = get_close_matches(name, [*names, DEMO], n=1, cutoff=0.6)
    hint = f"Did you mean {near[0]}?" if near else f"Libraries: {', '.join(dict.fromkeys((*names[:20], DEMO)))}."
    if name == DEMO:  # its documents ship with the package and are read when they are first asked about
        hint = "Its documents are read with the first question about them: corrobora demo"
    return UserError("library_unknown", f"There is no {what} {name[:200]!r}.", next_step=hint)


ReadPaths = Callable[["Workspace", str, Sequence[Path]], Awaitable[object]]  # into the library of this name


async def read_unseen(workspace: Workspace, name: str, paths: Sequence[Path]) -> None:
    """Read paths into a library without showing it; log what cannot be read. Raises `UserError` `library_empty`."""
    report = await ingest_files(workspace.database, name, paths, show_nothing, embedder=workspace.embedder)
    for each in report.skipped[:MAX_LOGGED]:
        log.warning("library %s: skipped %s: %s", name, each.path, each.reason)
    if report.vector_problem:
        log.warning("library %s: %s", name, report.vector_problem)
    require_documents(report, paths)


async def resolve_libraries(
    workspace: Workspace,
    given: Sequence[str],
    read: ReadPaths = read_unseen,
    note: Callable[[str, FolderChanges], None] | None = None,
) -> tuple[str, ...]:
    """Return the names of the libraries to search, after reading the documents of `demo` and of paths.

    A stored library takes precedence over a path of the same name; write ./NAME for the path. If the files of one have
    changed, they are read if the settings say so (`refresh`); else `note` is given its name and the changes.

    Raises `UserError` `library_unknown`, `path_missing`, or `library_empty` for a path without any readable document
    (bad-input K01).
    """
    known = {space.name: space for space in await list_libraries(workspace)}
    found: list[str] = []
    for each in given:
        name = each
        if each in known and not looks_like_path(each):
            roots, refresh = known[each].roots, workspace.settings.refresh
            compared = await read_changes(workspace.database, each, roots) if roots and (refresh or note) else None
            if compared and compared.count and refresh:
                await read(workspace, each, roots)
            elif compared and note and str(compared):
                note(each, compared)
        elif each == DEMO:
            from corrobora.data import demo_documents  # noqa: PLC0415 - an archive reader, only where it is needed

            await read(workspace, DEMO, (demo_documents(workspace.settings.home),))
        elif looks_like_path(each) or _is_on_disk(each):
            (path,) = check_paths((Path(each),))
            name = next((space.name for space in known.values() if space.roots == (path,)), path_library_name(path))
            await read(workspace, name, (path,))
        else:
            raise unknown_library_error(each, list(known.values()))
        found.append(name)
    return tuple(dict.fromkeys(found))


async def read_shipped(workspace: Workspace, names: Sequence[str]) -> None:
    """Read the documents that ship with the package, if a run searches them and they are not stored yet."""
    if DEMO not in names or any(space.name == DEMO for space in await list_libraries(workspace)):
        return
    from corrobora.data import demo_documents  # noqa: PLC0415 - an archive reader, only where it is needed

    folder = demo_documents(workspace.settings.home)
    await ingest_files(workspace.database, DEMO, (folder,), show_nothing, embedder=workspace.embedder)


async def read_again(workspace: Workspace, names: Sequence[str]) -> list[str]:
    """Bring libraries in line with their folders; return in words what could not be read again.

    Of a folder that is not on this machine, what is stored of it stays in search.
    """
    known = {space.name: space for space in await Catalog(workspace.database).list_spaces()}
    problems: list[str] = []
    for space in (known[name] for name in names if name in known):
        here = [root for root in space.roots if os.access(root, os.R_OK)]
        problems += [
            f"{root} cannot be read on this machine; of the library {space.name}, the stored text was searched."
            for root in space.roots
            if root not in here
        ]
        try:
            if (await read_changes(workspace.database, space.name, here)).count:
                await ingest_files(workspace.database, space.name, here, show_nothing, embedder=workspace.embedder)
        except UserError as error:
            problems.append(f"The library {space.name} was not read again: {error.message}")
    return problems


_NAMES_IT: LiteralString = "request::jsonb -> 'libraries' @> to_jsonb(%(old)s::text)"
_RENAME: LiteralString = """
set request = jsonb_set(request::jsonb, '{libraries}',
  (select jsonb_agg(case each when %(old)s then %(new)s else each end)
   from jsonb_array_elements_text(request::jsonb -> 'libraries') each))::text where """
_OPEN_RUNS: LiteralString = "select id from runs where status not in ('done', 'failed', 'cancelled') and "


async def rename_library(workspace: Workspace, name: str, new: str) -> None:
    """Give a library another name, also in the requests of schedules and of runs that are over: they search it again.

    Raises `UserError` `library_fixed` if what it holds belongs to one of the names, `library_in_use` if a run that is
    not over searches it, `library_exists` if the new name is taken, and for an unknown library or an invalid name.
    """
    space, names = await find_library(workspace, name), {"old": name, "new": check_library_name(new)}
    if {name, new} & PUBLIC_LIBRARIES or str(workspace.settings.home / "uploads" / name) in space.root.split("\n"):
        message = f"A library of uploads cannot be renamed, nor can {', '.join(PUBLIC_LIBRARIES)}."
        raise UserError("library_fixed", message, next_step="Choose another name or library.")
    async with workspace.database.connection("renaming a library") as connection, connection.transaction():
        if run := await (await connection.execute(_OPEN_RUNS + _NAMES_IT, names)).fetchone():
            raise UserError(
                "library_in_use",
                f"Run {run[0]} searches {name} and has not ended.",
                next_step=f"Wait for it, or stop it: corrobora cancel {run[0]}",
            )
        if await (await connection.execute("select 1 from space where name = %(new)s", names)).fetchone():
            raise UserError("library_exists", f"There is a library {new} already.", next_step="Choose another name.")
        await connection.execute("update space set name = %(new)s where name = %(old)s", names)
        await connection.execute("update runs " + _RENAME + _NAMES_IT, names)
        await connection.execute("update schedule " + _RENAME + _NAMES_IT, names)


def open_embedder(settings: Settings) -> Embedder | None:
    """Return the embedder for `embedder.model`: a folder, a name at `embedder.url`, or PLUGIN:NAME of another package.

    None if neither setting is given.

    Raises:
        UserError: the address comes without a model, or the folder holds no usable one.
    """
    if not settings.embedder_model and not settings.embedder_url:
        return None
    name, colon, model = (settings.embedder_model or "").partition(":")
    if colon and name in list_added("embedders"):
        own = settings.key(name)
        return load_part("embedders", name)(model, url=settings.embedder_url, key=own.reveal() if own.set else "")
    if settings.embedder_url:
        if not settings.embedder_model:
            raise UserError("embedder_model", "embedder.url is set, embedder.model is not.", next_step="Set it.")
        key = settings.key("openai" if is_vendor_host("openai", settings.embedder_url) else "embedder")
        open_model = load_part("embedders", "openai-compatible")
        return open_model(settings.embedder_url, settings.embedder_model, key=key.reveal() if key.set else "")
    folder = Path(settings.embedder_model or "")
    if not folder.is_dir():
        raise UserError(
            "embedder_folder",
            f"embedder.model {str(folder)!r} is not a folder.",
            next_step="Name the folder of a model.",
        )
    return load_part("embedders", "onnx")(folder)
