"""SIGKILL of program, parser and database at 200 points, over library and web: nothing repeated, the same report."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.journal.kill_points import CASES, Case, prove

pytestmark = pytest.mark.slow


def test_the_cases_have_two_hundred_points() -> None:
    assert sum(case.points for case in CASES) == 200


@pytest.mark.parametrize("case", CASES, ids=str)
async def test_engine_5_a_kill_of_any_part_repeats_nothing_and_gives_the_same_report(case: Case, scratch: Path) -> None:
    assert await prove(case, scratch) == []
