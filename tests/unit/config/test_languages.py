"""The setting `language`: a tag, or a file of translations."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from corrobora.config import load_settings, resolve_language
from corrobora.domain.errors import UserError


def resolve(named: str | None, tmp_path: Path) -> tuple[str, str]:
    settings = load_settings(env={"CORROBORA_HOME": str(tmp_path)}, user_file=Path("/nonexistent"))
    tag, frame = resolve_language(replace(settings, language=named))
    return tag, frame.translate("Gaps") if frame else ""


def test_a_tag_a_file_or_nothing(tmp_path: Path):
    file = tmp_path / "it.toml"
    file.write_text('tag = "it"\nname = "Italian"\n[texts]\n"Gaps" = "Lacune"\n')
    assert resolve(None, tmp_path) == ("", "")
    assert resolve("de", tmp_path) == ("de", "")
    assert resolve("pt-BR", tmp_path) == ("pt-BR", "")
    assert resolve(str(file), tmp_path) == ("it", "Lacune")


@pytest.mark.parametrize(("named", "code"), [("no tag", "language_unknown"), ("/nowhere/x.toml", "file_unreadable")])
def test_what_is_neither_is_refused(named: str, code: str, tmp_path: Path):
    with pytest.raises(UserError) as told:
        resolve(named, tmp_path)
    assert told.value.code == code
