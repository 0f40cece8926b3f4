"""Python processes for tests that are about a process and not about its imports, which take most of its time.

`start_python(words)` is `Popen([sys.executable, *words])` for `-m corrobora ...`, `-c CODE ...` and `-W error`, but the
process is forked from one that has imported what most commands need. It has its own process id, files, environment and
folder, gets signals and ends as any other, and is a child of the tests. What depends on how Python starts (its own
variables, a `preexec_fn`) is started as usual. Tests about imports start processes of their own.
"""

from __future__ import annotations

import ctypes
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

_BECOME_REAPER = 36  # PR_SET_CHILD_SUBREAPER: who it is becomes the parent of orphans below it
_FORKS = sys.platform == "linux" and (3, 11) <= sys.version_info < (3, 14)  # where the names used below are known
_OPTIONS = frozenset(("cwd", "env", "start_new_session", "stdin", "stdout", "stderr", "text"))
_OF_PYTHON = ("PYTHON", "LC_", "LANG", "MALLOC", "LD_", "TZ", "OPENBLAS", "SSL_", "OPENSSL")


class _Ends(NamedTuple):
    """The arguments of `Popen._execute_child` behind `args`."""

    executable: Any
    preexec_fn: Any
    close_fds: Any
    pass_fds: Any
    cwd: Any
    env: Mapping[str, str] | None
    startupinfo: Any
    creationflags: Any
    shell: Any
    p2cread: int
    p2cwrite: int
    c2pread: int
    c2pwrite: int
    errread: int
    errwrite: int
    restore_signals: Any
    gid: Any
    gids: Any
    uid: Any
    umask: Any
    start_new_session: bool
    process_group: Any


class _Nursery:
    """The process that others are forked from. One per session; it starts with the first of them."""

    def __init__(self) -> None:
        self._channel: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()

    def fork(self, request: Mapping[str, Any], files: Sequence[int]) -> int:
        """Fork a process with these files as its first three, and return its id."""
        with self._lock:
            return self._ask(request, files)

    def _ask(self, request: Mapping[str, Any], files: Sequence[int]) -> int:
        if self._channel is None:
            self._channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            with theirs:
                self._process = subprocess.Popen(
                    [sys.executable, "-P", str(Path(__file__).with_name("nursery_process.py")), str(theirs.fileno())],
                    pass_fds=[theirs.fileno()],
                    stdin=subprocess.DEVNULL,
                )
        prctl = ctypes.CDLL(None).prctl
        prctl(_BECOME_REAPER, 1, 0, 0, 0)
        try:
            socket.send_fds(self._channel, [json.dumps(request).encode()], files)
            answer = self._channel.recv(100)
        finally:
            prctl(_BECOME_REAPER, 0, 0, 0, 0)
        assert answer, "the nursery has ended"
        return int(answer)

    def close(self) -> None:
        if self._channel is not None and self._process is not None:
            self._channel.close()
            self._process.wait()


def _of_python(env: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that are read when Python or a library starts."""
    return {name: value for name, value in env.items() if name.startswith(_OF_PYTHON)}


def _may_fork(words: Sequence[str | bytes], options: Mapping[str, Any]) -> bool:
    """Tell whether the process may be forked: the same Python, and nothing that is set before Python starts."""
    first = [*words[2:4]] if words[:2] == ["-W", "error"] else [*words[:2]]
    known = first[0] == "-c" or first == ["-m", "corrobora"]
    env = options.get("env") or os.environ
    return (
        _FORKS
        and known
        and all(isinstance(word, str) and word.isascii() for word in words)
        and set(options) <= _OPTIONS
        and _of_python(env) == _of_python(os.environ)
    )


class _Forked(subprocess.Popen[Any]):
    """A process that the nursery forks; all but its start is that of `Popen`."""

    def _execute_child(self, args: Sequence[str], *given: Any) -> None:
        ends = _Ends(*given)
        request = {
            "words": list(args[1:]),
            "cwd": os.fspath(ends.cwd or Path.cwd()),
            "env": dict(os.environ if ends.env is None else ends.env),
            "session": ends.start_new_session,
        }
        files = [own if given < 0 else given for own, given in enumerate((ends.p2cread, ends.c2pwrite, ends.errwrite))]
        try:
            self.pid = _nursery.fork(request, files)
            self._child_created = True
        finally:
            self._close_pipe_fds(  # type: ignore[attr-defined]
                *(ends.p2cread, ends.p2cwrite, ends.c2pread, ends.c2pwrite, ends.errread, ends.errwrite)
            )


_nursery = _Nursery()


def start_python(words: Sequence[str | bytes], **options: Any) -> subprocess.Popen[Any]:
    """Start Python with these words; options are those of `Popen`."""
    start = _Forked if _may_fork(words, options) else subprocess.Popen
    return start([sys.executable, *words], **options)


def run_python(words: Sequence[str], **options: Any) -> subprocess.CompletedProcess[str]:
    """Run Python with these words to its end, and return what it printed as text."""
    with start_python(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options) as process:
        out, err = process.communicate()
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish() -> None:
    """End the nursery's own process."""
    _nursery.close()
