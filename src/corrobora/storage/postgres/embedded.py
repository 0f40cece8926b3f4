"""The embedded server: PostgreSQL without an installation, shared by all processes that use one data folder.

Knows which processes use the server, and stops it with the last of them, however the others ended. Every start, attach
and stop holds one file lock of the data folder. Does not know tables or pools.
"""

from __future__ import annotations

import atexit
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Self
from urllib.parse import quote

from psycopg.pq import Conninfo

from corrobora.domain.errors import JournalError
from corrobora.files import make_private_folder
from corrobora.storage.postgres.cluster import SUPERUSER, Cluster, RunningServer
from corrobora.storage.postgres.processes import (
    PORT,
    FileLock,
    UserList,
    hold_lock,
    server_account,
)

_START_WAIT_SECONDS = 180.0
_STOP_WAIT_SECONDS = 60.0  # as long as a start or stop by another process takes on a busy machine


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """What `db status` shows. `users` are process ids; `kept` means that the last user does not stop the server."""

    data_dir: Path
    running: bool
    pid: int | None
    url: str
    users: tuple[int, ...]
    kept: bool
    log: Path


class EmbeddedServer:
    """The use of one server by this process. Create it with `start`; it ends with the process."""

    def __init__(self, data_dir: Path, cluster: Cluster, url: str, membership: FileLock) -> None:
        self.data_dir = data_dir
        self.url = url
        self._cluster = cluster
        self._membership: FileLock | None = membership

    @classmethod
    def start(cls, data_dir: Path, *, keep: bool = False) -> Self:
        """Start the server of `data_dir`, or attach to it if it runs; blocks until it accepts connections.

        With `keep`, it goes on running after its last user, until `stop_server`. If root starts it, it runs as another
        account that exists; nothing lies outside the data folder, and no folder above it changes its mode or its owner.

        Raises:
            JournalError: the folder belongs to another user, the cluster is damaged or of another version, the disk
                is full, or another process holds the start lock for minutes.
        """
        home = _resolve_home(data_dir)
        _make_home(home)
        with hold_lock(_lock_file(home), timeout_seconds=_START_WAIT_SECONDS):
            cluster = _find_cluster(home, create=True)
            cluster.secure_folder(cluster.base)
            running = cluster.read_pid_file()
            if running is not None and not cluster.accepts_connections(running):
                # An interrupted start, or a socket file that was deleted: nobody can connect.
                cluster.stop_server(running)
                running = None
            if running is None:
                cluster.ensure_created()
                running = cluster.start_server()
            _stopped_file(home).unlink(missing_ok=True)
            membership = UserList(home / "users").join()
            if keep:
                _keep_file(home).touch(mode=0o600)
        for option in Conninfo.get_defaults():  # they name other servers: PGSERVICE would be read whatever the URL says
            os.environ.pop((option.envvar or b"").decode(), None)
        server = cls(home, cluster, _server_url(running), membership)
        atexit.register(server.stop_if_last)
        return server

    def revive(self) -> None:
        """Start the server again if it was killed, or gave up on a full disk; one that was stopped stays down.

        Raises as `start`.
        """
        if self._is_missing():
            with hold_lock(_lock_file(self.data_dir), timeout_seconds=_START_WAIT_SECONDS):
                if self._is_missing():
                    self._cluster.start_server()

    def _is_missing(self) -> bool:
        return self._membership is not None and not self.was_stopped() and self._cluster.read_pid_file() is None

    def was_stopped(self) -> bool:
        """True if somebody has stopped the server (`db stop`), or its folder was removed."""
        return not self.data_dir.is_dir() or _stopped_file(self.data_dir).exists()

    def stop_if_last(self) -> bool:
        """End this use, and stop the server if nobody else uses it. Returns True if it was stopped.

        Users that were killed do not count: the kernel has released their locks. It is safe to call this twice.
        """
        if self._membership is None:
            return False
        atexit.unregister(self.stop_if_last)
        if not self.data_dir.is_dir():  # it was deleted: stop the server, whose files are gone
            return self._stop_server()
        with hold_lock(_lock_file(self.data_dir), timeout_seconds=_STOP_WAIT_SECONDS):
            self._membership.release(remove=True)
            self._membership = None
            if UserList(self.data_dir / "users").list_alive() or _keep_file(self.data_dir).exists():
                return False
            return self._stop_server()

    def _stop_server(self) -> bool:
        running = self._cluster.read_pid_file()
        if running is None:
            return False
        self._cluster.stop_server(running)
        return True


