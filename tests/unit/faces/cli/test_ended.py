"""Exit codes, one row for each way a run can end (docs/reference/errors.md)."""

from __future__ import annotations

from typing import Any

import pytest

from corrobora.domain.run import Request, RunId, RunRow, RunStatus
from corrobora.faces.cli.report import run_exit

GOOD: dict[str, Any] = {
    "outcome": "complete",
    "markdown": "# x",
    "checks": [{"support": "supported"}],
    "methodology": {},
}


def row(status: RunStatus = RunStatus.DONE, outcome: str = "complete", reason: str = "") -> RunRow:
    return RunRow(RunId("r_1"), status, 1, Request("q"), "", "", outcome, reason)


CASES: dict[str, tuple[RunRow, dict[str, Any], float | None, bool, int]] = {
    "done": (row(), GOOD, None, False, 0),
    "a hit time limit is done": (row(), GOOD | {"outcome": "partial"}, None, False, 0),
    "awaiting": (row(RunStatus.AWAITING), {}, None, False, 3),
    "paused": (row(RunStatus.PAUSED, reason="It pauses."), {}, None, False, 3),
    "cancelled": (row(RunStatus.CANCELLED), {}, None, False, 130),
    "left by its store": (row(RunStatus.INTERRUPTED), {}, None, False, 1),
    "elsewhere": (row(RunStatus.RUNNING), {}, None, False, 2),
    "score at the threshold": (row(), GOOD, 1.0, False, 0),
    "support below": (row(), GOOD | {"checks": [{"support": "unsupported"}]}, 0.7, False, 4),
    "verdict below": (row(), GOOD | {"verdict": {"factual_accuracy": 0.6, "completeness": 0.7}}, 0.7, False, 4),
    "verdict below, whatever the overlap": (
        row(),
        GOOD | {"verdict": {"completeness": 0.6, "rationale": "thin"}, "overlap_score": 1.0},
        0.7,
        False,
        4,
    ),
    "verdict above": (row(), GOOD | {"verdict": {"completeness": 0.9}, "overlap_score": 0.1}, 0.7, False, 0),
    "strict and whole": (row(), GOOD, None, True, 0),
    "strict and partial": (row(), GOOD | {"outcome": "partial"}, None, True, 5),
    "strict and complete, though a limit was reached": (
        row(),
        GOOD | {"methodology": {"limits_hit": ["time"], "exhausted": ["a page"]}},
        None,
        True,
        0,
    ),
    "no evidence": (row(), {"outcome": "no_evidence", "markdown": ""}, None, False, 6),
    "inaccessible": (row(), {"outcome": "evidence_inaccessible"}, None, False, 6),
    "all threads failed": (row(), {"outcome": "limit_reached", "stop": "error"}, None, False, 6),
    "provider down": (row(RunStatus.FAILED, "provider_down"), {}, None, False, 7),
    "key refused": (row(RunStatus.FAILED, "provider_refused"), {}, None, False, 7),
    "unusable answers": (row(RunStatus.FAILED, "role_output"), {}, None, False, 7),
    "over budget without a report": (row(), {"outcome": "limit_reached", "markdown": ""}, None, False, 8),
    "too broad": (row(RunStatus.FAILED, "question_infeasible"), {}, None, False, 2),
    "unknown model": (row(RunStatus.FAILED, "model_unknown_provider"), {}, None, False, 2),
    "a bug": (row(RunStatus.FAILED, "", "KeyError: 'x'"), {}, None, False, 1),
}


@pytest.mark.parametrize("case", CASES)
def test_exit_code(case: str) -> None:
    found, report, min_score, strict, code = CASES[case]
    end = run_exit(found, report, min_score=min_score, strict=strict)
    assert end.code == code
    assert bool(end.why) == (code != 0)


def test_r16_a_run_that_a_full_disk_interrupted_says_so_last(monkeypatch: pytest.MonkeyPatch) -> None:
    left = row(RunStatus.INTERRUPTED)
    assert "is full" not in run_exit(left, {}, min_score=None, strict=False).why
    monkeypatch.setenv("CORROBORA_HOME", "/proc/corrobora")  # on a file system without free space
    why = run_exit(left, {}, min_score=None, strict=False).why
    assert "the disk of /proc/corrobora is full. Free some space first. Continue: corrobora resume r_1" in why
