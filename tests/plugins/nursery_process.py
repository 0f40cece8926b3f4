"""The process of `nursery`: imports what commands need, then forks a process for each request, until nobody asks.

Nothing here runs a loop, a thread or a command itself. A forked process is what Python would be with the words of the
request: its files, folder, environment and signals are set before its first line runs.
"""

from __future__ import annotations

import gc
import io
import json
import os
import random
import runpy
import signal
import socket
import sys
import time
import warnings
from importlib import import_module
from types import ModuleType
from typing import Any

_NEEDED = (
    *("corrobora.faces.cli", "corrobora.faces.cli.request", "corrobora.faces.cli.run", "corrobora.app.attempts"),
    *("corrobora.app.wiring", "corrobora.analysts.extractive", "corrobora.engine.deliver", "corrobora.config.profiles"),
    *("corrobora.storage.index.search", "corrobora.storage.queue.attempts", "corrobora.reporting.html_page"),
    *("corrobora.analysts.extractive.write", "corrobora.analysts.extractive.judge", "procrastinate", "numpy"),
)
_MOST_BYTES = 1_000_000


def main(channel: socket.socket) -> None:
    """Serve requests; in a forked process return from here, so that it ends as any other."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as the command itself does: no threads before a fork
    for name in _NEEDED:
        import_module(name)
    gc.collect()
    gc.freeze()
    while True:
        data, files, *_ = socket.recv_fds(channel, _MOST_BYTES, 3)
        if not data:
            return
        reading, writing = os.pipe()
        middle = os.fork()
        if middle == 0:
            pid = os.fork()
            if pid == 0:
                channel.close()
                os.close(reading)
                os.close(writing)
                become_process(json.loads(data), files)
                return
            os.write(writing, str(pid).encode())
            os._exit(0)
        os.close(writing)
        for each in files:
            os.close(each)
        os.waitpid(middle, 0)  # now the command is a child of the tests
        channel.send(os.read(reading, 100))
        os.close(reading)


def become_process(request: dict[str, Any], files: list[int]) -> None:
    """Be the process that was asked for, and run what it shall."""
    if request["session"]:
        os.setsid()
    for own, given in enumerate(files):
        os.dup2(given, own)
        os.close(given)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    signal.signal(signal.SIGINT, signal.default_int_handler)
    random.seed()
    time.tzset()
    sys.stdin = _open_stream(0, "r", sys.stdin)
    sys.stdout = sys.__stdout__ = _open_stream(1, "w", sys.stdout)
    sys.stderr = sys.__stderr__ = _open_stream(2, "w", sys.stderr)
    run_words(request["words"])


def run_words(words: list[str]) -> None:
    """Do what Python does with the words behind its name."""
    if words[0] == "-W":
        warnings.simplefilter(words[1])  # type: ignore[arg-type]
        words = words[2:]
    kind, what, *_ = words
    sys.argv = [kind, *words[2:]]
    sys.path.insert(0, "" if kind == "-c" else os.getcwd())  # noqa: PTH109 - as Python writes it
    if kind == "-m":
        runpy.run_module(what, run_name="__main__", alter_sys=True)
    else:
        sys.modules["__main__"] = ModuleType("__main__")
        exec(compile(what, "<string>", "exec"), vars(sys.modules["__main__"]))


def _open_stream(number: int, mode: str, like: Any) -> io.TextIOWrapper:
    """Open a standard stream as Python does when it starts."""
    raw = os.fdopen(number, mode + "b", closefd=False)
    lines = mode == "w" and (number == 2 or os.isatty(number))
    return io.TextIOWrapper(raw, encoding=like.encoding, errors=like.errors, line_buffering=lines)


if __name__ == "__main__":
    main(socket.socket(fileno=int(sys.argv[1])))
