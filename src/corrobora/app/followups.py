"""What comes after a report: the comparison of two runs.

Knows stored runs and their reports. Does not know how a comparison is made (`reporting.comparison` does) or printed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from corrobora.app.runs import load_report
from corrobora.domain.errors import NoEvidence
from corrobora.domain.report import Report
from corrobora.reporting.comparison import Comparison, compare_reports

if TYPE_CHECKING:
    from corrobora.app import Workspace


async def compare_runs(workspace: Workspace, before: str, after: str) -> Comparison:
    """Compare the reports of two stored runs, each named by an id, the unique start of one, or `last`.

    Raises:
        UserError: there is no such run.
        NoEvidence: `report_missing`: one of them has no report.
    """
    runs = [await workspace.runs.find_id(each) for each in (before, after)]
    reports = [await require_report(workspace, run) for run in runs]
    return compare_reports(reports[0], reports[1], (runs[0], runs[1]))


async def require_report(workspace: Workspace, run: str) -> Report:
    """Return the report of a run as a value. Raises `NoEvidence` if it has none."""
    report = await load_report(workspace, run)
    if report is None:
        raise NoEvidence("report_missing", f"Run {run} has no report yet.", next_step=f"corrobora resume {run}")
    return report
