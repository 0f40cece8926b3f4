"""What leaves the database: all events of a long run, in order."""

from __future__ import annotations

from corrobora.app import Workspace
from corrobora.domain.run import Request
from corrobora.storage.journal.events import list_events


async def test_all_events_of_a_long_run_are_listed_once_and_in_order(workspace: Workspace) -> None:
    run = await workspace.runs.create(Request("Why?"))
    await workspace.database.execute(
        "INSERT INTO run_events (run, seq, epoch, type, key, path, data) "
        "SELECT %s, n, 1, 'stage', 'k' || n, 'root', '{}' FROM generate_series(1, 1203) AS n",
        [run],
    )
    assert [each.seq for each in await list_events(workspace.database, run)] == list(range(1, 1204))
