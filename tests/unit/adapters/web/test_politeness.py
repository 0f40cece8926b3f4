"""Politeness: one request in flight per host, a second apart, eight in all."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections import defaultdict
from dataclasses import replace

import pytest
from tests.unit.adapters.web.loopback import VirtualClock

from corrobora.adapters.web.politeness import Politeness
from corrobora.domain.errors import ReadError
from corrobora.domain.limits import LIMITS


async def test_safe_7_f20_fifty_hosts_and_two_thousand_pages_without_one_violation():
    clock = VirtualClock()
    turns = Politeness(clock)
    chance = random.Random(7)
    log: defaultdict[str, list[tuple[float, float]]] = defaultdict(list)
    flying = most = 0

    async def visit(host: str, seconds: float) -> None:
        nonlocal flying, most
        async with turns.take_turn(host):
            flying += 1
            most = max(most, flying)
            began = clock.now()
            await clock.sleep(seconds)
            log[host].append((began, clock.now()))
            flying -= 1

    pages = [(f"h{chance.randrange(50)}.example", chance.random() * 3) for _ in range(2_000)]
    await clock.run(_all([visit(host, seconds) for host, seconds in pages]))
    assert sum(len(visits) for visits in log.values()) == 2_000
    assert most == LIMITS.fetches_at_once
    for visits in log.values():
        for (began, ended), (following, _) in itertools.pairwise(visits):
            assert following >= ended, "one in flight"
            assert following >= began + LIMITS.host_pause_seconds, "a second apart"


async def _all(work: list) -> None:
    await asyncio.gather(*work)


async def test_f21_a_pause_is_waited_for_or_the_host_is_left_alone():
    clock = VirtualClock()
    turns = Politeness(clock)

    async def work() -> None:
        async with turns.take_turn("a.example"):
            turns.delay_host("a.example", 12.0)
        async with turns.take_turn("a.example"):
            assert clock.now() >= 12.0
            turns.delay_host("a.example", 3_600.0)
        with pytest.raises(ReadError) as caught:
            async with turns.take_turn("a.example"):
                pass
        assert caught.value.outcome == "skipped"
        async with turns.take_turn("b.example"):
            pass

    await clock.run(work())


async def test_a_site_may_ask_for_a_longer_pause():
    clock = VirtualClock()
    turns = Politeness(clock)

    async def work() -> None:
        for _ in range(3):
            async with turns.take_turn("a.example", pause=5.0):
                pass
        assert clock.now() == 10.0

    await clock.run(work())


async def test_a_cancelled_visit_frees_its_turn():
    clock = VirtualClock()
    turns = Politeness(clock, replace(LIMITS, host_pause_seconds=0.0))
    inside = asyncio.Event()

    async def stay() -> None:
        async with turns.take_turn("a.example"):
            inside.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(stay())
    await inside.wait()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    async with asyncio.timeout(300), turns.take_turn("a.example"):
        pass


async def test_a_waiting_host_does_not_hold_a_slot_of_the_others():
    """Twenty pages of one host wait for each other; another host goes at once."""
    clock = VirtualClock()
    turns = Politeness(clock)
    done: list[tuple[str, float]] = []

    async def visit(host: str) -> None:
        async with turns.take_turn(host):
            done.append((host, clock.now()))

    await clock.run(_all([*[visit("slow.example") for _ in range(20)], visit("other.example")]))
    assert dict(done)["other.example"] == 0.0
