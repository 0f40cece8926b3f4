"""The screen as a fold of events, drawn and as lines: counts, budget with reserve, nothing obeyed."""

from __future__ import annotations

import io
from functools import reduce

from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from corrobora.domain.run import Event, EventType
from corrobora.faces.cli.display import json_line, plain_line
from corrobora.faces.cli.live import gauge_line, render_screen
from corrobora.faces.event_text import thread_path
from corrobora.faces.run_view import Gauge, RunView, fold_event


def event(kind: str, path: str = "root", number: int | None = None, **data: object) -> Event:
    return Event(EventType(kind), f"{kind}@{path}", path, number, data)


PLAN = {
    "root": {
        "path": "root",
        "title": "All",
        "children": [
            {"path": "root/1", "title": "First part", "sub_questions": [{"id": "sq-1"}], "children": []},
            {"path": "root/2", "title": "Second part", "sub_questions": [], "children": []},
        ],
    }
}
RUN = [
    event("run.started", question="Why?\x1b[31m", profile={"name": "timed", "minutes": 2.0, "reserve_minutes": None}),
    event("stage", stage="investigate"),
    event("plan.proposed", plan=PLAN),
    event("search", "root/1/round/1", 1, query="why", provider="library", hits=3),
    event("read", "root/1/round/1", 1, source="S1", url="a.md", title="A\u202e", outcome="read", facts=1),
    event("read", "root/1/round/1", 1, url="b.pdf", title="B", outcome="broken", facts=0),
    event("fact", "root/1", 1, source="S1", fact="F1", quote="q"),
    event(
        "round.finished",
        "root/1/round/1",
        1,
        new_facts=1,
        gaps=["x", "y"],
        stop="gaps_empty",
        reserve=30.0,
        remaining=80.0,
    ),
    event("leaf.failed", "root/2", why="broken"),
    event("warning", "root", failed="provider down"),
    event("complete", outcome="partial", words=10, sources=1),
    event("run.finished", outcome="partial"),
]


def test_counts_gaps_stop_and_budget() -> None:
    screen = reduce(fold_event, RUN, RunView())
    assert (screen.searches, screen.reads, screen.unread, screen.facts, screen.gaps) == (1, 1, 1, 1, 2)
    assert (screen.questions, screen.warnings, screen.outcome, screen.finished) == (1, 1, "partial", True)
    assert [(lane.title, lane.round, lane.state) for lane in screen.lanes] == [
        ("First part", 1, "gaps_empty"),
        ("Second part", 0, "failed: broken"),
    ]
    assert (screen.gauge.limit_seconds, screen.gauge.reserve_seconds) == (120.0, 30.0)


def test_the_reserve_is_known_before_the_first_round() -> None:
    assert fold_event(RunView(), RUN[0]).gauge.reserve_seconds == 36.0  # 0.3 of two minutes


def test_the_drawing_shows_counts_and_the_reserve_and_no_escape_of_the_question() -> None:
    out = io.StringIO()
    Console(file=out, width=100, force_terminal=False).print(
        render_screen(reduce(fold_event, RUN, RunView()), 70.0, note="note")
    )
    for part in (
        "First part",
        "1 search ",
        "2 gaps",
        "1:10/2:00 (reserve 0:30)",
        "partial",
        "no gaps were left",
        "note",
    ):
        assert part in out.getvalue()
    assert not {"\x1b", "\u202e"} & set(out.getvalue())


def test_the_gauge_marks_used_left_and_reserve() -> None:
    bar = gauge_line(Gauge(limit_seconds=100.0, reserve_seconds=30.0), 50.0, width=10).plain
    assert "█████░░▒▒▒" in bar
    assert "█" not in gauge_line(Gauge(), 5.0).plain


def test_plain_lines_are_safe_single_lines_for_what_a_person_wants() -> None:
    lines = [plain_line(each) for each in RUN]
    assert lines[3] == "⌕ [1] library: why (3 hits)"
    assert lines[5] == "▤ [1] B: broken"
    assert lines[6] == ""
    assert "stopped: no gaps were left" in lines[7]
    assert not {"\x1b", "\u202e", "\n"} & set("".join(lines))


def test_thread_of_a_round() -> None:
    assert thread_path("root/1/round/2") == "root/1"


VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=8)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=4), inner, max_size=3)),
    max_leaves=5,
)
NAMES = st.sampled_from(
    ["plan", "root", "children", "profile", "minutes", "gaps", "title", "outcome", "remaining", "hits"]
)


@given(st.sampled_from(list(EventType)), st.dictionaries(NAMES, VALUES), st.integers(0, 9) | st.none())
def test_any_event_is_folded_drawn_and_told_without_failing(
    kind: EventType, data: dict[str, object], number: int | None
) -> None:
    told = Event(kind, "k", "root/1/round/1", number, data)
    screen = fold_event(fold_event(RunView(), RUN[0]), told)
    Console(file=io.StringIO(), width=80).print(render_screen(screen, 1.0))
    assert "\n" not in plain_line(told)
    assert "\n" not in json_line(told, "r_1")


def test_a_node_that_works_again_is_named_after_its_first_turn() -> None:
    again = event("search", "root/1~2/round/1", 1, query="why", provider="library", hits=3)
    screen = reduce(fold_event, (*RUN, again), RunView())
    assert [lane.title for lane in screen.lanes] == ["First part", "Second part", "First part (turn 2)"]
    assert "[1, turn 2]" in plain_line(again)
    assert "~" not in plain_line(again)
