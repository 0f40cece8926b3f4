"""`corrobora worker`: takes queued runs, and leaves when it is told to."""

from __future__ import annotations

import asyncio
import json
import signal
from typing import Any

import pytest

from corrobora.app import Workspace
from corrobora.app.runs import submit_run
from corrobora.config import load_settings
from corrobora.domain.run import Request, RunId, RunStatus


async def _queued(question: str) -> RunId:
    async with Workspace.open(load_settings()) as workspace:
        return await submit_run(workspace, Request(question, libraries=("docs",)))


async def _ended(run: RunId) -> RunStatus:
    async with Workspace.open(load_settings()) as workspace:
        return (await workspace.queue.wait_for_runs([run], timeout_seconds=600))[run]


@pytest.mark.covers("worker --concurrency", "setting worker.concurrency")
def test_a_worker_takes_a_queued_run_and_leaves_on_sigterm(filled: Any) -> None:
    run = asyncio.run(_queued("When was the bridge at Arnholm opened?"))
    with filled.start("worker", "--concurrency", "2") as process:
        assert b"up to 2 runs" in process.stderr.readline()
        assert asyncio.run(_ended(run)) is RunStatus.DONE
        process.send_signal(signal.SIGTERM)
        said = process.stderr.read().decode()
    assert process.returncode in (0, 143)
    assert "Traceback" not in said
    assert json.loads(filled("runs", "show", run, "--json").out)["outcome"] in ("complete", "partial")


def test_a_wrong_concurrency_is_one_line(shell: Any) -> None:
    result = shell("worker", "--concurrency", "0")
    assert (result.code, "worker.concurrency" in result.complaint) == (2, True)
