"""Conducting a run: work on it here, show its events, ask the person, obey Ctrl-C, say how it ended.

Knows the order of these things. Does not know the method; the assembly runs it.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Callable, Coroutine, Generator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from corrobora.domain.errors import JournalError
from corrobora.domain.events import Event, EventType
from corrobora.domain.run import RunId, RunStatus
from corrobora.faces.cli.display import Display
from corrobora.faces.cli.failure import Exit

if TYPE_CHECKING:
    from corrobora.assembly import Workspace

_POLL_SECONDS = 0.05  # between looks at whether the last events were shown


@dataclass(slots=True)
class TerminalRun:
    """One run on this terminal. `ask` gets the plan as the event told it and returns the words of the person.

    The first Ctrl-C finishes: what was gathered is written. The second leaves: the run can be resumed.
    """

    workspace: Workspace
    run: RunId
    display: Display
    ask: Callable[[Event | None], str] | None = None
    interrupts: int = field(default=0, init=False)
    terminated: bool = field(default=False, init=False)
    plan: Event | None = field(default=None, init=False)
    _work: asyncio.Task[object] | None = field(default=None, init=False)
    _seen: int = field(default=0, init=False)
    _pending: set[asyncio.Task[None]] = field(default_factory=set[asyncio.Task[None]], init=False)

    async def run_to_end(self) -> RunStatus:
        """Work until the run ends, waits for a person or is left; return where it stands then."""
        while True:
            with self._handle_signals():
                await self._run_attempt()
            status = (await self.workspace.runs.get(self.run)).status
            if status is not RunStatus.AWAITING or self.ask is None or self.interrupts:
                return status
            words = self.ask(self.plan)  # blocks on purpose: nothing else works now, and Ctrl-C must reach the prompt
            if not words:
                return status
            await self.workspace.authorize_plan(self.run, words)

    def exit_code(self) -> int | None:
        """Return the exit code of an interrupted or terminated command, None if it was neither."""
        if self.terminated:
            return Exit.TERMINATED
        return Exit.INTERRUPTED if self.interrupts else None

    @property
    def _is_leaving(self) -> bool:
        """True after a second Ctrl-C or a signal to end: the work is cancelled, and nothing is waited for."""
        return self.terminated or self.interrupts > 1

    async def _run_attempt(self) -> None:
        """One attempt, with its events shown as they come."""
        self._work = asyncio.create_task(self._run_here())
        showing = asyncio.create_task(self._show_events())
        try:
            await self._work
        except asyncio.CancelledError:
            if not self._is_leaving:
                raise
        finally:
            await self._await_last_event(showing)
            showing.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await showing

    async def _await_last_event(self, showing: asyncio.Task[None]) -> None:
        """Wait until the last event that was written has been shown; who leaves at once does not wait."""
        if self._is_leaving:
            return
        with contextlib.suppress(JournalError):  # the store is down: nothing more can be shown
            last = await self.workspace.last_event_number(self.run)
            while self._seen < last and not (self._is_leaving or showing.done()):
                await asyncio.wait([showing], timeout=_POLL_SECONDS)

    async def _run_here(self) -> None:
        await self.workspace.run_here(self.run)

    async def _show_events(self) -> None:
        async for event in self.workspace.follow_events(self.run, after=self._seen):
            self._seen = max(self._seen, event.seq)
            if event.type is EventType.PLAN_PROPOSED:
                self.plan = event
            self.display.show(event)

    @contextlib.contextmanager
    def _handle_signals(self) -> Generator[None]:
        """Handle SIGINT, SIGTERM and SIGHUP while the run works; where a platform cannot, Python handles them."""
        loop = asyncio.get_running_loop()
        handlers: tuple[tuple[str, Callable[[], None]], ...] = (
            ("SIGINT", self._on_interrupt),
            ("SIGTERM", self._on_terminate),
            ("SIGHUP", self._on_terminate),
        )
        held: list[int] = []
        for name, handler in handlers:
            number = getattr(signal, name, None)
            with contextlib.suppress(RuntimeError, ValueError):
                if number is not None:
                    loop.add_signal_handler(number, handler)
                    held.append(number)
        try:
            yield
        finally:
            for number in held:
                loop.remove_signal_handler(number)

    def _on_interrupt(self) -> None:
        self.interrupts += 1
        if self.interrupts == 1:
            self.display.note("Finishing: writing the report from what was gathered. Ctrl-C again leaves at once.")
            self._start_task(self.workspace.finish_early(self.run))
        elif self._work is not None:
            self._work.cancel()

    def _on_terminate(self) -> None:
        self.terminated = True
        if self._work is not None:
            self._work.cancel()

    def _start_task(self, work: Coroutine[object, object, None]) -> None:
        task = asyncio.create_task(work)
        self._pending.add(task)
        task.add_done_callback(self._pending.discard)
