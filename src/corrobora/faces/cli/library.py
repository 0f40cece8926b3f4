"""`corrobora library`, and what is shown while the documents of a library are read.

Knows how libraries are listed, searched and removed on a terminal. Does not read documents: `corrobora.app.libraries`
does.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from corrobora.domain.errors import UserError
from corrobora.domain.run import DEMO
from corrobora.faces.cli import FILE_PATH, CommandGroup
from corrobora.faces.cli.options import (
    GroupedCommand,
    config_option,
    json_option,
    open_settings,
    print_json,
    with_workspace,
    workspace_command,
)
from corrobora.faces.cli.screen import can_draw, one_line, write_stderr
from corrobora.faces.request import parse_question
from corrobora.text.phrases import format_count

if TYPE_CHECKING:
    from corrobora.app import Workspace
    from corrobora.app.ingest import IngestReport
    from corrobora.app.library_changes import FolderChanges
    from corrobora.storage.index.catalog import SpaceInfo

Progress = Callable[[int, int, str], None]
_MAX_LISTED = 50  # reasons for which files were skipped; `--json` lists all
_READ_AGAIN = "this version may read more of them: corrobora library refresh"
_MAX_NAMED = 3  # files that were skipped for one reason


async def ingest_paths(
    workspace: Workspace, name: str, paths: Sequence[Path], *, show: bool, again: bool = False
) -> dict[str, object]:
    """Read paths into a library, print what was read and skipped, and return it as JSON values.

    Raises `UserError` `library_empty` if no document could be read (bad-input K01).
    """
    from corrobora.app import libraries  # noqa: PLC0415 - the database, only where it is needed
    from corrobora.app.library_changes import FolderChanges  # noqa: PLC0415 - as above

    with _progress_bar(f"reading into {name}", show=show) as progress:
        result = await libraries.ingest_files(
            workspace.database, name, paths, progress, embedder=workspace.embedder, again=again
        )
    if show or result.skipped:
        write_stderr(f"library  {name}: {result}")
    if show and result.older:
        _note_changes(name, FolderChanges(older=len(result.older)))
    if result.vector_problem:
        write_stderr(f"vectors  {one_line(result.vector_problem, 500)}")
    elif show and result.embedded:
        write_stderr(f"vectors  {result.embedded} computed")
    _list_skipped(result)
    libraries.require_documents(result, paths)
    found = asdict(result)
    counts = {"added": len(found.pop("stored")), "unchanged": len(result.unchanged), "removed": len(result.removed)}
    return {"library": name, **found, **counts}


def _note_changes(name: str, changes: FolderChanges) -> None:
    how = "read them with: corrobora library add" if changes.count else _READ_AGAIN
    write_stderr(f"library  {name}: {changes}; {how} {name}")


def _list_skipped(result: IngestReport) -> None:
    """Print which files were skipped, those of one reason together: a folder may hold hundreds of pictures."""
    paths: dict[str, list[str]] = {}
    for each in result.skipped:
        paths.setdefault(each.reason, []).append(one_line(each.path, 300))
    for reason, own in list(paths.items())[:_MAX_LISTED]:
        named = ", ".join(own if len(own) <= _MAX_NAMED else own[:1])
        more = f" and {len(own) - 1} more" if len(own) > _MAX_NAMED else ""
        write_stderr(f"skipped  {named}{more}: {one_line(reason, 200)}")
    if len(paths) > _MAX_LISTED:
        rest = sum(map(len, list(paths.values())[_MAX_LISTED:]))
        write_stderr(f"skipped  and {rest} more; --json lists all")


@contextmanager
def _progress_bar(title: str, *, show: bool) -> Generator[Progress]:
    """Yield a function that shows the progress of reading."""
    if not show or not can_draw(sys.stderr, os.environ, shutil.get_terminal_size().columns):
        yield lambda _done, _total, _path: None
        return
    from rich.console import Console  # noqa: PLC0415 - loaded only if something is drawn
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn  # noqa: PLC0415 - likewise
    from rich.progress import Progress as Bar  # noqa: PLC0415 - likewise

    columns = (
        TextColumn(title, markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[file]}", markup=False),
    )
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=None, file="")

        def show_one(done: int, total: int, path: str) -> None:
            bar.update(task, completed=done, total=total, file=one_line(path, 60))

        yield show_one


async def resolve_libraries(workspace: Workspace, given: Sequence[str], *, show: bool) -> tuple[str, ...]:
    """Do as `corrobora.app.libraries.resolve_libraries`, and show what is read, or what has changed since."""
    from corrobora.app import libraries  # noqa: PLC0415 - as in `ingest_paths`

    read = partial(ingest_paths, show=show)
    return await libraries.resolve_libraries(workspace, given, read, _note_changes if show else None)


@click.group(cls=CommandGroup)
def library() -> None:
    """Fill, list and search libraries of documents."""


@library.command(cls=GroupedCommand, name="add", example="corrobora library add papers ./papers ./more/notes.md")
@click.argument("name")
@click.argument("paths", nargs=-1, type=FILE_PATH, metavar="[PATH...]")
@click.option("-q", "--quiet", is_flag=True, help="Show no progress.")
@json_option
@config_option
def add_documents(*, name: str, paths: tuple[Path, ...], quiet: bool, as_json: bool, config_file: Path | None) -> None:
    """Read folders and files into the library NAME; without a PATH, those that it was read from.

    Unchanged files are not read again. Files that cannot be read are listed with the reason.
    """
    from corrobora.app import libraries  # noqa: PLC0415 - as in `ingest_paths`

    libraries.check_library_name(name)
    given = libraries.check_paths(paths)
    if name == DEMO and given:  # its words may leave the machine
        message = "The library demo holds only the documents that ship with the package."
        raise UserError("library_name", message, next_step="Choose another name: corrobora library add NAME PATH")

    async def read_documents(workspace: Workspace) -> dict[str, object]:
        known = await libraries.list_libraries(workspace)
        for each in known if all(other.name != name for other in known) else ():
            if each.roots == given and each.name == libraries.path_library_name(given[0]):  # `--library PATH` made it
                await libraries.rename_library(workspace, each.name, name)
                write_stderr(f"library  {each.name} is now called {name}")
                known = await libraries.list_libraries(workspace)
        return await ingest_paths(workspace, name, _choose_roots(name, given, known), show=not quiet)

    result = with_workspace(open_settings(config_file), read_documents)
    if as_json:
        print_json(result)


def _choose_roots(name: str, given: Sequence[Path], known: Sequence[SpaceInfo]) -> Sequence[Path]:
    """Return what is to be read into a library: what was given, else what it was read from.

    Raises `UserError` `library_paths` if there is neither, and `library_stored` if a new library would hold just what
    another one holds: it is not stored twice.
    """
    roots = {space.name: space.roots for space in known}
    if not given and not roots.get(name):
        message = f"No path was given to read into the library {name}."
        raise UserError("library_paths", message, next_step=f"Name one: corrobora library add {name} PATH")
    twin = next((other for other in roots if given and name not in roots and set(roots[other]) == set(given)), None)
    if twin is not None:
        raise UserError(
            "library_stored",
            f"These documents are stored as the library {twin} already.",
            next_step=f"Search it with --library {twin}, or rename it: corrobora library rename {twin} {name}",
        )
    for other, path in ((other, path) for other in roots for path in given if other != name and path in roots[other]):
        write_stderr(f"library  {one_line(str(path), 200)} is also stored as {other}; --library {other} is enough")
    return given or roots[name]


@library.command(cls=GroupedCommand, name="refresh", example="corrobora library refresh papers")
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
@click.option("-q", "--quiet", is_flag=True, help="Show no progress.")
@json_option
@workspace_command
async def refresh_libraries(workspace: Workspace, *, names: tuple[str, ...], quiet: bool, as_json: bool) -> None:
    """Read the folders of libraries again: what is new or changed, and what an earlier version of Corrobora read."""
    from corrobora.app import libraries  # noqa: PLC0415 - as in `ingest_paths`

    known = await libraries.list_libraries(workspace)
    found = [await libraries.find_library(workspace, name) for name in dict.fromkeys(names)]
    read = [
        await ingest_paths(workspace, each.name, _choose_roots(each.name, (), known), show=not quiet, again=True)
        for each in found
    ]
    if as_json:
        print_json(read)


@library.command(name="list")
@json_option
@workspace_command
async def show_libraries(workspace: Workspace, *, as_json: bool) -> None:
    """List the libraries."""
    from corrobora.app import libraries  # noqa: PLC0415 - as in `ingest_paths`

    found = await libraries.list_libraries(workspace)
    if as_json:
        print_json([asdict(each) for each in found])
    for each in () if as_json else found:
        documents, passages = format_count(each.sources, "document"), "passage" if each.passages == 1 else "passages"
        counts = f"{documents}  {each.passages:,} {passages}  {each.characters:,} characters"
        click.echo(one_line(f"{each.name}  {counts}  {', '.join(each.root.splitlines())}", 300))
    if not (found or as_json):
        write_stderr("There are no libraries yet. Add one: corrobora library add NAME PATH")


@library.command(cls=GroupedCommand, name="show", example="corrobora library show papers")
@click.argument("name")
@json_option
@workspace_command
async def show_library(workspace: Workspace, *, name: str, as_json: bool) -> None:
    """Show the documents of a library."""
    from corrobora.app import libraries  # noqa: PLC0415 - as in `ingest_paths`

    files = await libraries.list_documents(workspace, name)
    if as_json:
        print_json({"name": name, "files": files})
        return
    for file in files:
        click.echo(one_line(file, 1_000))


@library.command(cls=GroupedCommand, name="search", example='corrobora library search papers "memory consolidation"')
@click.argument("name")
@click.argument("text")
@click.option("--limit", type=click.IntRange(1, 100), default=10, show_default=True, help="At most this many passages.")
@json_option
@workspace_command
async def search_library(workspace: Workspace, *, name: str, text: str, limit: int, as_json: bool) -> None:
    """Search a library and print the best passages."""
    from corrobora.app import libraries  # noqa: PLC0415 - as in `ingest_paths`

    words = parse_question(text, least=1).text
    opened = libraries.open_library(workspace, [(await libraries.find_library(workspace, name)).name])
    hits = await opened.hybrid_search(words, limit=limit)
    if opened.vector_problem:
        write_stderr(f"vectors  {one_line(opened.vector_problem, 500)}")
    if as_json:
        print_json([asdict(hit) for hit in hits])
        return
    for hit in hits:
        click.echo(f"{hit.score:8.3f}  {one_line(hit.title, 100)}  {one_line(hit.url, 200)}")
        click.echo(f"          {one_line(hit.snippet, 300)}")
    if not hits:
        write_stderr("Nothing found.")


@library.command(cls=GroupedCommand, name="rename", example="corrobora library rename papers-4007971e05 papers")
@click.argument("name")
@click.argument("new")
@workspace_command
async def rename_stored(workspace: Workspace, *, name: str, new: str) -> None:
    """Give the library NAME the name NEW; schedules and earlier runs find it under that.

    A library that `--library FOLDER` made is named after its folder and a part of a hash.
    """
    from corrobora.app import libraries  # noqa: PLC0415 - as in `ingest_paths`

    await libraries.rename_library(workspace, name, new)
    click.echo(f"renamed {one_line(name)} to {new}")


@library.command(cls=GroupedCommand, name="rm", example="corrobora library rm papers")
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
@workspace_command
async def remove_libraries(workspace: Workspace, *, names: tuple[str, ...]) -> None:
    """Remove libraries. Your files are not deleted, and reports of earlier runs keep their quotes."""
    from corrobora.app import libraries  # noqa: PLC0415 - as in `ingest_paths`

    known = {each.name for each in await libraries.list_libraries(workspace)}
    missing = [name for name in names if name not in known]
    for name in (each for each in dict.fromkeys(names) if each in known):
        await libraries.remove_library(workspace, name)
        click.echo(f"removed {one_line(name)}")
    if missing:
        raise UserError(
            "library_unknown", f"There is no library {', '.join(missing)}.", next_step="See: corrobora library list"
        )
