"""Loading settings in tests: one project file, an empty environment, no user file unless one is given."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from corrobora.config import Settings, load_settings
from corrobora.config.trust import TrustStore, digest_text
from corrobora.domain.errors import UserError

NOTHING = Path("/nonexistent/config.toml")


def load(folder: Path, toml: str = "", *, env: Mapping[str, str] | None = None, **more: object) -> Settings:
    """Load with one project file, an empty environment and no user file unless one is given."""
    if toml:
        (folder / "corrobora.toml").write_text(toml, encoding="utf-8")
    user_file = more.pop("user_file", NOTHING)
    flags = more.pop("flags", {})
    return load_settings(flags, env=env or {}, folder=folder, user_file=user_file, **more)  # type: ignore[arg-type]


def refused(folder: Path, toml: str = "", **more: object) -> UserError:
    with pytest.raises(UserError) as caught:
        load(folder, toml, **more)  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 1_000
    return caught.value


def user(folder: Path, toml: str) -> Path:
    path = folder / "user.toml"
    path.write_text(toml, encoding="utf-8")
    return path


class Loading:
    """The folder of one test, and ways to load it."""

    nothing = NOTHING

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, toml: str = "", **more: Any) -> Settings:
        return load(self.folder, toml, **more)

    def trusted(self, toml: str, *, env: Mapping[str, str] | None = None, **more: Any) -> Settings:
        """Load with a project file that the user trusts as it is."""
        home = self.folder / "home"
        file = self.folder / "corrobora.toml"
        TrustStore(home).add(file, digest_text(toml))
        return load(self.folder, toml, env={"CORROBORA_HOME": str(home), **(env or {})}, **more)

    def refused_although_trusted(self, toml: str, **more: Any) -> UserError:
        with pytest.raises(UserError) as caught:
            self.trusted(toml, **more)
        return caught.value

    def refused(self, toml: str = "", **more: Any) -> UserError:
        return refused(self.folder, toml, **more)

    def user(self, toml: str) -> Path:
        return user(self.folder, toml)


@pytest.fixture
def loading(tmp_path: Path) -> Loading:
    """Load settings of an empty folder."""
    return Loading(tmp_path)
