"""Pacing: the clock of the machine, how many calls a provider gets at once, and what happens while it is down.

Knows calls in flight, refusals and outages of one endpoint; learns its limit instead of asking for a setting. Does not
know what the calls are about, and never repeats one: whoever called decides about that.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from corrobora.domain.errors import ProviderError
from corrobora.domain.limits import LIMITS
from corrobora.policies.queries import MAX_SENDS
from corrobora.ports import Clock


@dataclass(frozen=True, slots=True)
class Pace:
    """The numbers of a gate. Times in seconds."""

    start: int = 8  # calls at once before anything is known
    most: int = 512
    down_after: int = MAX_SENDS  # failures in a row that count as an outage: no more than a lone caller sends
    probe_seconds: float = 2.0  # while down, one call in this time
    patience_seconds: float = 45.0  # how long callers wait for a provider that was reached before
    first_patience_seconds: float = 6.0  # and for one that never was
    climb_after: int = 64  # good calls at the learned limit before one more is tried


class LoopClock:
    """The clock of the running event loop, as `Clock`."""

    def now(self) -> float:
        return asyncio.get_running_loop().time()

    def utc_time(self) -> str:
        """Nothing here depends on the time of day."""
        return ""

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class CallGate:
    """One per endpoint and key, shared by all tiers and runs of a process.

    The limit doubles while nothing is refused. A refusal above the level that was seen to work lowers it to just below
    the calls in flight; from then on it climbs by one after many good calls. A refusal at a level that did work is
    about rate, not about calls at once: the limit stays, and after two in a row new calls wait as long as asked.
    After failures in a row, or refusals in a row of calls that were alone, the gate lets one probe through every two
    seconds; the others wait for its outcome. Only a call that was sent after the first of the failures was known can
    tell that the provider is up: one that was in flight when the outage began may be answered in the middle of it.
    """

    def __init__(self, name: str, pace: Pace | None = None, clock: Clock | None = None) -> None:
        self.name = name
        self.limit = (pace or Pace()).start
        self._pace = pace or Pace()
        self._clock = clock or LoopClock()
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._learned = False
        self._proven = 0
        self._good = 0
        self._refused = 0
        self._hold_until = 0.0
        self._failures = 0
        self._sent = 0
        self._open: set[int] = set()  # numbers of the calls in flight
        self._since = 0  # number of the call that failed first in this row
        self._told_by = 0  # number of the last call that was sent before that was known
        self.reached = False  # something that may be the provider answered once
        self._down_since: float | None = None
        self._next_probe = 0.0
        self._probing = False

    @property
    def in_flight(self) -> int:
        """Calls that have a place now."""
        return len(self._open)

    @property
    def down(self) -> bool:
        """True while the provider is taken to be down."""
        return self._down_since is not None

    @asynccontextmanager
    async def take_slot(self) -> AsyncGenerator[Slot]:
        """Wait for a place, then give it. Report the outcome on the slot; one that reports nothing changes nothing.

        Raises `ProviderError` `provider_down` if the provider has been down for longer than the patience, and no probe
        is on its way.
        """
        probe = await self._wait_for_turn()
        self._sent += 1
        self._open.add(self._sent)
        slot = Slot(self, self._sent, self.in_flight)
        try:
            yield slot
        finally:
            self._open.discard(slot.number)
            if probe:
                self._probing = False
            self._wake_waiters()

    async def _wait_for_turn(self) -> bool:
        while True:
            if self.down:
                if await self._wait_for_probe():
                    return True
                continue
            pause = self._hold_until - self._clock.now()
            if pause > 0:
                await self._clock.sleep(pause)
                continue
            if self.in_flight < self.limit:
                return False
            await self._wait_for_place()

    async def _wait_for_place(self) -> None:
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._wake_waiters()  # the turn was given to a caller who has gone: pass it on
            raise
        finally:
            if turn in self._waiting:
                self._waiting.remove(turn)

    def _wake_waiters(self) -> None:
        room = 1 if self.down else max(0, self.limit - self.in_flight)
        while self._waiting and room > 0:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                room -= 1

    async def _wait_for_probe(self) -> bool:
        """Return True for the one caller who tries; let the others wait. Raises when the patience is over."""
        now = self._clock.now()
        began = self._down_since if self._down_since is not None else now
        patience = self._pace.patience_seconds if self.reached else self._pace.first_patience_seconds
        if not self._probing and now >= max(self._next_probe, self._hold_until):
            self._probing = True
            self._next_probe = now + self._pace.probe_seconds
            return True
        if not self._probing and now - began >= patience:
            raise ProviderError(
                "provider_down",
                f"{self.name} has given no answer for {now - began:.0f} s.",
                provider=self.name,
                next_step="Check that it runs and can be reached.",
            )
        await self._clock.sleep(min(0.25, self._pace.probe_seconds / 4))
        return False

    def record_answer(self, slot: Slot) -> None:
        """Count a good call."""
        self.reached = True
        self._refused = 0
        self._proven = max(self._proven, slot.level)
        if slot.number > self._told_by:
            self._failures = 0
            if self._down_since is not None:
                self._down_since = None
                self._wake_everyone()
        self._good += 1
        if not self._learned:
            self.limit = min(self._pace.most, self.limit + 1)
        elif self._good >= self._pace.climb_after * max(1, self.limit // 8) and self.in_flight >= self.limit:
            self._good = 0
            self.limit = min(self._pace.most, self.limit + 1)

    def record_refusal(self, slot: Slot, retry_after: float | None) -> None:
        """Count a call that the provider refused for load."""
        self.reached = True
        self._failures = 0
        self._good = 0
        self._refused += 1
        if slot.level > self._proven or (not self._learned and self.in_flight > self._proven):
            self._learned = True
            self.limit = max(1, self._proven, min(self.limit, self.in_flight - 1))
        else:
            self._proven -= max(1, self._proven // 8) if self._refused > 1 else 0
            if self._refused > 1 and retry_after:
                asked = min(retry_after, LIMITS.retry_after_max_seconds)
                self._hold_until = max(self._hold_until, self._clock.now() + asked)
        if self._refused >= self._pace.down_after and self.in_flight == 1:  # fewer at once would not help
            self._told_by = slot.number
            self._begin_outage()

    def record_failure(self, slot: Slot, *, reached: bool) -> None:
        """Count a call that ended with a broken connection or, if the server was `reached`, with its error.

        An outage is taken for one when most of the calls since the first failure have failed: of many calls at once
        some may fail fast while the others are still being answered.
        """
        self.reached = self.reached or reached
        if not self._failures:
            self._since, self._told_by = slot.number, self._sent
        self._failures += 1
        undecided = sum(number > self._since for number in self._open if number != slot.number)
        if self._failures >= max(self._pace.down_after, undecided):
            self._begin_outage()

    def _begin_outage(self) -> None:
        if self._down_since is None:
            self._down_since = self._clock.now()
            self._next_probe = self._down_since + self._pace.probe_seconds
            self._wake_everyone()

    def _wake_everyone(self) -> None:
        """Let every waiting caller look again: into the outage, or out of it."""
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)


@dataclass(frozen=True, slots=True)
class Slot:
    """One call's place. Report its outcome once."""

    gate: CallGate
    number: int  # in the order of sending, from 1
    level: int  # calls in flight when it was sent, with itself

    def report_answer(self) -> None:
        """The provider answered."""
        self.gate.record_answer(self)

    def report_refusal(self, retry_after: float | None) -> None:
        """The provider refused for load (429, overloaded)."""
        self.gate.record_refusal(self, retry_after)

    def report_failure(self, *, reached: bool = True) -> None:
        """The provider failed: an error of its own, or (`reached` False) no connection at all."""
        self.gate.record_failure(self, reached=reached)


class SystemClock:
    """`ports.Clock` of the machine."""

    def now(self) -> float:
        return time.monotonic()

    def utc_time(self) -> str:
        return datetime.now(UTC).isoformat(timespec="seconds")

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
