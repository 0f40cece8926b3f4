"""A run as a client polls it: where it stands, what happened after a cursor, and what it waits for.

Knows how long one look may wait. Does not know protocols, and changes nothing but what a run waits for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from corrobora.app.exports import list_events
from corrobora.app.runs import PLAN_TOPIC, pause_topic, resolve_profile
from corrobora.domain.errors import UserError
from corrobora.domain.run import Event, EventType, RunRow, RunStatus
from corrobora.faces.web import service

if TYPE_CHECKING:
    from corrobora.app import Workspace

MAX_EVENTS = 200  # of one look
_ENDS = tuple(status for status in RunStatus if status not in (RunStatus.QUEUED, RunStatus.RUNNING))


@dataclass(frozen=True, slots=True)
class Awaited:
    """What a run waits for: the words that authorize its plan, or a hint between two rounds."""

    kind: Literal["authorization", "hint"]
    key: str  # never used twice in one run
    phrase: str = ""  # the exact words, "" if any yes will do


@dataclass(frozen=True, slots=True)
class RunUpdate:
    """A run as it stands, with its events after a cursor."""

    row: RunRow
    events: Sequence[Event]
    cursor: int
    awaited: Awaited | None


async def look_at_run(workspace: Workspace, given: str, *, after: int = 0, wait_seconds: float = 0.0) -> RunUpdate:
    """Return where a run stands, and its events after `after`; wait for news for at most `wait_seconds`.

    News are an event, a question to a person, and the end. Raises `UserError` `run_unknown`.
    """
    run = (await service.read_run(workspace, given)).id
    if wait_seconds > 0:
        await _wait_for_news(workspace, run, after, wait_seconds)
    row = await service.read_run(workspace, run)
    events = await service.list_events(workspace, run, after=after, limit=MAX_EVENTS)
    return RunUpdate(row, events, events[-1].seq if events else after, find_awaited(workspace, row))


async def _wait_for_news(workspace: Workspace, run: str, after: int, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds), aclosing(workspace.events.follow(run, after, ends=_ENDS)) as events:
            async for _ in events:
                return
    except TimeoutError:
        return


def find_awaited(workspace: Workspace, row: RunRow) -> Awaited | None:
    """Return what a run waits for, None if it waits for nothing."""
    if row.status is RunStatus.AWAITING:
        phrase = resolve_profile(workspace.settings, row.request).phrase
        return Awaited("authorization", f"{PLAN_TOPIC}-{row.epoch}", phrase)
    if row.status is RunStatus.PAUSED and pause_topic(row.reason) is not None:
        return Awaited("hint", f"hint-{row.epoch}")
    return None


async def answer_run(workspace: Workspace, given: str, text: str) -> RunRow:
    """Answer what a run waits for, and go on: the words that authorize its plan, or a hint for its next round.

    Raises:
        UserError: `phrase`, or `not_waiting` if the run waits for nothing.
    """
    row = await service.read_run(workspace, given)
    awaited = find_awaited(workspace, row)
    if awaited is None:
        raise UserError(
            "not_waiting",
            f"Run {row.id} does not wait for an answer: it is {row.status}.",
            next_step="A run that was interrupted, failed or cancelled is resumed instead.",
        )
    if awaited.kind == "authorization":
        return await service.authorize(workspace, row.id, text)
    if text.strip():
        return await service.steer(workspace, row.id, text)
    return await service.resume(workspace, row.id)


async def read_plan_event(workspace: Workspace, run: str) -> Event | None:
    """Return the last event that proposed a plan, None if there is none."""
    events = reversed(await list_events(workspace, run))
    return next((each for each in events if each.type is EventType.PLAN_PROPOSED), None)
