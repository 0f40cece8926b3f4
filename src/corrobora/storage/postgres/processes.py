"""Locks between processes, the identity of a process, the account that a database server runs as, and its socket.

Knows file locks that the kernel releases when their holder dies, which unprivileged account root takes, how PostgreSQL
names a socket and its lock file, and whether somebody answers there. Does not know data folders or what a lock
protects.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import pwd
import shutil
import socket
import stat
import time
from collections.abc import Callable, Generator
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TypeVar

from corrobora.domain.errors import JournalError

ACCOUNTS = ("corrobora", "postgres", "nobody")  # that root may start the server as
K = TypeVar("K")
_LOCK_PAUSE_SECONDS = 0.02
_PROCESSES = Path("/proc")
_NAMESPACE = _PROCESSES / "self/ns/pid"
_BOOT = _PROCESSES / "sys/kernel/random/boot_id"
_STATES = {"Z": "zombie", "X": "zombie", "x": "zombie", "T": "stopped", "t": "stopped"}


@dataclass(frozen=True, slots=True)
class Account:
    """An operating-system account: its name and numbers."""

    name: str
    uid: int
    gid: int

    def may_enter(self, path: Path) -> bool:
        """Say whether this account can walk down to `path` and into it, by the mode bits of every folder.

        A folder that this process itself may not look at counts as closed.
        """
        for folder in (path, *path.parents):
            try:
                info = folder.stat()
            except FileNotFoundError:
                continue
            except OSError:
                return False
            if not self._may_search(info):
                return False
        return True

    def _may_search(self, info: os.stat_result) -> bool:
        if info.st_uid == self.uid:
            return bool(info.st_mode & stat.S_IXUSR)
        if info.st_gid == self.gid:
            return bool(info.st_mode & stat.S_IXGRP)
        return bool(info.st_mode & stat.S_IXOTH)


def server_account(folder: Path | None = None) -> Account:
    """Return the account that a server of this process runs as: its own; for root, one that exists already.

    PostgreSQL refuses to run as root. Root's server runs as the owner of `folder` if that is a known account, as a
    volume that comes from elsewhere may be; else as the first of `ACCOUNTS` that this machine has. None is created.

    Raises:
        JournalError: there is no such account, or the user id has no name.
    """
    uid = os.geteuid()
    if uid:
        entry = _find_entry(pwd.getpwuid, uid)
    else:
        owner = folder.lstat().st_uid if folder is not None and folder.exists() else 0
        entry = _find_entry(pwd.getpwuid, owner) if owner else None
        entry = entry or next(filter(None, (_find_entry(pwd.getpwnam, name) for name in ACCOUNTS)), None)
    if entry is None:
        who = f"User id {uid} is not known" if uid else f"None of the accounts {', '.join(ACCOUNTS)} is known"
        raise JournalError(
            "database_account",
            f"{who} to this machine, and PostgreSQL needs a named, unprivileged account.",
            next_step="Create it (useradd --system corrobora), run as an ordinary user, or set CORROBORA_DATABASE_URL.",
        )
    return Account(entry.pw_name, entry.pw_uid, entry.pw_gid)


def _find_entry(find: Callable[[K], pwd.struct_passwd], key: K) -> pwd.struct_passwd | None:
    try:
        return find(key)
    except KeyError:
        return None


class FileLock:
    """An exclusive lock on a file, held until `release` or the end of the process, however it ends."""

    __slots__ = ("_fd", "path")

    def __init__(self, path: Path, fd: int) -> None:
        self.path = path
        self._fd: int | None = fd

    @classmethod
    def try_hold(cls, path: Path) -> FileLock | None:
        """Take the lock if it is free. Never follows a link, and never passes the lock to a child program."""
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(fd)
            return None
        return cls(path, fd)

    def release(self, *, remove: bool = False) -> None:
        """Release the lock; with `remove`, delete its file first, so that nobody locks a deleted file."""
        if self._fd is None:
            return
        if remove:
            self.path.unlink(missing_ok=True)
        os.close(self._fd)
        self._fd = None


@contextlib.contextmanager
def hold_lock(path: Path, *, timeout_seconds: float) -> Generator[None]:
    """Hold the lock on `path` for a block.

    Raises:
        JournalError: another process holds it for longer than `timeout_seconds`.
    """
    end = time.monotonic() + timeout_seconds
    while (lock := FileLock.try_hold(path)) is None:
        if time.monotonic() > end:
            raise JournalError(
                "database_locked",
                f"Another process has been starting or stopping the database for over {timeout_seconds:g} s ({path}).",
                next_step="End that process, or try again.",
            )
        time.sleep(_LOCK_PAUSE_SECONDS)
    try:
        yield
    finally:
        lock.release()


class UserList:
    """The processes that use a server: one locked file each, whose lock the kernel releases when the process dies.

    Call its methods only while holding the lock of the server's folder. A process id that is used again by another
    program cannot be mistaken for a user, because that program does not hold the lock.
    """

    __slots__ = ("_folder",)

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def join(self) -> FileLock:
        """Add one use by this process; the returned lock is the membership."""
        self._folder.mkdir(mode=0o700, exist_ok=True)
        number = 0
        while True:
            lock = FileLock.try_hold(self._folder / f"{os.getpid()}-{number}")
            if lock is not None:
                return lock
            number += 1

    def list_alive(self) -> tuple[int, ...]:
        """Return the process ids of users that still run, and remove the files of the others."""
        living: list[int] = []
        for path in sorted(self._folder.glob("*-*")) if self._folder.is_dir() else ():
            lock = FileLock.try_hold(path)
            if lock is None:
                living.append(int(path.name.split("-")[0]))
            else:
                lock.release(remove=True)
        return tuple(living)


def is_running(pid: int) -> bool:
    """True if the process exists and is not a zombie."""
    found = _read_start(pid)
    return found is not None and found[0] != "zombie"


def folder_mark(folder: Path) -> str:
    """Return a name for a folder, which a process that works there shows in its command line."""
    return "corrobora-" + sha256(os.fsencode(folder)).hexdigest()[:12]


def runs_in(pid: int, folder: Path, program: str) -> bool:
    """True if process `pid` is `program` and its working folder is `folder`.

    Root of a container may not ask for the working folder of another account's process; there its command line counts,
    which shows the mark of the folder.
    """
    if _PROCESSES.is_dir():
        return _is_told_in(_PROCESSES / str(pid), folder, program)
    import psutil  # noqa: PLC0415 - 20 ms and 1 MB that only a system without /proc needs

    try:
        process = psutil.Process(pid)
        return process.name().startswith(program) and Path(process.cwd()) == folder
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return False


def _is_told_in(told: Path, folder: Path, program: str) -> bool:
    """Say the same of a process by its folder in /proc, which names a removed working folder with a mark."""
    try:
        if not (told / "comm").read_text(errors="replace").startswith(program):
            return False
        try:
            return str((told / "cwd").readlink()).removesuffix(" (deleted)") == str(folder)
        except PermissionError:
            return folder_mark(folder) in (told / "cmdline").read_text(errors="replace")
    except OSError:
        return False


def list_processes() -> list[int]:
    """Return the ids of all processes of this machine."""
    import psutil  # noqa: PLC0415 - few commands look at others' processes

    return psutil.pids()


def is_foreign(folder: Path) -> bool:
    """True if something other than a folder of root's is at a path."""
    return os.path.lexists(folder) and (folder.is_symlink() or folder.lstat().st_uid != 0)


