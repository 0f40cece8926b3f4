"""The time line of a report alone; that of the event log is tested with the other plots."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree as ET

from tests.profiles.research import make_run

from corrobora.reporting.plots import PlotKind, draw_plot


async def test_the_time_line_of_a_report_shows_its_rounds_at_the_time_of_their_decisions() -> None:
    report = await (await make_run("timed")).research()
    (first, *_), title = report.findings.rounds, report.findings.title
    assert first.decision is not None
    decided = replace(first.decision, elapsed_seconds=5.0)
    rounds = (replace(first, seconds=3.0, decision=decided), *report.findings.rounds[1:1])
    done = replace(report.methodology, seconds=9.0)
    shown = draw_plot(
        PlotKind.TIMELINE, (), replace(report, findings=replace(report.findings, rounds=rounds), methodology=done)
    )
    told = next(each.text or "" for each in ET.fromstring(shown).iter() if each.tag.endswith("}desc"))
    assert "stages: planning 0.0 to 2.0 s, research 2.0 to 5.0 s, writing 5.0 to 9.0 s" in told
    assert f"{title}: round 1 2.0 to 5.0 s" in told


async def test_a_report_without_rounds_has_no_time_line() -> None:
    report = await (await make_run("timed")).research()
    bare = replace(report, findings=replace(report.findings, rounds=()))
    assert draw_plot(PlotKind.TIMELINE, (), bare) == ""
