"""Library changes: how the folders of a library differ from what was read of them, and which readers read it.

Knows times and digests of files, and the version of the readers that each was read by. Does not read documents.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import LiteralString

from corrobora.adapters.readers.parser import map_types
from corrobora.adapters.readers.version import READ_BY, is_read_by_others, is_same_file
from corrobora.app.ingest import (
    MAX_FILES,
    IngestReport,
    ListedFile,
    escape_unprintable,
    hash_file,
    list_files,
    read_bytes,
)
from corrobora.domain.errors import ReadError
from corrobora.storage.index.catalog import Catalog
from corrobora.storage.postgres import Database

CLOCK_SECONDS = 60.0  # by which the clocks of files and database may differ
TICK_SECONDS = 0.02  # by which the time of a file may lie behind the clock
OLDER = "read by an earlier version"


@dataclass(frozen=True, slots=True)
class FolderChanges:
    """How many files of a library's folders are not as they were read."""

    new: int = 0
    changed: int = 0
    removed: int = 0
    older: int = 0  # as they were, but read by the readers of another version

    @property
    def count(self) -> int:
        """How many files differ from what was read."""
        return self.new + self.changed + self.removed

    def __str__(self) -> str:
        """Name what there is: "3 new, 1 changed"."""
        named = ((self.new, "new"), (self.changed, "changed"), (self.removed, "removed"), (self.older, OLDER))
        return ", ".join(f"{count} {word}" for count, word in named if count)


def find_changes(roots: Sequence[Path], since: float, stored: Mapping[str, tuple[str, float]]) -> FolderChanges:
    """Compare folders with what was stored of them: path to digest and time. Only files touched since are read.

    What was not stored and was not touched since the folders were last read could not be read then, and is not new.
    """
    found: dict[str, ListedFile] = {}
    gone: set[str] = set()
    for root in roots:
        prefix = escape_unprintable(str(root))
        if os.path.lexists(root):  # a folder that is not on this machine says nothing
            found |= {file.key: file for file in list_files(root, prefix, IngestReport(), MAX_FILES)}
            gone |= {key for key in stored if key == prefix or key.startswith(f"{prefix}/")}
    fresh = [found[key] for key in found.keys() - stored.keys()]
    new = [each for each in fresh if each.path.suffix.lower() in map_types() and _was_touched(each, since)]
    changed = sum(_has_changed(found[key], *stored[key]) for key in found.keys() & stored.keys())
    older = sum(is_read_by_others(stored[key][0]) for key in found.keys() & stored.keys())
    return FolderChanges(len(new), changed, len(gone - found.keys()), older)


def _was_touched(file: ListedFile, since: float) -> bool:
    try:
        state = file.path.lstat()
    except OSError:
        return False
    return max(state.st_mtime, state.st_ctime) > since - TICK_SECONDS


def _has_changed(file: ListedFile, digest: str, at: float) -> bool:
    try:
        return _was_touched(file, at - CLOCK_SECONDS) and not is_same_file(
            digest, hash_file(file, read_bytes(file.path))
        )
    except ReadError:
        return False


async def read_changes(database: Database, name: str, roots: Sequence[Path]) -> FolderChanges:
    """Compare a library with the folders that it was read from."""
    catalog = Catalog(database)
    (number,) = await catalog.space_numbers([name])
    return await asyncio.to_thread(find_changes, roots, *await catalog.file_times(number))


_OF_OTHERS: LiteralString = """select x.name, count(*) from source s join space x on x.id = s.space
  where s.path is not null and s.gone is null and not s.digest like %s group by x.name order by x.name"""


async def count_older(database: Database) -> dict[str, FolderChanges]:
    """Map the libraries that the readers of another version have read to how many of their files these read."""
    rows = await database.fetch_all(_OF_OTHERS, (f"%{READ_BY}",))
    return {name: FolderChanges(older=count) for name, count in rows}
