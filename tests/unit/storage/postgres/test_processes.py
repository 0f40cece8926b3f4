"""Locks between processes, and lists of users that strike out the dead."""

from __future__ import annotations

import os
import pwd
import subprocess
import sys
from pathlib import Path

import pytest

from corrobora.domain.errors import JournalError
from corrobora.storage.postgres import processes
from corrobora.storage.postgres.processes import (
    Account,
    FileLock,
    UserList,
    hold_lock,
    is_running,
    runs_in,
    server_account,
)


def test_a_lock_is_held_by_one_and_free_after_release(tmp_path: Path) -> None:
    lock = FileLock.try_hold(tmp_path / "lock")
    assert lock is not None
    assert FileLock.try_hold(tmp_path / "lock") is None
    with pytest.raises(JournalError, match="Another process"), hold_lock(tmp_path / "lock", timeout_seconds=0.05):
        pass
    lock.release()
    lock.release()
    with hold_lock(tmp_path / "lock", timeout_seconds=60):
        pass


def test_a_link_is_never_followed(tmp_path: Path) -> None:
    (tmp_path / "lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic"):
        FileLock.try_hold(tmp_path / "lock")
    assert not (tmp_path / "elsewhere").exists()


def test_users_are_listed_until_they_leave_or_die(tmp_path: Path) -> None:
    users = UserList(tmp_path / "users")
    mine = users.join()
    code = (
        "import sys, pathlib; from corrobora.storage.postgres.processes import UserList;"
        "lock = UserList(pathlib.Path(sys.argv[1])).join(); print('in', flush=True); sys.stdin.read()"
    )
    other = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / "users")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert other.stdout is not None
    assert other.stdout.readline() == b"in\n"
    assert set(users.list_alive()) == {os.getpid(), other.pid}
    other.kill()
    other.communicate()
    assert users.list_alive() == (os.getpid(),)
    mine.release(remove=True)
    assert users.list_alive() == ()
    assert list((tmp_path / "users").iterdir()) == []


def test_a_lock_is_not_handed_to_a_child_program(tmp_path: Path) -> None:
    lock = FileLock.try_hold(tmp_path / "lock")
    assert lock is not None
    child = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE)
    lock.release()
    again = FileLock.try_hold(tmp_path / "lock")
    assert again is not None
    again.release()
    child.communicate()


def test_an_account_may_enter_what_the_modes_allow(tmp_path: Path) -> None:
    owner = Account("me", os.geteuid(), os.getegid())
    stranger = Account("stranger", 54321, 54321)
    assert owner.may_enter(tmp_path)
    assert Account("root", 54321, 54321).may_enter(Path("/usr"))
    tmp_path.chmod(0o700)
    assert not stranger.may_enter(tmp_path)


def test_the_server_never_runs_as_root_and_makes_no_account(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = {each.pw_name for each in pwd.getpwall()}
    assert server_account().uid != 0
    assert {each.pw_name for each in pwd.getpwall()} == known
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert server_account(tmp_path / "missing").name in processes.ACCOUNTS
    monkeypatch.setattr(processes, "ACCOUNTS", ("no-such-account",))
    with pytest.raises(JournalError, match="no-such-account is known to this machine"):
        server_account()


def test_a_folder_that_may_not_be_looked_at_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: Path) -> os.stat_result:
        raise PermissionError

    monkeypatch.setattr(Path, "stat", refuse)
    assert not processes.Account("stranger", 54321, 54321).may_enter(tmp_path)


def test_a_process_is_known_by_its_program_and_folder(tmp_path: Path) -> None:
    child = subprocess.Popen(["/bin/sleep", "3600"], cwd=tmp_path)
    assert is_running(child.pid)
    assert runs_in(child.pid, tmp_path.resolve(), "sleep")
    assert not runs_in(child.pid, tmp_path.resolve(), "postgres")
    child.kill()
    while is_running(child.pid):  # a zombie does not run
        pass
    assert not runs_in(child.pid, tmp_path.resolve(), "sleep")
    child.wait()
