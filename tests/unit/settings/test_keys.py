"""The table of settings: names, variables and defaults fit together."""

from __future__ import annotations

from corrobora.settings import keys


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
