"""The live display on a real (pseudo) terminal: drawn on stderr, the report alone on stdout."""

from __future__ import annotations

import fcntl
import os
import pty
import termios
from typing import Any

import pytest

QUESTION = "When was the bridge at Arnholm opened?"


def _seen(primary: int) -> str:
    parts: list[bytes] = []
    while True:
        try:
            part = os.read(primary, 65_536)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        parts.append(part)
    return b"".join(parts).decode()


def test_a_terminal_gets_a_drawing_with_counts_and_gauge(filled: Any) -> None:
    primary, secondary = pty.openpty()
    env = os.environ | {"TERM": "xterm-256color", "COLUMNS": "100", "LINES": "40"}
    with filled.start(QUESTION, "-l", "docs", "-t", "2", stderr=secondary, env=env) as process:
        os.close(secondary)
        report = process.stdout.read().decode()
        seen = _seen(primary)
    os.close(primary)
    assert process.returncode == 0
    assert report.startswith("# ")
    assert "\x1b" not in report
    assert QUESTION in seen
    assert "/2:00 (reserve 0:36)" in seen
    assert "timed" in seen
    assert " read" in seen
    assert "report   " in seen


def test_no_color_draws_without_colours(filled: Any) -> None:
    primary, secondary = pty.openpty()
    env = os.environ | {"TERM": "xterm-256color", "COLUMNS": "100", "NO_COLOR": "1"}
    with filled.start(QUESTION, "-l", "docs", stderr=secondary, env=env) as process:
        os.close(secondary)
        process.stdout.read()
        seen = _seen(primary)
    os.close(primary)
    assert process.returncode == 0
    assert "\x1b[32m" not in seen
    assert "\x1b[36m" not in seen


@pytest.mark.parametrize(("typed", "code"), [(b"yes\nAuthorized to execute\n", 0), (b"\n", 3), (b"\x03", 3)])
def test_the_plan_gate_takes_only_the_phrase(filled: Any, typed: bytes, code: int) -> None:
    # Ctrl-C leaves the plan waiting (3); before the prompt reads it is an interrupt (130). Neither starts the run.
    primary, secondary = pty.openpty()
    env = os.environ | {"TERM": "xterm-256color", "COLUMNS": "100"}
    streams = {"stdin": secondary, "stderr": secondary}
    with filled.start(QUESTION, "-l", "docs", "-p", "tree", env=env, **streams, preexec_fn=_own_terminal) as process:
        os.close(secondary)
        seen = ""
        while "leaves it waiting" not in seen:
            seen += os.read(primary, 65_536).decode(errors="replace")
        os.write(primary, typed)
        report = process.stdout.read().decode()
        seen += _seen(primary)
    os.close(primary)
    assert process.returncode in ({code, 130} if typed == b"\x03" else {code})
    assert ("1931" in report) == (code == 0)
    assert ("Not authorized" in seen) == (code == 0)
    assert ("corrobora authorize r_" in seen) == (process.returncode == 3)


def _own_terminal() -> None:
    """Make stdin the controlling terminal of the child, so that a typed Ctrl-C is a signal."""
    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
