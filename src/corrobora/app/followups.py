"""What comes after a report: follow-up questions, repetitions that show what changed, comparison and edits.

Knows stored runs, their reports and versions, and how a run that follows another one is asked for. Does not know how
anything is compared, edited or printed.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from corrobora.app.earlier_runs import ASK, UPDATE, WATCH, list_unchanged
from corrobora.app.runs import YES, load_report, schedule_run, submit_run
from corrobora.domain.errors import NoEvidence, UserError
from corrobora.domain.report import Report
from corrobora.domain.run import Request, RequestOption, RunId, RunRow, RunStatus, missing_report_error
from corrobora.engine.edit import ACCEPT_TOPIC, accept_named
from corrobora.engine.session.journal import decode, encode
from corrobora.policies.intake import check_question, refuse_small_talk
from corrobora.reporting.edits import EditableReport, parse_document
from corrobora.reporting.revision import NOT_RESEARCHED, Base, plan_changes
from corrobora.reporting.run_comparison import RunComparison, compare_reports
from corrobora.roles.edit import EditRequest, Proposed
from corrobora.storage.journal.runs import NEWEST

if TYPE_CHECKING:
    from corrobora.app import Workspace


async def compare_runs(workspace: Workspace, before: str, after: str) -> RunComparison:
    """Compare the reports of two stored runs, each named as in `find_reported`.

    Raises:
        UserError: there is no such run.
        NoEvidence: `report_missing`: one of them has no report.
    """
    runs = [RunId(await find_reported(workspace, each)) for each in (before, after)]
    reports = [await require_report(workspace, run) for run in runs]
    unchanged = await list_unchanged(workspace, runs[0], *reports)
    return await asyncio.to_thread(compare_reports, reports[0], reports[1], (runs[0], runs[1]), unchanged)


async def find_origins(workspace: Workspace, rows: Sequence[RunRow]) -> Mapping[str, RunId]:
    """Return for each run that follows another one the run that it follows, unless that was removed."""
    named = {str(row.id): row.request.previous for row in rows if row.request.relation}
    stored = await workspace.database.fetch_all(
        "SELECT id FROM runs WHERE id = ANY(%s::text[])", [list(set(named.values()))], where="finding earlier runs"
    )
    known = {str(row[0]) for row in stored}
    return {run: RunId(origin) for run, origin in named.items() if origin in known}


async def find_reported(workspace: Workspace, given: str) -> str:
    """Return the id of a run whose report is meant: an id, its start, or `last`, the newest that has one."""
    if given == NEWEST:
        for row in await workspace.runs.list(limit=_LOOK_BACK):
            if await workspace.runs.read_artifact(row.id, "report.json") is not None:
                return row.id
    return await workspace.runs.find_id(given)


async def require_report(workspace: Workspace, run: str) -> Report:
    """Return the report of a run as a value. Raises `NoEvidence` if it has none."""
    report = await load_report(workspace, run)
    if report is None:
        raise missing_report_error(await workspace.runs.get(run))
    return report


Pairs: TypeAlias = tuple[tuple[str, str], ...]

_AGAIN = {RequestOption.FOLLOW_UP.value: UPDATE, RequestOption.READ_AGAIN.value: YES}
CHANGES_PROPOSED = "changes_proposed"  # the outcome of an edit that waits for its reader
MAX_FEEDBACK_CHARS = 4_000
_NO_SEARCH = RequestOption.NO_SEARCH.value
_LOOK_BACK = 100  # runs among which the newest report is looked for
_NOT_CARRIED = {"scope": "", "thread_file": "", "plan_file": "", "output": (), "edits": "", "authorized": "policy"}


_ONE_ROUND = ("max_rounds", "1")  # of a question that may not search
_NO_JUDGE = ("review.judge", "false")  # of an edit: a judge scores what a run has written itself


def follow_request(row: RunRow, overrides: Pairs = (), options: Pairs = (), **changes: Any) -> Request:
    """Return the request of a run that follows another one: as that was asked for, with some changes.

    `overrides` are fields of the profile, `options` entries of the metadata; both come after those of that run.

    What was agreed on, planned or delivered for the earlier question is not carried over, nor what made that run an
    edit or a question that may not search.
    """
    before = row.request
    own = _NO_JUDGE if before.edits else _ONE_ROUND if dict(before.metadata).get(_NO_SEARCH) else None
    overrides = (*(each for each in before.overrides if each != own), *overrides)
    metadata = {name: value for name, value in before.metadata if name != RequestOption.EDITED_PLAN} | dict(options)
    fixed = {"metadata": tuple(metadata.items()), "previous": row.id, "overrides": overrides}
    return replace(before, **{**_NOT_CARRIED, **fixed, **changes})


async def submit_follow_up(  # noqa: PLR0913 - what a follow-up may change
    workspace: Workspace,
    run: str,
    question: str = "",
    *,
    search: bool = True,
    models: Pairs = (),
    overrides: Pairs = (),
    options: Pairs = (),
    run_id: RunId | None = None,
) -> RunId:
    """Store a run that follows another one: a question on its evidence or, without one, the same question again.

    A question reads the facts and passages of the earlier run first. If they do not answer it, the same libraries and
    providers are searched, unless `search` is False. A repetition tells in `changes.md` what changed.

    Raises:
        UserError: there is no such run, or the question cannot be used.
        NoEvidence: the run has no report.
    """
    row = await workspace.runs.get(await find_reported(workspace, run))
    await require_report(workspace, row.id)
    wanted = {RequestOption.FOLLOW_UP.value: ASK} if question else dict(_AGAIN)
    if question:  # a further question is rarely as wide as the first one
        overrides = (("words_min", "0"), *overrides)
    if question and not search:
        wanted[_NO_SEARCH] = YES
        overrides = (*overrides, _ONE_ROUND)
    changes: dict[str, Any] = (
        {"question": check_question(refuse_small_talk(question)), "sources": ()} if question else {}
    )
    changes |= {"models": models} if models else {}
    whole = tuple({**_drop_follow_up(row.request), **wanted, **dict(options)}.items())
    request = follow_request(row, overrides, metadata=whole, **changes)
    return await submit_run(workspace, request, run=run_id, deferred=False)


async def watch_run(  # noqa: PLR0913 - where and when, and what a repetition may change
    workspace: Workspace,
    run: str,
    name: str,
    cron: str,
    output: Pairs,
    *,
    models: Pairs = (),
    overrides: Pairs = (),
    options: Pairs = (),
) -> str:
    """Store a schedule that repeats a run and delivers only when a statement changed; return its next turn.

    Raises:
        UserError: there is no such run, nothing is delivered, or the line or a target cannot be used.
    """
    if not output:
        step = "Name one, such as: corrobora watch RUN --deliver folder:DIR"
        raise UserError("watch_target", "A watch needs a target to deliver to.", next_step=step)
    row = await workspace.runs.get(await find_reported(workspace, run))
    await require_report(workspace, row.id)
    metadata = {**_drop_follow_up(row.request), RequestOption.FOLLOW_UP.value: WATCH, **dict(options)}
    changes: dict[str, Any] = {"models": models} if models else {}
    request = follow_request(row, overrides, metadata=tuple(metadata.items()), output=output, **changes)
    return await schedule_run(workspace, name, cron, request)


def _drop_follow_up(request: Request) -> dict[str, str]:
    own = (RequestOption.FOLLOW_UP, RequestOption.NO_SEARCH, RequestOption.READ_AGAIN, RequestOption.EDITED_PLAN)
    return {name: value for name, value in request.metadata if name not in own}


async def submit_edit(  # noqa: PLR0913 - what an edit may be given
    workspace: Workspace,
    run: str,
    wanted: EditRequest,
    *,
    accept: str = "",
    models: Pairs = (),
    overrides: Pairs = (),
    options: Pairs = (),
    run_id: RunId | None = None,
) -> RunId:
    """Store a run that edits the report of another one; `accept` is what the reader accepts, if that is known.

    Raises:
        UserError: there is no such run, nothing is asked for, or no named edit can be made.
        NoEvidence: the run has no report.
    """
    if not (wanted.edits or wanted.feedback or wanted.restore):
        raise UserError(
            "edit_missing",
            "No edit was given.",
            next_step='Say what to change: corrobora edit RUN "FEEDBACK"; or name edits: --outline shows the ids',
        )
    if len(wanted.feedback) > MAX_FEEDBACK_CHARS:
        problem = f"The feedback has {len(wanted.feedback):,} characters; the limit is {MAX_FEEDBACK_CHARS:,}."
        raise UserError("edit_feedback", problem, next_step="Say it in several edits, one after the other.")
    row = await workspace.runs.get(await find_reported(workspace, run))
    report = await require_report(workspace, row.id)
    if not report.markdown:
        raise NoEvidence("report_missing", f"Run {row.id} found nothing, so there is no report to edit.")
    _require_possible(report, wanted)
    if wanted.feedback and not (models or read_feedback_models(workspace, row.request)):
        raise UserError(
            "edit_no_model",
            "Feedback can be read only by a language model.",
            next_step="Name a model: --model PROVIDER:MODEL; or name the edits: corrobora edit RUN --drop 2.1;"
            " the ids: corrobora edit RUN --outline",
        )
    changes: dict[str, Any] = {"models": models} if models else {}
    changes |= {"edits": encode(EditRequest, wanted), "strict": False}
    request = follow_request(row, (_NO_JUDGE, *overrides), options, **changes)
    made = await submit_run(workspace, request, run=run_id, deferred=False)
    if accept:
        await workspace.runs.store_answer(made, ACCEPT_TOPIC, accept)
    return made


def read_feedback_models(workspace: Workspace, request: Request) -> Sequence[object]:
    """Return what would read a person's words on the report of such a run; without any, edits must be named."""
    return (*workspace.settings.models.items(), *request.models, *workspace.settings.analysts)


