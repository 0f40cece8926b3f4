"""Responses: research in the background, polled by its id, with its searches as items; and cancelled.

Knows the objects of the responses API. The id names the run, so a response outlives the server. Streams are not
offered: chat completions have them.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Request
from pydantic import Field
from starlette.responses import JSONResponse, Response

from corrobora.app.runs import PLAN_TOPIC
from corrobora.domain.errors import UserError
from corrobora.domain.run import RunRow, RunStatus
from corrobora.faces.web import service
from corrobora.faces.web.context import Opened
from corrobora.faces.web.following import answer_run, find_awaited
from corrobora.faces.web.openai.chat import read_usage
from corrobora.faces.web.openai.content import Content
from corrobora.faces.web.openai.turns import (
    ResearchFields,
    Turn,
    answer_turn,
    describe_plan,
    enter_run,
    list_searches,
    wait_for_run,
)

if TYPE_CHECKING:
    from corrobora.app import Workspace

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
    if wanted.stream:
        raise UserError(
            "stream_unavailable",
            "Responses are not streamed.",
            next_step="Set background, or stream a chat completion.",
        )
    turns = [Turn(role="user", content=wanted.input)] if isinstance(wanted.input, str) else wanted.input
    row, suffix = await _enter(workspace, wanted, turns)
    if not wanted.background:
        row = await wait_for_run(workspace, row.id)
    return JSONResponse(await _describe(workspace, row, request, wanted.model, suffix, background=wanted.background))


async def _enter(workspace: Workspace, wanted: ResponseRequest, turns: list[Turn]) -> tuple[RunRow, str]:
    """Return the run of a request; its suffix tells the turn that authorized a plan from the one that showed it."""
    if wanted.previous_response_id is not None:
        before = await _find(workspace, wanted.previous_response_id)
        awaited = find_awaited(workspace, before)
        words = turns[-1].text.strip() if turns and turns[-1].role == "user" else ""
        if awaited is not None:
            if awaited.kind == "hint" or not awaited.phrase or words == awaited.phrase:
                return await answer_run(workspace, before.id, words), "_again"
            return before, ""
    return await enter_run(workspace, wanted, turns), ""


@router.get("/responses/{response}")
async def get_response(response: str, request: Request, workspace: Opened) -> Response:
    """Return a response as it stands."""
    row = await _find(workspace, response)
    return JSONResponse(await _describe(workspace, row, request, "", "_again" if response.endswith("_again") else ""))


@router.post("/responses/{response}/cancel")
async def cancel_response(response: str, request: Request, workspace: Opened) -> Response:
    """Cancel the research of a response."""
    row = await _find(workspace, response)
    await service.cancel(workspace, row.id)
    row = await wait_for_run(workspace, row.id)
    return JSONResponse(await _describe(workspace, row, request, "", "_again" if response.endswith("_again") else ""))


async def _find(workspace: Workspace, response: str) -> RunRow:
    found = _ID.fullmatch(response)
    if found is None:
        raise UserError("run_unknown", f"There is no response {response[:80]!r}.", next_step="Ask again.")
    return await service.read_run(workspace, found[1])


async def _describe(  # noqa: PLR0913 - the parts of one answer
    workspace: Workspace, row: RunRow, request: Request, model: str, suffix: str, *, background: bool = True
) -> dict[str, Any]:
    status, error, items = _STATUS[row.status], None, list[dict[str, Any]]()
    showed_plan = not suffix and PLAN_TOPIC in await workspace.runs.read_answers(row.id)
    if showed_plan:
        status, items = "completed", [_message(row, suffix, await describe_plan(workspace, row))]
    else:
        items = [
            _search_item(row.id, number, query) for number, query in enumerate(await list_searches(workspace, row.id))
        ]
        if status == "completed":
            items.append(_message(row, suffix, await answer_turn(workspace, row, request)))
        elif status == "failed":
            error = {"code": "server_error", "message": row.reason or row.outcome}
    usage = await read_usage(workspace, row.id)
    return {
        "id": f"resp_{row.id}{suffix}",
        "object": "response",
        "created_at": datetime.fromisoformat(row.created_at).timestamp(),
        "status": status,
        "background": background,
        "error": error,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {"run": row.id, "outcome": row.outcome},
        "model": model or f"corrobora:{row.request.profile}",
        "output": items,
        "parallel_tool_calls": False,
        "temperature": None,
        "tool_choice": "auto",
        "tools": [],
        "top_p": None,
        "usage": {
            "input_tokens": usage["prompt_tokens"],
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": usage["completion_tokens"],
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": usage["total_tokens"],
        },
    }


def _search_item(run: str, number: int, query: str) -> dict[str, Any]:
    action = {"type": "search", "query": query}
    return {"type": "web_search_call", "id": f"ws_{run}_{number}", "status": "completed", "action": action}


def _message(row: RunRow, suffix: str, content: Content) -> dict[str, Any]:
    annotations = [
        {"type": "url_citation", "start_index": each.start, "end_index": each.end, "url": each.url, "title": each.title}
        for each in content.cited
    ]
    text = {"type": "output_text", "text": content.text, "annotations": annotations, "logprobs": []}
    kind = {"type": "message", "role": "assistant", "status": "completed"}
    return {**kind, "id": f"msg_{row.id}{suffix}", "content": [text]}
