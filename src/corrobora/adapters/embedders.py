"""Embedders: texts to unit vectors, by a model folder of the user's own or by an endpoint that a person configured.

`OnnxEmbedder` runs `tokenizer.json` and `model.onnx` on the CPU: sentence encoders with token vectors (mean over the
tokens) or one vector per text; it downloads nothing and needs the extra `dense`. `OpenAICompatibleEmbedder` speaks
OpenAI's `/embeddings` (OpenAI, Ollama, LM Studio, vLLM, llama.cpp) and checks every answer. Neither knows passages or
the database.
"""

from __future__ import annotations

import asyncio
import hashlib
import importlib
import json
import math
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

import httpx2
import numpy as np
from numpy.typing import NDArray

from corrobora.adapters.http import find_proxy_url, parse_retry_after, tls_context
from corrobora.domain.errors import ProviderError, UserError, describe_connection
from corrobora.text.phrases import format_count


def normalize_vector(vector: Sequence[float], provider: str) -> tuple[float, ...]:
    """Scale a vector to length 1. Raises `ProviderError` if it is empty, all zeros or not finite."""
    length = math.sqrt(sum(x * x for x in vector))
    if not math.isfinite(length) or length == 0:
        raise ProviderError.bad_content(provider, "a vector without a direction (empty, zeros or NaN)")
    return tuple(x / length for x in vector)


MAX_TOKENS = 256  # what small sentence encoders were made for; a passage is about as long
_BATCH = 32
_BROKEN = ("Fail", "InvalidArgument", "InvalidGraph", "InvalidProtobuf", "NoModel", "NotImplemented")
_TOKEN_VECTORS = 3  # dimensions of an output that has a vector for each token


class OnnxEmbedder:
    """An `Embedder` over a model folder. Loading takes a second or two; embedding runs in a thread."""

    def __init__(self, folder: Path, *, threads: int = 1) -> None:
        """Load the model.

        Raises:
            UserError: the extra is not installed, or the folder lacks a file or holds something else.
        """
        model, tokenizer = _find_files(folder)
        try:
            onnxruntime: Any = importlib.import_module("onnxruntime")
            broken: Any = importlib.import_module("onnxruntime.capi.onnxruntime_pybind11_state")
            tokenizers: Any = importlib.import_module("tokenizers")
        except ImportError as error:
            raise UserError.missing_extra("embedder_extra", error, "dense") from None
        unusable: tuple[type[Exception], ...] = tuple(getattr(broken, name) for name in _BROKEN)
        options: Any = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.log_severity_level = 3
        try:
            self._session: Any = onnxruntime.InferenceSession(
                str(model), sess_options=options, providers=["CPUExecutionProvider"]
            )
            json.loads(tokenizer.read_bytes())["model"]
            self._tokenizer: Any = tokenizers.Tokenizer.from_file(str(tokenizer))
        except (ValueError, KeyError, TypeError, *unusable) as error:
            raise UserError("embedder_folder", f"The model folder {folder} cannot be loaded: {error}.") from error
        self._tokenizer.enable_truncation(MAX_TOKENS)  # the file's own settings are often 128 with fixed padding
        self._tokenizer.no_padding()
        self._inputs = {str(each.name) for each in self._session.get_inputs()}
        digest = hashlib.sha256(model.read_bytes()).hexdigest()[:12]
        self.name = f"{folder.name}-{digest}"
        self.dimensions = len(self._embed_text("dimensions"))

    async def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        found: list[Sequence[float]] = []
        for start in range(0, len(texts), _BATCH):
            found += await asyncio.to_thread(self._embed_batch, texts[start : start + _BATCH])
        return found

    def _embed_batch(self, texts: Sequence[str]) -> list[tuple[float, ...]]:
        return [normalize_vector(self._embed_text(text), "onnx") for text in texts]

    def _embed_text(self, text: str) -> list[float]:
        """Embed one text: on a CPU this takes less time than a batch, whose texts are padded to the longest."""
        encoded: Any = self._tokenizer.encode(text)
        mask = np.array([encoded.attention_mask], np.int64)
        given = {
            "input_ids": np.array([encoded.ids], np.int64),
            "attention_mask": mask,
            "token_type_ids": np.array([encoded.type_ids], np.int64),
        }
        out = cast(
            "NDArray[np.float32]",
            self._session.run(None, {name: value for name, value in given.items() if name in self._inputs})[0],
        )
        if out.ndim == _TOKEN_VECTORS:
            out = out.mean(axis=1)
        return [float(x) for x in out[0]]


def _find_files(folder: Path) -> tuple[Path, Path]:
    """Find model and tokenizer, also in the sub-folder `onnx` that many model folders have."""
    model = next((path for path in (folder / "model.onnx", folder / "onnx" / "model.onnx") if path.is_file()), None)
    tokenizer = folder / "tokenizer.json"
    if model is None or not tokenizer.is_file():
        raise UserError(
            "embedder_folder",
            f"The model folder {folder} lacks {'model.onnx' if model is None else 'tokenizer.json'}.",
            next_step="Give a folder with model.onnx and tokenizer.json.",
        )
    return model, tokenizer


_TEXTS_OF_A_REQUEST = 64
_TIMEOUT_SECONDS = 60.0
_OK = 200
_DENIED = (401, 403)
_SETTING = "OPENAI_API_KEY"


class OpenAICompatibleEmbedder:
    """An `Embedder` over HTTP. `dimensions` is 0 until the first answer, which decides it."""

    def __init__(self, base_url: str, model: str, *, key: str = "") -> None:
        self.name = model
        self.dimensions = 0
        parts = urlsplit(base_url)
        self._url = parts._replace(path=f"{parts.path.rstrip('/')}/embeddings").geturl()
        self._headers = {"Authorization": f"Bearer {key}"} if key else {}

    async def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """Return one unit vector for each text, in order.

        Raises:
            ProviderError: refused key, failed request, or an answer of another shape, number or dimension.
        """
        found: list[Sequence[float]] = []
        async with httpx2.AsyncClient(
            headers=self._headers,
            timeout=_TIMEOUT_SECONDS,
            trust_env=False,
            proxy=find_proxy_url(self._url),
            verify=tls_context(),
        ) as client:
            for start in range(0, len(texts), _TEXTS_OF_A_REQUEST):
                found += await self._request_batch(client, texts[start : start + _TEXTS_OF_A_REQUEST])
        return found

    async def _request_batch(self, client: httpx2.AsyncClient, texts: Sequence[str]) -> list[Sequence[float]]:
        try:
            reply = await client.post(self._url, json={"model": self.name, "input": list(texts)})
        except httpx2.HTTPError as error:
            raise ProviderError.request_failed(self.name, why=describe_connection(error)) from error
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
            raise ProviderError.bad_content(
                self.name, f"{format_count(len(vectors), 'vector')} for {format_count(len(texts), 'text')}"
            )
        wanted = self.dimensions or len(vectors[0])
        if any(len(vector) != wanted for vector in vectors):
            raise ProviderError.bad_content(self.name, f"a vector that does not have {wanted} dimensions")
        self.dimensions = wanted
        return list(vectors)
