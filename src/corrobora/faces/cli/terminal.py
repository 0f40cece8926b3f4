"""The terminal: what it can show, and text made safe for it.

Knows escape sequences, text direction, width, colour and closed pipes. Does not know what is shown.

The plan gate on a terminal: the plan as text, and the words of the person.

Knows how a plan is shown and asked about. Does not decide: only the words typed here, or `corrobora authorize`, count.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TextIO, cast

from corrobora.domain.run import Event
from corrobora.faces.cli.screen import text_field

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
    """Write UTF-8 whatever the locale says; what cannot be encoded is escaped, never a traceback (bad-input C18).

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


_MAX_NODES = 80
_STEP_SECONDS = 0.2


def plan_lines(data: Mapping[str, object]) -> list[str]:
    """Return a plan, as its event tells it, as indented lines."""
    nested = data.get("plan")
    plan = cast("Mapping[str, object]", nested) if isinstance(nested, Mapping) else data
    root = plan.get("root")
    if not isinstance(root, Mapping):
        return []
    lines = list(_node_lines(cast("Mapping[str, object]", root), 0))
    hidden = len(lines) - _MAX_NODES
    return lines if hidden <= 0 else [*lines[:_MAX_NODES], f"  and {hidden} more lines"]


def _node_lines(node: Mapping[str, object], depth: int) -> Iterator[str]:
    mark = "▣" if node.get("children") else "•"
    yield "  " * depth + f"{mark} {one_line(text_field(node, 'title', 'objective'), 120)}"
    for question in _child_objects(node, "sub_questions"):
        yield "  " * (depth + 1) + f"? {one_line(text_field(question, 'text'), 120)}"
    for child in _child_objects(node, "children"):
        yield from _node_lines(child, depth + 1)


def _child_objects(node: Mapping[str, object], name: str) -> list[Mapping[str, object]]:
    value = node.get(name)
    if not isinstance(value, (list, tuple)):
        return []
    return [cast("Mapping[str, object]", item) for item in cast("list[object]", value) if isinstance(item, Mapping)]


def _read_typed_line() -> str:
    """Return a line from the terminal.

    Waited for in steps: a Ctrl-C that comes in the moment before a read blocks is otherwise seen only after the read.
    """
    with contextlib.suppress(OSError, ValueError):  # where a terminal cannot be waited for
        while not select.select([sys.stdin], [], [], _STEP_SECONDS)[0]:
            pass
    return sys.stdin.readline()


def ask_authorization(event: Event | None, phrase: str) -> str:
    """Show the plan on stderr and return what the person typed: the phrase authorizes, anything else does not.

    An empty line, `q`, Ctrl-C or the end of the input leaves the plan waiting.
    """
    data: Mapping[str, object] = event.data if event is not None else {}
    for line in plan_lines(data):
        write_stderr(line)
    write_stderr(f'Type "{phrase}" to run this plan; an empty line leaves it waiting.')
    while True:
        try:
            typed = _read_typed_line()
        except KeyboardInterrupt:
            return ""
        given = typed.strip()
        if not typed or given in ("", "q", "quit"):
            return ""
        if given.casefold() == phrase.casefold():
            return given
        write_stderr(f'Not authorized. Type exactly "{phrase}", or an empty line.')
