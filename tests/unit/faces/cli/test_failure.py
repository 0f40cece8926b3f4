"""Failures: one line, and a file for a bug."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from corrobora.domain.errors import describe_failure
from corrobora.faces.cli import explain_disk


def test_a_bug_leaves_one_line_and_a_file(shell: Any) -> None:
    code = "import sys\nfrom corrobora.faces import cli\ncli.cli = None\nsys.exit(cli.run_command_line(['runs']))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    (saved,) = (shell.home / "bugs").iterdir()
    assert str(saved) in done.stderr
    assert "AttributeError" in saved.read_text()
    assert Path(saved).stat().st_mode & 0o077 == 0


def test_a_bug_where_no_file_can_be_written_is_one_line_too(shell: Any) -> None:
    code = (
        "import resource, sys\nfrom corrobora.faces import cli\ncli.cli = None\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\nsys.exit(cli.run_command_line(['runs']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert [line.endswith("could not be saved.") for line in done.stderr.splitlines()] == [True]


FULL = [
    (errno.ENOSPC, "The disk is full", "free some space"),
    (errno.EACCES, "Permission denied", "change the rights"),
    (errno.EMFILE, "Too many files are open", "ulimit -n"),
]


@pytest.mark.parametrize(("number", "what", "step"), FULL)
def test_r16_a_disk_that_refuses_is_named_with_the_next_step(number: int, what: str, step: str) -> None:
    told = explain_disk(OSError(number, os.strerror(number), "/data/file"))
    assert told.startswith(f"{what}: /data/file.")
    assert step in told
    assert "is saved" in told
    assert "then run the same command again" in told
    error = OSError(number, os.strerror(number), "/data/file")
    error.add_note("go on with: corrobora resume r_1")
    assert explain_disk(error).endswith("then go on with: corrobora resume r_1.")


def test_r16_a_full_disk_that_the_system_did_not_name_is_looked_for(shell: Any) -> None:
    assert "on the disk of the output" in explain_disk(OSError(errno.ENOSPC, "full"))  # data folder and /tmp have room
    assert explain_disk(OSError(errno.ECONNRESET, "reset")) == ""


def test_r16_output_that_takes_nothing_is_one_line_and_exit_1(shell: Any) -> None:
    with Path("/dev/full").open("wb") as full, shell.start("profiles", stdout=full) as process:
        said = process.stderr.read().decode()
    assert process.returncode == 1
    assert said.startswith("corrobora: The disk is full, on the disk of the output.")
    assert said.count("\n") == 1


def test_c18_progress_that_nobody_can_read_loses_no_report(filled: Any) -> None:
    question = "When was the bridge at Arnholm opened?"
    with Path("/dev/full").open("wb") as full, filled.start(question, "-l", "docs", stderr=full) as process:
        assert b"1931" in process.stdout.read()
    assert process.returncode == 0


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_c18_streams_closed_before_the_start_are_no_bug(shell: Any, closed: str) -> None:
    line = f'"{sys.executable}" -m corrobora profiles {closed}'
    done = subprocess.run(["/bin/sh", "-c", line], capture_output=True, text=True, check=False)
    assert (done.returncode, "A bug" in done.stderr) == (0, False)
    assert not (shell.home / "bugs").exists()


def test_a_limit_of_memory_is_no_bug_and_named_with_the_next_step(shell: Any) -> None:
    code = (
        "import click, sys\nfrom corrobora.faces import cli\n"
        "cli.cli = click.Command('x', callback=lambda: bytearray(1 << 60))\nsys.exit(cli.run_command_line([]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("corrobora: A limit of memory or of processes is reached. Finished work is saved: ")
    assert "ulimit -v" in done.stderr
    assert not (shell.home / "bugs").exists()


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        RuntimeError("can't start new thread"),
        OSError(errno.ENOMEM, os.strerror(errno.ENOMEM)),
        BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN)),
        ImportError("x.so: failed to map segment from shared object"),
    ],
)
def test_what_a_limit_of_memory_breaks_is_told_as_that(error: Exception) -> None:
    assert explain_disk(error).startswith("A limit of memory or of processes is reached.")
    assert describe_failure(error).startswith("A limit of memory or of processes is reached (")
    assert describe_failure(ValueError("x")) == "ValueError: x"
