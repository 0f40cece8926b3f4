"""What a person sees of a run: its state as a pure fold of the event log, for the terminal and for the page.

Knows events, counts and the budget. Does not know the store, so that replaying the log gives the same view, nor how a
view is drawn: a face makes every text safe to show.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from corrobora.domain.run import Event, EventType
from corrobora.faces.event_text import (
    TURN,
    EventData,
    describe_event,
    estimate_text,
    event_group,
    event_sign,
    item_count,
    iter_leaves,
    number_field,
    object_field,
    object_list,
    text_field,
    text_list,
    thread_path,
)

MAX_LINES = 300  # lines of activity that are kept; older ones are in the log
_NOT_FAILED = ("read", "drifted", "skipped", "cut")  # outcomes: it was read, or nobody tried to
_MAX_ROWS = 500  # sources, rounds and conflicts that are kept, each


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
    read_at: str = ""  # ISO time of the event that stated the elapsed seconds


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """A sub-question, how far the last round answered it, and how many facts of each source answer it."""

    id: str
    text: str = ""
    standing: str = "OPEN"
    facts: Mapping[str, int] = field(default_factory=dict[str, int])


@dataclass(frozen=True, slots=True)
class ReadSource:
    """A document or page that was requested: read with its facts, or why not."""

    id: str  # "S7"; "" if it could not be read
    title: str
    url: str
    outcome: str = "read"
    facts: int = 0


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two statements that differ."""

    claim: str
    difference: str
    relation: str


@dataclass(frozen=True, slots=True)
class RoundRow:
    """A finished round of a thread."""

    path: str
    number: int
    phase: str
    new_facts: int
    gaps: int
    stop: str
    level: int = 0  # of the plateau, 0: none


