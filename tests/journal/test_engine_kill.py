"""SIGKILL the whole engine on progress and resume: nothing committed is asked again, the report is equal."""

from __future__ import annotations

from pathlib import Path

from tests.journal.engine_kill import kills_change_nothing


async def test_engine_5_twenty_kill_points_repeat_nothing_and_give_the_same_report(
    database_url: str, tmp_path: Path
) -> None:
    await kills_change_nothing(database_url, tmp_path, n_points=20)
