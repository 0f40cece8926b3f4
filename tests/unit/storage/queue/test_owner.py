"""Owners: a process is told apart from a later one with its number."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

from corrobora.storage.queue.statements import has_ended, is_alive_here, this_process


def test_a_living_owner_has_not_gone() -> None:
    assert not has_ended(this_process())
    assert is_alive_here(this_process())


def test_an_owner_that_a_signal_stopped_lives_no_more_until_it_goes_on() -> None:
    name = "from corrobora.storage.queue.statements import this_process; print(this_process(), flush=True)"
    code = f"import sys; {name}; sys.stdin.read()"
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        owner = child.stdout.readline().strip()
        assert is_alive_here(owner)
        child.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, child.pid, os.WSTOPPED)
        assert not is_alive_here(owner)
        assert not has_ended(owner)
        child.send_signal(signal.SIGCONT)
        child.communicate("")
    assert has_ended(owner)


def test_an_ended_owner_has_gone_also_if_its_number_is_taken() -> None:
    code = "from corrobora.storage.queue.statements import this_process; print(this_process())"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    assert has_ended(ended)
    machine, pid, _ = this_process().split("/")
    assert has_ended(f"{machine}/{pid}/1.00")


def test_an_owner_out_of_sight_is_never_called_gone() -> None:
    assert not has_ended("elsewhere:pid/1/1.00")
    assert not has_ended("")
    assert not is_alive_here("elsewhere:pid/1/1.00")
