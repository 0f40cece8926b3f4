"""Any endpoint that speaks OpenAI's `/embeddings`: OpenAI, Ollama, LM Studio, vLLM, llama.cpp.

Knows the wire format and checks every answer. Does not know passages. The address is configured by a person, never by
a page or a model.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, cast

import httpx2

from corrobora.adapters.embedders import normalize_vector
from corrobora.adapters.http import parse_retry_after, tls_context
from corrobora.domain.errors import ProviderError

_BATCH = 64
_TIMEOUT_SECONDS = 60.0
_OK = 200
_DENIED = (401, 403)
_SETTING = "OPENAI_API_KEY"


class OpenAICompatibleEmbedder:
    """An `Embedder` over HTTP. `dimensions` is 0 until the first answer, which decides it."""

    def __init__(self, base_url: str, model: str, *, key: str = "") -> None:
        self.name = model
        self.dimensions = 0
        self._url = base_url.rstrip("/") + "/embeddings"
        self._headers = {"Authorization": f"Bearer {key}"} if key else {}

    async def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """Return one unit vector for each text, in order.

        Raises:
            ProviderError: refused key, failed request, or an answer of another shape, number or dimension.
        """
        found: list[Sequence[float]] = []
        async with httpx2.AsyncClient(
            headers=self._headers, timeout=_TIMEOUT_SECONDS, trust_env=False, verify=tls_context()
        ) as client:
            for start in range(0, len(texts), _BATCH):
                found += await self._request_batch(client, texts[start : start + _BATCH])
        return found

    async def _request_batch(self, client: httpx2.AsyncClient, texts: Sequence[str]) -> list[Sequence[float]]:
        try:
            reply = await client.post(self._url, json={"model": self.name, "input": list(texts)})
        except httpx2.HTTPError as error:
            raise ProviderError.request_failed(self.name, why=type(error).__name__) from error
        if reply.status_code in _DENIED:
            raise ProviderError.key_refused(self.name, setting=_SETTING, status=reply.status_code)
        if reply.status_code != _OK:
            wait = parse_retry_after(reply.headers.get("retry-after", ""), datetime.now(UTC).isoformat())
            raise ProviderError.request_failed(self.name, status=reply.status_code, retry_after=wait)
        try:
            body: Any = reply.json()
            rows = sorted(cast("list[dict[str, Any]]", body["data"]), key=lambda row: int(row["index"]))
            vectors = [normalize_vector([float(x) for x in row["embedding"]], self.name) for row in rows]
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
            raise ProviderError.bad_content(self.name, f"no list of embeddings ({type(error).__name__})") from error
        if len(vectors) != len(texts):
            raise ProviderError.bad_content(self.name, f"{len(vectors)} vectors for {len(texts)} texts")
        wanted = self.dimensions or len(vectors[0])
        if any(len(vector) != wanted for vector in vectors):
            raise ProviderError.bad_content(self.name, f"a vector that does not have {wanted} dimensions")
        self.dimensions = wanted
        return list(vectors)
