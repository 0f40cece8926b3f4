"""What the reading screens show of a report."""

from __future__ import annotations

from dataclasses import replace
from time import process_time

from tests.unit.domain.test_report import REPORT

from corrobora.domain.report import MarkerEvidence, SentenceCheck, Support
from corrobora.domain.run import Request, RunId, RunRow, RunStatus
from corrobora.faces.web.reader.views import build_side, suggest_earlier


def test_the_verdicts_of_a_long_report_are_made_in_a_moment() -> None:
    """Each sentence was compared with each marker: 900 of them took more than ten CPU-seconds."""
    said = [f"The bridge at Ardal {n} was opened in {1000 + n} after nine years of work." for n in range(900)]
    markers = tuple(MarkerEvidence(n + 1, n + 1, text, Support.SUPPORTED, "", ()) for n, text in enumerate(said))
    checks = tuple(SentenceCheck(text, (), Support.SUPPORTED, 1.0) for text in said)
    start = process_time()
    side = build_side(replace(REPORT, checks=checks, evidence=markers))
    assert process_time() - start < 2
    assert [each.markers for each in side.sentences] == [(each,) for each in markers]


def _make_row(name: str, question: str, previous: str = "") -> RunRow:
    day = f"2026-01-0{name}"
    return RunRow(RunId(name), RunStatus.DONE, 1, Request(question, "timed", previous=previous), day, day)


def test_a_run_is_compared_first_with_the_one_before_it_that_asks_the_same() -> None:
    """The newest run stood there as the earlier one, whatever it asked."""
    rows = [_make_row("5", "Other?"), _make_row("4", "Same?"), _make_row("3", "Other?"), _make_row("2", "Same?")]
    assert suggest_earlier(rows, rows[1]) == "2"
    assert suggest_earlier(rows, rows[0]) == "3"
    assert suggest_earlier(rows, _make_row("6", "New?", previous="4")) == "4"
    assert suggest_earlier(rows, rows[3]) == "5"
    assert suggest_earlier(rows[:1], rows[0]) == ""
