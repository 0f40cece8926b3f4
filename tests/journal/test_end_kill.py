"""SIGKILL at each step in which a run ends: before and after its report is sealed, before and after it is closed."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.journal.kill_points import END_CASES, Case, prove

FAST, *OTHERS = reversed(END_CASES)


@pytest.mark.parametrize("case", [FAST, *(pytest.param(case, marks=pytest.mark.slow) for case in OTHERS)], ids=str)
async def test_engine_5_a_kill_at_the_end_of_a_run_gives_one_report_and_repeats_nothing(
    case: Case, scratch: Path
) -> None:
    assert await prove(case, scratch) == []
