"""Chat completions: a question as a message, the report as the answer, plain or streamed.

Knows the chunks of the stream: what happens goes into `reasoning_content`, the report into `content`, citations last.
"""

from __future__ import annotations

import json
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Request
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import JSONResponse, Response

from corrobora.domain.errors import CorroboraError
from corrobora.faces.web import service
from corrobora.faces.web.context import Opened
from corrobora.faces.web.openai.turns import (
    Content,
    ResearchFields,
    Turn,
    answer_turn,
    enter_run,
    follow_lines,
    wait_for_run,
)

if TYPE_CHECKING:
    from corrobora.app import Workspace

router = APIRouter()
_PIECE_CHARS = 400


class StreamOptions(BaseModel):
    """How a stream ends."""

    model_config = ConfigDict(extra="ignore")
    include_usage: bool = False


class ChatRequest(ResearchFields):
    """A chat completion to make."""

    messages: list[Turn] = Field(min_length=1, max_length=1_000)
    stream: bool = False
    stream_options: StreamOptions | None = None


@router.post("/chat/completions", response_model=None)
async def create_chat_completion(wanted: ChatRequest, request: Request, workspace: Opened) -> Response:
    """Research the last message and answer with the report; a plan that waits is the answer until it is authorized."""
    row = await enter_run(workspace, wanted, wanted.messages)
    if wanted.stream:
        return StreamingResponse(_write_stream(workspace, wanted, row.id, request), media_type="text/event-stream")
    content = await answer_turn(workspace, await wait_for_run(workspace, row.id), request)
    message = {"role": "assistant", "content": content.text, "refusal": None, "annotations": _annotate(content)}
    choice = {"index": 0, "finish_reason": "stop", "logprobs": None, "message": message}
    body = _envelope(wanted.model, row.id, "chat.completion", [choice])
    return JSONResponse({**body, "usage": await read_usage(workspace, row.id), **_extras(content)})


async def _write_stream(workspace: Workspace, wanted: ChatRequest, run: str, request: Request) -> AsyncGenerator[str]:
    def write_chunk(delta: Mapping[str, Any], finish: str | None = None, **more: Any) -> str:
        choice = {"index": 0, "delta": dict(delta), "finish_reason": finish, "logprobs": None}
        return _event({**_envelope(wanted.model, run, "chat.completion.chunk", [choice]), **more})

    yield write_chunk({"role": "assistant", "content": ""})
    async with aclosing(follow_lines(workspace, run)) as lines:
        async for line in lines:
            yield write_chunk({"reasoning_content": f"{line}\n"}) if line else ": working\n\n"
    try:
        content = await answer_turn(workspace, await service.read_run(workspace, run), request)
    except CorroboraError as error:
        yield _event({"error": {"message": str(error), "type": "server_error", "param": None, "code": error.code}})
        return
    for at in range(0, len(content.text), _PIECE_CHARS):
        yield write_chunk({"content": content.text[at : at + _PIECE_CHARS]})
    yield write_chunk({"annotations": _annotate(content)}, "stop", **_extras(content))
    if wanted.stream_options is not None and wanted.stream_options.include_usage:
        last = _envelope(wanted.model, run, "chat.completion.chunk", [])
        yield _event({**last, "usage": await read_usage(workspace, run)})
    yield "data: [DONE]\n\n"


def _event(value: Mapping[str, Any]) -> str:
    return f"data: {json.dumps(value)}\n\n"


def _envelope(model: str, run: str, kind: str, choices: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {"id": f"chatcmpl-{run}", "object": kind, "created": int(time.time()), "model": model, "choices": choices}


def _annotate(content: Content) -> list[dict[str, Any]]:
    return [
        {
            "type": "url_citation",
            "url_citation": {"start_index": each.start, "end_index": each.end, "url": each.url, "title": each.title},
        }
        for each in content.cited
    ]


def _extras(content: Content) -> dict[str, Any]:
    """Return the sources in the two forms that chat programs look for beside annotations."""
    return {"citations": [each["url"] for each in content.sources], "search_results": list(content.sources)}


async def read_usage(workspace: Workspace, run: str) -> dict[str, int]:
    """Return the tokens that the models of a run took; 0 without a model."""
    try:
        usage: Mapping[str, Any] = (await service.read_report(workspace, run))["methodology"]["usage"]
    except CorroboraError:
        usage = {}
    asked, written = int(usage.get("input_tokens", 0)), int(usage.get("output_tokens", 0))
    return {"prompt_tokens": asked, "completion_tokens": written, "total_tokens": asked + written}
