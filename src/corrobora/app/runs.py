"""Stored runs: submitted, scheduled, answered, taken back, what they gave, and to whom their reports are delivered.

Knows the topics of a person's answers: any process may answer, and waiting costs nothing. Knows installed delivery
channels, the operator's settings (ANGLES-36 to ANGLES-38), and the names of a thread's reports (TRIPLET-2). A delivery
is journaled: a resumed run does not send twice. Does not know how a run is worked on (`attempts` does) or what a report
says.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corrobora.adapters.pacing import SystemClock
from corrobora.config import Settings
from corrobora.config import resolve_profile as resolve_overrides
from corrobora.config.settings import list_settings
from corrobora.domain.errors import NoEvidence, UserError
from corrobora.domain.report import Report
from corrobora.domain.run import Event, Request, RunId, RunStatus, Stage
from corrobora.engine.session import Session
from corrobora.engine.session.journal import CallMeta, hash_parts
from corrobora.ports import Delivery
from corrobora.registry import Configuration, load_part
from corrobora.reporting.report_format import REPORT_FILES
from corrobora.storage.journal.runs import RunFolder, Runs

if TYPE_CHECKING:
    from corrobora.app import Workspace
    from corrobora.policies import Profile


def check_targets(request: Request, settings: Settings) -> None:
    """Refuse a target that cannot work before anything is paid. Raises `UserError`."""
    for kind, where in request.output:
        open_target(kind, where, settings)


async def send_report(report: Report, run: Session, settings: Settings, runs: Runs) -> None:
    """Hand the report's files to every target of the request, each once.

    Raises:
        ProviderError: a target did not take it; the report is kept, and the stage can be done again.
    """
    if not report.markdown:
        return
    files: dict[str, bytes] = {}
    for name in REPORT_FILES.values():
        stored = await runs.read_artifact(run.run, name)
        if stored is not None:
            files[name] = stored.content
    for kind, where in run.request.output:
        made, name = open_target(kind, where, settings), hash_parts(kind, where)
        await _send_once(made, name, report.title, files, run)


async def _send_once(made: Delivery, name: str, title: str, files: Mapping[str, bytes], run: Session) -> None:
    async def send_files() -> tuple[str, CallMeta]:
        await run.call_with_retries(lambda: made.send(title, files, delivery=f"{run.run}-{name}"))
        return "sent", CallMeta(provider=made.name)

    await run.call_once(f"deliver/{made.name}/{name}", send_files, paid=False)


def open_target(kind: str, where: str, settings: Settings) -> Delivery:
    """Return the channel of one target. Raises `UserError` if the kind is unknown or the operator set no server."""

    def read_setting(key: str) -> str:
        declared = list_settings().get(key)
        value = declared.read(settings) if declared else None
        return "" if value is None else str(value)

    given = Configuration(read_setting, lambda name: settings.key(name).reveal(), SystemClock())
    return load_part("delivery", kind).open_target(where, given)


_MICRO, _WHOLE = "micro-report-", "thread-completion-"


class ThreadReports:
    """Reports of a given thread in a folder of the user's (TRIPLET-2).

    The completion report says how many rounds there were; with it go the micro-reports that an earlier run of a thread
    of this name left there, so that the folder never holds rounds of two runs. Nothing else in the folder is touched.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = RunFolder(folder)
        self._written: set[str] = set()

    def write(self, name: str, content: bytes) -> None:
        """Write a file of the run, if it is a report of a given thread."""
        if not name.startswith((_MICRO, _WHOLE)):
            return
        self._folder.write_file(name, content)
        self._written.add(name)
        if name.startswith(_WHOLE):
            self._remove_stale_rounds(name.removeprefix(_WHOLE).removesuffix(".md"))

    def _remove_stale_rounds(self, thread: str) -> None:
        start = f"{_MICRO}{thread}-round-"
        for file in self._folder.base.iterdir():
            number = file.name.removeprefix(start).removesuffix(".md")
            if file.name == f"{start}{number}.md" and number.isdecimal() and file.name not in self._written:
                file.unlink()


PLAN_TOPIC = "plan"
RETRY_TOPIC = "retry"  # failures of an ended run are tried again
ANYWAY_TOPIC = "deliver_anyway"  # a report is handed over also if its verification failed
UNTIL_TOPIC = "until"  # the stage after which the run pauses
YES = "yes"
_PAUSE_REASON = re.compile(r"(after|before the searches of) round (\d+) of (\S+)\.(?:\s|$)")


def resolve_request(settings: Settings, request: Request) -> Request:
    """Write out a profile of the settings, so that a worker with other settings or elsewhere does the same."""
    name, own = resolve_overrides(settings, request.profile)
    return replace(request, profile=name, overrides=(*own, *request.overrides))


def resolve_profile(settings: Settings, request: Request) -> Profile:
    """Resolve the profile of a request: preset, file or `[profiles.NAME]`, with its overrides."""
    from corrobora.config import load_profile  # noqa: PLC0415

    known = resolve_request(settings, request)
    return load_profile(known.profile, known.overrides)


async def submit_run(
    workspace: Workspace, request: Request, *, run: RunId | None = None, deferred: bool = True
) -> RunId:
    """Store a run; queue it unless this process works on it itself.

    Raises:
        UserError: a bad profile, plan or target; where this process works on it, also a model or a web provider
            that cannot be used. Nothing was stored and nothing was paid.
    """
    from corrobora.app.runs import check_targets  # noqa: PLC0415

    settings = workspace.settings
    request = resolve_request(settings, request)
    profile = resolve_profile(settings, request)
    if request.plan_file:
        from corrobora.engine.planning import check_suggested_plan  # noqa: PLC0415

        check_suggested_plan(request.plan_file, profile)
    check_targets(request, settings)
    if not deferred:  # else the worker's settings count: it may have keys that this process has not
        workspace.wiring.check_request(request, profile)
        await workspace.wiring.check_model_servers(request, profile)
    made = await workspace.runs.create(request, run=run)
    if deferred:
        await workspace.queue.submit(made)
    return made


