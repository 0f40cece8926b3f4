"""What comes after a report: follow-up questions, what changed since, and two stored runs compared."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from tests.plugins.reading import ingest_here
from tests.unit.app.conftest import MakeSettings

from corrobora.app import Workspace
from corrobora.app.attempts import run_here
from corrobora.app.followups import compare_runs, submit_edit, submit_follow_up, watch_run
from corrobora.app.runs import follow_events, load_report, submit_run
from corrobora.domain.errors import NoEvidence, UserError
from corrobora.domain.report import Report, Support
from corrobora.domain.run import Request, RunStatus
from corrobora.roles.edit import Edit, EditAction, EditRequest
from corrobora.testing.web import LoopbackWeb, WebPage

GREASE = "How often must the sluice gates of Orrin mill be greased?"


async def research(workspace: Workspace, question: str = GREASE) -> str:
    run = await submit_run(workspace, Request(question, libraries=("mill",), authorized="policy"), deferred=False)
    await run_here(workspace, run)
    return run


async def test_two_runs_of_one_question_say_the_same_and_a_run_without_report_is_refused(workspace: Workspace) -> None:
    first, again = await research(workspace), await research(workspace)
    found = await compare_runs(workspace, first, again)
    assert (found.before, found.after, found.has_news) == (first, again, False)
    assert {each.kind.value for each in found.statements} == {"same"}
    waiting = await submit_run(workspace, Request(GREASE, libraries=("mill",)), deferred=False)
    with pytest.raises(NoEvidence, match="no report yet"):
        await compare_runs(workspace, first, waiting)


async def ask(workspace: Workspace, run: str, question: str, *, search: bool = True) -> Report:
    made = await submit_follow_up(workspace, run, question, search=search)
    await run_here(workspace, made)
    report = await load_report(workspace, made)
    assert report is not None
    return report


async def test_a_follow_up_reads_the_evidence_of_its_run_first_and_says_where_its_own_comes_from(
    workspace: Workspace,
) -> None:
    run = await research(workspace)
    near = await ask(workspace, run, "What draws rats?")
    assert (near.previous, near.methodology.providers) == (run, ("evidence",))
    assert near.from_previous == tuple(each.number for each in near.citations)
    assert "Animal fat draws rats" in near.markdown
    assert f"Follows run {run}: " in near.markdown
    assert "every cited passage (1) stands in a source that it had read." in near.markdown
    assert {marker.support for marker in near.evidence} == {Support.SUPPORTED}, "the note cites nothing"


GATES = "# Gates\n\nThe sluice gates of Orrin mill must be greased every 14 days with mineral oil.\n"
BREAD = "# Bread\n\nThe bakery sells rye bread on Tuesdays. A loaf of rye bread costs 4 crowns.\n"


async def test_what_the_evidence_does_not_hold_is_searched_for_unless_nobody_may_search(
    made: MakeSettings, tmp_path: Path
) -> None:
    """The library has grown since the earlier run: what is asked stands in a document that it has not read."""
    async with Workspace.open(made()) as workspace:
        (tmp_path / "gates.md").write_text(GATES)
        await ingest_here(workspace.database, "mill", tmp_path / "gates.md")
        run = await research(workspace)
        (tmp_path / "bread.md").write_text(BREAD)
        await ingest_here(workspace.database, "mill", tmp_path / "bread.md")
        question = "What does a loaf of rye bread cost?"
        found = await ask(workspace, run, question)
        assert "4 crowns" in found.markdown
        assert "library" in found.methodology.providers
        costs = next(each.number for each in found.citations if "4 crowns" in " ".join(each.quotes))
        assert costs not in found.from_previous
        kept = await ask(workspace, run, question, search=False)
        assert "4 crowns" not in kept.markdown
        assert "library" not in kept.methodology.providers


async def test_a_follow_up_needs_a_report_and_a_question_that_can_be_used(workspace: Workspace) -> None:
    waiting = await submit_run(workspace, Request(GREASE, libraries=("mill",)), deferred=False)
    with pytest.raises(NoEvidence, match="no report yet"):
        await submit_follow_up(workspace, waiting, "Why?")
    run = await research(workspace)
    with pytest.raises(UserError):
        await submit_follow_up(workspace, run, "x" * 30_000)
    with pytest.raises(UserError, match="a target to deliver to"):
        await watch_run(workspace, run, "w", "0 6 * * *", ())


PAGE = (
    "<html><title>Ferry of Velmora</title><p>The ferry of Velmora leaves at 8 in the morning on every day of the week. "
    "A crossing with the ferry of Velmora costs {price} crowns for each person.</p><p>Accessed on {day} May.</p></html>"
)


async def take_turn(workspace: Workspace, port: int, price: int, day: int, *, watch: bool) -> str:
    page = WebPage.of_html("/ferry.html", PAGE.format(price=price, day=day))
    async with LoopbackWeb([page], port=port):
        url = f"http://127.0.0.1:{port}/ferry.html"
        request = Request("What does a crossing with the ferry of Velmora cost?", sources=(url,), authorized="policy")
        if watch:
            request = (await workspace.schedules.list())[0].request
        run = await submit_run(workspace, request, deferred=False)
        await run_here(workspace, run)
        assert (await workspace.runs.get(run)).status is RunStatus.DONE
        return run


async def test_angles_36_the_attempt_after_a_crash_does_not_hand_on_a_report_again(
    workspace: Workspace, tmp_path: Path
) -> None:
    """A process that ended between the delivery and its last word leaves a run that goes on."""
    out = tmp_path / "delivered"
    asked = Request(GREASE, libraries=("mill",), authorized="policy", output=(("folder", str(out)),))
    run = await submit_run(workspace, asked, deferred=False)
    await run_here(workspace, run)
    [delivered] = out.rglob("report.md")
    delivered.unlink()
    await workspace.database.execute("UPDATE runs SET status = 'queued', owner = '' WHERE id = %s", [run])
    await run_here(workspace, run)
    assert (await workspace.runs.get(run)).status.final
    assert not delivered.exists()


async def test_a_watch_delivers_only_when_a_statement_changed(made: MakeSettings, tmp_path: Path) -> None:
    """Another day of access is no change, another price is one, and it is told once."""
    async with LoopbackWeb([]) as web:
        port = web.port
    out = tmp_path / "news"
    async with Workspace.open(made(CORROBORA_SOURCES_ALLOWED_ENDPOINTS=f"127.0.0.1:{port}")) as workspace:
        run = await take_turn(workspace, port, 5, 1, watch=False)
        await watch_run(workspace, run, "ferry", "0 6 * * *", (("folder", str(out)),))
        await take_turn(workspace, port, 5, 2, watch=True)
        assert not list(out.rglob("*.md"))
        changed = await take_turn(workspace, port, 7, 3, watch=True)
        told = [path.read_text() for path in out.rglob("changes.md")]
        assert len(told) == 1
        assert "7 crowns" in told[0]
        assert "Before: A crossing with the ferry of Velmora costs 5 crowns" in told[0]
        stored = await workspace.runs.read_artifact(changed, "changes.json")
        assert stored is not None
        assert json.loads(stored.content)["has_news"]
        before = sorted((str(path), path.stat().st_mtime_ns) for path in out.rglob("*"))
        await take_turn(workspace, port, 7, 4, watch=True)
        assert sorted((str(path), path.stat().st_mtime_ns) for path in out.rglob("*")) == before


PUMP = "The heat pump of Varnsted costs {} euros. The town hall of Varnsted was built in 1934.\n"


async def test_updates_and_scheduled_turns_read_what_changed_in_a_folder(workspace: Workspace, tmp_path: Path) -> None:
    """A repeated question asks what is so now: the folder counts, not what was stored of it."""
    folder, out = tmp_path / "hall", tmp_path / "news"
    folder.mkdir()
    (folder / "pump.md").write_text(PUMP.format("310,000"))
    await ingest_here(workspace.database, "hall", folder)
    asked = Request("What does the heat pump of Varnsted cost?", libraries=("hall",), authorized="policy")
    run = await submit_run(workspace, asked, deferred=False)
    await run_here(workspace, run)
    await watch_run(workspace, run, "pump", "0 6 * * *", (("folder", str(out)),))
    (schedule,) = await workspace.schedules.list()
    (folder / "pump.md").write_text(PUMP.format("355,000"))
    updated = await submit_follow_up(workspace, run)
    await run_here(workspace, updated)
    changes = await workspace.runs.read_artifact(updated, "changes.md")
    assert changes is not None
    assert "355,000" in changes.content.decode()
    (folder / "pump.md").write_text(PUMP.format("402,000"))
    await run_here(workspace, await submit_run(workspace, schedule.request, deferred=False))
    assert "402,000" in (out / "report.md").read_text()
    shutil.rmtree(folder)
    gone = await submit_follow_up(workspace, updated)
    await run_here(workspace, gone)
    told = [event.data["message"] async for event in follow_events(workspace, gone) if event.type == "warning"]
    assert told == [f"{folder} cannot be read on this machine; of the library hall, the stored text was searched."]
    report = await load_report(workspace, gone)
    assert report is not None
    assert "402,000" in report.markdown


async def test_what_made_a_run_an_edit_or_a_question_that_may_not_search_ends_with_it(workspace: Workspace) -> None:
    run = await research(workspace)
    shut = await submit_follow_up(workspace, run, "What draws rats?", search=False)
    edited = await submit_edit(workspace, run, EditRequest(edits=(Edit(EditAction.DROP, "0.1"),)), accept="all")
    for made in (shut, edited):
        await run_here(workspace, made)
        assert (await workspace.runs.get(made)).request.overrides
        again = await submit_follow_up(workspace, made)
        assert not {"max_rounds", "review.judge"} & dict((await workspace.runs.get(again)).request.overrides).keys()


async def test_a_follow_up_that_found_nothing_counts_no_passages(workspace: Workspace) -> None:
    found = await ask(workspace, await research(workspace), "Which planets have rings of ice?")
    assert not found.citations
    assert "0 of 0" not in found.markdown
