"""Secrets: by reference, never shown, never borrowed (bad-input C05, C06, C07)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from corrobora.domain.errors import UserError


def test_c02_a_file_that_is_not_utf8_names_line_and_column(loading: Any) -> None:
    (loading.folder / "corrobora.toml").write_bytes(b'profile = "timed"\n# \xff\n')
    error = loading.refused()
    assert (error.code, "line 2, column 3" in str(error)) == ("file_not_utf8", True)


def test_c01_a_config_that_is_no_regular_file_is_refused_without_waiting(loading: Any) -> None:
    pipe = loading.folder / "pipe"
    os.mkfifo(pipe)
    loop = loading.folder / "loop"
    loop.symlink_to(loop)
    for path, why in (
        (loading.folder / "missing", "does not exist"),
        (loading.folder, "is a folder"),
        (pipe, "not a regular file"),
        (Path("/dev/zero"), "not a regular file"),
        (loop, "loop of symbolic links"),
        (loading.folder / "missing" / "\0", "cannot be opened"),
    ):
        assert why in str(loading.refused(config=path))


def test_c01_a_config_of_100_mb_is_refused_without_reading_it(loading: Any) -> None:
    big = loading.folder / "corrobora.toml"
    with big.open("wb") as file:
        file.truncate(100_000_000)
    assert "100,000,000 bytes; the limit is 1,000,000" in str(loading.refused())


@pytest.mark.parametrize(
    "variable", ["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "TAVILY_API_KEY", "EXA_API_KEY", "FIRECRAWL_API_KEY"]
)
def test_the_vendors_own_variables_are_keys(loading: Any, variable: str) -> None:
    vendor = variable.partition("_")[0].lower()
    settings = loading(env={variable: "planted-value"})
    assert settings.key(vendor).reveal() == "planted-value"
    assert "planted-value" not in repr(settings)
    assert str(settings.origins[f"keys.{vendor}"]) == f"vendor environment ({variable})"


def test_a_database_url_comes_from_the_environment_and_is_never_shown(loading: Any) -> None:
    settings = loading(env={"CORROBORA_DATABASE_URL": "postgresql://u:planted@db/x"})
    assert settings.database_url is not None
    assert settings.database_url.reveal() == "postgresql://u:planted@db/x"
    assert "planted" not in repr(settings)


def test_c05_a_literal_secret_is_refused_in_the_project_file_and_never_echoed(loading: Any) -> None:
    for toml in (
        "[keys]\nopenai = 'sk-planted'",
        "[models.endpoints.x]\nbase_url='http://x'\napi_key='sk-planted'",
        "[storage]\ndatabase_url = 'postgresql://u:sk-planted@h/d'",
    ):
        error = loading.refused(toml)
        assert error.code == "config_secret_literal"
        assert "sk-planted" not in str(error)


def test_c05_a_literal_secret_in_the_user_file_works_with_a_note(loading: Any) -> None:
    settings = loading(user_file=loading.user("[keys]\nopenai = 'sk-planted'"))
    assert settings.key("openai").reveal() == "sk-planted"
    assert any("keys.openai is written as text" in note for note in settings.notes)
    assert "sk-planted" not in repr(settings)


def test_c05_a_secret_in_a_wrong_place_is_not_echoed(loading: Any) -> None:
    assert "sk-planted" not in str(loading.refused("OPENAI_API_KEY = 'sk-planted'"))
    assert "sk-planted" not in str(loading.refused("[keys]\nopenai = ['sk-planted']"))


@pytest.mark.parametrize("form", ["{ env = 'MINE' }", "'env:MINE'"])
def test_c06_a_reference_to_a_variable_that_is_not_set_names_it_when_used(loading: Any, form: str) -> None:
    toml = f"[keys]\nopenai = {form}"
    for value in ({}, {"MINE": ""}, {"MINE": "  "}, {"MINE": "'quoted'"}):
        secret = loading.trusted(toml, env=value).key("openai")
        with pytest.raises(UserError, match="MINE"):
            secret.reveal()
    settings = loading.trusted(toml, env={"MINE": "value\n"})
    assert settings.key("openai").reveal() == "value"
    assert any("line end" in note for note in settings.notes)


def test_c07_a_key_file_that_others_may_read_is_noted(loading: Any) -> None:
    key = loading.folder / "key"
    key.write_text("value\n")
    key.chmod(0o644)
    toml = "[keys]\ntavily = { file = 'key' }"
    settings = loading.trusted(toml)
    assert settings.key("tavily").reveal() == "value"
    assert any("chmod 600" in note for note in settings.notes)
    key.chmod(0o600)
    assert not any("chmod" in note for note in loading.trusted(toml).notes)


def test_a_project_file_may_not_send_a_vendor_s_key_or_a_stranger_s_file_to_its_own_server(loading: Any) -> None:
    start = "[models.endpoints.x]\nbase_url = 'http://elsewhere'\napi_key = "
    for reference in ("{ env = 'OPENAI_API_KEY' }", "'env:OPENAI_API_KEY'", "{ file = '/etc/passwd' }", "'file:../x'"):
        assert loading.refused(start + reference).code == "config_operator_only"
        assert loading.refused_although_trusted(start + reference).code == "config_secret_borrowed"


C04_VALUES = {
    "wrong type": ("deep = 3", "deep"),
    "list for text": ("profile = ['a']", "profile"),
    "below the range": ("max_rounds = 0", "max_rounds"),
    "above the range": ("[verify]\nmin_score = 1.5", "verify.min_score"),
    "not a number": ("[limits]\nusd = nan", "limits.usd"),
    "infinite": ("[limits]\nusd = inf", "limits.usd"),
    "negative budget": ("[limits]\nusd = -1", "limits.usd"),
    "tiny budget": ("[limits]\nusd = 1e-9", "limits.usd"),
    "zero time": ("time = 0", "time"),
    "negative time": ("time = -5", "time"),
    "half a round": ("max_rounds = 1.5", "max_rounds"),
    "true as a number": ("max_rounds = true", "max_rounds"),
    "table for a value": ("[deep]\nx = 1", "deep"),
    "value for a table": ("limits = 3", "limits"),
    "model without provider": ("[models]\nlead = 'gpt'", "models.lead"),
    "endpoint without address": ("[models.endpoints.x]\nkind = 'openai'", "models.endpoints.x"),
    "address of a file": ("[models.endpoints.x]\nbase_url = 'file:///etc'", "base_url"),
    "seven angles and one": ("angles = 8", "angles"),
}


@pytest.mark.parametrize("what", C04_VALUES)
def test_c04_a_wrong_value_names_the_key(loading: Any, what: str) -> None:
    toml, name = C04_VALUES[what]
    assert name in str(loading.refused(toml))


C08_TIMES = {"0": None, "-5": None, "abc": None, "1e9": None, "5d": None, "nan": None, "inf": None, "": None, "٥": None}


@pytest.mark.parametrize(
    "text", [*C08_TIMES, "5", "0.5", "unlimited", " UNLIMITED ", "1e1", "5m", "90 s", "1.5h", "2 MIN"]
)
def test_c08_time_follows_its_grammar(loading: Any, text: str) -> None:
    flags = {"time": (text, "--time")}
    if text in C08_TIMES:
        error = loading.refused(flags=flags)
        assert "a time above 0" in str(error)
        assert "unlimited" in str(error)
    else:
        expected = {"5": 5.0, "0.5": 0.5, "1e1": 10.0, "5m": 5.0, "90 s": 1.5, "1.5h": 90.0, "2 MIN": 2.0}.get(
            text, "unlimited"
        )
        assert loading(flags=flags).minutes == expected


@pytest.mark.parametrize("value", ["-1", "nan", "1e-9", "0.0009"])
def test_c10_budgets_that_make_no_sense_are_refused_and_zero_is_not(loading: Any, value: str) -> None:
    loading.refused(flags={"limits.usd": (value, "--max-cost")})
    assert loading(flags={"limits.usd": ("0", "--max-cost")}).max_usd == 0.0
    assert loading(flags={"limits.usd": ("0.004", "--max-cost")}).max_usd == 0.004
