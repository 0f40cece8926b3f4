"""The OpenAI-compatible API, driven by the official client: whole runs as chat, as a stream and in the background."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import Any

import httpx2
import openai
import pytest
from openai.types.responses import Response, ResponseFunctionWebSearch, ResponseOutputMessage
from openai.types.responses.response_output_text import AnnotationURLCitation, ResponseOutputText
from pydantic import BaseModel
from starlette.requests import Request
from tests.paths.starts import CLEAR, PHRASE
from tests.plugins.serving import Site, serve_settings

from corrobora.config import Settings
from corrobora.faces.web.errors import make_problem
from corrobora.faces.web.openai import render_error
from corrobora.faces.web.openai.chat import ChatRequest
from corrobora.faces.web.openai.content import write_content
from corrobora.faces.web.openai.responses import ResponseRequest
from corrobora.faces.web.openai.turns import MODEL_PREFIX
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


def test_mistakes_have_the_form_that_clients_of_openai_read(client: openai.OpenAI, site: Site) -> None:
    ask: Any = client.chat.completions.create
    question = [{"role": "user", "content": CLEAR}]
    for arguments, reason in (
        ({"model": "gpt-4o", "messages": question}, "gpt-4o"),
        ({"model": "corrobora:./mine.toml", "messages": question}, "no profile"),
        ({"model": "corrobora:timed", "messages": []}, "messages"),
        ({"model": "corrobora:timed", "messages": question, "extra_body": {"libraries": ["/etc"]}}, "/etc"),
        ({"model": "corrobora:timed", "messages": question, "extra_body": {"time": -1}}, "time"),
    ):
        with pytest.raises(openai.APIStatusError, match=re.escape(reason)) as raised:
            ask(**arguments)
        assert raised.value.status_code in (404, 422)
        assert raised.value.code
    with pytest.raises(openai.APIStatusError, match="not streamed"):
        client.responses.create(model="corrobora:timed", input=CLEAR, stream=True, extra_body=DOCS)
    with pytest.raises(openai.NotFoundError):
        client.responses.retrieve("resp_nothing")
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
