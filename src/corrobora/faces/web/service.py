"""What every face of the server asks for: runs started, listed, followed and steered, and their evidence.

Pages, HTTP API, the OpenAI-compatible API and MCP call these functions on one workspace. A run is worked on by whoever
takes it from the queue: this process, unless it was started without, or any worker. Knows no HTTP.
"""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any, Literal

from corrobora.app import Workspace
from corrobora.app.attempts import execute_run
from corrobora.app.followups import CHANGES_PROPOSED
from corrobora.app.libraries import list_libraries, resolve_libraries, unknown_library_error
from corrobora.app.runs import (
    FINISH_TOPIC,
    PAUSE_TOPIC,
    PLAN_TOPIC,
    YES,
    authorize_run,
    check_awaiting,
    find_repeated,
    pause_topic,
    prepare_resume,
    read_report_json,
    remove_run,
    resolve_profile,
    steer_run,
    submit_run,
    suggest_plan,
)
from corrobora.app.webhooks import describe_webhook, send_webhooks
from corrobora.config import Settings
from corrobora.domain.errors import NoEvidence, UserError
from corrobora.domain.run import DEMO, Event, EventType, RunId, RunRow, RunStatus, validate_id
from corrobora.faces.web.new_run import NewRun, make_request
from corrobora.storage.journal.artifacts import Artifact
from corrobora.storage.journal.events import list_events, read_events
from corrobora.storage.postgres import cancel_tasks
from corrobora.text.phrases import describe_code


@asynccontextmanager
async def open_service(
    settings: Settings, *, work: bool = True, grace_seconds: float = 2.0
) -> AsyncGenerator[Workspace]:
    """Open the workspace of a process that serves; with `work` it takes runs from the queue until it closes.

    What is worked on then gets the grace time, and is handed back to the queue.
    """
    async with Workspace.open(settings) as workspace:
        if not work:
            yield workspace
            return
        stop = asyncio.Event()
        runs = workspace.queue.run_worker(
            partial(execute_run, workspace),
            concurrency=settings.worker_concurrency,
            stop=stop,
            grace_seconds=grace_seconds,
        )
        worker = asyncio.create_task(runs, name="runs of the server")
        sender = asyncio.create_task(send_webhooks(workspace), name="webhooks of the server")
        try:
            yield workspace
        finally:
            await cancel_tasks(sender)
            stop.set()  # not cancelled: a second cancellation would leave the runs without handing them back
            await asyncio.gather(worker, return_exceptions=True)


async def list_page(
    workspace: Workspace, cursor: str, *, limit: int, search: str = "", statuses: Sequence[RunStatus] = ()
) -> tuple[Sequence[RunRow], str]:
    """Return a page of runs, newest first, and the cursor of the next one, "" at the end. Runs may come and go between.

    Raises `UserError` `cursor_unknown`.
    """
    try:
        at, _, last = base64.urlsafe_b64decode(cursor).decode().partition(" ")
        after = f"{datetime.fromisoformat(at).isoformat()} {validate_id(last)}" if cursor else "infinity "
    except (ValueError, UserError):
        step = "Take it from the page before, or leave it out."
        raise UserError("cursor_unknown", "This cursor is none of the list.", next_step=step) from None
    rows = await workspace.runs.list(limit=limit + 1, after=after, search=search, statuses=statuses)
    if len(rows) <= limit:
        return rows, ""
    return rows[:limit], base64.urlsafe_b64encode(
        f"{rows[limit - 1].created_at} {rows[limit - 1].id}".encode()
    ).decode()


async def start_run(workspace: Workspace, wanted: NewRun, *, run: RunId | None = None) -> RunRow:
    """Store a new run and queue it; return at once.

    With an id of the caller's own the call may be repeated: the same request gives the same run.

    Raises:
        UserError: something in it cannot be used; nothing was stored and nothing was paid. Or `run_exists`: the id is
            taken by another request.
    """
    request = make_request(workspace.settings, wanted)
    request = replace(request, libraries=await _find_libraries(workspace, request.libraries))
    if run is not None and (known := await find_repeated(workspace, request, run, wanted.webhook)) is not None:
        return known
    profile = resolve_profile(workspace.settings, request)
    workspace.wiring.check_request(request, profile)  # the worker is this process, so its keys count
    return await read_run(workspace, await submit_run(workspace, request, run=run, webhook=wanted.webhook))


async def _find_libraries(workspace: Workspace, given: Sequence[str]) -> tuple[str, ...]:
    """Return the names of stored libraries; a client can name no path. The run itself reads `demo` if need be."""
    known = await list_libraries(workspace)
    names = {space.name for space in known}
    for each in given:
        if each not in names and each != DEMO:
            raise unknown_library_error(each, known, what="library")
    stored = await resolve_libraries(workspace, [each for each in given if each in names])
    return (*stored, *(each for each in dict.fromkeys(given) if each not in names))


