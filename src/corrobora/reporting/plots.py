"""Plots of a run as SVG: coverage, saturation, publishers and dates of sources, spend, and the time line.

Each is a pure function of the event log and of the report, and "" where there is nothing to show; coverage, saturation
and the time line need only events, so they can be drawn while a run works. Their words are in the language of a frame.
Does not know where either is stored.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import cast
from urllib.parse import urlsplit

from corrobora.domain.evidence import ReadOutcome
from corrobora.domain.report import Report, iter_threads
from corrobora.domain.run import Event, EventType
from corrobora.reporting import svg
from corrobora.text.phrases import ENGLISH, Frame, describe_code, format_count

_MOST_ROWS, _MOST_COLUMNS = 24, 40
_MOST_LANES = 24
_READS = "A small mark below a round is a document that was read."
_YEAR = re.compile(r"(?<!\d)(1[5-9]\d\d|20\d\d)(?!\d)")


class PlotKind(StrEnum):
    """The plots, in the order in which they are shown."""

    COVERAGE = "coverage"
    SATURATION = "saturation"
    PUBLISHERS = "publishers"
    DATES = "dates"
    SPEND = "spend"
    TIMELINE = "timeline"


@dataclass(frozen=True, slots=True)
class _Round:
    """What one round of one thread gave: statements by sub-question, new ones and confirmed ones."""

    number: int
    answered: Counter[str]
    new: int = 0
    confirming: int = 0


def draw_plots(
    events: Sequence[Event] = (), report: Report | None = None, *, frame: Frame = ENGLISH
) -> dict[PlotKind, str]:
    """Return every plot that has something to show, by its kind."""
    drawn = {kind: draw_plot(kind, events, report, frame=frame) for kind in PlotKind}
    return {kind: picture for kind, picture in drawn.items() if picture}


def draw_plot(
    kind: PlotKind,
    events: Sequence[Event] = (),
    report: Report | None = None,
    *,
    frame: Frame = ENGLISH,
    standalone: bool = False,
) -> str:
    """Return one plot as an SVG element, "" if there is nothing to show.

    A `standalone` one, for a file of its own, brings its colours for dark and light; one inside a page takes those of
    the text around it. Where there are no events, coverage, saturation and the time line are drawn from the report.
    """
    picture = _DRAW[kind](events, report, frame)
    return svg.add_style(picture) if picture and standalone else picture


def _draw_coverage(events: Sequence[Event], report: Report | None, frame: Frame) -> str:
    asked, say = _list_questions(events, report), frame.translate
    rounds = _list_rounds(events, report)
    shown = list(asked)[:_MOST_ROWS]
    last = min(_MOST_COLUMNS, max((each.number for each in rounds), default=0))
    if not shown or not last:
        return ""
    by_round = {
        n: sum((each.answered for each in rounds if each.number == n), Counter[str]()) for n in range(1, last + 1)
    }
    most = max(1, *(sum(by_round[n][name] for n in by_round) for name in shown))
    rows: list[svg.Cells] = []
    for name in shown:
        so_far, cells = 0, list[tuple[float, str]]()
        for count in (by_round[n][name] for n in by_round):
            so_far += count
            cells.append((so_far / most, f"+{count}" if count else "·"))
        rows.append(svg.Cells(asked[name], tuple(cells)))
    bare = sum(not any(by_round[n][name] for n in by_round) for name in shown)
    notes = [
        say(f"Nothing was found for {format_count(bare, 'sub-question')}.")
        if bare
        else say("For every sub-question something was found.")
    ]
    if len(asked) > len(shown):
        notes.append(say(f"Not shown: {format_count(len(asked) - len(shown), 'more sub-question')}."))
    described = [f"{row.label}: {', '.join(note for _, note in row.cells)}" for row in rows]
    lead = say("Rows are sub-questions, columns rounds; darker means more statements so far.")
    about = svg.Picture(
        "coverage",
        say("Coverage: statements found for each sub-question, by round"),
        f"{lead} {'; '.join(described)}.",
        tuple(notes),
    )
    return svg.draw_matrix(about, [str(n) for n in by_round], rows)


def _draw_saturation(events: Sequence[Event], report: Report | None, frame: Frame) -> str:
    rounds, say = _list_rounds(events, report), frame.translate
    numbers = sorted({each.number for each in rounds})[:_MOST_COLUMNS]
    new = {n: sum(each.new for each in rounds if each.number == n) for n in numbers}
    again = {n: sum(each.confirming for each in rounds if each.number == n) for n in numbers}
    if not any(new.values()) and not any(again.values()):
        return ""
    described = "; ".join(say(f"round {n}: {new[n]} new, {again[n]} confirming") for n in numbers)
    about = svg.Picture(
        "saturation",
        say("Saturation: new and confirming statements of each round"),
        f"{say('One column for each round.')} {described}.",
        (say("Few new statements and many confirming ones say that more rounds would have found little."),),
        (_translate_label("new", frame), _translate_label("confirming", frame)),
    )
    bars = [svg.Bar(str(n), new[n], again[n], str(new[n] + again[n])) for n in numbers]
    return svg.draw_columns(about, bars)


def _draw_publishers(events: Sequence[Event], report: Report | None, frame: Frame) -> str:
    local, say = _translate_label("local files", frame), frame.translate
    cited = {each.source: _find_publisher(each.url, local) for each in report.citations} if report else {}
    read = {source: _find_publisher(url, local) for source, url in _iter_read(events, report)}
    by_cited = Counter(cited.values())
    by_read = Counter(host for source, host in read.items() if source not in cited)
    hosts = sorted({*by_cited, *by_read}, key=lambda host: (-by_cited[host], -by_read[host], host))
    if not hosts:
        return ""
    shown = hosts[:_MOST_ROWS]
    bars = [
        svg.Bar(host, by_cited[host], by_read[host], say(f"{by_cited[host]} cited, {by_read[host]} only read"))
        for host in shown
    ]
    shares = [count / sum(by_cited.values()) for count in by_cited.values()]
    breadth = math.exp(-sum(share * math.log(share) for share in shares))
    note = say(f"As varied as {breadth:.1f} publishers that are cited equally often.")
    notes = (note if len(by_cited) > 1 else say("All cited sources are of one publisher."),) if by_cited else ()
    more = len(hosts) - len(shown)
    rest = (say(f"Not shown: {format_count(more, 'more publisher')}."),) if more > 0 else ()
    about = svg.Picture(
        "publishers",
        say("Sources by publisher"),
        f"{say('One row for each publisher.')} {'; '.join(f'{bar.label}: {bar.note}' for bar in bars)}.",
        (*notes, *rest),
        (_translate_label("cited", frame), _translate_label("only read", frame)),
    )
    return svg.draw_bars(about, bars)


def _draw_dates(_: Sequence[Event], report: Report | None, frame: Frame) -> str:
    say = frame.translate
    dates = {each.source: _find_year(each.published, each.version) for each in report.citations} if report else {}
    years = Counter(year for year in dates.values() if year)
    if not years:
        return ""
    first, last = min(years), max(years)
    step = -(-(last - first + 1) // _MOST_COLUMNS)  # years of one column
    starts = range(first, last + 1, step)
    counts = [sum(years[year] for year in range(start, start + step)) for start in starts]
    undated = sum(not year for year in dates.values())
    lead = say("One column for each year." if step == 1 else f"One column for {step} years.")
    described = "; ".join(f"{start}: {count}" for start, count in zip(starts, counts, strict=True) if count)
    about = svg.Picture(
        "dates",
        say("Cited sources by the year that they state"),
        f"{lead} {described}. {say(f'Without a date: {undated}.')}",
        (say(f"Cited sources without a date: {undated} of {len(dates)}."),) if undated else (),
    )
    bars = [svg.Bar(str(start), n, note=str(n) if n else "") for start, n in zip(starts, counts, strict=True)]
    return svg.draw_columns(about, bars)


def _draw_spend(_: Sequence[Event], report: Report | None, frame: Frame) -> str:
    spent, say = report.methodology.spend if report else (), frame.translate
    if not spent:
        return ""
    paid = any(each.usage.input_tokens + each.usage.output_tokens for each in spent)
    bars: list[svg.Bar] = []
    for each in sorted(spent, key=lambda one: (-one.usage.dollars, -one.usage.input_tokens, -one.answers, one.role)):
        used, calls = each.usage, say(format_count(each.answers, "call"))
        price = f"${used.dollars:.4f}" if used.priced else say("price unknown")
        tokens = say(f"{used.input_tokens:,} + {used.output_tokens:,} tokens")
        note = f"{calls}, {tokens}, {price}" if paid else calls
        first, second = (used.input_tokens, used.output_tokens) if paid else (each.answers, 0)
        bars.append(svg.Bar(say(describe_code(each.role)), first, second, note))
    about = svg.Picture(
        "spend",
        say("Spend: tokens of each role" if paid else "Work: calls of each role, without a language model"),
        f"{say('One row for each role.')} {'; '.join(f'{bar.label}: {bar.note}' for bar in bars)}.",
        legend=tuple(_translate_label(each, frame) for each in ("input tokens", "output tokens")) if paid else (),
    )
    return svg.draw_bars(about, bars)


@dataclass(frozen=True, slots=True)
class _Course:
    """What a time line shows: its lanes, how many more there are, its title, and what its marks mean."""

    lanes: list[svg.TimelineRow]
    left_out: int
    title: str
    note: str = ""


def _translate_label(word: str, frame: Frame) -> str:
    """Return a word of a plot in the language of a frame; alone it might be a word of a writer, too."""
    return frame.texts.get(f"plot: {word}", word)


def _draw_timeline(events: Sequence[Event], report: Report | None, frame: Frame) -> str:
    """Return the time line as an SVG element, "" if nothing is known of the time."""
    if any(each.type == EventType.STAGE for each in events):
        course = _read_events(events, frame)
    elif report is not None and any(each.decision for leaf in iter_threads(report.findings) for each in leaf.rounds):
        course = _read_report(report, frame)
    else:
        return ""
    say = frame.translate
    described: list[str] = []
    for lane in course.lanes:
        spans = (f"{name} {say(f'{begin:.1f} to {end:.1f} s')}" for begin, end, name in lane.spans)
        described.append(f"{lane.label}: {', '.join(spans)}")
    left_out = f"Not shown: {format_count(course.left_out, 'more thread')}." if course.left_out else ""
    notes = (course.note, left_out)
    about = svg.Picture(
        "timeline",
        say(course.title),
        f"{say('Seconds since the start.')} {'; '.join(described)}.",
        tuple(say(each) for each in notes if each),
    )
    lanes = [lane for lane in course.lanes if lane.spans]
    return svg.draw_lanes(about, lanes, _translate_label("seconds", frame))


def _read_events(events: Sequence[Event], frame: Frame) -> _Course:
    begin, end = _moment(events[0]), _moment(events[-1])
    stages = [
        (_moment(each) - begin, _translate_label(str(each.data.get("stage", "")), frame))
        for each in events
        if each.type == EventType.STAGE
    ]
    ends = [at for at, _ in stages[1:]] + [end - begin]
    spans = tuple((at, stop, name) for (at, name), stop in zip(stages, ends, strict=True))
    lanes = [svg.TimelineRow(_translate_label("stages", frame), spans)]
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
    whole = tuple((begin, end, _translate_label(name, frame)) for begin, end, name in parts if end > begin)
    lanes = [svg.TimelineRow(_translate_label("stages", frame), whole)]
    lanes += [svg.TimelineRow(title, spans) for title, spans in threads[:_MOST_LANES]]
    return _Course(lanes, max(0, len(threads) - _MOST_LANES), "Time line: stages, and rounds of each thread")


def _moment(event: Event) -> float:
    return datetime.fromisoformat(event.at).timestamp()


_DRAW: Mapping[PlotKind, Callable[[Sequence[Event], Report | None, Frame], str]] = {
    PlotKind.COVERAGE: _draw_coverage,
    PlotKind.SATURATION: _draw_saturation,
    PlotKind.PUBLISHERS: _draw_publishers,
    PlotKind.DATES: _draw_dates,
    PlotKind.SPEND: _draw_spend,
    PlotKind.TIMELINE: _draw_timeline,
}


def _list_questions(events: Sequence[Event], report: Report | None) -> dict[str, str]:
    """Return the sub-questions by id, in the order of the plan, then those that were added later."""
    found: dict[str, str] = {}
    for each in events:
        if each.type == EventType.PLAN_PROPOSED:
            found = dict(_iter_questions(each.data.get("plan")))
    if report is not None:
        leaves = [report.findings, *iter_threads(report.findings)]
        found |= {part.id: part.text for leaf in leaves for part in leaf.sub_questions if part.id not in found}
    return found


def _iter_questions(value: object) -> Iterator[tuple[str, str]]:
    """Yield the sub-questions anywhere in a plan as JSON."""
    if isinstance(value, list):
        for each in cast("list[object]", value):
            yield from _iter_questions(each)
    elif isinstance(value, dict):
        for name, each in cast("dict[str, object]", value).items():
            if name == "sub_questions" and isinstance(each, list):
                parts = (
                    cast("dict[str, object]", part) for part in cast("list[object]", each) if isinstance(part, dict)
                )
                yield from ((str(part.get("id")), str(part.get("text"))) for part in parts)
            else:
                yield from _iter_questions(each)


def _list_rounds(events: Sequence[Event], report: Report | None) -> list[_Round]:
    """Return what each round gave; of the events if there are any, because a run at work has no report yet.

    A statement that is read again answers nothing anew.
    """
    known, found = set[tuple[str, str]](), list[_Round]()
    if not events and report is not None:
        for done in (each for leaf in iter_threads(report.findings) for each in leaf.rounds):
            facts = (fact for reading in done.readings for fact in reading.facts)
            answered = _count_new(known, ((name, str(fact.id)) for fact in facts for name in fact.answers))
            found.append(_Round(done.number, answered, done.new_facts, done.confirming_facts))
        return found
    for each in events:
        data = each.data
        if each.round is None:
            continue
        if each.type == EventType.FACT:
            answers, fact = data.get("answers"), str(data.get("fact") or each.seq)
            names = cast("Sequence[object]", answers) if isinstance(answers, list | tuple) else ()
            found.append(_Round(each.round, _count_new(known, ((str(name), fact) for name in names))))
        elif each.type == EventType.ROUND_FINISHED:
            found.append(_Round(each.round, Counter(), _count(data, "new_facts"), _count(data, "confirming")))
    return found


def _count_new(known: set[tuple[str, str]], answers: Iterable[tuple[str, str]]) -> Counter[str]:
    """Count by sub-question the pairs of sub-question and fact that are not known, and add them to the known ones."""
    new = set(answers) - known
    known |= new
    return Counter(question for question, _ in new)


def _count(data: Mapping[str, object], name: str) -> int:
    value = data.get(name)
    return value if isinstance(value, int) else 0


def _iter_read(events: Sequence[Event], report: Report | None) -> Iterator[tuple[str, str]]:
    """Yield source and address of every document that was read."""
    for each in events:
        if each.type == EventType.READ and each.data.get("outcome") == ReadOutcome.READ:
            yield str(each.data.get("source")), str(each.data.get("url"))
    if not events and report is not None:
        for leaf in iter_threads(report.findings):
            for reading in (reading for each in leaf.rounds for reading in each.readings):
                if reading.outcome is ReadOutcome.READ:
                    yield str(reading.source), reading.hit.url


def _find_publisher(url: str, local: str) -> str:
    """Return the host of a web address without `www.`, and `local` for files of a library."""
    try:
        return (urlsplit(url).hostname or local).removeprefix("www.")
    except ValueError:
        return local


def _find_year(published: str, version: str) -> int:
    """Return the year that a source states as its date, or as that of its version; 0 if it states none."""
    found = _YEAR.search(published) or _YEAR.search(version)
    return int(found.group()) if found else 0