def server_status(data_dir: Path) -> ServerStatus:
    """Return whether the server of `data_dir` runs and who uses it. Starts and creates nothing."""
    home = _resolve_home(data_dir)
    cluster = _find_cluster(home, create=False)
    running = cluster.read_pid_file() if home.is_dir() else None
    users: tuple[int, ...] = ()
    if home.is_dir() and os.access(home, os.W_OK):
        with hold_lock(_lock_file(home), timeout_seconds=_STOP_WAIT_SECONDS):
            users = UserList(home / "users").list_alive()
    url = _server_url(running) if running is not None and running.ready else ""
    pid = running.pid if running else None
    return ServerStatus(home, running is not None, pid, url, users, _keep_file(home).exists(), cluster.log)


def stop_server(data_dir: Path) -> bool:
    """Stop the server of `data_dir` even if somebody uses it; False if none was running (`db stop`)."""
    home = _resolve_home(data_dir)
    if not home.is_dir():
        return False
    with hold_lock(_lock_file(home), timeout_seconds=_STOP_WAIT_SECONDS):
        _keep_file(home).unlink(missing_ok=True)
        cluster = _find_cluster(home, create=False)
        running = cluster.read_pid_file()
        if running is not None:
            _stopped_file(home).touch(mode=0o600)  # before it stops: else its users would start it again
            cluster.stop_server(running)
        return running is not None


def _resolve_home(data_dir: Path) -> Path:
    home = data_dir.expanduser().resolve()
    if any(ord(letter) < ord(" ") or "\ud800" <= letter <= "\udfff" for letter in str(home)):
        raise JournalError(
            "database_folder",
            f"The data folder {str(home)!r} has a control character, or one that is not UTF-8, in its path.",
            next_step="Choose another data folder.",
        )
    return home


def _lock_file(home: Path) -> Path:
    return home / "start.lock"


def _stopped_file(home: Path) -> Path:
    return home / "stopped"


def _keep_file(home: Path) -> Path:
    return home / "keep"


def _server_url(running: RunningServer) -> str:
    return f"postgresql://{SUPERUSER}@/postgres?host={quote(str(running.sockets), safe='')}&port={PORT}"


def _make_home(home: Path) -> None:
    """Create the data folder, private; refuse one that belongs to another user."""
    try:
        make_private_folder(home.parent)
        home.mkdir(mode=0o700, exist_ok=True)
        info = home.stat()
    except OSError as error:
        raise JournalError(
            "database_folder",
            f"The data folder {home} cannot be created: {error.strerror}.",
            next_step="Set CORROBORA_HOME to a folder that you can write.",
        ) from error
    if info.st_uid != os.geteuid():
        raise JournalError(
            "database_folder",
            f"The data folder {home} belongs to user id {info.st_uid}, and you are {os.geteuid()}.",
            next_step="Run the command as its owner, or choose another folder with CORROBORA_HOME.",
        )
    if info.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        home.chmod(stat.S_IMODE(info.st_mode) & ~(stat.S_IWGRP | stat.S_IWOTH))


def _find_cluster(home: Path, *, create: bool) -> Cluster:
    """Return the cluster of a data folder. If root starts it, its files get an owner that this machine knows."""
    base = home / "postgres"
    account = server_account(base)
    if create and os.geteuid() == 0 and base.exists() and base.lstat().st_uid != account.uid:
        for path in (base, *base.rglob("*")):
            os.chown(path, account.uid, account.gid, follow_symlinks=False)
    return Cluster(base, account, as_root=os.geteuid() == 0)
