"""Displays: who listens to a run on the command line, chosen once by flag and terminal.

Knows rich, plain, JSONL and none. Does not know runs: it is given events and notes.

`rich` and `plain` write to stderr, so that stdout holds the report alone. `jsonl` writes one event a line to stdout, in
place of the report, between a `launch` line and a `done` line; together with `--json` it writes them to stderr, because
stdout is then one JSON document.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol, TextIO

from corrobora.domain.events import Event
from corrobora.faces.cli.lines import json_line, plain_line
from corrobora.faces.cli.screen import Screen, fold_event
from corrobora.faces.cli.terminal import can_draw, one_line, write_line

if TYPE_CHECKING:
    from corrobora.faces.cli.live import LiveDrawing


class Display(Protocol):
    """Shows one run."""

    def launch(self, run: str, artifacts: str) -> None:
        """The run is known by its id now, and its files will lie in `artifacts`."""
        ...

    def show(self, event: Event) -> None:
        """One more event."""
        ...

    def note(self, text: str) -> None:
        """A line for the person, not part of the log."""
        ...

    def pause(self) -> None:
        """Leave the terminal to others; the next event takes it back."""
        ...

    def close(self, code: int) -> None:
        """The command ends with this exit code."""
        ...


class SilentDisplay:
    """Shows nothing but notes."""

    def launch(self, run: str, artifacts: str) -> None:
        """Nothing to show."""

    def show(self, event: Event) -> None:
        """Nothing to show."""

    def note(self, text: str) -> None:
        """A line on stderr."""
        write_line(sys.stderr, f"corrobora: {one_line(text, 1_000)}")

    def pause(self) -> None:
        """Nothing is held."""

    def close(self, code: int) -> None:
        """Nothing to show."""


class PlainDisplay(SilentDisplay):
    """One line an event on stderr, no cursor movement: for logs, pipes, dumb and narrow terminals."""

    def launch(self, run: str, artifacts: str) -> None:
        """Say where the run is kept."""
        write_line(sys.stderr, f"● run {run}" + (f" in {artifacts}" if artifacts else ""))

    def show(self, event: Event) -> None:
        """One line, if a person wants to see this event."""
        line = plain_line(event)
        if line:
            write_line(sys.stderr, line)


class JsonlDisplay(SilentDisplay):
    """One event a line, for programs."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._run = ""

    def launch(self, run: str, artifacts: str) -> None:
        """The first line: the hand-off."""
        self._run = run
        self._write_json({"event": "launch", "run_id": run, "artifacts": artifacts})

    def show(self, event: Event) -> None:
        """The event's envelope."""
        write_line(self._stream, json_line(event, self._run))

    def close(self, code: int) -> None:
        """The last line."""
        self._write_json({"event": "done", "run_id": self._run, "exit": int(code)})

    def _write_json(self, value: Mapping[str, object]) -> None:
        write_line(self._stream, json.dumps(value))


class RichDisplay(SilentDisplay):
    """A live screen on stderr."""

    def __init__(self, drawing: LiveDrawing) -> None:
        self._drawing = drawing
        self._screen = Screen()

    def launch(self, run: str, artifacts: str) -> None:  # noqa: ARG002 - the closing lines name them
        """Begin to draw."""
        self._drawing.start()

    def show(self, event: Event) -> None:
        """Fold the event into the screen."""
        self._screen = fold_event(self._screen, event)
        self._drawing.update(self._screen)
        self._drawing.start()

    def note(self, text: str) -> None:
        """A line below the screen."""
        self._drawing.note(text)

    def pause(self) -> None:
        """Leave the last screen standing."""
        self._drawing.stop()

    def close(self, code: int) -> None:  # noqa: ARG002 - the shell shows it
        """Leave the last screen standing."""
        self._drawing.stop()


def choose_display(wanted: str, *, as_json: bool, env: Mapping[str, str] | None = None) -> Display:
    """Return the display for `--display` (auto, rich, plain, jsonl, none); rich only where it can be drawn."""
    env = os.environ if env is None else env
    width = shutil.get_terminal_size().columns
    match wanted:
        case "jsonl":
            return JsonlDisplay(sys.stderr if as_json else sys.stdout)
        case "none":
            return SilentDisplay()
        case "plain":
            return PlainDisplay()
        case _:
            return _rich_display() if can_draw(sys.stderr, env, width) else PlainDisplay()


def _rich_display() -> Display:
    from rich.console import Console  # noqa: PLC0415 - loaded only where something is drawn

    from corrobora.faces.cli.live import LiveDrawing  # noqa: PLC0415 - likewise

    began = time.monotonic()
    console = Console(stderr=True, highlight=False)  # honours NO_COLOR and FORCE_COLOR
    return RichDisplay(LiveDrawing(console, lambda: time.monotonic() - began))