def _require_possible(report: Report, wanted: EditRequest) -> None:
    """Refuse named edits none of which can be made, before a run is stored for them."""
    refused = plan_changes(Base.read(report), wanted.edits) if wanted.edits and not wanted.feedback else ()
    if refused and all(each.refused not in ("", NOT_RESEARCHED) for each in refused):
        why = "; ".join(f"{f'{each.edit.action.value} {each.edit.target}'.strip()}: {each.refused}" for each in refused)
        raise UserError(
            "edit_nothing", f"No change can be made: {why}.", next_step="The ids: corrobora edit RUN --outline"
        )


async def accept_changes(workspace: Workspace, run: str, accept: str) -> None:
    """Store which changes of a waiting edit its reader accepts.

    Raises `UserError`: the run is no waiting edit, another choice was made before, or no change with such a number may
    be accepted; it waits on.
    """
    row = await workspace.runs.get(run)
    if not row.request.edits or row.status is not RunStatus.PAUSED:
        raise UserError(
            "edit_not_waiting", f"Run {run} is not an edit that waits for a reader.", next_step="corrobora runs list"
        )
    proposed = await workspace.runs.read_text(run, "edits.json")
    if proposed is not None:
        accept_named(decode(Proposed, proposed, key="edits.json"), accept)
    if (before := await workspace.runs.store_answer(run, ACCEPT_TOPIC, accept, once=True)) != accept:
        problem = f"Other changes of run {run} were accepted a moment ago: {before!r}."
        raise UserError("edit_accepted", problem, next_step=f"What they make of the report: corrobora runs show {run}")


