"""The layout of a version: what code writes is written anew, the body stays byte for byte."""

from __future__ import annotations

from dataclasses import replace

from tests.unit.reporting.test_revision import REPORT_NOW

from corrobora.reporting.edits import parse_document
from corrobora.reporting.versions import lay_out_version


def test_the_body_stays_and_the_sections_of_code_follow_the_report() -> None:
    document = parse_document(REPORT_NOW)
    kept = REPORT_NOW.citations[:1]
    noted = replace(REPORT_NOW.methodology, notes=("Edited from run r_1.",))
    text = lay_out_version(replace(REPORT_NOW, citations=kept, methodology=noted), document)
    assert document.body in text
    sources = text.partition("## Sources")[2]
    assert [f"[{each.number}] **" in sources for each in REPORT_NOW.citations] == [
        each in kept for each in REPORT_NOW.citations
    ]
    assert "Edited from run r_1." in text
