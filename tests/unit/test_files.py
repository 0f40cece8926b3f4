"""Files are written as a whole or not at all."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from corrobora.files import write_whole


def test_a_file_is_replaced_as_a_whole_and_its_folder_is_made(tmp_path: Path):
    path = tmp_path / "deep" / "report.md"
    write_whole(path, b"one")
    write_whole(path, b"two", mode=0o640)
    assert path.read_bytes() == b"two"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert list(path.parent.iterdir()) == [path]


def test_without_a_mode_only_the_owner_may_read_it(tmp_path: Path):
    write_whole(tmp_path / "list.json", b"{}")
    assert stat.S_IMODE((tmp_path / "list.json").stat().st_mode) == 0o600


def test_what_cannot_be_written_leaves_nothing_behind(tmp_path: Path):
    folder = tmp_path / "taken"
    folder.mkdir()
    with pytest.raises(OSError, match="directory"):
        write_whole(folder, b"x")
    assert list(tmp_path.iterdir()) == [folder]
