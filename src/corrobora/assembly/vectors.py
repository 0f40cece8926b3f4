"""Vectors: the embedder that the settings name.

Knows settings. Imports an embedder only when one is named: vectors are an option.
"""

from __future__ import annotations

from pathlib import Path

from corrobora.config import Settings
from corrobora.config.trust import is_vendor_host
from corrobora.domain.errors import UserError
from corrobora.ports import Embedder


def configured_embedder(settings: Settings) -> Embedder:
    """Return the embedder for `embedder.model` (a folder, or a name at `embedder.url`). Raises `UserError`."""
    if settings.embedder_url:
        from corrobora.adapters.embedders.openai_compatible import OpenAICompatibleEmbedder  # noqa: PLC0415

        if not settings.embedder_model:
            raise UserError("embedder_model", "embedder.url is set, embedder.model is not.", next_step="Name it.")
        key = settings.key("openai" if is_vendor_host("openai", settings.embedder_url) else "embedder")
        return OpenAICompatibleEmbedder(
            settings.embedder_url, settings.embedder_model, key=key.reveal() if key.set else ""
        )
    folder = Path(settings.embedder_model or "")
    if not folder.is_dir():
        raise UserError("embedder_folder", f"embedder.model {str(folder)!r} is no folder.", next_step="Name one.")
    from corrobora.adapters.embedders.onnx import OnnxEmbedder  # noqa: PLC0415

    return OnnxEmbedder(folder)
