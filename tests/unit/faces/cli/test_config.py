"""`corrobora config`, `profiles`, `doctor`, `db`, `completion`: what is said about this installation."""

from __future__ import annotations

import json
from typing import Any, Literal, get_args, get_origin

import pytest

from corrobora.config.settings import list_settings


@pytest.mark.covers("config show --origin", "config show --json")
def test_config_show_names_every_origin_and_no_secret(shell: Any) -> None:
    shell.setenv(
        OPENAI_API_KEY="planted-secret", CORROBORA_TIME="7", CORROBORA_DATABASE_URL="postgresql://u:planted-secret@h/d"
    )
    (shell.folder / "corrobora.toml").write_text('profile = "rounds"\n')
    user = shell.folder / "user" / "corrobora" / "config.toml"
    user.parent.mkdir(parents=True)
    user.write_text('[models.endpoints.lan]\nbase_url = "http://10.0.0.5/v1"\n')
    result = shell("config", "show", "--origin")
    assert "profile = rounds    # project file (" in result.out
    assert "time = 7.0    # environment (CORROBORA_TIME)" in result.out
    assert "keys.openai = env:OPENAI_API_KEY (set)    # vendor environment (OPENAI_API_KEY)" in result.out
    assert "models.endpoints.lan.base_url = http://10.0.0.5/v1" in result.out
    assert "planted-secret" not in result.out + result.err
    rows = json.loads(shell("config", "show", "--json").out)
    assert "planted-secret" not in json.dumps(rows)
    assert {"name": "deep", "value": "false", "origin": "default"} in rows


def test_what_an_address_holds_of_secrets_is_not_shown(shell: Any) -> None:
    shell.setenv(
        CORROBORA_SOURCES_SEARXNG_URL="http://user:planted-secret@10.0.0.5/search?lang=de",
        CORROBORA_DELIVERY_WEBHOOK_URL="https://hooks.example.org/in?api_key=planted-secret&room=4",
    )
    shown = shell("config", "show").out
    assert "sources.searxng_url = http://***@10.0.0.5/search?lang=de" in shown
    assert "delivery.webhook_url = https://hooks.example.org/in?api_key=***&room=4" in shown
    assert "planted-secret" not in shown + shell("config", "show", "--json").out


def test_config_path(shell: Any) -> None:
    assert shell("config", "path").out.strip().endswith("config.toml")


def test_c01_c02_a_bad_configuration_is_one_line_for_every_command(shell: Any) -> None:
    (shell.folder / "corrobora.toml").write_text("profile = \n")
    for args in (("config", "show"), ("doctor",), ("runs", "list"), ("a question", "-l", "x"), ("db", "status")):
        result = shell(*args)
        assert (result.code, "line 1, column 11" in result.complaint) == (2, True)


def test_every_setting_that_is_set_is_shown_with_its_value(shell: Any) -> None:
    """Also the ones that are added later: each is set by its variable and must come back."""
    for key, declared in list_settings().items():
        kind = getattr(declared.annotation, "__origin__", declared.annotation)
        words = get_args(kind) if get_origin(kind) is Literal else ()
        number = {"angles": "2", "time": "7"}.get(key, "1")
        text = "http://127.0.0.1:9/x" if key.endswith("url") else "true" if kind is bool else number
        text = words[-1] if words else text
        shell.setenv(**{declared.variable: "a:b" if key.startswith("models.") else text})
    shown = {row["name"]: row for row in json.loads(shell("config", "show", "--json").out)}
    for key, declared in list_settings().items():
        assert shown[key]["value"] not in ("-", ""), key
        assert declared.variable in shown[key]["origin"]
