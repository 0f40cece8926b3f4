"""Lines: one event as one line, for people (plain) or for programs (JSONL).

Knows which events a person wants to see, and the envelope of `--display jsonl`. Does not know terminals or counts.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import cast

from corrobora.domain.events import Event, EventType
from corrobora.faces.cli.screen import number_field, text_field, thread_label, thread_path
from corrobora.faces.cli.terminal import one_line

EventData = Mapping[str, object]


def plain_line(event: Event) -> str:
    """Return an event as one safe line, "" for one that plain output leaves out."""
    tell = _FORMATTERS.get(event.type)
    told = tell(event.data) if tell else ""
    if not told:
        return ""
    thread = thread_label(thread_path(event.path))
    place = f"[{thread}] " if thread else ""
    turn = f"{event.round}: " if event.round else ""
    return one_line(f"{_GLYPHS[event.type]} {place}{turn}{told}", 240)


def json_line(event: Event, run: str) -> str:
    """Return the envelope of an event as one line of ASCII JSON; `seq` is the cursor of a resume."""
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
    return (
        f"plan: {_format_count(data, 'depth')} levels, tier {text_field(data, 'tier') or 'not rated'}"
        if data
        else "plan"
    )


def _thought_text(data: EventData) -> str:
    queries = data.get("queries")
    listed = ", ".join(str(q) for q in cast("list[object]", queries)) if isinstance(queries, list) else ""
    return text_field(data, "text") or listed


def _search_text(data: EventData) -> str:
    return f"{text_field(data, 'provider')}: {text_field(data, 'query')} ({_count_with_noun(data, 'hits', 'hit')})"


def _read_text(data: EventData) -> str:
    outcome = text_field(data, "outcome")
    title = text_field(data, "title").strip("- #") or text_field(data, "url")
    if outcome in ("", "read"):
        return f"{title} ({_count_with_noun(data, 'facts', 'fact')})"
    return f"{title}: {outcome.replace('_', ' ')}"


def _round_text(data: EventData) -> str:
    gaps = data.get("gaps")
    left = len(cast("list[object]", gaps)) if isinstance(gaps, list) else 0
    stop = text_field(data, "stop")
    seconds = number_field(data, "remaining")
    parts = [f"round over: {_count_with_noun(data, 'new_facts', 'new fact')}", f"{left} gap{'' if left == 1 else 's'}"]
    parts += [f"{seconds:.0f} s left"] if seconds is not None and seconds < 10**6 else []
    parts += [f"stop: {stop}"] if stop else []
    return ", ".join(parts)


def _verify_text(data: EventData) -> str:
    share = number_field(data, "supported")
    if share is None:
        return "verified"
    return f"{share:.0%} of cited sentences carried, {_format_count(data, 'removed')} removed"


def _judge_text(data: EventData) -> str:
    score = number_field(data, "overall")
    return "judged" if score is None else f"judged {score:.2f}"


def _complete_text(data: EventData) -> str:
    if "words" not in data:
        return ""  # the end of one round, which its own line has told
    return f"{text_field(data, 'outcome')}: {_count_with_noun(data, 'words', 'word')}, {_count_with_noun(data, 'sources', 'source')} cited"


def _fields_text(*names: str, lead: str = "") -> Callable[[EventData], str]:
    def format_fields(data: EventData) -> str:
        found = text_field(data, *names)
        return f"{lead}{found}" if found or lead else ""

    return format_fields


def _format_count(data: EventData, name: str) -> str:
    value = number_field(data, name)
    return "?" if value is None else f"{value:g}"


def _count_with_noun(data: EventData, name: str, noun: str) -> str:
    """Return the number with its noun: 1 fact, 2 facts."""
    return f"{_format_count(data, name)} {noun}{'' if number_field(data, name) == 1 else 's'}"


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
    EventType.PLATEAU: lambda data: f"plateau, level {_format_count(data, 'level')}",
    EventType.ESCAPE: _fields_text("strategy", "escape", lead="another way: "),
    EventType.CONTRADICTION: _fields_text("claim", "why", lead="contradiction: "),
    EventType.RETRY: _fields_text("question", "why", lead="tried again: "),
    EventType.EXHAUSTED: _fields_text("question", "why", lead="exhausted: "),
    EventType.ROUND_FINISHED: _round_text,
    EventType.FALLBACK: lambda data: f"{text_field(data, 'role')} played by another analyst: {text_field(data, 'why')}",
    EventType.VERIFY: _verify_text,
    EventType.JUDGE: _judge_text,
    EventType.LEAF_FAILED: _fields_text("why", lead="failed: "),
    EventType.WARNING: _fields_text("failed", "message", "why"),
    EventType.COMPLETE: _complete_text,
}  # what has no line (facts, budget readings, micro-reports, drafts) is for other displays
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
    EventType.ROUND_FINISHED: "○",
    EventType.FALLBACK: "↓",
    EventType.VERIFY: "✓",
    EventType.JUDGE: "✓",
    EventType.LEAF_FAILED: "✗",
    EventType.WARNING: "!",
    EventType.COMPLETE: "■",
}