@dataclass(frozen=True, slots=True)
class ActivityLine:
    """An event as a line: when, of which thread, and what happened. `kind` is the group it is filtered by."""

    seq: int
    seconds: float  # since the begin of the run
    kind: str
    sign: str
    place: str
    text: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class RunView:
    """Everything a face shows of one run."""

    question: str = ""
    profile: str = ""
    phrase: str = ""
    stage: str = ""
    lanes: tuple[Lane, ...] = ()
    searches: int = 0
    considered: int = 0  # hits of all searches
    unread: int = 0  # could not be read
    drifted: int = 0  # read, and off the subject
    seen: frozenset[str] = frozenset()  # ids of facts, also with what each answers: threads may find the same one
    contradictions: int = 0
    warnings: int = 0
    fallbacks: int = 0
    latest: str = ""
    plan: Mapping[str, object] = field(default_factory=dict[str, object])
    estimate: str = ""
    shared: tuple[str, ...] = ()  # who outside is sent what
    gauge: Gauge = Gauge()
    asked: tuple[AskedQuestion, ...] = ()
    sources: tuple[ReadSource, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    rounds: tuple[RoundRow, ...] = ()
    lines: tuple[ActivityLine, ...] = ()
    dropped: int = 0  # older lines
    began: str = ""
    seq: int = 0
    outcome: str = ""
    reason: str = ""
    narrower: tuple[str, ...] = ()  # questions to ask in place of one that was refused
    words: int = 0  # of the report; 0: there is none
    finished: bool = False

    @property
    def reads(self) -> int:
        """How many different sources were read."""
        return sum(each.outcome == "read" for each in self.sources)

    @property
    def facts(self) -> int:
        """How many different facts were found."""
        return sum(each.facts for each in self.sources)

    @property
    def gaps(self) -> int:
        """Gaps that the last round of each thread left."""
        return sum(lane.gaps for lane in self.lanes)

    @property
    def questions(self) -> int:
        """How many sub-questions the plan asks."""
        return len(self.asked)

    @property
    def open_questions(self) -> int:
        """Sub-questions that are not answered yet."""
        return sum(each.standing != "ANSWERED" for each in self.asked)

    def elapsed_at(self, now: str) -> float:
        """Seconds worked until the ISO time `now`, while a process works on the run."""
        gauge = self.gauge
        return (gauge.elapsed_seconds or 0.0) + _seconds_between(gauge.read_at, now)


def fold_event(view: RunView, event: Event) -> RunView:
    """Return the view after one more event. Unknown events and missing fields change nothing."""
    data = event.data
    view = replace(view, seq=max(view.seq, event.seq), began=view.began or event.at)
    match event.type:
        case EventType.RUN_STARTED:
            view = _apply_start(view, data)
        case EventType.STAGE:
            view = replace(view, stage=text_field(data, "stage") or view.stage)
        case EventType.PLAN_PROPOSED:
            view = _apply_plan(view, data)
        case EventType.WARNING:
            view = replace(view, warnings=view.warnings + 1, latest=text_field(data, "failed", "message", "why"))
        case EventType.FALLBACK:
            view = replace(view, fallbacks=view.fallbacks + 1)
        case EventType.CONTRADICTION:
            found = Conflict(*(text_field(data, name) for name in ("claim", "difference", "relation")))
            view = replace(
                view, contradictions=view.contradictions + 1, conflicts=(*view.conflicts, found)[-_MAX_ROWS:]
            )
        case EventType.PLATEAU:
            view = _apply_plateau(view, event)
        case EventType.RUN_FINISHED | EventType.COMPLETE:
            finished = view.finished or event.type is EventType.RUN_FINISHED
            outcome = text_field(data, "outcome") or view.outcome
            reason, words = text_field(data, "reason") or view.reason, number_field(data, "words")
            narrower = text_list(data, "narrower")
            view = replace(view, finished=finished, outcome=outcome, reason=reason, narrower=narrower)
            view = view if words is None else replace(view, words=int(words))
        case _:
            view = _apply_thread_event(view, event)
    return _add_line(_move_clock(view, event), event)


def _apply_start(view: RunView, data: EventData) -> RunView:
    profile = object_field(data, "profile")
    minutes, reserve = number_field(profile, "minutes"), number_field(profile, "reserve_minutes")
    if reserve is None:
        reserve = min(1.5, 0.3 * minutes) if minutes else 1.5  # TIMED-1; the event of a round has the real one
    gauge = replace(
        _update_gauge(view.gauge, data),
        limit_seconds=60.0 * minutes if minutes else None,
        reserve_seconds=60.0 * reserve,
    )
    name = text_field(profile, "name") or text_field(data, "profile")
    question, phrase = text_field(data, "question") or view.question, text_field(profile, "phrase")
    return replace(view, question=question, profile=name, phrase=phrase, gauge=gauge)


def _apply_plan(view: RunView, data: EventData) -> RunView:
    """Name the lanes and the sub-questions after the leaves of the plan."""
    view = replace(view, estimate=estimate_text(data), shared=text_list(data, "shared"))
    plan = object_field(data, "plan")
    root = object_field(plan, "root")
    if not root:
        return view
    found = list(iter_leaves(root))
    lanes = tuple(Lane(text_field(leaf, "path") or "root", text_field(leaf, "title", "objective")) for leaf in found)
    asked = {
        text_field(each, "id"): AskedQuestion(text_field(each, "id"), text_field(each, "text"))
        for leaf in found
        for each in object_list(leaf, "sub_questions")
    }
    return replace(view, plan=plan, lanes=lanes, asked=tuple(asked.values()))


def _apply_thread_event(view: RunView, event: Event) -> RunView:
    data = event.data
    lane = _event_lane(view, event)
    match event.type:
        case EventType.ROUND_STARTED:
            return _with_lane(view, replace(lane, state="", max_rounds=item_count(data, "max_rounds") or 0))
        case EventType.SEARCH:
            hits = int(number_field(data, "hits") or 0)
            latest = f"⌕ {text_field(data, 'query')}"
            view = replace(view, searches=view.searches + 1, considered=view.considered + hits, latest=latest)
            return _with_lane(view, replace(lane, searches=lane.searches + 1))
        case EventType.READ:
            outcome = text_field(data, "outcome") or "read"
            drifted, unread = view.drifted + (outcome == "drifted"), view.unread + (outcome not in _NOT_FAILED)
            view = replace(view, drifted=drifted, unread=unread, latest=f"▤ {text_field(data, 'title', 'url')}")
            return _with_lane(_add_source(view, data), replace(lane, reads=lane.reads + (outcome == "read")))
        case EventType.FACT:
            return _with_lane(_add_fact(view, data), replace(lane, facts=lane.facts + 1))
        case EventType.ROUND_FINISHED:
            view = _add_round(replace(view, gauge=_update_gauge(view.gauge, data)), event)
            return _with_lane(view, replace(lane, gaps=item_count(data, "gaps") or 0, state=text_field(data, "stop")))
        case EventType.LEAF_FAILED:
            return _with_lane(view, replace(lane, state=f"failed: {text_field(data, 'why')}"))
        case _:
            return view


def _add_source(view: RunView, data: EventData) -> RunView:
    """Add a requested source; one that is requested again keeps its row, as read if it was read once."""
    identity, title, url = (text_field(data, name) for name in ("source", "title", "url"))
    row = ReadSource(identity, title, url, text_field(data, "outcome") or "read")
    old = next((each for each in view.sources if (each.id or each.url) == (row.id or row.url)), None)
    if old is None:
        return replace(view, sources=(*view.sources, row)[-_MAX_ROWS:])
    new = replace(old, outcome=old.outcome if old.outcome == "read" else row.outcome)
    return replace(view, sources=tuple(new if each is old else each for each in view.sources))


def _add_fact(view: RunView, data: EventData) -> RunView:
    fact, source = text_field(data, "fact"), text_field(data, "source")
    answers = {each for each in text_list(data, "answers") if f"{fact} {each}" not in view.seen}
    new = fact not in view.seen
    sources = tuple(replace(each, facts=each.facts + new) if each.id == source else each for each in view.sources)
    asked = tuple(
        replace(each, facts={**each.facts, source: each.facts.get(source, 0) + 1}) if each.id in answers else each
        for each in view.asked
    )
    return replace(view, sources=sources, asked=asked, seen=view.seen | {fact, *(f"{fact} {each}" for each in answers)})


def _add_round(view: RunView, event: Event) -> RunView:
    data = event.data
    standing = object_field(data, "standing")
    asked = tuple(replace(each, standing=text_field(standing, each.id) or each.standing) for each in view.asked)
    row = RoundRow(
        thread_path(event.path),
        event.round or 0,
        text_field(data, "phase"),
        int(number_field(data, "new_facts") or 0),
        item_count(data, "gaps") or 0,
        text_field(data, "stop"),
        next((each.level for each in view.rounds if (each.path, each.number) == _round_key(event)), 0),
    )
    others = (each for each in view.rounds if (each.path, each.number) != _round_key(event))
    return replace(view, asked=asked, rounds=(*others, row)[-_MAX_ROWS:])


def _apply_plateau(view: RunView, event: Event) -> RunView:
    """Note the level of a plateau; it is reported just before its round is finished."""
    row = RoundRow(*_round_key(event), "", 0, 0, "", int(number_field(event.data, "level") or 0))
    return replace(view, rounds=(*view.rounds, row)[-_MAX_ROWS:])


def _round_key(event: Event) -> tuple[str, int]:
    return thread_path(event.path), event.round or 0


def _new_lane(view: RunView, path: str) -> Lane:
    """Return a lane that the plan did not name; a later iteration takes the title of the first."""
    first = next((each for each in view.lanes if each.path == TURN.sub("", path)), None)
    turn = TURN.search(path)
    return Lane(path, f"{first.title} (turn {turn.group(1)})" if first is not None and turn and first.title else "")


def _event_lane(view: RunView, event: Event) -> Lane:
    path = thread_path(event.path)
    lane = next((each for each in view.lanes if each.path == path), None) or _new_lane(view, path)
    return replace(lane, round=max(lane.round, event.round or 0))


def _with_lane(view: RunView, lane: Lane) -> RunView:
    if any(each.path == lane.path for each in view.lanes):
        return replace(view, lanes=tuple(lane if each.path == lane.path else each for each in view.lanes))
    return replace(view, lanes=(*view.lanes, lane))


def _update_gauge(gauge: Gauge, data: EventData) -> Gauge:
    elapsed, reserve = number_field(data, "elapsed"), number_field(data, "reserve")
    return replace(
        gauge,
        reserve_seconds=gauge.reserve_seconds if reserve is None else reserve,
        elapsed_seconds=gauge.elapsed_seconds if elapsed is None else elapsed,
        tokens=int(number_field(data, "tokens") or gauge.tokens),
        dollars=number_field(data, "dollars") or gauge.dollars,
        max_dollars=number_field(data, "max_dollars") or gauge.max_dollars,
    )


def _move_clock(view: RunView, event: Event) -> RunView:
    """Note when the elapsed seconds were stated; the time in which a plan waits for a person is not worked."""
    gauge = view.gauge
    timed = number_field(event.data, "elapsed") is not None
    if timed or not gauge.read_at or event.type is EventType.PLAN_AUTHORIZED:
        return replace(view, gauge=replace(gauge, read_at=event.at or gauge.read_at))
    if event.type in (EventType.PLAN_PROPOSED, EventType.RUN_FINISHED):
        worked = view.elapsed_at(event.at)
        return replace(view, gauge=replace(gauge, elapsed_seconds=worked, read_at=event.at))
    return view


def _add_line(view: RunView, event: Event) -> RunView:
    quote = text_field(event.data, "quote") if event.type is EventType.FACT else ""
    text = quote or describe_event(event)
    place = thread_path(event.path)
    told = event.type is EventType.WARNING and any((each.text, each.place) == (text, place) for each in view.lines)
    if told or not text:
        return view
    line = ActivityLine(
        event.seq,
        _seconds_between(view.began, event.at),
        event_group(event),
        event_sign(event),
        place,
        text,
        text_field(event.data, "title") if quote else "",
    )
    dropped = max(0, len(view.lines) + 1 - MAX_LINES)
    return replace(view, lines=(*view.lines, line)[-MAX_LINES:], dropped=view.dropped + dropped)


def _seconds_between(begin: str, end: str) -> float:
    """Return the seconds between two ISO times, 0 if one of them is missing or no time."""
    try:
        return max(0.0, (datetime.fromisoformat(end) - datetime.fromisoformat(begin)).total_seconds())
    except (TypeError, ValueError):
        return 0.0
