"""The displays of a run: rich, plain, JSONL and none, chosen once by flag and terminal.

Knows how an event becomes a line, and which events a person wants to see. Does not know runs, only events and notes.
`rich` and `plain` write to stderr, so that stdout holds only the report; `jsonl` writes one event a line to
stdout instead of the report, or to stderr if `--json` needs stdout.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from collections.abc import Mapping
from typing import TextIO

from corrobora.domain.run import Event, EventType
from corrobora.faces.cli.screen import can_draw, one_line, write_line
from corrobora.faces.event_text import describe_event, event_sign, thread_label, thread_path
from corrobora.faces.run_view import RunView, fold_event


def plain_line(event: Event) -> str:
    """Return an event as one safe line, or "" if plain output leaves it out."""
    text = describe_event(event)
    if not text:
        return ""
    thread = thread_label(thread_path(event.path))
    place = f"[{thread}] " if thread else ""
    return one_line(f"{event_sign(event)} {place}{text}", 300)


def json_line(event: Event, run: str) -> str:
    """Return an event as one line of ASCII JSON."""
    return json.dumps({**event.as_json(), "run": run}, default=str)


class Display:
    """Shows one run; this one shows only notes."""

    def launch(self, run: str, artifacts: str) -> None:
        """Show that the run has its id and that its files will be in `artifacts`."""

    def show(self, event: Event) -> None:
        """Show one more event."""

    def note(self, text: str) -> None:
        """Show a line for the person that is not part of the log."""
        write_line(sys.stderr, f"corrobora: {one_line(text, 1_000)}")

    def pause(self) -> None:
        """Release the terminal until the next event."""

    def close(self, code: int) -> None:
        """Show that the command ends with this exit code."""


class PlainDisplay(Display):
    """One line an event on stderr, no cursor movement: for logs, pipes, dumb and narrow terminals.

    A warning is printed once, however often the same happens: a search engine that is down fails in every round.
    """

    def __init__(self) -> None:
        self._warned: set[str] = set()

    def launch(self, run: str, artifacts: str) -> None:
        write_line(sys.stderr, f"● run {run}" + (f" in {artifacts}" if artifacts else ""))

    def show(self, event: Event) -> None:
        line = plain_line(event)
        if line and line not in self._warned:
            write_line(sys.stderr, line)
        self._warned |= {line} if event.type is EventType.WARNING else set()


class JsonlDisplay(Display):
    """One event a line, for programs."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._run = ""

    def launch(self, run: str, artifacts: str) -> None:
        self._run = run
        self._write_json({"event": "launch", "run_id": run, "artifacts": artifacts})

    def show(self, event: Event) -> None:
        write_line(self._stream, json_line(event, self._run))

    def close(self, code: int) -> None:
        self._write_json({"event": "done", "run_id": self._run, "exit": int(code)})

    def _write_json(self, value: Mapping[str, object]) -> None:
        write_line(self._stream, json.dumps(value))


class RichDisplay(Display):
    """A live screen on stderr, which redraws itself from the first event until it is closed."""

    def __init__(self) -> None:
        from rich.console import Console  # noqa: PLC0415 - loaded only where something is drawn
        from rich.live import Live  # noqa: PLC0415 - likewise

        from corrobora.faces.cli.live import render_screen  # noqa: PLC0415 - likewise

        began = time.monotonic()
        self._view = RunView()
        self._note = ""
        self._live = Live(
            get_renderable=lambda: render_screen(self._view, time.monotonic() - began, note=self._note),
            console=Console(stderr=True, highlight=False),  # honours NO_COLOR and FORCE_COLOR
            refresh_per_second=4,
            redirect_stdout=False,
        )

    def launch(self, run: str, artifacts: str) -> None:  # noqa: ARG002 - the closing lines name them
        self._live.start()

    def show(self, event: Event) -> None:
        self._view = fold_event(self._view, event)
        self._live.start()

    def note(self, text: str) -> None:
        self._note = text

    def pause(self) -> None:
        self._live.stop()  # the last screen stays visible

    def close(self, code: int) -> None:  # noqa: ARG002 - the shell shows it
        self._live.stop()


def choose_display(wanted: str, *, as_json: bool, env: Mapping[str, str] | None = None) -> Display:
    """Return the display for `--display` (auto, rich, plain, jsonl, none); rich only where it can be drawn."""
    env = os.environ if env is None else env
    width = shutil.get_terminal_size().columns
    match wanted:
        case "jsonl":
            return JsonlDisplay(sys.stderr if as_json else sys.stdout)
        case "none":
            return Display()
        case "plain":
            return PlainDisplay()
        case _:
            return RichDisplay() if can_draw(sys.stderr, env, width) else PlainDisplay()
