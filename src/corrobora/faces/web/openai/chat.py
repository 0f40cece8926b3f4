"""Chat completions: a question starts a run, a waiting plan is a turn, and a further question follows the run before.

Knows that only words of the user authorize, that the id of the run stands in the turn that shows the plan or links its
sources, and where a citation of an answer leads: to the page of the web, or to the stored source on this server. Knows
the chunks of a stream: what happens goes into `reasoning_content`, the report into `content`, citations last.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from fastapi import APIRouter, Request
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import JSONResponse, Response

from corrobora.app.runs import resolve_profile
from corrobora.config.profiles import list_presets
from corrobora.domain.errors import CorroboraError, NoEvidence, UserError
from corrobora.domain.run import Event, EventType, RunRow, RunStatus
from corrobora.faces.cli.display import plain_line
from corrobora.faces.cli.screen import estimate_text, one_line, plan_lines
from corrobora.faces.refusals import drop_command
from corrobora.faces.web import service, stored_runs
from corrobora.faces.web.context import Opened
from corrobora.faces.web.new_run import NewRun
from corrobora.faces.web.service import answer_run, find_awaited, follow_with_silence, follow_work, read_plan_event
from corrobora.policies.intake import refuse_small_talk
from corrobora.storage.journal.events import list_events

if TYPE_CHECKING:
    from corrobora.app import Workspace


_MARK = re.compile(r"\[(\d{1,4})\](?![(:])")
_SOURCES = "\n## Sources\n"


@dataclass(frozen=True, slots=True)
class Cited:
    """A citation in a text: its place, and where it leads."""

    start: int
    end: int
    url: str
    title: str


@dataclass(frozen=True, slots=True)
class Content:
    """The text of an answer with its citations; `sources` are the cited ones, each once."""

    text: str
    cited: tuple[Cited, ...] = ()
    sources: tuple[Mapping[str, str], ...] = ()


def write_content(report: Mapping[str, Any], run: str, server: str) -> Content:
    """Return a report as text. `server` is the address of this server, with a slash at its end."""
    body, _, _ = str(report["markdown"]).partition(_SOURCES)
    known = {int(each["number"]): each for each in report["citations"]}
    parts: list[str] = []
    cited: list[Cited] = []
    at = length = 0
    for mark in _MARK.finditer(body):
        number = int(mark[1])
        source = known.get(number)
        if source is None:
            continue
        url = _link(source, run, server)
        before = body[at : mark.start()]
        link = f"[{number}](<{url}>)" if " " in url or ")" in url else f"[{number}]({url})"
        parts += (before, link)
        start = length + len(before)
        length = start + len(link)
        at = mark.end()
        cited.append(Cited(start, length, url, one_line(str(source["title"]), 300)))
    text = "".join((*parts, body[at:])).rstrip() + "\n"
    return Content(text, tuple(cited), tuple(_list_sources(list(known.values()), run, server)))


def _link(source: Mapping[str, Any], run: str, server: str) -> str:
    url = one_line(str(source["url"]), 2_000)
    return url if url.startswith(("http://", "https://")) else f"{server}runs/{run}/sources/{source['source']}"


def _list_sources(cited: Sequence[Mapping[str, Any]], run: str, server: str) -> list[Mapping[str, str]]:
    found: dict[str, Mapping[str, str]] = {}
    for each in cited:
        url, title = _link(each, run, server), one_line(str(each["title"]), 300)
        quotes = each.get("quotes") or [""]
        found.setdefault(url, {"title": title, "url": url, "date": str(each["published"]), "snippet": str(quotes[0])})
    return list(found.values())


MODEL_PREFIX = "corrobora:"
HEARTBEAT_SECONDS = 10.0
GO_ON = "go on"  # what lets a paused run go on without a hint
_RUN = re.compile(r"\br_[a-z2-7]{26}\b")


class ResearchFields(BaseModel):
    """What a request may say beside the fields of OpenAI; fields that are not known are ignored."""

    model_config = ConfigDict(extra="ignore")

    model: str = Field(max_length=100)
    libraries: list[str] | None = Field(default=None, max_length=64)
    time: float | Literal["unlimited"] | None = None
    deep: bool = False


class Turn(BaseModel):
    """One message of a conversation; its text may come in parts."""

    model_config = ConfigDict(extra="ignore")

    role: str = Field(max_length=40)
    content: str | list[dict[str, Any]] | None = None

    @property
    def text(self) -> str:
        if isinstance(self.content, list):
            return "\n".join(str(part.get("text", "")) for part in self.content)
        return self.content or ""


def unknown_model_error(model: str) -> UserError:
    """Return the error for a name that is no model of this API."""
    return UserError("unknown_profile", f"There is no model {model[:80]!r}.", next_step="See: GET /v1/models")


async def enter_run(workspace: Workspace, wanted: ResearchFields, turns: Sequence[Turn]) -> RunRow:
    """Return the run of the last turn: the waiting one that it answers, else a new one, on the evidence of the last.

    Raises:
        UserError: there is no question, the model is unknown, or something in it cannot be used.
    """
    said = [turn for turn in turns if turn.role in ("user", "assistant")]
    if not said or said[-1].role != "user" or not said[-1].text.strip():
        raise UserError("question_missing", "The last message must be a question of the user.", next_step="Add it.")
    words = said[-1].text.strip()
    before = said[-2].text if len(said) > 1 else ""
    found = _RUN.findall(before)
    row = await _find_run(workspace, found[-1]) if found else None
    if row is not None:
        entered, _ = await continue_run(workspace, row, words)
        if entered is not None:
            return entered
    if wanted.model.removeprefix(MODEL_PREFIX) not in (*list_presets(), *workspace.settings.profiles):
        raise unknown_model_error(wanted.model)
    new = NewRun(
        question=refuse_small_talk(words),
        profile=wanted.model.removeprefix(MODEL_PREFIX),
        libraries=wanted.libraries,
        time=wanted.time,
        deep=wanted.deep,
    )
    return await service.start_run(workspace, new)


async def continue_run(workspace: Workspace, row: RunRow, words: str) -> tuple[RunRow | None, bool]:
    """Return the run that words said after a run lead to, and whether they answered what it waited for.

    A waiting run is itself; one with a report gives a run of its own on its evidence; None if there is no report.
    """
    awaited = find_awaited(workspace, row)
    if awaited is not None:
        answers = awaited.kind == "hint" or words == (GO_ON if awaited.kind == "resume" else awaited.phrase or words)
        said = "" if words == GO_ON and awaited.kind == "hint" else words
        return (await answer_run(workspace, row.id, said), True) if answers else (row, False)
    with suppress(NoEvidence):
        if words and row.status is RunStatus.DONE:
            return await stored_runs.ask_run(workspace, row.id, words), False
    return None, False


async def _find_run(workspace: Workspace, run: str) -> RunRow | None:
    try:
        return await service.read_run(workspace, run)
    except UserError:  # an id of another server
        return None


async def follow_events(workspace: Workspace, run: str) -> AsyncGenerator[Event | None]:
    """Yield what happens in a run, None as a sign of life, until it ends or waits for a person.

    A run that was just answered may still be reported as waiting: it is followed on if it is worked on by then.
    """
    seen, goes_on = 0, True
    while goes_on:
        async with aclosing(follow_with_silence(follow_work(workspace, run, seen), HEARTBEAT_SECONDS)) as events:
            async for event in events:
                seen = event.seq if event is not None else seen
                yield event
        goes_on = (await service.read_run(workspace, run)).status.active


async def answer_turn(workspace: Workspace, row: RunRow, request: Request) -> Content:
    """Return what is said of a run that is not worked on: its report, its waiting plan, or why there is none."""
    if find_awaited(workspace, row) is not None:
        return await describe_plan(workspace, row)
    if row.status is RunStatus.DONE:
        report = await service.read_report(workspace, row.id)
        if report.get("markdown"):
            return write_content(report, row.id, str(request.base_url))
        return Content(f"No report: {report.get('reason') or report.get('outcome')}\n\nRun {row.id}.\n")
    if row.status is RunStatus.CANCELLED:
        raise NoEvidence("cancelled", f"Run {row.id} was cancelled.")
    raise CorroboraError(row.outcome or "run_failed", row.reason or f"Run {row.id} ended without a report.")


async def describe_plan(workspace: Workspace, row: RunRow) -> Content:
    """Return the plan of a run, and which words authorize it, as a turn of the conversation."""
    awaited, event = find_awaited(workspace, row), await read_plan_event(workspace, row.id)
    if awaited is not None and awaited.kind != "authorization":
        how = (
            f"a hint for run {row.id}, or with `{GO_ON}`" if awaited.kind == "hint" else f"`{GO_ON}` to resume {row.id}"
        )
        return Content(f"{one_line(drop_command(row.reason), 1_000)}\n\nReply with {how}.\n")
    phrase = resolve_profile(workspace.settings, row.request).phrase or "yes"
    lines = plan_lines(event.data) if event is not None else []
    estimate = estimate_text(event.data) if event is not None else ""
    shown = [
        "The plan:",
        "",
        "```text",
        *lines,
        "```",
        "",
        *((f"Estimate: {estimate}.", "") if estimate else ()),
    ]
    return Content("\n".join((*shown, f"Run {row.id} waits. To start it, reply with exactly: `{phrase}`", "")))


async def list_searches(workspace: Workspace, run: str, last: int | None = None) -> list[str]:
    """Return the queries of a run so far, in order; only up to the event with the number `last`."""
    events = await list_events(workspace.database, run)
    return [_query(each) for each in events if each.type is EventType.SEARCH and (last is None or each.seq < last)]


async def follow_searches(workspace: Workspace, run: str, last: int | None = None) -> AsyncGenerator[str | None]:
    """Yield the queries of a run in order, None as a sign of life, until it ends or waits for a person.

    With `last` only those up to the event with that number, which are stored.
    """
    if last is not None:
        for query in await list_searches(workspace, run, last):
            yield query
        return
    async with aclosing(follow_events(workspace, run)) as events:
        async for event in events:
            if event is None:
                yield None
            elif event.type is EventType.SEARCH:
                yield _query(event)


def _query(event: Event) -> str:
    return str(event.data.get("query", ""))


router = APIRouter()
PIECE_CHARS = 400  # of the text of an answer in one event


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
    content = await answer_turn(workspace, await service.wait_for_run(workspace, row.id), request)
    message = {"role": "assistant", "content": content.text, "refusal": None, "annotations": _annotate(content)}
    choice = {"index": 0, "finish_reason": "stop", "logprobs": None, "message": message}
    body = _envelope(wanted.model, row.id, "chat.completion", [choice])
    return JSONResponse({**body, "usage": await read_usage(workspace, row.id), **_extras(content)})


async def _write_stream(workspace: Workspace, wanted: ChatRequest, run: str, request: Request) -> AsyncGenerator[str]:
    def write_chunk(delta: Mapping[str, Any], finish: str | None = None, **more: Any) -> str:
        choice = {"index": 0, "delta": dict(delta), "finish_reason": finish, "logprobs": None}
        return _event({**_envelope(wanted.model, run, "chat.completion.chunk", [choice]), **more})

    yield write_chunk({"role": "assistant", "content": ""})
    async with aclosing(follow_events(workspace, run)) as events:
        async for event in events:
            if event is None:
                yield ": working\n\n"
            elif line := plain_line(event):
                yield write_chunk({"reasoning_content": f"{line}\n"})
    try:
        content = await answer_turn(workspace, await service.read_run(workspace, run), request)
    except CorroboraError as error:
        yield _event({"error": {"message": str(error), "type": "server_error", "param": None, "code": error.code}})
        return
    for at in range(0, len(content.text), PIECE_CHARS):
        yield write_chunk({"content": content.text[at : at + PIECE_CHARS]})
    yield write_chunk({"annotations": _annotate(content)}, "stop", **_extras(content))
    if wanted.stream_options is not None and wanted.stream_options.include_usage:
        last = _envelope(wanted.model, run, "chat.completion.chunk", [])
        yield _event({**last, "usage": await read_usage(workspace, run)})
    yield "data: [DONE]\n\n"


def _event(value: Mapping[str, Any]) -> str:
    return f"data: {json.dumps(value)}\n\n"


def _envelope(model: str, run: str, kind: str, choices: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {"id": f"chatcmpl-{run}", "object": kind, "created": int(time.time()), "model": model, "choices": choices}


def describe_citation(cited: Cited) -> dict[str, Any]:
    """Return a citation with the names that both forms of the API use."""
    return {"start_index": cited.start, "end_index": cited.end, "url": cited.url, "title": cited.title}


def _annotate(content: Content) -> list[dict[str, Any]]:
    return [{"type": "url_citation", "url_citation": describe_citation(each)} for each in content.cited]


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
