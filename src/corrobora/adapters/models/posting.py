"""Posting: the OpenAI SDK's client and pydantic-ai's models over it, sending a chat request as it was made.

Knows what the SDK sends and raises. Does not know what a request holds. Importing this module loads the SDK.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, cast

import httpx2
from openai import APIConnectionError, APIStatusError, APITimeoutError, AsyncOpenAI, AsyncStream, NotGiven, Omit
from openai.resources.chat import AsyncChat, AsyncCompletions
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from pydantic import ValidationError
from pydantic_ai.models.ollama import OllamaModel
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.models.openai._chat_completions import LenientChatCompletion  # the type `_validate_completion` returns
from pydantic_core import from_json, to_json


class PostingClient(AsyncOpenAI):
    """An `AsyncOpenAI` whose chat requests are posted as given, and whose answers are parsed once.

    The SDK's own method walks the request for fields with another name on the wire and for files, builds it through a
    dozen copies of its options, and makes of the answer a value that pydantic-ai writes out and parses twice again.
    Plain JSON needs none of this, and it was a quarter of the engine's CPU (`bench.engine_calls`). Retries are the
    session's: none is made here.
    """

    def __init__(self, *, http_client: httpx2.AsyncClient, **given: Any) -> None:
        super().__init__(http_client=http_client, max_retries=0, **given)
        self._http = http_client

    @cached_property
    def chat(self) -> AsyncChat:  # pyright: ignore[reportIncompatibleMethodOverride] - the SDK's own cached property
        """Chat, with the method that posts."""
        return _Chat(self)

    async def posted(self, body: dict[str, Any], headers: dict[str, str], seconds: Any) -> bytes:
        """Post a chat request and return what came back.

        Raises:
            APITimeoutError, APIConnectionError, APIStatusError: as the SDK's own methods do.
        """
        limits = self._http.timeout if seconds is None else httpx2.Timeout(seconds)
        request = httpx2.Request(
            "POST",
            self._address,
            headers=self._fixed | headers,
            content=to_json(body),
            extensions={"timeout": limits.as_dict()},
        )
        try:
            response = await self._http.send(request)
        except httpx2.TimeoutException as error:
            raise APITimeoutError(request=request) from error
        except httpx2.RequestError as error:
            raise APIConnectionError(request=request) from error
        if not response.is_success:
            raise _refused(response)
        return response.content

    @cached_property
    def _address(self) -> httpx2.URL:
        return httpx2.URL(f"{str(self.base_url).rstrip('/')}/chat/completions")

    @cached_property
    def _fixed(self) -> dict[str, str]:
        """The headers of every request: the key, the kind of content, who asks."""
        given = {**self.auth_headers, **self.default_headers}
        packed = {"accept-encoding": self._http.headers["accept-encoding"]}
        return packed | {name: value for name, value in given.items() if not isinstance(value, Omit)}


class _Chat(AsyncChat):
    @cached_property
    def completions(self) -> AsyncCompletions:  # pyright: ignore[reportIncompatibleMethodOverride] - as above
        return _Completions(self._client)


class _Completions(AsyncCompletions):
    async def create(  # pyright: ignore[reportIncompatibleMethodOverride] - the SDK lists forty arguments, one by one
        self, *, extra_headers: Any = None, extra_body: dict[str, Any] | None = None, **given: Any
    ) -> ChatCompletion | AsyncStream[ChatCompletionChunk] | str:
        """Post what is `given` and return the answer: its text where it is no JSON, as the SDK does."""
        if given.get("stream"):  # no role streams: nothing is gained by another way than the SDK's
            more: dict[str, Any] = {"extra_headers": extra_headers, "extra_body": extra_body}
            return cast("AsyncStream[ChatCompletionChunk]", await super().create(**given, **more))
        assert isinstance(self._client, PostingClient)
        seconds = given.pop("timeout", None)
        body = {name: value for name, value in given.items() if not isinstance(value, Omit)} | (extra_body or {})
        limit = None if isinstance(seconds, NotGiven) else seconds
        answer = await self._client.posted(body, extra_headers or {}, limit)
        try:
            return LenientChatCompletion.model_validate_json(answer)
        except (
            ValidationError
        ):  # pydantic-ai mends some fields that must not be null, and says what is wrong with others
            pass
        found = _object(answer)
        return answer.decode("utf-8", "replace") if found is None else ChatCompletion.construct(**found)


class PostedChatModel(OpenAIChatModel):
    """pydantic-ai's model of a chat endpoint, over answers that are parsed already."""

    def _validate_completion(self, response: ChatCompletion) -> LenientChatCompletion:
        return response if isinstance(response, LenientChatCompletion) else super()._validate_completion(response)


class PostedOllamaModel(OllamaModel):
    """pydantic-ai's model of an Ollama server, over answers that are parsed already."""

    def _validate_completion(self, response: ChatCompletion) -> LenientChatCompletion:
        return response if isinstance(response, LenientChatCompletion) else super()._validate_completion(response)


def _refused(response: httpx2.Response) -> APIStatusError:
    told = _object(response.content)
    body: Any = response.text if told is None else told.get("error", told)
    return APIStatusError(f"Error code: {response.status_code}", response=response, body=body)


def _object(text: bytes) -> dict[str, Any] | None:
    try:
        found = from_json(text)
    except ValueError:
        return None
    return cast("dict[str, Any]", found) if isinstance(found, dict) else None
