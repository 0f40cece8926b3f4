"""Folders of sockets: those that no server has used for a day go, a server that runs keeps its own."""

from __future__ import annotations

import os
import socket
import time
from pathlib import Path

from corrobora.storage.postgres.sockets import SOCKET, remove_abandoned

OLD = time.time() - 2 * 24 * 3_600


def make_folder(parent: Path, name: str) -> Path:
    folder = parent / f"corrobora-{name}"
    folder.mkdir()
    (folder / f"{SOCKET}.lock").write_text("1\n")
    os.utime(folder, (OLD, OLD))
    return folder


def test_only_folders_that_nobody_uses_any_more_are_removed(tmp_path: Path) -> None:
    old, young, live, other = (make_folder(tmp_path, name) for name in ("old", "young", "live", "other"))
    os.utime(young)
    (other / "note").write_text("of somebody")
    link = tmp_path / "corrobora-link"
    link.symlink_to(other)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
        server.bind(str(live / SOCKET))
        server.listen()
        for folder in (live, other):
            os.utime(folder, (OLD, OLD))
        remove_abandoned(tmp_path, "corrobora-*", os.geteuid() + 1)
        assert old.exists()
        remove_abandoned(tmp_path, "corrobora-*", os.geteuid())
    assert [each.exists() for each in (old, young, live, other)] == [False, True, True, True]
    assert (live / f"{SOCKET}.lock").exists()
    assert link.is_symlink()
