"""The evidence of a run over HTTP: its report and what supports every statement of it.

Knows paths and formats. Everything is read from the stored report, its libraries and the log of the run.
"""

from __future__ import annotations

import hashlib
import re
from typing import Annotated

from fastapi import APIRouter, Header, Path, Request, Response

from corrobora.domain.errors import UserError
from corrobora.domain.evidence import Fact
from corrobora.domain.report import Citation, Report, SentenceCheck
from corrobora.faces.cli.exports import EXPORT_FILES
from corrobora.faces.web import service, stored_runs
from corrobora.faces.web.api.models import (
    ContradictionInfo,
    EventInfo,
    GapList,
    PassageInfo,
    RunName,
    SourceInfo,
    SourceName,
    SourceText,
    SpendList,
    describe_event,
)
from corrobora.faces.web.context import Opened
from corrobora.storage.journal.events import list_events

router = APIRouter(prefix="/api/v1/runs/{run}", tags=["evidence"])
_ACCEPTED = {"application/json": "json", "text/html": "html", "text/markdown": "md"}
_WEIGHT = re.compile(r"[01](?:\.[0-9]{0,3})?")
_FORMATS = {media: {"schema": {"type": "string"}} for media in _ACCEPTED if media != "application/json"}
PassageName = Annotated[str, Path(pattern="^C[0-9]{1,9}$", description="Id of a passage, as a report shows it: C4575.")]


@router.get(
    "/report", response_model=Report, responses={200: {"content": _FORMATS}, 304: {"description": "As it was."}}
)
async def get_report(
    run: RunName,
    workspace: Opened,
    request: Request,
    if_none_match: Annotated[str | None, Header(max_length=200)] = None,
) -> Response:
    """Return the report: as JSON with all its evidence, or as Markdown or HTML, by the header Accept."""
    form = next((_ACCEPTED[each] for each in _list_accepted(request) if each in _ACCEPTED), "json")
    return await _send_report(workspace, run, form, if_none_match)


def _list_accepted(request: Request) -> list[str]:
    """Return the media types that a client accepts, those that it wants most first."""
    weights: dict[str, float] = {}
    for part in request.headers.get("accept", "").split(","):
        media, *options = (each.strip() for each in part.split(";"))
        given = next((each[2:] for each in options if each.startswith("q=")), "1")
        weights.setdefault(media, float(given) if _WEIGHT.fullmatch(given) else 0.0)
    return sorted((each for each, weight in weights.items() if weight), key=lambda each: -weights[each])


@router.get(
    "/report.{form}",
    response_class=Response,
    responses={
        200: {
            "content": {
                media: {"schema": {}} for media in (*stored_runs.MEDIA_TYPES.values(), "application/octet-stream")
            }
        },
        304: {"description": "As it was."},
    },
)
async def export_report(
    run: RunName,
    form: Annotated[str, Path(pattern="^[a-z.]{1,16}$", json_schema_extra={"enum": [*EXPORT_FILES]})],
    workspace: Opened,
    if_none_match: Annotated[str | None, Header(max_length=200)] = None,
) -> Response:
    """Return the report in a format, byte for byte as `corrobora export` writes it."""
    return await _send_report(workspace, run, form, if_none_match)


async def _send_report(workspace: Opened, run: str, form: str, known: str | None) -> Response:
    file = await stored_runs.export_report(workspace, run, form)
    tag = f'"{hashlib.sha256(file.content).hexdigest()[:32]}"'
    headers = {"ETag": tag, "Vary": "Accept"}
    if known is not None and (tag in known or known == "*"):
        return Response(status_code=304, headers=headers)
    name = file.name.rpartition("/")[2]
    if form not in ("json", "md"):  # HTML of a report is a page of its own; it is not shown as one of this server
        headers["Content-Disposition"] = f'attachment; filename="{name}"'
    return Response(file.content, media_type=file.media_type, headers=headers)


@router.get("/citations")
async def list_citations(run: RunName, workspace: Opened) -> list[Citation]:
    """List the references of the report, each with the quotes that support it and the hash of the stored text."""
    return list((await stored_runs.read_report(workspace, run)).citations)


@router.get("/claims")
async def list_claims(run: RunName, workspace: Opened) -> list[SentenceCheck]:
    """List the sentences of the report, each with how far its citations support it."""
    return list((await stored_runs.read_report(workspace, run)).checks)


