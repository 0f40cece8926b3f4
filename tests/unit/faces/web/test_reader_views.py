"""What the reading screens show of a report."""

from __future__ import annotations

from dataclasses import replace
from time import process_time

from tests.unit.domain.test_report import REPORT

from corrobora.domain.report import MarkerEvidence, SentenceCheck, Support
from corrobora.faces.web.reader.views import build_side


def test_the_verdicts_of_a_long_report_are_made_in_a_moment() -> None:
    """Each sentence was compared with each marker: 900 of them took more than ten CPU-seconds."""
    said = [f"The bridge at Ardal {n} was opened in {1000 + n} after nine years of work." for n in range(900)]
    markers = tuple(MarkerEvidence(n + 1, n + 1, text, Support.SUPPORTED, "", ()) for n, text in enumerate(said))
    checks = tuple(SentenceCheck(text, (), Support.SUPPORTED, 1.0) for text in said)
    start = process_time()
    side = build_side(replace(REPORT, checks=checks, evidence=markers))
    assert process_time() - start < 2
    assert [each.markers for each in side.sentences] == [(each,) for each in markers]
