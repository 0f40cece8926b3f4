"""Events of a run over HTTP: as server-sent events or as lines of JSON, from any number on.

A client that comes back with the last number it saw (`Last-Event-ID`, or `after`) misses nothing and sees nothing
twice, because the numbers of a run have no gaps. Comments keep a silent connection open.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Annotated, Literal

from fastapi import APIRouter, Header, Query, Request
from fastapi.responses import StreamingResponse

from corrobora.domain.run import Event
from corrobora.faces.cli.display import json_line
from corrobora.faces.web import service
from corrobora.faces.web.api.models import RunName
from corrobora.faces.web.context import Opened

router = APIRouter(prefix="/api/v1/runs", tags=["runs"])
HEARTBEAT_SECONDS = 15.0
SSE, NDJSON = "text/event-stream", "application/x-ndjson"


@router.get(
    "/{run}/events",
    response_class=StreamingResponse,
    responses={
        200: {
            "description": "The events, until the run has ended.",
            "content": {SSE: {"schema": {"type": "string"}}, NDJSON: {"schema": {"type": "string"}}},
        }
    },
)
async def follow_events(  # noqa: PLR0913, PLR0917 - one parameter for each part of a request
    run: RunName,
    workspace: Opened,
    request: Request,
    after: Annotated[int, Query(ge=0, le=2**62, description="Only events with a larger number.")] = 0,
    format: Annotated[  # noqa: A002 - the name of the parameter in the address
        Literal["sse", "ndjson"] | None, Query(description="By default what the header Accept asks for.")
    ] = None,
    live: Annotated[bool, Query(description="Wait for new events until the run has ended.")] = True,  # noqa: FBT002 - as above
    last_event_id: Annotated[str, Header(max_length=40, description="As a browser sends it; the larger counts.")] = "",
) -> StreamingResponse:
    """Follow the events of a run: past ones first, then live ones, through its pauses to its end."""
    row = await service.read_run(workspace, run)
    start = max(after, _read_cursor(last_event_id))
    as_lines = format == "ndjson" or (format is None and NDJSON in request.headers.get("accept", ""))
    events = service.follow_run(workspace, row.id, start, live=live)

    def write_event(event: Event) -> str:
        line = json_line(event, row.id)
        return f"{line}\n" if as_lines else f"id: {event.seq}\nevent: {event.type}\ndata: {line}\n\n"

    silence = "\n" if as_lines else ": still here\n\n"
    return StreamingResponse(
        with_heartbeat(events, write_event, silence=silence),
        media_type=NDJSON if as_lines else SSE,
        headers={"X-Accel-Buffering": "no"},
    )


def _read_cursor(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else 0  # noqa: PLR2004 - digits of int8


async def with_heartbeat(
    events: AsyncGenerator[Event], write: Callable[[Event], str], *, silence: str
) -> AsyncGenerator[str]:
    """Yield what `write` makes of each event, and `silence` whenever there was none for some seconds."""
    async with aclosing(events):
        following = aiter(events)
        waiting = asyncio.ensure_future(anext(following, None))
        try:
            while True:
                done, _ = await asyncio.wait({waiting}, timeout=HEARTBEAT_SECONDS)
                if not done:
                    yield silence
                    continue
                event = waiting.result()
                if event is None:
                    return
                yield write(event)
                waiting = asyncio.ensure_future(anext(following, None))
        finally:
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
