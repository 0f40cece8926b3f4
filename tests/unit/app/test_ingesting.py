"""Ingesting: every file of a folder ends as added, unchanged, removed, or skipped with the reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from corrobora.app.libraries import ingest_files
from corrobora.domain.errors import UserError
from corrobora.storage.postgres.database import Database


async def test_files_are_added_once_followed_when_they_change_and_removed(database: Database, documents: Path) -> None:
    steps: list[tuple[int, int]] = []

    def told(done: int, total: int, _: str) -> None:
        steps.append((done, total))

    first = await ingest_files(database, "mill", (documents,), told)
    assert (first.added, first.unchanged, first.removed, first.skipped) == (3, 0, 0, ())
    assert steps[-1] == (3, 3)
    again = await ingest_files(database, "mill", (documents,), told)
    assert (again.added, again.unchanged, again.removed) == (0, 3, 0)
    (documents / "bread.md").unlink()
    (documents / "grease.md").write_text("# Grease\n\nGraphite is dry and needs no fat at all on wooden gates.\n")
    changed = await ingest_files(database, "mill", (documents,), told)
    assert (changed.added, changed.unchanged, changed.removed) == (1, 1, 1)


async def test_what_cannot_be_read_is_listed_with_the_reason(database: Database, documents: Path) -> None:
    (documents / "broken.pdf").write_bytes(b"\x00\x01" * 900)
    found = await ingest_files(database, "mill", (documents,), lambda *_: None)
    (skipped,) = found.skipped
    assert skipped.path.endswith("broken.pdf")
    assert skipped.reason
    assert found.added == 3


async def test_a_path_that_does_not_exist_is_refused(database: Database, tmp_path: Path) -> None:
    with pytest.raises(UserError):
        await ingest_files(database, "mill", (tmp_path / "none",), lambda *_: None)
