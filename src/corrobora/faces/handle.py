"""The handle of a run: a program follows, steers, pauses, continues and ends a run before it has a report.

Knows one run of one workspace. Whoever holds it works on the run; leaving the workspace interrupts it, and what was
answered is kept. Never prints or asks.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, aclosing

from corrobora.app import Workspace
from corrobora.app.attempts import run_here
from corrobora.app.runs import (
    authorize_run,
    check_awaiting,
    load_report,
    prepare_resume,
    resolve_profile,
    steer_run,
)
from corrobora.domain.errors import CorroboraError, NeedsHuman, NoEvidence, UserError
from corrobora.domain.report import Report
from corrobora.domain.run import Event, RunRow, RunStatus
from corrobora.faces.refusals import drop_command


class RunHandle:
    """A run that was started, or that is stored."""

    def __init__(self, workspace: Workspace, run: str) -> None:
        self.id = run
        self._held: Workspace | None = workspace
        self._work: asyncio.Task[None] | None = None

    def __repr__(self) -> str:
        state = "left" if self._held is None else "working" if self._work and not self._work.done() else "idle"
        return f"<run {self.id}, {state}>"

    @property
    def _workspace(self) -> Workspace:
        if self._held is None:
            step = f"Hold it again: async with corrobora.open_run({self.id!r}) as run"
            raise UserError("handle_left", f"The handle of run {self.id} is closed.", next_step=step)
        return self._held

    async def leave(self) -> None:
        """Interrupt the run if it is at work; the handle cannot be used any more."""
        await self.pause()
        self._held = None

    async def read_status(self) -> RunStatus:
        """Return the status of the run."""
        return (await self._workspace.runs.get(self.id)).status

    async def events(self, after: int = 0) -> AsyncGenerator[Event]:
        """Yield the events with a larger number than `after`, until the run ends, waits or is paused."""
        ends = [status for status in RunStatus if not status.active]
        async with aclosing(self._workspace.events.follow(self.id, after, ends=ends)) as events:
            async for event in events:
                yield event

    async def resume(self) -> None:
        """Go on in the background: after a pause, an interruption or a failure; nothing answered is asked again."""
        await prepare_resume(self._workspace, self.id)
        if self._work is not None and not self._work.done():
            if (await self.read_status()).active:
                return
            await asyncio.wait({self._work})  # it has stored its end and closes
        await self._workspace.queue.submit(self.id, own=True)
        self._work = asyncio.create_task(run_here(self._workspace, self.id))

    async def steer(self, hint: str) -> None:
        """Answer a pause between two rounds and go on. Raises `UserError` `not_paused`."""
        await steer_run(self._workspace, self.id, hint)
        await self.resume()

    async def authorize(self, words: str) -> None:
        """Authorize the plan in the words of a person and go on. Raises `UserError` `phrase` or `not_waiting`."""
        check_awaiting(await self._workspace.runs.get(self.id))
        await authorize_run(self._workspace, self.id, words)
        await self.resume()

    async def pause(self) -> None:
        """Stop working on the run; `resume` goes on with all that was answered."""
        work, self._work = self._work, None
        if work is not None:
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)
            await self._workspace.queue.leave(self.id)

    async def cancel(self) -> None:
        """End the run without a report."""
        await self._workspace.queue.cancel(self.id)
        if self._work is not None:
            await asyncio.wait({self._work})

    async def refuse_waiting(self) -> None:
        """Wait until the run is not worked on any more. Raises `NeedsHuman` if it waits for a person."""
        if self._work is not None:
            await self._work
        await refuse_waiting(self._workspace, self.id)

    async def ask(self, question: str, *, search: bool = True) -> Report:
        """Answer a follow-up question on the evidence of the run, which must have a report; as `corrobora.ask`."""
        from corrobora.app.followups import submit_follow_up  # noqa: PLC0415 - only a follow-up needs it

        made = await submit_follow_up(self._workspace, self.id, question, search=search)
        await run_here(self._workspace, made)
        return await load_final_report(self._workspace, made)

    async def report(self) -> Report:
        """Wait for the end of the run and return its report.

        Raises:
            NeedsHuman: the run waits for a person, or was paused.
            NoEvidence: there is nothing to report; the message says why.
        """
        if self._work is not None:
            await self._work
        else:  # another process may be at work on it
            await self._workspace.queue.wait_for_runs([self.id])
        return await load_final_report(self._workspace, self.id)


async def follow_run(opened: AbstractAsyncContextManager[RunHandle]) -> AsyncGenerator[Event]:
    """Yield the events of a run that is held only meanwhile; raise as `refuse_waiting` after the last one.

    It is followed by a task of its own: whoever leaves early and ends the loop would close this generator and those
    inside it at the same time.
    """
    passed = asyncio.Queue[Event | None]()

    async def follow() -> None:
        try:
            async with opened as run, aclosing(run.events()) as events:
                async for event in events:
                    passed.put_nowait(event)
                await run.refuse_waiting()
        finally:
            passed.put_nowait(None)

    work = asyncio.create_task(follow())
    try:
        while (event := await passed.get()) is not None:
            yield event
        await work
    finally:
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)


async def load_final_report(workspace: Workspace, run: str) -> Report:
    """Return the report of a run that has ended. Raises `NoEvidence` or another error that says why there is none."""
    row = await refuse_waiting(workspace, run)
    report = await load_report(workspace, run)
    if report is None:
        raise CorroboraError(row.outcome or "run_failed", row.reason or f"Run {run} ended without a report.")
    if not report.citations:
        raise NoEvidence(report.outcome, f"No report: {report.reason or report.outcome}.")
    return report


async def refuse_waiting(workspace: Workspace, run: str) -> RunRow:
    """Return the row of a run that waits for nobody. Raises `NeedsHuman` for any other."""
    row = await workspace.runs.get(run)
    call = "resume()"
    if row.status is RunStatus.AWAITING:
        call = f'authorize("{resolve_profile(workspace.settings, row.request).phrase or "yes"}")'
    elif row.outcome == "paused":
        call = 'resume(), or steer("HINT")'
    step = f"Go on: await run.{call}; without a handle first: async with corrobora.open_run({str(run)!r}) as run"
    if row.status is RunStatus.INTERRUPTED:
        raise NeedsHuman("interrupted", f"Run {run} was interrupted.", next_step=step)
    if row.status.waits:
        raise NeedsHuman(row.outcome or "plan_not_authorized", drop_command(row.reason), next_step=step)
    return row
