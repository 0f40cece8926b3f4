"""Stored runs: submitted, scheduled, answered, taken back, what they gave, and how people rate it.

Knows the topics of a person's answers: any process may answer, and waiting costs nothing. A rating is stored beside the
judge's scores, the last one of each person counts. Does not know how a run is worked on (`attempts` does) or how its
report is delivered.
"""

from __future__ import annotations

import asyncio
import json
import re
import shutil
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from corrobora.config import Settings
from corrobora.domain.errors import NeedsHuman, UserError
from corrobora.domain.report import Report, Verdict
from corrobora.domain.run import Event, Request, RequestOption, RunId, RunRow, RunStatus, Stage, missing_report_error
from corrobora.text.phrases import describe_code

if TYPE_CHECKING:
    from corrobora.app import Workspace
    from corrobora.domain.plan import Plan
    from corrobora.policies import Profile
    from corrobora.policies.budget import Estimate
    from corrobora.storage.journal.artifacts import RunFolder
    from corrobora.storage.journal.runs import Runs

PLAN_TOPIC = "plan"
RETRY_TOPIC = "retry"  # failures of an ended run are tried again
ANYWAY_TOPIC = "deliver_anyway"  # a report is handed over also if its verification failed
UNTIL_TOPIC = "until"  # the stage after which the run pauses
FINISH_TOPIC = "finish"  # the run ends its research and writes its report
PAUSE_TOPIC = "pause"  # the run pauses after its round
YES = "yes"
_PAUSE_REASON = re.compile(r"(after|before the searches of) round (\d+) of (\S+)\.(?:\s|$)")


def resolve_request(settings: Settings, request: Request) -> Request:
    """Write out a profile of the settings, so that a worker with other settings or elsewhere does the same."""
    from corrobora.config import profiles  # noqa: PLC0415 - a list of runs needs no policies

    name, own = profiles.resolve_profile(settings, request.profile)
    return replace(request, profile=name, overrides=(*own, *request.overrides))


def resolve_profile(settings: Settings, request: Request) -> Profile:
    """Resolve the profile of a request: preset, file or `[profiles.NAME]`, with its overrides."""
    from corrobora.config.profiles import load_profile  # noqa: PLC0415 - as above

    known = resolve_request(settings, request)
    return load_profile(known.profile, known.overrides)


async def submit_run(
    workspace: Workspace, request: Request, *, run: RunId | None = None, deferred: bool = True, webhook: str = ""
) -> RunId:
    """Store a run; queue it unless this process works on it itself. The address `webhook` is notified of its end.

    Raises:
        UserError: a bad profile, plan, target or webhook; where this process works on it, also a model or a web
            provider that cannot be used. Nothing was stored and nothing was paid.
    """
    from corrobora.app.delivery import check_targets  # noqa: PLC0415

    settings = workspace.settings
    request = resolve_request(settings, request)
    profile = resolve_profile(settings, request)
    if request.plan_file:
        from corrobora.engine.planning import check_suggested_plan  # noqa: PLC0415

        check_suggested_plan(request.plan_file, profile)
    check_targets(request, settings)
    if webhook:
        from corrobora.app.webhooks import check_request_webhook  # noqa: PLC0415

        check_request_webhook(settings, webhook)
    if not deferred:  # else the worker's settings count: it may have keys that this process has not
        workspace.wiring.check_request(request, profile)
        await workspace.wiring.check_model_servers(request, profile)
    made = await workspace.runs.create(request, run=run, webhook=webhook)
    if deferred:
        await workspace.queue.submit(made)
    return made


async def find_repeated(workspace: Workspace, request: Request, run: RunId, webhook: str = "") -> RunRow | None:
    """Return the run of an id if it was made with this request and webhook, None if there is none.

    Raises `UserError` `run_exists` if it was made with another.
    """
    request = resolve_request(workspace.settings, request)
    try:
        row = await workspace.runs.get(run)
    except UserError:
        return None
    if row.request != request or await workspace.webhooks.find_url(run) != webhook:
        raise UserError(
            "run_exists", f"The run {run} exists already, with another request.", next_step="Choose another key."
        )
    return row


def check_awaiting(row: RunRow) -> None:
    """Raise `UserError` `not_waiting` unless the plan of a run waits for a person."""
    if row.status is not RunStatus.AWAITING:
        problem = f"The run {row.id} does not wait for authorization. Its state: {describe_code(row.state)}."
        raise UserError("not_waiting", problem, next_step=row.next_step)


