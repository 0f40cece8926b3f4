"""Log lines of the program on stderr: plain or as JSON, from warnings on or, with `--verbose`, all of them.

Knows the format of a line. Events of a run are no log lines: `--display jsonl` prints those. What a line says is
cleaned of terminal controls, because a message may quote a server or a document.
"""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from typing import Literal

from corrobora.faces.cli.screen import write_stderr
from corrobora.text.tokens import sanitize_text

_LOG = logging.getLogger("corrobora")
LogForm = Literal["plain", "json"]
LOG_FORMS: tuple[LogForm, ...] = ("plain", "json")
_PARTS = ("run", "attempt", "state", "seconds", "searches", "reads", "model_calls", "dollars")  # of a line about a run


def set_up_logs(*, level: int = logging.WARNING, form: LogForm = "plain") -> None:
    """Write the program's log lines from `level` on to stderr; calling it again keeps the lower level."""
    level = min(level, _LOG.level or level)
    handler = _Lines()
    handler.setFormatter(_JsonLines() if form == "json" else _PlainLines())
    reset_logs()
    _LOG.addHandler(handler)
    _LOG.setLevel(level)


def reset_logs() -> None:
    """Take `set_up_logs` back: a program that calls a command line keeps its own log as it was."""
    _LOG.handlers[:] = [each for each in _LOG.handlers if not isinstance(each, _Lines)]
    _LOG.setLevel(logging.NOTSET)


class _Lines(logging.Handler):
    """Writes to what stderr is at that moment; never fails because nobody listens."""

    def emit(self, record: logging.LogRecord) -> None:
        write_stderr(self.format(record))


def _time_of(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class _PlainLines(logging.Formatter):
    """`2026-01-01T00:00:00.000Z INFO run r_…: done`, with the traceback of an unexpected error below."""

    def format(self, record: logging.LogRecord) -> str:
        lines = [f"{_time_of(record)} {record.levelname} {' '.join(sanitize_text(record.getMessage()).split())}"]
        if record.exc_info:
            lines.append(sanitize_text(self.formatException(record.exc_info)))
        return "\n".join(lines)


class _JsonLines(logging.Formatter):
    """One JSON object a line: time, level, logger, message, and the parts of a line about a run."""

    def format(self, record: logging.LogRecord) -> str:
        value: dict[str, object] = {
            "time": _time_of(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": sanitize_text(record.getMessage()),
        }
        value |= {name: getattr(record, name) for name in _PARTS if hasattr(record, name)}
        if record.exc_info:
            value["traceback"] = self.formatException(record.exc_info)
        return json.dumps(value)
