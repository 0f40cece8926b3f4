"""Layers: where settings are found, TOML errors with their place, unknown names (bad-input C02, C03)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from corrobora.config import load_settings


def test_the_project_file_may_be_a_table_of_pyproject(loading: Any) -> None:
    (loading.folder / "pyproject.toml").write_text('[project]\nname = "x"\n[tool.corrobora]\ndeep = true\n')
    assert loading().deep is True


def test_the_project_file_is_found_up_to_the_repository_root_and_not_above(loading: Any) -> None:
    (loading.folder / "corrobora.toml").write_text('profile = "above"')
    inside = loading.folder / "repository" / "src"
    inside.mkdir(parents=True)
    assert load_settings({}, env={}, folder=inside, user_file=loading.nothing).profile == "timed"
    (loading.folder / "repository" / ".git").mkdir()
    assert load_settings({}, env={}, folder=inside, user_file=loading.nothing).profile == "timed"
    (loading.folder / "repository" / "corrobora.toml").write_text('profile = "root"')
    assert load_settings({}, env={}, folder=inside, user_file=loading.nothing).profile == "root"


def test_angles_model_names_of_existing_setups_are_honoured(loading: Any) -> None:
    env = {"ANTHROPIC_MODEL_ID": "middle", "ANTHROPIC_SMALL_MODEL_ID": "small"}
    expected = {"lead": "middle", "worker": "middle", "judge": "middle", "fast": "small"}
    assert loading(env=env).models == {tier: f"anthropic:{name}" for tier, name in expected.items()}
    assert loading(env=env | {"ANTHROPIC_LEAD_MODEL_ID": "big"}).models["lead"] == "anthropic:big"
    assert loading(env={name.lower(): value for name, value in env.items()}).models["fast"] == "anthropic:small"


def test_a_vendors_variable_may_name_the_model_of_another_provider(loading: Any) -> None:
    assert loading(env={"OPENAI_MODEL_ID": "ollama:llama3.1:8b"}).models["worker"] == "ollama:llama3.1:8b"
    assert loading(env={"OPENAI_MODEL_ID": "ft:gpt:own"}).models["worker"] == "openai:ft:gpt:own"


@pytest.mark.parametrize(("mode", "profile"), [("parallel", "angles"), ("iterative", "rounds")])
def test_rounds_research_mode_chooses_the_profile(loading: Any, mode: str, profile: str) -> None:
    assert loading(env={"RESEARCH_MODE": mode}).profile == profile


def test_rounds_research_mode_of_another_word_is_refused(loading: Any) -> None:
    assert "parallel or iterative" in str(loading.refused(env={"RESEARCH_MODE": "fast"}))


C02_SYNTAX = {
    "duplicate key": "deep = true\ndeep = false\n",
    "duplicate table": "[limits]\nusd = 1\n[limits]\n",
    "unclosed string": 'profile = "timed',
    "control character": 'profile = "a\x01b"',
    "deep nesting": "x = " + "[" * 5_000,
    "endless number": "max_rounds = " + "9" * 5_000,
    "impossible date": "time = 2026-02-31",
    "garbage": "\u2028{]",
    "carriage return alone": "profile = 'a'\rdeep = true",
}


@pytest.mark.parametrize("what", C02_SYNTAX)
def test_c02_toml_errors_are_one_line_with_the_place(loading: Any, what: str) -> None:
    error = loading.refused(C02_SYNTAX[what])
    assert error.code == "config_syntax"
    assert "line " in str(error)


@pytest.mark.parametrize(
    ("toml", "nearest"),
    [
        ("[limits]\nbudgt_usd = 1", "limits.usd"),
        ("profil = 'x'", "profile"),
        ("providers = ['tavily']", "sources.providers"),
        ("[models]\nworkr = 'a:b'", "models.worker"),
        ("[models.endpoints.x]\nbase_ulr = 'http://x'", "models.endpoints.x.base_url"),
    ],
)
def test_c03_an_unknown_key_names_the_nearest_one(loading: Any, toml: str, nearest: str) -> None:
    error = loading.refused(toml)
    assert error.code == "config_unknown_key"
    assert f"did you mean {nearest}?" in str(error)


def test_c03_a_key_that_a_program_gives_is_known_too(loading: Any) -> None:
    error = loading.refused("", flags={"delivery.webhok_url": ("https://a.example", "webhook")})
    assert error.code == "config_unknown_key"
    assert "did you mean delivery.webhook_url?" in str(error)
    known = {
        "profile": ("rounds", "--profile"),
        "models.prices.x.input": (1.0, "x"),
        "models.prices.x.output": (2.0, "x"),
    }
    assert loading(flags=known).prices["x"].input == 1.0


def test_c03_an_unknown_variable_of_ours_is_noted(loading: Any) -> None:
    assert any("CORROBORA_PROFILE" in note for note in loading(env={"CORROBORA_PROFIL": "x"}).notes)


def find_folder_in(home: str, scratch: Path) -> str:
    """Return the data folder that a process of its own finds with this home and this folder for temporary files."""
    code = "from corrobora.config.layers import find_data_folder; print(find_data_folder())"
    environment = {"PATH": os.environ["PATH"], "HOME": home, "TMPDIR": str(scratch)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_without_a_home_the_data_lies_in_a_private_folder_for_temporary_files(tmp_path: Path) -> None:
    assert find_folder_in(str(tmp_path / "own"), tmp_path).startswith(str(tmp_path / "own"))
    private = Path(find_folder_in("/dev/null/none", tmp_path))
    assert private == tmp_path / f"corrobora-{os.geteuid()}"
    assert private.stat().st_mode & 0o077 == 0
    assert Path(find_folder_in("/dev/null/none", tmp_path)) == private


def test_a_data_folder_that_is_there_and_cannot_be_written_is_not_replaced_by_an_empty_one(tmp_path: Path) -> None:
    own = tmp_path / "own" / ".local" / "share" / "corrobora"
    own.parent.mkdir(parents=True)
    own.symlink_to("/dev/null/a-disk-that-is-not-mounted")
    assert find_folder_in(str(tmp_path / "own"), tmp_path) == str(own)


def test_a_folder_that_others_may_enter_is_not_taken_for_a_private_one(tmp_path: Path) -> None:
    open_to_all = tmp_path / f"corrobora-{os.geteuid()}"
    open_to_all.mkdir()
    open_to_all.chmod(0o755)
    assert find_folder_in("/dev/null/none", tmp_path).startswith("/dev/null/none")


@pytest.mark.parametrize("content", [b"#" * 2_000_000, b"\xff[x", b"# see [tool.corrobora]\n[project\n"])
def test_a_pyproject_without_our_table_is_of_no_concern(loading: Any, content: bytes) -> None:
    (loading.folder / "pyproject.toml").write_bytes(content)
    assert not loading().deep


def test_a_variable_in_the_singular_names_those_of_the_plural(loading: Any) -> None:
    """Not the one whose name happens to end with the same word."""
    settings = loading("", env={"CORROBORA_MODEL": "openai:m"})
    assert any("did you mean CORROBORA_MODELS_" in note for note in settings.notes)
