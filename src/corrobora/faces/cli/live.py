"""The screen of the live display: the state of a run, drawn with rich.

Knows the layout, and never lets untrusted text be read as markup. Does not know events: `run_view` folds them. It is a
module of its own because rich must load only where something is drawn.
"""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from corrobora.faces.cli.screen import one_line
from corrobora.faces.event_text import format_clock, thread_label
from corrobora.faces.run_view import Gauge, Lane, RunView
from corrobora.text.phrases import describe_code, describe_stop, format_count

_MAX_LANES = 12


def render_screen(screen: RunView, elapsed: float, *, note: str = "") -> RenderableType:
    """Return the screen as something rich can print."""
    head = Text(f"● {one_line(screen.question, 160)}", style="bold", overflow="ellipsis", no_wrap=True)
    rows: list[RenderableType] = [head, _lane_table(screen)] if screen.lanes else [head]
    rows.append(Text(_counts_line(screen)))
    rows.append(gauge_line(screen.gauge, elapsed, profile=screen.profile))
    if screen.estimate and not screen.finished:
        rows.append(Text(f"  estimate: {one_line(screen.estimate, 300)}", style="dim"))
    if screen.latest and not screen.finished:
        rows.append(Text(f"  {one_line(screen.latest, 200)}", style="dim", overflow="ellipsis", no_wrap=True))
    if screen.outcome:
        stops = "; ".join(dict.fromkeys(describe_stop(lane.state) for lane in screen.lanes if lane.state))
        end = f"■ {describe_code(screen.outcome)}" + (f", stopped: {stops}" if stops else "")
        rows.append(Text(one_line(end), style="bold"))
    if note:
        rows.append(Text(one_line(note), style="yellow"))
    return Group(*rows)


def _lane_table(screen: RunView) -> Table:
    table = Table.grid(padding=(0, 1))
    for lane in screen.lanes[:_MAX_LANES]:
        table.add_row(*_lane_row(lane))
    if len(screen.lanes) > _MAX_LANES:
        table.add_row(Text(""), Text(f"and {format_count(len(screen.lanes) - _MAX_LANES, 'more thread')}", style="dim"))
    return table


def _lane_row(lane: Lane) -> tuple[Text, Text, Text, Text]:
    name = lane.title or thread_label(lane.path) or lane.path
    searches = format_count(lane.searches, "search", "searches")
    return (
        Text(_round_text(lane), style="cyan"),
        Text(one_line(name, 60), overflow="ellipsis", no_wrap=True),
        Text(f"{searches}  {lane.reads} read  {format_count(lane.facts, 'fact')}"),
        Text(one_line(describe_stop(lane.state), 50), style="dim"),
    )


def _round_text(lane: Lane) -> str:
    if not lane.round:
        return "      "
    return f"round {lane.round} of {lane.max_rounds}" if lane.max_rounds else f"round {lane.round}"


def _counts_line(screen: RunView) -> str:
    parts = [
        f"{screen.stage or 'start'}",
        format_count(screen.searches, "search", "searches"),
        f"{screen.reads} read",
        format_count(screen.facts, "fact"),
    ]
    optional = (
        (screen.questions, "sub-question", "sub-questions"),
        (screen.gaps, "gap", "gaps"),
        (screen.drifted, "off the subject", "off the subject"),
        (screen.unread, "not readable", "not readable"),
        (screen.contradictions, "contradiction", "contradictions"),
        (screen.warnings, "warning", "warnings"),
        (screen.fallbacks, "answered by another analyst", "answered by another analyst"),
    )
    parts += [format_count(*each) for each in optional if each[0]]
    return "  " + " · ".join(parts)


def gauge_line(gauge: Gauge, elapsed: float, *, profile: str = "", width: int = 30) -> Text:
    """Return the time budget as a bar: used, left, and the reserve for writing at the end."""
    line = Text("  ")
    if gauge.limit_seconds:
        reserve = round(width * min(1.0, gauge.reserve_seconds / gauge.limit_seconds))
        used = min(width, round(width * elapsed / gauge.limit_seconds))
        bar = ["█"] * used + ["░"] * (width - used)
        for place in range(width - reserve, width):
            bar[place] = "▓" if place < used else "▒"
        line.append("".join(bar), style="green" if used < width - reserve else "yellow")
        limit, kept = format_clock(gauge.limit_seconds), format_clock(gauge.reserve_seconds)
        line.append(f" {format_clock(elapsed)}/{limit} (reserve {kept})")
    else:
        line.append(f"{format_clock(elapsed)}, no time limit")
    if gauge.dollars or gauge.max_dollars:
        line.append(f" │ ${gauge.dollars:.2f}" + (f"/{gauge.max_dollars:.2f}" if gauge.max_dollars else ""))
    if gauge.tokens:
        line.append(f" │ {gauge.tokens:,} tokens")
    if profile:
        line.append(f" │ {one_line(profile, 30)}")
    return line
