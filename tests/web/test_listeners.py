"""The bench of listeners at a small scale: streams that are cut off again and again lose and double nothing."""

from __future__ import annotations

from bench.listeners import run_bench


async def test_no_listener_loses_or_doubles_an_event_when_it_is_cut_off(database_url: str) -> None:
    found = await run_bench(24, 3, database_url)
    assert (found["listeners"], found["runs"]) == (24, 3)
    assert found["reconnects"] >= 24
    assert (found["lost"], found["doubled"], found["out_of_order"]) == (0, 0, 0)
