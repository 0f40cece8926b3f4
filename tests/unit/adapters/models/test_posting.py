"""Posting: what the SDK's own client would send is what is sent, and whole answers and streams come back."""

from __future__ import annotations

import json
from typing import Any

from openai import AsyncOpenAI, not_given, omit
from openai.types.chat import ChatCompletion

from corrobora.adapters.models.posting import PostingClient
from corrobora.testing.http import HttpServer, Request, Response

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


async def sent(make: type[AsyncOpenAI], **given: Any) -> tuple[Request, Any]:
    seen: list[Request] = []

    async def answer(request: Request) -> Response:
        seen.append(request)
        return Response(body=json.dumps(ANSWER).encode())

    async with HttpServer(answer) as server, make(api_key="k", base_url=f"{server.url}/v1") as client:
        found = await client.chat.completions.create(**given)
    return seen[0], found


async def test_the_request_is_the_one_the_sdk_itself_would_send():
    (plain, answered), (theirs, _) = await sent(PostingClient, **GIVEN), await sent(AsyncOpenAI, **GIVEN)
    assert json.loads(plain.body) == json.loads(theirs.body)
    assert "temperature" not in json.loads(plain.body)
    assert (plain.method, plain.path) == (theirs.method, theirs.path)
    own = {"host", "user-agent"}  # pydantic-ai gives its own user agent
    kept = {name: value for name, value in plain.headers.items() if name not in own}
    assert kept == {name: value for name, value in theirs.headers.items() if name not in own}
    assert kept["authorization"] == "Bearer k"
    assert isinstance(answered, ChatCompletion)
    assert answered.choices[0].message.content == "{}"


async def test_the_time_limit_of_a_request_is_its_own_or_the_clients():
    own, _ = await sent(PostingClient, **GIVEN)
    clients, _ = await sent(PostingClient, **{**GIVEN, "timeout": not_given})
    assert own.headers["x-stainless-read-timeout"] == "30.0"
    assert clients.headers["x-stainless-read-timeout"] == "600"
