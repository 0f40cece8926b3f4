"""The view of a run, folded from the events of a stored demo run and from small logs of what that run does not show."""

from __future__ import annotations

import gzip
import json
from functools import reduce
from pathlib import Path

import pytest

from corrobora.domain.run import Event, EventType
from corrobora.faces.run_view import MAX_LINES, RunView, fold_event

STORED = Path(__file__).parents[2] / "fixtures" / "demo_events.jsonl.gz"


@pytest.fixture(scope="module")
def events() -> list[Event]:
    rows = [json.loads(line) for line in gzip.decompress(STORED.read_bytes()).splitlines()]
    return [
        Event(EventType(row["type"]), str(row["seq"]), row["node"], row["round"], row["data"], row["seq"], row["ts"])
        for row in rows
    ]


@pytest.fixture(scope="module")
def view(events: list[Event]) -> RunView:
    return reduce(fold_event, events, RunView())


def event(kind: str, second: int, path: str = "root", number: int | None = None, **data: object) -> Event:
    return Event(
        EventType(kind), f"{kind}{second}", path, number, data, second + 1, f"2026-01-01T00:00:{second:02d}+00:00"
    )


def test_counts_of_the_demo(view: RunView, events: list[Event]) -> None:
    kinds = [each.type for each in events]
    assert (view.searches, view.facts) == (kinds.count(EventType.SEARCH), kinds.count(EventType.FACT))
    assert view.considered == sum(int(str(e.data["hits"])) for e in events if e.type is EventType.SEARCH)
    assert (view.profile, view.outcome, view.finished, view.seq) == ("timed", "complete", True, events[-1].seq)
    assert (view.gauge.limit_seconds, view.gauge.reserve_seconds) == (300.0, 90.0)


def test_sub_questions_with_their_standing_and_facts_by_source(view: RunView, events: list[Event]) -> None:
    assert [each.id for each in view.asked] == ["sq-1", "sq-2", "sq-3"]
    assert {each.standing for each in view.asked} == {"ANSWERED"}
    assert view.open_questions == 0
    first = view.asked[0]
    facts = [e for e in events if e.type is EventType.FACT and "sq-1" in list(e.data["answers"])]  # type: ignore[call-overload]
    assert sum(first.facts.values()) == len(facts)
    assert set(first.facts) <= {each.id for each in view.sources}


def test_each_source_has_one_row_with_all_its_facts(view: RunView) -> None:
    assert len({each.id for each in view.sources}) == len(view.sources)
    assert sum(each.facts for each in view.sources) >= view.facts


def test_rounds_with_their_plateau_and_contradictions(view: RunView) -> None:
    assert [(each.number, each.gaps) for each in view.rounds] == [(1, 1), (2, 1), (3, 0)]
    assert (view.rounds[-1].stop, view.rounds[-1].level) == ("gaps_empty", 3)
    assert len(view.conflicts) == view.contradictions == 2
    assert view.conflicts[0].difference == "SHOULD NOT -> SHALL NOT"


def test_lines_are_filtered_by_group_and_facts_show_their_quote(view: RunView) -> None:
    assert {"thought", "search", "read", "fact", "decision"} <= {line.kind for line in view.lines}
    fact = next(line for line in view.lines if line.kind == "fact")
    assert fact.text.startswith("However, analyses of breached")
    assert fact.detail.startswith("SP 800-63")


def test_what_several_threads_read_and_find_is_counted_once() -> None:
    asked = {"root": {"path": "root", "sub_questions": [{"id": "sq-1", "text": "When?"}]}}
    events = [event("plan.proposed", 0, plan=asked)]
    for second, thread in ((1, "root/1"), (3, "root/2")):
        path = f"{thread}/round/1"
        events.append(event("read", second, path, 1, source="S1", url="a.md", title="A", outcome="read", facts=1))
        events.append(event("fact", second + 1, path, 1, fact="f1", source="S1", quote="It is.", answers=["sq-1"]))
    seen = reduce(fold_event, events, RunView())
    assert (seen.reads, seen.facts, [each.facts for each in seen.sources]) == (1, 1, [1])
    assert seen.asked[0].facts == {"S1": 1}
    assert [(lane.reads, lane.facts) for lane in seen.lanes if lane.path != "root"] == [(1, 1), (1, 1)]


def test_only_what_could_not_be_read_is_told_as_not_readable() -> None:
    outcomes = ("read", "drifted", "drifted", "skipped", "cut", "timeout", "broken", "empty")
    reads = (event("read", at, "root", 1, url=f"https://a.example/{at}", outcome=it) for at, it in enumerate(outcomes))
    seen = reduce(fold_event, reads, RunView())
    assert (seen.reads, seen.drifted, seen.unread) == (1, 2, 3)


def test_only_the_last_lines_are_kept(view: RunView) -> None:
    again = [event("thought", second % 60, text=f"thought {second}") for second in range(MAX_LINES)]
    longer = reduce(fold_event, again, view)
    assert len(longer.lines) == MAX_LINES
    assert longer.dropped == len(view.lines)
    assert longer.lines[-1].text == f"thought {MAX_LINES - 1}"


def test_waiting_for_a_person_takes_no_time() -> None:
    begun = [event("run.started", 0, profile={"minutes": 1.0}), event("plan.proposed", 2)]
    waiting = reduce(fold_event, begun, RunView())
    authorized = fold_event(waiting, event("plan.authorized", 40))
    assert waiting.gauge.elapsed_seconds == 2.0
    assert authorized.elapsed_at("2026-01-01T00:00:45+00:00") == 7.0
    told = fold_event(authorized, event("round.finished", 50, "root/round/1", 1, elapsed=3.0))
    assert told.elapsed_at("2026-01-01T00:00:51+00:00") == 4.0


def test_a_page_that_cannot_be_read_is_a_source_with_its_outcome() -> None:
    failed = event("read", 1, "root/round/1", 1, url="https://a.example/x", title="", outcome="forbidden", facts=0)
    (row,) = fold_event(RunView(), failed).sources
    assert (row.id, row.url, row.outcome) == ("", "https://a.example/x", "forbidden")