async def suggest_plan(workspace: Workspace, run: str, text: str) -> None:
    """Store a person's plan in place of the one that waits; submit the run again to have it proposed.

    It is the plan from then on: no planner sees it, and what is authorized is what the person wrote.

    Raises `UserError` `not_waiting`, or for what is wrong with the plan.
    """
    from corrobora.engine.planning import check_suggested_plan  # noqa: PLC0415

    row = await workspace.runs.get(run)
    check_awaiting(row)
    check_suggested_plan(text, resolve_profile(workspace.settings, row.request))
    options = {**dict(row.request.metadata), RequestOption.EDITED_PLAN.value: text}
    await workspace.runs.replace_request(run, replace(row.request, metadata=tuple(options.items())))
    await rewind_run(workspace, run, Stage.PLAN)


async def schedule_run(workspace: Workspace, name: str, cron: str, request: Request) -> str:
    """Store a schedule and return when its next turn is; each turn first reads what changed in folders of libraries.

    Raises `UserError` for what could not run then.
    """
    from corrobora.app.delivery import check_targets  # noqa: PLC0415

    request = resolve_request(workspace.settings, request)
    resolve_profile(workspace.settings, request)
    check_targets(request, workspace.settings)
    fresh = {**dict(request.metadata), RequestOption.READ_AGAIN.value: YES}
    request = replace(request, metadata=tuple(fresh.items()))
    return (await workspace.schedules.save(name, cron, request)).isoformat(timespec="minutes")


async def authorize_run(workspace: Workspace, run: str, words: str) -> None:
    """Take a person's words on a waiting plan: only the profile's exact phrase starts the run (TREE-5)."""
    row = await workspace.runs.get(run)
    phrase = resolve_profile(workspace.settings, row.request).phrase
    if phrase and words != phrase:
        problem = f"{words[:80]!r} does not authorize the plan."
        raise UserError("phrase", problem, next_step=f"Say exactly: {phrase}")
    await workspace.runs.store_answer(run, FINISH_TOPIC, "")  # said of the plan, which is to be executed now
    await workspace.runs.store_answer(run, PLAN_TOPIC, YES)  # last: until then the plan waits


async def steer_run(workspace: Workspace, run: str, hint: str) -> None:
    """Answer a pause between two rounds; with an empty hint the run just goes on (ROUNDS-25)."""
    topic = await _find_pause(workspace, run)
    if topic is None:
        row = await workspace.runs.get(run)
        state = describe_code(row.state)
        problem = f"The run {run} does not pause between rounds, so it takes no hint. Its state: {state}."
        raise UserError("not_paused", problem, next_step=row.next_step)
    await _answer_pause(workspace, run, topic, hint)


async def pass_pause(workspace: Workspace, run: str) -> bool:
    """Let a run that pauses between two rounds go on without a hint, unless it has one; True if it has (ROUNDS-26)."""
    topic = await _find_pause(workspace, run)
    if topic is None:
        return False
    if (hint := (await workspace.runs.read_answers(run)).get(topic)) is None:
        await _answer_pause(workspace, run, topic, "")
    return bool(hint)


async def _answer_pause(workspace: Workspace, run: str, topic: str, hint: str) -> None:
    await workspace.runs.store_answer(run, PAUSE_TOPIC, "")
    await workspace.runs.store_answer(run, topic, hint)  # last: until then the run pauses


async def _find_pause(workspace: Workspace, run: str) -> str | None:
    row = await workspace.runs.get(run)
    return pause_topic(row.reason) if row.status is RunStatus.PAUSED and row.outcome == "paused" else None


async def rewind_run(workspace: Workspace, run: str, stage: Stage, *, forget: bool = True) -> None:
    """Take a run back to the beginning of a stage; what was answered before it is kept (ANGLES-1)."""
    from corrobora.storage.journal import events  # noqa: PLC0415

    if (await workspace.runs.get(run)).status.final:  # what was asked of it is over
        for topic in (FINISH_TOPIC, PAUSE_TOPIC):
            await workspace.runs.store_answer(run, topic, "")
    await events.rewind_run(workspace.database, run, stage, forget=forget)


