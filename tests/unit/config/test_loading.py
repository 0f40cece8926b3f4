"""Settings merged: precedence, origins, and whatever text a file holds."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corrobora.config import load_settings
from corrobora.domain.errors import UserError


def test_endpoints_prices_and_own_profiles_are_read(loading: Any) -> None:
    settings = loading.trusted(
        """
        [profiles.long]
        base = "timed"
        max_rounds = 7
        [models]
        lead = "lan:big"
        [models.endpoints.lan]
        base_url = "http://10.0.0.5:8000/v1/"
        api_key = { env = "LAN_KEY" }
        [models.prices."lan:big"]
        input = 0.5
        output = 1
        """,
        env={"LAN_KEY": "k"},
    )
    assert settings.profiles == {"long": {"base": "timed", "max_rounds": 7}}
    assert settings.endpoints["lan"].base_url == "http://10.0.0.5:8000/v1"
    assert settings.endpoints["lan"].api_key is not None
    assert settings.endpoints["lan"].api_key.reveal() == "k"
    assert settings.prices["lan:big"].output == 1.0
    assert settings.models == {"lead": "lan:big"}


def test_defaults_are_the_design_s(loading: Any) -> None:
    settings = loading()
    assert (settings.profile, settings.minutes, settings.display) == ("timed", None, "auto")
    assert settings.database_url is None
    assert str(settings.origins["profile"]) == "default"


def test_a_text_in_a_file_is_neither_true_nor_false(loading: Any) -> None:
    assert loading("deep = true").deep is True
    assert loading(env={"CORROBORA_DEEP": "yes"}).deep is True
    for text in ("yes", "true", "0"):
        with pytest.raises(UserError, match=f"deep is '{text}'; it must be true or false .*line 1"):
            loading(f'deep = "{text}"')


def test_each_layer_beats_the_next(loading: Any) -> None:
    weakest = loading.user('profile = "one"')
    assert loading(user_file=weakest).profile == "one"
    assert loading('profile = "two"', user_file=weakest).profile == "two"
    assert loading(env={"RESEARCH_MODE": "parallel"}, user_file=weakest).profile == "angles"
    env = {"RESEARCH_MODE": "parallel", "CORROBORA_PROFILE": "three"}
    assert loading(env=env, user_file=weakest).profile == "three"
    flags = {"profile": ("four", "--profile")}
    settings = loading(env=env, user_file=weakest, flags=flags)
    assert settings.profile == "four"
    assert str(settings.origins["profile"]) == "flag (--profile)"


def test_origins_name_file_and_line(loading: Any) -> None:
    settings = loading('# first\nprofile = "full"\n')
    assert str(settings.origins["profile"]) == f"project file ({loading.folder / 'corrobora.toml'}, line 2)"


def test_a_relative_home_is_relative_to_its_file(loading: Any) -> None:
    assert loading(user_file=loading.user('home = "data"')).home == loading.folder / "data"
    assert loading(env={"CORROBORA_HOME": "/somewhere"}).home == Path("/somewhere")


def test_a_file_that_everybody_may_change_is_noted(loading: Any) -> None:
    path = loading.user('profile = "full"')
    assert loading(user_file=path).notes == ()
    path.chmod(0o646)
    assert loading(user_file=path).notes == (f"{path} can be changed by other users; run: chmod o-w {path}",)


TOML_WORDS = st.sampled_from(
    ["profile", "time", "limits", "usd", "keys", "openai", "models", "endpoints", "lan", "base_url", "env", "profiles"]
)
TOML_VALUES = st.one_of(
    st.integers().map(str),
    st.floats().map(str),
    st.booleans().map(lambda value: str(value).lower()),
    st.text(max_size=20).map(lambda text: "'" + text.replace("'", "").replace("\n", "") + "'"),
    st.just("{ env = 'X' }"),
    st.just("[1, 'a']"),
    st.just("1979-05-27"),
)
LINES = st.one_of(
    st.tuples(st.lists(TOML_WORDS, min_size=1, max_size=3), TOML_VALUES).map(
        lambda pair: ".".join(pair[0]) + " = " + pair[1]
    ),
    st.lists(TOML_WORDS, min_size=1, max_size=3).map(lambda words: "[" + ".".join(words) + "]"),
    st.text(max_size=30),
)


@given(st.lists(LINES, max_size=8).map("\n".join))
def test_any_text_gives_settings_or_one_line(tmp_path_factory: pytest.TempPathFactory, toml: str) -> None:
    path = tmp_path_factory.getbasetemp() / "any.toml"
    path.write_text(toml, encoding="utf-8", errors="surrogatepass", newline="")
    try:
        settings = load_settings({}, env={}, config=path, user_file=path.with_name("none"))
    except UserError as error:
        assert len(str(error).splitlines()) == 1  # noqa: PT017 - either way out is right
    else:
        assert settings.origins
        assert tomllib.loads(toml) is not None
