"""Delivery to a folder (ANGLES-36): whole files, inside the folder, or an error that says why."""

from __future__ import annotations

from pathlib import Path

import pytest

from corrobora.adapters.delivery.folder import FolderDelivery
from corrobora.domain.errors import ProviderError

FILES = {"report.md": "# Kräne\n\nTwelve months. [1]\n".encode(), "report.json": b"{}", "report.html": b"<p>x</p>"}


async def test_angles_delivery_to_a_folder_replaces_files_as_a_whole(tmp_path: Path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "report.md").write_text("old")
    await FolderDelivery(tmp_path / "out").send("T", FILES, delivery="d")
    assert (tmp_path / "out" / "report.md").read_bytes() == FILES["report.md"]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(FILES)


async def test_angles_delivery_to_a_folder_never_leaves_it_and_says_what_fails(tmp_path: Path):
    with pytest.raises(ProviderError) as outside:
        await FolderDelivery(tmp_path / "out").send("T", {"../x.md": b"x"}, delivery="d")
    assert outside.value.code == "delivery_folder"
    assert not (tmp_path / "x.md").exists()
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(ProviderError):
        await FolderDelivery(tmp_path / "file").send("T", FILES, delivery="d")
