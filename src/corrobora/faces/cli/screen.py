"""The terminal: text made safe to print, streams, log lines, and the plan that a person reads and authorizes there.

Knows escape sequences, text direction, the form of a log line and how a plan is printed. Decides nothing about a plan:
only the words typed here or given to `corrobora authorize` count.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import select
import shutil
import sys
import textwrap
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Literal, TextIO

from corrobora.domain.run import Event
from corrobora.faces.event_text import estimate_text, object_field, object_list, text_field, text_list
from corrobora.text.phrases import format_count
from corrobora.text.tokens import sanitize_text

MIN_WIDTH = 60  # columns below which the live display gives way to lines


def one_line(text: str, limit: int = 200) -> str:
    """Return safe text on one line, cut to `limit` characters."""
    line = " ".join(sanitize_text(text).split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def is_terminal(stream: TextIO | None) -> bool:
    """True if a stream is open and is a terminal."""
    try:
        return stream is not None and stream.isatty()
    except ValueError:  # closed
        return False


def can_draw(stream: TextIO, env: Mapping[str, str], width: int) -> bool:
    """True where a display that redraws itself works: a terminal, not `dumb`, wide enough."""
    return is_terminal(stream) and env.get("TERM", "") not in ("dumb", "") and width >= MIN_WIDTH


def is_narrow(stream: TextIO | None) -> bool:
    """True for a terminal with less columns than a line of ours is made for."""
    return is_terminal(stream) and shutil.get_terminal_size().columns < MIN_WIDTH


class FoldingStream:
    """A narrow terminal: lines are broken between words, and what goes on is indented."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write text; each of its lines is folded by itself."""
        if isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance] - click tries whether it takes bytes
            width = shutil.get_terminal_size().columns
            text = "".join(map(partial(_fold_line, width=width), text.splitlines(keepends=True)))
        return self._stream.write(text)


def _fold_line(line: str, width: int) -> str:
    words = line.rstrip("\n")
    folded = textwrap.fill(words, width, subsequent_indent="  ", break_on_hyphens=False)
    return (folded if len(words) > width else words) + line[len(words) :]


def prepare_streams() -> None:
    """Write UTF-8 whatever the locale says; what cannot be encoded is escaped, never a traceback (bad-input C18).

    A closed stream (`>&-`) leads nowhere: its descriptor may be a file of ours by now. On a narrow terminal lines are
    broken between words.
    """
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # the stream was closed before the start
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 - for the process's life
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="utf-8", errors="backslashreplace")
    for name in ("stdout", "stderr"):
        if is_narrow(stream := getattr(sys, name)) and not isinstance(stream, FoldingStream):
            setattr(sys, name, FoldingStream(stream))


def silence_closed_pipe() -> None:
    """Point stdout at nothing after its reader has gone, so that Python's own last flush stays quiet."""
    _point_at_nothing(1)


def silence_full_streams() -> None:
    """Point streams that take nothing more at nothing: Python's own last flush would replace the exit code by 120."""
    for number, stream in ((1, sys.stdout), (2, sys.stderr)):
        try:
            stream.flush()
        except (OSError, ValueError):  # a full disk; a closed stream
            _point_at_nothing(number)


def _point_at_nothing(number: int) -> None:
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, number)
    os.close(nothing)


def write_line(stream: TextIO | None, line: str) -> None:
    """Write one line at once. An error on stdout ends the command; on stderr it is ignored.

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
    """Write one line for the person on stderr; never fails, even if stderr is closed."""
    write_line(sys.stderr, line)


_MAX_NODES = 80
_STEP_SECONDS = 0.2


def plan_lines(data: Mapping[str, object]) -> list[str]:
    """Return a plan, as its event tells it, as indented lines."""
    root = object_field(object_field(data, "plan") or data, "root")
    lines = list(_node_lines(root, 0)) if root else []
    hidden = len(lines) - _MAX_NODES
    lines = lines if hidden <= 0 else [*lines[:_MAX_NODES], f"  and {format_count(hidden, 'more line')}"]
    return [*lines, *(f"→ {one_line(each, 300)}" for each in text_list(data, "shared"))]


def _node_lines(node: Mapping[str, object], depth: int) -> Iterator[str]:
    mark = "▣" if node.get("children") else "•"
    yield "  " * depth + f"{mark} {one_line(text_field(node, 'title', 'objective'), 120)}"
    for question in object_list(node, "sub_questions"):
        yield "  " * (depth + 1) + f"? {one_line(text_field(question, 'text'), 120)}"
    for child in object_list(node, "children"):
        yield from _node_lines(child, depth + 1)


def read_typed_line() -> str:
    """Return a line from the terminal.

    It waits in steps, because a Ctrl-C just before a blocking read would otherwise be seen only after the read.
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
    if estimate := estimate_text(data):
        write_stderr(f"Estimate: {one_line(estimate, 400)}")
    write_stderr(f'Type "{phrase}" to run this plan; an empty line leaves it waiting.')
    while True:
        try:
            typed = read_typed_line()
        except KeyboardInterrupt:
            return ""
        given = typed.strip()
        if not typed or given in ("", "q", "quit"):
            return ""
        if given.casefold() == phrase.casefold():
            return given
        write_stderr(f'Not authorized. Type exactly "{phrase}", or an empty line.')


_LOG = logging.getLogger("corrobora")
LogForm = Literal["plain", "json"]
_MAX_MESSAGE = 4_000
LOG_FORMS: tuple[LogForm, ...] = ("plain", "json")
_PARTS = ("run", "attempt", "state", "seconds", "searches", "reads", "model_calls", "dollars")  # of a line about a run


def set_up_logs(*, level: int = logging.WARNING, form: LogForm = "plain") -> None:
    """Write the program's log lines from `level` on to stderr, and the warnings of what it uses: no other part does.

    Calling it again keeps the lower level.
    """
    level = min(level, _LOG.level or level)
    handler = _Lines()
    handler.setFormatter(_JsonLines() if form == "json" else _PlainLines())
    reset_logs()
    logging.getLogger().addHandler(handler)
    _LOG.setLevel(level)


def reset_logs() -> None:
    """Take `set_up_logs` back: a program that calls a command line keeps its own log as it was."""
    log = logging.getLogger()
    log.handlers[:] = [each for each in log.handlers if not isinstance(each, _Lines)]
    _LOG.setLevel(logging.NOTSET)


class _Lines(logging.Handler):
    """Writes to what stderr is at that moment; never fails, even if stderr is closed."""

    def emit(self, record: logging.LogRecord) -> None:
        write_stderr(self.format(record))


def _time_of(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class _PlainLines(logging.Formatter):
    """`2026-01-01T00:00:00.000Z INFO run r_…: done`, and an unexpected error indented below: it begins no line."""

    def format(self, record: logging.LogRecord) -> str:
        lines = [f"{_time_of(record)} {record.levelname} {one_line(record.getMessage(), _MAX_MESSAGE)}"]
        if record.exc_info:
            lines += sanitize_text(self.formatException(record.exc_info)).splitlines()
        return "\n  ".join(lines)


class _JsonLines(logging.Formatter):
    """One JSON object a line: time, level, logger, message, and the parts of a line about a run."""

    def format(self, record: logging.LogRecord) -> str:
        value: dict[str, object] = {
            "time": _time_of(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": one_line(record.getMessage(), _MAX_MESSAGE),
        }
        value |= {name: getattr(record, name) for name in _PARTS if hasattr(record, name)}
        if record.exc_info:
            value["traceback"] = self.formatException(record.exc_info)
        return json.dumps(value)
