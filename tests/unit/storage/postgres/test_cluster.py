"""A cluster's files: private folders, and what the server said turned into advice."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from corrobora.domain.errors import JournalError
from corrobora.storage.postgres.cluster import Cluster
from corrobora.storage.postgres.processes import Account, server_account


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    return Cluster(tmp_path, server_account(), as_root=False)


@pytest.mark.parametrize(
    ("said", "code", "step"),
    [
        ("FATAL:  could not write lock file: No space left on device", "database_full", "Free some space"),
        ("initdb: error: could not create directory: Permission denied", "database_folder", "writable"),
        ("FATAL:  could not open file: Read-only file system", "database_folder", "writable"),
        ("FATAL:  database files are incompatible with server", "database_version", "mv "),
        ("PANIC:  could not locate a valid checkpoint record", "database_damaged", "mv "),
        ("", "database_damaged", "mv "),
        (
            "FATAL:  insufficient file descriptors available to start",
            "database_damaged",
            "Nothing was changed: if a limit",
        ),
        ("FATAL:  could not resize shared memory segment: No space left on device", "database_full", "Free some space"),
    ],
)
def test_what_the_server_said_becomes_advice(cluster: Cluster, said: str, code: str, step: str) -> None:
    error = cluster.explain_failure("PostgreSQL did not start", said)
    assert error.code == code
    assert step in error.next_step
    assert ("/dev/shm" in error.message) is ("shared memory" in said)


def test_a_cluster_that_is_not_there_does_not_run(cluster: Cluster) -> None:
    assert cluster.read_pid_file() is None


def test_a_pid_file_of_another_program_is_not_a_server(cluster: Cluster) -> None:
    cluster.data.mkdir()
    for text in ("", "garbage", "1\n/x\n0\n5432\n/tmp\n\n0 0\nready\n"):
        (cluster.data / "postmaster.pid").write_text(text)
        assert cluster.read_pid_file() is None


def test_files_that_are_no_cluster_are_left_alone(cluster: Cluster) -> None:
    cluster.data.mkdir()
    (cluster.data / "letter.txt").write_text("mine")
    with pytest.raises(JournalError, match="PG_VERSION is missing"):
        cluster.ensure_created()
    assert (cluster.data / "letter.txt").read_text() == "mine"


def test_a_folder_that_others_can_enter_is_refused(cluster: Cluster, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    folder.chmod(0o750)
    with pytest.raises(JournalError, match="only the account"):
        cluster.require_private(folder)


def test_the_programs_are_those_of_the_wheel(cluster: Cluster) -> None:
    assert (cluster.find_programs() / "postgres").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives its server another account")
def test_root_learns_what_its_server_may_not_reach(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Account, "may_enter", lambda *_: False)
    with pytest.raises(JournalError, match="refuses to run as root") as caught:
        Cluster(tmp_path, Account("stranger", 54321, 54321), as_root=True).find_programs()
    assert "CORROBORA_HOME" in caught.value.next_step