async def schedule_run(workspace: Workspace, name: str, cron: str, request: Request) -> str:
    """Store a schedule and return when its next turn is. Raises `UserError` for what could not run then."""
    from corrobora.app.runs import check_targets  # noqa: PLC0415

    request = resolve_request(workspace.settings, request)
    resolve_profile(workspace.settings, request)
    check_targets(request, workspace.settings)
    return (await workspace.schedules.save(name, cron, request)).isoformat(timespec="minutes")


async def authorize_run(workspace: Workspace, run: str, words: str) -> None:
    """Take a person's words on a waiting plan: only the profile's exact phrase starts the run (TREE-5)."""
    row = await workspace.runs.get(run)
    phrase = resolve_profile(workspace.settings, row.request).phrase
    if phrase and words != phrase:
        problem = f"{words[:80]!r} does not authorize the plan."
        raise UserError("phrase", problem, next_step=f"Say exactly: {phrase}")
    await workspace.runs.store_answer(run, PLAN_TOPIC, YES)


async def steer_run(workspace: Workspace, run: str, hint: str) -> None:
    """Answer a pause between two rounds; with an empty hint the run just goes on (ROUNDS-25)."""
    topic = await _find_pause(workspace, run)
    if topic is None:
        raise UserError("not_paused", f"Run {run} does not pause between rounds.")
    await workspace.runs.store_answer(run, topic, hint)


async def pass_pause(workspace: Workspace, run: str) -> bool:
    """Let a run that pauses between two rounds go on without a hint, unless it has one; True if it has (ROUNDS-26)."""
    topic = await _find_pause(workspace, run)
    if topic is None:
        return False
    hint = (await workspace.runs.read_answers(run)).get(topic)
    if hint is None:
        await workspace.runs.store_answer(run, topic, "")
    return bool(hint)


async def _find_pause(workspace: Workspace, run: str) -> str | None:
    row = await workspace.runs.get(run)
    return pause_topic(row.reason) if row.status is RunStatus.PAUSED and row.outcome == "paused" else None


async def rewind_run(workspace: Workspace, run: str, stage: Stage) -> None:
    """Take a run back to the begin of a stage; what was answered before it is kept (ANGLES-1)."""
    from corrobora.storage.journal import events  # noqa: PLC0415

    await events.rewind_run(workspace.database, run, stage)


async def reopen_run(workspace: Workspace, run: str) -> None:
    """Open a run again that ended for want of a provider or was cancelled: failures are tried again."""
    await rewind_run(workspace, run, Stage.DELIVER)
    await workspace.runs.store_answer(run, RETRY_TOPIC, YES)


async def pause_after(workspace: Workspace, run: str, stage: str, *, deliver_anyway: bool = False) -> None:
    """Let the next attempts pause after a stage, named as by the person; "" lets them go to the end (ANGLES-1).

    `deliver_anyway` lets the report be handed over also if its verification fails.
    """
    await workspace.runs.store_answer(run, UNTIL_TOPIC, stage)
    if deliver_anyway:
        await workspace.runs.store_answer(run, ANYWAY_TOPIC, YES)


async def finish_early(workspace: Workspace, run: str) -> None:
    """Let a run of this process end its research now and write its report."""
    session = workspace.sessions.get(run)
    if session is not None:
        session.budget.finish_research()


def follow_events(
    workspace: Workspace, run: str, after: int = 0, *, through_pauses: bool = True
) -> AsyncGenerator[Event]:
    """Yield the events of a run after a sequence number, past ones first, then live ones, until it ends.

    Without `through_pauses` also until it waits for a person.
    """
    ends = [status for status in RunStatus if status.final or (status.waits and not through_pauses)]
    return workspace.events.follow(run, after, ends=ends)


async def read_report_json(workspace: Workspace, run: str) -> dict[str, Any]:
    """Return the report of a finished run as JSON values. Raises `NoEvidence` if it has none."""
    stored = await workspace.runs.read_artifact(run, "report.json")
    if stored is None:
        raise NoEvidence("report_missing", f"Run {run} has no report yet.", next_step=f"corrobora resume {run}")
    return json.loads(stored.content)


async def load_report(workspace: Workspace, run: str) -> Report | None:
    """Return the report of a run as a value, or None if it has none."""
    from corrobora.engine.session.journal import decode  # noqa: PLC0415

    stored = await workspace.runs.read_artifact(run, "report.json")
    return None if stored is None else decode(Report, stored.content.decode(), key=f"{run}/report.json")


def run_folder(workspace: Workspace, run: str) -> RunFolder:
    """The folder of a run's files on this machine."""
    from corrobora.storage.journal.runs import RunFolder  # noqa: PLC0415

    return RunFolder(workspace.settings.home / "runs" / run)


def pause_topic(reason: str) -> str | None:
    """Return the topic of the answer that a paused run waits for, from the reason it gave; None if it gave none."""
    found = _PAUSE_REASON.search(reason)
    if found is None:
        return None
    return f"{found[3]}/{found[2]}" if found[1] == "after" else queries_topic(found[3], int(found[2]))


def queries_topic(path: str, number: int) -> str:
    """Return the topic of the answer that lets the queries of a round be sent."""
    return f"{path}/{number}/queries"
