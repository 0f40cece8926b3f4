"""Forked processes are processes: their own id, files, folder, environment, signals and end."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest
from tests.plugins.nursery import _Forked, run_python, start_python

STATE = """
import os, sys
print(os.getpid(), os.getcwd(), os.environ.get("A"), sys.argv, "corrobora.faces.cli" in sys.modules)
"""


def test_a_process_has_its_own_id_folder_environment_and_words(tmp_path: Path) -> None:
    with start_python(
        ["-c", STATE, "x", "y z"], cwd=tmp_path, env={**os.environ, "A": "ä"}, stdout=subprocess.PIPE
    ) as it:
        assert it.stdout is not None
        said = it.stdout.read().decode()
    assert said == f"{it.pid} {tmp_path} ä ['-c', 'x', 'y z'] {isinstance(it, _Forked)}\n"
    assert it.returncode == 0
    assert os.environ.get("A") is None


def test_it_reads_and_writes_pipes_and_ends_with_its_code() -> None:
    code = "import atexit, sys; atexit.register(print, 'end'); sys.stderr.write(sys.stdin.read()); sys.exit(7)"
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with start_python(["-c", code], text=True, **pipes) as process:
        assert process.communicate("said\n") == ("end\n", "said\n")
    assert process.returncode == 7


def test_it_can_be_killed_and_is_a_child_of_the_tests() -> None:
    process = start_python(["-c", "import time; print('up', flush=True); time.sleep(600)"], stdout=subprocess.PIPE)
    with process:
        assert process.stdout is not None
        process.stdout.readline()
        process.kill()
        assert process.wait(60) == -signal.SIGKILL
    with pytest.raises(ChildProcessError):
        os.waitpid(process.pid, 0)  # it was ours, and has been waited for


def test_what_depends_on_the_start_of_python_is_started_as_usual() -> None:
    code = "import sys; print(sys.flags.utf8_mode, 'corrobora' in sys.modules)"
    assert run_python(["-c", code], env={**os.environ, "PYTHONUTF8": "1"}).stdout == "1 False\n"
    done = run_python(["-W", "error", "-c", "import warnings; warnings.warn('x')"])
    assert (done.returncode, "UserWarning: x" in done.stderr) == (1, True)
