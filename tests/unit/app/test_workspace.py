"""The workspace: small real runs on a real database, from a request to a report, and every way they may end."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from bench.model_server.protocols import WireReply, WireRequest
from bench.model_server.server import Latency, ModelServer, answer_from_prompt
from tests.unit.adapters.search.replay import Replay

from corrobora.app import Workspace
from corrobora.app.attempts import execute_run, run_here, serve_queue
from corrobora.app.libraries import ingest_files
from corrobora.app.runs import (
    authorize_run,
    finish_early,
    follow_events,
    load_report,
    pause_after,
    read_report_json,
    reopen_run,
    resolve_profile,
    rewind_run,
    run_folder,
    schedule_run,
    steer_run,
    submit_run,
)
from corrobora.app.verification import verify_report
from corrobora.domain.errors import NoEvidence, UserError
from corrobora.domain.report import Outcome
from corrobora.domain.run import EventType, Request, RunStatus, Stage
from corrobora.domain.thread import StopReason
from corrobora.testing.http_server import HttpServer
from corrobora.testing.web import LoopbackWeb, WebPage

QUESTION = "How often must the sluice gates of Orrin mill be greased?"
PHRASE = "Authorized to execute"
ELSEWHERE = "openai-compatible:m@http://models.example/v1"


def asked(profile: str = "timed", **more: Any) -> Request:
    return Request(QUESTION, profile, **{"libraries": ("mill",), "authorized": "policy", **more})


async def done(workspace: Workspace, request: Request) -> str:
    run = await submit_run(workspace, request, deferred=False)
    await run_here(workspace, run)
    return run


async def text_of(workspace: Workspace, run: str) -> str:
    report = await load_report(workspace, run)
    assert report is not None
    return report.markdown


async def test_a_run_here_ends_with_a_report_whose_citations_hold(workspace: Workspace) -> None:
    run = await done(workspace, asked())
    row = await workspace.runs.get(run)
    assert (row.status, row.outcome) == (RunStatus.DONE, Outcome.COMPLETE)
    report = await load_report(workspace, run)
    assert report is not None
    assert "every 14 days" in report.markdown
    assert (await read_report_json(workspace, run))["question"] == QUESTION
    checked = await verify_report(workspace, report.markdown)
    assert checked.cited
    assert {found.value for each in checked.statements for found in each.found} == {"verified"}
    base = run_folder(workspace, run).base
    assert (base / "report.md").read_text(encoding="utf-8") == report.markdown


async def test_a_changed_number_is_found_when_citations_are_checked_again(workspace: Workspace) -> None:
    markdown = await text_of(workspace, await done(workspace, asked()))
    checked = await verify_report(workspace, markdown.replace("14 days", "41 days"))
    assert {found.value for each in checked.statements for found in each.found} != {"verified"}


async def test_a_queued_run_is_done_by_a_worker_and_followed_to_its_end(workspace: Workspace) -> None:
    worker = asyncio.create_task(serve_queue(workspace, concurrency=2))
    try:
        run = await submit_run(workspace, asked())
        events = [event async for event in follow_events(workspace, run)]
    finally:
        worker.cancel()
        await asyncio.gather(worker, return_exceptions=True)
    assert events[0].type is EventType.RUN_STARTED
    assert events[-1].type is EventType.RUN_FINISHED
    assert [event.seq for event in events] == sorted({event.seq for event in events})
    assert (await workspace.runs.get(run)).status is RunStatus.DONE
    later = [event async for event in follow_events(workspace, run, events[2].seq)]
    assert later == events[3:]


@pytest.mark.parametrize(
    "words",
    [
        "",
        "yes",
        "Authorized",
        "authorized to execute",
        "Authorized to execute.",
        "Authorized to execute ",
        " Authorized to execute",
        "Authorized  to execute",
        "I say: Authorized to execute",
        "Authorized to execute\u200b",
    ],
)
async def test_tree_anything_but_the_exact_phrase_is_refused(workspace: Workspace, words: str) -> None:
    run = await submit_run(workspace, asked("tree", authorized=""), deferred=False)
    with pytest.raises(UserError, match=PHRASE) as caught:
        await authorize_run(workspace, run, words)
    assert caught.value.code == "phrase"
    assert not await workspace.runs.read_answers(run)


async def test_tree_a_plan_waits_for_the_phrase_and_goes_on_from_its_journal(workspace: Workspace) -> None:
    run = await done(workspace, asked("tree", authorized=""))
    row = await workspace.runs.get(run)
    assert (row.status, row.outcome) == (RunStatus.AWAITING, "plan_not_authorized")
    assert await workspace.runs.read_artifact(run, "plan.json") is not None
    with pytest.raises(UserError):
        await authorize_run(workspace, run, "go")
    await run_here(workspace, run)
    assert (await workspace.runs.get(run)).status is RunStatus.AWAITING
    await authorize_run(workspace, run, PHRASE)
    await run_here(workspace, run)
    assert (await workspace.runs.get(run)).status is RunStatus.DONE


async def test_a_run_without_a_report_says_so(workspace: Workspace) -> None:
    run = await submit_run(workspace, asked("tree", authorized=""), deferred=False)
    assert await load_report(workspace, run) is None
    with pytest.raises(NoEvidence, match=f"corrobora resume {run}") as caught:
        await read_report_json(workspace, run)
    assert caught.value.code == "report_missing"


@pytest.mark.parametrize("stage", list(Stage))
async def test_angles_from_every_stage_a_run_is_done_again_to_the_same_report(
    workspace: Workspace, stage: Stage
) -> None:
    run = await done(workspace, asked())
    before = await text_of(workspace, run)
    await rewind_run(workspace, run, stage)
    assert (await workspace.runs.get(run)).status is RunStatus.QUEUED
    await run_here(workspace, run)
    assert (await workspace.runs.get(run)).status is RunStatus.DONE
    body, _, _ = before.partition("## Methodology")
    assert (await text_of(workspace, run)).partition("## Methodology")[0] == body


async def test_an_unknown_run_cannot_be_taken_back(workspace: Workspace) -> None:
    with pytest.raises(UserError) as caught:
        await rewind_run(workspace, "r_" + "a" * 26, Stage.PLAN)
    assert caught.value.code == "run_unknown"


async def test_angles_a_run_pauses_after_a_stage_and_goes_on_when_it_may(workspace: Workspace) -> None:
    run = await submit_run(workspace, asked(), deferred=False)
    await pause_after(workspace, run, Stage.PLAN)
    await run_here(workspace, run)
    row = await workspace.runs.get(run)
    assert (row.status, row.outcome) == (RunStatus.PAUSED, "stage_reached")
    assert await load_report(workspace, run) is None
    await pause_after(workspace, run, "")
    await run_here(workspace, run)
    assert (await workspace.runs.get(run)).status is RunStatus.DONE


async def test_rounds_a_pause_between_rounds_takes_a_hint(workspace: Workspace) -> None:
    run = await done(workspace, asked("rounds", overrides=(("pause_between_rounds", "true"),)))
    assert (await workspace.runs.get(run)).status is RunStatus.PAUSED
    for number in range(1, 4):
        if (await workspace.runs.get(run)).status is RunStatus.DONE:
            break
        await steer_run(workspace, run, f"hint {number}: the mill pond")
        await run_here(workspace, run)
    assert (await workspace.runs.get(run)).status is RunStatus.DONE
    with pytest.raises(UserError) as caught:
        await steer_run(workspace, run, "too late")
    assert caught.value.code == "not_paused"


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        (asked("no-such-profile"), "unknown_profile"),
        (asked(overrides=(("max_rounds", "many"),)), "profile_bad_value"),
        (asked(models=(("worker", "gooogle:gem"),)), "model_unknown_provider"),
        (asked(models=(("worker", "openai:gpt-4.1"),)), "model_no_key"),
        (asked(providers=("gooogle",)), "provider_unknown"),
        (asked(providers=("exa",)), "secret_missing"),
        (asked(output=(("pigeon", "x"),)), "delivery_kind"),
        (asked(models=(("worker", ELSEWHERE),), metadata=(("max_usd", "1"),)), "price_unknown"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_c15_c16_what_cannot_run_is_refused_before_it_is_stored(
    workspace: Workspace, request_: Request, code: str
) -> None:
    with pytest.raises(UserError) as caught:
        await submit_run(workspace, request_, deferred=False)
    assert caught.value.code == code
    assert not await workspace.runs.list()


async def test_a_worker_that_cannot_run_what_was_queued_says_why(workspace: Workspace) -> None:
    run = await submit_run(workspace, asked(models=(("worker", "openai:gpt-4.1"),)))
    epoch = await workspace.runs.claim(run, "test")
    assert epoch is not None
    await execute_run(workspace, run, epoch)
    row = await workspace.runs.get(run)
    assert (row.status, row.outcome) == (RunStatus.FAILED, "model_no_key")
    assert "OPENAI_API_KEY" in row.reason


async def test_an_attempt_that_was_overtaken_writes_nothing(workspace: Workspace) -> None:
    run = await submit_run(workspace, asked(), deferred=False)
    stale = await workspace.runs.claim(run, "first")
    assert stale is not None
    assert await workspace.runs.claim(run, "second") == stale + 1
    await execute_run(workspace, run, stale)
    row = await workspace.runs.get(run)
    assert (row.status, row.epoch) == (RunStatus.RUNNING, stale + 1)
    assert await load_report(workspace, run) is None


async def test_profiles_of_the_settings_are_stored_with_the_run_as_base_and_changes(made: Any, documents: Path) -> None:
    text = '[profiles.quick]\nbase = "rounds"\nmax_rounds = 1\n[[profiles.quick.phases]]\nname = "only"\n'
    async with Workspace.open(made(text)) as workspace:
        await ingest_files(workspace.database, "mill", (documents,), lambda *_: None)
        run = await submit_run(workspace, asked("quick", overrides=(("attempts", "2"),)), deferred=False)
        stored = (await workspace.runs.get(run)).request
        assert stored.profile == "rounds"
        profile = resolve_profile(workspace.settings, stored)
    assert (profile.max_rounds, profile.attempts, [phase.name for phase in profile.phases]) == (1, 2, ["only"])


async def test_angles_a_schedule_that_could_not_run_is_refused(workspace: Workspace) -> None:
    assert await schedule_run(workspace, "nightly", "0 3 * * *", asked("rounds"))
    with pytest.raises(UserError):
        await schedule_run(workspace, "never", "0 3 * * *", asked("no-such-profile"))
    with pytest.raises(UserError):
        await schedule_run(workspace, "never", "whenever", asked())


async def test_the_place_of_the_journal_holds_no_password(workspace: Workspace, made: Any) -> None:
    url = made().database_url.reveal()
    with_password = url.replace("postgres@", "postgres:canary-7@")
    assert with_password != url
    async with Workspace.open(made(CORROBORA_DATABASE_URL=with_password)) as other:
        assert other.place == workspace.place
        assert "canary-7" not in other.place


class Interrupting:
    """Answers as an obedient model does; at the first call of a role something is done to the run."""

    def __init__(self, role: str) -> None:
        self.role = role
        self.roles: list[str] = []
        self.task: asyncio.Task[None] | None = None
        self.act: Any = None

    def __call__(self, asked: WireRequest) -> str | WireReply:
        role = asked.system.partition("# Role: ")[2].partition("\n")[0]
        self.roles.append(role)
        if role == self.role and self.task is None:
            self.task = asyncio.create_task(self.act())
        return answer_from_prompt(asked)


def by_model(server: ModelServer, **more: Any) -> Request:
    return asked("rounds", models=(("worker", f"openai-compatible:m@{server.url}/v1"),), **more)


async def test_r07_the_first_ctrl_c_ends_the_research_and_writes_the_report(workspace: Workspace) -> None:
    answers = Interrupting("reflect")
    async with ModelServer(answers) as server:
        run = await submit_run(workspace, by_model(server), deferred=False)
        answers.act = lambda: finish_early(workspace, run)
        await run_here(workspace, run)
    row = await workspace.runs.get(run)
    report = await load_report(workspace, run)
    assert report is not None
    assert row.status is RunStatus.DONE
    assert "every 14 days" in report.markdown
    assert report.stop is StopReason.CANCELLED
    assert answers.roles.count("scope") == 1, "the profile has three rounds"
    assert answers.roles.count("reflect") == 1, "no other round was begun, and nothing was paid to think about it"


async def test_finishing_a_run_that_does_not_work_here_does_nothing(workspace: Workspace) -> None:
    run = await submit_run(workspace, asked(), deferred=False)
    await finish_early(workspace, run)
    assert (await workspace.runs.get(run)).status is RunStatus.QUEUED


async def test_a_cancelled_run_stops_amid_a_call_and_can_be_opened_again(workspace: Workspace) -> None:
    answers = Interrupting("scope")
    async with ModelServer(answers, latency=Latency(0.0)) as server:
        run = await submit_run(workspace, by_model(server), deferred=False)

        async def cancel() -> None:
            server.latency = Latency(3_600.0)  # no call ends any more: only the cancellation can end the run
            await workspace.queue.cancel(run)

        answers.act = cancel
        await run_here(workspace, run)
        row = await workspace.runs.get(run)
        assert (row.status, row.outcome) == (RunStatus.CANCELLED, Outcome.CANCELLED)
        planned = answers.roles.count("plan")
        server.latency = Latency()
        await reopen_run(workspace, run)
        await run_here(workspace, run)
        assert (await workspace.runs.get(run)).status is RunStatus.DONE
        assert answers.roles.count("plan") == planned, "what was answered is not asked again"


async def test_a_cancelled_run_that_nobody_works_on_ends_at_once(workspace: Workspace) -> None:
    run = await submit_run(workspace, asked())
    await workspace.queue.cancel(run)
    assert (await workspace.runs.get(run)).status is RunStatus.CANCELLED


@pytest.mark.parametrize(
    ("stage", "again"),
    [
        (Stage.DELIVER, set[str]()),
        (Stage.VERIFY, {"judge"}),
        (Stage.REVIEW, {"critique", "revise", "judge"}),
        (Stage.SYNTHESIZE, {"synthesize", "critique", "revise", "judge"}),
    ],
)
async def test_angles_what_was_answered_before_a_stage_is_not_asked_again(
    workspace: Workspace, stage: Stage, again: set[str]
) -> None:
    async with ModelServer() as server:
        request = by_model(server, overrides=(("review.judge", "true"), ("review.critique", "true")))
        run = await done(workspace, request)
        before = len(server.calls)
        await rewind_run(workspace, run, stage)
        await run_here(workspace, run)
        assert {call.role for call in server.calls[before:]} <= again
        assert (await workspace.runs.get(run)).status is RunStatus.DONE


async def test_a_run_without_a_provider_fails_and_is_opened_again_when_it_is_back(made: Any) -> None:
    page = WebPage.of_html(
        "/mill.html",
        "<title>Orrin mill</title><article><p>The sluice gates of Orrin mill must be greased every 14 days with "
        "mineral oil, says the miller of Orrin.</p></article>",
    )
    web = LoopbackWeb([page], api_faults=["500"] * 40)
    async with web:
        env = {
            "EXA_API_KEY": "canary",
            "CORROBORA_SOURCES_EXA_URL": web.url,
            "CORROBORA_SOURCES_ALLOWED_ENDPOINTS": f"127.0.0.1:{web.port}",
        }
        async with Workspace.open(made(**env)) as workspace:
            run = await done(workspace, asked(libraries=(), providers=("exa",), overrides=(("max_rounds", "1"),)))
            row = await workspace.runs.get(run)
            assert (row.status, row.outcome) == (RunStatus.FAILED, Outcome.PROVIDER_DOWN)
            web.api_faults = ()
            await reopen_run(workspace, run)
            await run_here(workspace, run)
            assert (await workspace.runs.get(run)).status is RunStatus.DONE
            assert "every 14 days" in await text_of(workspace, run)
            limited = await workspace.database.fetch_all("SELECT provider FROM rate_limit", where="a test")
    assert [str(name) for (name,) in limited] == ["exa"], "each provider has a rate of its own, shared by all workers"


async def test_the_wait_for_a_connection_of_the_database_is_set(made: Any) -> None:
    async with Workspace.open(made(CORROBORA_STORAGE_WAIT_SECONDS="7.5")) as workspace:
        assert workspace.database.pool.timeout == 7.5


async def test_tree_a_whole_site_is_crawled_for_a_run_on_recorded_answers_and_what_it_says_is_cited(made: Any) -> None:
    replay = Replay("firecrawl/test_firecrawl_crawl_tool_integration.yaml")
    async with HttpServer(replay) as server:
        env = {"FIRECRAWL_API_KEY": "f", "CORROBORA_SOURCES_READER": "firecrawl"}
        settings = made(CORROBORA_SOURCES_FIRECRAWL_URL=server.url, **env)
        async with Workspace.open(settings) as workspace:
            site = Request("What does Firecrawl turn websites into?", sources=("https://firecrawl.dev/*",))
            markdown = await text_of(workspace, await done(workspace, site))
    assert "LLM-ready data" in markdown
    assert "https://firecrawl.dev/" in markdown
    assert [path for path, _ in replay.asked].count("/v2/crawl") == 1