async def count_runs(workspace: Workspace) -> Mapping[str, int]:
    """Return how many runs are stored, by status."""
    rows = await workspace.database.fetch_all(
        "SELECT status, count(*) FROM runs GROUP BY status", where="counting runs"
    )
    return {str(status): int(count) for status, count in rows}


async def read_run(workspace: Workspace, run: str) -> RunRow:
    """Return a run by its id, the unique start of one, or `last`. Raises `UserError` `run_unknown`."""
    return await workspace.runs.get(await workspace.runs.find_id(run))


async def _read_named_run(workspace: Workspace, run: str) -> RunRow:
    """Return a run whose id is written out: what cannot be taken back names its run.

    Raises `UserError` `run_id_whole` for the start of an id and for `last`.
    """
    row = await read_run(workspace, run)
    if row.id != run:
        message = f"{run} is not the complete id of a run."
        raise UserError("run_id_whole", message, next_step=f"If you mean this run, write: {row.id}")
    return row


async def wait_for_run(workspace: Workspace, run: str, *, seconds: float | None = None) -> RunRow:
    """Wait until a run has ended or waits for a person, but at most some seconds, and return it."""
    row = await read_run(workspace, run)
    with suppress(TimeoutError):
        await workspace.queue.wait_for_runs([row.id], timeout_seconds=seconds)
    return await read_run(workspace, row.id)


async def authorize(workspace: Workspace, run: str, words: str) -> RunRow:
    """Take a person's words on the waiting plan and go on.

    Raises `UserError` `not_waiting`, or `phrase` for other words than the profile's exact phrase.
    """
    row = await read_run(workspace, run)
    check_awaiting(row)
    await authorize_run(workspace, row.id, words)
    await workspace.queue.submit(row.id)
    return await read_run(workspace, row.id)


async def steer(workspace: Workspace, run: str, hint: str) -> RunRow:
    """Give a run that pauses between two rounds a hint and go on. Raises `UserError` `not_paused`."""
    row = await read_run(workspace, run)
    await steer_run(workspace, row.id, hint)
    await workspace.queue.submit(row.id)
    return await read_run(workspace, row.id)


async def resume(workspace: Workspace, run: str) -> RunRow:
    """Go on with a run: after a pause, an interruption or a failure; nothing answered is asked again."""
    row = await read_run(workspace, run)
    if row.status is RunStatus.DONE:
        raise UserError("run_ended", f"Run {row.id} has ended.", next_step="Read its report.")
    await prepare_resume(workspace, row.id)
    await workspace.queue.submit(row.id)
    return await read_run(workspace, row.id)


async def list_wishes(workspace: Workspace, row: RunRow) -> frozenset[str]:
    """Return what a run was asked for and has not done yet: `PAUSE_TOPIC`, `FINISH_TOPIC`, both or nothing."""
    asked = await workspace.runs.read_answers(row.id) if row.status.active else {}
    return frozenset(topic for topic in (FINISH_TOPIC, PAUSE_TOPIC) if asked.get(topic) == YES)


async def cancel(workspace: Workspace, run: str) -> RunRow:
    """End a run without a report, wherever it is worked on. Raises `UserError` `run_id_whole` for a start of an id."""
    row = await _read_named_run(workspace, run)
    if not row.status.final:
        await workspace.queue.cancel(row.id)
    return await read_run(workspace, row.id)


async def list_webhooks(workspace: Workspace, run: str) -> Sequence[Mapping[str, Any]]:
    """Return the deliveries of the end of a run to its webhook, as JSON values; oldest first."""
    row = await read_run(workspace, run)
    return [describe_webhook(each) for each in await workspace.webhooks.list(row.id)]


async def remove(workspace: Workspace, run: str) -> None:
    """Remove a run with its journal, events and files; libraries keep their documents.

    Raises `UserError` `run_id_whole` for a start of an id.
    """
    await remove_run(workspace, (await _read_named_run(workspace, run)).id)


async def read_report(workspace: Workspace, run: str) -> Mapping[str, Any]:
    """Return the report of a run as JSON values. Raises `NoEvidence` `report_missing` if it has none."""
    return await read_report_json(workspace, (await read_run(workspace, run)).id)


async def read_file(workspace: Workspace, run: str, name: str) -> Artifact:
    """Return a file of a run, such as `report.html` or `plan.json`. Raises `NoEvidence` `file_missing`."""
    row = await read_run(workspace, run)
    stored = await workspace.runs.read_artifact(row.id, name) if name.isprintable() else None
    if stored is None:
        raise NoEvidence("file_missing", f"Run {row.id} has no file {name[:80]!r}.")
    return stored


