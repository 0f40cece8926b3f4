"""The OpenAI-compatible API, driven by the official client: whole runs as chat, as a stream and in the background."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncGenerator, Iterable, Iterator
from types import SimpleNamespace
from typing import Any, cast

import httpx2
import openai
import pytest
from openai.types.responses import (
    Response,
    ResponseCompletedEvent,
    ResponseCreatedEvent,
    ResponseFailedEvent,
    ResponseFunctionWebSearch,
    ResponseOutputMessage,
    ResponseStreamEvent,
)
from openai.types.responses.response_output_text import AnnotationURLCitation, ResponseOutputText
from openai.types.responses.response_output_text_annotation_added_event import AnnotationURLCitation as StreamedCitation
from pydantic import BaseModel
from starlette.requests import Request
from tests.paths.starts import CLEAR, PHRASE
from tests.plugins.serving import Site, serve_settings

from corrobora.app import Workspace
from corrobora.app.attempts import run_here
from corrobora.app.runs import FINISH_TOPIC, ask_attempt, submit_run
from corrobora.config import Settings
from corrobora.domain.run import Event, EventType, RunStatus
from corrobora.domain.run import Request as RunRequest
from corrobora.faces.web.context import make_problem
from corrobora.faces.web.openai import render_error
from corrobora.faces.web.openai.chat import MODEL_PREFIX, ChatRequest, follow_searches, write_content
from corrobora.faces.web.openai.responses import ResponseRequest
from corrobora.faces.web.security import parse_tokens

DOCS = {"libraries": ["docs"]}
LINK = re.compile(r"\[\d+\]\((http[^)]+)\)")


@pytest.fixture(scope="module")
def client(site: Site) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{site.url}/v1", api_key="none", max_retries=0, timeout=300) as opened:
        yield opened


def test_profiles_are_models(client: openai.OpenAI) -> None:
    names = [model.id for model in client.models.list()]
    assert {"corrobora:timed", "corrobora:tree", "corrobora:full"} <= set(names)
    assert client.models.retrieve("corrobora:timed").owned_by == "corrobora"
    with pytest.raises(openai.NotFoundError, match="no model"):
        client.models.retrieve("gpt-unknown")


def test_a_whole_run_as_one_chat_completion(client: openai.OpenAI, site: Site) -> None:
    made = client.chat.completions.create(
        model="corrobora:timed", messages=[{"role": "user", "content": CLEAR}], temperature=0.3, extra_body=DOCS
    )
    message = made.choices[0].message
    text = message.content or ""
    assert "1931" in text
    assert "412 metres" in text
    assert made.choices[0].finish_reason == "stop"
    assert made.usage is not None
    assert message.annotations
    for each in message.annotations:
        cited = each.url_citation
        assert text[cited.start_index : cited.end_index].endswith(f"]({cited.url})")
        assert httpx2.URL(cited.url).host
    assert LINK.findall(text) == [each.url_citation.url for each in message.annotations]
    more = made.model_extra or {}
    assert set(LINK.findall(text)) <= set(more["citations"])
    assert {each["url"] for each in more["search_results"]} == set(more["citations"])
    assert any("1931" in each["snippet"] for each in more["search_results"])
    assert all(url.startswith(f"{site.url}/runs/") for url in more["citations"])  # files of this machine stay unnamed


def test_a_streamed_chat_tells_what_happens_and_then_the_same_report(client: openai.OpenAI) -> None:
    thoughts, text, annotations, usage, finish = "", "", [], None, ""
    options: Any = {"include_usage": True}
    messages: list[Any] = [{"role": "user", "content": CLEAR}]
    for chunk in client.chat.completions.create(
        model="corrobora:timed", messages=messages, stream=True, stream_options=options, extra_body=DOCS
    ):
        usage = chunk.usage or usage
        for choice in chunk.choices:
            more = choice.delta.model_extra or {}
            thoughts += more.get("reasoning_content", "")
            annotations += more.get("annotations", [])
            text += choice.delta.content or ""
            finish = choice.finish_reason or finish
    assert "library" in thoughts
    assert "412 metres" in text
    assert finish == "stop"
    assert usage is not None
    assert [each["url_citation"]["url"] for each in annotations] == LINK.findall(text)
    first = annotations[0]["url_citation"]
    assert text[first["start_index"] : first["end_index"]].startswith("[1](")


def test_a_further_question_follows_the_run_before_and_thanks_start_none(client: openai.OpenAI, site: Site) -> None:
    turns: list[Any] = [{"role": "user", "content": CLEAR}]
    first = client.chat.completions.create(model="corrobora:rounds", messages=turns, extra_body=DOCS)
    turns.append({"role": "assistant", "content": first.choices[0].message.content})
    asked: Any = {"role": "user", "content": "How long is the bridge at Arnholm?"}
    second = client.chat.completions.create(model="corrobora:rounds", messages=[*turns, asked], extra_body=DOCS)
    assert "412 metres" in str(second.choices[0].message.content)
    follows = httpx2.get(f"{site.url}/api/v1/runs/{second.id.removeprefix('chatcmpl-')}/report").json()["previous"]
    assert follows == first.id.removeprefix("chatcmpl-")
    for words in ("Thanks a lot!", "ok, great"):
        said: Any = {"role": "user", "content": words}
        with pytest.raises(openai.UnprocessableEntityError, match="names nothing that could be looked up"):
            client.chat.completions.create(model="corrobora:rounds", messages=[*turns, said], extra_body=DOCS)


def test_a_plan_is_a_turn_and_the_phrase_of_the_user_is_the_next(client: openai.OpenAI) -> None:
    messages: list[Any] = [{"role": "user", "content": CLEAR}]

    def say(text: str = "", *, role: str = "user") -> str:
        if text:
            messages.append({"role": role, "content": text})
        made = client.chat.completions.create(model="corrobora:tree", messages=messages, extra_body=DOCS)
        messages.append({"role": "assistant", "content": made.choices[0].message.content or ""})
        return messages[-1]["content"]

    plan = say()
    assert PHRASE in plan
    assert "bridge" in plan
    assert "1931" not in plan
    run = re.findall(r"r_[a-z2-7]{26}", plan)[0]
    again = say("sounds good")
    assert run in again
    assert PHRASE in again
    with pytest.raises(openai.UnprocessableEntityError, match="question of the user"):
        say(PHRASE, role="assistant")
    del messages[-1]
    assert "412 metres" in say(PHRASE)


def test_research_in_the_background_is_polled(client: openai.OpenAI) -> None:
    made = client.responses.create(model="corrobora:timed", input=CLEAR, background=True, extra_body=DOCS)
    assert made.status in ("queued", "in_progress")
    made = poll(client, made.id)
    assert made.status == "completed"
    assert "412 metres" in made.output_text
    searches = [each for each in made.output if isinstance(each, ResponseFunctionWebSearch)]
    assert searches
    assert all(each.status == "completed" for each in searches)
    (message,) = (each for each in made.output if isinstance(each, ResponseOutputMessage))
    (part,) = message.content
    assert isinstance(part, ResponseOutputText)
    assert part.annotations
    for each in part.annotations:
        assert isinstance(each, AnnotationURLCitation)
        assert made.output_text[each.start_index : each.end_index].endswith(f"]({each.url})")


def poll(client: openai.OpenAI, response: str) -> Response:
    while (made := client.responses.retrieve(response)).status in ("queued", "in_progress"):
        time.sleep(0.1)
    return made


def test_a_response_is_cancelled_and_a_plan_is_authorized_by_the_next_one(client: openai.OpenAI) -> None:
    plan = client.responses.create(model="corrobora:tree", input=CLEAR, extra_body=DOCS)
    assert plan.status == "completed"
    assert PHRASE in plan.output_text
    still = client.responses.create(
        model="corrobora:tree", input="go on", previous_response_id=plan.id, extra_body=DOCS
    )
    assert PHRASE in still.output_text
    begun = client.responses.create(
        model="corrobora:tree", input=PHRASE, previous_response_id=plan.id, background=True, extra_body=DOCS
    )
    assert begun.id != plan.id
    assert "412 metres" in poll(client, begun.id).output_text
    assert PHRASE in client.responses.retrieve(plan.id).output_text
    other = client.responses.create(model="corrobora:tree", input=CLEAR, extra_body=DOCS)
    assert client.responses.cancel(other.id).status == "cancelled"
    assert client.responses.retrieve(other.id).status == "cancelled"


def test_a_run_that_was_finished_too_early_goes_on_by_a_turn_of_the_chat(client: openai.OpenAI, site: Site) -> None:
    turns = [("user", CLEAR), ("assistant", f"Run {(run := asyncio.run(_finish_too_early(site)))}."), ("user", "Now?")]

    def say() -> str:
        messages: Any = [{"role": role, "content": text} for role, text in turns]
        made = client.chat.completions.create(model="corrobora:timed", messages=messages, extra_body=DOCS)
        return made.choices[0].message.content or ""

    turns += [("assistant", say()), ("user", "go on")]
    assert f"it can go on.\n\nReply with `go on` to resume {run}." in turns[-2][1]
    assert "412 metres" in say()


async def _finish_too_early(site: Site) -> str:
    async with Workspace.open(site.settings) as workspace:
        run = await submit_run(workspace, RunRequest(CLEAR, "timed", libraries=("docs",)), deferred=False)
        await ask_attempt(workspace, run, FINISH_TOPIC)
        await run_here(workspace, run)
        return run


def write_down(events: Iterable[ResponseStreamEvent]) -> list[ResponseStreamEvent]:
    """Return all events of a stream, whose numbers have no gaps."""
    found = list(events)
    first = found[0].sequence_number
    assert [each.sequence_number for each in found] == list(range(first, first + len(found)))
    return found


def join_text(events: Iterable[ResponseStreamEvent]) -> str:
    return "".join(each.delta for each in events if each.type == "response.output_text.delta")


def test_a_streamed_response_has_its_searches_text_and_citations_in_order(client: openai.OpenAI) -> None:
    events = write_down(client.responses.create(model="corrobora:timed", input=CLEAR, stream=True, extra_body=DOCS))
    kinds = [each.type for each in events]
    assert kinds[:2] == ["response.created", "response.in_progress"]
    search = ["response.output_item.added"]
    search += [f"response.web_search_call.{each}" for each in ("in_progress", "searching", "completed")]
    assert kinds[2:7] == [*search, "response.output_item.done"]
    assert kinds[-4:] == [
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.completed",
    ]
    text, last = join_text(events), events[-1]
    assert isinstance(last, ResponseCompletedEvent)
    assert (last.response.status, last.response.output_text) == ("completed", text)
    assert "412 metres" in text
    told = [each for each in events if each.type == "response.output_text.annotation.added"]
    assert told
    for number, each in enumerate(told):
        assert isinstance(each.annotation, StreamedCitation)
        assert each.annotation_index == number
        assert text[each.annotation.start_index : each.annotation.end_index].endswith(f"]({each.annotation.url})")
        before = join_text(events[: events.index(each)])
        assert len(before) >= each.annotation.end_index  # what is cited has been sent
    done = [each.item for each in events if each.type == "response.output_item.done"]
    assert [each.id for each in done] == [each.id for each in last.response.output]
    assert last.response.model_dump() == client.responses.retrieve(last.response.id).model_dump() | {
        "background": False
    }


def test_the_stream_of_the_official_client_gives_the_final_response(client: openai.OpenAI) -> None:
    with client.responses.stream(model="corrobora:timed", input=CLEAR, extra_body=DOCS) as stream:
        seen = [event.type for event in stream]
        final = stream.get_final_response()
    assert "response.output_text.delta" in seen
    assert "412 metres" in final.output_text


def test_a_stream_that_breaks_goes_on_from_its_cursor_also_at_another_server(
    client: openai.OpenAI, site_settings: Settings
) -> None:
    first: list[ResponseStreamEvent] = []
    with client.responses.create(
        model="corrobora:timed", input=CLEAR, stream=True, background=True, extra_body=DOCS
    ) as stream:
        for event in stream:
            first.append(event)
            if event.type == "response.web_search_call.searching":
                break  # the connection is closed here
    assert isinstance(first[0], ResponseCreatedEvent)
    assert first[0].response.status == "queued"
    name, cursor = first[0].response.id, first[-1].sequence_number
    with (
        serve_settings(site_settings, work=False) as url,
        openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0, timeout=300) as other,
    ):
        rest = write_down(other.responses.retrieve(name, stream=True, starting_after=cursor))
    assert rest[0].sequence_number == cursor + 1
    assert rest[-1].type == "response.completed"
    again = write_down(client.responses.retrieve(name, stream=True))
    assert [each.type for each in again] == [each.type for each in (*first, *rest)]
    assert "412 metres" in join_text(rest)
    assert not list(client.responses.retrieve(name, stream=True, starting_after=again[-1].sequence_number))


def test_a_plan_is_streamed_authorized_by_the_next_response_and_streamed_again(client: openai.OpenAI) -> None:
    plan = write_down(client.responses.create(model="corrobora:tree", input=CLEAR, stream=True, extra_body=DOCS))
    assert PHRASE in join_text(plan)
    assert isinstance(plan[0], ResponseCreatedEvent)
    name = plan[0].response.id
    begun = write_down(
        client.responses.create(
            model="corrobora:tree", input=PHRASE, previous_response_id=name, stream=True, extra_body=DOCS
        )
    )
    assert "412 metres" in join_text(begun)
    again = write_down(client.responses.retrieve(name, stream=True))
    assert [each.type for each in again] == [each.type for each in plan]
    assert join_text(again) == join_text(plan)


class Answered:
    """A run that was just answered: a first look still finds it waiting, though it is worked on."""

    def __init__(self) -> None:
        self.events = self.runs = self
        self.looks = list[int]()

    async def follow(self, _run: str, after: int = 0, *, ends: object) -> AsyncGenerator[Event]:
        del ends
        self.looks.append(after)
        if len(self.looks) > 1:
            yield Event(EventType.SEARCH, "s", "root", 1, {"query": "bridges"}, 7)

    async def find_id(self, run: str) -> str:
        return run

    async def get(self, _run: str) -> SimpleNamespace:
        return SimpleNamespace(status=RunStatus.RUNNING if len(self.looks) < 2 else RunStatus.DONE)


async def test_a_stream_goes_on_if_its_run_is_told_as_waiting_a_moment_too_long() -> None:
    run = Answered()
    assert [query async for query in follow_searches(cast("Workspace", run), "r_x")] == ["bridges"]
    assert run.looks == [0, 0]


def test_a_stream_ends_when_its_response_is_cancelled(site_settings: Settings) -> None:
    with (
        serve_settings(site_settings, work=False) as url,
        openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0, timeout=300) as idle,
    ):
        kinds: list[str] = []
        with idle.responses.create(
            model="corrobora:timed", input=CLEAR, stream=True, background=True, extra_body={**DOCS, "deep": True}
        ) as stream:
            for event in stream:
                kinds.append(event.type)
                if isinstance(event, ResponseCreatedEvent):
                    idle.responses.cancel(event.response.id)
                if isinstance(event, ResponseFailedEvent):
                    assert event.response.status == "cancelled"
    assert kinds[0] == "response.created"
    assert kinds[-1] == "response.failed"
    assert "response.output_text.delta" not in kinds


def test_mistakes_have_the_form_that_clients_of_openai_read(client: openai.OpenAI, site: Site) -> None:
    ask: Any = client.chat.completions.create
    question = [{"role": "user", "content": CLEAR}]
    for arguments, reason in (
        ({"model": "gpt-4o", "messages": question}, "gpt-4o"),
        ({"model": "corrobora:./mine.toml", "messages": question}, "no model"),
        ({"model": "corrobora:timed", "messages": []}, "messages"),
        ({"model": "corrobora:timed", "messages": question, "extra_body": {"libraries": ["/etc"]}}, "/etc"),
        ({"model": "corrobora:timed", "messages": question, "extra_body": {"time": -1}}, "time"),
    ):
        with pytest.raises(openai.APIStatusError, match=re.escape(reason)) as raised:
            ask(**arguments)
        assert raised.value.status_code in (404, 422)
        assert raised.value.code
    with pytest.raises(openai.NotFoundError):
        client.responses.retrieve("resp_nothing")
    with pytest.raises(openai.NotFoundError):
        client.responses.retrieve("resp_nothing", stream=True)
    with pytest.raises(openai.APIStatusError, match="gpt-4o"):
        client.responses.create(model="gpt-4o", input=CLEAR, stream=True, extra_body=DOCS)
    assert "error" in httpx2.post(f"{site.url}/v1/chat/completions", content=b"{").json()


def test_the_key_of_the_client_is_the_token_of_the_server(site_settings: Settings) -> None:
    with serve_settings(site_settings, tokens=parse_tokens("long-and-secret-token"), work=False) as url:
        stranger = openai.OpenAI(base_url=f"{url}/v1", api_key="wrong", max_retries=0)
        with stranger, pytest.raises(openai.AuthenticationError):
            stranger.models.list()
        with openai.OpenAI(base_url=f"{url}/v1", api_key="long-and-secret-token", max_retries=0) as known:
            assert next(iter(known.models.list())).id.startswith(MODEL_PREFIX)


def test_only_numbers_of_the_report_become_links() -> None:
    source = {"number": 1, "url": "https://a.test/x y", "title": "A", "published": "", "source": "S1", "quotes": ["q"]}
    report = {"markdown": "One [1][2] and [1](kept) [9].\n\n## Sources\n\n[1] A\n", "citations": [source]}
    content = write_content(report, "r_1", "http://here/")
    assert content.text == "One [1](<https://a.test/x y>)[2] and [1](kept) [9].\n"
    assert [content.text[each.start : each.end] for each in content.cited] == ["[1](<https://a.test/x y>)"]


@pytest.mark.parametrize("kind", [ChatRequest, ResponseRequest])
def test_a_request_sets_no_command_address_key_or_path(kind: type[BaseModel]) -> None:
    planted = {"command": ["rm"], "mcp_configs": [{}], "base_url": "http://evil.test", "headers": {}, "settings": {}}
    asked = kind.model_validate({"model": "m", "messages": [{"role": "user"}], "input": "q", **planted})
    assert set(asked.model_dump()).isdisjoint(planted)


def test_a_bug_is_an_error_of_the_server() -> None:
    answer = render_error(Request({"type": "http"}), make_problem("bug", "A bug.", 500))
    assert (answer.status_code, b"server_error" in answer.body) == (500, True)