async def reopen_run(workspace: Workspace, run: str) -> None:
    """Open a run again that ended for want of a provider or was cancelled: failures are tried again.

    A target that took the report does not get the same one twice.
    """
    await workspace.runs.store_answer(run, RETRY_TOPIC, YES)  # first: the run ends with being open again
    await rewind_run(workspace, run, Stage.DELIVER, forget=False)


async def prepare_resume(workspace: Workspace, run: str) -> None:
    """Let a stored run go on: one that failed or was cancelled is opened again, a pause between rounds is over."""
    if (await workspace.runs.get(run)).status in (RunStatus.CANCELLED, RunStatus.FAILED):
        await reopen_run(workspace, run)
    await pass_pause(workspace, run)


async def pause_after(workspace: Workspace, run: str, stage: str, *, deliver_anyway: bool = False) -> None:
    """Let the next attempts pause after a stage, named as by the person; "" lets them go to the end (ANGLES-1).

    `deliver_anyway` lets the report be handed over also if its verification fails.
    """
    await workspace.runs.store_answer(run, UNTIL_TOPIC, stage)
    if deliver_anyway:
        await workspace.runs.store_answer(run, ANYWAY_TOPIC, YES)


async def ask_attempt(workspace: Workspace, run: str, topic: str) -> None:
    """Ask a run that is worked on, in any process, to finish early or to pause after its round.

    It holds until the run has done so, also if another process goes on with the run.

    Raises `UserError` `not_running` for a run that nobody works on.
    """
    row = await workspace.runs.get(run)
    if not row.status.active:
        state = describe_code(row.state)
        raise UserError("not_running", f"Nobody works on the run {run}. Its state: {state}.", next_step=row.next_step)
    await workspace.runs.store_answer(run, topic, YES)


async def finish_early(workspace: Workspace, run: str) -> None:
    """Let a run of this process end its research now and write its report (the first Ctrl-C)."""
    session = workspace.sessions.get(run)
    if session is not None:
        session.budget.finish_research()


def follow_events(workspace: Workspace, run: str, after: int = 0, *, live: bool = True) -> AsyncGenerator[Event]:
    """Yield the events of a run with a number above `after`: past ones, then live ones, through its pauses to its end.

    Without `live` only those that are stored.
    """
    return workspace.events.follow(run, after, ends=[status for status in RunStatus if status.final or not live])


async def read_report_json(workspace: Workspace, run: str) -> dict[str, Any]:
    """Return the report of a finished run as JSON values. Raises `NoEvidence` if it has none."""
    stored = await workspace.runs.read_text(run, "report.json")
    if stored is None:
        raise missing_report_error(await workspace.runs.get(run))
    return json.loads(stored)


async def load_report(workspace: Workspace, run: str) -> Report | None:
    """Return the report of a run as a value, or None if it has none."""
    from corrobora.engine.session.journal import decode  # noqa: PLC0415

    stored = await workspace.runs.read_text(run, "report.json")
    return None if stored is None else decode(Report, stored, key=f"{run}/report.json")


def run_folder(workspace: Workspace, run: str) -> RunFolder:
    """The folder of a run's files on this machine."""
    from corrobora.storage.journal.artifacts import RunFolder  # noqa: PLC0415

    return RunFolder(workspace.settings.home / "runs" / run)


async def remove_run(workspace: Workspace, run: str) -> None:
    """Remove a run with its journal, events and files, also those in its folder on this machine."""
    await workspace.runs.remove(run)
    await asyncio.to_thread(shutil.rmtree, run_folder(workspace, run).base, ignore_errors=True)


def pause_topic(reason: str) -> str | None:
    """Return the topic of the answer that a paused run waits for, from the reason it gave; None if it gave none."""
    if (found := _PAUSE_REASON.search(reason)) is None:
        return None
    return f"{found[3]}/{found[2]}" if found[1] == "after" else queries_topic(found[3], int(found[2]))


def queries_topic(path: str, number: int) -> str:
    """Return the topic of the answer that lets the queries of a round be sent."""
    return f"{path}/{number}/queries"


