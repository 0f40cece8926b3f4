"""The folder of a run: names stay inside, files are whole or absent."""

from __future__ import annotations

from pathlib import Path

import pytest

from corrobora.domain.errors import JournalError, UserError
from corrobora.storage.journal.artifacts import RunFolder


def test_a_file_is_written_below_the_folder_and_replaced_as_a_whole(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    folder.write_file("subagents/history.json", b"first, and long")
    path = folder.write_file("subagents/history.json", b"second")
    assert path == tmp_path / "run" / "subagents" / "history.json"
    assert path.read_bytes() == b"second"
    assert [each.name for each in path.parent.iterdir()] == ["history.json"], "no temporary file stays"


@pytest.mark.parametrize("name", ["../x", "a/../x", "/etc/x", "", "a//b", ".hidden", "a\\b", "a b", "x" * 200, "a/.."])
def test_safe_6_a_name_that_could_lead_elsewhere_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UserError) as refused:
        RunFolder(tmp_path).write_file(name, b"x")
    assert refused.value.code == "file_name"
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_refuses_is_told_with_the_way_on(tmp_path: Path) -> None:
    (tmp_path / "taken").write_bytes(b"a file where a folder is needed")
    with pytest.raises(JournalError) as refused:
        RunFolder(tmp_path).write_file("taken/report.md", b"x")
    assert refused.value.code == "disk"
    assert "corrobora resume" in refused.value.next_step
    assert (tmp_path / "taken").read_bytes() == b"a file where a folder is needed"
