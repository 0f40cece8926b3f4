"""Any endpoint that speaks OpenAI's `/embeddings`: OpenAI, Ollama, LM Studio, vLLM, llama.cpp.

Knows the wire format. Does not know passages; the address is configured by a person, never by a page or a model.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self, cast

import httpx2

from corrobora.adapters.embedders.vectors import normalize_vector
from corrobora.domain.errors import ProviderError

_BATCH = 64
_TIMEOUT_SECONDS = 60.0
_OK = 200
_DENIED = (401, 403)


class OpenAICompatibleEmbedder:
    """An `Embedder` over HTTP. Make it with `connect`, which asks once to learn the dimensions; close it when done."""

    def __init__(self, base_url: str, model: str, *, key: str = "", setting: str = "", dimensions: int = 0) -> None:
        self.name = model
        self.dimensions = dimensions
        self._model = model
        self._setting = setting or "the key of the embeddings endpoint"
        self._http = httpx2.AsyncClient(
            base_url=base_url.rstrip("/") + "/",
            headers={"Authorization": f"Bearer {key}"} if key else {},
            timeout=_TIMEOUT_SECONDS,
            trust_env=False,
        )

    @classmethod
    async def connect(cls, base_url: str, model: str, *, key: str = "", setting: str = "") -> Self:
        """Connect and learn the dimensions from one answer. Raises `ProviderError`."""
        made = cls(base_url, model, key=key, setting=setting)
        try:
            made.dimensions = len((await made.embed(["dimensions"]))[0])
        except BaseException:
            await made.close()
            raise
        return made

    async def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """Return one unit vector for each text, in order.

        Raises:
            ProviderError: refused key, failed request, or an answer of another shape, number or dimension.
        """
        found: list[Sequence[float]] = []
        for start in range(0, len(texts), _BATCH):
            found += await self._request_batch(texts[start : start + _BATCH])
        return found

    async def _request_batch(self, texts: Sequence[str]) -> list[Sequence[float]]:
        try:
            reply = await self._http.post("embeddings", json={"model": self._model, "input": list(texts)})
        except httpx2.HTTPError as error:
            raise ProviderError.request_failed(self.name, why=type(error).__name__) from error
        if reply.status_code in _DENIED:
            raise ProviderError.key_refused(self.name, setting=self._setting, status=reply.status_code)
        if reply.status_code != _OK:
            raise ProviderError.request_failed(self.name, status=reply.status_code)
        try:
            body: Any = reply.json()
            rows = sorted(cast("list[dict[str, Any]]", body["data"]), key=lambda row: int(row["index"]))
            vectors = [normalize_vector([float(x) for x in row["embedding"]], self.name) for row in rows]
        except (ValueError, KeyError, TypeError) as error:
            raise ProviderError.bad_content(self.name, f"no list of embeddings ({type(error).__name__})") from error
        if len(vectors) != len(texts):
            raise ProviderError.bad_content(self.name, f"{len(vectors)} vectors for {len(texts)} texts")
        wanted = self.dimensions or len(vectors[0])
        if any(len(vector) != wanted for vector in vectors):
            raise ProviderError.bad_content(self.name, f"a vector that has not {wanted} dimensions")
        return list(vectors)

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()
