"""Plots of a run as SVG: coverage, saturation, publishers and dates of sources, spend, and the time line.

Each is a pure function of the event log and of the report, and "" where there is nothing to show; coverage, saturation
and the time line need only events, so they can be drawn while a run works. Does not know where either is stored.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import cast
from urllib.parse import urlsplit

from corrobora.domain.evidence import ReadOutcome
from corrobora.domain.report import Report, iter_threads
from corrobora.domain.run import Event, EventType
from corrobora.reporting import svg
from corrobora.text.phrases import describe_code, format_count

_MOST_ROWS, _MOST_COLUMNS = 24, 40
_YEAR = re.compile(r"(?<!\d)(1[5-9]\d\d|20\d\d)(?!\d)")
_LOCAL = "local files"


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
    events: Sequence[Event] = (), report: Report | None = None, *, standalone: bool = False
) -> dict[PlotKind, str]:
    """Return every plot that has something to show, by its kind."""
    drawn = {kind: draw_plot(kind, events, report, standalone=standalone) for kind in PlotKind}
    return {kind: picture for kind, picture in drawn.items() if picture}


def draw_plot(
    kind: PlotKind, events: Sequence[Event] = (), report: Report | None = None, *, standalone: bool = False
) -> str:
    """Return one plot as an SVG element, "" if there is nothing to show.

    A `standalone` one, for a file of its own, brings its colours for dark and light; one inside a page takes those of
    the text around it. Where there are no events, coverage and saturation are drawn from the report.
    """
    return _DRAW[kind](events, report, standalone)


def _draw_coverage(events: Sequence[Event], report: Report | None, standalone: bool) -> str:  # noqa: FBT001 - one of a table
    asked = _list_questions(events, report)
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
    bare = [asked[name] for name in shown if not any(by_round[n][name] for n in by_round)]
    told = [f"{row.label}: {', '.join(note for _, note in row.cells)}" for row in rows]
    about = svg.Picture(
        "coverage",
        "Coverage: statements found for each sub-question, by round",
        f"Rows are sub-questions, columns rounds; darker means more statements so far. {'; '.join(told)}.",
        (
            f"Nothing was found for {format_count(len(bare), 'sub-question')}."
            if bare
            else "For every sub-question something was found.",
            *((f"{len(asked) - len(shown)} more sub-questions are not shown.",) if len(asked) > len(shown) else ()),
        ),
    )
    return svg.draw_matrix(about, [str(n) for n in by_round], rows, standalone=standalone)


def _draw_saturation(events: Sequence[Event], report: Report | None, standalone: bool) -> str:  # noqa: FBT001 - as above
    rounds = _list_rounds(events, report)
    numbers = sorted({each.number for each in rounds})[:_MOST_COLUMNS]
    new = {n: sum(each.new for each in rounds if each.number == n) for n in numbers}
    again = {n: sum(each.confirming for each in rounds if each.number == n) for n in numbers}
    if not any(new.values()) and not any(again.values()):
        return ""
    told = "; ".join(f"round {n}: {new[n]} new, {again[n]} confirming" for n in numbers)
    about = svg.Picture(
        "saturation",
        "Saturation: new and confirming statements of each round",
        f"One column for each round. {told}.",
        ("Few new statements and many confirming ones say that more rounds would have told little.",),
        ("new", "confirming"),
    )
    bars = [svg.Bar(str(n), new[n], again[n], str(new[n] + again[n])) for n in numbers]
    return svg.draw_columns(about, bars, standalone=standalone)


def _draw_publishers(events: Sequence[Event], report: Report | None, standalone: bool) -> str:  # noqa: FBT001 - as above
    cited = {each.source: _find_publisher(each.url) for each in report.citations} if report else {}
    read = {source: _find_publisher(url) for source, url in _iter_read(events, report)}
    by_cited = Counter(cited.values())
    by_read = Counter(host for source, host in read.items() if source not in cited)
    hosts = sorted({*by_cited, *by_read}, key=lambda host: (-by_cited[host], -by_read[host], host))
    if not hosts:
        return ""
    shown = hosts[:_MOST_ROWS]
    bars = [
        svg.Bar(host, by_cited[host], by_read[host], f"{by_cited[host]} cited, {by_read[host]} only read")
        for host in shown
    ]
    shares = [count / sum(by_cited.values()) for count in by_cited.values()]
    breadth = math.exp(-sum(share * math.log(share) for share in shares))
    told = f"As varied as {breadth:.1f} publishers that are cited equally often."
    notes = (told if len(by_cited) > 1 else "All cited sources are of one publisher.",) if by_cited else ()
    rest = (f"{len(hosts) - len(shown)} more publishers are not shown.",) if len(hosts) > len(shown) else ()
    about = svg.Picture(
        "publishers",
        "Sources by publisher",
        f"One row for each publisher. {'; '.join(f'{bar.label}: {bar.note}' for bar in bars)}.",
        (*notes, *rest),
        ("cited", "only read"),
    )
    return svg.draw_bars(about, bars, standalone=standalone)


def _draw_dates(_: Sequence[Event], report: Report | None, standalone: bool) -> str:  # noqa: FBT001 - as above
    dates = {each.source: _find_year(each.published, each.version) for each in report.citations} if report else {}
    years = Counter(year for year in dates.values() if year)
    if not years:
        return ""
    first, last = min(years), max(years)
    step = -(-(last - first + 1) // _MOST_COLUMNS)  # years of one column
    starts = range(first, last + 1, step)
    counts = [sum(years[year] for year in range(start, start + step)) for start in starts]
    undated = sum(not year for year in dates.values())
    told = "; ".join(f"{start}: {count}" for start, count in zip(starts, counts, strict=True) if count)
    about = svg.Picture(
        "dates",
        "Cited sources by the year that they state",
        f"One column for {'each year' if step == 1 else f'{step} years'}. {told}. Without a date: {undated}.",
        (f"{format_count(undated, 'cited source')} of {len(dates)} without a date.",) if undated else (),
    )
    bars = [svg.Bar(str(start), n, note=str(n) if n else "") for start, n in zip(starts, counts, strict=True)]
    return svg.draw_columns(about, bars, standalone=standalone)


def _draw_spend(_: Sequence[Event], report: Report | None, standalone: bool) -> str:  # noqa: FBT001 - as above
    spent = report.methodology.spend if report else ()
    if not spent:
        return ""
    paid = any(each.usage.input_tokens + each.usage.output_tokens for each in spent)
    bars: list[svg.Bar] = []
    for each in sorted(spent, key=lambda one: (-one.usage.dollars, -one.usage.input_tokens, -one.answers, one.role)):
        used, calls = each.usage, format_count(each.answers, "call")
        price = f"${used.dollars:.4f}" if used.priced else "price unknown"
        tokens = f"{used.input_tokens:,} + {used.output_tokens:,} tokens"
        note = f"{calls}, {tokens}, {price}" if paid else calls
        first, second = (used.input_tokens, used.output_tokens) if paid else (each.answers, 0)
        bars.append(svg.Bar(describe_code(each.role), first, second, note))
    about = svg.Picture(
        "spend",
        "Spend: tokens of each role" if paid else "Work: calls of each role, without a language model",
        f"One row for each role. {'; '.join(f'{bar.label}: {bar.note}' for bar in bars)}.",
        legend=("input tokens", "output tokens") if paid else (),
    )
    return svg.draw_bars(about, bars, standalone=standalone)


def _draw_timeline(events: Sequence[Event], _: Report | None, standalone: bool) -> str:  # noqa: FBT001 - as above
    if not any(each.type == EventType.STAGE for each in events):
        return ""
    begin, end = _moment(events[0]), _moment(events[-1])
    stages = [
        (_moment(each) - begin, str(each.data.get("stage", ""))) for each in events if each.type == EventType.STAGE
    ]
    ends = [at for at, _ in stages[1:]] + [end - begin]
    lanes = [svg.Lane("stages", tuple((at, stop, name) for (at, name), stop in zip(stages, ends, strict=True)))]
    titles: dict[str, str] = {}
    opened: dict[str, float] = {}
    spans: dict[str, list[tuple[float, float, str]]] = {}
    reads: dict[str, list[float]] = {}
    for each in events:
        thread, at = each.path.partition("/round/")[0], _moment(each) - begin
        if each.type == EventType.ROUND_STARTED:
            titles.setdefault(thread, str(each.data.get("title") or thread))
            opened[each.path] = at
        elif each.type == EventType.ROUND_FINISHED and each.path in opened:
            spans.setdefault(thread, []).append((opened.pop(each.path), at, f"round {each.round}"))
        elif each.type == EventType.READ:
            reads.setdefault(thread, []).append(at)
    for path, at in opened.items():  # rounds that are under way, or were cut
        number = path.rpartition("/")[2]
        spans.setdefault(path.partition("/round/")[0], []).append((at, end - begin, f"round {number}"))
    shown = list(titles)[:_MOST_ROWS]
    lanes += [svg.Lane(titles[path], tuple(spans.get(path, ())), tuple(reads.get(path, ()))) for path in shown]
    told = "; ".join(
        f"{lane.label}: {', '.join(f'{n} {a:.1f} to {z:.1f} s' for a, z, n in lane.spans)}" for lane in lanes
    )
    about = svg.Picture(
        "timeline",
        "Time line: stages, rounds of each thread, and reads",
        f"Seconds since the start. {told}.",
        (
            "A small mark below a round is a document that was read.",
            *((f"{len(titles) - len(shown)} more threads are not shown.",) if len(titles) > len(shown) else ()),
        ),
    )
    return svg.draw_lanes(about, [lane for lane in lanes if lane.spans], "seconds", standalone=standalone)


_DRAW: Mapping[PlotKind, Callable[[Sequence[Event], Report | None, bool], str]] = {
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
    """Return what each round gave; of the events if there are any, because a run at work has no report yet."""
    if not events and report is not None:
        done = (each for leaf in iter_threads(report.findings) for each in leaf.rounds)
        return [
            _Round(
                each.number,
                Counter(name for reading in each.readings for fact in reading.facts for name in fact.answers),
                each.new_facts,
                each.confirming_facts,
            )
            for each in done
        ]
    found: list[_Round] = []
    for each in events:
        data = each.data
        if each.round is None:
            continue
        if each.type == EventType.FACT:
            answers = data.get("answers")
            names = cast("Sequence[object]", answers) if isinstance(answers, list | tuple) else ()
            found.append(_Round(each.round, Counter(map(str, names))))
        elif each.type == EventType.ROUND_FINISHED:
            found.append(_Round(each.round, Counter(), _count(data, "new_facts"), _count(data, "confirming")))
    return found


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


def _find_publisher(url: str) -> str:
    """Return the host of a web address without `www.`; files of a library have none."""
    try:
        return (urlsplit(url).hostname or _LOCAL).removeprefix("www.")
    except ValueError:
        return _LOCAL


def _find_year(published: str, version: str) -> int:
    """Return the year that a source states as its date, or as that of its version; 0 if it states none."""
    found = _YEAR.search(published) or _YEAR.search(version)
    return int(found.group()) if found else 0


def _moment(event: Event) -> float:
    return datetime.fromisoformat(event.at).timestamp()
