"""A workspace on a fresh database with one small library, and settings that take nothing from this machine."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from tests.plugins.reading import ingest_here

from corrobora.app import Workspace
from corrobora.config import Settings, load_settings

DOCUMENTS = {
    "mill.md": """# Orrin mill

## Sluice gates

The sluice gates of Orrin mill must be greased every 14 days with mineral oil. Animal fat draws rats to the gates.

## Mill pond

The mill pond of Orrin may stand at most 210 centimetres above the sill. The lower level protects the cellar.
""",
    "grease.md": """# Grease for wooden gates

Mineral oil keeps larch gates dry for about three weeks. Sluice gates that are greased every 14 days stick less often.
""",
    "bread.md": "# Bread\n\nThe bakery sells rye bread on Tuesdays. A loaf weighs 1.2 kilograms and costs 4 crowns.\n",
}
MakeSettings = Callable[..., Settings]


@pytest.fixture
def settings_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MakeSettings:
    """Make settings from variables and the text of a project file."""
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "EXA_API_KEY", "TAVILY_API_KEY", "FIRECRAWL_API_KEY"):
        monkeypatch.delenv(name, raising=False)

    def make(toml: str = "", **env: str) -> Settings:
        (tmp_path / "user.toml").write_text(toml)
        return load_settings(
            env={"CORROBORA_HOME": str(tmp_path / "home"), **env}, folder=tmp_path, user_file=tmp_path / "user.toml"
        )

    return make


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    folder = tmp_path / "documents"
    folder.mkdir()
    for name, text in DOCUMENTS.items():
        (folder / name).write_text(text)
    return folder


@pytest.fixture
def made(settings_of: MakeSettings, database_url: str) -> MakeSettings:
    """Make settings on a fresh database."""

    def make(toml: str = "", **env: str) -> Settings:
        return settings_of(toml, **{"CORROBORA_DATABASE_URL": database_url, **env})

    return make


@pytest.fixture
async def workspace(made: MakeSettings, documents: Path) -> AsyncIterator[Workspace]:
    """A workspace with the library `mill`."""
    async with Workspace.open(made()) as opened:
        await ingest_here(opened.database, "mill", documents)
        yield opened
