"""SARIF: each finding with its line, state and failing words; what could not be looked at is only a note."""

from __future__ import annotations

from typing import Any, cast

from corrobora.domain.report import Support
from corrobora.reporting.recheck import CheckedStatement, RecheckResult
from corrobora.reporting.references import CitationStatus
from corrobora.reporting.report_parser import Reference
from corrobora.reporting.sarif import build_sarif
from corrobora.reporting.seal import Change


def test_findings_have_lines_levels_and_failing_words() -> None:
    verified, lost = (CitationStatus.VERIFIED,), (CitationStatus.NOT_STORED,)
    result = RecheckResult(
        statements=(
            CheckedStatement("Fine.", ("1",), verified, Support.SUPPORTED, line=3),
            CheckedStatement("It has 64.", ("1",), verified, Support.UNSUPPORTED, ("no 64",), ("64",), 4),
            CheckedStatement("Unknown.", ("2",), lost, Support.NOT_CHECKABLE, line=5),
        ),
        references=(Reference(1, "A", line=9), Reference(2, "B", line=11)),
        never_cited=(),
        duplicates=0,
        problems={1: "the stored source has the title “C”"},
        changes=(Change(7, "Added.", added=True),),
    )
    run = cast("Any", build_sarif(result, "report.md", "1.0"))["runs"][0]
    found = [
        (each["ruleId"], each["level"], each["locations"][0]["physicalLocation"]["region"]["startLine"])
        for each in run["results"]
    ]
    assert found == [
        ("changed", "error", 7),
        ("reference", "error", 9),
        ("unsupported", "error", 4),
        ("not_checkable", "note", 5),
    ]
    assert run["results"][2]["properties"]["failingWords"] == ["64"]
    assert {each["ruleId"] for each in run["results"]} <= {rule["id"] for rule in run["tool"]["driver"]["rules"]}