async def read_plan(workspace: Workspace, run: str) -> Mapping[str, Any]:
    """Return the plan of a run as it was proposed last. Raises `NoEvidence` `plan_missing`."""
    row = await read_run(workspace, run)
    stored = await workspace.runs.read_text(row.id, "plan.json")
    if stored is None:
        raise NoEvidence("plan_missing", f"Run {row.id} has no plan yet.", next_step="Follow its events.")
    return json.loads(stored)


async def replace_plan(workspace: Workspace, run: str, plan: Mapping[str, Any]) -> RunRow:
    """Put a person's plan in place of the one that waits; it is proposed anew and waits for authorization again.

    Raises `UserError` `not_waiting`, or for what is wrong with the plan; the run is then as it was.
    """
    row = await read_run(workspace, run)
    await suggest_plan(workspace, row.id, json.dumps(plan))
    await workspace.queue.submit(row.id)
    return await read_run(workspace, row.id)


def event_json(event: Event, run: str) -> dict[str, Any]:
    """Return an event as JSON values, with the names that `--display jsonl` uses."""
    from corrobora.faces.cli.display import json_line  # noqa: PLC0415 - only where events are sent

    return json.loads(json_line(event, run))


async def follow_with_silence(events: AsyncGenerator[Event], seconds: float) -> AsyncGenerator[Event | None]:
    """Yield events, and None as a sign of life whenever there was none for some seconds."""
    async with aclosing(events):
        waiting = asyncio.ensure_future(anext(events, None))
        try:
            while True:
                done, _ = await asyncio.wait({waiting}, timeout=seconds)
                if not done:
                    yield None
                    continue
                event = waiting.result()
                if event is None:
                    return
                yield event
                waiting = asyncio.ensure_future(anext(events, None))
        finally:
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)


def follow_work(workspace: Workspace, run: str, after: int = 0) -> AsyncGenerator[Event]:
    """Yield the events of a run with a number above `after`, until it ends, waits for a person or is interrupted."""
    return workspace.events.follow(run, after, ends=[status for status in RunStatus if not status.active])


MAX_EVENTS = 200  # of one look


@dataclass(frozen=True, slots=True)
class Awaited:
    """What a run waits for: the words that authorize its plan, a hint between two rounds, or just to be resumed."""

    kind: Literal["authorization", "hint", "resume"]
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
    """Return the status of a run, and its events after `after`; wait for news for at most `wait_seconds`.

    News are an event, a question to a person, and the end. Raises `UserError` `run_unknown`.
    """
    run = (await read_run(workspace, given)).id
    if wait_seconds > 0:
        await _wait_for_news(workspace, run, after, wait_seconds)
    row = await read_run(workspace, run)
    events = await read_events(workspace.database, run, after=after, limit=MAX_EVENTS)
    return RunUpdate(row, events, events[-1].seq if events else after, find_awaited(workspace, row))


async def _wait_for_news(workspace: Workspace, run: str, after: int, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds), aclosing(follow_work(workspace, run, after)) as events:
            async for _ in events:
                return
    except TimeoutError:
        return


def find_awaited(workspace: Workspace, row: RunRow) -> Awaited | None:
    """Return what a run waits for, None if it waits for nothing."""
    if row.status is RunStatus.AWAITING:
        phrase = resolve_profile(workspace.settings, row.request).phrase
        return Awaited("authorization", f"{PLAN_TOPIC}-{row.epoch}", phrase)
    if row.status is not RunStatus.PAUSED or row.outcome == CHANGES_PROPOSED:
        return None
    kind = "hint" if pause_topic(row.reason) is not None else "resume"
    return Awaited(kind, f"{kind}-{row.epoch}")


async def answer_run(workspace: Workspace, given: str, text: str) -> RunRow:
    """Answer what a run waits for, and go on: words that authorize its plan, a hint for its next round, or any word.

    Raises:
        UserError: `phrase`, or `not_waiting` if the run waits for nothing.
    """
    row = await read_run(workspace, given)
    awaited = find_awaited(workspace, row)
    if awaited is None:
        raise UserError(
            "not_waiting",
            f"The run {row.id} does not wait for an answer. Its state: {describe_code(row.state)}.",
            next_step="A run that was interrupted, failed or cancelled is resumed instead.",
        )
    if awaited.kind == "authorization":
        return await authorize(workspace, row.id, text)
    if awaited.kind == "hint" and text.strip():
        return await steer(workspace, row.id, text)
    return await resume(workspace, row.id)


async def read_plan_event(workspace: Workspace, run: str) -> Event | None:
    """Return the last event that proposed a plan, None if there is none."""
    events = reversed(await list_events(workspace.database, run))
    return next((each for each in events if each.type is EventType.PLAN_PROPOSED), None)
