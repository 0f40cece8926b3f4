"""How a run ends: at each step in which its outcome is stored, whatever overtakes it there, all that it left agrees."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from bench.agreement import Ended, find_disagreements

from corrobora.app import Workspace
from corrobora.app.attempts import execute_run, run_here
from corrobora.app.runs import FINISH_TOPIC, PAUSE_TOPIC, YES, ask_attempt, prepare_resume, run_folder, submit_run
from corrobora.domain.errors import Stale
from corrobora.domain.run import SEALED, EventType, Request, RunId, RunStatus
from corrobora.faces.cli.report import run_exit
from corrobora.reporting.report_format import REPORT_FILES
from corrobora.storage.journal.events import read_events

QUESTION = "How often must the sluice gates of Orrin mill be greased, and how deep is the harbour of Brenhaven?"
Step = Callable[[], Awaitable[None]]


class SteppedRuns:
    """The runs of a workspace, with something that happens before or after one of their statements."""

    def __init__(self, runs: Any, step: str) -> None:
        self._runs, self._step = runs, step
        self.happen: Step = asyncio.Event().wait  # pyright: ignore[reportAttributeAccessIssue] - set before it is used
        self.happened = False

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._runs, name)
        if not self._step.endswith(f" {name}"):
            return method

        async def stepped(*given: Any, **named: Any) -> Any:
            if self._step.startswith("before"):
                await self._happen_once()
            result = await method(*given, **named)
            if self._step.startswith("after"):
                await self._happen_once()
            return result

        return stepped

    async def _happen_once(self) -> None:
        if not self.happened:
            self.happened = True
            await self.happen()


ASKED = Request(QUESTION, "full", libraries=("mill",), authorized="policy")
SEALED_STEPS = ("before seal_report", "after seal_report", "before finish", "after finish")


async def read_ended(workspace: Workspace, run: str) -> Ended:
    """Return what a run left, in the database and in its folder, which must be the same."""
    row = await workspace.runs.get(run)
    files: dict[str, str] = {}
    for name in await workspace.runs.list_artifacts(run):
        files[name] = str(await workspace.runs.read_text(run, name))
    base = run_folder(workspace, run).base
    there = [path for path in base.rglob("*") if path.is_file()]
    assert {path.relative_to(base).as_posix(): path.read_text() for path in there} == files
    report = json.loads(files.get("report.json", "{}"))
    codes = [int(run_exit(row, report, min_score=None, strict=strict).code) for strict in (False, True)]
    return Ended(files, row.outcome, row.status, codes[0], codes[1])


async def begin(workspace: Workspace, step: str) -> tuple[RunId, int, SteppedRuns]:
    """Store a run, and have something happen at a step of its end."""
    run = await submit_run(workspace, ASKED, deferred=False)
    epoch = await workspace.runs.claim(run, "test")
    assert epoch is not None
    stepped: Any = SteppedRuns(workspace.runs, step)
    workspace.runs = stepped
    return run, epoch, stepped


async def finished_events(workspace: Workspace, run: str) -> list[str]:
    events = await read_events(workspace.database, run)
    return [str(each.data["outcome"]) for each in events if each.type is EventType.RUN_FINISHED]


async def cancel_at(workspace: Workspace, step: str, request: Request) -> RunId:
    """Work on a run as a worker does, and cancel it at a step."""
    run = await submit_run(workspace, request, deferred=False)
    stepped: Any = SteppedRuns(workspace.runs, step)
    workspace.runs = stepped
    attempts: list[asyncio.Task[Any]] = []

    async def execute(run: RunId, epoch: int) -> None:
        attempts.extend(filter(None, [asyncio.current_task()]))
        await execute_run(workspace, run, epoch)

    async def cancel() -> None:
        if await workspace.queue.cancel(run):
            while not attempts[0].cancelling():  # noqa: ASYNC110 - nobody is told of it
                await asyncio.sleep(0.01)

    stepped.happen = cancel
    await workspace.queue.submit(run, own=True)
    await workspace.queue.run_worker(execute, until=(run,))
    assert stepped.happened
    return run


@pytest.mark.parametrize("step", SEALED_STEPS)
async def test_a_run_cannot_be_cancelled_any_more_once_its_report_is_sealed(
    workspace: Workspace, step: str, tmp_path: Path
) -> None:
    sent = () if step.endswith("seal_report") else (("folder", str(tmp_path)),)  # what was sent is not taken back
    run = await cancel_at(workspace, step, replace(ASKED, output=sent))
    ended = await read_ended(workspace, run)
    assert ended.status == RunStatus.DONE
    assert find_disagreements(ended) == []
    assert await finished_events(workspace, run) == [ended.outcome]


async def test_a_run_that_is_cancelled_before_its_report_is_sealed_has_none(workspace: Workspace) -> None:
    run = await cancel_at(workspace, "before store_artifacts", ASKED)
    ended = await read_ended(workspace, run)
    assert (ended.status, ended.outcome, ended.code) == (RunStatus.CANCELLED, "cancelled", 130)
    assert "report.json" not in ended.files
    assert await finished_events(workspace, run) == []


async def test_the_sending_of_a_sealed_report_can_be_cancelled_and_resumed(
    workspace: Workspace, tmp_path: Path
) -> None:
    there = tmp_path / "there"
    run = await cancel_at(
        workspace, "after seal_report", replace(ASKED, profile="timed", output=(("folder", str(there)),))
    )
    row = await workspace.runs.get(run)
    assert (row.status, row.outcome, there.exists()) == (RunStatus.CANCELLED, "cancelled", False)
    await prepare_resume(workspace, run)
    await run_here(workspace, run)
    assert find_disagreements(await read_ended(workspace, run)) == []
    assert list(there.rglob("report.md"))


@pytest.mark.parametrize("topic", [FINISH_TOPIC, PAUSE_TOPIC])
@pytest.mark.parametrize("step", SEALED_STEPS[:3])
async def test_what_is_asked_of_a_run_at_its_end_changes_nothing(workspace: Workspace, step: str, topic: str) -> None:
    run, epoch, stepped = await begin(workspace, step)
    stepped.happen = lambda: ask_attempt(workspace, run, topic)
    await execute_run(workspace, run, epoch)
    assert (await workspace.runs.read_answers(run))[topic] == YES
    ended = await read_ended(workspace, run)
    assert ended.status == RunStatus.DONE
    assert find_disagreements(ended) == []
    assert await finished_events(workspace, run) == [ended.outcome]


@pytest.mark.parametrize("step", SEALED_STEPS)
async def test_a_worker_that_froze_at_the_end_of_a_run_and_wakes_later_changes_nothing(
    workspace: Workspace, step: str
) -> None:
    run, epoch, stepped = await begin(workspace, step)
    frozen, woken = asyncio.Event(), asyncio.Event()

    async def freeze() -> None:
        frozen.set()
        await woken.wait()

    stepped.happen = freeze
    work = asyncio.create_task(execute_run(workspace, run, epoch))
    await frozen.wait()
    later = await workspace.runs.claim(run, "another worker")
    assert (later is None) == (step == "after finish")
    if later is not None:
        await execute_run(workspace, run, later)
    before = await read_ended(workspace, run)
    woken.set()
    await asyncio.wait({work})
    assert await read_ended(workspace, run) == before
    assert find_disagreements(before) == []
    assert await finished_events(workspace, run) == [before.outcome]


async def test_a_run_that_an_earlier_version_told_the_end_of_and_did_not_close_ends_alike(workspace: Workspace) -> None:
    """It wrote files and events before the status, and journaled no report."""
    run, epoch, _ = await begin(workspace, "never")
    await execute_run(workspace, run, epoch)
    before = await read_ended(workspace, run)
    await workspace.database.execute("DELETE FROM journal WHERE run = %s AND key = %s", [run, SEALED])
    await workspace.database.execute("UPDATE runs SET status = 'running', outcome = '' WHERE id = %s", [run])
    later = await workspace.runs.claim(run, "this version")
    assert later is not None
    await execute_run(workspace, run, later)
    ended = await read_ended(workspace, run)
    assert ended[1:] == before[1:]
    assert [ended.files[name] for name in REPORT_FILES.values()] == [before.files[n] for n in REPORT_FILES.values()]
    assert find_disagreements(ended) == []
    assert set(await finished_events(workspace, run)) == {before.outcome}


async def test_what_a_killed_process_did_not_write_into_the_folder_is_written_by_the_next(workspace: Workspace) -> None:
    run, epoch, stepped = await begin(workspace, "after seal_report")

    async def fail() -> None:
        raise Stale("as if it was killed before it wrote a file")

    stepped.happen = fail
    folder = run_folder(workspace, run)
    folder.write_file("report.old", b"of an earlier report")
    await execute_run(workspace, run, epoch)
    assert not folder.file_path("report.md").exists()
    assert (await workspace.runs.get(run)).status is RunStatus.RUNNING, "the next attempt ends it"
    later = await workspace.runs.claim(run, "the next")
    assert later is not None
    await execute_run(workspace, run, later)
    ended = await read_ended(workspace, run)
    assert "report.md" in ended.files
    assert find_disagreements(ended) == []
