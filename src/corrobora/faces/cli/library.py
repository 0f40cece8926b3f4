"""`corrobora library`: folders and files that runs search.

Knows how libraries are listed, shown, searched and removed. `sources` knows how documents are read into one.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

import click

from corrobora.domain.errors import UserError
from corrobora.faces.cli.options import config_option, json_option, open_settings, print_json
from corrobora.faces.cli.reading import ingest_paths
from corrobora.faces.cli.sources import check_library_name, check_paths, list_libraries, unknown_library_error
from corrobora.faces.cli.terminal import one_line, write_stderr
from corrobora.faces.cli.workspace import with_workspace
from corrobora.faces.question import parse_question

if TYPE_CHECKING:
    from corrobora.assembly import Workspace
    from corrobora.domain.evidence import Hit


@click.group()
def library() -> None:
    """Fill, list and search libraries of documents."""


@library.command(name="add")
@click.argument("name")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="PATH...")
@click.option("-q", "--quiet", is_flag=True, help="No progress.")
@json_option
@config_option
def add_documents(*, name: str, paths: tuple[Path, ...], quiet: bool, as_json: bool, config_file: Path | None) -> None:
    """Read folders and files into the library NAME. Unchanged files are skipped, unreadable ones listed."""
    check_library_name(name)
    found = check_paths(paths)

    async def read_documents(workspace: Workspace) -> dict[str, object]:
        return await ingest_paths(workspace, name, found, show=not quiet)

    result = with_workspace(open_settings(config_file), read_documents)
    if as_json:
        print_json(result)


@library.command(name="list")
@json_option
@config_option
def show_libraries(*, as_json: bool, config_file: Path | None) -> None:
    """List the libraries."""

    async def load_rows(workspace: Workspace) -> list[dict[str, object]]:
        return [dataclasses.asdict(each) for each in await list_libraries(workspace)]

    rows = with_workspace(open_settings(config_file), load_rows)
    if as_json:
        print_json(rows)
        return
    for row in rows:
        counts = f"{row['sources']:,} documents  {row['passages']:,} passages  {row['characters']:,} characters"
        click.echo(one_line(f"{row['name']}  {counts}  {row['root']}", 300))
    if not rows:
        write_stderr("No libraries yet. Make one: corrobora library add NAME PATH")


@library.command(name="show")
@click.argument("name")
@json_option
@config_option
def show_library(*, name: str, as_json: bool, config_file: Path | None) -> None:
    """Show the documents of a library."""

    async def load_files(workspace: Workspace) -> list[str]:
        from corrobora.storage.catalog import Catalog  # noqa: PLC0415 - numpy is loaded only where it is needed

        catalog = Catalog(workspace.database)
        numbers = await catalog.space_numbers([name])
        if not numbers:
            raise unknown_library_error(name, await list_libraries(workspace))
        return sorted(await catalog.files(numbers[0]))

    files = with_workspace(open_settings(config_file), load_files)
    if as_json:
        print_json({"name": name, "files": files})
        return
    for file in files:
        click.echo(one_line(file, 1_000))


@library.command(name="search")
@click.argument("name")
@click.argument("text")
@click.option("--limit", type=click.IntRange(1, 100), default=10, show_default=True, help="How many passages.")
@json_option
@config_option
def search_library(*, name: str, text: str, limit: int, as_json: bool, config_file: Path | None) -> None:
    """Search a library and print the best passages."""
    question = parse_question(text).text

    async def search_passages(workspace: Workspace) -> list[Hit]:
        known = await list_libraries(workspace)
        if name not in {each.name for each in known}:
            raise unknown_library_error(name, known)
        return list(await workspace.open_library([name]).hybrid_search(question, limit=limit))

    hits = with_workspace(open_settings(config_file), search_passages)
    if as_json:
        print_json([dataclasses.asdict(hit) for hit in hits])
        return
    for hit in hits:
        click.echo(f"{hit.score:8.3f}  {one_line(hit.title, 100)}  {one_line(hit.url, 200)}")
        click.echo(f"          {one_line(hit.snippet, 300)}")
    if not hits:
        write_stderr("Nothing found.")


@library.command(name="rm")
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
@config_option
def remove_libraries(names: tuple[str, ...], config_file: Path | None) -> None:
    """Remove libraries. The files on disk stay; reports of earlier runs keep their quotes."""

    async def remove_each(workspace: Workspace) -> list[str]:
        from corrobora.storage.catalog import Catalog  # noqa: PLC0415 - numpy is loaded only where it is needed

        catalog = Catalog(workspace.database)
        return [name for name in names if not await catalog.remove_space(name)]

    missing = with_workspace(open_settings(config_file), remove_each)
    for name in names:
        if name not in missing:
            click.echo(f"removed {one_line(name)}")
    if missing:
        raise UserError(
            "library_unknown", f"There is no library {', '.join(missing)}.", next_step="See: corrobora library list"
        )
