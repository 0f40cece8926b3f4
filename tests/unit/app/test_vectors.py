"""The embedder that the settings name: a folder, or a model at an address."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from corrobora.adapters.embedders.openai_compatible import OpenAICompatibleEmbedder
from corrobora.app.libraries import open_embedder
from corrobora.domain.errors import UserError


def test_a_model_at_an_address(settings_of: Any) -> None:
    found = open_embedder(settings_of(CORROBORA_EMBEDDER_URL="http://127.0.0.1:9/v1", CORROBORA_EMBEDDER_MODEL="small"))
    assert isinstance(found, OpenAICompatibleEmbedder)
    assert "small" in found.name


def test_an_address_without_a_model_is_refused(settings_of: Any) -> None:
    with pytest.raises(UserError, match=r"embedder\.model") as caught:
        open_embedder(settings_of(CORROBORA_EMBEDDER_URL="http://127.0.0.1:9/v1"))
    assert caught.value.code == "embedder_model"


def test_a_model_that_is_no_folder_is_refused(settings_of: Any, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is not a folder") as caught:
        open_embedder(settings_of(CORROBORA_EMBEDDER_MODEL=str(tmp_path / "none")))
    assert caught.value.code == "embedder_folder"
