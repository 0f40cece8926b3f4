"""Runs: ids, requests, claims, ends, answers and files."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corrobora.domain.errors import JournalError, Stale, UserError
from corrobora.domain.run import SEALED, Event, EventType, Request, RunId, RunStatus, Stage
from corrobora.ports import Entry
from corrobora.storage.journal.artifacts import Artifact
from corrobora.storage.journal.events import last_event_number, read_events, rewind_run
from corrobora.storage.journal.runs import Runs, dump_request, load_request, new_run_id, validate_id
from corrobora.storage.postgres import Database

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=50)


@given(text, st.lists(st.tuples(text, text), max_size=3), st.booleans())
def test_a_request_survives_its_json(question: str, pairs: list[tuple[str, str]], strict: bool) -> None:
    request = Request(question, overrides=tuple(pairs), libraries=(question,), strict=strict)
    assert load_request("r", dump_request(request)) == request


def test_ids_are_unguessable_and_checked() -> None:
    ids = {new_run_id() for _ in range(1000)}
    assert len(ids) == 1000
    assert all(validate_id(run) == run and len(run) == 28 for run in ids)
    for bad in ("", "../x", "A", "a" * 65, "a b", "a\n"):
        with pytest.raises(UserError):
            validate_id(bad)


def test_a_request_of_another_shape_is_refused() -> None:
    with pytest.raises(JournalError, match="another version"):
        load_request("r", '{"query": "x"}')


async def test_a_run_is_stored_listed_and_removed(database: Database) -> None:
    runs = Runs(database)
    first = await runs.create(Request("One?", libraries=("demo",)))
    second = await runs.create(Request("Two?"))
    row = await runs.get(first)
    assert (row.status, row.epoch, row.request.libraries) == (RunStatus.QUEUED, 0, ("demo",))
    assert [each.id for each in await runs.list()] == [second, first]
    assert [each.id for each in await runs.list(after=f"{(await runs.get(second)).created_at} {second}")] == [first]
    assert await runs.remove(first)
    assert not await runs.remove(first)
    with pytest.raises(UserError, match="no run"):
        await runs.get(first)


async def test_creating_a_run_under_an_id_of_ones_own_may_be_repeated(database: Database) -> None:
    runs = Runs(database)
    mine = RunId("my-run_1")
    made = await asyncio.gather(*(runs.create(Request("One?"), run=mine) for _ in range(4)))
    assert set(made) == {mine}
    with pytest.raises(UserError, match="with another request"):
        await runs.create(Request("Two?"), run=mine)


async def test_each_claim_has_its_own_epoch_and_a_final_run_has_none(database: Database) -> None:
    runs = Runs(database)
    run = await runs.create(Request("Which?"))
    epochs = await asyncio.gather(*(runs.claim(run, f"worker {number}") for number in range(8)))
    assert sorted(epoch for epoch in epochs if epoch) == list(range(1, 9))
    with pytest.raises(Stale):
        await runs.finish(run, 7, RunStatus.DONE, seconds=1.0)
    await runs.finish(run, 8, RunStatus.DONE, outcome="partial", reason="a source was missing", seconds=12.5)
    row = await runs.get(run)
    assert (row.status, row.outcome, row.reason) == (RunStatus.DONE, "partial", "a source was missing")
    assert row.elapsed_seconds == 12.5
    assert await runs.claim(run, "late") is None


async def test_the_last_answer_of_a_person_counts(database: Database) -> None:
    runs = Runs(database)
    run = await runs.create(Request("Which?"))
    await runs.store_answer(run, "plan", "no")
    await runs.store_answer(run, "plan", "yes")
    await runs.store_answer(run, "root/2", "look at 2019")
    assert await runs.read_answers(run) == {"plan": "yes", "root/2": "look at 2019"}


async def test_files_of_a_run_are_kept_replaced_and_checked(database: Database) -> None:
    runs = Runs(database)
    run = await runs.create(Request("Which?"))
    epoch = await runs.claim(run, "test")
    assert epoch == 1
    await runs.store_artifacts(run, epoch, [Artifact("report.md", "text/markdown", b"# Old")])
    await runs.store_artifacts(run, epoch, [Artifact("report.md", "text/markdown", b"# New")])
    assert await runs.read_artifact(run, "report.md") == Artifact("report.md", "text/markdown", b"# New")
    page = Artifact("report.html", "text/html", b"<p>")
    await runs.store_artifacts(run, epoch, [page, Artifact("report.md", "text/markdown", b"# Newest")])
    assert await runs.read_artifact(run, "report.html") == page
    assert await runs.list_artifacts(run) == ["report.html", "report.md"]
    assert await runs.read_artifact(run, "../report.md") is None
    await database.execute("UPDATE run_artifact SET bytes = '# Now'::bytea")
    with pytest.raises(JournalError, match="checksum"):
        await runs.read_artifact(run, "report.md")
    await runs.claim(run, "newer")
    with pytest.raises(Stale):
        await runs.store_artifacts(run, epoch, [Artifact("report.md", "text/markdown", b"")])


def files(**texts: str) -> list[Artifact]:
    return [Artifact.from_text(name.replace("_", "."), text) for name, text in texts.items()]


async def test_the_first_report_that_is_sealed_stays_it_until_the_run_is_taken_back(database: Database) -> None:
    runs = Runs(database)
    run = await runs.create(Request("Which?"))
    old = await runs.claim(run, "test")
    epoch = await runs.claim(run, "newer")
    assert old is not None
    assert epoch is not None
    first, second = (Entry(SEALED, f'{{"outcome":"{name}"}}', "{}") for name in ("complete", "partial"))
    with pytest.raises(Stale):
        await runs.seal_report(run, old, files(report_md="# Old"), second)
    assert await runs.list_artifacts(run) == []
    await runs.store_artifacts(run, epoch, files(plan_json="{}"))
    assert await runs.seal_report(run, epoch, files(report_md="# One", report_html="<p>"), first) == first
    assert await runs.seal_report(run, epoch, files(report_md="# Two", more_md="More"), second) == first
    assert await runs.list_artifacts(run) == ["plan.json", "report.html", "report.md"]
    assert await runs.read_text(run, "report.md") == "# One"
    await runs.finish(run, epoch, RunStatus.DONE)
    await rewind_run(database, run, Stage.DELIVER, forget=False)
    again = await runs.claim(run, "test")
    assert again is not None
    assert await runs.read_text(run, "report.md") == "# One", "until there is another"
    assert await runs.seal_report(run, again, files(report_md="# Two"), second) == second
    assert await runs.list_artifacts(run) == ["plan.json", "report.md"]


async def test_an_attempt_ends_with_its_last_event_or_not_at_all(database: Database) -> None:
    runs = Runs(database)
    run = await runs.create(Request("Which?"))
    epoch = await runs.claim(run, "test")
    assert epoch is not None
    await runs.store_answer(run, "finish", "yes")
    told = Event(EventType.RUN_FINISHED, "run.finished@root", "root", None, {"outcome": "partial"})
    with pytest.raises(Stale):
        await runs.finish(run, epoch + 1, RunStatus.DONE, last=told, answered="finish")
    assert (await last_event_number(database, run), await runs.read_answers(run)) == (0, {"finish": "yes"})
    await runs.finish(run, epoch, RunStatus.DONE, outcome="partial", last=told, answered="finish")
    (event,) = await read_events(database, run)
    assert (event.type, event.key, event.seq, event.data) == (told.type, told.key, 1, told.data)
    assert await runs.read_answers(run) == {"finish": ""}
    with pytest.raises(Stale):
        await runs.finish(run, epoch, RunStatus.FAILED, last=told)
    assert len(await read_events(database, run)) == 1
