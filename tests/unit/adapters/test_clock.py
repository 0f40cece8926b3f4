"""The clock of the machine."""

from __future__ import annotations

from corrobora.adapters.pacing import SystemClock


async def test_the_clock_of_the_machine_goes_forward_and_tells_utc() -> None:
    clock = SystemClock()
    before = clock.now()
    await clock.sleep(0)
    assert clock.now() >= before
    assert clock.utc_time().endswith("+00:00")
