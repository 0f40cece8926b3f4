"""Events for people: what each one says in one sentence, its sign, and the fields of its data read without failing.

Knows the data of every type of event. Does not know where the sentence is shown: a face makes it safe to print.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple, cast

from corrobora.domain.run import Event, EventType
from corrobora.text.phrases import describe_code, describe_stop, format_count

EventData = Mapping[str, object]


def describe_event(event: Event) -> str:
    """Return what an event says in one sentence of unchecked text, "" if there is nothing to say of it."""
    describe = _SHOWN.get(event.type, _NOT_SHOWN).describe
    return describe({"round": event.round, **event.data}) if describe else ""


def event_sign(event: Event) -> str:
    """Return the sign before the sentence of an event."""
    return _SHOWN.get(event.type, _NOT_SHOWN).sign


TURN = re.compile(r"~(\d+)")  # a node in a later iteration: "root/1~2"


def event_group(event: Event) -> str:
    """Return the group by which lines are filtered: thought, search, read, fact, decision, else warn."""
    return _SHOWN.get(event.type, _NOT_SHOWN).group


def thread_label(path: str) -> str:
    """Return the place of a thread in the plan for a reader: "1, turn 2" of "root/1~2"."""
    return TURN.sub(r", turn \1", path.removeprefix("root").strip("/"))


def thread_path(path: str) -> str:
    """Return the thread's path of an event's path: `root/1` of `root/1/round/2`."""
    return path.partition("/round/")[0] or "root"


def iter_leaves(node: EventData) -> Iterator[EventData]:
    """Yield the leaves below a node of a plan as its event tells it, in order; itself if it has no children."""
    children = object_list(node, "children")
    if not children:
        yield node
    for child in children:
        yield from iter_leaves(child)


def _plan_text(data: EventData) -> str:
    if not data:
        return "plan"
    estimate = estimate_text(data)
    tasks = len(list(iter_leaves(object_field(object_field(data, "plan"), "root"))))
    depth = count_noun(data, "depth", "level") if number_field(data, "depth") else ""
    tier = text_field(data, "tier") or "complexity not rated"
    shape = f"plan: {format_count(tasks, 'task')}{f' in {depth}' if depth else ''}, {tier}"
    return f"{shape}; estimate: {estimate}" if estimate else shape


def _thought_text(data: EventData) -> str:
    return text_field(data, "text") or ", ".join(text_list(data, "queries"))


def _search_text(data: EventData) -> str:
    return f"{text_field(data, 'provider')}: {text_field(data, 'query')} ({count_noun(data, 'hits', 'hit')})"


def _read_text(data: EventData) -> str:
    outcome = text_field(data, "outcome")
    title = text_field(data, "title").strip("- #") or text_field(data, "url")
    if outcome in ("", "read"):
        note = text_field(data, "note")
        return f"{title} ({count_noun(data, 'facts', 'fact')}{f'; {note}' if note else ''})"
    return f"{title}: {describe_code(outcome)}"


def _round_start_text(data: EventData) -> str:
    """Return the phase and the most rounds; of a thread's first round also what the thread is about."""
    phase = text_field(data, "phase").lower()
    if "max_rounds" not in data:  # stored before events had it
        return ""
    most = f"at most {count_noun(data, 'max_rounds', 'round')}"
    if "title" not in data:
        return f"{_round_name(data)} begins, {most}: {phase}"
    counts = f"{count_noun(data, 'sub_questions', 'sub-question')}, {count_noun(data, 'subjects', 'subject')}"
    return f"{text_field(data, 'title')}: {counts}, {most}; {_round_name(data)} begins: {phase}"


def _round_name(data: EventData) -> str:
    return "round" if number_field(data, "round") is None else f"round {number_text(data, 'round')}"


def _round_text(data: EventData) -> str:
    left = item_count(data, "gaps") or 0
    stop = text_field(data, "stop")
    seconds = number_field(data, "remaining")
    parts = [f"{_round_name(data)} over: {count_noun(data, 'new_facts', 'new fact')}", format_count(left, "gap")]
    parts += [f"{seconds:.0f} s left"] if seconds is not None and seconds < 10**6 else []
    parts += [f"stopped: {describe_stop(stop)}"] if stop else []
    return ", ".join(parts)


def _contradiction_text(data: EventData) -> str:
    """Return what differs, and one side: "contradiction, 35 -> 38 minutes: The crossing takes 35 minutes."."""
    difference = text_field(data, "difference").replace(" -> ", " → ")
    return f"contradiction{f', {difference}' if difference else ''}: {text_field(data, 'claim', 'why')}"


def _verify_text(data: EventData) -> str:
    share = number_field(data, "supported")
    if share is None:
        return "verified"
    return f"{share:.0%} of cited sentences supported, {number_text(data, 'removed')} removed"


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


class _Shown(NamedTuple):
    """How a type of event is shown: its sign, the group by which lines are filtered, and its sentence."""

    sign: str
    group: str
    describe: Callable[[EventData], str] | None = None


def _retry_text(data: EventData) -> str:
    if data.get("role"):
        return f"a call was sent again ({text_field(data, 'role')}): {describe_code(text_field(data, 'why'))}"
    return _fields_text("query", "why", lead="tried again: ")(data)


