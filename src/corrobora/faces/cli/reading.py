"""Reading documents into a library, shown: a bar on a terminal, one line elsewhere, every unread file with its reason.

Knows counts and reasons. Does not read: the assembly does.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from corrobora.domain.errors import UserError
from corrobora.faces.cli.terminal import can_draw, one_line, write_stderr

if TYPE_CHECKING:
    from corrobora.assembly import Workspace

Progress = Callable[[int, int, str], None]
_MAX_LISTED = 50  # unread files that are named one by one; `--json` names all


async def ingest_paths(workspace: Workspace, name: str, paths: Sequence[Path], *, show: bool) -> dict[str, object]:
    """Read paths into a library and say what happened; return it as JSON values.

    Raises `UserError` `library_empty` if nothing in it can be searched afterwards (K01).
    """
    with _progress_bar(f"reading into {name}", show=show) as progress:
        result = await workspace.ingest_files(name, tuple(paths), progress)
    if show or result.skipped:
        counts = (
            f"{result.added} read, {result.unchanged} unchanged, {result.removed} gone, {len(result.skipped)} skipped"
        )
        write_stderr(f"library  {name}: {counts}")
    for each in result.skipped[:_MAX_LISTED]:
        write_stderr(f"skipped  {one_line(each.path, 300)}: {one_line(each.reason, 200)}")
    if len(result.skipped) > _MAX_LISTED:
        write_stderr(f"skipped  and {len(result.skipped) - _MAX_LISTED} more; all of them: --json")
    if not result.added and not result.unchanged:
        raise UserError(
            "library_empty",
            f"No readable document in {', '.join(repr(str(path)) for path in paths)[:400]}.",
            next_step="Readable: Markdown, HTML, reStructuredText, text, PDF, DOCX.",
        )
    return {"library": name, **asdict(result)}


@contextmanager
def _progress_bar(title: str, *, show: bool) -> Generator[Progress]:
    """Lend a function that shows how far the reading is."""
    if not show or not can_draw(sys.stderr, os.environ, shutil.get_terminal_size().columns):
        yield lambda _done, _total, _path: None
        return
    from rich.console import Console  # noqa: PLC0415 - loaded only where something is drawn
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
