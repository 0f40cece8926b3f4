"""Shared parts of the tests of the faces: a folder of documents, and settings on a fresh database."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.unit.app.conftest import DOCUMENTS

from corrobora.config import Settings, load_settings

Made = Callable[..., Settings]


@pytest.fixture
def mill(tmp_path: Path) -> Path:
    folder = tmp_path / "mill"
    folder.mkdir()
    for name, text in DOCUMENTS.items():
        (folder / name).write_text(text)
    return folder


@pytest.fixture
def made(tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch) -> Made:
    """Make settings on a fresh database, from variables and the text of the user's file."""
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)

    def make(toml: str = "", **env: str) -> Settings:
        (tmp_path / "user.toml").write_text(toml)
        known = {"CORROBORA_HOME": str(tmp_path / "home"), "CORROBORA_DATABASE_URL": database_url}
        return load_settings(env=known | env, folder=tmp_path, user_file=tmp_path / "user.toml")

    return make
