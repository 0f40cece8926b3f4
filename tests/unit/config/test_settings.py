"""The table of settings: names, variables and defaults fit together."""

from __future__ import annotations

import re
from pathlib import Path

import corrobora
from corrobora.config.settings import Settings, is_secret, list_keys, list_secrets, list_settings
from corrobora.config.values import describe_forms, find_fields, parse_value


def test_keys_variables_and_flags_are_unique() -> None:
    declared = list_settings().values()
    assert len({each.variable for each in declared}) == len(declared)
    flags = [flag for each in declared for flag in each.mark.flags.split()]
    assert len(set(flags)) == len(flags)


def test_every_default_is_accepted_by_its_own_type() -> None:
    for each in list_settings().values():
        assert each.default is None or parse_value(each.annotation, each.default) == each.default, each.key


def test_every_setting_says_what_it_does_and_accepts() -> None:
    for each in list_settings().values():
        assert each.mark.about.endswith(".") or "see:" in each.mark.about, each.key
        assert describe_forms(each.annotation) != "a text", each.key


def test_secrets_are_known_as_such() -> None:
    assert is_secret("keys.openai")
    assert is_secret("storage.database_url")
    assert is_secret("models.endpoints.lan.api_key")
    assert not is_secret("models.endpoints.lan.base_url")


SOURCE = Path(corrobora.__file__).parent


def _texts(*, without: str = "") -> dict[str, str]:
    files = {str(path.relative_to(SOURCE)): path.read_text() for path in SOURCE.rglob("*.py")}
    return {name: text for name, text in files.items() if not (without and name.startswith(without))}


def test_every_variable_that_a_message_names_exists() -> None:
    known = {each.variable for each in list_settings().values()} | {*list_secrets().values(), *list_keys().values()}
    known |= {"CORROBORA_MODEL_BASE_URL", "CORROBORA_COMPLETE", "CORROBORA_SERVER_TOKEN", "CORROBORA_"}
    for name, text in _texts().items():
        assert set(re.findall(r"CORROBORA_[A-Z_]*", text)) <= known, name


def test_every_setting_is_used_outside_of_the_configuration() -> None:
    texts = "\n".join(text for name, text in _texts(without="config/").items() if name != "faces/cli/config.py")
    overrides = {each.attribute for each in list_settings().values() if each.mark.profile_field} | {"angles"}
    unused = (
        set(find_fields(Settings))
        - set(re.findall(r"\b_?settings\.(\w+)", texts))
        - overrides
        - {each.attribute for each in list_settings().values() if f'"{each.key}"' in texts}  # asked for by key
        - {"channel_urls"}  # of delivery channels that other packages add
        - {"profiles", "profile"}
    )
    assert unused == set()
