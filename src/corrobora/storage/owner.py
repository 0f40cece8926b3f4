"""The owner of an attempt: which process on which machine, told apart from a later process with the same number.

Knows host, process-id namespace, process id and start time. Does not know runs.
"""

from __future__ import annotations

import os
import socket
from pathlib import Path

import psutil

_NAMESPACE = Path("/proc/self/ns/pid")


def this_process() -> str:
    """Name this process, for the column `owner` of a run."""
    return f"{_machine_name()}/{os.getpid()}/{psutil.Process().create_time():.2f}"


def has_ended(owner: str) -> bool:
    """True if the owner is a process of this machine that has ended; False if it lives or is out of sight."""
    machine, _, rest = owner.partition("/")
    pid, _, started = rest.partition("/")
    if machine != _machine_name() or not pid.isdigit():
        return False
    try:
        process = psutil.Process(int(pid))
        return f"{process.create_time():.2f}" != started or process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def _machine_name() -> str:
    """Name the machine and its process-id namespace: two containers may share a host name."""
    try:
        space = _NAMESPACE.readlink().name
    except OSError:
        space = ""
    return f"{socket.gethostname()}:{space}".replace("/", "_")
