"""Lines: one event as one line, for people (plain) or for programs (JSONL).

Knows which events a person wants to see, and the envelope of `--display jsonl`. Does not know terminals or counts.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import cast

from corrobora.domain.events import Event, EventType
from corrobora.faces.cli.screen import number, numbered, thread_of, words
from corrobora.faces.cli.terminal import one_line

Data = Mapping[str, object]


def plain_line(event: Event) -> str:
    """Return an event as one safe line, "" for one that plain output leaves out."""
    tell = _TELLERS.get(event.type)
    told = tell(event.data) if tell else ""
    if not told:
        return ""
    thread = numbered(thread_of(event.path))
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


def _plan(data: Data) -> str:
    return f"plan: {_count(data, 'depth')} levels, tier {words(data, 'tier') or 'not rated'}" if data else "plan"


def _thought(data: Data) -> str:
    queries = data.get("queries")
    listed = ", ".join(str(q) for q in cast("list[object]", queries)) if isinstance(queries, list) else ""
    return words(data, "text") or listed


def _search(data: Data) -> str:
    return f"{words(data, 'provider')}: {words(data, 'query')} ({_counted(data, 'hits', 'hit')})"


def _read(data: Data) -> str:
    outcome = words(data, "outcome")
    title = words(data, "title").strip("- #") or words(data, "url")
    if outcome in ("", "read"):
        return f"{title} ({_counted(data, 'facts', 'fact')})"
    return f"{title}: {outcome.replace('_', ' ')}"


def _round(data: Data) -> str:
    gaps = data.get("gaps")
    left = len(cast("list[object]", gaps)) if isinstance(gaps, list) else 0
    stop = words(data, "stop")
    seconds = number(data, "remaining")
    parts = [f"round over: {_counted(data, 'new_facts', 'new fact')}", f"{left} gap{'' if left == 1 else 's'}"]
    parts += [f"{seconds:.0f} s left"] if seconds is not None and seconds < 10**6 else []
    parts += [f"stop: {stop}"] if stop else []
    return ", ".join(parts)


def _verify(data: Data) -> str:
    share = number(data, "supported")
    if share is None:
        return "verified"
    return f"{share:.0%} of cited sentences carried, {_count(data, 'removed')} removed"


def _judge(data: Data) -> str:
    score = number(data, "overall")
    return "judged" if score is None else f"judged {score:.2f}"


def _complete(data: Data) -> str:
    if "words" not in data:
        return ""  # the end of one round, which its own line has told
    return f"{words(data, 'outcome')}: {_counted(data, 'words', 'word')}, {_counted(data, 'sources', 'source')} cited"


def _texts(*names: str, lead: str = "") -> Callable[[Data], str]:
    def tell(data: Data) -> str:
        found = words(data, *names)
        return f"{lead}{found}" if found or lead else ""

    return tell


def _count(data: Data, name: str) -> str:
    value = number(data, name)
    return "?" if value is None else f"{value:g}"


def _counted(data: Data, name: str, noun: str) -> str:
    """Return the number with its noun: 1 fact, 2 facts."""
    return f"{_count(data, name)} {noun}{'' if number(data, name) == 1 else 's'}"


_TELLERS: Mapping[EventType, Callable[[Data], str]] = {
    EventType.RUN_STARTED: _texts("question"),
    EventType.STAGE: _texts("stage"),
    EventType.PLAN_PROPOSED: _plan,
    EventType.PLAN_AUTHORIZED: _texts("by", lead="plan authorized by "),
    EventType.PLAN_REFUSED: _texts("why", "reason", lead="plan refused: "),
    EventType.THOUGHT: _thought,
    EventType.SEARCH: _search,
    EventType.READ: _read,
    EventType.DRIFT: _texts("why", lead="off the subject, "),
    EventType.PLATEAU: lambda data: f"plateau, level {_count(data, 'level')}",
    EventType.ESCAPE: _texts("strategy", "escape", lead="another way: "),
    EventType.CONTRADICTION: _texts("claim", "why", lead="contradiction: "),
    EventType.RETRY: _texts("question", "why", lead="tried again: "),
    EventType.EXHAUSTED: _texts("question", "why", lead="exhausted: "),
    EventType.ROUND_FINISHED: _round,
    EventType.FALLBACK: lambda data: f"{words(data, 'role')} played by another analyst: {words(data, 'why')}",
    EventType.VERIFY: _verify,
    EventType.JUDGE: _judge,
    EventType.LEAF_FAILED: _texts("why", lead="failed: "),
    EventType.WARNING: _texts("failed", "message", "why"),
    EventType.COMPLETE: _complete,
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
