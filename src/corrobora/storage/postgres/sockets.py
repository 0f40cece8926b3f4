"""The socket of a database server: whether somebody answers there, and folders that held one and are abandoned.

Knows how PostgreSQL names a socket and its lock file. Does not know data folders: a socket is asked instead.
"""

from __future__ import annotations

import socket
import stat
import time
from contextlib import suppress
from pathlib import Path

PORT = 5432
SOCKET = f".s.PGSQL.{PORT}"
_ABANDONED_SECONDS = 24 * 3600.0  # no server takes so long between making its folder and listening there


def answers(path: Path) -> bool:
    """True if a server accepts a connection."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(path))
        except OSError:
            return False
    return True


def remove_abandoned(folder: Path, pattern: str, owner: int) -> None:
    """Remove the folders of a pattern and an owner that no server has used for a day: their data folders are gone."""
    for each in folder.glob(pattern):
        with suppress(OSError):
            info = each.lstat()
            ours = stat.S_ISDIR(info.st_mode) and info.st_uid == owner
            if ours and time.time() - info.st_mtime > _ABANDONED_SECONDS and not answers(each / SOCKET):
                for file in (each / SOCKET, each / f"{SOCKET}.lock"):
                    file.unlink(missing_ok=True)
                each.rmdir()