def publish_folder(fresh: Path, place: Path) -> None:
    """Rename a finished folder to its place; where another process was first, its folder stays."""
    try:
        fresh.rename(place)
    except OSError:
        shutil.rmtree(fresh)
        if not os.path.lexists(place):
            raise


def this_process() -> str:
    """Name this process, for the column `owner` of a run.

    The time of its start is counted from that of the machine: a name by the time of day would change with the clock.
    """
    started = _read_start(os.getpid())
    return f"{_machine_name()}/{os.getpid()}/{_read_boot()}-{started[1] if started else ''}"


def has_ended(owner: str) -> bool:
    """True if the owner is a process of this machine that has ended; False if it runs or cannot be seen."""
    return _find_status(owner) in ("ended", "zombie")


def is_alive_here(owner: str, *, stopped: bool = False) -> bool:
    """True if the owner is a process of this machine that lives, however busy.

    One that was stopped by a signal lives only if `stopped` says that it may be.
    """
    return _find_status(owner) not in ("", "ended", "zombie", "" if stopped else "stopped")


def _find_status(owner: str) -> str:
    """Return the state of a process of this machine: ended, zombie, stopped or living; "" for one of another."""
    machine, _, rest = owner.partition("/")
    pid, _, started = rest.partition("/")
    if not pid.isdigit():
        return ""
    if machine != _machine_name():
        return ""
    found = _read_start(int(pid))
    if found is None and _is_hidden(int(pid)):
        return ""
    return found[0] if found and started == f"{_read_boot()}-{found[1]}" else "ended"


def _is_hidden(pid: int) -> bool:
    """True for a process of another account, which a machine may hide."""
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (OSError, OverflowError):
        pass
    return False


def _read_start(pid: int) -> tuple[str, str] | None:
    """Return the state of a process, and when it started; None if there is none.

    Linux counts the start in ticks since the machine began, which no change of its clock alters; elsewhere the kernel
    keeps the time of day that it was.
    """
    try:
        fields = (_PROCESSES / str(pid) / "stat").read_text(errors="replace").rpartition(")")[2].split()
        return _STATES.get(fields[0], "living"), fields[19]
    except (OSError, IndexError):
        if _PROCESSES.is_dir():
            return None
    import psutil  # noqa: PLC0415 - see `runs_in`

    try:
        process = psutil.Process(pid)
        status = process.status()
        return (status if status in _STATES.values() else "living"), f"{process.create_time():.2f}"
    except psutil.NoSuchProcess:
        return None


def _host_name() -> str:
    """Name the host and its process-id namespace, since two containers may have the same host name."""
    try:
        space = _NAMESPACE.readlink().name
    except OSError:
        space = ""
    return f"{socket.gethostname()}:{space}".replace("/", "_")


def _machine_name() -> str:
    """Name the machine: two of the same host name that share a database must not judge each other's processes."""
    identity = _read_first(Path("/etc/machine-id"), Path("/var/lib/dbus/machine-id"), _BOOT)
    return f"{_host_name()}:{sha256(identity.encode()).hexdigest()[:8]}"


def _read_boot() -> str:
    """Name this start of the machine: after another one all processes of before have ended."""
    return _read_first(_BOOT)[:8]


def _read_first(*paths: Path) -> str:
    for path in paths:
        with contextlib.suppress(OSError):
            if text := path.read_text().strip():
                return text
    return ""


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
