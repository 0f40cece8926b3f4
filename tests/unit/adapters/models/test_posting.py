"""Posting: what the SDK's own client would send is what is sent, and what comes back is parsed once."""

from __future__ import annotations

import asyncio
import contextlib
import json
from json import JSONDecodeError
from typing import Any

import pytest
from openai import APIConnectionError, APIStatusError, APITimeoutError, AsyncOpenAI, not_given, omit
from openai.types.chat import ChatCompletion
from pydantic_ai.models.openai._chat_completions import LenientChatCompletion

from corrobora.adapters.models.client import model_client
from corrobora.adapters.models.posting import PostingClient
from corrobora.testing.http_server import HttpServer, Request, Response

GIVEN: dict[str, Any] = {
    "model": "m",
    "messages": [{"role": "system", "content": "Be exact."}, {"role": "user", "content": "How long? é 漢"}],
    "response_format": {
        "type": "json_schema",
        "json_schema": {"name": "x", "strict": True, "schema": {"type": "object", "properties": {"format": {}}}},
    },
    "max_completion_tokens": 40,
    "stream": False,
    "temperature": omit,
    "extra_headers": {"x-mark": "1"},
    "extra_body": {"chat_template_kwargs": {"enable_thinking": False}},
    "timeout": 30.0,
}
ANSWER: dict[str, Any] = {
    "id": "1",
    "object": "chat.completion",
    "created": 1,
    "model": "m",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "{}"}}],
}


async def sent(answer: Any = ANSWER, status: int = 200, **given: Any) -> tuple[list[Request], Any]:
    """What a server is sent by the SDK's own client and by ours, and what ours makes of its answer."""
    seen: list[Request] = []

    async def respond(request: Request) -> Response:
        seen.append(request)
        body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        return Response(status, body=body, headers={"content-type": "application/json"})

    async with HttpServer(respond) as server, model_client() as http:
        theirs = AsyncOpenAI(api_key="k", base_url=f"{server.url}/v1", http_client=http, max_retries=0)
        with contextlib.suppress(APIStatusError, JSONDecodeError):
            await theirs.chat.completions.create(**given)
        ours = PostingClient(api_key="k", base_url=f"{server.url}/v1", http_client=http)
        return seen, await ours.chat.completions.create(**given)


async def test_the_request_is_the_one_the_sdk_itself_would_send():
    (theirs, plain), answered = await sent(**GIVEN)
    assert json.loads(plain.body) == json.loads(theirs.body)
    assert "temperature" not in json.loads(plain.body)
    assert (plain.method, plain.path) == (theirs.method, theirs.path)
    own = {"connection", "user-agent"}  # pydantic-ai gives its own user agent
    tells = {n: value for n, value in theirs.headers.items() if n not in own and not n.startswith("x-stainless-")}
    assert {name: value for name, value in plain.headers.items() if name in tells} == tells
    assert tells["authorization"] == "Bearer k"
    assert isinstance(answered, LenientChatCompletion)
    assert answered.choices[0].message.content == "{}"


async def test_an_answer_with_odd_fields_is_left_to_pydantic_ai_and_no_json_is_text():
    odd = {**ANSWER, "created": None}
    _, answered = await sent(odd, **GIVEN)
    assert isinstance(answered, ChatCompletion)
    assert not isinstance(answered, LenientChatCompletion)
    _, answered = await sent(b"Bad gateway", **GIVEN)
    assert answered == "Bad gateway"
    _, answered = await sent(b"[1]", **GIVEN)
    assert answered == "[1]"


@pytest.mark.parametrize("answer", [{"error": {"message": "no such model"}}, b"<p>no such model"])
async def test_a_refusal_carries_status_and_body_as_the_sdks_own(answer: Any):
    with pytest.raises(APIStatusError) as caught:
        await sent(answer, 404, **GIVEN)
    assert caught.value.status_code == 404
    assert caught.value.body == (answer.decode() if isinstance(answer, bytes) else answer["error"])


async def test_the_time_limit_of_a_request_is_its_own_or_the_clients():
    async def silent(_: Request) -> Response:
        await asyncio.sleep(30)
        return Response()

    async with HttpServer(silent) as server, model_client(idle_seconds=0.05) as quick, model_client() as slow:
        for http, timeout in ((quick, not_given), (slow, 0.05)):
            client = PostingClient(api_key="k", base_url=server.url, http_client=http)
            with pytest.raises(APITimeoutError):
                await client.chat.completions.create(**{**GIVEN, "timeout": timeout})


async def test_nobody_listening_is_a_connection_error():
    async with HttpServer(lambda _: asyncio.sleep(0, Response())) as server:
        closed = server.url
    async with model_client() as http:
        client = PostingClient(api_key="k", base_url=closed, http_client=http)
        with pytest.raises(APIConnectionError):
            await client.chat.completions.create(**GIVEN)
