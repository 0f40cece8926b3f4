"""The handle of a run: its id, events and report before and after its end; paused, steered, authorized, cancelled."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.unit.faces.conftest import Made
from tests.unit.faces.test_python import PHRASE, QUESTION

import corrobora
from corrobora import NeedsHuman, UserError
from corrobora.domain.run import EventType, RunStatus


async def test_a_run_has_an_id_events_and_a_report_before_and_after_its_end(made: Made, mill: Path) -> None:
    async with corrobora.start(QUESTION, library=mill, settings=made()) as run:
        assert run.id.startswith("r_")
        told = [event.type async for event in run.events()]
        report = await run.report()
        assert await run.read_status() is RunStatus.DONE
    assert (told[0], told[-1]) == (EventType.RUN_STARTED, EventType.RUN_FINISHED)
    assert "every 14 days" in report.markdown
    async with corrobora.open_run(run.id, settings=made()) as again:
        assert (await again.report()).markdown == report.markdown


async def test_a_run_is_steered_between_its_rounds_by_its_handle(made: Made, mill: Path) -> None:
    fields = {"profile": "rounds", "pause_between_rounds": True, "max_rounds": 2}
    async with corrobora.start(QUESTION, library=mill, settings=made(), **fields) as run:
        seen = [event async for event in run.events()]
        with pytest.raises(NeedsHuman, match=r'pauses after round 1 of root\. Go on: .*steer\("HINT"\)'):
            await run.report()
        await run.steer("the log of the miller")
        later = [event async for event in run.events(after=seen[-1].seq)]
        report = await run.report()
    asked = [event.data["query"] for event in later if event.type is EventType.SEARCH]
    assert "the log of the miller" in asked
    assert report.citations


async def test_a_run_is_paused_found_again_and_cancelled(made: Made, mill: Path) -> None:
    slow = {"profile": "rounds", "pause_seconds": 60}
    async with corrobora.start(QUESTION, library=mill, settings=made(), **slow) as run:
        async for event in run.events():
            if event.type is EventType.SEARCH:
                break
        await run.pause()
        assert await run.read_status() is RunStatus.INTERRUPTED
        with pytest.raises(NeedsHuman, match=r"was interrupted.*await run\.resume\(\)"):
            await run.report()
    async with corrobora.open_run(run.id, settings=made()) as again:
        await again.resume()
        assert await again.read_status() in (RunStatus.QUEUED, RunStatus.RUNNING)
        await again.cancel()
        assert await again.read_status() is RunStatus.CANCELLED


async def test_a_plan_that_waits_is_authorized_by_the_words_of_a_person(made: Made, mill: Path) -> None:
    async with corrobora.start(QUESTION, library=mill, profile="tree", settings=made()) as run:
        with pytest.raises(NeedsHuman):
            await run.report()
        with pytest.raises(UserError, match="does not authorize"):
            await run.authorize("go on")
        await run.authorize(PHRASE)
        assert (await run.report()).citations


async def test_a_handle_that_was_left_says_how_to_hold_the_run_again(made: Made, mill: Path) -> None:
    async with corrobora.start(QUESTION, library=mill, settings=made()) as run:
        assert repr(run) == f"<run {run.id}, working>"
    assert repr(run) == f"<run {run.id}, left>"
    with pytest.raises(UserError, match="is closed") as error:
        await run.report()
    assert f"corrobora.open_run({run.id!r})" in error.value.next_step
    async with corrobora.open_run(run.id, settings=made()) as again:
        await again.resume()
        assert (await again.report()).citations


def test_a_notebook_completes_the_public_names() -> None:
    assert set(dir(corrobora)) == set(corrobora.__all__) > {"start", "open_run", "research"}


async def test_a_run_that_is_paused_or_left_before_it_began_is_interrupted(made: Made, mill: Path) -> None:
    """It stayed queued for ever, and who followed its events waited for ever."""
    async with corrobora.start(QUESTION, library=mill, settings=made()) as run:
        await run.pause()
        assert await run.read_status() is RunStatus.INTERRUPTED
        async with asyncio.timeout(20):
            assert [event async for event in run.events()] == []
        await run.resume()
        assert (await run.report()).citations
    async with corrobora.start(QUESTION, library=mill, settings=made()) as left:
        pass
    async with corrobora.open_run(left.id, settings=made()) as again:
        assert await again.read_status() is RunStatus.INTERRUPTED
        with pytest.raises(NeedsHuman, match="was interrupted"):
            await again.report()


async def test_the_report_of_a_run_of_another_holder_is_waited_for(made: Made, mill: Path) -> None:
    async with corrobora.start(QUESTION, library=mill, settings=made()) as run:
        async with corrobora.open_run(run.id, settings=made()) as other:
            report = await other.report()
        assert report.markdown == (await run.report()).markdown