def _plateau_text(data: EventData) -> str:
    return f"plateau, level {number_text(data, 'level')}"


def _escape_text(data: EventData) -> str:
    return f"another approach: {describe_code(text_field(data, 'strategy', 'escape'))}"


def _fallback_text(data: EventData) -> str:
    return f"another analyst took over ({text_field(data, 'role')}): {describe_code(text_field(data, 'why'))}"


_SHOWN: Mapping[EventType, _Shown] = {  # without a sentence (facts, drafts): for other displays
    EventType.RUN_STARTED: _Shown("●", "decision", _fields_text("question")),
    EventType.STAGE: _Shown("▸", "decision", _fields_text("stage")),
    EventType.PLAN_PROPOSED: _Shown("▣", "decision", _plan_text),
    EventType.PLAN_AUTHORIZED: _Shown("▣", "decision", _fields_text("by", lead="plan authorized by ")),
    EventType.THOUGHT: _Shown("…", "thought", _thought_text),
    EventType.SEARCH: _Shown("⌕", "search", _search_text),
    EventType.READ: _Shown("▤", "read", _read_text),
    EventType.FACT: _Shown("+", "fact"),
    EventType.DECISION: _Shown("·", "decision"),
    EventType.DRIFT: _Shown("≈", "warn", _fields_text("why", lead="off the subject, ")),
    EventType.PLATEAU: _Shown("▁", "decision", _plateau_text),
    EventType.ESCAPE: _Shown("↗", "decision", _escape_text),
    EventType.CONTRADICTION: _Shown("⚡", "decision", _contradiction_text),
    EventType.RETRY: _Shown("↻", "warn", _retry_text),
    EventType.EXHAUSTED: _Shown("✗", "warn", _fields_text("question", "why", lead="given up: ")),
    EventType.ROUND_STARTED: _Shown("◌", "decision", _round_start_text),
    EventType.ROUND_FINISHED: _Shown("○", "decision", _round_text),
    EventType.FALLBACK: _Shown("↓", "warn", _fallback_text),
    EventType.VERIFY: _Shown("✓", "decision", _verify_text),
    EventType.JUDGE: _Shown("✓", "decision", _judge_text),
    EventType.LEAF_FAILED: _Shown("✗", "warn", _fields_text("why", lead="failed: ")),
    EventType.WARNING: _Shown("!", "warn", _fields_text("failed", "message", "why")),
    EventType.COMPLETE: _Shown("■", "decision", _complete_text),
}
_NOT_SHOWN = _Shown("·", "warn")


def text_field(data: EventData, *names: str) -> str:
    """Return the first of some fields that is a text, "" if none is."""
    return next((value for name in names if isinstance(value := data.get(name), str) and value), "")


def estimate_text(data: EventData) -> str:
    """Return the estimate that the event of a plan carries, as one sentence; "" if nothing is paid."""
    return text_field(object_field(data, "estimate"), "text")


def item_count(data: EventData, name: str) -> int | None:
    """Return how many items a field lists, or the number that it holds; None if it is neither."""
    value = data.get(name)
    if isinstance(value, (list, tuple)):
        return len(value)  # pyright: ignore[reportUnknownArgumentType]
    return value if isinstance(value, int) else None


def number_field(data: EventData, *names: str) -> float | None:
    """Return the first of some fields that is a number, None if none is."""
    found = (data.get(name) for name in names)
    return next((float(v) for v in found if isinstance(v, (int, float)) and not isinstance(v, bool)), None)


def number_text(data: EventData, name: str) -> str:
    """Return the number in a field, "?" without one."""
    value = number_field(data, name)
    return "?" if value is None else f"{value:g}"


def count_noun(data: EventData, name: str, noun: str) -> str:
    """Return the number in a field with its noun: 1 fact, 2 facts."""
    value = number_field(data, name)
    return f"? {noun}s" if value is None else format_count(int(value), noun)


def object_field(data: EventData, name: str) -> EventData:
    """Return an object inside an object, empty if there is none."""
    value = data.get(name)
    return cast("EventData", value) if isinstance(value, Mapping) else {}


def object_list(data: EventData, name: str) -> list[EventData]:
    """Return the objects of a list inside an object, empty if there is none."""
    value = data.get(name)
    items = cast("list[object]", value) if isinstance(value, (list, tuple)) else []
    return [cast("EventData", item) for item in items if isinstance(item, Mapping)]


def text_list(data: EventData, name: str) -> tuple[str, ...]:
    """Return the texts of a list inside an object, empty if there is none."""
    value = data.get(name)
    items = cast("list[object]", value) if isinstance(value, (list, tuple)) else []
    return tuple(item for item in items if isinstance(item, str))


def format_clock(seconds: float) -> str:
    """Return seconds as minutes and seconds, with hours from one on."""
    minutes, left = divmod(max(0, int(seconds)), 60)
    hours, rest = divmod(minutes, 60)
    return f"{hours}:{rest:02d}:{left:02d}" if hours else f"{minutes}:{left:02d}"
