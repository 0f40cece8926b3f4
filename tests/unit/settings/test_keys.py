"""The table of settings: names, variables and defaults fit together."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import corrobora
from corrobora.settings import Settings, keys


def test_names_and_variables_are_unique() -> None:
    names = [key.name for key in keys.KEYS]
    assert len(set(names)) == len(names)
    assert len({key.variable for key in keys.KEYS}) == len(names)


def test_every_default_is_accepted_by_its_own_kind() -> None:
    for key in keys.KEYS:
        assert key.default is None or key.kind(key.default) == key.default


def test_secrets_are_known_as_such() -> None:
    assert keys.is_secret("keys.openai")
    assert keys.is_secret("storage.database_url")
    assert keys.is_secret("models.endpoints.lan.api_key")
    assert not keys.is_secret("models.endpoints.lan.base_url")


SOURCE = Path(corrobora.__file__).parent


def _texts(*, without: str = "") -> dict[str, str]:
    files = {str(path.relative_to(SOURCE)): path.read_text() for path in SOURCE.rglob("*.py")}
    return {name: text for name, text in files.items() if not (without and name.startswith(without))}


def test_every_variable_that_a_message_names_exists() -> None:
    known = {key.variable for key in keys.KEYS} | {
        "CORROBORA_DATABASE_URL",
        "CORROBORA_MODEL_BASE_URL",
        "CORROBORA_COMPLETE",
        "CORROBORA_",
    }
    for name, text in _texts().items():
        assert set(re.findall(r"CORROBORA_[A-Z_]*", text)) <= known, name


def test_every_setting_is_used_outside_of_the_settings() -> None:
    texts = "\n".join(text for name, text in _texts(without="settings/").items() if name != "faces/cli/config.py")
    unused = {f.name for f in fields(Settings) if not re.search(rf"\b(?:settings|_settings)\.{f.name}\b", texts)}
    assert unused == set()
