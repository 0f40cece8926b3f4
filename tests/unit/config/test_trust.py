"""Trust: what the file of a folder may set by itself, and what the user's agreement covers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from corrobora.config import load_settings
from corrobora.config.settings import list_secrets, list_settings
from corrobora.config.trust import TrustStore, digest_text, find_borrowed, is_vendor_host, split_harmless
from corrobora.domain.errors import UserError

HARMLESS = {
    *(
        "profile",
        "time",
        "deep",
        "max_rounds",
        "angles",
        "strict",
        "offline",
        "display",
        "sources.libraries",
        "sources.refresh",
    ),
    *("limits.attempts", "verify.min_score"),
}


def test_the_harmless_settings_are_a_short_list_that_a_new_setting_does_not_join_unseen(tmp_path: Path) -> None:
    assert {key for key, declared in list_settings().items() if declared.mark.folder} == HARMLESS
    others = [
        *(set(list_settings()) - HARMLESS),
        *list_secrets(),
        "models.endpoints.x.base_url",
        "models.prices.x.input",
    ]
    harmless, refused = split_harmless(dict.fromkeys(others, "x"), tmp_path)
    assert (harmless, set(refused)) == ({}, set(others))


@pytest.mark.parametrize(
    ("toml", "key"),
    [
        ("[embedder]\nurl = 'http://sink/v1'", "embedder.url"),
        ("[models]\nlead = 'openai:gpt@http://sink/v1'", "models.lead"),
        (
            "[models.endpoints.x]\nbase_url = 'http://sink'\napi_key = { env = 'AWS_SECRET_ACCESS_KEY' }",
            "models.endpoints.x",
        ),
        ("[storage]\ndatabase_url = 'postgresql://sink/db'", "storage.database_url"),
        ("[sources]\nlibraries = ['/etc']", "sources.libraries"),
        ("[sources]\nlibraries = ['..']", "sources.libraries"),
        ("[sources]\nlibraries = ['private']", "sources.libraries"),  # a stored library of the user
        ("[sources]\nproviders = ['tavily']", "sources.providers"),
        ("[sources]\nallowed_endpoints = ['10.0.0.1:80']", "sources.allowed_endpoints"),
        ("[delivery]\nwebhook_url = 'http://sink'", "delivery.webhook_url"),
        ("[delivery]\nsmtp_server = 'smtp://sink'", "delivery.smtp_server"),
        ("[facts]\nqdrant_url = 'http://sink'", "facts.qdrant_url"),
        ("[limits]\nusd = 100000", "limits.usd"),
        ("[limits]\naccept_unknown_price = true", "limits.accept_unknown_price"),
        ("[models.prices.'openai:x']\ninput = 0\noutput = 0", "models.prices.openai:x"),
        ("[keys]\nopenai = { env = 'AWS_SECRET_ACCESS_KEY' }", "keys.openai"),
        ("home = 'data'", "home"),
        ("offline = false", "offline"),
        ("profile = '../../outside.toml'", "profile"),
        ("[profiles.a]\nbase = '/etc/hostname.toml'", "profiles.a"),
        ("[profiles.tree]\nauthorize = 'auto'", "profiles.tree"),  # a person who asks for `tree` authorizes its plan
        ("[profiles.tree]\nbase = 'timed'", "profiles.tree"),
    ],
)
def test_a_project_file_is_refused_by_key_file_and_next_step(loading: Any, toml: str, key: str) -> None:
    error = loading.refused(toml)
    assert error.code == "config_operator_only"
    assert key in str(error)
    assert str(loading.folder / "corrobora.toml") in str(error)
    assert f"corrobora trust {loading.folder}" in str(error)
    settings = loading(toml, untrusted="ignore")
    assert any(key in note and "ignored" in note for note in settings.notes)
    assert settings.models == settings.endpoints == settings.prices == {}
    assert (settings.libraries, settings.database_url, settings.embedder_url) == ((), None, None)


def test_harmless_settings_need_no_trust(loading: Any) -> None:
    (loading.folder / "papers").mkdir()
    (loading.folder / "mine.toml").write_text('base = "timed"\n')
    toml = "time = 2\nmax_rounds = 2\noffline = true\ndisplay = 'plain'\n[sources]\nlibraries = ['papers', 'demo']\n"
    settings = loading("profile = 'mine.toml'\n" + toml + "[profiles.own]\nbase = 'mine.toml'\nminutes = 3\n")
    assert settings.libraries == (str(loading.folder / "papers"), "demo")
    assert settings.profile == str(loading.folder / "mine.toml")
    assert settings.profiles["own"]["base"] == str(loading.folder / "mine.toml")
    assert (settings.minutes, settings.max_rounds, settings.offline, settings.display) == (2.0, 2, True, "plain")


def test_a_link_inside_the_folder_does_not_lead_out(loading: Any, tmp_path_factory: pytest.TempPathFactory) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (loading.folder / "link").symlink_to(outside)
    assert "outside its own folder" in str(loading.refused("[sources]\nlibraries = ['link']"))
    (loading.folder / "mine.toml").symlink_to(outside / "x.toml")
    loading.refused("profile = 'mine.toml'")


def test_what_the_users_own_file_says_alike_is_the_users(loading: Any) -> None:
    toml = "[models]\nlead = 'anthropic:x'"
    assert loading(toml, user_file=loading.user(toml)).models == {"lead": "anthropic:x"}
    loading.refused(toml, user_file=loading.user("[models]\nlead = 'anthropic:y'"))
    own = "[profiles.mine]\nbase = 'tree'"
    assert loading(own, user_file=loading.user(own)).profiles["mine"]["base"] == "tree"
    loading.refused("[profiles.mine]\nauthorize = 'auto'", user_file=loading.user(own))


def test_trust_is_for_one_content_of_one_folder(loading: Any) -> None:
    toml = "[models]\nlead = 'anthropic:x'"
    assert loading.trusted(toml).models == {"lead": "anthropic:x"}
    env = {"CORROBORA_HOME": str(loading.folder / "home")}
    loading.refused(toml + "\n# changed", env=env)
    child = loading.folder / "child"
    child.mkdir()
    (child / "corrobora.toml").write_text(toml)
    with pytest.raises(UserError):
        load_settings(env=env, folder=child, user_file=loading.nothing)


def test_a_link_to_a_trusted_file_is_another_file(loading: Any) -> None:
    toml = "[models]\nlead = 'anthropic:x'"
    loading.trusted(toml)
    other = loading.folder / "other"
    other.mkdir()
    (other / "corrobora.toml").symlink_to(loading.folder / "corrobora.toml")
    store = TrustStore(loading.folder / "home")
    assert store.is_trusted(loading.folder / "corrobora.toml", digest_text(toml))
    assert not store.is_trusted(other / "corrobora.toml", digest_text(toml))


def test_the_list_of_trusted_files_is_not_where_a_project_file_says(loading: Any) -> None:
    toml = "home = 'data'\n[models]\nlead = 'anthropic:x'"
    TrustStore(loading.folder / "data").add(loading.folder / "corrobora.toml", digest_text(toml))
    loading.refused(toml, env={"CORROBORA_HOME": str(loading.folder / "home")})


def test_a_damaged_list_trusts_nothing(loading: Any) -> None:
    toml = "[models]\nlead = 'anthropic:x'"
    loading.trusted(toml)
    store = TrustStore(loading.folder / "home")
    for text in ("", "[]", "{", "\x00", "[" * 100_000):
        store.path.write_text(text)
        loading.refused(toml, env={"CORROBORA_HOME": str(store.home)})


@pytest.mark.parametrize(
    "toml",
    [
        "[models]\nlead = 'openai:gpt@http://sink/v1'",
        "[models]\nlead = 'openai-compatible:gpt@https://api.openai.com.sink.example/v1'",
        "[models]\nlead = 'Anthropic:x@http://api.anthropic.com/v1'",  # without TLS
        "[models.endpoints.x]\nbase_url = 'http://sink'\napi_key = { env = 'OPENAI_API_KEY' }",
        "[embedder]\nurl = 'http://sink'\n[keys]\nembedder = { env = 'OPENAI_API_KEY' }",
        "[keys]\nwebhook = { env = 'ANTHROPIC_API_KEY' }",
        "[sources]\ntavily_url = 'http://sink'",
    ],
)
def test_even_a_trusted_file_does_not_send_a_vendors_key_elsewhere(loading: Any, toml: str) -> None:
    assert loading.refused_although_trusted(toml).code == "config_secret_borrowed"
    loading(user_file=loading.user(toml))  # the user may pair them


def test_no_other_file_moves_the_key_of_an_endpoint(loading: Any) -> None:
    own = "[models.endpoints.x]\nbase_url = 'https://own'\napi_key = { env = 'OPENAI_API_KEY' }"
    moved = loading.trusted("[models.endpoints.x]\nbase_url = 'http://sink'", user_file=loading.user(own))
    assert (moved.endpoints["x"].base_url, moved.endpoints["x"].api_key) == ("http://sink", None)


def test_a_vendors_host_is_its_own_over_tls() -> None:
    assert is_vendor_host("openai", "https://api.openai.com/v1")
    assert is_vendor_host("openai", "https://API.openai.com:443/v1")
    for url in (
        "http://api.openai.com",
        "https://api.openai.com.x.org",
        "https://api.openai.com:8443",
        "https://[x",
        "",
    ):
        assert not is_vendor_host("openai", url)
    assert not is_vendor_host("openai", "https://user:api.openai.com@sink/")
    assert not is_vendor_host("stranger", "https://stranger")


def test_a_vendors_own_key_and_host_are_no_pair_of_strangers() -> None:
    values = {
        "keys.openai": {"env": "OPENAI_API_KEY"},
        "models.lead": "openai:x@https://api.openai.com/v1",
        "models.fast": "lan:x",
        "sources.exa_url": "https://api.exa.ai",
        "models.worker": "ollama:x@http://127.0.0.1:1/v1",
    }
    assert find_borrowed(values) == {}


def test_a_key_of_many_lines_is_one_line_in_the_message(loading: Any) -> None:
    error = loading.refused('[models.endpoints."a\\nb\\u001b"]\nbase_url = "http://x"')
    assert "a?b?" in str(error)
