"""A model folder of the user's own (`tokenizer.json`, `model.onnx`), run by ONNX runtime on the CPU.

Knows sentence encoders with token vectors (mean over the tokens) or one vector per text. Does not download anything;
needs the extra `dense`.
"""

from __future__ import annotations

import asyncio
import hashlib
import importlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from corrobora.adapters.embedders import normalize_vector
from corrobora.domain.errors import UserError

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
            raise UserError(
                "embedder_extra", f"{error.name} is not installed.", next_step="pip install 'corrobora[dense]'"
            ) from error
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
        self._tokenizer.enable_padding()
        self._inputs = {str(each.name) for each in self._session.get_inputs()}
        digest = hashlib.sha256(model.read_bytes()).hexdigest()[:12]
        self.name = f"{folder.name}-{digest}"
        self.dimensions = len(self._embed_batch(["dimensions"])[0])

    async def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        found: list[Sequence[float]] = []
        for start in range(0, len(texts), _BATCH):
            found += await asyncio.to_thread(self._embed_batch, texts[start : start + _BATCH])
        return found

    def _embed_batch(self, texts: Sequence[str]) -> list[tuple[float, ...]]:
        encoded: Any = self._tokenizer.encode_batch(list(texts))
        mask = np.array([each.attention_mask for each in encoded], np.int64)
        given = {
            "input_ids": np.array([each.ids for each in encoded], np.int64),
            "attention_mask": mask,
            "token_type_ids": np.array([each.type_ids for each in encoded], np.int64),
        }
        out = cast(
            "NDArray[np.float32]",
            self._session.run(None, {name: value for name, value in given.items() if name in self._inputs})[0],
        )
        if out.ndim == _TOKEN_VECTORS:
            weights = mask[:, :, None].astype(np.float32)
            out = (out * weights).sum(axis=1) / np.maximum(weights.sum(axis=1), 1e-9)
        return [normalize_vector([float(x) for x in row], "onnx") for row in out]


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
