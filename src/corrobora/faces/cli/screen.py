"""What a person watches on a terminal: the state of a run as a pure fold of its event log, and text made safe to print.

Knows events, counts, escape sequences, text direction and how a plan is printed. Does not know the store, so that
replaying the log gives the same screen, and decides nothing about a plan: only the words typed here or given to
`corrobora authorize` count.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TextIO, cast

from corrobora.domain.run import Event, EventType
from corrobora.text.tokens import sanitize_text


@dataclass(frozen=True, slots=True)
class Lane:
    """One thread of the plan: its round, what it gathered, how it stopped."""

    path: str
    title: str = ""
    round: int = 0
    max_rounds: int = 0  # 0: not known
    searches: int = 0
    reads: int = 0
    facts: int = 0
    gaps: int = 0
    state: str = ""  # "" while it works, then the code of its stop reason or why it failed


@dataclass(frozen=True, slots=True)
class Gauge:
    """The budget: the limits of the run and what the last event said was used."""

    limit_seconds: float | None = None
    reserve_seconds: float = 0.0
    elapsed_seconds: float | None = None
    tokens: int = 0
    dollars: float = 0.0
    max_dollars: float | None = None


@dataclass(frozen=True, slots=True)
class Screen:
    """Everything a display shows of one run."""

    question: str = ""
    profile: str = ""
    stage: str = ""
    lanes: tuple[Lane, ...] = ()
    searches: int = 0
    reads: int = 0
    unread: int = 0
    facts: int = 0
    questions: int = 0
    contradictions: int = 0
    warnings: int = 0
    fallbacks: int = 0
    latest: str = ""
    estimate: str = ""
    gauge: Gauge = Gauge()
    outcome: str = ""
    finished: bool = False

    @property
    def gaps(self) -> int:
        """Gaps that the last round of each thread left."""
        return sum(lane.gaps for lane in self.lanes)


_TURN = re.compile(r"~(\d+)")  # a node in a later iteration: "root/1~2"


def thread_label(path: str) -> str:
    """Return the place of a thread in the plan for a reader: "1, turn 2" of "root/1~2"."""
    return _TURN.sub(r", turn \1", path.removeprefix("root").strip("/"))


def thread_path(path: str) -> str:
    """Return the thread's path of an event's path: `root/1` of `root/1/round/2`."""
    return path.partition("/round/")[0] or "root"


def fold_event(screen: Screen, event: Event) -> Screen:
    """Return the screen after one more event. Unknown events and missing fields change nothing."""
    data = event.data
    match event.type:
        case EventType.RUN_STARTED:
            screen = _apply_start(screen, data)
        case EventType.STAGE:
            screen = replace(screen, stage=text_field(data, "stage") or screen.stage)
        case EventType.PLAN_PROPOSED:
            screen = _apply_plan(screen, data)
        case EventType.BUDGET:
            screen = replace(screen, gauge=_update_gauge(screen.gauge, data))
        case EventType.WARNING:
            screen = replace(screen, warnings=screen.warnings + 1, latest=text_field(data, "failed", "message", "why"))
        case EventType.FALLBACK:
            screen = replace(screen, fallbacks=screen.fallbacks + 1)
        case EventType.CONTRADICTION:
            screen = replace(screen, contradictions=screen.contradictions + 1)
        case EventType.RUN_FINISHED | EventType.COMPLETE:
            finished = screen.finished or event.type is EventType.RUN_FINISHED
            screen = replace(screen, finished=finished, outcome=text_field(data, "outcome") or screen.outcome)
        case _:
            screen = _apply_thread_event(screen, event)
    return screen


def _apply_start(screen: Screen, data: Mapping[str, object]) -> Screen:
    profile = object_field(data, "profile")
    minutes, reserve = number_field(profile, "minutes"), number_field(profile, "reserve_minutes")
    if reserve is None:
        reserve = min(1.5, 0.3 * minutes) if minutes else 1.5  # TIMED-1; the event of a round has the real one
    gauge = replace(
        _update_gauge(screen.gauge, data),
        limit_seconds=60.0 * minutes if minutes else None,
        reserve_seconds=60.0 * reserve,
    )
    name = text_field(profile, "name") or text_field(data, "profile")
    return replace(screen, question=text_field(data, "question") or screen.question, profile=name, gauge=gauge)


def _apply_plan(screen: Screen, data: Mapping[str, object]) -> Screen:
    """Name the lanes after the leaves of the plan."""
    screen = replace(screen, estimate=estimate_text(data))
    root = object_field(object_field(data, "plan"), "root")
    if not root:
        return screen
    found = list(_iter_leaves(root))
    lanes = tuple(Lane(text_field(leaf, "path") or "root", text_field(leaf, "title", "objective")) for leaf in found)
    return replace(screen, lanes=lanes, questions=sum(_item_count(leaf, "sub_questions") or 0 for leaf in found))


def _iter_leaves(node: Mapping[str, object]) -> Iterator[Mapping[str, object]]:
    children = object_list(node, "children")
    if not children:
        yield node
    for child in children:
        yield from _iter_leaves(child)


def _apply_thread_event(screen: Screen, event: Event) -> Screen:
    data = event.data
    lane = _event_lane(screen, event)
    match event.type:
        case EventType.ROUND_STARTED:
            return _with_lane(screen, replace(lane, state="", max_rounds=_item_count(data, "max_rounds") or 0))
        case EventType.SEARCH:
            screen = replace(screen, searches=screen.searches + 1, latest=f"⌕ {text_field(data, 'query')}")
            return _with_lane(screen, replace(lane, searches=lane.searches + 1))
        case EventType.READ:
            read = text_field(data, "outcome") in ("", "read")
            screen = replace(screen, reads=screen.reads + read, unread=screen.unread + (not read))
            screen = replace(screen, latest=f"▤ {text_field(data, 'title', 'url')}")
            return _with_lane(screen, replace(lane, reads=lane.reads + read))
        case EventType.FACT:
            return _with_lane(replace(screen, facts=screen.facts + 1), replace(lane, facts=lane.facts + 1))
        case EventType.ROUND_FINISHED:
            screen = replace(screen, gauge=_update_gauge(screen.gauge, data))
            return _with_lane(
                screen, replace(lane, gaps=_item_count(data, "gaps") or 0, state=text_field(data, "stop"))
            )
        case EventType.LEAF_FAILED:
            return _with_lane(screen, replace(lane, state=f"failed: {text_field(data, 'why')}"))
        case _:
            return screen


def _new_lane(screen: Screen, path: str) -> Lane:
    """Return a lane that the plan did not name; a later iteration takes the title of the first."""
    first = next((each for each in screen.lanes if each.path == _TURN.sub("", path)), None)
    turn = _TURN.search(path)
    return Lane(path, f"{first.title} (turn {turn.group(1)})" if first is not None and turn and first.title else "")


def _event_lane(screen: Screen, event: Event) -> Lane:
    path = thread_path(event.path)
    lane = next((each for each in screen.lanes if each.path == path), None) or _new_lane(screen, path)
    return replace(lane, round=max(lane.round, event.round or 0))


def _with_lane(screen: Screen, lane: Lane) -> Screen:
    if any(each.path == lane.path for each in screen.lanes):
        return replace(screen, lanes=tuple(lane if each.path == lane.path else each for each in screen.lanes))
    return replace(screen, lanes=(*screen.lanes, lane))


def _update_gauge(gauge: Gauge, data: Mapping[str, object]) -> Gauge:
    elapsed = number_field(data, "elapsed_seconds", "elapsed")
    reserve = number_field(data, "reserve_seconds", "reserve")
    return replace(
        gauge,
        reserve_seconds=gauge.reserve_seconds if reserve is None else reserve,
        elapsed_seconds=gauge.elapsed_seconds if elapsed is None else elapsed,
        tokens=int(number_field(data, "tokens") or gauge.tokens),
        dollars=number_field(data, "dollars", "usd") or gauge.dollars,
        max_dollars=number_field(data, "max_dollars", "max_usd") or gauge.max_dollars,
    )


def text_field(data: Mapping[str, object], *names: str) -> str:
    """Return the first of some fields that is a text, "" if none is."""
    return next((value for name in names if isinstance(value := data.get(name), str) and value), "")


def estimate_text(data: Mapping[str, object]) -> str:
    """Return the estimate that the event of a plan carries, as one sentence; "" if nothing is paid."""
    return text_field(object_field(data, "estimate"), "text")


def number_field(data: Mapping[str, object], *names: str) -> float | None:
    """Return the first of some fields that is a number, None if none is."""
    found = (data.get(name) for name in names)
    return next((float(v) for v in found if isinstance(v, (int, float)) and not isinstance(v, bool)), None)


def format_count(data: Mapping[str, object], name: str) -> str:
    """Return the number in a field, "?" without one."""
    value = number_field(data, name)
    return "?" if value is None else f"{value:g}"


def count_noun(data: Mapping[str, object], name: str, noun: str) -> str:
    """Return the number in a field with its noun: 1 fact, 2 facts."""
    return f"{format_count(data, name)} {noun}{'' if number_field(data, name) == 1 else 's'}"


def object_field(data: Mapping[str, object], name: str) -> Mapping[str, object]:
    """Return an object inside an object, empty if there is none."""
    value = data.get(name)
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else {}


def object_list(data: Mapping[str, object], name: str) -> list[Mapping[str, object]]:
    """Return the objects of a list inside an object, empty if there is none."""
    value = data.get(name)
    items = cast("list[object]", value) if isinstance(value, (list, tuple)) else []
    return [cast("Mapping[str, object]", item) for item in items if isinstance(item, Mapping)]


def _item_count(data: Mapping[str, object], name: str) -> int | None:
    value = data.get(name)
    if isinstance(value, (list, tuple)):
        return len(cast("list[object]", value))
    return value if isinstance(value, int) else None


MIN_WIDTH = 60  # columns below which the live display gives way to lines


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
        if getattr(sys, name) is None:  # the stream was closed before the start
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
    """Write one line for the person on stderr; never fails because nobody listens."""
    write_line(sys.stderr, line)


_MAX_NODES = 80
_STEP_SECONDS = 0.2


def plan_lines(data: Mapping[str, object]) -> list[str]:
    """Return a plan, as its event tells it, as indented lines."""
    root = object_field(object_field(data, "plan") or data, "root")
    lines = list(_node_lines(root, 0)) if root else []
    hidden = len(lines) - _MAX_NODES
    lines = lines if hidden <= 0 else [*lines[:_MAX_NODES], f"  and {hidden} more lines"]
    shared = data.get("shared")
    told = cast("list[object]", shared) if isinstance(shared, list | tuple) else []
    return [*lines, *(f"→ {one_line(str(each), 300)}" for each in told)]


def _node_lines(node: Mapping[str, object], depth: int) -> Iterator[str]:
    mark = "▣" if node.get("children") else "•"
    yield "  " * depth + f"{mark} {one_line(text_field(node, 'title', 'objective'), 120)}"
    for question in object_list(node, "sub_questions"):
        yield "  " * (depth + 1) + f"? {one_line(text_field(question, 'text'), 120)}"
    for child in object_list(node, "children"):
        yield from _node_lines(child, depth + 1)


def _read_typed_line() -> str:
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
            typed = _read_typed_line()
        except KeyboardInterrupt:
            return ""
        given = typed.strip()
        if not typed or given in ("", "q", "quit"):
            return ""
        if given.casefold() == phrase.casefold():
            return given
        write_stderr(f'Not authorized. Type exactly "{phrase}", or an empty line.')
