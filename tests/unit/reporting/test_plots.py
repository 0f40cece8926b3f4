"""Plots: what they show is what the log and the report say, for every label, in the same bytes, without a script."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.profiles.research import make_run

from corrobora.domain.limits import Usage
from corrobora.domain.report import Report, RoleSpend
from corrobora.domain.run import Event, EventType
from corrobora.reporting import svg
from corrobora.reporting.plots import PlotKind, draw_plot, draw_plots
from corrobora.text.phrases import find_frame

HOSTILE = '</svg><script>alert(1)</script> "quoted" & 北京の橋 \x00\x1b[31m\ud800 ' + "long " * 60
ZERO = datetime(2026, 1, 1, tzinfo=UTC)


def make_event(kind: EventType, seconds: float, path: str = "root", number: int | None = None, **data: object) -> Event:
    return Event(
        kind, f"{kind}{seconds}", path, number, data, int(seconds * 10), (ZERO + timedelta(seconds=seconds)).isoformat()
    )


EVENTS = [
    make_event(EventType.RUN_STARTED, 0, question=HOSTILE),
    make_event(EventType.STAGE, 0, stage="plan"),
    make_event(
        EventType.PLAN_PROPOSED,
        1,
        plan={"root": {"children": [{"sub_questions": [{"id": "a", "text": HOSTILE}, {"id": "b", "text": "Where?"}]}]}},
    ),
    make_event(EventType.STAGE, 2, stage="investigate"),
    make_event(EventType.ROUND_STARTED, 2, "root/1/round/1", 1, title=HOSTILE),
    make_event(EventType.READ, 3, "root/1/round/1", 1, outcome="read", source="S1", url="https://www.a.example/x"),
    make_event(EventType.FACT, 3, "root/1", 1, answers=["a"]),
    make_event(EventType.FACT, 3.5, "root/1", 1, answers=("a",)),
    make_event(EventType.ROUND_FINISHED, 5, "root/1/round/1", 1, new_facts=2, confirming=0),
    make_event(EventType.ROUND_STARTED, 5, "root/1/round/2", 2, title=HOSTILE),
    make_event(EventType.FACT, 6, "root/1", 2, answers=["a"]),
    make_event(EventType.ROUND_FINISHED, 8, "root/1/round/2", 2, new_facts=1, confirming=4),
    make_event(EventType.ROUND_STARTED, 8, "root/1/round/3", 3, title=HOSTILE),
    make_event(EventType.THOUGHT, 10, "root/1/round/3", 3),
]


def parse(picture: str) -> ET.Element:
    """Parse a picture as XML; it may hold shapes and text alone."""
    root = ET.fromstring(picture)
    tags = {each.tag.rpartition("}")[2] for each in root.iter()}
    assert tags <= {"svg", "title", "desc", "rect", "line", "text", "style"}
    assert not any(name.startswith("on") or "href" in name for each in root.iter() for name in each.attrib)
    return root


def read_texts(picture: str) -> list[str]:
    return ["".join(each.itertext()) for each in parse(picture).iter() if each.tag.endswith("}text")]


def describe(picture: str) -> str:
    return next(each.text or "" for each in parse(picture).iter() if each.tag.endswith("}desc"))


@pytest.fixture
async def report() -> Report:
    return await (await make_run("timed")).research()


def test_events_alone_give_the_plots_of_a_run_at_work() -> None:
    drawn = draw_plots(EVENTS)
    assert list(drawn) == [PlotKind.COVERAGE, PlotKind.SATURATION, PlotKind.PUBLISHERS, PlotKind.TIMELINE]
    assert "Where?: ·, ·" in describe(drawn[PlotKind.COVERAGE])
    assert [text for text in read_texts(drawn[PlotKind.COVERAGE]) if text.startswith("+")] == ["+2", "+1"]
    assert "Nothing was found for 1 sub-question." in read_texts(drawn[PlotKind.COVERAGE])
    assert "round 1: 2 new, 0 confirming; round 2: 1 new, 4 confirming." in describe(drawn[PlotKind.SATURATION])
    assert "a.example: 0 cited, 1 only read" in describe(drawn[PlotKind.PUBLISHERS])
    told = describe(drawn[PlotKind.TIMELINE])
    assert "stages: plan 0.0 to 2.0 s, investigate 2.0 to 10.0 s" in told
    assert "round 1 2.0 to 5.0 s, round 2 5.0 to 8.0 s, round 3 8.0 to 10.0 s" in told


async def test_a_statement_that_is_read_again_is_counted_once(report: Report) -> None:
    again = [
        make_event(EventType.FACT, second, "root/1", number, answers=["a"], fact=name)
        for second, number, name in ((6, 1, "F1"), (6.5, 2, "F1"), (7, 2, "F2"))
    ]
    shown = draw_plot(PlotKind.COVERAGE, [*EVENTS[:3], *again])
    assert [text for text in read_texts(shown) if text.startswith("+")] == ["+1", "+1"]
    first, *_ = report.findings.rounds
    twice = replace(report.findings, rounds=(first, replace(first, number=2)))
    row = describe(draw_plot(PlotKind.COVERAGE, (), replace(report, findings=twice)))
    assert re.search(r": \+\d+, ·[;.]", row)
    assert not re.search(r": \+\d+, \+", row)


def test_nothing_to_show_is_no_picture() -> None:
    assert draw_plots() == {}
    assert draw_plots(EVENTS[:1]) == {}


async def test_the_report_alone_gives_all_plots(report: Report) -> None:
    paid = Usage(input_tokens=900, output_tokens=100, dollars=0.0125, calls=3)
    done = replace(report.methodology, spend=(RoleSpend("extract", 3, paid), RoleSpend("plan", 1, Usage(calls=1))))
    first = report.citations[0].source
    cited = [
        replace(each, published="2019-05-01" if each.source == first else "", version="") for each in report.citations
    ]
    drawn = draw_plots((), replace(report, methodology=done, citations=tuple(cited)))
    assert list(drawn) == list(PlotKind)
    assert "3 calls, 900 + 100 tokens, $0.0125" in read_texts(drawn[PlotKind.SPEND])
    assert "2019: 1" in describe(drawn[PlotKind.DATES])
    found = {each.source for each in report.citations}
    assert f"Without a date: {len(found) - 1}." in describe(drawn[PlotKind.DATES])
    rounds = report.findings.rounds
    assert f"round 1: {rounds[0].new_facts} new" in describe(drawn[PlotKind.SATURATION])


async def test_every_word_of_a_plot_is_in_the_language_of_the_report(report: Report) -> None:
    """What a picture says in English and in German differs, but for numbers, content and addresses."""
    paid = Usage(input_tokens=1900, output_tokens=100, calls=3, priced=False)
    done = replace(report.methodology, spend=(RoleSpend("extract", 3, paid), RoleSpend("plan", 1, Usage(calls=1))))
    first, *more = report.citations
    asked = replace(report.findings.sub_questions[0], id="bare", text="Bare?")
    report = replace(
        report,
        methodology=done,
        findings=replace(report.findings, sub_questions=(*report.findings.sub_questions, asked)),
        citations=(replace(first, published="2019"), *(replace(each, published="", version="") for each in more)),
    )
    content = {HOSTILE, *(part.text for part in report.findings.sub_questions), report.findings.title, "Where?"}
    for events in ((), EVENTS):
        english = draw_plots(events, report)
        german = draw_plots(events, report, frame=find_frame("de"))
        assert list(german) == list(english)
        for kind in english:
            assert describe(german[kind]) != describe(english[kind])
            kept = {text for text in read_texts(german[kind]) if text in read_texts(english[kind])}
            words = {text for text in kept if re.search(r"[^\W\d_]{3}", text)}
            hosts = {text for text in words if re.fullmatch(r"[\w-]+(\.[\w-]+)+", text)}
            assert not {text for text in words - hosts if not any(each[:20] in text for each in content)}, kind


def test_equal_input_gives_equal_bytes_and_the_colours_of_the_text_around() -> None:
    for kind, picture in draw_plots(EVENTS).items():
        assert picture == draw_plot(kind, list(EVENTS))
        assert "<style" not in picture
        assert "#" not in picture.replace("&#", "")
        alone = draw_plot(kind, EVENTS, standalone=True)
        assert "prefers-color-scheme" in alone
        parse(alone)


@given(st.lists(st.tuples(st.text(max_size=40), st.floats(0, 1e6), st.floats(0, 1e6)), min_size=1, max_size=30))
def test_every_label_and_value_gives_a_picture_within_its_frame(rows: list[tuple[str, float, float]]) -> None:
    about = svg.Picture("x", rows[0][0], rows[-1][0], legend=("one", "two"))
    bars = [svg.Bar(label, first, second, "note") for label, first, second in rows]
    matrix = [svg.Cells(label, ((0.5, "+1"), (1.0, "·"))) for label, _, _ in rows]
    lanes = [svg.TimelineRow(label, ((0.0, first, "round"),), (second,)) for label, first, second in rows]
    for picture in (
        svg.draw_bars(about, bars),
        svg.draw_columns(about, bars),
        svg.draw_matrix(about, ["1", "2"], matrix),
        svg.draw_lanes(about, lanes, "seconds"),
    ):
        root = parse(picture)
        height = float(root.attrib["height"])
        for each in root.iter():
            if each.tag.endswith("}rect"):
                assert (
                    0
                    <= float(each.attrib["x"])
                    <= float(each.attrib["x"]) + float(each.attrib["width"])
                    <= svg.WIDTH + 1
                )
                assert 0 <= float(each.attrib["y"]) <= float(each.attrib["y"]) + float(each.attrib["height"]) <= height
