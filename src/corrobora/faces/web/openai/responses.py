"""Responses: research in the background, polled by its id or streamed, with its searches as items; and cancelled.

Knows the objects and the events of the responses API. The id names the run, so a response outlives the server. What
happened comes from the log of the run, which only grows: a stream that is begun again gives the same events.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import aclosing
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, cast

from fastapi import APIRouter, Query, Request
from pydantic import Field
from starlette.responses import JSONResponse, Response, StreamingResponse

from corrobora.app.runs import PLAN_TOPIC
from corrobora.domain.errors import UserError
from corrobora.domain.run import RunRow, RunStatus
from corrobora.faces.web import service
from corrobora.faces.web.context import Opened
from corrobora.faces.web.openai.chat import (
    PIECE_CHARS,
    Content,
    ResearchFields,
    Turn,
    answer_turn,
    continue_run,
    describe_citation,
    describe_plan,
    enter_run,
    follow_searches,
    list_searches,
    read_usage,
)
from corrobora.faces.web.service import read_plan_event

if TYPE_CHECKING:
    from corrobora.app import Workspace

Values = Mapping[str, Any]


class EventWriter:
    """Writes the events of one response in order and leaves out those that the client has: the ones up to `after`."""

    def __init__(self, after: int) -> None:
        self._after = after
        self._next = 0
        self._items = 0

    def write_begin(self, response: Values) -> Iterator[str]:
        for kind, status in (("created", "queued" if response["background"] else "in_progress"), ("in_progress",) * 2):
            yield from self._write(f"response.{kind}", response={**response, "status": status})

    def write_search(self, item: Values) -> Iterator[str]:
        """Write a search as an item of the output."""
        yield from self._write("response.output_item.added", **self._at_item, item={**item, "status": "in_progress"})
        for state in ("in_progress", "searching", "completed"):
            yield from self._write(f"response.web_search_call.{state}", **self._at_item, item_id=item["id"])
        yield from self._end_item(item)

    def write_message(self, message: Values) -> Iterator[str]:
        """Write the answer: its text in pieces, each citation after the piece that it ends in."""
        part: Values = message["content"][0]
        where = {**self._at_item, "item_id": message["id"], "content_index": 0}
        begun: Values = {**message, "status": "in_progress", "content": ()}
        yield from self._write("response.output_item.added", **self._at_item, item=begun)
        empty: Values = {**part, "text": "", "annotations": ()}
        yield from self._write("response.content_part.added", **where, part=empty)
        text = str(part["text"])
        cited = list(enumerate(cast("list[Values]", part["annotations"])))
        for at in range(0, len(text), PIECE_CHARS):
            piece = text[at : at + PIECE_CHARS]
            yield from self._write("response.output_text.delta", **where, delta=piece, logprobs=[])
            while cited and cited[0][1]["end_index"] <= at + len(piece):
                number, each = cited.pop(0)
                annotation = {"annotation_index": number, "annotation": each}
                yield from self._write("response.output_text.annotation.added", **where, **annotation)
        yield from self._write("response.output_text.done", **where, text=text, logprobs=[])
        yield from self._write("response.content_part.done", **where, part=part)
        yield from self._end_item(message)

    def write_end(self, response: Values) -> Iterator[str]:
        """Write how the response ended; one that was cancelled has failed, with its own status."""
        kind = "completed" if response["status"] == "completed" else "failed"
        yield from self._write(f"response.{kind}", response=response)

    @property
    def _at_item(self) -> dict[str, int]:
        return {"output_index": self._items}

    def _end_item(self, item: Values) -> Iterator[str]:
        yield from self._write("response.output_item.done", **self._at_item, item=item)
        self._items += 1

    def _write(self, kind: str, **values: Any) -> Iterator[str]:
        number, self._next = self._next, self._next + 1
        if number > self._after:
            event = {"type": kind, "sequence_number": number, **values}
            yield f"event: {kind}\ndata: {json.dumps(event)}\n\n"


router = APIRouter()
_ID = re.compile(r"resp_(r_[a-z2-7]{26})(_again)?")
_STATUS = {
    RunStatus.QUEUED: "queued",
    RunStatus.RUNNING: "in_progress",
    RunStatus.INTERRUPTED: "in_progress",
    RunStatus.AWAITING: "completed",  # the plan is the answer
    RunStatus.PAUSED: "completed",
    RunStatus.DONE: "completed",
    RunStatus.FAILED: "failed",
    RunStatus.CANCELLED: "cancelled",
}


class ResponseRequest(ResearchFields):
    """A response to make."""

    input: str | list[Turn] = Field(description="The question, or the messages of a conversation.")
    background: bool = False
    stream: bool = False
    previous_response_id: str | None = Field(default=None, max_length=100)


@router.post("/responses")
async def create_response(wanted: ResponseRequest, request: Request, workspace: Opened) -> Response:
    """Start research; return at once with `background`, else when it has ended or waits for a person."""
    turns = [Turn(role="user", content=wanted.input)] if isinstance(wanted.input, str) else wanted.input
    row, suffix = await _enter(workspace, wanted, turns)
    if wanted.stream:
        return _stream(workspace, row, request, suffix, model=wanted.model, background=wanted.background)
    if not wanted.background:
        row = await service.wait_for_run(workspace, row.id)
    return JSONResponse(await _describe(workspace, row, request, wanted.model, suffix, background=wanted.background))


async def _enter(workspace: Workspace, wanted: ResponseRequest, turns: list[Turn]) -> tuple[RunRow, str]:
    """Return the run of a request; a suffix marks the turn that authorized a plan, not the one that showed it."""
    if wanted.previous_response_id is not None:
        words = turns[-1].text.strip() if turns and turns[-1].role == "user" else ""
        row, answered = await continue_run(workspace, await _find(workspace, wanted.previous_response_id), words)
        if row is not None:
            return row, "_again" if answered else ""
    return await enter_run(workspace, wanted, turns), ""


@router.get("/responses/{response}")
async def get_response(
    response: str,
    request: Request,
    workspace: Opened,
    stream: Annotated[bool, Query(description="Follow it by its events.")] = False,  # noqa: FBT002 - by name
    starting_after: Annotated[int, Query(ge=-1, le=2**62, description="Number of the last event seen.")] = -1,
) -> Response:
    """Return a response as it stands, or its events after the last one that was seen."""
    row, suffix = await _find(workspace, response), "_again" if response.endswith("_again") else ""
    if stream:
        return _stream(workspace, row, request, suffix, after=starting_after)
    return JSONResponse(await _describe(workspace, row, request, "", suffix))


@router.post("/responses/{response}/cancel")
async def cancel_response(response: str, request: Request, workspace: Opened) -> Response:
    """Cancel the research of a response."""
    row = await _find(workspace, response)
    await service.cancel(workspace, row.id)
    row = await service.wait_for_run(workspace, row.id)
    return JSONResponse(await _describe(workspace, row, request, "", "_again" if response.endswith("_again") else ""))


async def _find(workspace: Workspace, response: str) -> RunRow:
    found = _ID.fullmatch(response)
    if found is None:
        raise UserError("run_unknown", f"There is no response {response[:80]!r}.", next_step="Ask again.")
    return await service.read_run(workspace, found[1])


def _stream(  # noqa: PLR0913 - the parts of one answer
    workspace: Workspace,
    row: RunRow,
    request: Request,
    suffix: str,
    *,
    model: str = "",
    background: bool = True,
    after: int = -1,
) -> StreamingResponse:
    async def write_events() -> AsyncGenerator[str]:
        writer, found = EventWriter(after), 0
        for text in writer.write_begin(_envelope(row, model, suffix, "in_progress", background=background)):
            yield text
        last = await _find_plan_shown(workspace, row, suffix)
        async with aclosing(follow_searches(workspace, row.id, last)) as queries:
            async for query in queries:
                if query is None:
                    yield ": working\n\n"
                    continue
                for text in writer.write_search(_search_item(row.id, found, query)):
                    yield text
                found += 1
        ended = await service.read_run(workspace, row.id)
        response = await _describe(workspace, ended, request, model, suffix, background=background)
        if response["status"] in ("queued", "in_progress"):
            return  # it was interrupted: the client comes back
        if response["output"] and response["output"][-1]["type"] == "message":
            for text in writer.write_message(response["output"][-1]):
                yield text
        for text in writer.write_end(response):
            yield text

    return StreamingResponse(write_events(), media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})


async def _find_plan_shown(workspace: Workspace, row: RunRow, suffix: str) -> int | None:
    """Return the number of the event whose plan this response showed, and a later one went on from; else None."""
    if suffix or PLAN_TOPIC not in await workspace.runs.read_answers(row.id):
        return None
    plan = await read_plan_event(workspace, row.id)
    return plan.seq if plan is not None else None


async def _describe(  # noqa: PLR0913 - the parts of one answer
    workspace: Workspace, row: RunRow, request: Request, model: str, suffix: str, *, background: bool = True
) -> dict[str, Any]:
    status, error = _STATUS[row.status], None
    shown = await _find_plan_shown(workspace, row, suffix)
    queries = await list_searches(workspace, row.id, shown)
    items = [_search_item(row.id, number, query) for number, query in enumerate(queries)]
    if shown is not None:
        status = "completed"
        items.append(_message(row, suffix, await describe_plan(workspace, row)))
    elif status == "completed":
        items.append(_message(row, suffix, await answer_turn(workspace, row, request)))
    elif status == "failed":
        error = {"code": "server_error", "message": row.reason or row.outcome}
    usage = await read_usage(workspace, row.id)
    response = _envelope(row, model, suffix, status, background=background)
    counted = {
        "input_tokens": usage["prompt_tokens"],
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": usage["completion_tokens"],
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": usage["total_tokens"],
    }
    metadata = {"run": row.id, "outcome": row.outcome}
    return {**response, "error": error, "metadata": metadata, "output": items, "usage": counted}


def _envelope(row: RunRow, model: str, suffix: str, status: str, *, background: bool) -> dict[str, Any]:
    return {
        "id": f"resp_{row.id}{suffix}",
        "object": "response",
        "created_at": datetime.fromisoformat(row.created_at).timestamp(),
        "status": status,
        "background": background,
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {"run": row.id},
        "model": model or f"corrobora:{row.request.profile}",
        "output": [],
        "parallel_tool_calls": False,
        "temperature": None,
        "tool_choice": "auto",
        "tools": [],
        "top_p": None,
        "usage": None,
    }


def _search_item(run: str, number: int, query: str) -> dict[str, Any]:
    action = {"type": "search", "query": query}
    return {"type": "web_search_call", "id": f"ws_{run}_{number}", "status": "completed", "action": action}


def _message(row: RunRow, suffix: str, content: Content) -> dict[str, Any]:
    annotations = [{"type": "url_citation", **describe_citation(each)} for each in content.cited]
    text = {"type": "output_text", "text": content.text, "annotations": annotations, "logprobs": []}
    kind = {"type": "message", "role": "assistant", "status": "completed"}
    return {**kind, "id": f"msg_{row.id}{suffix}", "content": [text]}