async def read_changes(workspace: Workspace, run: str) -> dict[str, Any]:
    """Return the proposed changes of an edit as JSON values, each move with its new place; {} if there are none."""
    stored = await workspace.runs.read_text(run, "edits.json")
    if stored is None:
        return {}
    changes = decode(Proposed, stored, key="edits.json").changes
    edited = [{**asdict(each), "edit": {**asdict(each.edit), "place": each.edit.place}} for each in changes]
    return {**json.loads(stored), "changes": edited}


async def read_outline(workspace: Workspace, run: str) -> EditableReport:
    """Return the report of a run as sections and sentences with their ids."""
    return parse_document(await require_report(workspace, await find_reported(workspace, run)))


@dataclass(frozen=True, slots=True)
class Version:
    """One version of a report: its run, the run that it was made from, and what was done."""

    number: int
    run: RunId
    previous: str
    created_at: str
    what: str


async def list_versions(workspace: Workspace, run: str) -> Sequence[Version]:
    """Return all versions of the report that a run belongs to, the researched one first."""
    rows = {str(row.id): row for row in await workspace.runs.list(limit=10_000)}

    def find_origin(name: str) -> str:
        seen: set[str] = set()
        while name in rows and rows[name].request.edits and name not in seen:
            seen.add(name)
            name = rows[name].request.previous
        return name

    origin = find_origin(await find_reported(workspace, run))
    family = sorted((row for name, row in rows.items() if find_origin(name) == origin), key=lambda row: row.created_at)
    kept = [row for row in family if row.status is RunStatus.DONE]
    return [
        Version(
            number,
            row.id,
            row.request.previous if row.request.edits else "",
            row.created_at,
            _describe_edit(row, await read_changes(workspace, row.id)),
        )
        for number, row in enumerate(kept, 1)
    ]


async def find_version(workspace: Workspace, run: str, number: int) -> RunId:
    """Return the run of a version of the report that a run belongs to. Raises `UserError` `edit_version`."""
    found = {each.number: each.run for each in await list_versions(workspace, run)}
    if number not in found:
        raise UserError("edit_version", f"There is no version {number}.", next_step="corrobora edit RUN --versions")
    return found[number]


def _describe_edit(row: RunRow, changes: Mapping[str, Any]) -> str:
    """Say what was done: the accepted changes, then the feedback that asked for them."""
    if not row.request.edits:
        return "researched"
    fields: dict[str, Any] = json.loads(row.request.edits)
    if fields["restore"]:
        return f"restored from {row.request.previous}"
    done = [each["edit"] for each in changes.get("changes", ()) if each["number"] in changes.get("accepted", ())]
    named = [f"{each['action']} {each['target']}" for each in done]
    return "; ".join((*named, *([fields["feedback"]] if fields["feedback"] else [])))
