"""The time line of a run as SVG: its stages, the rounds of each thread, and reads, in the words of a frame.

Of the event log it shows them by the clock; of a report alone the rounds and what came before and after them, by the
seconds of work that each decision was made at. Does not know where either is stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from corrobora.domain.report import Report, iter_threads
from corrobora.domain.run import Event, EventType
from corrobora.reporting import svg
from corrobora.text.frames import Frame

_MOST_LANES = 24
_READS = "A small mark below a round is a document that was read."


@dataclass(frozen=True, slots=True)
class _Course:
    """What a time line shows: its lanes, how many more there are, its title, and what its marks mean."""

    lanes: list[svg.TimelineRow]
    left_out: int
    title: str
    note: str = ""


def translate_label(word: str, frame: Frame) -> str:
    """Return a word of a plot in the language of a frame; alone it might be a word of a writer, too."""
    return frame.texts.get(f"plot: {word}", word)


def draw_timeline(events: Sequence[Event], report: Report | None, frame: Frame, standalone: bool) -> str:  # noqa: FBT001 - one of a table
    """Return the time line as an SVG element, "" if nothing is known of the time."""
    if any(each.type == EventType.STAGE for each in events):
        course = _read_events(events, frame)
    elif report is not None and any(each.decision for leaf in iter_threads(report.findings) for each in leaf.rounds):
        course = _read_report(report, frame)
    else:
        return ""
    say = frame.translate
    told: list[str] = []
    for lane in course.lanes:
        spans = (f"{name} {say(f'{begin:.1f} to {end:.1f} s')}" for begin, end, name in lane.spans)
        told.append(f"{lane.label}: {', '.join(spans)}")
    notes = (course.note, f"{course.left_out} more threads are not shown." if course.left_out else "")
    about = svg.Picture(
        "timeline",
        say(course.title),
        f"{say('Seconds since the start.')} {'; '.join(told)}.",
        tuple(say(each) for each in notes if each),
    )
    lanes = [lane for lane in course.lanes if lane.spans]
    return svg.draw_lanes(about, lanes, translate_label("seconds", frame), standalone=standalone)


def _read_events(events: Sequence[Event], frame: Frame) -> _Course:
    begin, end = _moment(events[0]), _moment(events[-1])
    stages = [
        (_moment(each) - begin, translate_label(str(each.data.get("stage", "")), frame))
        for each in events
        if each.type == EventType.STAGE
    ]
    ends = [at for at, _ in stages[1:]] + [end - begin]
    spans = tuple((at, stop, name) for (at, name), stop in zip(stages, ends, strict=True))
    lanes = [svg.TimelineRow(translate_label("stages", frame), spans)]
    titles: dict[str, str] = {}
    opened: dict[str, float] = {}
    rounds: dict[str, list[tuple[float, float, str]]] = {}
    reads: dict[str, list[float]] = {}
    for each in events:
        thread, at = each.path.partition("/round/")[0], _moment(each) - begin
        if each.type == EventType.ROUND_STARTED:
            titles.setdefault(thread, str(each.data.get("title") or thread))
            opened[each.path] = at
        elif each.type == EventType.ROUND_FINISHED and each.path in opened:
            rounds.setdefault(thread, []).append((opened.pop(each.path), at, frame.translate(f"round {each.round}")))
        elif each.type == EventType.READ:
            reads.setdefault(thread, []).append(at)
    for path, at in opened.items():  # rounds that are under way, or were cut
        name = frame.translate(f"round {path.rpartition('/')[2]}")
        rounds.setdefault(path.partition("/round/")[0], []).append((at, end - begin, name))
    shown = list(titles)[:_MOST_LANES]
    lanes += [svg.TimelineRow(titles[path], tuple(rounds.get(path, ())), tuple(reads.get(path, ()))) for path in shown]
    return _Course(lanes, len(titles) - len(shown), "Time line: stages, rounds of each thread, and reads", _READS)


def _read_report(report: Report, frame: Frame) -> _Course:
    """Read the rounds from their decisions, which hold the seconds that the run had worked."""
    threads: list[tuple[str, tuple[tuple[float, float, str], ...]]] = []
    for leaf in iter_threads(report.findings):
        done = [(each.decision.elapsed_seconds, each) for each in leaf.rounds if each.decision is not None]
        spans = ((max(0.0, end - each.seconds), end, frame.translate(f"round {each.number}")) for end, each in done)
        threads += [(leaf.title, tuple(spans))] if done else []
    first = min(begin for _, spans in threads for begin, _, _ in spans)
    last = max(end for _, spans in threads for _, end, _ in spans)
    parts = ((0.0, first, "planning"), (first, last, "research"), (last, report.methodology.seconds, "writing"))
    whole = tuple((begin, end, translate_label(name, frame)) for begin, end, name in parts if end > begin)
    lanes = [svg.TimelineRow(translate_label("stages", frame), whole)]
    lanes += [svg.TimelineRow(title, spans) for title, spans in threads[:_MOST_LANES]]
    return _Course(lanes, max(0, len(threads) - _MOST_LANES), "Time line: stages, and rounds of each thread")


def _moment(event: Event) -> float:
    return datetime.fromisoformat(event.at).timestamp()