class StoredHuman:
    """`ports.Human` over the table of answers."""

    def __init__(
        self, runs: Runs, run: str, estimate: Callable[[Plan], Estimate] | None = None, phrase: str = ""
    ) -> None:
        self._runs, self._run, self._estimate = runs, run, estimate
        self._words = f' (in a script: --words "{phrase}")' if phrase else ""

    async def authorize(self, plan: Plan) -> bool:
        """Return what the person said of the plan. Raises `NeedsHuman` if nobody said anything yet."""
        said = (await self._runs.read_answers(self._run)).get(PLAN_TOPIC)
        if said is None:
            raise NeedsHuman(
                "plan_not_authorized",
                f"The plan waits for authorization.{self._word_estimate(plan)}",
                next_step=f"Read it and go on with: corrobora authorize {self._run}{self._words}",
            )
        return said == YES

    def _word_estimate(self, plan: Plan) -> str:
        from corrobora.reporting.thread_json import describe_estimate  # noqa: PLC0415 - as above

        return f" Estimate: {describe_estimate(self._estimate(plan))}." if self._estimate is not None else ""

    async def between_rounds(self, path: str, number: int) -> str:
        """Return the hint for the next round. Raises `NeedsHuman` until there is one (ROUNDS-25)."""
        said = (await self._runs.read_answers(self._run)).get(f"{path}/{number}")
        if said is None:
            raise NeedsHuman(
                "paused",
                f"The run pauses after round {number} of {path}.",
                next_step=f'Steer or go on with: corrobora steer {self._run} "HINT"',
            )
        return said

    async def before_searches(self, path: str, number: int, queries: Sequence[str]) -> str:
        """Return what lets the queries of a round be sent. Raises `NeedsHuman`, naming them, until there is one."""
        said = (await self._runs.read_answers(self._run)).get(queries_topic(path, number))
        if said is None:
            raise NeedsHuman(
                "paused",
                f"The run pauses before the searches of round {number} of {path}. To be sent: {'; '.join(queries)}.",
                next_step=f"Send them: corrobora resume {self._run}. Or stop: corrobora cancel {self._run}",
            )
        return said


_TOPIC = "rating/"
_NAME = re.compile(r"[\w .@-]{1,60}")
_MOST_COMMENT = 4_000
_STEPS = 5
CRITERIA = tuple(field.name for field in fields(Verdict) if field.name != "rationale")  # those of the judge


@dataclass(frozen=True, slots=True)
class Rating:
    """What one person says of a report."""

    rater: str
    scores: Mapping[str, float]  # by criterion, each from 0 to 1
    comment: str = ""
    at: str = ""  # ISO time, UTC

    @property
    def overall(self) -> float:
        """The mean of the five criteria."""
        return sum(self.scores.values()) / len(CRITERIA)


def make_rating(rater: str, steps: Mapping[str, str], comment: str) -> Rating:
    """Make a rating of steps from 1 (poor) to 5 (excellent), stored as 0 to 1.

    Raises:
        UserError: `rating_invalid`: a name that cannot be one, a criterion without a step, or too long a comment.
    """
    name = " ".join(rater.split()) or "anonymous"
    if not _NAME.fullmatch(name):
        raise UserError("rating_invalid", "The name has more than 60 characters, or characters that names cannot have.")
    if len(comment) > _MOST_COMMENT:
        raise UserError("rating_invalid", f"The comment has more than {_MOST_COMMENT:,} characters.")
    chosen: dict[str, float] = {}
    for each in CRITERIA:
        step = steps.get(each, "")
        if step not in map(str, range(1, _STEPS + 1)):
            raise UserError("rating_invalid", f"Choose 1 to {_STEPS} for {each.replace('_', ' ')}.")
        chosen[each] = (int(step) - 1) / (_STEPS - 1)
    return Rating(name, chosen, comment.strip(), datetime.now(UTC).isoformat(timespec="seconds"))


async def store_rating(workspace: Workspace, run: str, rating: Rating) -> None:
    """Store a person's rating of a run; an earlier one of the same person is replaced, the judge's scores never are."""
    await workspace.runs.store_answer(run, f"{_TOPIC}{rating.rater}", json.dumps(asdict(rating), ensure_ascii=False))


async def list_ratings(workspace: Workspace, run: str) -> list[Rating]:
    """Return the ratings of a run by name."""
    answers = await workspace.runs.read_answers(run)
    return [Rating(**json.loads(answers[topic])) for topic in sorted(answers) if topic.startswith(_TOPIC)]


def dump_rating(rating: Rating) -> dict[str, object]:
    """Return a rating as JSON values."""
    return {**asdict(rating), "overall": round(rating.overall, 3)}
