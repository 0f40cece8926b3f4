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
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TextIO, cast

from corrobora.domain.run import Event, EventType
from corrobora.faces.cli.screen import (
    Screen,
    can_draw,
    count_noun,
    estimate_text,
    fold_event,
    format_count,
    number_field,
    one_line,
    text_field,
    thread_label,
    thread_path,
    write_line,
)
from corrobora.text.phrases import describe_code

if TYPE_CHECKING:
    from corrobora.faces.cli.live import LiveDrawing

EventData = Mapping[str, object]


def plain_line(event: Event) -> str:
    """Return an event as one safe line, or "" if plain output leaves it out."""
    describe = _FORMATTERS.get(event.type)
    text = describe(event.data) if describe else ""
    if not text:
        return ""
    thread = thread_label(thread_path(event.path))
    place = f"[{thread}] " if thread else ""
    turn = f"{event.round}: " if event.round else ""
    return one_line(f"{_GLYPHS[event.type]} {place}{turn}{text}", 300)


def json_line(event: Event, run: str) -> str:
    """Return an event as one line of ASCII JSON; `seq` is the cursor from which a client can resume."""
    envelope = {
        "seq": event.seq,
        "ts": event.at,
        "run": run,
        "node": event.path,
        "round": event.round,
        "type": str(event.type),
        "data": dict(event.data),
    }
    return json.dumps(envelope, default=str)


def _plan_text(data: EventData) -> str:
    if not data:
        return "plan"
    estimate = estimate_text(data)
    shape = f"plan: {count_noun(data, 'depth', 'level')}, {text_field(data, 'tier') or 'complexity not rated'}"
    return f"{shape}; estimate: {estimate}" if estimate else shape


def _thought_text(data: EventData) -> str:
    queries = data.get("queries")
    listed = ", ".join(str(q) for q in cast("list[object]", queries)) if isinstance(queries, list) else ""
    return text_field(data, "text") or listed


def _search_text(data: EventData) -> str:
    return f"{text_field(data, 'provider')}: {text_field(data, 'query')} ({count_noun(data, 'hits', 'hit')})"


def _read_text(data: EventData) -> str:
    outcome = text_field(data, "outcome")
    title = text_field(data, "title").strip("- #") or text_field(data, "url")
    if outcome in ("", "read"):
        return f"{title} ({count_noun(data, 'facts', 'fact')})"
    return f"{title}: {describe_code(outcome)}"


def _round_start_text(data: EventData) -> str:
    """Return the phase and the most rounds; of a thread's first round also what the thread is about."""
    phase = text_field(data, "phase").lower()
    if "max_rounds" not in data:  # stored before events had it
        return ""
    most = f"at most {count_noun(data, 'max_rounds', 'round')}"
    if "title" not in data:
        return f"round begins, {most}: {phase}"
    counts = f"{count_noun(data, 'sub_questions', 'sub-question')}, {count_noun(data, 'subjects', 'subject')}"
    return f"{text_field(data, 'title')}: {counts}, {most}; round begins: {phase}"


def _round_text(data: EventData) -> str:
    gaps = data.get("gaps")
    left = len(cast("list[object]", gaps)) if isinstance(gaps, list) else 0
    stop = text_field(data, "stop")
    seconds = number_field(data, "remaining")
    parts = [f"round over: {count_noun(data, 'new_facts', 'new fact')}", f"{left} gap{'' if left == 1 else 's'}"]
    parts += [f"{seconds:.0f} s left"] if seconds is not None and seconds < 10**6 else []
    parts += [f"stopped: {describe_code(stop)}"] if stop else []
    return ", ".join(parts)


def _verify_text(data: EventData) -> str:
    share = number_field(data, "supported")
    if share is None:
        return "verified"
    return f"{share:.0%} of cited sentences supported, {format_count(data, 'removed')} removed"


def _judge_text(data: EventData) -> str:
    score = number_field(data, "overall")
    return "judged" if score is None else f"judged {score:.2f}"


def _complete_text(data: EventData) -> str:
    if "words" not in data:
        return ""  # the end of one round, which has a line of its own
    words, sources = count_noun(data, "words", "word"), count_noun(data, "sources", "source")
    return f"{describe_code(text_field(data, 'outcome'))}: {words}, {sources} cited"


def _fields_text(*names: str, lead: str = "") -> Callable[[EventData], str]:
    def format_fields(data: EventData) -> str:
        found = text_field(data, *names)
        return f"{lead}{found}" if found or lead else ""

    return format_fields


