"""The terminal: what it can show, and text made safe for it.

Knows escape sequences, text direction, width, colour and closed pipes. Does not know what is shown.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TextIO

_ESCAPE_SEQUENCES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # colours, cursor movement
    r"|\x1b[\]PX^_][^\x07\x1b\x9c]{0,4096}(?:\x07|\x1b\\|\x9c)"  # titles, hyperlinks, device control
    r"|\x1b[ -/]*[0-~]?"  # the short ones, and a lone ESC
)
_CONTROL_CHARACTERS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 without tab and line feed, DEL, C1
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # text direction
    "\U000e0000-\U000e007f]"  # tag characters
)
MIN_WIDTH = 60  # columns below which the live display gives way to lines


def sanitize_text(text: str) -> str:
    """Return `text` without anything a terminal would obey: escape sequences, control and direction characters."""
    return _CONTROL_CHARACTERS.sub("", _ESCAPE_SEQUENCES.sub("", text.replace("\r\n", "\n")))


def one_line(text: str, limit: int = 200) -> str:
    """Return safe text on one line, cut to `limit` characters."""
    line = " ".join(sanitize_text(text).split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def is_terminal(stream: TextIO | None) -> bool:
    """True if a stream is open and leads to a terminal."""
    try:
        return stream is not None and stream.isatty()
    except ValueError:  # closed
        return False


def can_draw(stream: TextIO, env: Mapping[str, str], width: int) -> bool:
    """True where a display that redraws itself works: a terminal, not `dumb`, wide enough."""
    return is_terminal(stream) and env.get("TERM", "") not in ("dumb", "") and width >= MIN_WIDTH


def prepare_streams() -> None:
    """Write UTF-8 whatever the locale says; what cannot be encoded is escaped, never a traceback (C18).

    A closed stream (`>&-`) leads nowhere: its descriptor may be a file of ours by now.
    """
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # Python's own sign of a stream that was closed before the start
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 - for the process's life
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="utf-8", errors="backslashreplace")


def silence_closed_pipe() -> None:
    """Point stdout at nothing after its reader has gone, so that Python's own last flush stays quiet."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    os.close(nothing)


def write_line(stream: TextIO | None, line: str) -> None:
    """Write one line at once. On stdout a reader that has gone or a full disk ends the command, on stderr not.

    Progress that nobody can read is no reason to lose a report.
    """
    try:
        if stream is not None:
            stream.write(line + "\n")
            stream.flush()
    except OSError:
        if stream is sys.stdout:
            raise
    except ValueError:  # closed
        return


def write_stderr(line: str) -> None:
    """Write one line for the person on stderr; never fails because nobody listens."""
    write_line(sys.stderr, line)
