"""Posting: the OpenAI SDK's client, sending a chat request as it was made.

Knows how the SDK posts. Does not know what a request holds. Importing this module loads the SDK.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

from openai import AsyncOpenAI, AsyncStream, NotGiven, Omit, RequestOptions
from openai.resources.chat import AsyncChat, AsyncCompletions
from openai.types.chat import ChatCompletion, ChatCompletionChunk


class PostingClient(AsyncOpenAI):
    """An `AsyncOpenAI` whose chat requests are posted as given.

    The SDK's own method first walks the whole request for fields with another name on the wire and for files. Plain
    JSON, all that is ever sent here, has neither, and the walk was a tenth of the engine's CPU (`bench.engine_calls`).
    """

    @cached_property
    def chat(self) -> AsyncChat:  # pyright: ignore[reportIncompatibleMethodOverride] - the SDK's own cached property
        """Chat, with the method that posts."""
        return _Chat(self)


class _Chat(AsyncChat):
    @cached_property
    def completions(self) -> AsyncCompletions:  # pyright: ignore[reportIncompatibleMethodOverride] - as above
        return _Completions(self._client)


class _Completions(AsyncCompletions):
    async def create(  # pyright: ignore[reportIncompatibleMethodOverride] - the SDK lists forty arguments, one by one
        self, *, extra_headers: Any = None, extra_body: Any = None, **given: Any
    ) -> ChatCompletion | AsyncStream[ChatCompletionChunk]:
        """Post what is `given` and return the answer, or its parts as they come where `stream` is given."""
        options = RequestOptions(headers=extra_headers or {})
        if extra_body is not None:
            options["extra_json"] = extra_body
        if not isinstance(seconds := given.pop("timeout"), NotGiven):
            options["timeout"] = seconds
        return await self._client.post(
            "/chat/completions",
            cast_to=ChatCompletion,
            body={name: value for name, value in given.items() if not isinstance(value, Omit)},
            options=options,
            stream=bool(given.get("stream")),
            stream_cls=AsyncStream[ChatCompletionChunk],
        )