_FORMATTERS: Mapping[EventType, Callable[[EventData], str]] = {
    EventType.RUN_STARTED: _fields_text("question"),
    EventType.STAGE: _fields_text("stage"),
    EventType.PLAN_PROPOSED: _plan_text,
    EventType.PLAN_AUTHORIZED: _fields_text("by", lead="plan authorized by "),
    EventType.PLAN_REFUSED: _fields_text("why", "reason", lead="plan refused: "),
    EventType.THOUGHT: _thought_text,
    EventType.SEARCH: _search_text,
    EventType.READ: _read_text,
    EventType.DRIFT: _fields_text("why", lead="off the subject, "),
    EventType.PLATEAU: lambda data: f"plateau, level {format_count(data, 'level')}",
    EventType.ESCAPE: lambda data: f"another approach: {describe_code(text_field(data, 'strategy', 'escape'))}",
    EventType.CONTRADICTION: _fields_text("claim", "why", lead="contradiction: "),
    EventType.RETRY: lambda data: (
        f"a call was sent again ({text_field(data, 'role')}): {describe_code(text_field(data, 'why'))}"
        if data.get("role")
        else _fields_text("query", "why", lead="tried again: ")(data)
    ),
    EventType.EXHAUSTED: _fields_text("question", "why", lead="given up: "),
    EventType.ROUND_STARTED: _round_start_text,
    EventType.ROUND_FINISHED: _round_text,
    EventType.FALLBACK: lambda data: (
        f"another analyst took over ({text_field(data, 'role')}): {describe_code(text_field(data, 'why'))}"
    ),
    EventType.VERIFY: _verify_text,
    EventType.JUDGE: _judge_text,
    EventType.LEAF_FAILED: _fields_text("why", lead="failed: "),
    EventType.WARNING: _fields_text("failed", "message", "why"),
    EventType.COMPLETE: _complete_text,
}  # events without a line (facts, budget readings, micro-reports, drafts) are for other displays
_GLYPHS: Mapping[EventType, str] = {
    EventType.RUN_STARTED: "●",
    EventType.STAGE: "▸",
    EventType.PLAN_PROPOSED: "▣",
    EventType.PLAN_AUTHORIZED: "▣",
    EventType.PLAN_REFUSED: "▣",
    EventType.THOUGHT: "…",
    EventType.SEARCH: "⌕",
    EventType.READ: "▤",
    EventType.DRIFT: "≈",
    EventType.PLATEAU: "▁",
    EventType.ESCAPE: "↗",
    EventType.CONTRADICTION: "⚡",
    EventType.RETRY: "↻",
    EventType.EXHAUSTED: "✗",
    EventType.ROUND_STARTED: "◌",
    EventType.ROUND_FINISHED: "○",
    EventType.FALLBACK: "↓",
    EventType.VERIFY: "✓",
    EventType.JUDGE: "✓",
    EventType.LEAF_FAILED: "✗",
    EventType.WARNING: "!",
    EventType.COMPLETE: "■",
}


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
    """One line an event on stderr, no cursor movement: for logs, pipes, dumb and narrow terminals."""

    def launch(self, run: str, artifacts: str) -> None:
        write_line(sys.stderr, f"● run {run}" + (f" in {artifacts}" if artifacts else ""))

    def show(self, event: Event) -> None:
        line = plain_line(event)
        if line:
            write_line(sys.stderr, line)


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
    """A live screen on stderr."""

    def __init__(self, drawing: LiveDrawing) -> None:
        self._drawing = drawing
        self._screen = Screen()

    def launch(self, run: str, artifacts: str) -> None:  # noqa: ARG002 - the closing lines name them
        self._drawing.start()

    def show(self, event: Event) -> None:
        self._screen = fold_event(self._screen, event)
        self._drawing.update(self._screen)
        self._drawing.start()

    def note(self, text: str) -> None:
        self._drawing.note(text)

    def pause(self) -> None:
        self._drawing.stop()

    def close(self, code: int) -> None:  # noqa: ARG002 - the shell shows it
        self._drawing.stop()


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
            return _rich_display() if can_draw(sys.stderr, env, width) else PlainDisplay()


def _rich_display() -> Display:
    from rich.console import Console  # noqa: PLC0415 - loaded only where something is drawn

    from corrobora.faces.cli.live import LiveDrawing  # noqa: PLC0415 - likewise

    began = time.monotonic()
    console = Console(stderr=True, highlight=False)  # honours NO_COLOR and FORCE_COLOR
    return RichDisplay(LiveDrawing(console, lambda: time.monotonic() - began))
