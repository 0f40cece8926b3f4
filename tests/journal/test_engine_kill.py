"""SIGKILL the whole engine on progress and resume: nothing committed is asked again, the report is equal."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.journal.engine_kill import kills_change_nothing


@pytest.mark.parametrize("n_points", [4, pytest.param(60, marks=pytest.mark.slow)])
async def test_engine_5_kill_points_of_a_whole_run_repeat_nothing_and_give_the_same_report(
    database_url: str, tmp_path: Path, n_points: int
) -> None:
    await kills_change_nothing(database_url, tmp_path, n_points=n_points)
