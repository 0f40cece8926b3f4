"""Folders of sockets: those that no server has used for a day go, a server that runs keeps its own."""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
import time
from pathlib import Path

from psycopg.conninfo import conninfo_to_dict

from corrobora.storage.postgres.embedded import EmbeddedServer
from corrobora.storage.postgres.processes import SOCKET, remove_abandoned

OLD = time.time() - 2 * 24 * 3_600


def make_folder(parent: Path, name: str) -> Path:
    folder = parent / f"corrobora-{name}"
    folder.mkdir(parents=True)
    (folder / f"{SOCKET}.lock").write_text("1\n")
    os.utime(folder, (OLD, OLD))
    return folder


def test_only_folders_that_nobody_uses_any_more_are_removed(tmp_path: Path) -> None:
    old, young, live, other = (make_folder(tmp_path, name) for name in ("old", "young", "live", "other"))
    os.utime(young)
    (other / "note").write_text("of somebody")
    link = tmp_path / "corrobora-link"
    link.symlink_to(linked := make_folder(tmp_path / "elsewhere", "linked"))
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
    assert (linked / f"{SOCKET}.lock").exists(), "a link is not followed"


def test_a_server_that_starts_beside_abandoned_folders_removes_them(scratch: Path) -> None:
    base = Path(tempfile.mkdtemp(dir=scratch))
    base.chmod(0o755)
    deep = base / ("d" * 60) / ("e" * 60)  # too long for a socket
    deep.parent.mkdir(mode=0o755)
    first = EmbeddedServer.start(deep)
    sockets = Path(str(conninfo_to_dict(first.url)["host"]))
    assert first.stop_if_last()
    owner = sockets.name.rsplit("-", 1)[1]
    old = sockets.with_name(f"corrobora-{'0' * 12}-{owner}")
    old.mkdir()
    os.chown(old, int(owner), -1)
    os.utime(old, (OLD, OLD))
    assert EmbeddedServer.start(deep).stop_if_last()
    assert not old.exists()
    shutil.rmtree(base)
