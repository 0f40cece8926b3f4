"""Politeness: when a request to a host may begin.

Knows one request in flight per host, a pause between two of them, a bound for all together, and pauses that hosts ask
for. Does not know what is requested. Time comes from the injected clock.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator

from corrobora.domain.errors import ReadError
from corrobora.domain.evidence import ReadOutcome
from corrobora.domain.limits import LIMITS, Limits
from corrobora.ports import Clock

_MANY_HOSTS = 10_000


class _HostState:
    __slots__ = ("lock", "next_start", "waiting")

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.next_start = 0.0
        self.waiting = 0


class Politeness:
    """The pacing of all page requests of a process: share one between runs (safety F20, F21, G14)."""

    def __init__(self, clock: Clock, limits: Limits = LIMITS) -> None:
        self._clock = clock
        self._limits = limits
        self._hosts: dict[str, _HostState] = {}
        self._all = asyncio.Semaphore(limits.fetches_at_once)

    @contextlib.asynccontextmanager
    async def take_turn(self, host: str, *, pause: float = 0.0) -> AsyncGenerator[None]:
        """Hold the one turn of `host`; `pause` is the time it wants between two requests, if more than ours.

        Raises:
            ReadError: `skipped`, if the host wants a longer pause than we wait.
        """
        state = self._host_state(host)
        state.waiting += 1
        try:
            async with state.lock:
                await self._wait_turn(host, state)
                async with self._all:
                    state.next_start = self._clock.now() + max(self._limits.host_pause_seconds, pause)
                    yield
        finally:
            state.waiting -= 1

    def delay_host(self, host: str, seconds: float) -> None:
        """Begin no request to `host` before `seconds` have passed: it has asked for that (F21)."""
        state = self._host_state(host)
        state.next_start = max(state.next_start, self._clock.now() + seconds)

    async def _wait_turn(self, host: str, state: _HostState) -> None:
        while (left := state.next_start - self._clock.now()) > 0:
            if left > self._limits.host_max_pause_seconds:
                raise ReadError(
                    ReadOutcome.SKIPPED, f"{host} wants a pause of {left:.0f} s, more than this run waits for a host."
                )
            await self._clock.sleep(left)

    def _host_state(self, host: str) -> _HostState:
        if len(self._hosts) > _MANY_HOSTS:
            now = self._clock.now()
            self._hosts = {name: each for name, each in self._hosts.items() if each.waiting or each.next_start > now}
        return self._hosts.setdefault(host, _HostState())
