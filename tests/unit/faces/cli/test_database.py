"""`corrobora db`: the embedded server of the data folder, and no other."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest


@pytest.mark.covers("db status --json")
def test_db_start_status_stop(shell: Any) -> None:
    down = shell("db", "status").out
    assert ("running   no" in down, "stays on" in down, " -" in down) == (True, False, False)
    try:
        assert shell("db", "start").out.startswith("running: ")
        assert json.loads(shell("db", "status", "--json").out)["kept"] is True
        up = shell("db", "status").out
        assert ("stays on  yes" in up, "process   " in up, "address   " in up) == (True, True, True)
    finally:
        assert shell("db", "stop").out == "stopped\n"
    assert shell("db", "stop").out == "was not running\n"


_UNTRACED = (  # the rights of root in a container: none over the processes of other accounts
    "import ctypes, os, sys; ctypes.CDLL(None).prctl(24, 19, 0, 0, 0); "
    "os.execv(sys.executable, [sys.executable, '-m', 'corrobora', *sys.argv[1:]])"
)


def test_db_stop_finds_the_server_where_a_container_hides_its_folder(shell: Any) -> None:
    def run(*args: str) -> str:
        done = subprocess.run([sys.executable, "-c", _UNTRACED, *args], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    try:
        assert run("db", "start").startswith("running: ")
        assert json.loads(run("db", "status", "--json"))["running"] is True
    finally:
        assert run("db", "stop") == "stopped\n"
    assert "running   no" in shell("db", "status").out


def test_db_is_not_for_a_server_that_was_named(shell: Any) -> None:
    shell.setenv(CORROBORA_DATABASE_URL="postgresql://127.0.0.1:9/nobody")
    assert "is for the embedded one" in shell("db", "stop").complaint


def test_db_status_of_a_named_server_asks_it(served: Any) -> None:
    result = served("db", "status")
    assert (result.code, "running   yes" in result.out, "PostgreSQL" in result.out) == (0, True, True)
    assert "CORROBORA_DATABASE_URL" in result.out
    assert json.loads(served("db", "status", "--json").out)["running"] is True


def test_db_status_of_a_server_that_is_down_says_so(shell: Any) -> None:
    shell.setenv(CORROBORA_DATABASE_URL="postgresql://127.0.0.1:9/nobody", CORROBORA_DATABASE_WAIT_SECONDS="0")
    result = shell("db", "status")
    assert (result.code, "127.0.0.1" in result.complaint) == (1, True)