@router.get("/facts")
async def list_facts(run: RunName, workspace: Opened) -> list[Fact]:
    """List what was found: statements with their literal quotes."""
    return list(stored_runs.collect_facts(await stored_runs.read_report(workspace, run)).values())


@router.get("/contradictions")
async def list_contradictions(run: RunName, workspace: Opened) -> list[ContradictionInfo]:
    """List what contradicts each other, both sides with their facts."""
    report = await stored_runs.read_report(workspace, run)
    facts = stored_runs.collect_facts(report)
    return [
        ContradictionInfo(contradiction=each, a=facts.get(each.a), b=facts.get(each.b))
        for each in stored_runs.collect_contradictions(report)
    ]


@router.get("/gaps")
async def list_gaps(run: RunName, workspace: Opened) -> GapList:
    """List what was not found."""
    report = await stored_runs.read_report(workspace, run)
    method = report.methodology
    return GapList(
        gaps=list(stored_runs.collect_gaps(report)), exhausted=list(method.exhausted), uncovered=list(method.uncovered)
    )


@router.get("/sources")
async def list_sources(run: RunName, workspace: Opened) -> list[SourceInfo]:
    """List the sources that facts were taken from."""
    found = await stored_runs.list_sources(workspace, run)
    return [SourceInfo.model_validate(each, from_attributes=True) for each in found]


@router.get("/sources/{source}")
async def get_source(run: RunName, source: SourceName, workspace: Opened) -> SourceText:
    """Return a source as it was stored: its whole text, its passages, and what was taken from it."""
    return SourceText.model_validate(await stored_runs.read_source(workspace, run, source), from_attributes=True)


@router.get("/sources/{source}/passages/{passage}")
async def get_passage(run: RunName, source: SourceName, passage: PassageName, workspace: Opened) -> PassageInfo:
    """Return a passage with its neighbours, and what was taken from it."""
    found = await stored_runs.read_source(workspace, run, source)
    at = next((number for number, each in enumerate(found.passages) if each.id == passage), None)
    if at is None:
        raise UserError("passage_unknown", f"There is no passage {passage} in {source}.")
    return PassageInfo(
        source=found.source,
        passage=found.passages[at],
        neighbours=[*found.passages[max(0, at - 1) : at], *found.passages[at + 1 : at + 2]],
        quotes=[fact for fact in found.facts if fact.passage == passage],
    )


@router.get("/decisions")
async def list_decisions(run: RunName, workspace: Opened) -> list[EventInfo]:
    """List the decisions after each round: what was missing, whether to go on and with what, time left."""
    return await _list_of_type(workspace, run, "decision")


@router.get("/rounds")
async def list_rounds(run: RunName, workspace: Opened) -> list[EventInfo]:
    """List the rounds that have ended, with what each found."""
    return await _list_of_type(workspace, run, "round.finished")


async def _list_of_type(workspace: Opened, run: str, kind: str) -> list[EventInfo]:
    row = await service.read_run(workspace, run)
    return [
        describe_event(event, row.id) for event in await list_events(workspace.database, row.id) if event.type == kind
    ]


@router.get("/spend")
async def get_spend(run: RunName, workspace: Opened) -> SpendList:
    """Return what the run has cost so far, by role, model and provider."""
    parts = list(await stored_runs.sum_spend(workspace, run))
    return SpendList(
        total_dollars=sum(each.dollars for each in parts), calls=sum(each.calls for each in parts), parts=parts
    )


@router.get("/files")
async def list_files(run: RunName, workspace: Opened) -> list[str]:
    """List the files that the run has written."""
    return list(await workspace.runs.list_artifacts((await service.read_run(workspace, run)).id))


@router.get(
    "/files/{name:path}",
    response_class=Response,
    responses={200: {"content": {media: {"schema": {}} for media in (*_ACCEPTED, "text/plain")}}},
)
async def get_file(run: RunName, name: Annotated[str, Path(max_length=400)], workspace: Opened) -> Response:
    """Return a file of the run."""
    file = await service.read_file(workspace, run, name)
    headers = {"Content-Disposition": "attachment"} if file.media_type == "text/html" else {}
    return Response(file.content, media_type=file.media_type, headers=headers)
